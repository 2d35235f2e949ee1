"""Troubles with servers of ledgers: one that is too old, one that says nothing, a move that is refused, a password to pickle."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from pathlib import Path

import psycopg
import pytest
from support.old_server import a_server_of
from support.postgres import server

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger import Ledger, connections, move, postgres
from discreet.ledger.place import Address, resolve
from discreet.privacy import pure
from discreet.privacy.budget import Budget

BUDGET = Budget(epsilon=1)


def named(name: str) -> Address:
    """A ledger that is not there yet."""
    place = resolve(f"{server().url()}&ledger=troubles.{name}{os.getpid()}")
    assert isinstance(place, Address)
    return place


def run(statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server().url(), autocommit=True) as connection:
        return connection.execute(statement.encode()).fetchall()


def pay(ledger: Ledger) -> None:
    ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="epsilon=0.1")


@pytest.mark.parametrize("version", ["12.22", "9.6.24"])
def test_a_server_says_that_it_is_too_old(version: str) -> None:
    with a_server_of(version) as (where, asked):
        place = Address.parse(f"postgresql://ann:hunter2@{where}/people?ledger=l")
        with pytest.raises(LedgerRefused, match=rf"is PostgreSQL {version.split('.')[0]}, and this needs 13 or later") as refused:
            connections.connect(place)
    assert "hunter2" not in str(refused.value)
    assert not asked


def test_a_server_that_says_nothing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its processes are asleep, as those of a machine that swaps: neither the one at rest nor a new one answers."""
    place = named("silent")
    ledger = Ledger.open(place, BUDGET)
    pay(ledger)
    (connection,) = connections._resting.values()
    first = int((server().folder / "data" / "postmaster.pid").read_text().split()[0])
    asleep = [connection.info.backend_pid, first]
    monkeypatch.setattr(connections, "SILENCE", 0.3)
    monkeypatch.setattr(connections, "_USUAL", connections._USUAL | {"connect_timeout": "2"})
    for process in asleep:
        os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(LedgerRefused, match=r"does not let us in .*timeout"):
            pay(ledger)
    finally:
        for process in asleep:
            os.kill(process, signal.SIGCONT)
    pay(ledger)
    assert run(f"SELECT count(*) FROM {place.schema}.{place.name}") == [(3,)]  # how it began, and two payments


def test_a_move_that_is_refused_makes_no_table(tmp_path: Path) -> None:
    there = named("moved")
    with pytest.raises(LedgerRefused, match="no ledger at"):
        move(tmp_path / "nothing.ledger", there)
    assert not postgres.exists(there)
    ledger = Ledger.open(tmp_path / "people.ledger", BUDGET)
    pay(ledger)
    older = (tmp_path / "people.ledger").read_bytes()
    pay(ledger)
    (tmp_path / "people.ledger").write_bytes(older)
    with pytest.raises(LedgerRefused):
        move(tmp_path / "people.ledger", there)
    assert not postgres.exists(there)
    assert run(f"SELECT to_regclass('{there.schema}.{there.name}')") == [(None,)]


def test_an_address_with_a_password_is_not_pickled() -> None:
    address = Address.parse("postgresql://ann:hunter2@db.clinic/research?ledger=patients")
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(ParameterError, match="is not pickled") as refused:
            write(address)
        assert "hunter2" not in str(refused.value)
    plain = Address.parse("postgresql://ann@db.clinic/research?ledger=patients")
    assert pickle.loads(pickle.dumps(plain)) == plain
