"""An answer as a picture: bars with 95 % intervals; a line with a band where a number or a day has many values."""

from __future__ import annotations

import datetime
import itertools
import math
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.plan.display import clean, label
from discreet.plan.expressions import Value
from discreet.privacy.canvas import BLUE, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.curator.answer import Answer, Column

__all__ = ["plot"]

_DARK = "#222222"
_MOST_BARS = 40
_UPRIGHT = (12, 20, 60)  # more bars, longer labels, or more letters together lie down
_LONGEST = 40


def plot(answer: Answer, output: str | None, ax: Axes | None) -> Axes:
    """Draw one output; the first that has numbers unless told."""
    name, column = _chosen(answer, output)
    numbers = [(i, float(value)) for i, value in enumerate(column.values) if isinstance(value, (int, float))]
    numbers = [(i, value) for i, value in numbers if math.isfinite(value)]
    if not numbers:
        raise ParameterError("This answer has no rows to draw; ask again with other groups.")
    keys = list(zip(*answer.keys.values(), strict=True)) if answer.keys else [()] * len(answer)
    if len(numbers) > _MOST_BARS and not _ordered(answer, [i for i, _ in numbers]):
        raise ParameterError(f"{len(numbers):,} bars are too many to read: add ORDER BY {name} DESC LIMIT {_MOST_BARS} (free).")
    ax = new_axes(ax)
    values = [value for _, value in numbers]
    below, above = _arms(column, numbers)
    if len(numbers) > _MOST_BARS:
        places = [keys[i][0] for i, _ in numbers]
        _line(ax, places, values, below, above)
        _titles(ax, ", ".join(answer.keys), name)
    else:
        labels = [_short(", ".join(label(part) for part in keys[i])) for i, _ in numbers]
        lengths = [len(text) for text in labels]
        lying = any(size > most for size, most in zip((len(labels), max(lengths), sum(lengths)), _UPRIGHT, strict=True))
        _bars(ax, labels, values, (below, above), lying=lying)
        _titles(ax, *((name, ", ".join(answer.keys)) if lying else (", ".join(answer.keys), name)))
    return finish(ax, _plain(f"{name}, with 95 % intervals" if column.lower is not None else name))


def _chosen(answer: Answer, output: str | None) -> tuple[str, Column]:
    drawable = [name for name, column in answer.outputs.items() if column.lower is not None or column.errors is not None]
    if output is not None and output not in answer.outputs:
        raise ParameterError(f"There is no output {clean(output)} in this answer; there are {', '.join(answer.outputs)}.")
    if not drawable or (output is not None and output not in drawable):
        raise ParameterError("A choice has no size to draw; draw an output that is a number, such as count(*) AS n.")
    name = output or drawable[0]
    return name, answer.outputs[name]


def _arms(column: Column, numbers: list[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """How far intervals reach below and above; the ends of an unbounded one are left away."""
    if column.lower is None or column.upper is None:
        errors = column.errors or ()
        return [1.96 * errors[i] for i, _ in numbers], [1.96 * errors[i] for i, _ in numbers]
    below = [max(value - column.lower[i], 0.0) for i, value in numbers]
    above = [max(column.upper[i] - value, 0.0) for i, value in numbers]
    return [arm if math.isfinite(arm) else 0.0 for arm in below], [arm if math.isfinite(arm) else 0.0 for arm in above]


def _ordered(answer: Answer, rows: list[int]) -> bool:
    """Whether the only key is a number or a day, in rising order."""
    if len(answer.keys) != 1:
        return False
    (values,) = answer.keys.values()
    kept = [values[i] for i in rows]
    if not all(isinstance(value, (int, float, datetime.date)) and not isinstance(value, bool) for value in kept):
        return False
    return all(a < b for a, b in itertools.pairwise(kept))  # type: ignore[operator]


def _bars(ax: Axes, labels: list[str], values: list[float], arms: tuple[list[float], list[float]], *, lying: bool) -> None:
    places = range(len(values))
    if lying:
        ax.barh(places, values, xerr=arms, color=BLUE, ecolor=_DARK, capsize=3)
        ax.set_yticks(places, labels, fontsize=8)
        ax.invert_yaxis()
    else:
        ax.bar(places, values, yerr=arms, color=BLUE, ecolor=_DARK, capsize=3)
        ax.set_xticks(places, labels)
    (ax.xaxis if lying else ax.yaxis).set_major_formatter(
        lambda value, _: f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.3g}"
    )


def _line(ax: Axes, places: list[Value], values: list[float], below: list[float], above: list[float]) -> None:
    low = [value - arm for value, arm in zip(values, below, strict=True)]
    high = [value + arm for value, arm in zip(values, above, strict=True)]
    ax.fill_between(places, low, high, color=BLUE, alpha=0.25, linewidth=0)  # type: ignore[arg-type]
    ax.plot(places, values, color=BLUE, linewidth=1.2)  # type: ignore[arg-type]


def _titles(ax: Axes, across: str, up: str) -> None:
    ax.set_xlabel(_plain(across))
    ax.set_ylabel(_plain(up))


def _short(text: str) -> str:
    return _plain(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _plain(text: str) -> str:
    """A dollar would start a formula."""
    return clean(text).replace("$", r"\$")
