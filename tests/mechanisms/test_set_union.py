"""Private set union: what is special to it beside the contract of all mechanisms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import norm

import discreet as dp
from discreet.errors import ParameterError, ValueRefused
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.set_union import Round, Weights, weigh

RADIUS = 2**20
sets = some.lists(some.lists(some.sampled_from("abcdefg"), max_size=6), max_size=5)


def _weights(given: list[list[str]], items: int, known: tuple[str, ...] = ()) -> dict[str, int]:
    weights = Weights(items, known, b"key")
    flat = [item for one in given for item in one]
    weights.add((flat, np.repeat(np.arange(len(given)), [len(one) for one in given])))
    return weights.found


@given(sets, some.lists(some.sampled_from("abcdefg"), max_size=7), some.integers(1, 5), some.sets(some.sampled_from("abc")))
def test_one_person_moves_all_weights_by_at_most_one(
    others: list[list[str]], one: list[str], items: int, known: set[str]
) -> None:
    """And by that exactly, but for rounding down, where anything of theirs is left."""
    before, after = (_weights(each, items, tuple(known)) for each in (others, [*others, one]))
    moved = {item: after.get(item, 0) - before.get(item, 0) for item in after}
    assert set(before) <= set(after)
    square = sum(step**2 for step in moved.values())
    assert square <= RADIUS**2
    left = min(items, len(set(one) - known))
    assert square >= (RADIUS**2 - 2 * RADIUS * math.sqrt(left) if left else 0)
    assert sum(step > 0 for step in moved.values()) == left
    assert not known & set(after)


@given(sets, some.integers(1, 5))
def test_weights_do_not_depend_on_order_or_blocks(given: list[list[str]], items: int) -> None:
    whole = _weights(given, items)
    assert _weights([one[::-1] for one in given[::-1]], items) == whole
    parts = Weights(items, (), b"key")
    for one in given:
        parts.add((one, np.zeros(len(one), dtype=np.int64)))
    assert parts.found == whole


def test_rows_of_one_person_are_one_set() -> None:
    def of(block: Block) -> tuple[list[str], np.ndarray]:
        return [str(text) for text in block["t"]], np.arange(block.height)

    rows = {"t": np.array(["a", "b", "a", "c"], dtype=object)}
    persons = Secret(Block(rows, 4, np.array([0, 3])))
    assert open_secret(weigh([persons], of, 5, [], b"key")) == _weights([["a", "b"], ["c"]], 5)
    alone = Secret(Block(rows, 4))
    assert open_secret(weigh([alone, alone], of, 5, ["b"], b"key")) == _weights([["a"], ["a"], ["c"]] * 2, 5)


def _shown(round_: Round, weights: list[int]) -> list[float]:
    """The chance that each item is shown: rounded noise is above cut - weight."""
    return [float(norm.sf((round_.cut - weight + 0.5) / math.sqrt(round_.squared_sigma))) for weight in weights]


def _law(chances: list[float]) -> dict[tuple[bool, ...], float]:
    outcomes = itertools.product((False, True), repeat=len(chances))
    return {one: math.prod(p if seen else 1 - p for p, seen in zip(chances, one, strict=True)) for one in outcomes}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("shared", "own"), [(0, 1), (0, 3), (1, 2), (2, 1), (3, 0)])
def test_a_round_leaks_no_more_than_it_says(neighbours: str, shared: int, own: int) -> None:
    """Written out: a person with some items that others have, whose weights are at the cut, and some that nobody has."""
    one = Round(3, Fraction(1, 2), Fraction(1, 50), neighbours)  # type: ignore[arg-type]
    weight = math.isqrt(RADIUS**2 // (shared + own))
    base = [one.cut - weight // 2] * shared
    without = _law(_shown(one, base))
    persons = _law(_shown(one, [w + weight for w in base] + [weight] * own))
    p = dict(persons)
    q = {outcome: without.get(outcome[:shared], 0.0) if not any(outcome[shared:]) else 0.0 for outcome in p}
    if neighbours == "replace":  # by somebody else, with as many items that nobody has, whose names are others
        away = _shown(one, [weight] * own)
        hidden = math.prod(1 - chance for chance in away)
        q = {outcome: mass * hidden for outcome, mass in q.items()}
        p = {**p, "theirs": 0.0}  # type: ignore[dict-item]
        q = {**q, "theirs": 1 - hidden}  # type: ignore[dict-item]
    for epsilon in (0, 0.3, 1.0):
        claimed = one.privacy.delta(epsilon)
        for a, b in ((p, q), (q, p)):
            assert sum(max(0.0, a[x] - math.exp(epsilon) * b[x]) for x in a) <= claimed + 1e-12
    unique = 1 - math.prod(1 - chance for chance in _shown(one, [math.isqrt(RADIUS**2 // 3)] * 3))
    hidden_delta = 0.01 if neighbours == "replace" else 0.02
    assert unique <= hidden_delta
    assert (
        max(1 - (1 - _shown(one, [math.isqrt(RADIUS**2 // t)])[0]) ** t for t in (1, 2, 3)) > 0.99 * hidden_delta
    )  # no more than needed


def test_what_many_share_is_shown_and_what_one_has_is_not() -> None:
    """Weights of 3,000 persons against a cut of 24 and noise of 4.5: missed with probability below e^-1000. One person's item is
    shown with probability at most 1e-9."""
    union = dp.SetUnion(epsilon=1, delta=1e-9, items=4)
    everybody = [["bread", "milk", f"secret {i}"] for i in range(3000)]
    assert union.release(everybody) == ["bread", "milk"]
    assert union.release(Secret(everybody)) == ["bread", "milk"]
    assert union.release([]) == []
    assert union.release([[], []]) == []


def test_rounds_add_up_to_what_is_paid() -> None:
    for union in (dp.SetUnion(epsilon=1, delta=1e-6, items=20), dp.SetUnion(rho=0.1, delta=1e-7, items=5, neighbours="replace")):
        total = sum(one.privacy for one in union.rounds)
        assert total.rho == math.inf  # there is a delta
        assert sum(one.squared_mu for one in union.rounds) == union.squared_mu
        assert sum(one.delta for one in union.rounds) == union.delta
        assert {one.neighbours for one in union.rounds} == {union.neighbours}


def test_later_rounds_find_more_than_one_alone() -> None:
    """Fourteen words that all have are in the way of forty that 80 of 533 persons have: these weigh 80 / sqrt(20) with them, 18
    against a cut of 24 and noise of 4.4, and 80 / sqrt(6) without, 33 against 25.5 and 4.6. A share of 0.08 is found in one
    round, one of 0.9 or more in three: twenty of forty part them but for a chance below 1e-9."""
    given = [[f"common {j}" for j in range(14)] + [f"rare {(i * 6 + j) % 40}" for j in range(6)] for i in range(533)]
    union = dp.SetUnion(epsilon=1, delta=1e-6, items=20)
    assert sum(item.startswith("rare") for item in union.release(given)) > 20
    single = Round(20, union.squared_mu, union.delta, "add-remove")
    assert sum(item.startswith("rare") for item in single.release(Secret(_weights(given, 20)))) < 20


def test_what_is_refused() -> None:
    for wrong in (
        {"items": 0},
        {"items": 10**6},
        {"delta": 0},
        {"delta": 1},
        {"epsilon": None},
        {"rho": 1},
        {"neighbours": "local"},
    ):
        with pytest.raises(ParameterError):
            dp.SetUnion(**{"epsilon": 1, "delta": 1e-6, "items": 3, **wrong})
    with pytest.raises(ParameterError, match="larger one"):
        dp.SetUnion(rho=1e-30, delta=1e-6, items=3)
    union = dp.SetUnion(epsilon=1, delta=1e-6, items=3)
    for value in ("text", [["a"], "b"], [[1]], {"a": 3}, 7, [None]):
        with pytest.raises(ValueRefused):
            union.release(value)
