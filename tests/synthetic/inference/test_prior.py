"""A fit with a prior: where it begins, how it descends, what it leaves out, and what it never does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.synthetic.inference.fit import Fit, Noisy, Targets, fit, mask
from discreet.synthetic.inference.prior import Effects, shrink
from discreet.synthetic.inference.tree import Tree
from discreet.synthetic.rounds.levels import Levels, Seen
from discreet.synthetic.rounds.run import finish
from discreet.synthetic.rounds.selection import Limits
from discreet.synthetic.zeros import Zeros

SIZES = (3, 4, 2, 3, 5)
COLUMNS = (0, 1, 1, 2, 3)  # the second column has two axes
SETS = [(0,), (1, 2), (3,), (4,), (0, 1, 2), (0, 1, 3), (1, 3, 4), (0, 4)]
TOTAL = 20_000


def measured(noise: float, seed: int = 1) -> tuple[np.ndarray, list[Noisy]]:
    """A distribution of main effects and small effects of pairs, and noisy counts of it."""
    draw = np.random.default_rng(seed)
    logs = np.zeros(SIZES)
    for axis, size in enumerate(SIZES):
        logs = logs + draw.normal(size=size).reshape([size if a == axis else 1 for a in range(5)])
        for other in range(axis):
            shape = [SIZES[a] if a in (axis, other) else 1 for a in range(5)]
            logs = logs + 0.3 * draw.normal(size=shape)
    whole = TOTAL * np.exp(logs) / np.exp(logs).sum()
    found = []
    for axes in SETS:
        counts = whole.sum(axis=tuple(a for a in range(5) if a not in axes))
        found.append(Noisy(axes, counts + noise * draw.normal(size=counts.shape), max(noise, 1.0)))
    return whole, found


def begin(noise: float, seed: int = 1) -> tuple[list[Noisy], Fit, Effects]:
    _, some = measured(noise, seed)
    tree = Tree.over(SIZES, SETS)
    rough = fit(tree, some, TOTAL, 40)
    return some, rough, Effects.of(Targets.of(tree, some, TOTAL), COLUMNS)


def off(found: Fit, whole: np.ndarray, axes: tuple[int, ...]) -> float:
    true = whole.sum(axis=tuple(a for a in range(5) if a not in axes)) / TOTAL
    return float(np.abs(found.beliefs.project(axes) - true).sum() / 2)


@settings(max_examples=30, deadline=None)
@given(noise=st.floats(1, 2000), seed=st.integers(0, 10**6))
def test_it_begins_where_the_rough_fit_is_and_never_gets_worse(noise: float, seed: int) -> None:
    some, rough, effects = begin(noise, seed)
    targets = Targets.of(rough.tree, some, TOTAL)
    for one, other in zip(targets.logs(rough.moves), rough.logs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    numbers = effects.split(rough.moves)
    assert effects.fit(numbers).loss == pytest.approx(rough.loss, rel=1e-6)
    for table, same in zip(effects.fit(numbers).beliefs.marginals, rough.beliefs.marginals, strict=True):
        np.testing.assert_allclose(table, same, atol=1e-9)
    found = shrink(rough, some, TOTAL, 40, COLUMNS)
    before = effects.steep(numbers)[0]
    assert found.loss <= before + 1e-6
    assert all(np.isfinite(log).all() for log in found.logs)
    assert sum(table.sum() for table in found.beliefs.marginals) == pytest.approx(len(found.tree.cliques))


def test_the_gradient_is_that_of_the_sum() -> None:
    _, rough, effects = begin(60.0)
    numbers, draw = effects.split(rough.moves), np.random.default_rng(3)
    _, gradient = effects.steep(numbers)
    for _ in range(10):
        way = draw.normal(size=effects.size)
        ahead, behind = (effects.steep(numbers + sign * 1e-5 * way)[0] for sign in (1, -1))
        assert (ahead - behind) / 2e-5 == pytest.approx(float(gradient @ way), rel=1e-3, abs=0.1)


def test_many_steps_come_to_where_it_is_even() -> None:
    some, rough, _ = begin(60.0)
    found = shrink(rough, some, TOTAL, 2000, COLUMNS)
    again = shrink(fit(rough.tree, some, TOTAL, 5), some, TOTAL, 2000, COLUMNS)  # from elsewhere to the same
    for axes in SETS:
        np.testing.assert_allclose(found.beliefs.project(axes), again.beliefs.project(axes), atol=2e-3)
    assert found.loss > fit(rough.tree, some, TOTAL, 2000).loss  # noise is left out


def test_it_is_nearer_to_the_table_where_noise_is_large() -> None:
    """Means over 12 tables, with noise as large as many counts; the seeds are fixed, so that nothing is left to chance."""
    plain, shrunk = [], []
    for seed in range(12):
        whole, some = measured(150.0, seed)
        rough = fit(Tree.over(SIZES, SETS), some, TOTAL, 100)
        long = fit(rough.tree, some, TOTAL, 1000, enough=float(np.sqrt(sum(one.counts.size for one in some) / 2)))
        found = shrink(rough, some, TOTAL, 300, COLUMNS)
        for axes in SETS[4:]:
            plain.append(off(long, whole, axes))
            shrunk.append(off(found, whole, axes))
    assert np.mean(shrunk) * 1.05 < np.mean(plain)


def test_clear_counts_stay_as_they_are() -> None:
    whole, some = measured(1.0)
    rough = fit(Tree.over(SIZES, SETS), some, TOTAL, 300)
    found = shrink(rough, some, TOTAL, 300, COLUMNS)
    assert max(off(found, whole, axes) for axes in SETS) < 0.002


def test_what_cannot_be_has_no_probability() -> None:
    _, some = measured(60.0)
    table = np.ones((4, 2))
    table[0, 1] = 0
    zeros = [((1, 2), table)]
    rough = fit(Tree.over(SIZES, [*SETS, (1, 2)]), some, TOTAL, 50, zeros=zeros)
    found = shrink(rough, some, TOTAL, 50, COLUMNS, zeros)
    assert found.beliefs.project((1, 2))[0, 1] == 0
    assert found.beliefs.project((1, 2)).sum() == pytest.approx(1)
    again = found.tree.calibrate(found.logs, mask(found.tree, zeros))  # as a file has it
    np.testing.assert_allclose(again.marginals[0], found.beliefs.marginals[0])


def test_negative_counts_large_weights_and_wide_sets_do_no_harm() -> None:
    some = [Noisy((0,), np.array([-500.0, 3.0, -20.0]), 1e-3), Noisy((1,), np.array([1e9, -1e9, 0.0, 0.0]), 1e6)]
    rough = fit(Tree.over((3, 4), [(0,), (1,)]), some, 1.0, 100)
    found = shrink(rough, some, 1.0, 100, (0, 1))
    assert all(np.isfinite(table).all() and (table >= 0).all() for table in found.beliefs.marginals)
    sizes, draw = (2,) * 6, np.random.default_rng(2)
    counts = draw.gamma(1.0, 100, size=sizes)
    whole = [Noisy(tuple(range(6)), counts, 30.0)]
    rough = fit(Tree.over(sizes, [tuple(range(6))]), whole, float(counts.sum()), 100)
    found = shrink(rough, whole, float(counts.sum()), 300, range(6))
    assert found.beliefs.marginals[0].sum() == pytest.approx(1)
    assert np.isfinite(found.loss)


def test_seconds_allow_for_it_and_the_same_releases_give_the_same() -> None:
    assert Limits.of(Fraction(15), 14).shrunk == 0
    patient = Limits.of(Fraction(60), 14)
    assert patient.shrunk > Limits.of(Fraction(30), 14).shrunk > 0
    draw, runs = np.random.default_rng(4), np.array([0, 0, 1, 1, 1, 2])
    levels = Levels((6, 3), (runs, None))
    seen = [
        Seen((0,), (), draw.gamma(2.0, 100, 6), 30.0),
        Seen((1,), (), draw.gamma(2.0, 200, 3), 30.0),
        Seen((0, 1), (0,), draw.gamma(2.0, 60, (3, 3)), 30.0),
        Seen((0, 1), (), draw.gamma(2.0, 30, (6, 3)), 60.0),
    ]
    one, other = (finish(levels, seen, 1200.0, patient, Zeros()) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one.logs, other.logs, strict=True))
    assert levels.project(one.beliefs, (0, 1)).sum() == pytest.approx(1)  # nothing where runs are filled up
    assert one.loss > finish(levels, seen, 1200.0, Limits.of(Fraction(15), 2), Zeros()).loss
