"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from contract import losses, test_mechanism_contract
from contract.members import Member, additive, pure
from contract.stores import PROMISES
from support.toy_loss import Abstaining
from support.toy_mechanism import Twice

import discreet as dp
from discreet.ledger.store import STORES
from discreet.mechanisms.base import recorded
from discreet.plan.release import Release
from discreet.plan.statistics import Persons
from discreet.privacy import Privacy
from discreet.privacy.losses import Response
from discreet.privacy.losses.base import _KINDS, Loss, register


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_ledger_store(promise: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/memory_store.py``, and one line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setitem(STORES, ".memory", "support.memory_store")
    promise(tmp_path / "clinic.memory")
    assert not (tmp_path / "clinic.memory").exists()


@pytest.mark.parametrize("promise", losses.PROMISES, ids=lambda promise: promise.__name__)
def test_a_loss(promise: Callable[[Loss], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """One class, ``support/toy_loss.py``, and one line; its curve lies where its pair says."""
    monkeypatch.setattr("discreet.privacy.losses.base._KINDS", dict(_KINDS))
    register(Abstaining)
    toy, half = Abstaining(Fraction(1), Fraction(3, 5)), Fraction(1, 2)
    promise(toy)
    response = Privacy.of(Response(Fraction(1), 2))
    for privacy, whole in ((Privacy.of(toy), response), (40 * Privacy.of(toy), 40 * response)):
        low, high = privacy.delta_bounds(half)
        assert 0 < low <= high <= whole.delta(half)
        assert high - low <= 1e-6 * high
    one = Privacy.of(toy).delta(half)
    assert one == pytest.approx(0.4 * response.delta(half), rel=1e-9)
    assert Privacy.of(toy).sampled(0.1).delta(0) == pytest.approx(0.1 * Privacy.of(toy).delta(0), rel=1e-6)
    assert dp.filters.PureFilter(epsilon=3).spend(2 * Privacy.of(toy)).left == {"epsilon": 1}


MECHANISM_PROMISES = [
    promise
    for name, promise in vars(test_mechanism_contract).items()
    if name.startswith("test_") and list(inspect.signature(promise).parameters) == ["member"]
]


@pytest.mark.parametrize("promise", MECHANISM_PROMISES, ids=lambda promise: promise.__name__)
def test_a_mechanism(promise: Callable[[Member], None]) -> None:
    """One class, ``support/toy_mechanism.py``, and one entry in the contract; audits and answers get their words from it."""
    toy = Member(lambda s, e: Twice(sensitivity=s, epsilon=e), pure, lambda m: m.scale, additive, (0, 7, -3))
    promise(toy)
    mechanism = toy.make(2, 1)
    with recorded() as record:
        for value in ([1, 2], [2, 5]):
            mechanism.release(value)
    moved = mechanism.moved(*record)
    assert moved.cost == dp.pure(2)
    assert moved.far == "moved by 4, declared 2 (L1): [1, 2] and [2, 5]"
    assert Release(Persons(), mechanism, bits=1).description[1] == "Laplace noise, twice, of scale 1"
