"""Rows: as many of every kind as the model says, never what cannot be, independent where the model says so, in no order."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.synthetic import rows
from discreet.synthetic.inference.tree import Beliefs, Tree
from discreet.synthetic.rows import check_cells, draw_cells


def star() -> Beliefs:
    """A and C depend on B, and given B not on each other."""
    tree = Tree.over((8, 3, 8), [(0, 1), (1, 2)])
    draw = np.random.default_rng(2)
    return tree.calibrate([draw.normal(size=shape) for shape in tree.shapes], {})


@pytest.mark.parametrize("count", [0, 1, 7, 50_000])
def test_counts_of_a_clique_are_the_models_to_a_few_rows(count: int) -> None:
    beliefs = star()
    a, b, c = draw_cells(beliefs, count)
    assert len(a) == len(b) == len(c) == count
    for first, second, columns in ((a, b, (0, 1)), (c, b, (1, 2))):
        wanted = count * beliefs.project(columns)
        seen = np.zeros(wanted.shape)
        np.add.at(seen, (first, second) if columns == (0, 1) else (second, first), 1)
        assert np.abs(seen - wanted).max() <= 3  # systematic: less than 1 in the root, and less than 1 more a level


def test_what_is_independent_given_another_column_stays_so() -> None:
    """Rows that are allotted in order would move A and C together: 0.87 in total variation, in a peer that does it."""
    beliefs = star()
    a, _, c = draw_cells(beliefs, 200_000)
    seen = np.bincount(a * 8 + c, minlength=64) / 200_000
    # A cell's share errs by a normal of deviation at most sqrt(p / n), 0.0011: 0.01 is 9 of them (64 cells, below 1e-16).
    assert np.abs(seen - beliefs.project((0, 2)).ravel()).max() < 0.01


def test_a_row_says_nothing_by_its_place() -> None:
    """First and second half have the same law: A differs by less than 8 deviations in each of 8 cells (below 1e-13)."""
    a, _, _ = draw_cells(star(), 100_000)
    first, second = np.bincount(a[:50_000], minlength=8), np.bincount(a[50_000:], minlength=8)
    assert (np.abs(first - second) < 8 * np.sqrt(first + second + 1)).all()
    assert not (np.diff(a) >= 0).all()


def test_a_fault_in_the_draw_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row generator that peers ship, which gives values in the order of rows, is found out before anything is handed out."""
    beliefs = star()
    check_cells(draw_cells(beliefs, 20_000), beliefs)
    monkeypatch.setattr(rows, "_shuffled", lambda groups, _: np.argsort(groups, kind="stable"))
    with pytest.raises(dp.errors.DiscreetError, match="disagree with the model's own marginals"):
        check_cells(draw_cells(beliefs, 20_000), beliefs)


def test_what_has_no_probability_is_never_drawn() -> None:
    """Also where it stands last, and fractions of rows are settled there."""
    tree = Tree.over((2, 5), [(0, 1)])
    table = np.log(np.array([[0.3, 0.3, 0.4, 1, 1], [0.1, 0.2, 0.1, 0.3, 1]]))
    mask = np.array([[1.0, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    beliefs = tree.calibrate([table], {0: mask})
    for _ in range(300):
        a, b = draw_cells(beliefs, 31)
        assert (mask[a, b] == 1).all()


def test_a_million_rows_are_a_million() -> None:
    cells = draw_cells(star(), 1_000_000)
    assert {len(own) for own in cells} == {1_000_000}
