"""Ledgers on a real PostgreSQL server: what only a server can do to them, and what only a server's roles can keep from them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.postgres import a_database, program, server
from support.refusals import refused
from support.wire import Wire

from discreet.errors import BudgetExceeded, LedgerRefused
from discreet.ledger import Ledger, adopt, connections, create, forget, postgres, witness
from discreet.ledger.chain import Record
from discreet.ledger.place import Address, resolve
from discreet.privacy import pure
from discreet.privacy.budget import Budget

BUDGET = Budget(epsilon=1)
_numbers = count()


def named(url: str = "", schema: str = "discreet") -> Address:
    """A ledger that is not there yet."""
    place = resolve(f"{url or server().url()}&ledger={schema}.l{os.getpid()}_{next(_numbers)}")
    assert isinstance(place, Address)
    return place


@pytest.fixture
def place() -> Address:
    return named()


def table(place: Address) -> str:
    return f"{place.schema}.{place.name}"


def run(*statements: str) -> list[Any]:
    """The last result of statements by the owner of everything."""
    with psycopg.connect(server().url(), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def pay(ledger: Ledger, epsilon: float = 0.1) -> int:
    return ledger.reserve(question="?", plan="p", data="d", privacy=pure(epsilon), asked=f"epsilon={epsilon}")


def ask(ledger: Ledger) -> None:
    ledger.commit(pay(ledger), "42")


# Wires that are cut.


@pytest.fixture
def wire() -> Iterator[Wire]:
    with tempfile.TemporaryDirectory() as folder:  # a socket's path is short
        found = Wire(server(), Path(folder))
        yield found
        found.close()


@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "heard"])
@pytest.mark.parametrize("word", ["BEGIN", "COPY", "COMMIT"])
@pytest.mark.parametrize("verb", ["reserve", "commit"])
def test_a_connection_lost_in_the_middle_never_spends_twice(wire: Wire, word: str, heard: bool, verb: str) -> None:
    """Of a COMMIT that nobody answered it is found out what became of it; all others are as if nobody had asked."""
    ledger = Ledger.open(place := named(wire.url()), BUDGET)
    number = pay(ledger)
    goes_on = word == "BEGIN" or (word == "COMMIT" and heard)
    wire.cut(word + "\0" * (word == "COMMIT"), heard=heard)  # not READ COMMITTED

    def act() -> object:
        return pay(ledger, 0.2) if verb == "reserve" else ledger.commit(number, "42")

    if goes_on:
        act()
    else:
        refused(act, LedgerRefused, "was lost", "nothing was answered", "stays spent")
    assert wire.cuts == 1
    spent, answers = (0.3, [None, None]) if verb == "reserve" else (0.1, ["42"])
    if not goes_on:
        spent, answers = 0.1, [None]
    seen = witness.read(place)
    again = Ledger.open(place)
    assert again.account.spent.epsilon == spent
    assert [entry.answer for entry in again.history()] == answers
    assert seen is not None
    assert seen.number == (len(answers) + sum(answer is not None for answer in answers))  # and nothing was said before that
    if not goes_on:
        act()  # asked again, it is paid for once
        assert again.account.spent.epsilon == (0.3 if verb == "reserve" else 0.1)


def test_a_server_that_stays_away_leaves_nothing_answered(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_DOUBT", 0.0)
    ledger = Ledger.open(place := named(wire.url()), BUDGET)
    wire.cut("COMMIT\0", heard=True, away=True)
    with pytest.raises(LedgerRefused, match=r"was lost before it said .* what may have been reserved counts as spent") as problem:
        pay(ledger)
    assert problem.value.__context__ is None
    there = resolve(server().url() + f"&ledger={table(place)}")
    assert adopt(there).account.spent.epsilon == 0.1  # too much rather than too little


def test_a_killed_backend_writes_nothing(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, commit = Ledger.open(place, BUDGET), postgres.commit

    def killed(connection: connections.Connection) -> bool:
        run(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 60000)")
        return commit(connection)

    with monkeypatch.context() as patched:
        patched.setattr(postgres, "commit", killed)
        refused(lambda: pay(ledger), LedgerRefused, "was lost before this was written")
    assert ledger.account.spent.epsilon == 0
    ask(ledger)
    connection = connections.resume(place)
    assert connection is not None
    connections.rest(place, connection)
    run(f"SELECT pg_terminate_backend({connection.info.backend_pid}, 60000)")  # at rest
    ask(ledger)
    assert ledger.account.spent.epsilon == 0.2


# Locks.


def test_a_ledger_locked_for_too_long_is_refused(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.open(place, BUDGET)
    with psycopg.connect(server().url()) as other:
        other.execute(f"LOCK TABLE {table(place)}".encode())  # such as somebody who alters it
        other.rollback()
        other.execute(
            f"SELECT pg_advisory_xact_lock((1685089383::bigint << 32) | '{table(place)}'::regclass::oid::bigint)".encode()
        )
        with monkeypatch.context() as patched:
            patched.setattr(postgres, "_PATIENCE", 0.05)
            refused(lambda: pay(ledger), LedgerRefused, "locked", "nothing was answered")
        assert ledger.account.spent.epsilon == 0  # reading goes on
    ask(ledger)


def test_whoever_falls_asleep_loses_the_lock(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose machine is gone without a word: the server waits for nobody who does nothing."""
    postgres.create(place)
    first = Record(0, "{}", bytes(32))
    with monkeypatch.context() as patched:
        patched.setattr(postgres, "_PATIENCE", 0.2)
        sleeping = postgres.writing(place)
        sleeper = sleeping.__enter__()
    with postgres.writing(place) as records:  # within the patience that others have
        records.add(first)
    with pytest.raises(psycopg.Error):
        sleeper.add(Record(0, "[]", bytes(32)))
    sleeping.__exit__(None, None, None)
    with postgres.reading(place) as records:
        assert records.read(0) == [first]


def test_numbers_are_given_once_whatever_the_lock_does(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check and reserve are serialisable by the table alone."""
    ledger = Ledger.open(place, BUDGET)
    other = Ledger.open(place)
    monkeypatch.setattr(postgres, "_LOCK", "SELECT 1")
    append, waiting = Ledger._append, [True]

    def and_before_another(self: Ledger, records: Any, facts: Any) -> int:
        if waiting and waiting.pop():
            pay(other, 0.9)
        return append(self, records, facts)

    monkeypatch.setattr(Ledger, "_append", and_before_another)
    refused(lambda: pay(ledger, 0.8), LedgerRefused, "nothing was answered")
    with pytest.raises(BudgetExceeded):
        pay(ledger, 0.8)
    assert Ledger.open(place).account.spent.epsilon == 0.9


def test_whoever_lost_the_lock_takes_no_witness_back(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may sleep between reading the ledger and bearing witness, and others pay meanwhile."""
    mine, other, follow, calls = Ledger.open(place, BUDGET), Ledger.open(place), Ledger._follow, list[Ledger]()
    monkeypatch.setattr(postgres, "_LOCK", "SELECT 1")

    def and_then_another(self: Ledger, records: Any) -> None:
        follow(self, records)
        calls.append(self)
        if self is mine and calls.count(mine) == 2:
            ask(other)

    monkeypatch.setattr(Ledger, "_follow", and_then_another)
    assert pay(mine) == 1
    assert calls.count(other) == 4
    assert witness.read(place).number == 3  # type: ignore[union-attr]


def test_ctrl_c_while_waiting_leaves_no_lock(place: Address) -> None:
    ledger = Ledger.open(place, BUDGET)
    held = f"((1685089383::bigint << 32) | '{table(place)}'::regclass::oid::bigint)"
    waits = f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = '{table(place)}'::regclass::oid"

    def interrupt() -> None:
        while run(f"{waits} AND NOT granted") == [(0,)]:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with psycopg.connect(server().url()) as other:
        other.execute(f"SELECT pg_advisory_xact_lock{held}".encode())
        alarm = threading.Thread(target=interrupt)
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            pay(ledger)
        alarm.join()
        assert run(waits) == [(1,)]  # the other's
    assert run(waits) == [(0,)]
    ask(ledger)
    assert ledger.account.spent.epsilon == 0.1


INHERITED = """
import os, signal, sys, time
from discreet.ledger import Ledger, postgres
from discreet.ledger.place import resolve
from discreet.privacy.budget import Budget

place = resolve(sys.argv[1])
Ledger.open(place, Budget(epsilon=1))  # leaves a connection at rest
if not os.fork():
    sys.stdin.read()
    os._exit(0)
with postgres.writing(place):
    print("locked", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_child_keeps_no_lock_of_its_dead_parent(place: Address) -> None:
    command = [sys.executable, "-c", INHERITED, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "locked\n"
        assert parent.wait() == -signal.SIGKILL
        sessions = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
        mine = f"{sessions} objid = '{table(place)}'::regclass::oid"
        for _ in range(1000):  # ten seconds, of the sixty that a sleeper has
            if run(mine) == [(0,)]:
                break
            time.sleep(0.01)
        assert run(mine) == [(0,)]  # while the child lives
        assert parent.stdin is not None
        parent.stdin.close()


# What the server keeps.


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE {} SET text = '{{}}'",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "INSERT INTO {} VALUES (7, '', '')",
        "INSERT INTO {} VALUES (0, '', '')",
        "UPDATE {} SET number = 1 WHERE false",
    ],
)
@pytest.mark.parametrize("how", ["origin", "replica"])
def test_a_table_only_grows_even_for_its_owner(place: Address, change: str, how: str) -> None:
    Ledger.open(place, BUDGET)
    with pytest.raises(psycopg.errors.CheckViolation, match="append-only"):
        run(f"SET session_replication_role = {how}", change.format(table(place)))
    assert len(run(f"SELECT * FROM {table(place)}")) == 1


@pytest.mark.parametrize(
    ("setting", "expected"), [("off", "on"), ("local", "on"), ("remote_write", "on"), ("remote_apply", "remote_apply")]
)
def test_commits_are_durable_whatever_the_role_says(setting: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, seen, commit = named(server().url() + f"&options=-csynchronous_commit={setting}"), list[str](), postgres.commit

    def look(connection: connections.Connection) -> bool:
        seen.append(str(connection.execute("SHOW synchronous_commit").fetchone()[0]))  # type: ignore[index]
        return commit(connection)

    monkeypatch.setattr(postgres, "commit", look)
    ask(Ledger.open(place, BUDGET))
    assert set(seen) == {expected}
    assert len(seen) == 4  # the table, its first record, a reservation and its answer


LOSSY = ["ALTER TABLE {} SET UNLOGGED", "DROP TRIGGER never_changed ON {}", "ALTER TABLE {} DISABLE TRIGGER always_next"]
LOSSY += ["ALTER TABLE {} ENABLE TRIGGER always_next", "COMMENT ON TABLE {} IS NULL"]


@pytest.mark.parametrize("change", LOSSY)
def test_a_table_that_may_lose_rows_is_refused(place: Address, change: str) -> None:
    ledger = Ledger.open(place, BUDGET)
    run(change.format(table(place)))
    for call in (lambda: pay(ledger), lambda: ledger.account, lambda: adopt(place), lambda: Ledger.open(place, BUDGET)):
        refused(call, LedgerRefused, "not a ledger of discreet")


@pytest.mark.parametrize("kind", ["TABLE {} (number int)", "VIEW {} AS SELECT 1 AS number", "SEQUENCE {}"])
def test_other_tables_are_refused_and_left_alone(place: Address, kind: str) -> None:
    run("CREATE SCHEMA IF NOT EXISTS discreet", f"CREATE {kind.format(table(place))}")
    refused(lambda: Ledger.open(place, BUDGET), LedgerRefused, "not a ledger of discreet", "ledger=")
    refused(lambda: adopt(place), LedgerRefused, "not a ledger of discreet")
    refused(lambda: create(place), LedgerRefused, "left alone")


def test_a_server_without_room_answers_nothing(place: Address) -> None:
    ledger = Ledger.open(place, BUDGET)
    full = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$"
    run(f"CREATE FUNCTION {table(place)}_full() RETURNS trigger {full}")
    run(f"CREATE TRIGGER full_disk BEFORE INSERT ON {table(place)} EXECUTE FUNCTION {table(place)}_full()")
    refused(lambda: pay(ledger), LedgerRefused, "disk full", "nothing was answered")
    run(f"DROP TRIGGER full_disk ON {table(place)}")
    ask(ledger)
    assert ledger.account.spent.epsilon == 0.1


def test_a_table_that_keeps_nothing_is_noticed(place: Address) -> None:
    ledger = Ledger.open(place, BUDGET)
    run(f"CREATE FUNCTION {table(place)}_void() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    run(f"CREATE TRIGGER void BEFORE INSERT ON {table(place)} FOR EACH ROW EXECUTE FUNCTION {table(place)}_void()")
    refused(lambda: pay(ledger), LedgerRefused, "does not keep what is added")


def test_a_server_writes_no_record_into_its_log(place: Address) -> None:
    ledger = Ledger.open(place, BUDGET)
    ledger.commit(ledger.reserve(question="a question", plan="p", data="d", privacy=pure(0.1), asked=""), "an answer of ours")
    log = server().log
    assert f"COPY {table(place)}" in log
    for text in (ledger.salt.hex(), "a question", "an answer of ours"):
        assert text not in log


# Roles.


@pytest.fixture
def roles(place: Address) -> Iterator[dict[str, Address]]:
    """An empty ledger of an owner, and roles that may add to it, read it, and do nothing."""
    create(place)
    made = {}
    for role, rights in {"spender": "SELECT, INSERT", "reader": "SELECT", "stranger": ""}.items():
        name = f"{role}_{place.name}"
        run(f"CREATE ROLE {name} LOGIN")
        if rights:
            run(f"GRANT USAGE ON SCHEMA discreet TO {name}", f"GRANT {rights} ON {table(place)} TO {name}")
        found = resolve(server().url(user=name) + f"&ledger={table(place)}")
        assert isinstance(found, Address)
        made[role] = found
    yield made
    connections.close_all()
    for one in made.values():
        run(f"DROP OWNED BY {one.user}", f"DROP ROLE {one.user}")


def test_a_spender_needs_to_insert_and_select_only(roles: dict[str, Address]) -> None:
    place = roles["spender"]
    ledger = Ledger.open(place, BUDGET)
    ask(ledger)
    assert adopt(place).account.spent.epsilon == 0.1
    for change in (
        "UPDATE {} SET text = ''",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "DROP TABLE {}",
        "ALTER TABLE {} DISABLE TRIGGER ALL",
    ):
        with (
            psycopg.connect(str(place).partition("&ledger")[0]) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(change.format(table(place)).encode())
    with pytest.raises(LedgerRefused, match=r'may not make .* runs: discreet ledger create "postgresql.* GRANT SELECT, INSERT'):
        Ledger.open(named(server().url(user=place.user)), BUDGET)


def test_a_reader_sees_and_pays_nothing(roles: dict[str, Address]) -> None:
    ask(Ledger.open(roles["spender"], BUDGET))
    place = roles["reader"]
    viewed = Ledger.view(place, BUDGET)
    assert viewed is not None
    assert (viewed.account.spent.epsilon, len(viewed.history()), viewed.find("p", "d")[0].answer) == (0.1, 1, "42")
    for call in (lambda: pay(viewed), lambda: Ledger.open(place, BUDGET), lambda: adopt(place)):
        with pytest.raises(LedgerRefused, match=r"may not be written by this role, .* GRANT SELECT, INSERT ON"):
            call()


def test_a_stranger_learns_how_to_be_let_in(roles: dict[str, Address]) -> None:
    place = roles["stranger"]
    calls: list[Callable[[], object]] = [
        lambda: Ledger.view(place, BUDGET),
        lambda: Ledger.open(place, BUDGET),
        lambda: adopt(place),
    ]
    for call in calls:
        with pytest.raises(
            LedgerRefused, match=r"may not be read by this role, .* GRANT USAGE ON SCHEMA discreet TO .* GRANT SELECT"
        ):
            call()
    other = resolve(str(place).replace(f"ledger={place.name}", "ledger=nowhere.at_all"))
    with pytest.raises(LedgerRefused, match="may not make"):
        Ledger.open(other, BUDGET)


def test_the_roles_of_the_documentation_are_enough() -> None:
    (script,) = re.findall(r"```sql\n(.*?)```", (Path(__file__).parents[2] / "docs" / "curator.md").read_text(), re.DOTALL)
    assert "ledger_owner" in script
    with a_database() as database:
        server().run(script, database=database)
        ledgers = {user: server().url(database, user) + "&ledger=patients" for user in ("ledger_owner", "ann")}
        with pytest.raises(LedgerRefused, match="may not make"):
            Ledger.open(ledgers["ann"], BUDGET)
        create(ledgers["ledger_owner"])
        ask(Ledger.open(ledgers["ann"], BUDGET))
        with psycopg.connect(server().url(database, "ann")) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM discreet.patients")
        connections.close_all()
    server().run("DROP ROLE ann, curators, ledger_owner")


def test_a_backup_is_a_ledger_again(tmp_path: Path) -> None:
    programs = Path(program("initdb")).parent
    with a_database() as first, a_database() as second:
        ledger = Ledger.open(server().url(first) + "&ledger=patients", BUDGET)
        ask(ledger)
        script = tmp_path / "backup.sql"
        subprocess.run([programs / "pg_dump", "--file", str(script), server().url(first)], check=True)
        subprocess.run(
            [programs / "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--file", str(script), server().url(second)],
            check=True,
        )
        restored = server().url(second) + "&ledger=patients"
        refused(lambda: Ledger.open(restored, BUDGET), LedgerRefused, "never saw it", "discreet ledger adopt")
        again = adopt(restored)
        assert again.history() == ledger.history()
        ask(again)
        with pytest.raises(psycopg.errors.CheckViolation):
            server().run("DELETE FROM discreet.patients", database=second)


# Servers that do not let us in.


BAD: dict[str, tuple[Callable[[], str], str]] = {
    "unreachable": (lambda: "postgresql://127.0.0.1:1/x", "refused"),
    "unresolved": (lambda: "postgresql://nowhere.invalid/x", "resolve"),
    "no socket": (lambda: "postgresql:///x?host=/nowhere", "No such file"),
    "no database": (lambda: server().url(database="nowhere"), "does not exist"),
    "no role": (lambda: server().url(user="nobody_at_all"), "does not exist"),
    "no password": (lambda: server().url(tcp=True), "no password supplied"),
    "wrong password": (lambda: server().url(password="hushhush", tcp=True), "password authentication failed"),
    "no such option": (lambda: server().url() + "&nonsense=1", "nonsense"),
    "no service": (lambda: "postgresql:///?service=nowhere", "service"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_server_that_does_not_let_us_in_is_a_sentence(kind: str) -> None:
    url, word = BAD[kind][0](), BAD[kind][1]
    for call in (lambda: Ledger.open(url, BUDGET), lambda: Ledger.view(url, BUDGET), lambda: adopt(url), lambda: forget(url)):
        message = refused(call, LedgerRefused, "does not let us in", word, "nothing is answered", "~/.pgpass", never="hushhush")
        assert "\n" not in message


def test_an_old_server_is_refused(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    connections.close_all()
    monkeypatch.setattr(connections, "_OLDEST", 99)
    refused(lambda: Ledger.open(place, BUDGET), LedgerRefused, "needs 99 or later")


def test_the_extra_is_named_where_it_is_missing(place: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused(lambda: Ledger.open(place, BUDGET), LedgerRefused, "pip install 'discreet[postgres]'")


# What is remembered of it here.


def test_every_machine_has_a_witness_of_its_own(place: Address, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ledger = Ledger.open(place, BUDGET)
    ask(ledger)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path))
        refused(lambda: Ledger.open(place, BUDGET), LedgerRefused, "never saw it", "discreet ledger adopt")
        other = adopt(place)
        ask(other)
        assert other.account.spent.epsilon == 0.2
    assert witness.read(place).number == 2  # type: ignore[union-attr]
    ask(ledger)
    assert ledger.account.spent.epsilon == 0.3
    assert witness.read(place).number == 6  # type: ignore[union-attr]


def change(place: Address, *changes: str) -> None:
    """As a superuser can."""
    off = [f"ALTER TABLE {table(place)} DISABLE TRIGGER {name}" for name in ("always_next", "never_changed")]
    run(*off, *(one.format(table(place)) for one in changes), *(one.replace("DISABLE", "ENABLE ALWAYS") for one in off))


def test_what_a_superuser_takes_away_is_missed(place: Address) -> None:
    ledger = Ledger.open(place, BUDGET)
    ask(ledger)
    ask(ledger)
    change(place, "DELETE FROM {} WHERE number > 2")
    for call in (lambda: pay(ledger), lambda: Ledger.open(place, BUDGET), lambda: ledger.history()):
        with pytest.raises(LedgerRefused, match="discreet ledger adopt"):
            call()
    assert adopt(place).account.spent.epsilon == 0.1
    change(place, "UPDATE {} SET text = replace(text, '1/10', '1/99') WHERE number = 1")
    refused(lambda: adopt(place), LedgerRefused, "Record 1", "changed")
    run(f"DROP TABLE {table(place)}")
    with pytest.raises(LedgerRefused, match=r"is missing, but there was one.*discreet ledger forget"):
        Ledger.open(place, BUDGET)
    forget(place)
    assert Ledger.open(place, BUDGET).history() == ()


def test_users_of_a_ledger_share_what_their_machine_remembers(roles: dict[str, Address], place: Address) -> None:
    ask(Ledger.open(roles["spender"], BUDGET))
    assert Ledger.open(place, BUDGET).account.spent.epsilon == 0.1
