"""What all pictures share: colours, axes of a pleasant size, a quiet frame, and the file they end in.

matplotlib is an extra, ``pip install "discreet[plot]"``, and is imported when the first picture is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.calls import called_as
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#6B6B6B"

_MISSING = 'Pictures need matplotlib, which is an extra: run pip install "discreet[plot]", or pip install matplotlib.'

_FEW = 60  # bars that are told apart
_TICKS = 16  # names on an axis

Corner = Literal["best", "upper left", "upper right"]


def check_installed() -> None:
    """Refuse a picture, before anything is done for it, where the library for pictures is missing."""
    if find_spec("matplotlib") is None:
        raise ParameterError(_MISSING)


def new_axes(ax: Axes | None, *, square: bool = False) -> Axes:
    """The caller's axes, or new ones of a pleasant size."""
    if ax is not None:
        return _check_axes(ax)
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ParameterError(_MISSING) from None
    return pyplot.subplots(figsize=(4.8, 4.8) if square else (6.4, 4.2), layout="constrained")[1]


def _check_axes(ax: Axes) -> Axes:
    if not hasattr(ax, "inset_axes"):
        raise ParameterError(f"ax must be axes of matplotlib, not {type(ax).__name__}; give what a plot returned.")
    return ax


def stacked_axes(count: int) -> list[Axes]:
    """Some more axes of a pleasant size, one below the other in one picture."""
    figure = new_axes(None).figure.figure
    figure.clear()
    figure.set_size_inches(6.4, 3.2 * count)
    return list(figure.subplots(count, squeeze=False)[:, 0])


def finish(ax: Axes, title: str, *, legend: Corner | None = None) -> Axes:
    """Title, quiet frame, light grid, legend."""
    ax.set_title(title, loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="#E4E4E4", linewidth=0.8)
    ax.set_axisbelow(True)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(loc=legend, fontsize=9, framealpha=0.9, edgecolor="none")
    return ax


def draw_histogram(
    ax: Axes,
    bins: Sequence[tuple[float, float]],
    heights: Sequence[float],
    below: Sequence[float],
    above: Sequence[float],
    *,
    days: bool = False,
) -> None:
    """Bars over bins, which touch, with their intervals; ``days``: edges are days since 1970."""
    middles = [(first + last) / 2 for first, last in bins]
    few = len(bins) <= _FEW
    ax.bar(middles, heights, [last - first for first, last in bins], color=BLUE, edgecolor="white", linewidth=0.6 if few else 0)
    arms = (list(below), list(above))
    ax.errorbar(
        middles, heights, yerr=arms, fmt="none", ecolor="#222222", capsize=3 if few else 0, elinewidth=1.2 if few else 0.6
    )
    ax.set_xlim(bins[0][0], bins[-1][1])
    if days:
        from matplotlib import dates

        locator = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif few and len(bins) <= _TICKS:
        edges = [bins[0][0], *(last for _, last in bins)]
        ax.set_xticks(edges, [f"{edge:,.6g}" for edge in edges])


def draw_map(ax: Axes, numbers: Sequence[Sequence[float]], across: Sequence[str], up: Sequence[str], what: str) -> None:
    """A heat map: a line for every name in ``up``, a column for every one ``across``."""
    image = ax.imshow(numbers, aspect="auto", cmap="viridis", interpolation="nearest")
    for names, put in ((across, ax.set_xticks), (up, ax.set_yticks)):
        step = -(-len(names) // _TICKS)
        put(range(0, len(names), step), list(names[::step]), fontsize=8)
    if max(map(len, across)) > 6:  # longer names would run into one another
        ax.tick_params(axis="x", rotation=60)
    ax.figure.colorbar(image, ax=ax, label=what)


@called_as('"loss.png"')
def check_ending(path: str | Path) -> Path:
    """A picture is written as PNG or SVG; anything else is refused before it is drawn."""
    if not isinstance(path, (str, Path)):
        raise ParameterError(f'A picture\'s file is named by a path, not by {type(path).__name__}; write "loss.png".')
    file = Path(path)
    if file.suffix.lower() not in (".png", ".svg"):
        raise ParameterError(f"{file.name!r} does not end in .png or .svg; write a name such as loss.png.")
    return file


@called_as('ax, "loss.png"')
def save(ax: Axes, path: str | Path) -> Path:
    """Write the picture as PNG or SVG, by the file's ending. The same picture gives the same file."""
    file = check_ending(path)
    _check_axes(ax)
    import matplotlib as mpl

    nothing = ("Creator", "Date", "Format", "Type") if file.suffix.lower() == ".svg" else ("Software",)
    with mpl.rc_context({"svg.hashsalt": "discreet"}):
        try:
            ax.figure.figure.savefig(file, dpi=160, metadata=dict.fromkeys(nothing))
        except OSError as problem:
            raise ParameterError(f"{file} cannot be written ({problem.strerror}); choose another place.") from None
    return file
