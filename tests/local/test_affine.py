"""Affine response: its decoder against brute force, the designs it rests on, and that it makes the choice good at any size."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet.errors import ParameterError
from discreet.local.domains.categorical import MOST_VALUES
from discreet.local.protocols import PROTOCOLS, choose_protocol
from discreet.local.protocols.affine import MOST_POINTS, MOST_WEIGHT, Affine

SHAPES = [(2, 1, 1), (11, 1, 4), (2, 4, 1), (3, 2, 1), (3, 3, 2), (5, 2, 1), (5, 3, 2), (13, 2, 5)]


def holds(protocol: Affine, report: int, code: int) -> bool:
    """Whether a report holds the hyperplane of a value, from the definition."""
    prime, dimension = protocol.prime, protocol.dimension
    rest, start = divmod(report, prime)
    direction, scale = divmod(rest, prime - 1) if protocol.weight > 1 else (rest, 0)
    normal = protocol._geometry.vector(direction)
    own = sum(a * (code // prime**place % prime) for place, a in enumerate(normal)) % prime
    assert len(normal) == dimension
    return own in {(start + (scale + 1) * i) % prime for i in range(protocol.weight)}


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(SHAPES), st.data())
def test_the_decoder_against_brute_force(shape: tuple[int, int, int], data: st.DataObject) -> None:
    prime, dimension, weight = shape
    protocol = Affine(Fraction(1), data.draw(st.integers(1, prime**dimension)), prime, dimension, weight)
    rows = np.array(data.draw(st.lists(st.integers(0, protocol.reports - 1), max_size=40)), dtype=np.int64)
    assert protocol.valid(rows).all()
    found = protocol.support(protocol.tally(rows))
    assert found.tolist() == [sum(holds(protocol, row, code) for row in rows.tolist()) for code in range(protocol.size)]
    assert protocol.possible(protocol.tally(rows), len(rows))


@pytest.mark.parametrize(("prime", "dimension", "weight"), SHAPES)
def test_all_values_meet_alike(prime: int, dimension: int, weight: int) -> None:
    """Every value is held by as many reports as any other, and every two by as many as any other two."""
    protocol = Affine(Fraction(1), min(prime**dimension, 30), prime, dimension, weight)
    table = np.array([[holds(protocol, row, code) for row in range(protocol.reports)] for code in range(protocol.size)]).astype(
        int
    )
    both = table @ table.T
    assert len({int(both[i, i]) for i in range(protocol.size)}) == 1
    assert len({int(both[i, j]) for i, j in itertools.combinations(range(protocol.size), 2)}) <= 1


def test_a_large_decoding_is_exact() -> None:
    """2,389^2 = 5.7 million cells, for a million values at epsilon 8; some values by hand."""
    protocol = choose_protocol(Fraction(8), 10**6, 1024)
    assert isinstance(protocol, Affine)
    codes = np.repeat([0, 5, 2_389, 999_999], [2_000, 1_000, 500, 100])
    rows = protocol.randomize(codes)
    found = protocol.support(protocol.tally(rows))
    assert found.size == 10**6
    for code in (0, 1, 5, 2_389, 500_000, 999_999):
        assert found[code] == sum(holds(protocol, row, code) for row in rows.tolist())
    estimates = (found / len(codes) - protocol.rates.lie) / protocol.rates.gain
    deviation = math.sqrt(protocol.rates.variance(0.5) / len(codes))
    for code, count in ((0, 2_000), (5, 1_000), (2_389, 500), (999_999, 100), (1, 0)):
        assert abs(estimates[code] - count / 3_600) < 7 * deviation


LARGE = [name for name in PROTOCOLS if name != "randomized response"]
SIZES = [2, 3, 5, 10, 31, 100, 1_000, 9_999, 10**5, 10**6, 7_654_321, MOST_VALUES - 1, MOST_VALUES]
EPSILONS = [Fraction(1, 100), Fraction(1, 2), *(Fraction(n) for n in range(1, 14)), Fraction(50), Fraction(1000)]


@pytest.mark.spread(5)
@pytest.mark.parametrize("size", SIZES)
def test_the_choice_is_near_the_least_error_of_every_protocol_at_any_size(size: int) -> None:
    """Within 3 % of the least over all protocols, however long their reports; and what is chosen can be collected."""
    for epsilon in EPSILONS:
        chosen = choose_protocol(epsilon, size, 1024)
        least = min(offer.variance for name in LARGE for offer in PROTOCOLS[name].offers(epsilon, size))
        assert chosen.variance <= 1.03 * least, (size, epsilon, chosen)
        assert chosen.name not in ("hashing", "unary")
        assert chosen.cells <= 2 * MOST_POINTS
        assert getattr(chosen, "weight", 1) <= MOST_WEIGHT
        assert chosen.bits <= 1024


@pytest.mark.parametrize(
    ("prime", "dimension", "weight"),
    [(4, 2, 1), (1, 2, 1), (3, 0, 1), (3, 2, 1), (3, 4, 3), (3, 4, 0), (2, 26, 1), (33554467, 1, 2)],
)
def test_bad_parameters(prime: int, dimension: int, weight: int) -> None:
    with pytest.raises(ParameterError):
        Affine(Fraction(1), 10, prime, dimension, weight)
