"""The theorems behind private key selection, verified number by number: hockey-stick divergences at 300 bits."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from flint import arb, ctx
from reference import laws
from reference.laws import real

import discreet.mechanisms.threshold as module
from discreet import Threshold

HALF = Fraction(1, 2)
TINY = arb(2) ** -200


def excess(p: dict[Any, arb], q: dict[Any, arb], bound: arb) -> arb:
    """The sum of max(0, p - bound q): the least delta for this epsilon, in one direction."""
    gaps = (p[x] - bound * q.get(x, arb(0)) for x in p)
    return sum((gap for gap in gaps if gap > 0), arb(0))


def geometric_law(mechanism: Threshold, count: int) -> dict[int | None, arb]:
    """What a key with this count shows: None, or a number above the cut."""
    k, epsilon = mechanism.cut, mechanism.epsilon / mechanism.keys
    if count == 0:
        return {None: arb(1)}
    terms = {x: real(-epsilon * abs(x)).exp() for x in range(-k, k + 1)}
    total = sum(terms.values(), arb(0))
    law: dict[int | None, arb] = {None: arb(0)}
    for x, term in terms.items():
        shown = count + x if count + x > k else None
        law[shown] = law.get(shown, arb(0)) + term / total
    return law


@pytest.mark.parametrize(("epsilon", "delta", "keys"), [(1, 1e-6, 1), (0.5, 0.01, 1), (3, 1e-3, 2), (1, 0.9, 1), (0.3, 0.2, 3)])
def test_one_key_with_geometric_noise_is_private(epsilon: Any, delta: Any, keys: int) -> None:
    mechanism = Threshold(epsilon=epsilon, delta=delta, keys=keys)
    with ctx.workprec(300):
        bound, allowed = real(mechanism.epsilon / keys).exp(), real(mechanism.delta / keys)
        for count in range(2 * mechanism.cut + 6):
            one, other = geometric_law(mechanism, count), geometric_law(mechanism, count + 1)
            assert excess(one, other, bound) <= allowed + TINY
            assert excess(other, one, bound) <= allowed + TINY


@pytest.mark.parametrize(
    ("epsilon", "delta", "keys"), [(1, 1e-6, 1), (0.5, 0.01, 4), (3, 1e-3, 20), (1, 0.5, 2), (0.01, 1e-9, 7)]
)
def test_gaussian_noise_is_private_whatever_share_of_the_keys_is_a_persons_own(epsilon: Any, delta: Any, keys: int) -> None:
    """j keys vanish with the person; the other m - j have L2 sensitivity sqrt(m - j). Both directions, for every j."""
    mechanism = Threshold(epsilon=epsilon, delta=delta, keys=keys, noise="gaussian")
    variance = mechanism._squared_sigma
    with ctx.workprec(300):

        def stick(mu: arb, budget: arb) -> arb:
            """Hockey-stick of two normals mu apart, also at a negative epsilon."""
            phi = lambda x: (-x / arb(2).sqrt()).erfc() / 2  # noqa: E731
            if not mu > 0:
                return 1 - budget.exp() if budget < 0 else arb(0)
            return phi(mu / 2 - budget / mu) - budget.exp() * phi(-mu / 2 - budget / mu)

        hidden = laws.normal_cdf(variance, mechanism.cut - HALF)
        allowed, budget = real(mechanism.delta), real(mechanism.epsilon)
        for own in range(keys + 1):
            mu = (real(Fraction(keys - own)) / real(variance)).sqrt()
            gone = hidden**own
            with_person = (1 - gone) + gone * stick(mu, budget - gone.log())
            without_person = stick(mu, budget + gone.log())
            assert with_person <= allowed
            assert without_person <= allowed


def recursion(epsilon: Fraction, delta: Fraction, counts: int) -> list[arb]:
    """p(0) = 0, p(n + 1) = min(e^epsilon p + delta, 1 - e^-epsilon (1 - p - delta), 1)."""
    grow, add = real(epsilon).exp(), real(delta)
    chances = [arb(0)]
    for _ in range(counts):
        p = chances[-1]
        first, second = grow * p + add, 1 - (1 - p - add) / grow
        best = first if first < second else second
        chances.append(best if best < 1 else arb(1))
    return chances


@pytest.fixture
def coins(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int]]:
    """Every coin that ``select`` tosses: its chance, and how often."""
    tossed: list[tuple[Any, int]] = []
    true_coin = module.bernoulli

    def spy(chance: Any, size: int) -> Any:
        tossed.append((chance.value, size))
        return true_coin(chance, size)

    monkeypatch.setattr(module, "bernoulli", spy)
    return tossed


PRICES = [
    (Fraction(1), Fraction(1, 10**6), 1),
    (Fraction(1, 10), Fraction(1, 10**3), 1),
    (Fraction(5), Fraction(1, 10**9), 1),
    (Fraction(1, 1000), Fraction(1, 10), 1),
    (Fraction(20), Fraction(3, 10), 1),
    (Fraction(1, 10), Fraction(999, 1000), 1),
    (Fraction(2), Fraction(1, 10**5), 10),
]


@pytest.mark.parametrize(("epsilon", "delta", "keys"), PRICES)
def test_select_uses_the_largest_private_chances(
    epsilon: Fraction, delta: Fraction, keys: int, coins: list[tuple[Any, int]]
) -> None:
    mechanism = Threshold(epsilon=epsilon, delta=delta, keys=keys)
    with ctx.workprec(400):
        largest = recursion(epsilon / keys, delta / keys, 2 * mechanism.cut + 10)
        for count in range(1, len(largest)):
            coins.clear()
            shown = mechanism.select({"key": count})
            if not coins:  # shown without a coin
                assert shown == ["key"]
                assert largest[count] == 1
                continue
            ((chance, size),) = coins
            value = real(chance) if isinstance(chance, Fraction) else chance()
            assert size == 1
            assert abs(value - largest[count]) < arb(2) ** -250


@pytest.mark.parametrize(("epsilon", "delta", "keys"), PRICES)
def test_those_chances_are_private_both_ways(epsilon: Fraction, delta: Fraction, keys: int) -> None:
    with ctx.workprec(400):
        chances = recursion(epsilon / keys, delta / keys, 2 * Threshold(epsilon=epsilon, delta=delta, keys=keys).cut + 10)
        bound, add = real(epsilon / keys).exp(), real(delta / keys)
        for p, q in pairwise(chances):
            assert p <= q + TINY
            for one, other in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
                assert one <= bound * other + add + TINY
        assert chances[-1] == 1


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 2)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 10**3)])
def test_select_shows_at_least_as_much_as_release(epsilon: Fraction, delta: Fraction) -> None:
    mechanism = Threshold(epsilon=epsilon, delta=delta)
    with ctx.workprec(400):
        best = recursion(epsilon, delta, 2 * mechanism.cut + 10)
        for count in range(1, len(best)):
            assert 1 - geometric_law(mechanism, count)[None] <= best[count] + TINY
