"""The guarantee itself, for every protocol: the likeliest ratio between two values is e^epsilon, never more.

Probabilities are balls of 300 bits, as the protocols state them; that what is drawn has these probabilities is tested beside it,
each chi-square with a false-alarm rate below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from local.protocols import EPSILONS, NAMES, SMALL, every_report, label, large
from local.ratio import worst
from reference import statistics
from scipy.stats import binom
from support.recorded import replay

from discreet.balls import arb, ball, precision
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.protocols.hashing import Hashing
from discreet.local.protocols.subset import Subset
from discreet.local.protocols.unary import Unary
from discreet.noise.bits import words
from discreet.noise.coins import Chance, uniform

# Hashing draws a fresh seed for every report; its law is tested in test_hashing.
UNSEEDED = [protocol for protocol in SMALL if not isinstance(protocol, Hashing)]


def laws(protocol: FrequencyProtocol) -> list[list[arb]]:
    """P(y | x): one list of reports for every value."""
    reports = list(every_report(protocol))
    return [[protocol.likelihood(report, code) for report in reports] for code in range(protocol.size)]


def check_ratio(ratio: arb, epsilon: Fraction) -> None:
    target = ball(epsilon).exp()
    assert not ratio > target  # a proof of more would be a violation
    assert ratio < target * (1 + ball(Fraction(1, 10**60)))  # and the ball leaves no room for one
    assert ratio > target * (1 - ball(Fraction(1, 10**12)))


@pytest.mark.parametrize("protocol", SMALL, ids=label)
def test_the_likelihood_ratio_is_e_to_the_epsilon_over_all_reports(protocol: FrequencyProtocol) -> None:
    with precision(300):
        probabilities = laws(protocol)
        check_ratio(worst(probabilities), protocol.epsilon)
        for law in probabilities:
            assert abs(sum(law, ball(0)) - 1) < ball(Fraction(1, 10**60))


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_ratio_for_64_values(name: str, epsilon: Fraction) -> None:
    """All values against all, over all reports where these are few, over 40 drawn ones where they are not."""
    protocol = large(name, epsilon)
    if isinstance(protocol, (Subset, Unary, Hashing)):
        reports = list(protocol.randomize(np.arange(40) % protocol.size))
    else:
        reports = list(every_report(protocol))
    with precision(300):
        check_ratio(worst([[protocol.likelihood(y, x) for y in reports] for x in range(protocol.size)]), epsilon)


@pytest.mark.parametrize("protocol", UNSEEDED, ids=label)
def test_what_is_drawn_has_the_stated_likelihood(protocol: FrequencyProtocol) -> None:
    draws = 30_000
    reports = {report.tobytes(): place for place, report in enumerate(every_report(protocol))}
    for code in (0, protocol.size - 1):
        rows = protocol.randomize(np.full(draws, code))
        assert protocol.valid(rows).all()
        seen = np.bincount([reports[row.tobytes()] for row in rows], minlength=len(reports))
        law = [draws * float(protocol.likelihood(report, code)) for report in every_report(protocol)]
        assert statistics.chi_square(seen, law) > statistics.ALARM


@pytest.mark.parametrize("protocol", UNSEEDED, ids=label)
def test_support_probabilities_by_enumeration(protocol: FrequencyProtocol) -> None:
    """E[supporting v | x] over all reports is p for x = v and q otherwise, so the estimate is exactly unbiased."""
    reports = list(every_report(protocol))
    supports = np.array([protocol.support(protocol.tally(report[None])) for report in reports])
    with precision(300):
        truth, lie = protocol.supporting()
        for x, law in enumerate(laws(protocol)):
            for v in range(protocol.size):
                chance = sum((p for p, supported in zip(law, supports[:, v], strict=True) if supported), ball(0))
                assert abs(chance - (truth if v == x else lie)) < ball(Fraction(1, 10**60))


@pytest.mark.parametrize("name", NAMES)
def test_rates_keep_their_digits_for_a_tiny_epsilon(name: str) -> None:
    protocol = large(name, Fraction(1, 10**18))
    assert 0 < protocol.rates.gain < 1e-17
    assert protocol.rates.gain == pytest.approx(large(name, Fraction(1, 10**9)).rates.gain * 1e-9, rel=1e-6)
    assert math.isfinite(protocol.variance)


def test_the_likelihood_test_can_fail() -> None:
    """A protocol that tells the truth a little too often is caught."""
    with precision(300):
        truth = ball(Fraction(4754, 10_000))  # 0.47537 is e / (e + 3)
        lies = [(1 - truth) / 3] * 3
        with pytest.raises(AssertionError):
            check_ratio(worst([[truth, *lies], [lies[0], truth, *lies[:2]]]), Fraction(1))


@pytest.mark.parametrize("protocol", SMALL, ids=label)
def test_the_same_coins_are_tossed_whatever_the_value(protocol: FrequencyProtocol) -> None:
    """On one tape of random words, every value uses up as many of them, and every report has the same form."""
    tape = [int(word) for word in words(3000)]
    runs = [replay(lambda code=code: protocol.randomize(np.full(3, code)), tape) for code in range(protocol.size)]  # type: ignore[misc]
    assert len({run.words_left for run in runs}) == 1
    assert {(run.value.shape, run.value.dtype) for run in runs} == {(runs[0].value.shape, runs[0].value.dtype)}
    assert runs[0].value.dtype == np.dtype(protocol.form.dtype)


def test_coins_of_one_byte_go_on_where_the_byte_is_a_tie() -> None:
    """q = 1 / (1 + e) = 0.0100 0100 1101 1001 ... in binary: after its first byte, the next word decides."""
    protocol = Unary(Fraction(1), 8)
    top, _ = Chance(protocol._lie).digits(8)
    rest, _ = Chance(protocol._lie).digits(72)
    assert top == 0b01000100
    own = 2**63  # tails for the own bit, which is place 0
    for bytes_drawn, more, expected in [
        ([top - 1] * 8, [], 0b11111110),
        ([top + 1] * 8, [], 0),
        ([top] * 8, [rest % 2**64 - 1] * 4 + [rest % 2**64 + 1] * 4, 0b00001110),
    ]:
        tape = [int.from_bytes(bytes(bytes_drawn), "little"), *more, own]
        run = replay(lambda: protocol.randomize(np.array([0])), tape)
        assert (run.value.tolist(), run.words_left) == ([[expected]], 0)


def test_honest_unary_reports_are_not_refused() -> None:
    for size, epsilon in [(2, 1), (10, 4), (100, 8), (100, 1), (10_000, 1), (10_000, Fraction(1, 10))]:
        protocol = Unary(Fraction(epsilon), size)
        refused = binom.sf(protocol.most - 1, size - 1, protocol.rates.lie)  # the own bit may be set as well
        assert refused < 1e-12
        assert protocol.most == size or refused > 1e-40  # and the bound is not idle


def test_coins_are_drawn_from_the_stated_balls() -> None:
    """The digits that a draw compares with are those of the ball, cut off: never a float."""
    protocol = large("k-ary", Fraction(1))
    with precision(400):
        truth = protocol.supporting()[0]
    digits, complete = Chance(lambda: protocol.supporting()[0]).digits(256)
    assert not complete
    with precision(400):
        assert ball(Fraction(digits, 2**256)) < truth < ball(Fraction(digits + 1, 2**256))
    assert uniform(1, 3).tolist() == [0, 0, 0]
