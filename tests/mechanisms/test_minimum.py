"""Objective perturbation: its two theorems, term by term; the certificate of a short gradient; and the law of what leaves."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import statistics
from scipy.optimize import minimize
from scipy.special import gammaincc
from support.depth import deep

from discreet.auditor.replay import replay
from discreet.balls import ball, precision, upper
from discreet.errors import EntropyError, ParameterError
from discreet.mechanisms.rows import minimum
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.minimum import Losses, Minimum
from discreet.mechanisms.secret import Secret

DRAW = np.random.default_rng(11)
SHAPES = [(1, 2), (1, 6), (3, 4), (5, 2)]


def losses(z: Any, label: Any, lines: int, starts: Any = None, margin: float = 1.0) -> Losses:
    rows = np.asarray(z, dtype=float)
    block = Secret(Block({"z": rows, "label": np.asarray(label, dtype=np.int64)}, len(rows), starts))
    return Losses(lambda: [block], lines, rows.shape[1], margin)


def table(size: int, lines: int, width: int) -> tuple[Any, Any]:
    """Rows in a cube, many of them in its corners, the last number 1; and their classes."""
    z = np.where(DRAW.random((size, width)) < 0.5, DRAW.choice([-1.0, 1.0], (size, width)), DRAW.uniform(-1, 1, (size, width)))
    z[:, -1] = 1
    return z, DRAW.integers(0, max(2, lines), size)


def ridge_of(mechanism: Minimum) -> Any:
    return np.tile([*[mechanism.ridge[0]] * (mechanism.width - 1), mechanism.ridge[1]], mechanism.lines)


@pytest.mark.parametrize(("lines", "width"), SHAPES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 10), 1, 10, 10**6])
@pytest.mark.parametrize("persons", [False, True])
def test_three_parts_add_up_to_the_cost(lines: int, width: int, epsilon: Any, persons: bool) -> None:
    """e1 by the scale of the slope, e2 by the ridge, e3 by the last noise: exactly, and e2 from above by balls."""
    for neighbours, times in (("add-remove", 1), ("replace", 2)):
        made = Minimum(epsilon=epsilon, lines=lines, width=width, persons=persons, neighbours=neighbours)  # type: ignore[arg-type]
        slope = times * (1 if lines == 1 else 2) / made.scale
        trace = Fraction(1, 4) if lines == 1 else 1 - Fraction(1, lines)
        sums = trace * ((width - 1) / Fraction(made.ridge[0]) + 1 / Fraction(made.ridge[1]))
        rank = max(1, lines - 1)
        with precision(200):
            bent = sums if persons else Fraction(upper(rank * (1 + ball(sums / rank)).log()))
        last = 2 * made.short / Fraction(min(made.ridge)) / made.last
        assert slope + bent + last <= epsilon * (1 + Fraction(1, 10**12))
        assert slope + bent + last >= epsilon * Fraction(999, 1000)
        assert made.privacy.epsilon() == pytest.approx(float(epsilon))
        assert made.privacy.neighbours == neighbours


def density(mechanism: Minimum, one: Losses, at: Any) -> float:
    """The logarithm of the density of the exact minimum, up to a constant."""
    found, ridge = one.look(at), ridge_of(mechanism)
    sizes = np.abs(found.slope + ridge * at).reshape(mechanism.lines, -1).max(axis=1).sum()
    return float(-sizes / float(mechanism.scale) + np.linalg.slogdet(found.bent + np.diag(ridge))[1])


@pytest.mark.parametrize(("lines", "width"), SHAPES)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("persons", [False, True])
def test_densities_of_minima_of_neighbours_are_as_close_as_claimed(
    lines: int, width: int, neighbours: Any, persons: bool
) -> None:
    """At points of all sizes, e1 + e2 is not exceeded, by rows in corners; and most of it is needed somewhere."""
    made = Minimum(epsilon=2, lines=lines, width=width, neighbours=neighbours, persons=persons)
    claimed = 2 * (1 - 1 / 64)
    worst = 0.0
    for turn in range(60):
        z, label = table(4, lines, width)
        more = 3 if persons else 1
        new, its = table(more, lines, width)
        if turn % 2:  # the worst there is: rows that pull in opposite directions
            new[:], z[:] = 1, -1
            z[:, -1] = 1
            label[-1], its[:] = 0, 0
        starts = np.array([0, 1, 2, 3, 4]) if persons else None
        end = 4 - (neighbours == "replace")
        before = losses(z, label, lines, None if starts is None else starts[:4])
        after = losses(np.vstack([z[:end], new]), [*label[:end], *its], lines, None if starts is None else starts[: end + 1])
        for size in (0.01, 1, 30):
            at = size * DRAW.normal(size=lines * width) if turn % 2 == 0 else np.full(lines * width, size * DRAW.choice([-1, 1]))
            worst = max(worst, abs(density(made, before, at) - density(made, after, at)))
    assert worst <= claimed
    assert worst >= 0.3 * claimed


@pytest.mark.parametrize(("lines", "width"), SHAPES)
def test_the_gradient_is_certified_and_doubles_doubt_enough(lines: int, width: int) -> None:
    z, label = table(300, lines, width)
    one = losses(z, label, lines)
    made = Minimum(epsilon=1, lines=lines, width=width)
    ridge, slope = ridge_of(made), 100 * DRAW.normal(size=lines * width)
    whole = minimum._Objective(one, slope, ridge)
    exact = whole.descend()
    found = np.array([float(one) for one in exact])
    with precision(256):
        assert upper(sum((one**2 for one in whole.slope_in_balls(exact)), ball(0)).sqrt()) <= float(minimum._SHORT)
    for at in (found, 50 * DRAW.normal(size=found.size)):
        look = whole.look(at)
        with precision(256):
            true = np.array([float(x) for x in whole.slope_in_balls([Fraction(float(x)) for x in at])])
        off = float(np.linalg.norm(look.slope - true))
        assert off <= whole.doubt(at, look) < 1e-7
        penalty = float((ridge * at * at).sum() / 2 + slope @ at)
        assert look.value == pytest.approx(_sum_of_losses(z, label, at, lines) + penalty, rel=1e-9)
    known = minimize(
        lambda w: _sum_of_losses(z, label, w, lines) + (ridge * w * w).sum() / 2 + slope @ w, np.zeros(found.size), tol=1e-10
    )
    assert np.allclose(found, known.x, atol=1e-4 * (1 + np.abs(found).max()))


def _sum_of_losses(z: Any, label: Any, weights: Any, lines: int) -> float:
    """Written a second time, from its definition."""
    scores = z @ weights.reshape(lines, -1).T
    if lines == 1:
        return float(np.logaddexp(0, 1 - np.where(label == 1, 1, -1) * scores[:, 0]).sum())
    return float((np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(label)), label]).sum())


@pytest.mark.parametrize("lines", [1, 3])
def test_where_doubles_do_not_certify_balls_do(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where doubles are as coarse as those of 2^40 rows would be: a point is found, and never a refusal, which would say
    something of the rows."""
    z, label = table(40, lines, 3)
    one, ridge, slope = losses(z, label, lines), np.full(3 * lines, 0.05), 3 * DRAW.normal(size=3 * lines)
    whole = minimum._Objective(one, slope, ridge)
    usual = np.array([float(x) for x in whole.descend()])
    monkeypatch.setattr(minimum._Objective, "doubt", lambda *_: 1.0)
    assert np.allclose([float(x) for x in whole.descend()], usual, atol=1e-3)
    look, noise = minimum._Objective.look, np.random.default_rng(5)
    monkeypatch.setattr(
        minimum._Objective,
        "look",
        lambda self, at: replace(found := look(self, at), slope=found.slope + 0.3 * noise.normal(size=at.size)),
    )
    rough = whole.descend()
    assert np.allclose([float(x) for x in rough], usual, atol=1e-3)
    with precision(256):
        assert upper(sum((x**2 for x in whole.slope_in_balls(rough)), ball(0)).sqrt()) <= float(minimum._SHORT)


@pytest.mark.parametrize("lines", [1, 4])
def test_a_step_lowers_the_objective_by_what_the_third_theorem_says(lines: int) -> None:
    """At points near and far, where Newton's own step is too long by far and where it is not, of rows that contradict each
    other: a share of 1 / max(1, R) lowers it by a quarter of what is foreseen, and from R = 1/2 on a whole step halves."""
    long = halved = 0
    for turn in range(200):
        z, label = table(30, lines, 3)
        objective = minimum._Objective(losses(z, label, lines), DRAW.normal(size=3 * lines), np.full(3 * lines, 0.01))
        at = 10.0 ** DRAW.uniform(-2, 2) * DRAW.normal(size=3 * lines)
        here = objective.look(at)
        step, reach = objective.newton(here.bent, here.slope)
        fall, share = float(step @ here.slope), 1 / max(1.0, reach)
        there = objective.look(at - share * step)
        assert there.value <= here.value - share * fall / 4 + 1e-9 * abs(here.value)
        long += reach > 10
        if reach <= 0.5:
            after, _ = objective.newton(there.bent, there.slope)
            assert float(after @ there.slope) <= fall / 4 + 1e-12
            halved += 1
        if turn % 2:  # and near the minimum
            near = np.array([float(x) for x in objective.descend()]) + 0.05 * DRAW.normal(size=at.size)
            here = objective.look(near)
            step, reach = objective.newton(here.bent, here.slope)
            if reach <= 0.5:
                there = objective.look(near - step)
                after, _ = objective.newton(there.bent, there.slope)
                assert float(after @ there.slope) <= float(step @ here.slope) / 4 + 1e-12
                halved += 1
    assert long > 20
    assert halved > 20


@pytest.mark.parametrize(("neighbours", "epsilon"), [("add-remove", 2), ("replace", 1)])
def test_of_extreme_rows_the_law_is_the_integral_of_its_density(neighbours: Any, epsilon: int) -> None:
    """Two weights of rows that all pull one way, and of their neighbour: densities integrate to 1 (so that slopes and minima
    belong together one by one, and no constant differs), their ratio keeps to what is claimed, and what is let out falls into
    cells as they say. Chi-square over 24 cells, a false alarm below 1e-7 each; three quarters of the slope are found."""
    made = Minimum(epsilon=epsilon, lines=1, width=2, neighbours=neighbours)
    z, label = np.array([[1.0, 1], [1, 1], [-1, 1]]), [1, 1, 0]
    tables = (
        [(z, label), (z[:2], label[:2])] if neighbours == "add-remove" else [(z, label), (np.array([*z[:2], [1, 1]]), [1, 1, 0])]
    )
    ridge = ridge_of(made)
    ends = 40 * float(made.scale) / ridge
    axes = [np.linspace(-end, end, 801) for end in ends]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    heights = []
    for rows, classes in tables:
        pull, bend = ridge * points, np.zeros((*points.shape, 2)) + np.diag(ridge)
        for row, sign in zip(rows, np.where(np.array(classes) == 1, 1, -1), strict=True):
            chance = 1 / (1 + np.exp(sign * (points @ row) - 1))
            pull = pull - sign * chance[..., None] * row
            bend = bend + (chance * (1 - chance))[..., None, None] * np.outer(row, row)
        constant = 2 * (2 * float(made.scale)) ** 2
        heights.append(
            np.exp(-np.abs(pull).max(axis=-1) / float(made.scale))
            * (bend[..., 0, 0] * bend[..., 1, 1] - bend[..., 0, 1] ** 2)
            / constant
        )
    cell = float(np.prod([axis[1] - axis[0] for axis in axes]))
    assert [float(height.sum()) * cell for height in heights] == pytest.approx([1, 1], abs=2e-3)
    claimed = epsilon * (1 - 1 / 64)
    worst = float(np.abs(np.log(heights[0] / heights[1])).max())
    assert 0.5 * claimed < worst <= claimed
    for (rows, classes), height in zip(tables, heights, strict=True):
        draws = deep(1200, 600)
        one = losses(rows, classes, 1)
        found = np.array([made.release(one) for _ in range(draws)]).astype(float) * float(made.step)
        cuts = [
            np.array([-2.0, -0.7, 0, 0.7, 2]) * float(made.scale) / ridge[0],
            np.array([-1.0, 0, 1]) * float(made.scale) / ridge[1],
        ]
        where = [np.searchsorted(cut, axis) for cut, axis in zip(cuts, axes, strict=True)]
        shares = np.zeros((6, 4))
        np.add.at(shares, (where[0][:, None] + np.zeros_like(where[1]), where[1][None, :] + 0 * where[0][:, None]), height * cell)
        seen = np.zeros((6, 4))
        np.add.at(seen, tuple(np.searchsorted(cut, column) for cut, column in zip(cuts, found.T, strict=True)), 1)
        assert statistics.chi_square(seen.ravel(), (shares / shares.sum()).ravel() * draws) > statistics.ALARM


def test_rows_without_a_class_and_persons_with_many_weigh_as_they_should() -> None:
    z, label = table(6, 1, 3)
    at = DRAW.normal(size=3)
    kept = losses(z[:5], label[:5], 1).look(at).slope
    assert np.array_equal(kept, losses(z, [*label[:5], MISSING], 1).look(at).slope)
    twice = np.repeat(z, 2, axis=0), np.repeat(label, 2)
    persons = losses(*twice, 1, starts=np.arange(0, 12, 2)).look(at).slope
    assert np.allclose(persons, losses(z, label, 1).look(at).slope)
    wild = z.copy()
    wild[0] = [np.nan, np.inf, -np.inf]
    assert np.abs(losses(wild[:1], label[:1], 1).look(at).slope).max() <= 1


def test_of_no_rows_the_law_is_that_of_the_slope() -> None:
    """Chi-square, a false alarm below 1e-7: weights are -b / ridge, but for noise of a hundredth, and each number of b has the
    law of a uniform share of a gamma law of 4 times the scale."""
    made, none = Minimum(epsilon=1, lines=1, width=3, neighbours="replace"), losses(np.zeros((0, 3)), [], 1)
    draws, far = deep(1500, 800), np.array([0.3, 0.8, 1.5, 3.0])
    found = (
        np.array([made.release(none) for _ in range(draws)]).astype(float) * float(made.step) * ridge_of(made) / float(made.scale)
    )
    shares = -np.diff(np.array([1.0, *(gammaincc(4, far) - far / 3 * gammaincc(3, far)), 0.0]))
    for column in found.T:
        placed = np.bincount(np.searchsorted(far, np.abs(column)) + 5 * (column > 0), minlength=10)
        assert statistics.chi_square(placed, np.concatenate([shares, shares]) * draws / 2) > statistics.ALARM
    assert float(made.last * made.width) * max(made.ridge) < 0.02 * float(made.scale)


def test_a_replay_finds_rows_that_pull_harder_than_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Minimum(epsilon=1, lines=1, width=2)
    rows = [[1.0, 1.0]] * 3

    def run(given: Any) -> Any:
        return made.release(losses(given, [1] * len(given), 1)).shape

    assert not replay(run, rows, rows[:2]).violated
    assert replay(run, rows, rows[:1]).violated  # no neighbours: two rows are gone
    monkeypatch.setattr(minimum, "_weigh", lambda block: np.full(block.height, 2.0))
    found = replay(run, rows, rows[:2])
    assert "slopes" in str(found)


def test_what_cannot_be_found_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for lines, width in ((0, 3), (1, 1), (40, 40)):
        with pytest.raises(ParameterError, match="lines=1"):
            Minimum(epsilon=1, lines=lines, width=width)
    made = Minimum(epsilon=1, lines=1, width=3)
    with pytest.raises(ParameterError, match="other weights"):
        made.release(losses(np.ones((1, 2)), [1], 1))
    monkeypatch.setattr(minimum.cube, "rounded", lambda *_: [2**60] * 3)
    with pytest.raises(EntropyError):
        made.release(losses(np.ones((1, 3)), [1], 1))


def test_words() -> None:
    assert "in a cube" in Minimum(epsilon=1, lines=1, width=3).describe()
    assert math.isclose(float(Minimum(epsilon=1, lines=1, width=3).grid), 2.0**-40, rel_tol=0.6)


@pytest.mark.parametrize("epsilon", [1e-100, 1e-30, 1e-13, 1e-10, 1e-6])
def test_a_minimum_is_found_however_small_epsilon_is(epsilon: float) -> None:
    """What is certified grows with the slope, of which doubles hold so many digits and no more; at 1e-4 and above it does not."""
    mechanism = Minimum(epsilon=epsilon, lines=1, width=3)
    assert mechanism.certified >= mechanism.scale / 2**31
    assert len(mechanism.release(losses(*table(40, 1, 3), 1))) == 3
    assert Minimum(epsilon=1, lines=1, width=3).certified == Fraction(1, 2**16)
    with pytest.raises(ParameterError, match=r"10\^120"):
        Minimum(epsilon=1e-130, lines=1, width=3)
