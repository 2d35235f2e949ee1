"""The shape of numbers: expectation maximisation, quantiles, bootstrap."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest

from discreet.errors import ParameterError, ValueRefused
from discreet.local import Collector, Distribution, read_collector, read_task
from discreet.local.protocols.numbers.square_wave import SquareWave, choose_arm
from discreet.local.tasks.distribution import DistributionEstimate


def collected(task: Distribution, values: np.ndarray) -> Collector[DistributionEstimate]:
    collector = task.collector()
    collector.add(task.randomize(values))
    return collector


def test_expected_cells_are_those_of_the_likelihood() -> None:
    wave = SquareWave(Fraction(1), 9, 2)
    shares = np.arange(1, 10) / 45
    matrix = np.array([[float(wave.likelihood(np.array(cell), code)) for code in range(9)] for cell in range(wave.cells)])
    assert wave.expected(shares) == pytest.approx(matrix @ shares, rel=1e-12)


def test_expectation_maximisation_is_the_plain_one_with_smoothing() -> None:
    """Against matrices written out, and converged: one more round moves nothing."""
    wave = SquareWave(Fraction(2), 12, 1)
    counts = np.arange(50.0, 50 + 3 * wave.cells, 3)
    found = wave.shares(counts)
    matrix = np.array([[float(wave.likelihood(np.array(cell), code)) for code in range(12)] for cell in range(wave.cells)])
    better = found * (matrix.T @ (counts / counts.sum() / (matrix @ found)))
    padded = np.concatenate([better[:1], better, better[-1:]])
    smooth = (padded[:-2] + 2 * better + padded[2:]) / 4
    assert smooth / smooth.sum() == pytest.approx(found, abs=2e-6)
    assert wave.shares(np.stack([counts, counts])) == pytest.approx(np.stack([found, found]), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_quantiles_of_a_smooth_shape(epsilon: int) -> None:
    """200,000 people; the quantiles' noise is below 0.6 (epsilon 1), so 4 away is beyond 6 standard errors."""
    values = 100 * np.random.default_rng(5).beta(2, 5, 200_000)
    estimate = collected(Distribution(0, 100, epsilon), values).estimate()
    assert (estimate.values >= 0).all()
    assert estimate.values.sum() == pytest.approx(1)
    for share in (0.25, 0.5, 0.75):
        assert abs(estimate.quantile(share) - np.quantile(values, share)) < 4
        low, high = estimate.quantile_interval(share)
        assert low <= estimate.quantile(share) <= high
        assert high - low < 16 / epsilon
    assert estimate.mean() == pytest.approx(values.mean(), abs=3)


def test_the_bootstrap_shows_as_much_noise_as_there_is() -> None:
    """The spread of 60 shares errs by 9 %, the bootstrap by about as much: a factor of 2 is beyond 5 deviations."""
    task = Distribution(0, 1, 2, bins=32)
    values = np.random.default_rng(5).beta(2, 2, 20_000)
    estimates = [collected(task, values).estimate() for _ in range(60)]
    told, true = estimates[0].standard_error[16], np.std([estimate.values[16] for estimate in estimates], ddof=1)
    assert 0.5 < told / true < 2


@pytest.mark.parametrize("wave", [SquareWave(Fraction(1), 40, 9), SquareWave(Fraction(1), 40, 0), SquareWave(Fraction(6), 7, 7)])
@pytest.mark.parametrize("shares", ["even", "spike", "ends"])
def test_cumulative_shares_are_unbiased_for_any_shape(wave: SquareWave, shares: str) -> None:
    """Of expected counts they are the truth; and the variance is at least that of the multinomial, and hardly more."""
    truth = np.full(wave.bins, 1 / wave.bins) if shares == "even" else np.zeros(wave.bins)
    if shares == "spike":
        truth[wave.bins // 3] = 1
    elif shares == "ends":
        truth[[0, -1]] = 0.5
    law, people = wave.expected(truth), 1000
    found, variance = wave.cumulative(people * law)
    assert found == pytest.approx(np.cumsum(truth), abs=1e-9)
    unit = 0.1  # cumulative shares are linear in the cells at a fixed total
    moved = np.array(
        [wave.cumulative(people * (1 - unit) * law + people * unit * np.eye(wave.cells)[j])[0] for j in range(wave.cells)]
    )
    weights = (moved - (1 - unit) * found) / unit
    exact = (law @ weights**2 - (law @ weights) ** 2) / people
    assert (variance >= exact * (1 - 1e-9) - 1e-15).all()
    assert (variance[:-1] < 3 * exact[:-1] + 1e-4).all()


SHAPES = {
    "half at one place": lambda rng, n: np.where(rng.random(n) < 0.5, 30.0, rng.uniform(0, 100, n)),
    "two places": lambda rng, n: np.where(rng.random(n) < 0.4, 20.0, 80.0),
    "many at the lower bound": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.uniform(0, 100, n)),
    "a smooth one": lambda rng, n: 100 * rng.beta(2, 5, n),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [1, 4])
def test_intervals_of_quantiles_cover_whatever_the_shape_is(shape: str, epsilon: int) -> None:
    """24 surveys, of whose intervals each misses with a chance of 5 % at most: 11 misses have one below 1e-8."""
    rng, task, misses = np.random.default_rng(7), Distribution(0, 100, epsilon, bins=64), Counter[float]()
    for _ in range(24):
        values = SHAPES[shape](rng, 4000)
        estimate = collected(task, values).estimate()
        for share in (0.05, 0.25, 0.5, 0.75, 0.95):
            low, high = estimate.quantile_interval(share)
            assert low <= estimate.quantile(share) <= high
            misses[share] += not low <= np.quantile(values, share, method="inverted_cdf") <= high
    assert max(misses.values()) < 11


def test_a_spike_is_told_to_within_a_few_bins() -> None:
    """Everybody at one place, 100,000 people at epsilon 2: intervals 2 wide, so 8 is far beyond any noise."""
    estimate = collected(Distribution(0, 100, 2), np.full(100_000, 77.7)).estimate()
    low, high = estimate.quantile_interval(0.5)
    assert low <= 77.7 <= high
    assert high - low < 8


def test_printing_finds_no_shape_again_and_tables_do_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in steps of expectation maximisation, each over so many cells: 4,500 steps of 200 rows took 8 seconds."""
    task, work = Distribution(0, 100, 1), []
    estimate = collected(task, 100 * np.random.default_rng(5).beta(2, 5, 20_000)).estimate()
    step = SquareWave._step
    monkeypatch.setattr(SquareWave, "_step", lambda wave, counts, found: work.append(found.size) or step(wave, counts, found))
    assert "quantile" in str(estimate) + repr(task) + estimate._repr_html_()
    assert not work
    estimate.columns()
    assert sum(work) < 1000 * 200 * 256
    work.clear()
    str(task.plan(10_000))
    assert sum(work) < 1000 * 60 * 256


def test_values_are_binned_and_clamped() -> None:
    task = Distribution(0, 10, 1, bins=5)
    assert task.codes([0, 1.99, 2, 9.99, 10, 11, -5, float("inf")]).tolist() == [0, 0, 1, 4, 4, 4, 0, 4]
    with pytest.raises(ValueRefused):
        task.randomize([1, float("nan")])
    assert len(Distribution(0, 10, 1, missing="random").randomize([1, float("nan")])) == 2  # type: ignore[arg-type]


def test_tasks_and_collectors_survive_json_and_bad_reports() -> None:
    task = Distribution(0, 1, 1, bins=16, question="?")
    assert read_task(task.to_json()) == task
    collector = collected(task, np.linspace(0, 1, 50))
    for r in (-1, task.protocol.cells, None, "3", 2**80):
        collector.add({"v": 1, "task": task.hash, "r": r})
    assert (collector.count, collector.refused) == (50, {"malformed": 5})
    back = read_collector(collector.to_json())
    assert back.estimate().values.tolist() == collector.estimate().values.tolist()  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="square wave"):
        read_task(task.to_json().replace("square wave", "round wave"))


def test_the_plan_simulates_and_warns() -> None:
    task = Distribution(0, 1, 0.1, bins=32)
    assert "noise" in str(task.plan(100))
    good = Distribution(0, 1, 4, bins=32).plan(10**6)
    assert not good.warnings
    assert 0 < good.standard_error < 0.002
    assert 0 < good.influence < 0.1


def test_an_estimate_shows_itself() -> None:
    mpl.use("Agg")
    estimate = collected(Distribution(0, 1, 2, bins=8), np.linspace(0, 1, 500)).estimate()
    assert "any shape" in str(estimate)
    assert "50%" in estimate._repr_html_()
    assert list(estimate.to_pandas().columns) == ["from", "to", "share", "standard_error", "lower", "upper"]
    assert "bootstrap" in estimate.plot().get_ylabel()
    assert choose_arm(Fraction(2), 8) == 1
