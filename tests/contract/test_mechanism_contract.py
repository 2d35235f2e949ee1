"""What every public mechanism promises, checked on all of them alike.

Every statistical test here raises a false alarm with probability below 1e-6: chi-square as in ``reference.statistics`` (1e-7),
and eight standard errors for variances.
"""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from contract.members import MEMBERS, Member
from reference import statistics

import discreet as dp
from discreet import mechanisms

every = pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS.keys())
additive = pytest.mark.parametrize(
    "member", [m for m in MEMBERS.values() if m.additive], ids=[name for name, m in MEMBERS.items() if m.additive]
)
DRAWS = 20_000


def play(member: Member, mechanism: Any) -> list[Any]:
    """A hundred releases, so noisy that two plays agree with probability below 1e-20."""
    if isinstance(mechanism, dp.SparseVector):
        return [mechanism.release([0.0] * 5, threshold=0) for _ in range(100)]
    if isinstance(mechanism, dp.SetUnion):
        return [mechanism.release([[str(i)] for i in range(40) for _ in range(15 + i)]) for _ in range(20)]
    if isinstance(mechanism, dp.Threshold):
        return [mechanism.release({"a": 500, "b": 600}) for _ in range(100)]
    if isinstance(mechanism, (dp.Linear, dp.RunningSums)):
        return [mechanism.release(member.values[0]).tolist() for _ in range(100)]
    return [mechanism.release(member.values[0]) for _ in range(100)]


def test_every_public_mechanism_is_registered() -> None:
    assert {type(member.make(1, 1)).__name__ for member in MEMBERS.values()} == set(mechanisms.__all__)
    assert all(getattr(dp, name) is getattr(mechanisms, name) for name in mechanisms.__all__)


@every
@pytest.mark.parametrize("asked", [0.03, 0.5, 0.7, 1, Fraction(10, 3), 9])
def test_it_costs_what_was_asked_and_never_more(member: Member, asked: Any) -> None:
    """The cost is rounded up, so it may be the first float above what was asked, where that is itself no float."""
    cost, exact = member.cost(member.make(1, asked)), Fraction(str(asked))
    assert float(exact) * (1 - 1e-9) <= cost <= math.nextafter(float(exact), math.inf)
    assert cost <= float(exact) or float(exact) < exact


@every
def test_less_noise_never_costs_less(member: Member) -> None:
    built = [member.make(1, budget) for budget in (0.1, 0.2, 0.5, 1, 2, 5)]
    costs, spreads = [member.cost(m) for m in built], [member.spread(m) for m in built]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)
    assert spreads == sorted(spreads, reverse=True)


@every
def test_a_larger_sensitivity_never_means_less_noise(member: Member) -> None:
    spreads = [member.spread(member.make(sensitivity, 1)) for sensitivity in (1, 2, 3, 10)]
    assert spreads == sorted(spreads)


@pytest.mark.parametrize("name", [name for name, member in MEMBERS.items() if member.by_noise])
def test_at_the_same_noise_a_larger_sensitivity_never_costs_less(name: str) -> None:
    by_noise = MEMBERS[name].by_noise
    assert by_noise is not None
    costs = [MEMBERS[name].cost(by_noise(sensitivity, 4)) for sensitivity in (1, 2, 3, 10)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
    quieter = [MEMBERS[name].cost(by_noise(1, noise)) for noise in (8, 4, 2, 0.5)]
    assert quieter == sorted(quieter)


@every
@pytest.mark.parametrize("delta", [0, 1e-9, 1e-3])
def test_its_curve_falls_in_delta_and_in_epsilon(member: Member, delta: float) -> None:
    privacy = member.make(1, 1).privacy
    assert privacy.epsilon(delta) >= privacy.epsilon(delta + 1e-3) >= 0
    assert 1 >= privacy.delta(0) >= privacy.delta(0.5) >= privacy.delta(20) >= 0


@every
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_error_covers_what_it_says(member: Member, confidence: float) -> None:
    """At most 1 - confidence of the releases lie outside, by their exact law."""
    missed = member.beyond(member.make(1, 0.5), confidence, 1)
    assert missed <= (1 - confidence) * (1 + member.slack + 1e-9)


@every
def test_an_error_that_is_a_fifth_too_small_would_not_cover(member: Member) -> None:
    """So that the test above finds it; bounds by unions are wide at low confidence, hence at 0.95."""
    assert member.beyond(member.make(1, 0.5), 0.95, 0.8) > 0.05 * (1 + member.slack)


@additive
def test_error_grows_with_confidence(member: Member) -> None:
    errors = [member.make(1, 0.5).error(confidence) for confidence in (0.01, 0.5, 0.9, 0.99, 0.999999)]
    assert errors == sorted(errors)
    assert errors[0] >= 0


@pytest.mark.diagonal
@additive
@pytest.mark.parametrize("budget", [0.05, 1, Fraction(10, 3)])
def test_releases_follow_the_exact_law_and_have_its_variance(member: Member, budget: Any) -> None:
    """Chi-square, a false alarm below 1e-7; noise a tenth too large or too small is missed at most once in 1e5.

    Squares within eight standard errors: below 1e-14 in the normal range, and no single square reaches that far.
    """
    mechanism = member.make(1, budget)
    step, released = Fraction(mechanism.grid), mechanism.release(np.zeros(DRAWS, dtype=np.int64))
    cells = np.array([int(x / step) for x in map(Fraction, released.tolist())])
    reach = 4 * mechanism.variance**0.5 / float(step)
    edges = sorted({round(edge) for edge in np.linspace(-reach, reach, 61)})
    assert statistics.fit_bins(cells, member.cdf(mechanism), edges) > statistics.ALARM
    squares = released.astype(float) ** 2
    assert abs(squares.mean() - mechanism.variance) < 8 * squares.std() / math.sqrt(DRAWS)


@every
def test_it_is_frozen(member: Member) -> None:
    mechanism = member.make(1, 1)
    for name in vars(mechanism):
        with pytest.raises(AttributeError):
            setattr(mechanism, name, 1)
        with pytest.raises(AttributeError):
            delattr(mechanism, name)


@every
@pytest.mark.parametrize("name", ["release", "noise", "privacy", "anything"])
def test_nothing_can_be_put_over_its_verbs(member: Member, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(member.make(1, 1), name, 1)


@every
def test_it_takes_keywords_only(member: Member) -> None:
    _, *parameters = inspect.signature(type(member.make(1, 1)).__init__).parameters.values()
    assert {parameter.kind for parameter in parameters} == {inspect.Parameter.KEYWORD_ONLY}


@every
def test_two_built_alike_are_equal_and_others_are_not(member: Member) -> None:
    one, same, other = member.make(1, 1), member.make(1, 1), member.make(1, 2)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert len({one, same, other}) == 2


@pytest.mark.parametrize("make", [dp.Laplace, dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip])
def test_it_does_not_equal_another_mechanism_with_the_same_numbers(make: Any) -> None:
    others = {dp.Laplace, dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip} - {make}
    assert all(make(sensitivity=1, epsilon=1) != other(sensitivity=1, epsilon=1) for other in others)


@additive
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 0, 3), (0,), (1, 1, 1), ()])
def test_a_release_keeps_its_shape(member: Member, shape: tuple[int, ...]) -> None:
    mechanism = member.make(1, 1)
    released = mechanism.release(np.full(shape, 5))
    kind = int if isinstance(mechanism.grid, int) else float
    if shape == ():
        assert type(released) is kind
    else:
        assert released.shape == shape
        assert all(type(x) is kind for x in released.reshape(-1).tolist())


@additive
def test_a_number_gives_a_number_and_a_list_an_array(member: Member) -> None:
    mechanism = member.make(1, 1)
    kind = int if isinstance(mechanism.grid, int) else float
    for value in member.values:
        assert type(mechanism.release(value)) is kind
    assert mechanism.release(list(member.values)).shape == (len(member.values),)
    assert mechanism.release([[1, 2], [3, 4], [5, 6]]).shape == (3, 2)
    assert mechanism.release((1, 2)).shape == (2,)


@pytest.mark.diagonal
@every
@pytest.mark.parametrize(
    "remake", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_a_copy_is_equal_and_draws_noise_of_its_own(member: Member, remake: Any) -> None:
    mechanism = member.make(1, 0.5)
    other = remake(mechanism)
    assert other == mechanism
    assert other.privacy == mechanism.privacy
    assert play(member, other) != play(member, mechanism) != play(member, mechanism)


@every
def test_its_module_states_the_theorem_and_the_neighbours(member: Member) -> None:
    text = sys.modules[type(member.make(1, 1)).__module__].__doc__
    assert text is not None
    assert "**Theorem" in text
    assert "neighbour" in text.lower() or "replaced by any other" in text


@every
def test_its_repr_shows_public_parameters_only(member: Member) -> None:
    mechanism = member.make(1, 1)
    assert repr(mechanism).startswith(type(mechanism).__name__ + "(")
    assert "_" not in repr(mechanism).replace("squared_sigma", "").replace("value_epsilon", "")
