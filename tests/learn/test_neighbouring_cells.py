"""One row changes nothing about the others: not what their cells are read as, nor the last digit of what they add."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contract.models import MODELS, make
from learn.watching import far, watch

import discreet as dp
from discreet import learn
from discreet.errors import ParameterError
from discreet.learn.around import scores
from discreet.learn.rows import by_person
from discreet.mechanisms.rows import sums

N = 40


class Unsound:
    """A cell that cannot be compared, written or told apart."""

    def _refuse(self, *_: object) -> Any:
        raise RuntimeError

    __eq__ = __ne__ = __str__ = __repr__ = __float__ = __hash__ = _refuse


STRANGE: list[Any] = [
    "x",
    b"x",
    1j,
    None,
    np.nan,
    np.inf,
    10**400,
    -(2**70),
    0.5,
    True,
    np.str_("1"),
    pd.NaT,
    pd.NA,
    {},
    "\ud800",
    10**5000,
    Decimal("sNaN"),
    Decimal("-1e999999"),
    Unsound(),
]


def classifier(**more: Any) -> Any:
    return learn.GaussianNB(epsilon=1, delta=1e-5, classes=[0, 1], **{"bounds": [(0, 10), [1, 2]], **more})


@pytest.mark.parametrize("strange", STRANGE, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("number", [int, np.int64])
def test_a_strange_cell_moves_what_is_let_out_no_farther_than_any_row(
    strange: Any, number: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists are read cell by cell: numpy would make words of all cells where one is a word, and no number would be one."""
    rows, labels = [[number(i % 10), number(1 + i % 2)] for i in range(N)], [number(i % 2) for i in range(N)]
    base = watch(monkeypatch, lambda: classifier().fit(rows, labels))
    for row, label in (([strange, 1], 1), ([3, strange], 1), ([3, 1], strange), ([strange, strange], strange)):
        grown = watch(monkeypatch, lambda row=row, label=label: classifier().fit([*rows, row], [*labels, label]))
        assert max(far(base, grown)) <= 1 + 1e-12


@pytest.mark.parametrize("strange", [*STRANGE, (1, 2)], ids=lambda one: type(one).__name__)
def test_a_strange_id_makes_no_other_person_of_anybody(strange: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = [[i % 10, 1 + i % 2] for i in range(N)], [i % 2 for i in range(N)]
    ids: list[Any] = [2**60 + i for i in range(N - 8)] + [None, float("nan")] * 4
    unit = dp.person("id", rows=2, groups=1)
    base = watch(monkeypatch, lambda: classifier(unit=unit).fit(rows, labels, groups=ids))
    more = [[1, 1]] * 3, [1] * 3, [strange] * 3
    grown = watch(monkeypatch, lambda: classifier(unit=unit).fit([*rows, *more[0]], [*labels, *more[1]], groups=[*ids, *more[2]]))
    assert max(far(base, grown)) <= 1 + 1e-12


def test_a_number_is_one_person_however_it_is_written() -> None:
    ids = np.array([1, 1.0, np.int64(1), True, np.float64(1), Decimal("1.00"), Fraction(1), "b", 0.5, None], dtype=object)
    order, starts = by_person([np.zeros(10)], ids, 10)
    assert np.diff([*starts, 9]).tolist() == [7, 1, 1]
    assert 9 not in order
    half = np.array([0.5, Decimal("0.50"), Fraction(1, 2), np.float32(0.5), np.longdouble(0.5)], dtype=object)
    assert len(by_person([np.zeros(5)], half, 5)[1]) == 1
    large = np.array([Decimal("1e999999"), Decimal("10.0e999998"), Decimal("-1e999999")], dtype=object)
    assert len(by_person([np.zeros(3)], large, 5)[1]) == 2


def test_a_long_id_costs_no_more_than_itself() -> None:
    """Of 20,000 ids one has a million letters: as texts of one length they would take 80 GB, and a fit would end for one cell. A
    last NUL tells two persons apart."""
    ids = np.array([*range(20_000), "x" * 10**6, "a", "a\0"], dtype=object)
    assert len(by_person([np.zeros(len(ids))], ids, 2)[1]) == len(ids)


def test_which_rows_count_does_not_depend_on_where_they_stand_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.learn.rows.words", lambda n: np.arange(n, dtype=np.uint64))
    ids = np.zeros(30, dtype=np.int64)
    found = {str(sorted(cells[by_person([cells], ids, 4)[0], 0])) for cells in map(_words, range(3))}
    assert len(found) == 1


def _words(turn: int) -> Any:
    cells = np.array([f"word {i}" for i in range(30)], dtype=object)  # other objects every time
    return np.roll(cells, 7 * turn)[:, None]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_row_alone_adds_what_it_adds_among_others_to_the_last_digit(
    name: str, pure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is rounded: memory that is laid out by columns is added up in another order where there is one row."""
    made: list[Any] = []
    plain = sums._scaled

    def spy(values: Any, factors: Any) -> Any:
        made.append(found := plain(values, factors))
        return found

    monkeypatch.setattr(sums, "_scaled", spy)
    draw = np.random.default_rng(5)
    rows, labels = draw.uniform(-3, 3, size=(5, 11)), np.array([0, 1, 2, 1, 0])
    model = make(name, **({"delta": None} if pure else {}))

    def lines(some: slice) -> list[Any]:
        made.clear()
        watch(monkeypatch, lambda: model.fit(rows[some], labels[some]))
        return [*made]

    among = lines(slice(0, 5))
    for place in range(5):
        alone = lines(slice(place, place + 1))
        assert [len(one) for one in alone] == [1] * len(among)
        assert all((one[0] == other[place]).all() for one, other in zip(alone, among, strict=True))


@pytest.mark.parametrize("height", [1, 2, 3, 1023])
def test_the_quality_of_a_row_is_the_same_among_others_to_the_last_digit(height: int) -> None:
    """Products of libraries have other last digits where there are more rows, and a score would move with them."""
    draw = np.random.default_rng(6)
    rows = draw.uniform(-3, 3, size=(1500, 40))
    aims = (1 + rows @ draw.normal(size=40) / 20).clip(0, 2)
    model = make("LinearRegression", epsilon=1000).fit(rows, aims)
    every, _ = scores._qualities(model, scores.read_rows(rows, aims, None, None))
    for first in range(0, 470, 37):
        some = slice(first, first + height)
        alone, _ = scores._qualities(model, scores.read_rows(rows[some], aims[some], None, None))
        assert (alone == every[some]).all()


def test_groups_of_a_descent_are_one_a_row() -> None:
    with pytest.raises(ParameterError, match="one value a row"):
        learn.private_descent(
            lambda at, X, y: at - X,  # noqa: ARG005, N803
            [0.0],
            np.ones((4, 1)),
            epsilon=1,
            delta=1e-5,
            size=4,
            steps=1,
            unit=dp.person("id", rows=2, groups=1),
            groups=[1, 2, 3],
        )
