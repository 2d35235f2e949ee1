"""Sharing: threads, processes and forks drain one budget to the last tenth, and not a tenth further."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contract.stores import MEMBERS, Member
from support.refusals import refused

from discreet.errors import BudgetExceeded, LedgerRefused
from discreet.ledger import Ledger, sqlite, witness
from discreet.ledger.place import Place
from discreet.privacy import pure
from discreet.privacy.budget import Budget

BUDGET = Budget(epsilon=1)


def drain(ledger: Ledger) -> int:
    """How many tenths this one got."""
    got = 0
    while True:
        try:
            number = ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="epsilon=0.1")
        except BudgetExceeded:
            return got
        ledger.commit(number, "42")
        got += 1


stores = pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)


def whole(path: Place) -> None:
    """Ten answers, a whole chain, and a witness of its end."""
    ledger = Ledger.open(path)
    assert ledger.account.spent.epsilon == 1.0
    assert [entry.state for entry in ledger.history()] == ["answered"] * 10
    known = witness.read(path)
    assert known is not None
    assert known.number == 20


@pytest.mark.parametrize("shared", [True, False], ids=["one ledger", "a ledger each"])
@stores
def test_sixteen_threads(member: Member, tmp_path: Path, shared: bool) -> None:
    path = member.place(tmp_path, "x")
    one = Ledger.open(path, BUDGET)
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(drain, [one if shared else Ledger.open(path, BUDGET) for _ in range(16)]))
    assert sum(got) == 10
    whole(path)


DRAIN = """
import sys
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from discreet.privacy import pure
from discreet.privacy.budget import Budget

sys.stdin.read(1)  # all begin together
ledger, got = Ledger.open(sys.argv[1], Budget(epsilon=1)), 0
try:
    while True:
        number = ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="epsilon=0.1")
        ledger.commit(number, "42")
        got += 1
except BudgetExceeded:
    print(got)
"""


@stores
def test_four_processes_that_also_race_to_make_it(member: Member, tmp_path: Path) -> None:
    path = member.place(tmp_path, "x")
    command = [sys.executable, "-c", DRAIN, str(path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("!")
        racer.stdin.flush()
    got = [int(racer.communicate(timeout=600)[0]) for racer in racers]
    assert sum(got) == 10
    whole(path)


FORK = """
import os, sys, threading
from discreet.errors import BudgetExceeded
from discreet.ledger import Ledger
from discreet.privacy import pure
from discreet.privacy.budget import Budget

ledger = Ledger.open(sys.argv[1], Budget(epsilon=1))

def drain():
    got = 0
    try:
        while True:
            ledger.commit(ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="epsilon=0.1"), "42")
            got += 1
    except BudgetExceeded:
        return got

found = []
threads = [threading.Thread(target=lambda: found.append(drain())) for _ in range(4)]
for thread in threads:
    thread.start()
children = []
for _ in range(4):  # in the middle of the threads' transactions
    child = os.fork()
    if not child:
        os._exit(drain())
    children.append(child)
found += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
for thread in threads:
    thread.join()
print(sum(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX")
@stores
def test_forks_in_the_middle_of_transactions(member: Member, tmp_path: Path) -> None:
    path = member.place(tmp_path, "x")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(path)], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout.strip()) == (0, "10"), done.stderr
    whole(path)


def test_a_ledger_locked_for_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)
    ledger = Ledger.open(tmp_path / "x", BUDGET)
    other = sqlite3.connect(tmp_path / "x", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refused(lambda: drain(ledger), LedgerRefused, "locked", "nothing was answered")
    assert ledger.account.spent.epsilon == 0  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert drain(ledger) == 10


def test_a_refusal_leaves_no_lock_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)
    ledger = Ledger.open(tmp_path / "x", BUDGET)
    kept = []
    for _ in range(3):
        try:
            ledger.reserve(question="?", plan="p", data="d", privacy=pure(2), asked="")
        except BudgetExceeded as problem:
            kept.append(problem)  # and with it every frame of its traceback
    assert len(kept) == 3
    assert drain(Ledger.open(tmp_path / "x")) == 10
