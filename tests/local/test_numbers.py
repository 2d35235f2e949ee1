"""The guarantee and the arithmetic of the protocols for numbers: Duchi, hybrid, Laplace and the square wave.

Probabilities are balls of 300 bits, as the protocols state them; that what is drawn has these probabilities is tested beside it,
each chi-square with a false-alarm rate below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from local.ratio import worst
from reference import statistics
from support.recorded import replay

from discreet.balls import arb, ball, precision
from discreet.errors import ParameterError
from discreet.local.protocols.base import Protocol
from discreet.local.protocols.numbers.base import MeanProtocol, round_places
from discreet.local.protocols.numbers.duchi import Duchi
from discreet.local.protocols.numbers.hybrid import Hybrid
from discreet.local.protocols.numbers.laplace import Laplace
from discreet.local.protocols.numbers.square_wave import SquareWave, choose_arm
from discreet.local.protocols.numbers.window import Window
from discreet.noise.bits import words

HALF, ONE, FOUR = Fraction(1, 2), Fraction(1), Fraction(4)

MEANS: list[MeanProtocol] = [
    Duchi(HALF, 15),
    Duchi(FOUR, 63),
    Hybrid(ONE, 15, 20, 7),
    Hybrid.best(ONE, 63),
    Hybrid(FOUR, 10, 30, 3),
    Hybrid(Fraction(3), 7, 5, 1),
    Laplace(FOUR, 5),
    Laplace(Fraction(20), 63),
]
WAVES = [SquareWave(epsilon, bins, choose_arm(epsilon, bins)) for epsilon in (HALF, ONE, FOUR) for bins in (2, 9, 64)]
ALL: list[Protocol] = [*MEANS, *WAVES]


def label(protocol: Protocol) -> str:
    return f"{protocol.name} {protocol.epsilon} {'-'.join(map(str, protocol.parameters.values()))}"


def values_of(protocol: Protocol) -> int:
    return protocol.bins if isinstance(protocol, SquareWave) else protocol.steps + 1  # type: ignore[attr-defined]


def reports_of(protocol: Protocol) -> int:
    return protocol.reports if isinstance(protocol, MeanProtocol) else protocol.cells


def laws(protocol: Protocol) -> list[list[arb]]:
    rows = [np.array(report) for report in range(reports_of(protocol))]
    return [[protocol.likelihood(row, code) for row in rows] for code in range(values_of(protocol))]


@pytest.mark.parametrize("protocol", ALL, ids=label)
def test_no_report_is_more_than_e_to_the_epsilon_times_likelier(protocol: Protocol) -> None:
    with precision(300):
        probabilities = laws(protocol)
        ratio, target = worst(probabilities), ball(protocol.epsilon).exp()
        assert not ratio > target
        assert ratio < target * (1 + ball(Fraction(1, 10**60)))
        if not isinstance(protocol, Hybrid):  # nothing is given away; the hybrid's windows all overlap where cells are few
            assert ratio > target * (1 - ball(Fraction(1, 10**12)))
        for law in probabilities:
            assert abs(sum(law, ball(0)) - 1) < ball(Fraction(1, 10**60))


@pytest.mark.parametrize("protocol", ALL, ids=label)
def test_what_is_drawn_has_the_stated_likelihood(protocol: Protocol) -> None:
    draws = 30_000
    for code in {0, values_of(protocol) // 3, values_of(protocol) - 1}:
        rows = protocol.randomize(np.full(draws, code))
        assert protocol.valid(rows).all()
        assert rows.dtype == np.dtype(protocol.form.dtype)
        seen = np.bincount(rows.astype(np.int64), minlength=reports_of(protocol))
        law = [draws * float(protocol.likelihood(np.array(report), code)) for report in range(reports_of(protocol))]
        assert statistics.chi_square(seen, law) > statistics.ALARM


@pytest.mark.parametrize("protocol", ALL, ids=label)
def test_the_same_coins_are_tossed_whatever_the_value(protocol: Protocol) -> None:
    tape = [int(word) for word in words(3000)]
    codes = range(values_of(protocol))
    runs = [replay(lambda code=code: protocol.randomize(np.full(3, code)), tape) for code in codes]  # type: ignore[misc]
    assert len({run.words_left for run in runs}) == 1


def measurements(protocol: MeanProtocol) -> np.ndarray:
    """What each report stands for, found through the collector's own arithmetic."""
    rows = np.arange(protocol.reports)
    return np.array([protocol.summary(protocol.tally(rows[place : place + 1]), 1)[0] for place in rows])


@pytest.mark.parametrize("protocol", MEANS, ids=label)
def test_measurements_are_unbiased_with_the_closed_form_variance(protocol: MeanProtocol) -> None:
    """By enumeration of all reports for all values."""
    measured = measurements(protocol)
    with precision(200):
        chances = np.array([[float(chance) for chance in law] for law in laws(protocol)])
    places = np.arange(protocol.steps + 1) / protocol.steps
    means = chances @ measured
    assert means == pytest.approx(places, abs=1e-11)
    variances = chances @ measured**2 - means**2
    assert protocol.variance(places) == pytest.approx(variances, rel=1e-9)
    assert protocol.worst == pytest.approx(variances.max(), rel=1e-9)


@pytest.mark.parametrize("protocol", [Duchi(ONE, 1000), Hybrid.best(ONE, 1000), Laplace(ONE, 1000)], ids=label)
def test_mean_squared_error_is_the_closed_form_within_three_percent(protocol: MeanProtocol) -> None:
    """A million reports: the sample variance has a relative spread of at most sqrt((6 - 1) / 10^6) = 0.22 %, so an alarm at 3 %
    is 13 standard deviations away: a false-alarm rate below 1e-30."""
    for code in (0, 400, 1000):
        tally = protocol.tally(protocol.randomize(np.full(10**6, code)))
        mean, variance = protocol.summary(tally, 10**6)
        expected = float(protocol.variance(np.array([code / 1000]))[0])
        assert variance == pytest.approx(expected, rel=0.03)
        assert abs(mean - code / 1000) < 6 * (expected / 10**6) ** 0.5  # false alarm 2e-9


@pytest.mark.parametrize(
    ("epsilon", "duchi", "hybrid", "laplace"),
    [(HALF, 16.67, 16.9, 32.0), (ONE, 4.68, 4.29, 8.0), (Fraction(2), 1.72, 1.04, 2.0), (FOUR, 1.08, 0.219, 0.5)],
    ids=str,
)
def test_worst_case_variances_are_those_of_the_papers(epsilon: Fraction, duchi: float, hybrid: float, laplace: float) -> None:
    """On [-1, 1], where the papers compare them; the paper's hybrid is Duchi's protocol at one half, which the choice does."""
    assert 4 * Duchi(epsilon, 10**6).worst == pytest.approx(duchi, rel=5e-3)
    assert 4 * Hybrid.best(epsilon, 10**6).worst == pytest.approx(hybrid, rel=5e-3)
    assert 4 * Laplace(epsilon, 10**6).worst == pytest.approx(laplace, rel=2e-3)


def test_rounded_places_are_exact_on_average() -> None:
    """At 10^5 draws the mean of 3.2 has a standard error of 0.0013: false alarm below 1e-9 at 7 of them."""
    drawn = round_places(np.full(10**5, 8), 15, 6)
    assert set(drawn.tolist()) == {3, 4}
    assert abs(drawn.mean() - 3.2) < 7 * 0.4 / 10**2.5


def test_laplace_sums_do_not_overflow() -> None:
    protocol = Laplace(Fraction(1, 1000), 10**6)
    rows = np.full(1000, protocol.reports - 1)
    mean, variance = protocol.summary(protocol.tally(rows) * 10**6, 10**9)  # a billion of them
    assert mean == pytest.approx(protocol.reach, rel=1e-12)
    assert variance == 0.0


def test_windows_need_cells_on_both_sides() -> None:
    with pytest.raises(ParameterError, match="not all of them"):
        Window(ONE, 10, 10)
    with pytest.raises(ParameterError, match="coarser step"):
        Laplace(Fraction(1, 10**9), 2**40)
    with pytest.raises(ParameterError, match="16,384 bins"):
        SquareWave(ONE, 1, 0)
    with pytest.raises(ParameterError, match="leave the choice"):
        Hybrid(ONE, 10, 2**15 + 1, 4)


def test_the_best_arm_follows_the_formula_down_to_tiny_epsilons() -> None:
    arms = [choose_arm(Fraction(epsilon), 10_000) for epsilon in ("1/100000", "1/100", "1/2", "1", "4", "40")]
    assert arms == sorted(arms, reverse=True)
    assert arms[:2] == pytest.approx([5000, 5000], rel=0.01)
    assert arms[3] == pytest.approx(2560, abs=2)  # 1 / (2 e (e - 2)) of the range
    assert arms[-1] == 0
