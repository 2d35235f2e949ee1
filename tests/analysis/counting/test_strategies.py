"""The choice of strategies: errors are what linear algebra and experiments say, and never above those of plain cells."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.depth import examples

from discreet.analysis.counting.lattice import Lattice
from discreet.analysis.counting.least_squares import least_squares
from discreet.analysis.counting.strategies import Design, candidates
from discreet.analysis.counting.workloads import Marginals, Prefixes, Questions, Ranges, Workload, weigh_alike
from discreet.errors import ParameterError
from discreet.mechanisms.matrix.strategy import Contribution, Margins, Matrix

RANDOM = np.random.default_rng(8)
COSTS: dict[str, dict[str, Any]] = {"pure": {"epsilon": 1}, "concentrated": {"rho": 0.5}}
kinds = pytest.mark.parametrize("kind", COSTS)
TABLE = weigh_alike((10, 10), [(), (0,), (1,), (0, 1)])
WORKLOADS: dict[str, Workload] = {
    "ranges": Ranges(17),
    "prefixes": Prefixes(20),
    "table": weigh_alike((4, 5), [(), (0,), (1,), (0, 1)]),
    "two margins": Marginals((3, 2, 4), {(0, 1): 1.0, (2,): 0.5}),
    "questions": Questions(RANDOM.integers(0, 2, (7, 15)), weights=[1, 2, 3, 4, 5, 6, 7]),
    "few questions": Questions([[1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]]),
    "questions of a table": Questions(RANDOM.integers(0, 2, (9, 12)), shape=(3, 4)),
    "one cell": Questions([[1]]),
}
every = pytest.mark.parametrize("name", WORKLOADS)


def design(workload: Workload, kind: str, one: Contribution | None = None, **cost: Any) -> Design:
    return candidates(workload, kind, one).choose(**cost or COSTS[kind])  # type: ignore[arg-type]


@every
@kinds
def test_estimates_and_variances_are_those_of_least_squares(name: str, kind: str) -> None:
    """Written out, and solved by another method."""
    workload = WORKLOADS[name]
    rows = workload.written_out().astype(float)
    made = candidates(workload, kind)  # type: ignore[arg-type]
    for _, strategy in made.named:
        solved, matrix = least_squares(strategy), strategy.written_out().astype(float)
        noisy = RANDOM.integers(-1000, 1000, strategy.size)
        wanted, *_ = np.linalg.lstsq(matrix, noisy, rcond=1e-12)
        if np.linalg.matrix_rank(matrix) == workload.cells and strategy.cells == math.prod(
            getattr(strategy, "shape", (strategy.cells,))
        ):
            assert solved.cells(noisy) == pytest.approx(wanted, abs=1e-6)
            combination = rows @ np.linalg.inv(matrix.T @ matrix) @ rows.T
            assert solved.factors(workload) == pytest.approx(np.diag(combination), rel=1e-6)
        assert workload.weights @ solved.factors(workload) == pytest.approx(solved.total(workload), rel=1e-9)
        exact = RANDOM.integers(0, 1000, workload.cells)  # without noise, answers are exact: estimates are unbiased
        assert workload.answer(solved.cells(strategy.answer(exact))) == pytest.approx(rows @ exact, abs=1e-5)


@given(arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(-3, 3)), st.data())
@settings(max_examples=examples(60))
def test_least_squares_of_any_matrix(rows: np.ndarray, data: st.DataObject) -> None:
    if not rows.any():
        return
    noisy = data.draw(arrays(np.int64, len(rows), elements=st.integers(-100, 100)))
    solved = least_squares(Matrix(rows))
    assert rows @ solved.cells(noisy) == pytest.approx(rows @ np.linalg.lstsq(rows.astype(float), noisy, rcond=None)[0], abs=1e-6)
    asked = Questions(rows[rows.any(axis=1)])
    wanted = rows @ np.linalg.pinv((rows.T @ rows).astype(float)) @ rows.T
    assert solved.factors(asked) == pytest.approx(np.diag(wanted)[rows.any(axis=1)], abs=1e-7)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
@settings(max_examples=examples(60))
def test_least_squares_of_any_margins(shape: list[int], data: st.DataObject) -> None:
    sets = [axes for many in range(len(shape) + 1) for axes in itertools.combinations(range(len(shape)), many)]
    levels = data.draw(st.dictionaries(st.sampled_from(sets), st.integers(1, 9), min_size=1))
    strategy = Margins(tuple(shape), tuple(levels.items()))
    solved, matrix = least_squares(strategy), strategy.written_out().astype(float)
    noisy = data.draw(arrays(np.int64, strategy.size, elements=st.integers(-100, 100)))
    assert solved.cells(noisy) == pytest.approx(np.linalg.pinv(matrix) @ noisy, abs=1e-7)
    asked = Marginals(tuple(shape), dict.fromkeys(levels, 1.0))
    wanted = asked.written_out() @ np.linalg.pinv(matrix.T @ matrix) @ asked.written_out().T
    assert solved.factors(asked) == pytest.approx(np.diag(wanted), abs=1e-7)


@every
@kinds
def test_errors_are_those_of_an_experiment(name: str, kind: str) -> None:
    """The mean of 1,000 squared errors, each a weighted mean over questions, is within eight of its standard errors; false alarms
    are below 1e-9 even if squares had ten times the tail of a normal law."""
    made = design(WORKLOADS[name], kind)
    counts = RANDOM.integers(0, 50, made.workload.cells)
    truth = made.workload.written_out() @ counts
    weights = made.workload.weights / made.workload.mass
    exact = np.tile(made.strategy.answer(counts), (1000, 1))
    noisy = np.asarray(made.mechanism.noise.release(exact))
    squares = np.array([weights @ (made.estimate(one) - truth) ** 2 for one in noisy])
    assert abs(squares.mean() - made.error**2) < 8 * squares.std() / math.sqrt(squares.size)
    assert weights @ made.variances == pytest.approx(made.error**2, rel=1e-6)


@pytest.mark.diagonal(2)
@every
@kinds
@pytest.mark.parametrize(
    "one",
    [Contribution(), Contribution(3), Contribution(2, 3), Contribution(1, 1, "replace"), Contribution(2, 2, "replace")],
    ids=str,
)
def test_no_choice_is_worse_than_cells_or_beats_the_bound(name: str, kind: str, one: Contribution) -> None:
    made = design(WORKLOADS[name], kind, one)
    errors = {tried.name: tried.error for tried in made.tried}
    assert made.error <= errors["identity"]
    assert made.error <= 1.01 * min(errors.values())
    assert made.mechanism.contribution == one
    if made.bound is not None:
        assert made.bound <= made.error * (1 + 1e-9)


@given(
    arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=st.integers(0, 1)),
    st.sampled_from(["pure", "concentrated"]),
)
@settings(max_examples=examples(40), deadline=None)
def test_nor_is_one_for_any_questions(rows: np.ndarray, kind: str) -> None:
    rows = rows[rows.any(axis=1)]
    if not len(rows):
        return
    made = design(Questions(rows), kind)
    assert made.error <= made.tried[0].error
    exact = np.arange(1, rows.shape[1] + 1)
    assert made.estimate(made.strategy.answer(exact)) == pytest.approx(rows @ exact, abs=1e-4)


@every
@kinds
def test_more_noise_is_more_error(name: str, kind: str) -> None:
    made = candidates(WORKLOADS[name], kind)  # type: ignore[arg-type]
    ((currency, _),) = COSTS[kind].items()
    errors = [made.choose(**{currency: cost}).error for cost in (0.01, 0.1, 0.5, 1, 3, 10)]
    assert errors == sorted(errors, reverse=True)
    heavier = [design(WORKLOADS[name], kind, Contribution(weight)).error for weight in (1, 2, 5)]
    assert heavier == sorted(heavier)


@pytest.mark.parametrize("kind", COSTS)
def test_where_noise_is_small_whole_cells_win(kind: str) -> None:
    """Noise on whole cells is then 0 nearly always, and on finer grids it is not."""
    made = design(TABLE, kind, **{"pure": {"epsilon": 9}, "concentrated": {"rho": 20}}[kind])
    assert made.name == "identity"


def test_facts_tell_what_noisy_answers_are_of() -> None:
    little, much = (design(TABLE, "pure", epsilon=epsilon) for epsilon in (1, 9))
    assert little.facts == {"strategy": "separate", "shape": [10, 10], "levels": [[[], 1], [[0], 1], [[1], 1], [[0, 1], 1]]}
    assert much.facts == {"strategy": "identity", "shape": [10, 10], "levels": [[[0, 1], 1]]}
    best = design(Ranges(8), "concentrated")
    assert best.facts == design(Ranges(8), "concentrated", rho=0.1).facts == {"strategy": "optimal", "scale": 2**16}
    assert json.loads(json.dumps([little.facts, best.facts])) == [little.facts, best.facts]


def plain(made: Design) -> float:
    return next(tried.error for tried in made.tried if tried.name == "identity")


@pytest.mark.parametrize(("cells", "most", "singular"), [(50, 0.60, 0.522), (256, 0.38, 0.310)])
def test_all_ranges_under_a_concentrated_budget(cells: int, most: float, singular: float) -> None:
    """Beside adding up cells with noise that is not rounded (rho is small), and beside the singular values."""
    made = design(Ranges(cells), "concentrated", rho=0.0005)
    assert made.name == "optimal"
    assert singular < made.error / plain(made) < most
    values = np.linalg.svd(Ranges(cells).gram(), compute_uv=False)
    own = np.sqrt(np.sqrt(values).sum() ** 2 / cells / made.workload.size) * math.sqrt(1000)
    assert own / plain(made) == pytest.approx(singular, abs=0.0006)
    assert made.bound is not None
    assert own * (1 - 1e-3) <= made.bound <= made.error <= made.bound * 1.001


@pytest.mark.parametrize("cells", [50, 256, 2**16])
def test_all_ranges_under_a_pure_budget(cells: int) -> None:
    made = design(Ranges(cells), "pure")
    assert made.error <= plain(made)
    assert made.error / plain(made) < {50: 1, 256: 0.75, 2**16: 0.13}[cells]


@pytest.mark.parametrize(("kind", "most"), [("pure", 0.40), ("concentrated", 0.25)])
def test_a_table_with_its_margins(kind: str, most: float) -> None:
    """The grand total beside the sum of a hundred cells, each measured with the whole budget."""
    made = design(TABLE, kind)
    alone = design(Marginals((10, 10), {(0, 1): 1.0}), kind)
    assert alone.name == "identity"
    total = float(TABLE.split(made.variances)[()])
    assert math.sqrt(total / (100 * alone.error**2)) <= most
    counts = RANDOM.integers(0, 100, 100)
    parts = TABLE.split(made.estimate(made.mechanism.release(counts)))
    assert parts[0,] == pytest.approx(parts[0, 1].sum(axis=1))
    assert parts[1,].sum() == pytest.approx(parts[()])


def test_shares_of_margins_are_optimal() -> None:
    """Under a concentrated budget by the gap of the convex problem; the bound of all strategies whatever is the optimum without
    signs (Xiao and others 2023)."""
    for workload in (
        TABLE,
        Marginals((3, 2, 4), {(0, 1): 1.0, (2,): 0.5, (0, 2): 1.0}),
        weigh_alike((3,) * 6, [*itertools.combinations(range(6), 2)]),
    ):
        assert isinstance(workload, Marginals)
        lattice = Lattice.around(workload.shape, [*workload.margins, tuple(range(len(workload.shape)))])
        energies, prices = lattice.energies(workload), np.ones(len(lattice.sets))
        shares = lattice.shares(energies, prices, pure=False)
        error = lattice.error(energies, shares)
        slopes = lattice.sizes * (lattice.below @ (energies / lattice.precisions(shares) ** 2))
        assert shares.sum() == pytest.approx(1)
        assert slopes.max() <= error * 1.01
        free = np.sqrt(energies * lattice.share_out((workload.cells / lattice.sizes).tolist())).sum() ** 2 / workload.cells
        assert free <= error * (1 + 1e-9) <= free * 1.2


def test_energies_add_up_to_the_whole_workload() -> None:
    for workload in (TABLE, WORKLOADS["two margins"], WORKLOADS["questions of a table"]):
        sets = [axes for many in range(4) for axes in itertools.combinations(range(len(workload.shape)), many)]
        lattice = Lattice.around(workload.shape, sets)
        energies = lattice.energies(workload)
        assert (energies >= 0).all()
        assert energies.sum() == pytest.approx(np.trace(workload.gram()))


def test_large_tables_and_orders_are_answered() -> None:
    """Work is bounded by the number of cells; a day of minutes for a month, and a table of five axes."""
    made = design(Prefixes(43_200), "concentrated")
    counts = RANDOM.integers(0, 5, 43_200)
    assert made.estimate(made.strategy.answer(counts)) == pytest.approx(np.cumsum(counts), rel=1e-9)
    assert made.variances.shape == (43_200,)
    assert made.error < 0.05 * plain(made)
    five = weigh_alike((8, 9, 10, 6, 7), [*itertools.combinations(range(5), 2)])
    wide = design(five, "pure")
    assert wide.error < 0.5 * plain(wide)


def test_a_cost_of_the_wrong_kind_is_refused() -> None:
    for kind, cost in [("pure", {"rho": 1}), ("pure", {"epsilon": 1, "delta": 1e-6}), ("concentrated", {"epsilon": 1})]:
        with pytest.raises(ParameterError, match="currency"):
            design(TABLE, kind, **cost)
    with pytest.raises(ParameterError, match="concentrated"):
        candidates(TABLE, "approximate")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="different tables"):
        least_squares(Margins((2, 2), (((0, 1), 1),))).total(TABLE)
    assert design(TABLE, "concentrated", epsilon=1, delta=1e-6).mechanism.privacy.epsilon(1e-6) <= 1
