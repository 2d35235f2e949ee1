"""Pictures of answers: bars with their intervals, lines for long scales, nothing read as a formula."""

from __future__ import annotations

import datetime
import io
import itertools

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


def test_more_pairs_than_bars_are_a_map() -> None:
    """All of a few values by many, and ranges, which are half of all pairs of ends."""
    pairs = list(itertools.product("fm", [f"w{i}" for i in range(30)]))
    sex, ward = zip(*pairs, strict=True)
    (image,) = drawn(answer(60, sex=sex, ward=ward).plot()).images
    assert image.get_array().shape == (30, 2)
    lower, upper = zip(*itertools.combinations(range(11), 2), strict=True)
    ax = drawn(answer(55, lower=lower, upper=upper).plot())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("lower", "upper")
    assert ax.images[0].get_array().shape == (10, 10)
    assert ax.images[0].get_array().count() == 55
    days = tuple(day for _ in "fm" for day in range(30))
    assert len(drawn(answer(60, day=days, sex=sex).plot()).lines) == 2
    with pytest.raises(ParameterError, match=r"60 bars are too many to read: to a SELECT add ORDER BY .* workloads ask"):
        answer(60, ward=tuple(f"w{i}" for i in range(60))).plot()


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


def two_keys(outer: int, inner: int, outputs: tuple[str, ...] = ("n",), *, days: bool = False) -> Answer:
    first = tuple(
        datetime.date(2026, 1, 1) + datetime.timedelta(i) if days else f"ward {i}" for i in range(outer) for _ in range(inner)
    )
    second = tuple(f"kind {j}" for _ in range(outer) for j in range(inner))
    values = tuple(10 * i + j for i in range(outer) for j in range(inner))
    column = Column(values, (1.0,) * len(values), tuple(v - 2.0 for v in values), tuple(v + 2.0 for v in values))
    return Answer("", {"ward": first, "kind": second}, dict.fromkeys(outputs, column), (), "", "")


def test_two_keys_are_groups_of_bars() -> None:
    ax = drawn(two_keys(3, 2).plot())
    assert labels(ax, "x") == ["ward 0", "ward 1", "ward 2"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["kind 0", "kind 1"]
    assert ax.get_legend().get_title().get_text() == "kind"
    bars = [container for container in ax.containers if hasattr(container, "patches")]
    assert [[bar.get_height() for bar in one.patches] for one in bars] == [[0, 10, 20], [1, 11, 21]]
    assert len({bar.get_facecolor() for one in bars for bar in one.patches}) == 2
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for one in bars for bar in one.patches)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in itertools.pairwise(edges))  # no bar hides another
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("ward", "n")


def test_the_key_with_few_values_gives_the_colours() -> None:
    ax = drawn(two_keys(2, 9).plot())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ward 0", "ward 1"]
    assert ax.get_legend().get_title().get_text() == "ward"


def test_two_keys_over_many_days_are_lines() -> None:
    ax = drawn(two_keys(60, 3, days=True).plot())
    assert [len(line.get_xdata()) for line in ax.lines] == [60, 60, 60]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["kind 0", "kind 1", "kind 2"]


def test_a_missing_combination_is_a_gap() -> None:
    whole = two_keys(3, 2)
    kept = [0, 1, 2, 4, 5]
    column = whole.outputs["n"]
    cut = Column(*(tuple(part[i] for i in kept) for part in (column.values, column.errors, column.lower, column.upper)))  # type: ignore[index]
    answer = Answer("", {name: tuple(key[i] for i in kept) for name, key in whole.keys.items()}, {"n": cut}, (), "", "")
    ax = drawn(answer.plot())
    assert labels(ax, "x") == ["ward 0", "ward 1", "ward 2"]
    assert sorted(bar.get_height() for bar in ax.patches) == [0, 1, 10, 20, 21]


def test_combinations_that_read_alike_are_bars_of_their_own() -> None:
    column = Column((1, 2), (1.0, 1.0))
    ax = drawn(Answer("", {"a": ("x, y", "x"), "b": ("z", "y, z")}, {"n": column}, (), "", "").plot())
    assert labels(ax, "x") == ["x, y, z", "x, y, z"]
    assert [bar.get_height() for bar in ax.patches] == [1, 2]


def test_every_output_has_a_panel() -> None:
    ax = two_keys(2, 2, ("n", "debt", "age")).plot(title="Wards")
    drawn(ax)
    panels = ax.figure.axes
    assert [panel.get_ylabel() for panel in panels] == ["n", "debt", "age"]
    assert [panel.get_title(loc="left") for panel in panels] == [f"{name}, with 95 % intervals" for name in ("n", "debt", "age")]
    assert ax.figure.get_suptitle() == "Wards"
    assert ax is panels[0]


def test_one_output_by_name_on_axes_of_ones_own_and_with_a_title() -> None:
    answer = two_keys(2, 2, ("n", "debt"))
    ax = drawn(answer.plot("debt", title="Debt in $"))
    assert (len(ax.figure.axes), ax.get_ylabel(), ax.get_title(loc="left")) == (1, "debt", r"Debt in \$")
    own = pyplot.subplots()[1]
    assert answer.plot(ax=own) is own
    assert own.get_ylabel() == "n"


def test_too_many_outputs_for_one_picture() -> None:
    names = tuple(f"n{i}" for i in range(13))
    with pytest.raises(ParameterError, match="13 outputs are too many"):
        two_keys(2, 2, names).plot()
    assert two_keys(2, 2, names).plot("n7").get_ylabel() == "n7"
