"""Every guarantee knows which data sets it compares, and nothing is added, sampled or told where no theorem stands behind it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import filters
from discreet.privacy.neighbours import Neighbours

RELATIONS: tuple[Neighbours, ...] = ("add-remove", "replace", "local")

MAKERS = {
    "pure": lambda **told: dp.pure(0.5, **told),
    "approximate": lambda **told: dp.approximate(0.5, 1e-9, **told),
    "zcdp": lambda **told: dp.zcdp(0.1, **told),
    "renyi": lambda **told: dp.renyi({2: 0.1}, **told),
    "gdp": lambda **told: dp.gdp(0.5, **told),
    "Laplace": lambda **told: dp.Laplace(sensitivity=1, epsilon=0.5, **told).privacy,
    "real Laplace": lambda **told: dp.Laplace(sensitivity=1.0, epsilon=0.5, **told).privacy,
    "Gaussian": lambda **told: dp.Gaussian(sensitivity=1, sigma=2, **told).privacy,
    "DiscreteGaussian": lambda **told: dp.DiscreteGaussian(sensitivity=1, sigma=2, **told).privacy,
    "DiscreteGaussian 2": lambda **told: dp.DiscreteGaussian(sensitivity=2, sigma=2, **told).privacy,
    "Exponential": lambda **told: dp.Exponential(sensitivity=1, epsilon=0.5, **told).privacy,
    "NoisyMax": lambda **told: dp.NoisyMax(sensitivity=1, epsilon=0.5, **told).privacy,
    "PermuteAndFlip": lambda **told: dp.PermuteAndFlip(sensitivity=1, epsilon=0.5, **told).privacy,
    "RandomizedResponse": lambda **told: dp.RandomizedResponse(epsilon=0.5, **told).privacy,
    "RandomizedResponse 3": lambda **told: dp.RandomizedResponse(epsilon=0.5, options=(1, 2, 3), **told).privacy,
    "SparseVector": lambda **told: dp.SparseVector(sensitivity=1, epsilon=0.5, cutoff=2, **told).privacy,
}
FIXED = {
    "a local task": (dp.local.Frequencies(["a", "b", "c"], epsilon=1).privacy, "local"),
    "open keys": (dp.Threshold(epsilon=1, delta=1e-6).privacy, "add-remove"),
    "shuffled": (dp.local.amplified(1, 1000, 1e-6, trusted_shuffler=True).privacy, "replace"),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_unstated_until_told(make) -> None:  # type: ignore[no-untyped-def]
    assert make().neighbours is None
    for relation in RELATIONS:
        told = make(neighbours=relation)
        assert (told.neighbours, told.assumed) == (relation, False)
        assert told.parts == make().parts
        assert told == make().under(relation)
        assert relation in repr(told)
        assert relation not in repr(make())
    with pytest.raises(ParameterError, match='"add-remove", "replace" or "local"'):
        make(neighbours="swap")


@pytest.mark.parametrize(("privacy", "relation"), FIXED.values(), ids=FIXED)
def test_a_theorem_for_one_relation_states_it(privacy: dp.Privacy, relation: str) -> None:
    assert (privacy.neighbours, privacy.assumed) == (relation, False)


@pytest.mark.parametrize(("left", "right"), list(product(RELATIONS, RELATIONS)))
def test_only_guarantees_for_the_same_neighbours_add_up(left: Neighbours, right: Neighbours) -> None:
    one, other = dp.pure(1, neighbours=left), dp.gdp(1, neighbours=right)
    if left == right:
        assert ((one + other).neighbours, (one + other).assumed) == (left, False)
        return
    with pytest.raises(ParameterError, match=f'"{left}".*"{right}"'):
        one + other
    budget = filters.ConcentratedFilter(rho=5).spend(one)
    assert not budget.fits(other)
    with pytest.raises(ParameterError, match="neither"):
        budget.spend(other)
    account = dp.Budget(epsilon=5, delta=1e-6).open().spend(one)
    with pytest.raises(ParameterError, match="neither"):
        account.spend(other)


PARTS = st.builds(
    lambda make, relation: MAKERS[make](neighbours=relation),
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from([None, None, "replace"]),
)


@given(st.lists(PARTS, max_size=5), st.permutations(range(5)), st.integers(0, 5))
def test_what_was_assumed_does_not_depend_on_the_order(parts: list[dp.Privacy], order: list[int], cut: int) -> None:
    total = sum(parts, dp.Privacy())
    assert total.neighbours == ("replace" if any(p.neighbours for p in parts) else None)
    assert total.assumed == (len({p.neighbours for p in parts}) == 2)
    assert total == sum((parts[i] for i in order if i < len(parts)), dp.Privacy())
    assert total == sum(parts[:cut], dp.Privacy()) + sum(parts[cut:], dp.Privacy())
    assert total.uses == len(parts)
    again = dp.Privacy.from_json(total.to_json())
    assert (again, again.uses) == (total, total.uses)


@given(st.lists(st.sampled_from([None, "add-remove"]), min_size=1, max_size=4))
def test_filters_say_what_they_assumed(relations: list[Neighbours | None]) -> None:
    kinds = (filters.PureFilter(epsilon=9), filters.ConcentratedFilter(rho=9), filters.RenyiFilter({2: 9}))
    parts = [dp.pure(0.5, neighbours=relation) for relation in relations]
    total = sum(parts, dp.Privacy())
    for budget in kinds:
        for part in parts:
            budget = budget.spend(part)
        assert (budget.neighbours, budget.assumed) == (total.neighbours, total.assumed)
        assert (budget.guarantee.neighbours, budget.guarantee.assumed) == (total.neighbours, total.assumed)
        assert filters.Filter.from_json(budget.to_json()) == budget


def test_sampling_has_a_theorem_for_records_that_are_added_or_removed_only() -> None:
    stated, silent = dp.gdp(1, neighbours="add-remove").sampled(0.1), dp.gdp(1).sampled(0.1)
    assert (stated.neighbours, stated.assumed) == ("add-remove", False)
    assert (silent.neighbours, silent.assumed) == ("add-remove", True)
    assert "assumed" in repr(silent)
    with pytest.raises(ParameterError, match="replaced ones"):
        dp.gdp(1, neighbours="replace").sampled(0.1)
    for local in (dp.local.Bit(epsilon=1).privacy, dp.pure(1, neighbours="local")):
        with pytest.raises(ParameterError, match="seen to report"):
            local.sampled(0.1)
    with pytest.raises(ParameterError, match="neither"):
        dp.gdp(1, neighbours="replace") + silent


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("compose", [lambda p: 1000 * p, lambda p: p + p, lambda p: dp.Privacy.from_json((2 * p).to_json())])
def test_a_composition_is_never_sampled_as_a_whole(make, compose) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError, match="before composing"):
        compose(make()).sampled(0.1)


def test_records_drawn_one_by_one_are_a_group_that_takes_part_more_often() -> None:
    """A noisy "is anybody of these two in the sample?" that lies with probability 1/10, on records each drawn at rate 1/10."""
    pair, rate, lie = dp.pure(math.log(9) + 1e-15), Fraction(1, 10), Fraction(1, 10)  # the guarantee of a group of two
    somebody = 1 - (1 - rate) ** 2
    seen = somebody * (1 - lie) + (1 - somebody) * lie
    truth = math.log(seen / lie)
    assert pair.sampled(rate).epsilon() < truth <= pair.sampled(somebody).epsilon() < truth + 1e-12


def test_replacing_a_record_is_removing_one_and_adding_one() -> None:
    both = dp.pure(1, neighbours="add-remove").under("replace")
    assert (both.neighbours, both.epsilon()) == ("replace", 2.0)
    assert dp.gdp(1, neighbours="add-remove").under("replace") == dp.gdp(2, neighbours="replace")
    assert dp.local.Bit(epsilon=1).privacy.under("replace").epsilon() == 1.0
    assert dp.pure(1, neighbours="replace").under("replace") == dp.pure(1, neighbours="replace")
    for have, want in (("replace", "add-remove"), ("replace", "local"), ("local", "add-remove"), ("add-remove", "local")):
        with pytest.raises(ParameterError, match="says nothing"):
            dp.pure(1, neighbours=have).under(want)  # type: ignore[arg-type]


def test_old_texts_read_as_unstated_and_are_written_as_before() -> None:
    old = '{"discreet": "privacy", "version": 1, "parts": [{"kind": "approximate", "epsilon": "1", "delta": "0", "count": 3}]}'
    read = dp.Privacy.from_json(old)
    assert (read.neighbours, read.assumed, read.uses) == (None, False, 3)
    assert read.to_json() == old
    for bad in ('"swap"', "3", "true"):
        with pytest.raises(ParameterError):
            dp.Privacy.from_json(dp.pure(1, neighbours="local").to_json().replace('"local"', bad))


def test_what_costs_nothing_holds_for_all_neighbours() -> None:
    assert (0 * dp.pure(1, neighbours="replace")).neighbours is None
    assert dp.Privacy() + dp.pure(1, neighbours="replace") == dp.pure(1, neighbours="replace")
    assert dp.Privacy().sampled(0.5) == dp.Privacy()


def test_explanations_name_the_neighbours() -> None:
    assert "not stated" in dp.pure(1).explain()
    assert "one record is replaced" in " ".join(dp.pure(1, neighbours="replace").explain().split())
    assert "assumed" in dp.gdp(1).sampled(0.1).explain()
