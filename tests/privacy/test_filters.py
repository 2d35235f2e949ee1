"""Filters: exact sums, no way past the total, and the theorem itself on adversaries that are enumerated completely."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count as integers
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from support.depth import examples
from support.refusals import NOT_NUMBERS, NOT_POSITIVE, refused

from discreet.errors import BudgetExceeded, DiscreetError, ParameterError
from discreet.privacy import Privacy, approximate, gdp, pure, renyi, zcdp
from discreet.privacy.filters import (
    ApproximateFilter,
    ConcentratedFilter,
    Filter,
    GaussianFilter,
    PureFilter,
    RenyiFilter,
    as_approximate,
    as_concentrated,
    as_divergence,
)
from discreet.privacy.losses import BoundedRange, Box, DiscreteGaussian, Laplace, SampledLattice
from discreet.privacy.losses.base import tanh_rho
from discreet.privacy.losses.sampled import sample

F = Fraction

exponential = Privacy.of(BoundedRange(F(1)))
laplace = Privacy.of(Laplace(F(1)))
discrete = Privacy.of(DiscreteGaussian(F(4)))

FILTERS: dict[str, Filter] = {
    "pure": PureFilter(epsilon=3),
    "approximate": ApproximateFilter(epsilon=3, delta=1e-5),
    "concentrated": ConcentratedFilter(rho=2, delta=1e-5),
    "renyi": RenyiFilter({1.5: 1, 2: 2, 16: 20}),
    "gaussian": GaussianFilter(mu=2),
}
every = pytest.mark.parametrize("filter_", FILTERS.values(), ids=FILTERS.keys())

# What each may be asked to spend, small enough that several fit.
SPENDS: dict[str, list[Privacy]] = {
    "pure": [pure(0.1), pure(F(1, 3)), Privacy.of(Laplace(F(1, 7))), 2 * pure(0.25), Privacy()],
    "approximate": [pure(0.1), approximate(0.3, 1e-6), approximate(0, 1e-6), 3 * approximate(F(1, 7), 1e-7)],
    "concentrated": [gdp(0.3), zcdp(F(1, 9)), approximate(0.3, 1e-6), Privacy.of(BoundedRange(F(1, 2))), pure(0.2)],
    "renyi": [gdp(0.2), zcdp(F(1, 9)), pure(0.3), renyi({16: 0.2}), Privacy.of(Laplace(F(1, 7)))],
    "gaussian": [gdp(0.3), gdp(F(1, 7)), 3 * gdp(0.1)],
}


def spends(kind: str) -> st.SearchStrategy[list[Privacy]]:
    return st.lists(st.sampled_from(SPENDS[kind]), max_size=12)


@pytest.mark.parametrize("kind", FILTERS)
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None)
def test_sums_are_exact_never_pass_the_total_and_do_not_depend_on_order(kind: str, data: st.DataObject) -> None:
    opened, asked = FILTERS[kind], data.draw(spends(kind))
    now, paid = opened, []
    for privacy in asked:
        before = now
        if now.fits(privacy):
            now = now.spend(privacy)
            paid.append(privacy)
        else:
            with pytest.raises(BudgetExceeded) as caught:
                now.spend(privacy)
            assert caught.value.spent == now.spent
            assert caught.value.left == now.left
            assert any(caught.value.requested[name] > now.left[name] for name in now.total)
            assert now == before
        assert all(0 <= now.spent[name] <= opened.total[name] for name in opened.total)
        assert all(now.spent[name] + now.left[name] == opened.total[name] for name in opened.total)
        assert now.guarantee == opened.guarantee
    other = opened
    for privacy in data.draw(st.permutations(paid)):
        other = other.spend(privacy)
    assert other == now
    assert opened.spend(sum(paid, Privacy())) == now  # at once


@every
def test_immutable_equal_and_hashable(filter_: Filter) -> None:
    kind = filter_.kind
    after = filter_.spend(SPENDS[kind][0])
    assert after is not filter_
    assert not any(filter_.spent.values())
    assert after != filter_
    assert after == filter_.spend(SPENDS[kind][0])
    assert len({after, filter_.spend(SPENDS[kind][0])}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        after._sums = ()  # type: ignore[misc]
    filter_.total.clear()  # a copy
    assert filter_.total
    assert pickle.loads(pickle.dumps(after)) == after
    assert type(filter_).__name__ in repr(filter_)


@every
def test_free_guarantees_always_fit(filter_: Filter) -> None:
    assert filter_.spend(Privacy()) == filter_


# Exactness at the boundary.


@pytest.mark.parametrize(
    ("opened", "one", "times"),
    [
        (PureFilter(epsilon=1), pure(0.1), 10),
        (PureFilter(epsilon=1), pure(F(1, 3)), 3),
        (PureFilter(epsilon=0.3), Privacy.of(Laplace(F(1, 10))), 3),
        (PureFilter(epsilon=2), exponential, 2),
        (ApproximateFilter(epsilon=1, delta=1e-6), approximate(0.1, 1e-7), 10),
        (ApproximateFilter(epsilon=10, delta=1e-6), approximate(0.1, 1e-7), 10),
        (ApproximateFilter(epsilon=0.7, delta=1e-6), approximate(0.1, 0), 7),
        (ConcentratedFilter(rho=0.5), gdp(0.1), 100),
        (ConcentratedFilter(rho=1), exponential, 8),
        (ConcentratedFilter(rho=1), discrete, 8),
        (ConcentratedFilter(rho=0.3), zcdp(0.1), 3),
        (ConcentratedFilter(rho=99, delta=1e-6), approximate(1, 1e-7), 10),
        (RenyiFilter({2: 0.3}), gdp(F(1, 10)) + zcdp(F(1, 40)), 5),
        (RenyiFilter({1.2: 0.3}), renyi({1.2: 0.1}), 3),
        (RenyiFilter({2: 100, 1.2: 0.3}), renyi({1.2: 0.1, 2: 0.2}), 3),
        (GaussianFilter(mu=1), gdp(0.1), 100),
    ],
)
def test_exactly_so_often_and_no_more(opened: Filter, one: Privacy, times: int) -> None:
    now = opened
    for _ in range(times):
        now = now.spend(one)
    assert not now.fits(one)
    with pytest.raises(BudgetExceeded):
        now.spend(one)
    assert opened.fits(times * one)
    assert not opened.fits((times + 1) * one)


def test_a_hair_too_much_is_too_much() -> None:
    full = PureFilter(epsilon=1).spend(pure(1))
    assert full.left == {"epsilon": 0}
    assert not full.fits(pure(F(1, 10**400)))
    assert not PureFilter(epsilon=1).fits(pure(1 + F(1, 10**400)))


# Prices.


def test_prices_in_zero_concentrated_privacy() -> None:
    assert as_concentrated(*_loss(gdp(0.4))) == (F(2, 25), 0)
    assert as_concentrated(*_loss(exponential)) == (F(1, 8), 0)
    assert as_concentrated(*_loss(zcdp(0.3))) == (F(3, 10), 0)
    assert as_concentrated(*_loss(approximate(1, 1e-6))) == (tanh_rho(F(1)), F(1, 10**6))
    assert as_concentrated(*_loss(discrete)) == (F(1, 8), 0)
    assert as_concentrated(*_loss(renyi({2: 1}))) is None
    real = as_concentrated(*_loss(laplace))
    assert real is not None
    assert real[0] < tanh_rho(F(1))
    # Many candidates at a large epsilon: epsilon tanh(epsilon / 2) beats epsilon^2 / 8.
    large = as_concentrated(BoundedRange(F(20)))
    assert large is not None
    assert large[0] <= 20


def test_a_sample_of_an_approximate_mechanism_is_priced_by_amplification_in_both_directions() -> None:
    """(ln(1 + q (e^epsilon - 1)), q delta); the base's own cost would be too little, since adding makes a leak finite."""
    q, delta = F(1, 2), F(1, 100)
    for epsilon in (F(0), F(1, 10), F(2)):
        removing = SampledLattice(Box(epsilon, delta), q)
        for loss in (removing, removing.reverse):
            price = as_approximate(loss)
            assert price is not None
            assert price[1] == q * delta
            assert float(price[0]) == pytest.approx(math.log1p(float(q) * math.expm1(float(epsilon))), rel=1e-12, abs=1e-300)
            for side in (removing, removing.reverse):
                assert Privacy.of(side).delta(price[0]) <= float(price[1]) * (1 + 1e-9)
            assert as_concentrated(loss) == (tanh_rho(price[0]), q * delta)
            assert as_divergence(loss, F(2)) is None
    assert not PureFilter(epsilon=9).fits(Privacy.of(SampledLattice(Box(F(1), delta), q, True)))


@pytest.mark.parametrize("order", [F(11, 10), F(6, 5), F(2), F(16), F(1000)])
@pytest.mark.parametrize(
    "privacy",
    [pure(0.3), pure(5), laplace, exponential, gdp(0.3), zcdp(0.2), discrete, gdp(1).sampled(0.1), pure(1).sampled(0.1)],
    ids=repr,
)
def test_divergences_agree_with_the_accountant(privacy: Privacy, order: Fraction) -> None:
    price = as_divergence(*_loss(privacy), order)
    assert price is not None
    assert float(price) <= privacy.renyi(order) * (1 + 1e-9) + 1e-12
    assert float(price) >= privacy.renyi(order) * (1 - 1e-3) or float(price) == pytest.approx(privacy.epsilon(0), rel=1e-9)


def test_divergences_of_randomized_response_are_not_below_the_truth() -> None:
    for epsilon in (0.01, 0.5, 3.0):
        p = 1 / (1 + math.exp(-epsilon))
        for order in (1.01, 1.5, 2.0, 7.0, 80.0):
            truth = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
            price = as_divergence(Box(F(str(epsilon))), F(str(order)))
            assert price is not None
            assert truth * (1 - 1e-13) <= float(price) <= truth * (1 + 1e-8) + 1e-9


def test_the_second_divergence_of_a_sampled_gaussian_is_a_closed_form() -> None:
    """Removing: ln(1 + q^2 (e^(mu^2) - 1)); adding is less."""
    for mu, q in ((0.5, 0.01), (1.0, 0.2), (2.0, 0.5)):
        price = as_divergence(*_loss(gdp(mu).sampled(q)), F(2))
        truth = math.log1p(q * q * math.expm1(mu * mu))
        assert price is not None
        assert truth * (1 - 1e-13) <= float(price) <= truth * (1 + 1e-9) + 1e-12


def test_renyi_facts_are_known_up_to_their_last_order() -> None:
    facts = renyi({2: 1, 4: 2})
    assert as_divergence(*_loss(facts), F(2)) == 1
    assert as_divergence(*_loss(facts), F(4)) == 2
    assert as_divergence(*_loss(facts), F(3, 2)) == 1  # K(x) = x D_(1+x) below the chord from 0
    assert as_divergence(*_loss(facts), F(3)) == F(7, 4)
    assert as_divergence(*_loss(facts), F(5)) is None
    assert not RenyiFilter({8: 100}).fits(facts)
    assert not RenyiFilter({2: 100, 8: 100}).fits(facts)
    assert RenyiFilter({3: 100}).fits(facts)


# The theorem, on every transcript of adversaries drawn at random: no false alarms, since nothing is sampled.

Tree = dict[tuple[int, ...], Privacy]
Pairs = list[tuple[float, float]]
DEPTH = 4


def transcripts(opened: Filter, tree: Tree) -> Pairs:
    """Probabilities of every transcript with and without the record; what does not fit ends the interaction."""

    def walk(now: Filter, history: tuple[int, ...], p: float, q: float) -> Iterator[tuple[float, float]]:
        privacy = tree.get(history)
        if privacy is None or not now.fits(privacy):
            yield p, q
            return
        after = now.spend(privacy)
        for answer, (one, other) in enumerate(pair(privacy)):
            if one or other:
                yield from walk(after, (*history, answer), p * one, q * other)

    return list(walk(opened, (), 1.0, 1.0))


def pair(privacy: Privacy) -> Pairs:
    """The worst (epsilon, delta) mechanism: truth or lie of a randomized response, or a leak either way."""
    ((loss, _),) = privacy.parts
    assert isinstance(loss, Box)
    truth, delta = 1 / (1 + math.exp(-float(loss.epsilon))), float(loss.delta)
    return [
        ((1 - delta) * truth, (1 - delta) * (1 - truth)),
        ((1 - delta) * (1 - truth), (1 - delta) * truth),
        (delta, 0),
        (0, delta),
    ]


def trees(leaky: bool) -> st.SearchStrategy[Tree]:
    """A strategy that names a mechanism for every history."""
    histories = [h for depth in range(DEPTH) for h in product(range(4 if leaky else 2), repeat=depth)]
    size = st.sampled_from([F(1, 20), F(1, 5), F(1, 2), F(1), F(3, 2)])
    leak = st.sampled_from([F(0), F(1, 50), F(1, 10)]) if leaky else st.just(F(0))
    mechanisms = st.lists(st.builds(approximate, size, leak), min_size=len(histories), max_size=len(histories))
    return mechanisms.map(lambda chosen: dict(zip(histories, chosen, strict=True)))


def divergence(pairs: Pairs, order: float) -> float:
    return math.log(math.fsum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)


def hockey_stick(pairs: Pairs, epsilon: float) -> float:
    return math.fsum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)


@given(trees(leaky=False))
@settings(max_examples=examples(100), deadline=None)
def test_no_adaptive_adversary_passes_a_pure_filter(tree: Tree) -> None:
    pairs = transcripts(PureFilter(epsilon=2), tree)
    assert math.fsum(p for p, _ in pairs) == pytest.approx(1)
    assert max(abs(math.log(p / q)) for p, q in pairs) <= 2 + 1e-9


@given(trees(leaky=True))
@settings(max_examples=examples(100), deadline=None)
def test_no_adaptive_adversary_passes_an_approximate_filter(tree: Tree) -> None:
    pairs = transcripts(ApproximateFilter(epsilon=2, delta=0.15), tree)
    for sides in (pairs, [(q, p) for p, q in pairs]):
        assert hockey_stick(sides, 2.0) <= 0.15 + 1e-12


@given(trees(leaky=True))
@settings(max_examples=examples(100), deadline=None)
def test_no_adaptive_adversary_passes_a_concentrated_filter(tree: Tree) -> None:
    opened = ConcentratedFilter(rho=0.5, delta=0.15)
    pairs = transcripts(opened, tree)
    for epsilon in (0.25, 0.5, 1.0, 2.0, 3.0):
        assert hockey_stick(pairs, epsilon) <= opened.guarantee.delta(epsilon) + 1e-12


@given(trees(leaky=False))
@settings(max_examples=examples(100), deadline=None)
def test_no_adaptive_adversary_passes_zero_concentrated_and_renyi_filters(tree: Tree) -> None:
    pairs = transcripts(ConcentratedFilter(rho=0.5), tree)
    for order in (1.1, 2.0, 5.0, 30.0):
        assert divergence(pairs, order) <= 0.5 * order + 1e-9
    pairs = transcripts(RenyiFilter({1.5: 0.7, 2: 0.8, 12: 1.5}), tree)
    for order, cap in ((1.5, 0.7), (2.0, 0.8), (12.0, 1.5)):
        assert divergence(pairs, order) <= cap + 1e-9


@given(st.floats(0.1, 0.9), st.floats(0.01, 1), st.floats(0.01, 1), st.floats(-1, 2))
@example(0.5, 1.0, 1.0, 0.0)
@example(0.5, 1.0, 0.1, 0.5)
@settings(max_examples=examples(40), deadline=None)
def test_no_adaptive_adversary_passes_a_gaussian_filter(first: float, low: float, high: float, edge: float) -> None:
    """Two questions, the second's noise chosen by the first answer, greedily: the hockey-stick by quadrature."""
    opened = GaussianFilter(mu=1)
    now, rest = opened.spend(gdp(first)), math.sqrt(1 - first**2)
    second = [next(mu for greed in (1.05, 1 - 1e-12) if now.fits(gdp(mu := share * rest * greed))) for share in (low, high)]
    y = np.linspace(-9, 10, 20_001)
    density = np.exp(-((y - first) ** 2) / 2) / math.sqrt(2 * math.pi)
    mu2 = np.where(y > edge, second[1], second[0])
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        e = epsilon - (first * y - first**2 / 2)
        stick = ndtr(mu2 / 2 - e / mu2) - np.exp(np.minimum(e, 600)) * ndtr(-mu2 / 2 - e / mu2)
        total = float(np.sum(density * np.maximum(stick, 0)) * (y[1] - y[0]))
        assert total <= opened.guarantee.delta(epsilon) * (1 + 1e-3) + 1e-9  # the jump at the edge costs a step of the grid


# What the whole interaction satisfies.


def test_guarantees_are_the_totals() -> None:
    assert PureFilter(epsilon=3).guarantee == pure(3)
    assert ApproximateFilter(epsilon=3, delta=1e-6).guarantee == approximate(3, 1e-6)
    assert ConcentratedFilter(rho=0.5).guarantee == zcdp(0.5)
    whole, stated = ConcentratedFilter(rho=0.5, delta=1e-6).guarantee, zcdp(0.5) + approximate(0, 1e-6)
    assert whole.epsilon_bounds(1e-5) == stated.epsilon_bounds(1e-5)
    assert whole.delta_bounds(2) == stated.delta_bounds(2)
    assert Privacy.from_json(whole.to_json()) == whole
    with pytest.raises(ParameterError, match="group law"):  # approximate zCDP has none that is proved
        whole.group(2)
    assert RenyiFilter({2: 1, 16: 3}).guarantee == renyi({2: 1, 16: 3})
    assert GaussianFilter(mu=0.5).guarantee == gdp(0.5)
    # A leak is added on top of what remains of delta.
    leaky, tight = ConcentratedFilter(rho=0.5, delta=1e-6).guarantee, zcdp(0.5)
    assert leaky.epsilon(1.1e-6) >= tight.epsilon(1.1e-6)
    assert leaky.epsilon(1.1e-6) == pytest.approx(tight.epsilon(1e-7), rel=1e-6)
    assert leaky.epsilon(1e-6) == math.inf


# Refusals.


@pytest.mark.parametrize(
    ("opened", "unpriced", "words"),
    [
        (PureFilter(epsilon=9), gdp(0.1), "'Gaussian'"),
        (PureFilter(epsilon=9), zcdp(0.1), "'zCDP'"),
        (PureFilter(epsilon=9), approximate(0.1, 1e-9), "ConcentratedFilter"),
        (PureFilter(epsilon=9), gdp(0.1).sampled(0.1), "'sampled Gaussian'"),
        (ApproximateFilter(epsilon=9, delta=0.1), gdp(0.1), "approximate(Fraction(p.epsilon(1e-7)), 1e-7)"),
        (ApproximateFilter(epsilon=9, delta=0.1), renyi({2: 0.1}), "'Renyi'"),
        (ConcentratedFilter(rho=9, delta=0.1), renyi({2: 0.1}), "own guarantee"),
        (RenyiFilter({2: 9}), approximate(0.1, 1e-9), "finite"),
        (GaussianFilter(mu=9), zcdp(0.1), "'zCDP'"),
        (GaussianFilter(mu=9), pure(0.1), "ConcentratedFilter"),
        (GaussianFilter(mu=9), renyi({2: 0.1}), "'Renyi'"),
        (GaussianFilter(mu=9), discrete, "'discrete Gaussian'"),
        (GaussianFilter(mu=9), gdp(0.1).sampled(0.1), "'sampled Gaussian'"),
        (GaussianFilter(mu=9), gdp(0.1) + pure(0.1), "Gaussian noise only"),
    ],
)
def test_what_has_no_price_is_refused(opened: Filter, unpriced: Privacy, words: str) -> None:
    refused(lambda: opened.spend(unpriced), ParameterError, words)
    assert not opened.fits(unpriced)


@every
@pytest.mark.parametrize("thing", [0.1, None, "0.1", Box(F(1)), 3])
def test_only_guarantees_can_be_spent(filter_: Filter, thing: Privacy) -> None:
    refused(lambda: filter_.spend(thing), ParameterError, "privacy", type(thing).__name__)
    refused(lambda: filter_.fits(thing), ParameterError, "privacy")


def test_the_message_says_requested_spent_and_left() -> None:
    now = PureFilter(epsilon=3).spend(pure(2.7))
    message = refused(lambda: now.spend(pure(0.5)), BudgetExceeded, "epsilon 0.5 requested, 2.7 spent, 0.3 left")
    assert "delta" not in message
    both = ConcentratedFilter(rho=1, delta=1e-6)
    refused(lambda: both.spend(gdp(2) + approximate(0.1, 1e-5)), BudgetExceeded, "rho 2.", "delta 1e-05 requested")
    refused(lambda: RenyiFilter(dict.fromkeys(range(2, 30), 1)).spend(gdp(9)), BudgetExceeded, "order 2 81 requested")


def test_the_refusal_carries_exact_amounts() -> None:
    now = ApproximateFilter(epsilon=1, delta=1e-6).spend(approximate(F(1, 3), 1e-7))
    with pytest.raises(DiscreetError) as caught:
        now.spend(approximate(F(3, 4), 2e-7))
    error = caught.value
    assert isinstance(error, BudgetExceeded)
    assert error.spent == {"epsilon": F(1, 3), "delta": F(1, 10**7)}
    assert error.requested == {"epsilon": F(3, 4), "delta": F(2, 10**7)}
    assert error.left == {"epsilon": F(2, 3), "delta": F(9, 10**7)}
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.left == error.left


OPENERS: dict[str, Callable[[object], Filter]] = {
    "pure": lambda x: PureFilter(epsilon=x),
    "approximate": lambda x: ApproximateFilter(epsilon=x, delta=1e-6),
    "concentrated": lambda x: ConcentratedFilter(rho=x),
    "renyi": lambda x: RenyiFilter({2: x}),
    "gaussian": lambda x: GaussianFilter(mu=x),
}


@pytest.mark.parametrize("value", NOT_POSITIVE.values(), ids=NOT_POSITIVE.keys())
@pytest.mark.parametrize("kind", OPENERS)
def test_totals_are_checked_at_birth(kind: str, value: object) -> None:
    refused(lambda: OPENERS[kind](value), ParameterError)


@pytest.mark.parametrize("value", [-1e-9, 1, 1.5, *NOT_NUMBERS.values()])
def test_deltas_are_checked_at_birth(value: object) -> None:
    refused(lambda: ApproximateFilter(epsilon=1, delta=value), ParameterError, "delta")
    refused(lambda: ConcentratedFilter(rho=1, delta=value), ParameterError, "delta")


@pytest.mark.parametrize("caps", [{}, None, 2, [(2, 1)], {1: 1}, {0.5: 1}, {"2": 1}, {2: 1, F(4, 2) + F(1, 10**30): 1, 0: 1}])
def test_orders_are_checked_at_birth(caps: dict[object, object]) -> None:
    refused(lambda: RenyiFilter(caps), ParameterError)


def test_orders_written_twice_are_refused() -> None:
    assert F(1.1) != F("1.1")  # so a dict can hold both 1.1 and 11/10
    refused(lambda: RenyiFilter({1.1: 1, F(11, 10): 2}), ParameterError, "different")


# Keeping it.


@every
def test_json_round_trip(filter_: Filter) -> None:
    for now in (filter_, filter_.spend(SPENDS[filter_.kind][0]), filter_.spend(SPENDS[filter_.kind][1])):
        again = Filter.from_json(now.to_json())
        assert again == now
        assert type(again) is type(now)
        assert again.guarantee == now.guarantee
        assert again.to_json() == now.to_json()


def test_json_keeps_its_meaning() -> None:
    """What version 1 wrote must be read for ever."""
    text = (
        '{"discreet": "filter", "version": 1, "kind": "concentrated", '
        '"total": {"rho": "1/2", "delta": "1/1000000"}, "spent": {"rho": "1/3", "delta": "0"}}'
    )
    found = Filter.from_json(text)
    assert found.to_json() == text
    assert found.left == {"rho": F(1, 6), "delta": F(1, 10**6)}


CHANGES: list[dict[str, object]] = [
    {"version": 2},
    {"discreet": "privacy"},
    {"kind": "best order"},
    {"spent": {"epsilon": "4"}},
    {"spent": {"epsilon": "-1"}},
    {"spent": {}},
    {"spent": {"epsilon": "1", "delta": "0"}},
    {"spent": {"epsilon": "1/0"}},
    {"spent": {"epsilon": None}},
    {"total": {"epsilon": "0"}},
    {"total": {"rho": "3"}},
    {"total": {"epsilon": "3", "delta": "0"}},
    {"total": 3},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_json_that_means_nothing_is_refused(change: dict[str, object]) -> None:
    text = json.dumps({**json.loads(PureFilter(epsilon=3).to_json()), **change})
    refused(lambda: Filter.from_json(text), ParameterError, "to_json")


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "3", '{"discreet": "filter"}', pure(1).to_json()])
def test_texts_that_are_no_filters_are_refused(text: str) -> None:
    refused(lambda: Filter.from_json(text), ParameterError, "to_json")


# Speed: what a spend costs does not grow with what was spent before.


def test_spending_does_not_get_slower() -> None:
    """Prices with ever new denominators would make exact sums grow without end; they are rounded up instead."""

    def primes() -> Iterator[int]:
        return (n for n in integers(10**9 + 7) if all(n % d for d in (2, 3, 5, 7, 11, 13)))

    now, truth = PureFilter(epsilon=1), 0.0
    for prime in islice(primes(), 3000):
        now = now.spend(pure(F(1, prime)))
        truth += 1 / prime
    assert now.spent["epsilon"].denominator.bit_length() <= 2049
    assert float(now.spent["epsilon"]) == pytest.approx(truth, rel=1e-12)
    exact = sum((F(1, prime) for prime in islice(primes(), 200)), F(0))
    few = PureFilter(epsilon=1)
    for prime in islice(primes(), 200):
        few = few.spend(pure(F(1, prime)))
    assert exact <= few.spent["epsilon"] <= exact + F(1, 2**2000)


def _loss(privacy: Privacy) -> tuple[object]:
    ((loss, times),) = privacy.parts
    assert times == 1
    return (loss,)


def test_losses_used_here_are_what_they_seem() -> None:
    assert sample(Box(F(1)), F(1, 2)) == SampledLattice(Box(F(1)), F(1, 2))


def test_shares_of_a_pure_epsilon_cost_no_more_than_the_whole() -> None:
    """Also where tanh is 1 for a double: what is reserved as one pure guarantee is spent in parts, and each is rounded up."""
    chance = random.Random(11)
    for _ in range(500):
        whole, many = F(f"{10 ** chance.uniform(-3, 18):.6g}"), chance.randint(2, 8)
        weights = [chance.randint(1, 100) for _ in range(many)]
        assert sum(tanh_rho(whole * F(weight, sum(weights))) for weight in weights) <= tanh_rho(whole) <= whole
