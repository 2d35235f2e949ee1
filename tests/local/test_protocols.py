"""Every protocol for frequencies keeps the promises of ``protocols.py``; and what is special to some."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from local.protocols import EPSILONS, NAMES, PROMISES, SMALL, check_ratio, label, large
from local.ratio import worst
from scipy.stats import binom
from support.recorded import replay

from discreet.balls import ball, precision
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.protocols.unary import Unary
from discreet.noise.coins import Chance, uniform


@pytest.mark.diagonal(times=3)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("protocol", SMALL, ids=label)
def test_every_protocol_keeps_its_promises(protocol: FrequencyProtocol, promise: Callable[[FrequencyProtocol], None]) -> None:
    promise(protocol)


@pytest.mark.diagonal(times=2)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_ratio_for_64_values(name: str, epsilon: Fraction) -> None:
    """All values against all, over 40 reports as they come; smaller members go through all of their reports."""
    protocol = large(name, epsilon)
    reports = list(protocol.randomize(np.arange(40) * 8 % protocol.size))
    with precision(300):
        check_ratio(worst([[protocol.likelihood(y, x) for y in reports] for x in range(protocol.size)]), epsilon)


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
