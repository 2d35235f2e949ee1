"""Ledgers on a server that stops, crashes, becomes a replica, or is told not to wait for its disk: one of these tests' own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.postgres import program, unprivileged_user
from support.refusals import refused

from discreet.errors import LedgerRefused
from discreet.ledger import Ledger, adopt, connections, witness
from discreet.ledger.place import Place, resolve
from discreet.privacy import pure
from discreet.privacy.budget import Budget

BUDGET = Budget(epsilon=1)


class Server:
    """A server that can be stopped."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._user = folder, unprivileged_user()
        if self._user is not None:
            os.chown(folder, self._user, -1)
        self._run("initdb", "-D", f"{folder}/data", "-U", "owner", "--auth=trust", "--no-sync", "--no-instructions")
        with open(folder / "data" / "postgresql.conf", "a") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nshared_buffers = '16MB'\n")

    def start(self, options: str = "") -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", mode, "stop")

    def become_a_replica(self) -> None:
        (self.folder / "data" / "standby.signal").touch()

    def _run(self, name: str, *words: str) -> None:
        done = subprocess.run(
            [program(name), *words],
            user=self._user,
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, (name, words)

    def place(self, name: str) -> Place:
        return resolve(f"postgresql://owner@/postgres?host={self.folder}&ledger={name}")


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="discreet-own-"))
    found = Server(folder)
    found.start()
    yield found
    connections.close_all()
    if (folder / "data" / "postmaster.pid").exists():
        found.stop("immediate")
    shutil.rmtree(folder)


def pay(ledger: Ledger) -> int:
    return ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="")


@pytest.mark.parametrize("mode", ["fast", "immediate"], ids=["restart", "crash"])
def test_a_ledger_outlives_its_server(own: Server, mode: str) -> None:
    """What was reserved before is answered after; while it is away, nobody is told anything."""
    ledger = Ledger.open(own.place(mode), BUDGET)
    number = pay(ledger)
    own.stop(mode)
    try:
        refused(lambda: pay(ledger), LedgerRefused, "does not let us in", "nothing is answered")
        refused(lambda: Ledger.view(own.place(mode), BUDGET), LedgerRefused, "does not let us in")
    finally:
        own.start()
    ledger.commit(number, "42")
    assert [entry.answer for entry in Ledger.open(own.place(mode)).history()] == ["42"]
    assert ledger.account.spent.epsilon == 0.1


def test_whatever_a_crash_hits_nothing_is_paid_twice_or_forgotten(own: Server) -> None:
    """Two pay as fast as they can while their server crashes: what they were told is in the ledger, and each try at most once."""
    place, told, tries, over = own.place("hit"), list[tuple[int, str]](), list[str](), threading.Event()
    Ledger.open(place, Budget(epsilon=1000))

    def spend(name: str) -> None:
        ledger = Ledger.open(place)
        while not over.is_set():
            tries.append(plan := f"{name} {len(tries)}")
            try:
                told.append((ledger.reserve(question="?", plan=plan, data="d", privacy=pure(0.1), asked=""), plan))
            except LedgerRefused:
                time.sleep(0.01)

    spenders = [threading.Thread(target=spend, args=(name,)) for name in ("ann", "bob")]
    for one in spenders:
        one.start()
    for paid in (20, 40):
        while len(told) < paid:
            assert all(one.is_alive() for one in spenders)
            time.sleep(0.01)
        own.stop("immediate")
        own.start()
    over.set()
    for one in spenders:
        one.join()
    entries = {entry.number: entry.plan for entry in Ledger.open(place).history()}
    assert dict(told).items() <= entries.items()
    assert len({*entries.values()}) == len(entries)
    assert {*entries.values()} <= {*tries}
    assert len(entries) - len(told) <= 4  # those in doubt while the server was away, which count as spent


def test_a_server_that_does_not_wait_for_its_disk_is_refused(own: Server) -> None:
    ledger = Ledger.open(own.place("lossy"), BUDGET)
    pay(ledger)
    for setting in ("fsync", "full_page_writes"):
        own.stop()
        own.start(f"-c {setting}=off")
        refused(lambda: pay(ledger), LedgerRefused, "fsync or full_page_writes off", "nothing is answered")
        assert ledger.account.spent.epsilon == 0.1  # what was spent can be read
    own.stop()
    own.start()
    pay(ledger)
    assert ledger.account.spent.epsilon == 0.2


def test_a_replica_is_read_and_not_paid_from(own: Server) -> None:
    """The last test: there is no way back."""
    place = own.place("copied")
    ledger = Ledger.open(place, BUDGET)
    ledger.commit(pay(ledger), "42")
    known = witness.read(place)
    own.stop()
    own.become_a_replica()
    own.start()
    viewed = Ledger.view(place, BUDGET)
    assert viewed is not None
    assert (viewed.account.spent.epsilon, ledger.account.spent.epsilon) == (0.1, 0.1)
    assert [entry.answer for entry in viewed.find("p", "d")] == ["42"]
    for call in (lambda: pay(ledger), lambda: Ledger.open(own.place("other"), BUDGET), lambda: adopt(place)):
        refused(call, LedgerRefused, "is a replica, or only lets read", "nothing is answered")
    assert witness.read(place) == known
