"""The shape of numbers: expectation maximisation, quantiles, bootstrap."""

from __future__ import annotations

from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest

from discreet.errors import ParameterError, ValueRefused
from discreet.local import Collector, Distribution, read_collector, read_task
from discreet.local.distribution_estimate import DistributionEstimate
from discreet.local.square_wave import SquareWave, best_arm


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
    """200,000 people; the quantiles' noise is below 0.6 (bootstrap, epsilon 1), so 4 away is beyond 6 standard errors."""
    values = 100 * np.random.default_rng(5).beta(2, 5, 200_000)
    estimate = collected(Distribution(0, 100, epsilon), values).estimate()
    assert (estimate.values >= 0).all()
    assert estimate.values.sum() == pytest.approx(1)
    for share in (0.25, 0.5, 0.75):
        assert abs(estimate.quantile(share) - np.quantile(values, share)) < 4
        low, high = estimate.quantile_interval(share)
        assert low - 1 <= estimate.quantile(share) <= high + 1
        assert high - low < 4
    assert estimate.mean() == pytest.approx(values.mean(), abs=3)


def test_the_bootstrap_shows_as_much_noise_as_there_is() -> None:
    """The spread of 60 medians errs by 9 %, the bootstrap by about as much: a factor of 2 is beyond 5 deviations."""
    task = Distribution(0, 1, 2, bins=32)
    values = np.random.default_rng(5).beta(2, 2, 20_000)
    estimates = [collected(task, values).estimate() for _ in range(60)]
    low, high = estimates[0].quantile_interval(0.5, 0.6827)
    told, true = (high - low) / 2, np.std([estimate.quantile(0.5) for estimate in estimates], ddof=1)
    assert 0.5 < told / true < 2


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
    assert "Bootstrap" in str(estimate)
    assert "50%" in estimate._repr_html_()
    assert list(estimate.to_pandas().columns) == ["from", "to", "share", "standard_error", "lower", "upper"]
    assert "bootstrap" in estimate.plot().get_ylabel()
    assert best_arm(Fraction(2), 8) == 1
