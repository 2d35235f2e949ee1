"""Pictures of answers: bars with their intervals, lines for long scales, nothing read as a formula."""

from __future__ import annotations

import datetime
import io

import matplotlib as mpl
import pytest

from discreet.curator.answer import Answer, Column
from discreet.errors import ParameterError

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.axes import Axes


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    pyplot.close("all")


def answer(size: int, **keys: tuple[object, ...]) -> Answer:
    values = tuple(10 * i + 5 for i in range(size))
    numbers = Column(values, (1.0,) * size, tuple(v - 2.0 for v in values), tuple(v + 3.0 for v in values))
    return Answer("", keys, {"mood": Column(("good",) * size), "n": numbers}, (), "", "")  # type: ignore[arg-type]


def drawn(ax: Axes) -> Axes:
    """As a file would be: here matplotlib reads labels."""
    ax.figure.savefig(io.BytesIO())
    return ax


def labels(ax: Axes, axis: str) -> list[str]:
    return [tick.get_text() for tick in getattr(ax, f"get_{axis}ticklabels")()]


def test_bars_with_intervals() -> None:
    ax = drawn(answer(2, ward=("eye", "ear"), old=(True, None)).plot())
    assert [bar.get_height() for bar in ax.patches] == [5, 15]
    assert labels(ax, "x") == ["eye, true", "ear, (missing)"]
    (bars,) = ax.containers[1:] if len(ax.containers) > 1 else ax.containers
    segments = bars.errorbar.lines[2][0].get_segments()
    assert segments[0][:, 1].tolist() == [3.0, 8.0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ward, old", "n")


def test_many_or_long_names_lie_down() -> None:
    ax = drawn(answer(13, ward=tuple(f"ward {i}" for i in range(13))).plot())
    assert [bar.get_width() for bar in ax.patches][:2] == [5, 15]
    assert labels(ax, "y")[0] == "ward 0"
    assert ax.yaxis_inverted()
    assert labels(drawn(answer(2, ward=("x" * 100, "y")).plot()), "y")[0] == "x" * 39 + "…"


def test_a_long_scale_is_a_line() -> None:
    days = tuple(datetime.date(2026, 1, 1) + datetime.timedelta(i) for i in range(100))
    for keys in (days, tuple(range(100))):
        ax = drawn(answer(100, key=keys).plot())
        assert not ax.patches
        assert ax.lines[0].get_ydata().tolist()[:2] == [5, 15]
    with pytest.raises(ParameterError, match="LIMIT 40"):
        answer(100, key=tuple(str(i) for i in range(100))).plot()


def test_labels_are_never_formulas() -> None:
    ax = drawn(answer(2, **{"$\\frac{": ("$\\frac{", "a\x1b$b$")}).plot())
    assert labels(ax, "x")[0] == "\\$\\frac{"


def test_one_number_and_given_axes() -> None:
    _, mine = pyplot.subplots()
    assert drawn(answer(1).plot("n", mine)) is mine
    assert len(mine.patches) == 1


def test_unbounded_intervals_are_drawn_without_their_ends() -> None:
    column = Column((5.0,), (1.0,), (float("-inf"),), (float("inf"),))
    drawn(Answer("", {}, {"n": column}, (), "", "").plot())


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(ParameterError, match="no output"):
        answer(1).plot("missing")
    with pytest.raises(ParameterError, match="choice"):
        answer(1).plot("mood")
    with pytest.raises(ParameterError, match="no rows"):
        answer(0, ward=()).plot()
