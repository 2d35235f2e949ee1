"""Balanced rows: no trade changes a count of a clique, or what lies within a joined cell; pairs of other columns get nearer."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from discreet.arrays import Integers
from discreet.synthetic import balancing
from discreet.synthetic.balancing import Drawn, Watched, balance, list_trades
from discreet.synthetic.inference import tree as tree_module
from discreet.synthetic.inference.fit import mask
from discreet.synthetic.inference.tree import Beliefs, Tree
from discreet.synthetic.rounds.levels import Levels
from discreet.synthetic.rounds.merging import Merged, spread_out
from discreet.synthetic.rounds.selection import LOOKS
from discreet.synthetic.rows import draw_cells, spread_cells
from discreet.synthetic.zeros import Zeros

ENOUGH = 2**40
Model = tuple[Beliefs, Levels, list[Merged]]


def model(number: int) -> Model:
    """Some columns in a random tree: wide ones of two axes, some with joined cells, some combinations that cannot be."""
    draw = np.random.default_rng(number)
    many = int(draw.integers(2, 7))
    runs = [np.sort(draw.integers(0, 3, size=9)) if draw.random() < 0.4 else None for _ in range(many)]
    runs = [None if one is None else np.unique(one, return_inverse=True)[1] for one in runs]
    levels = Levels(tuple(9 if one is not None else int(draw.integers(2, 6)) for one in runs), tuple(runs))
    sets = [levels.axes_of((column,)) for column in range(many)]
    for _ in range(many):
        some = tuple(sorted(draw.choice(many, size=min(many, int(draw.integers(2, 4))), replace=False).tolist()))
        sets.append(levels.axes_of(some, tuple(column for column in some if runs[column] is not None and draw.random() < 0.5)))
    impossible = (draw.random([levels.sizes[c] for c in (0, 1)]) < 0.7).astype(float)
    impossible[0, 0] = 1.0
    zeros = Zeros((((0, 1), impossible),)) if runs[0] is None and runs[1] is None else Zeros()
    tree = Tree.over(levels.shape, [*sets, *(levels.axes_of(columns) for columns, _ in zeros.tables)])
    logs = [2 * draw.normal(size=shape) for shape in tree.shapes]
    beliefs = tree.calibrate(logs, mask(tree, levels.zeros(zeros).tables))
    assert beliefs.possible
    merged = []
    for size in levels.sizes:
        places = np.sort(np.concatenate([np.arange(size), draw.integers(0, size, size=int(draw.integers(0, 4)))]))
        shares = draw.random(len(places)) + 0.1
        merged.append(Merged(places, shares / np.bincount(places, shares)[places]))
    return beliefs, levels, merged


def drawn_of(one: Model, rows: int) -> tuple[list[Integers], list[Integers]]:
    beliefs, levels, merged = one
    axes = draw_cells(beliefs, rows)
    return axes, [spread_cells(own, cells) for own, cells in zip(levels.cells(axes), merged, strict=True)]


def counts(columns: list[Integers]) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(own.tolist() for own in columns), strict=True))


def misfit(cells: list[Integers], one: Model) -> float:
    """The mean total variation from the model, over all pairs of columns."""
    beliefs, levels, merged = one
    found = []
    for a, b in itertools.combinations(range(len(cells)), 2):
        wanted = spread_out(levels.project(beliefs, (a, b)), (a, b), merged)
        seen = np.zeros(wanted.shape)
        np.add.at(seen, (cells[a], cells[b]), 1 / len(cells[a]))
        found.append(np.abs(seen - wanted).sum() / 2)
    return float(np.mean(found))


@pytest.mark.parametrize("number", range(40))
@pytest.mark.parametrize("rows", [1, 2, 37, 3000])
def test_what_cliques_count_stays_to_the_last_row(number: int, rows: int) -> None:
    """So do all counts of single columns, what cannot be, and rows' cells within what they are joined to."""
    one = model(number)
    beliefs, levels, merged = one
    axes, cells = drawn_of(one, rows)
    before = [counts([axes[axis] for axis in clique]) for clique in beliefs.tree.cliques]
    own = [Counter(column.tolist()) for column in cells]
    traded, found = balance([column.copy() for column in axes], [column.copy() for column in cells], *one, ENOUGH)
    assert [counts([traded[axis] for axis in clique]) for clique in beliefs.tree.cliques] == before
    assert [Counter(column.tolist()) for column in found] == own
    for joined, fine, kept in zip(levels.cells(traded), found, merged, strict=True):
        assert (kept.places[fine] == joined).all()


@pytest.mark.parametrize("number", range(40))
def test_sums_of_squares_are_kept_as_they_are(number: int) -> None:
    """After every trade, how far counts are off is what counting again finds; and no trade makes a sum of squares larger."""
    one = model(number)
    beliefs, levels, merged = one
    axes, cells = drawn_of(one, 2000)
    drawn, sizes = Drawn.of(axes, levels.cells(axes), cells), [len(each.places) for each in merged]
    sets = [some for wide in (2, 3) for some in itertools.combinations(range(len(sizes)), wide)]
    shares = [spread_out(levels.project(beliefs, some), some, merged) for some in sets]
    watched = Watched.of(drawn, sets, sizes, shares)
    for trade in list_trades(beliefs, levels, merged):
        before = float((watched.off**2 / watched.weights).sum())
        watched.improve(drawn, trade, beliefs.tree.sizes)
        again = Watched.of(drawn, sets, sizes, shares)
        np.testing.assert_allclose(watched.off, again.off, atol=1e-8)
        assert float((watched.off**2 / watched.weights).sum()) <= before + 1e-9


def test_pairs_that_no_clique_has_get_nearer_to_the_model() -> None:
    """A chain of five columns of ten values: of 5,000 rows drawn by chance, pairs are off by 0.03; of the traded ones by less
    than half of that, where counts that are no whole numbers leave 100 cells x 1/4 row / 5,000 / 2 = 0.0025 at the least."""
    tree = Tree.over((10,) * 5, [(i, i + 1) for i in range(4)])
    draw = np.random.default_rng(7)
    beliefs = tree.calibrate([draw.normal(size=shape) for shape in tree.shapes], {})
    one = (beliefs, Levels((10,) * 5, (None,) * 5), [Merged(np.arange(10), np.ones(10))] * 5)
    axes, cells = drawn_of(one, 5000)
    first = misfit(cells, one)
    _, found = balance(axes, cells, *one, ENOUGH)
    assert misfit(found, one) < first / 2


def test_no_more_looks_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is counted in advance, and what is too little for one sweep leaves rows as they are."""
    one = model(3)
    axes, cells = drawn_of(one, 1000)
    looked = 0
    improve = Watched.improve

    def count(watched: Watched, drawn: Drawn, trade: balancing.Trade, sizes: tuple[int, ...]) -> None:
        nonlocal looked
        looked += (len(drawn.cells) // 2) * int(trade.touches(watched.strides > 0).sum())
        improve(watched, drawn, trade, sizes)

    monkeypatch.setattr(Watched, "improve", count)
    least = None
    for looks in (0, 10**3, 10**4, 10**5, 10**6, 10**7):
        looked = 0
        balance([own.copy() for own in axes], [own.copy() for own in cells], *one, looks)
        assert looked <= looks
        least = looks if looked and least is None else least
    assert least is not None
    assert 0 < least < 10**7
    same = balance(axes, cells, *one, 0)
    assert same[0] is axes
    assert same[1] is cells


@pytest.mark.parametrize("columns", [60, 300])
def test_marginals_of_many_columns_are_not_even_listed_where_work_is_limited(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find out how large the tables on the way to 34,220 or 4,455,100 triples are takes longer than to draw the rows."""
    tree = Tree.over((2,) * columns, [(i, i + 1) for i in range(columns - 1)])
    beliefs = tree.calibrate([np.zeros(shape) for shape in tree.shapes], {})
    one = (beliefs, Levels((2,) * columns, (None,) * columns), [Merged(np.arange(2), np.ones(2))] * columns)
    axes, cells = drawn_of(one, 20)
    foreseen: list[int] = []
    widest = Tree.widest
    monkeypatch.setattr(Tree, "widest", lambda tree, some: foreseen.append(1) or widest(tree, some))
    balance(axes, cells, *one, LOOKS)
    assert len(foreseen) * balancing._FORESEEN <= LOOKS
    assert bool(foreseen) == (columns == 60)


def test_tables_of_many_columns_stay_within_memory() -> None:
    """Of marginals with more than four cells for every row, or together more than are kept, or on the way to which more would be,
    none is looked at."""
    tree, levels = Tree.over((50,) * 40, [(i, i + 1) for i in range(39)]), Levels((50,) * 40, (None,) * 40)
    assert not balancing._sets([50] * 40, 2, 624, 2**22, tree, levels)
    sets = balancing._sets([50] * 40, 2, 625, 10**6, tree, levels)
    assert len(sets) == 400
    assert sum(cells for cells, *_ in sets) == 10**6
    far = Tree.over((24,) * 9, [(0, 1, 2, 3, 4), (1, 2, 3, 4, 5), (5, 6), (6, 7), (7, 8)])
    narrow = [one for *_, one in balancing._sets([24] * 9, 2, 10**6, 2**22, far, Levels((24,) * 9, (None,) * 9))]
    assert (0, 8) not in narrow  # given the four columns in between, 8 million
    assert {(0, 1), (7, 8), (5, 8)} <= {*narrow}


@pytest.mark.parametrize("number", range(40))
def test_the_largest_table_on_the_way_is_foreseen(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the largest of all that are kept, made of two, or returned."""
    beliefs, levels, _ = model(number)
    made: list[int] = []
    contract = tree_module.contract
    monkeypatch.setattr(tree_module, "contract", lambda *given: made.append((one := contract(*given)).size) or one)
    for wide in (1, 2, 3):
        for columns in itertools.combinations(range(len(levels.sizes)), min(wide, len(levels.sizes))):
            made.clear()
            passing = replace(beliefs)
            made.append(passing.project(levels.axes_of(columns)).size)
            made.extend(table.size for _, table in passing._known.values())
            assert max(made) == beliefs.tree.widest(levels.axes_of(columns))
