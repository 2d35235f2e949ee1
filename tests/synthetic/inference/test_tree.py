"""Junction trees against brute force: every marginal of random models, loops and all."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.synthetic.inference.fit import mask
from discreet.synthetic.inference.tree import Tree

MODELS = {
    "one column": ((4,), [(0,)]),
    "nothing together": ((2, 3, 2), [(0,), (1,), (2,)]),
    "chain": ((2, 3, 4, 2), [(0, 1), (1, 2), (2, 3)]),
    "loop": ((2, 3, 2, 3), [(0, 1), (1, 2), (2, 3), (0, 3)]),
    "loops and a triple": ((2, 3, 2, 2, 3, 2), [(0, 1), (1, 2), (0, 2), (2, 3, 4), (4, 5), (0, 5)]),
    "two parts": ((2, 3, 2, 3), [(0, 1), (2, 3)]),
}


def drawn(sizes: tuple[int, ...], sets: list[tuple[int, ...]], seed: int) -> tuple[Tree, list[np.ndarray], np.ndarray]:
    """Random tables on the tree of some sets, and their whole product."""
    draw = np.random.default_rng(seed)
    tree = Tree.over(sizes, sets)
    logs = [draw.normal(size=shape) * 2 for shape in tree.shapes]
    whole = np.zeros(sizes)
    for i, clique in enumerate(tree.cliques):
        whole = whole + logs[i].reshape([sizes[c] if c in clique else 1 for c in range(len(sizes))])
    product = np.exp(whole)
    return tree, logs, product


@pytest.mark.parametrize("name", MODELS)
def test_every_marginal_is_that_of_the_whole_product(name: str) -> None:
    sizes, sets = MODELS[name]
    tree, logs, product = drawn(sizes, sets, 3)
    product /= product.sum()
    found = tree.calibrate(logs, {})
    for size in range(1, len(sizes) + 1):
        for columns in itertools.combinations(range(len(sizes)), size):
            wanted = product.sum(axis=tuple(c for c in range(len(sizes)) if c not in columns))
            np.testing.assert_allclose(found.project(columns), wanted, atol=1e-14)
    for clique, marginal in zip(tree.cliques, found.marginals, strict=True):
        np.testing.assert_allclose(marginal, found.project(clique), atol=1e-14)


def test_what_a_mask_rules_out_has_no_probability_and_the_rest_keeps_its_odds() -> None:
    sizes, sets = MODELS["loops and a triple"]
    tree, logs, product = drawn(sizes, sets, 4)
    clique = tree.holder((0, 1))
    assert clique is not None
    mask = np.ones(sizes[:2])
    mask[1, 2] = 0
    found = tree.calibrate(logs, {clique: np.broadcast_to(mask.reshape(tree.spread((0, 1), clique)), tree.shapes[clique])})
    product[1, 2] = 0
    np.testing.assert_allclose(found.project((0, 3, 5)), product.sum(axis=(1, 2, 4)) / product.sum(), atol=1e-14)
    assert found.project((0, 1))[1, 2] == 0
    nothing = tree.calibrate(logs, {clique: np.zeros(tree.shapes[clique])})
    assert not nothing.possible


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_runs_through_every_set_and_grows_no_more_than_it_says(seed: int) -> None:
    """The limit of the model's size is kept by what is chosen: each new set leaves at most the cells that were promised."""
    draw = np.random.default_rng(seed)
    sizes = tuple(int(n) for n in draw.integers(2, 9, 9))
    sets: list[tuple[int, ...]] = []
    tree = Tree.over(sizes, sets)
    for _ in range(14):
        new = tuple(sorted(int(c) for c in draw.choice(9, size=int(draw.integers(2, 4)), replace=False)))
        promised = tree.grown(new)
        sets.append(new)
        tree = Tree.over(sizes, sets, tree)
        assert tree.cells <= promised
        assert tree.cells == sum(math.prod(shape) for shape in tree.shapes)
        assert all(tree.holder(one) is not None for one in sets)
    for column in range(9):  # the cliques with a column are connected
        having = [i for i, clique in enumerate(tree.cliques) if column in clique]
        tops = [i for i in having if tree.parents[i] not in having]
        assert len(tops) == 1


def test_sixty_columns_have_marginals_too() -> None:
    """More columns than numpy has letters for."""
    sizes = (2,) * 60
    tree = Tree.over(sizes, [(i, i + 1) for i in range(59)])
    table = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))
    found = tree.calibrate([table] * 59, {}).project((0, 59))
    assert found[0, 0] == pytest.approx((1 + 0.8**59) / 4)


@pytest.mark.parametrize("name", MODELS)
def test_what_conditions_weigh_is_what_the_whole_product_says(name: str) -> None:
    sizes, sets = MODELS[name]
    tree, logs, product = drawn(sizes, sets, 5)
    product /= product.sum()
    draw, left = np.random.default_rng(6), product
    conditions = [((column,), (draw.random(size) < 0.7) * draw.random(size)) for column, size in enumerate(sizes)]
    for (column,), table in conditions:
        left = left * table.reshape([-1 if i == column else 1 for i in range(len(sizes))])
    assert tree.calibrate(logs, {}).weigh(mask(tree, conditions)) == pytest.approx(left.sum(), abs=1e-14)


def test_many_conditions_at_once_need_no_table_of_all_their_columns() -> None:
    """Twenty columns of a hundred cells, all of them fixed: a joint table would have 10^40."""
    sizes = (100,) * 20
    tree = Tree.over(sizes, [(i, i + 1) for i in range(19)])
    found = tree.calibrate([np.zeros(shape) for shape in tree.shapes], {})
    first = [((column,), (np.arange(100) == 3).astype(float)) for column in range(20)]
    assert found.weigh(mask(tree, first)) == pytest.approx(1e-40, rel=1e-9)


@pytest.mark.parametrize("size", [2.0, 300.0, 1000.0, 1e5])
@pytest.mark.parametrize("name", MODELS)
def test_tables_that_disagree_beyond_what_a_double_holds_still_make_a_distribution(name: str, size: float) -> None:
    """What one table nearly rules out, another may ask for, and a mask may leave nothing but what both nearly rule out."""
    sizes, sets = MODELS[name]
    for seed in range(30):
        draw = np.random.default_rng(seed)
        tree = Tree.over(sizes, sets)
        logs = [draw.normal(size=shape) * size for shape in tree.shapes]
        masks = {i: (draw.random(shape) < 0.5).astype(float) for i, shape in enumerate(tree.shapes) if draw.random() < 0.5}
        whole = np.zeros(sizes)
        for i, clique in enumerate(tree.cliques):
            held = logs[i] if i not in masks else np.where(masks[i] > 0, logs[i], -np.inf)
            whole = whole + held.reshape([sizes[c] if c in clique else 1 for c in range(len(sizes))])
        found = tree.calibrate(logs, masks)
        assert found.possible == np.isfinite(whole.max())
        if found.possible:
            product = np.exp(whole - whole.max())
            wanted = product.sum(axis=tuple(range(1, len(sizes)))) / product.sum()
            np.testing.assert_allclose(found.project((0,)), wanted, rtol=1e-9, atol=1e-12 * size)
            for clique, marginal in zip(tree.cliques, found.marginals, strict=True):
                kept = product.sum(axis=tuple(c for c in range(len(sizes)) if c not in clique)) / product.sum()
                np.testing.assert_allclose(marginal, kept, rtol=1e-9, atol=1e-12 * size)
            for clique, shared, table in zip(tree.cliques, tree.separators, found.conditionals, strict=True):
                sums = table.sum(axis=tuple(axis for axis, column in enumerate(clique) if column not in shared))
                assert ((np.abs(sums - 1) < 1e-9) | (sums == 0)).all()  # 0 where its separator's cell cannot be
