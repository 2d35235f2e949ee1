"""Estimates: unbiased, as accurate as the closed form says, with intervals that cover; and their consistent form.

The simulations hold 1,000 people's values fixed and randomise them many times, 7,000 estimates in all for each protocol. The
mean of squared errors then has a relative standard deviation of sqrt(2 / 7,000) = 1.7 % (at most 1.9 % for these laws): 10 % is
five of them, a false alarm below 1e-6. Coverage is compared with the exact coverage of the interval (a count of supporting
reports is a sum of two binomials): its standard deviation is below 0.3 %, and 1.8 % are allowed.
What is drawn has its law over all reports in ``test_protocols.py``; this is the whole way from values to intervals.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local.protocols import NAMES, large
from scipy.signal import fftconvolve
from scipy.stats import binom

from discreet.errors import ParameterError
from discreet.local.protocols import make_protocol
from discreet.local.protocols.base import Rates
from discreet.local.tasks.frequencies import Estimate, norm_sub

PEOPLE = 1000


def population(size: int) -> np.ndarray:
    """Values of 1,000 people, the first ones far more common."""
    shares = 1 / np.arange(1, size + 1)
    counts = np.floor(PEOPLE * shares / shares.sum()).astype(int)
    counts[0] += PEOPLE - counts.sum()
    return np.repeat(np.arange(size), counts)


def coverage(rates: Rates, own: int, people: int) -> float:
    """The exact chance that a 95 % interval covers the share of a value that ``own`` of so many people have."""
    counts = np.arange(people + 1)
    law = fftconvolve(
        binom.pmf(counts[: own + 1], own, rates.truth), binom.pmf(counts[: people - own + 1], people - own, rates.lie)
    )
    low, high = Estimate.of(range(people + 1), counts, people, rates).interval(0.95)
    return float(law[(low <= own / people) & (own / people <= high)].sum())


@pytest.mark.diagonal
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "randomized response"])
def test_errors_are_as_the_closed_form_says_and_intervals_cover(name: str, epsilon: Fraction) -> None:
    protocol = large(name, epsilon)
    size, truth = protocol.size, population(protocol.size)
    surveys = math.ceil(7_000 / (size - 1))
    shares = np.bincount(truth, minlength=size) / PEOPLE
    rows = protocol.randomize(np.tile(truth, surveys))
    estimates = [
        Estimate.of(range(size), protocol.support(protocol.tally(part)), PEOPLE, protocol.rates)
        for part in np.split(rows, surveys)
    ]
    errors = np.array([estimate.values for estimate in estimates]) - shares
    variances = np.array([protocol.rates.variance(share) for share in shares]) / PEOPLE
    assert (errors**2).mean() == pytest.approx(variances.mean(), rel=0.1)
    assert (np.abs(errors.mean(axis=0)) < 6.5 * np.sqrt(variances / surveys)).all()
    covered = np.mean([(low <= shares) & (shares <= high) for low, high in (e.interval(0.95) for e in estimates)])
    expected = {share: coverage(protocol.rates, round(share * PEOPLE), PEOPLE) for share in shares}
    assert covered == pytest.approx(np.mean([expected[share] for share in shares]), abs=0.018)
    said = np.mean([estimate.standard_error**2 for estimate in estimates], axis=0)
    assert (said > 0.9 * variances).all()
    assert (said < 1.2 * variances).all()  # a share that is all noise is taken as at least 0, which errs upwards


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
def test_a_bit_errs_as_the_closed_form_says_and_its_interval_covers(epsilon: Fraction) -> None:
    """7,000 surveys of 400 people, because the two shares err alike."""
    protocol, surveys, people, share = large("randomized response", epsilon), 7_000, 400, 0.3
    codes = np.tile(np.repeat([0, 1], [120, 280]), surveys)
    support = (protocol.randomize(codes).reshape(surveys, people) == 0).sum(axis=1)
    estimate = Estimate.of(range(surveys), support, people, protocol.rates)
    variance = protocol.rates.variance(share) / people
    assert ((estimate.values - share) ** 2).mean() == pytest.approx(variance, rel=0.1)
    assert abs(estimate.values.mean() - share) < 6.5 * math.sqrt(variance / surveys)
    low, high = estimate.interval(0.95)
    covered = ((low <= share) & (share <= high)).mean()
    assert covered == pytest.approx(coverage(protocol.rates, 120, people), abs=0.018)


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=str)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("own", [0, 100, 5_000, 20_000])
def test_intervals_cover_95_percent_of_20000_people(own: int, name: str, epsilon: Fraction) -> None:
    assert 0.943 < coverage(large(name, epsilon).rates, own, 20_000) < 0.957  # exact; counts have steps


@pytest.mark.parametrize("name", NAMES)
def test_intervals_cover_however_few_reported_and_however_large_epsilon_is(name: str) -> None:
    """The exact coverage, in settings from noise alone to hardly any noise; without half a report it fell to 0.79."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(4), Fraction(6), Fraction(8), Fraction(12)):
        for size in (2,) if name == "randomized response" else (2, 20, 1000):
            rates = make_protocol(name, epsilon, size).rates
            for people in (1, 2, 5, 20, 50, 100, 300):
                for own in {0, 1, 2, people // 20, people // 5, people // 2, people - 1, people}:
                    if own <= people:
                        assert coverage(rates, own, people) >= 0.94, (name, epsilon, size, people, own)


def made(values: list[float], count: int = 1000) -> Estimate:
    rates = Rates(0.75, 0.25, 0.5)
    support = np.rint((np.array(values) * 0.5 + 0.25) * count).astype(np.int64)
    return Estimate.of(["a", "b", "c", "d"][: len(values)], support, count, rates)


def test_an_estimate_inverts_the_shares_exactly() -> None:
    estimate = made([0.7, 0.3], 100)  # 60 and 40 supporting reports
    assert estimate.values == pytest.approx([0.7, 0.3], rel=1e-12)
    assert estimate["a"] == pytest.approx(0.7)
    assert estimate.to_dict() == {"a": pytest.approx(0.7), "b": pytest.approx(0.3)}
    assert estimate.standard_error == pytest.approx([math.sqrt(0.1875 / 100) / 0.5] * 2)
    with pytest.raises(KeyError, match="not among"):
        estimate["z"]


def test_intervals_hold_the_estimate_and_widen() -> None:
    estimate = made([0.9, 0.3, -0.1, -0.1])
    (low, high), (lower, higher) = estimate.interval(0.5), estimate.interval(0.99)
    assert (lower < low).all()
    assert (low <= estimate.values).all()
    assert (estimate.values <= high).all()
    assert (high < higher).all()
    with pytest.raises(ParameterError):
        estimate.interval(1)


@pytest.mark.parametrize("truth", [0.0, 0.2, 1.0])
def test_the_score_interval_solves_its_equation(truth: float) -> None:
    """At both ends the count is half a report and z standard deviations away, with the deviation of that end."""
    rates = Rates(0.8, 0.1, 0.7)
    estimate = Estimate.of(["a"], np.array([round(500 * (0.1 + 0.7 * truth))]), 500, rates)
    for end in estimate.interval(0.95):
        away = abs(estimate.values[0] - end[0]) * 500 * 0.7 - 0.5
        deviation = math.sqrt(max(rates.variance(end[0]), 0.0) * 500 * 0.7**2 + 1 / 32)
        assert away == pytest.approx(1.959964 * deviation, rel=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=40))
def test_norm_sub_gives_the_nearest_shares(values: list[float]) -> None:
    raw = np.array(values)
    tidy = norm_sub(raw)
    assert tidy.sum() == pytest.approx(1, abs=1e-9)
    assert (tidy >= 0).all()
    moved = (tidy - raw)[tidy > 0]
    assert moved == pytest.approx(np.full(moved.size, moved[0]), abs=1e-9)  # all that are kept moved alike
    assert (raw[tidy == 0] + moved[0] <= 1e-9).all()  # and the others would have fallen below 0


def test_norm_sub_of_noise_alone() -> None:
    """Estimates at a tiny epsilon are so large that 1 is lost beside them."""
    assert norm_sub(np.array([1e100, -1e100])).tolist() == [1.0, 0.0]
    assert norm_sub(np.array([3e99, -1e100, 3e99])).tolist() == [0.5, 0.0, 0.5]
    assert norm_sub(np.array([1e100, 2e100]), exactly=False).tolist() == [0.0, 1.0]


def test_candidates_of_an_open_domain_need_not_add_up_to_one() -> None:
    assert norm_sub(np.array([0.2, -0.1, 0.3]), exactly=False).tolist() == [0.2, 0.0, 0.3]
    assert norm_sub(np.array([0.9, 0.5]), exactly=False) == pytest.approx([0.7, 0.3])


def test_tables_and_pictures() -> None:
    estimate = made([0.5, 0.4, 0.2, -0.1])
    text = str(estimate)
    assert text.splitlines()[2].split()[:2] == ["a", "50.0"]
    assert "1,000 people" in text
    assert "hostile" in text
    assert "<table" in estimate._repr_html_()
    frame = estimate.to_pandas()
    assert list(frame.columns) == ["item", "share", "standard_error", "lower", "upper", "consistent"]
    assert frame["consistent"].sum() == pytest.approx(1)
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    axes = estimate.plot()
    assert len(axes.patches) == 4
    assert axes.get_yticklabels()[0].get_text() == "a"
    pyplot.close("all")


def test_hostile_markup_stays_text() -> None:
    estimate = Estimate.of(["<script>", "a\x1b[31m$x$"], np.array([60, 40]), 100, Rates(0.75, 0.25, 0.5))
    assert "<script>" not in estimate._repr_html_()
    assert "\x1b" not in str(estimate)


def test_influence_is_that_of_one_percent_hostile_clients() -> None:
    """1 % of all reports support one value for certain, not with probability q: its estimate moves by (1 - q) / (p - q) %."""
    honest, hostile = made([0.0, 1.0], 990), made([0.0, 1.0], 1000)
    support = np.array([round(0.25 * 990) + 10, 0])
    attacked = Estimate.of(["a", "b"], support, 1000, Rates(0.75, 0.25, 0.5))
    assert attacked.values[0] - honest.values[0] == pytest.approx(hostile.influence(0.01), abs=1e-3)
