"""A curator whose ledger is on a server: questions and previews, the same people elsewhere, moving there and back, passwords."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import traceback
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from support.postgres import server
from support.wire import Wire

import discreet as dp
from discreet.errors import LedgerRefused
from discreet.ledger import Ledger, adopt, connections, create, forget, move, witness
from discreet.ledger.place import Address, resolve

COUNT = "SELECT count(*) AS n FROM data"
FACTS = {"unit": dp.person("id", rows=1, groups=1), "columns": {"age": dp.integer(0, 120)}, "budget": dp.Budget(epsilon=1)}
_numbers = count()


def url(**where: object) -> str:
    given = server().url(**where)  # type: ignore[arg-type]
    return f"{given}{'&' if '?' in given else '?'}ledger=c{os.getpid()}_{next(_numbers)}"


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    file.write_text("id,age\n" + "".join(f"p{i},{i % 90}\n" for i in range(50)))
    return file


def curator(source: Path, ledger: object, **more: object) -> dp.Curator:
    return dp.Curator(source, **(FACTS | {"ledger": ledger} | more))  # type: ignore[arg-type]


def test_two_curators_spend_one_budget(visits: Path) -> None:
    ledger = url()
    first = curator(visits, ledger, people="patients of the clinic")
    assert (first.budget.spent.epsilon, first.people) == (0, "patients of the clinic")  # nothing is made for that
    with pytest.raises(LedgerRefused, match="There is no ledger"):
        adopt(ledger)
    answer = first.sql(COUNT, epsilon=0.5)
    second = curator(visits, ledger)
    assert second.sql(COUNT, epsilon=0.5).value == answer.value  # free
    assert "Asked before: free" in str(second.preview(COUNT, epsilon=0.5))
    second.sql("SELECT sum(age) AS s FROM data", epsilon=0.5)
    assert (first.budget.remaining.epsilon, second.people, len(first.history())) == (0, "patients of the clinic", 2)
    with pytest.raises(dp.errors.BudgetExceeded):
        first.sql("SELECT avg(age) AS a FROM data", epsilon=0.1)
    with pytest.raises(LedgerRefused, match="is the budget of patients of the clinic"):
        curator(visits, ledger, people="staff")
    assert isinstance(first.ledger, Address)
    assert (str(first.ledger), first.ledger.name) == (str(resolve(ledger)), ledger.rpartition("=")[2])


def test_whoever_may_only_read_sees_budget_and_previews(visits: Path) -> None:
    ledger = url()
    place = resolve(ledger)
    curator(visits, ledger).sql(COUNT, epsilon=0.25)
    role = f"reader_{place.name}"
    server().run(
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA discreet TO {role}",
        f"GRANT SELECT ON discreet.{place.name} TO {role}",
    )
    reader = curator(visits, server().url(user=role) + f"&ledger={place.name}")
    assert reader.budget.spent.epsilon == 0.25
    assert len(reader.history()) == 1
    assert "Asked before: free" in str(reader.preview(COUNT, epsilon=0.25))
    with pytest.raises(LedgerRefused, match="may not be written by this role"):
        reader.sql(COUNT, epsilon=0.5)
    connections.close_all()
    server().run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.fixture
def wire() -> Iterator[Wire]:
    with tempfile.TemporaryDirectory() as folder:
        found = Wire(server(), Path(folder))
        yield found
        found.close()


def test_a_connection_lost_after_the_payment_says_so(visits: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    one = curator(visits, f"{wire.url()}&ledger=c{os.getpid()}_{next(_numbers)}")
    one.sql(COUNT, epsilon=0.25)
    commit = Ledger.commit

    def cut(self: Ledger, number: int, answer: str) -> object:
        wire.cut("COMMIT\0", heard=False)
        return commit(self, number, answer)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "commit", cut)
        with pytest.raises(
            LedgerRefused, match="was lost before this was written; nothing was answered, and what was reserved before"
        ):
            one.sql("SELECT sum(age) AS s FROM data", epsilon=0.25)
    assert (one.budget.spent.epsilon, [entry.state for entry in one.history()]) == (0.5, ["answered", "reserved"])
    wire.cut("COPY", heard=False)
    with pytest.raises(LedgerRefused, match="was lost"):  # before anything is paid
        one.sql("SELECT avg(age) AS a FROM data", epsilon=0.25)
    assert one.budget.spent.epsilon == 0.5


# The same people.


def test_a_second_ledger_for_the_same_people_is_refused_wherever_it_is(visits: Path, tmp_path: Path) -> None:
    there, here, other = url(), tmp_path / "here.ledger", url()
    curator(visits, there).sql(COUNT, epsilon=0.25)
    for second in (here, other):
        with pytest.raises(LedgerRefused, match=r"would be a second budget .*the same file") as refusal:
            curator(visits, second)
        assert f'write ledger="{resolve(there)}"' in str(refusal.value)
        assert f'discreet ledger people "{resolve(there)}" "..."' in str(refusal.value)
        assert not here.exists()
    Ledger.open(there).name("patients")
    curator(visits, other, people="staff").sql(COUNT, epsilon=0.25)
    with pytest.raises(LedgerRefused, match="it is the budget of staff"):
        curator(visits, here, people="Staff")


def test_a_file_that_was_only_looked_into_gives_way_to_a_server(visits: Path) -> None:
    """And not the other way round: from a server somebody elsewhere may be about to pay."""
    looked, there = dp.Curator(visits, **FACTS), url()  # type: ignore[arg-type]
    looked.check()
    one = curator(visits, there)
    one.sql(COUNT, epsilon=0.25)
    assert [entry.state for entry in one.history()] == ["looked", "answered"]
    with pytest.raises(LedgerRefused, match="Nothing was ever paid from") as refusal:
        looked.sql(COUNT, epsilon=0.25)
    assert f'write ledger="{resolve(there)}"' in str(refusal.value)
    other, file = visits.with_name("other.csv"), visits.with_name("other.ledger")
    other.write_text("member,age\nm1,3\n")
    member = dp.person("member", rows=1, groups=1)
    curator(other, url(), unit=member).check()
    with pytest.raises(LedgerRefused, match="would be a second budget"):
        curator(other, file, unit=member)


def test_nobody_waits_for_the_servers_of_other_ledgers(visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curator(visits, url()).sql(COUNT, epsilon=0.25)
    connections.close_all()
    monkeypatch.setattr(connections, "dial", lambda _: pytest.fail("a server was asked"))
    monkeypatch.setattr("discreet.ledger.postgres.dial", lambda _: pytest.fail("a server was asked"))
    (tmp_path / "others").mkdir()
    table = tmp_path / "others" / "club.csv"
    table.write_text("member,age\nm1,3\n")
    one = curator(table, tmp_path / "club.ledger", unit=dp.person("member", rows=1, groups=1))
    one.sql(COUNT, epsilon=0.25)
    adopt(one.ledger)
    with pytest.raises(LedgerRefused, match="second budget"):  # nor to see that it would be a second one
        curator(visits, tmp_path / "visits.ledger")


# Moving.


def test_a_ledger_moves_to_a_server_and_back(visits: Path, tmp_path: Path) -> None:
    file, there, back = tmp_path / "file.ledger", url(), tmp_path / "back.ledger"
    answer = curator(visits, file).sql(COUNT, epsilon=0.25)
    for source, target in ((file, there), (there, back)):
        held = Ledger.open(source)
        moved = move(source, target)
        assert (moved.account.spent.epsilon, moved.id, moved.salt) == (0.25, held.id, held.salt)
        one = curator(visits, target)
        assert one.sql(COUNT, epsilon=0.25).value == answer.value  # still free
        for late in (
            lambda source=source: curator(visits, source),
            lambda held=held: held.account,
            lambda source=source: adopt(source),
        ):
            with pytest.raises(LedgerRefused, match="was moved, and nothing is paid here; write ledger="):
                late()
        with pytest.raises(LedgerRefused, match="was moved"):
            held.note_look({})
        move(source, target)  # again: it is there
    with pytest.raises(LedgerRefused, match="There is another ledger at"):
        move(back, file)
    with pytest.raises(LedgerRefused, match=r"is at .* already"):
        move(back, back)
    with pytest.raises(LedgerRefused, match="There is no ledger"):
        move(tmp_path / "nowhere.ledger", url())
    one.sql("SELECT sum(age) AS s FROM data", epsilon=0.5)
    assert curator(visits, back).budget.spent.epsilon == 0.75


def test_a_colleague_follows_a_ledger_that_moved(visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, there = visits.with_suffix(".ledger"), url()
    answer = curator(visits, file).sql(COUNT, epsilon=0.25)
    for machine in ("second", "third"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / machine))
        if machine == "second":
            adopt(file)
            curator(visits, file).sql(COUNT, epsilon=0.25)
            with monkeypatch.context() as first:
                first.setenv("XDG_STATE_HOME", str(tmp_path / "first"))
                adopt(file)
                move(file, there)
        with pytest.raises(LedgerRefused, match="was moved"):
            curator(visits, file).sql("SELECT sum(age) AS s FROM data", epsilon=0.25)
        adopt(there)
        assert curator(visits, there).sql(COUNT, epsilon=0.25).value == answer.value
        assert curator(visits, there).budget.spent.epsilon == 0.25


@pytest.mark.parametrize("step", ["before the end", "after the end", "after the copy"])
def test_a_move_that_was_interrupted_is_finished(
    visits: Path, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, there = tmp_path / "file.ledger", url()
    curator(visits, file).sql(COUNT, epsilon=0.25)
    owner, name = {
        "before the end": ("discreet.ledger.custody", "_end"),
        "after the end": ("discreet.ledger.postgres", "insert"),
        "after the copy": ("discreet.ledger.custody", "adopt"),
    }[step]
    with monkeypatch.context() as patched:
        patched.setattr(f"{owner}.{name}", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            move(file, there)
    if step == "before the end":
        assert curator(visits, file).budget.spent.epsilon == 0.25
    else:
        with pytest.raises(LedgerRefused, match="was moved"):  # in between nobody pays anywhere
            curator(visits, file)
        with pytest.raises(LedgerRefused):
            curator(visits, there).sql("SELECT sum(age) AS s FROM data", epsilon=0.5)
    if step == "after the end":
        with pytest.raises(LedgerRefused, match="was moved"):
            move(file, url())  # to the same place only
    assert move(file, there).account.spent.epsilon == 0.25
    assert curator(visits, there).budget.spent.epsilon == 0.25


# Passwords.

PASSWORD = "hush/hush?#%+@:é"
WRITTEN = "hush%2Fhush%3F%23%25%2B%40%3A%C3%A9"


def test_a_password_is_nowhere(visits: Path, state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    role = f"ann_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server().url(), autocommit=True) as connection:
        hashed = connection.pgconn.encrypt_password(PASSWORD.encode(), role.encode(), b"scram-sha-256").decode()
    server().run(f"CREATE ROLE {role} LOGIN PASSWORD '{hashed}'")
    name = f"c{os.getpid()}_{next(_numbers)}"
    place = resolve(server().url() + f"&ledger=ours.{name}")
    create(place)
    server().run(f"GRANT USAGE ON SCHEMA ours TO {role}", f"GRANT SELECT, INSERT ON ours.{name} TO {role}")
    ledger = server().url(user=role, password=WRITTEN, tcp=True) + f"?ledger=ours.{name}"
    one = curator(visits, ledger, people="patients")
    answer = one.sql(COUNT, epsilon=0.25)
    texts = [repr(one), str(one.ledger), repr(one.ledger), str(one.history()), repr(answer), str(answer), server().log]
    texts += [str(one.preview(COUNT, epsilon=0.5)), repr(connections._resting), repr(Ledger.open(ledger).__dict__)]
    with pytest.raises(LedgerRefused) as missing:
        forget(ledger)
    texts.append(str(missing.value))
    kept = [file for file in state_folder.rglob("*") if file.is_file()]
    assert len(kept) >= 2
    texts += [file.read_bytes().decode(errors="replace") for file in kept]
    with psycopg.connect(server().url()) as connection:
        texts += [str(row) for row in connection.execute(f"SELECT text FROM ours.{name}".encode()).fetchall()]
    register = sqlite3.connect(state_folder / "discreet" / "people.sqlite")
    texts += [str(row) for row in register.execute("SELECT * FROM tables").fetchall()]
    register.close()
    for text in texts:
        assert "hush" not in text
    assert witness.read(resolve(ledger)) is not None
    bare = server().url(user=role, tcp=True) + f"?ledger=ours.{name}"
    with pytest.raises(LedgerRefused, match="no password supplied"):
        Ledger.open(bare)
    with monkeypatch.context() as patched:
        patched.setenv("PGPASSWORD", PASSWORD)
        assert Ledger.open(bare).account.spent.epsilon == 0.25
        connections.close_all()
    with monkeypatch.context() as patched:
        (tmp_path / "pgpass").write_text("*:*:*:*:" + PASSWORD.replace(":", r"\:"))
        (tmp_path / "pgpass").chmod(0o600)
        patched.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
        assert Ledger.open(bare).account.spent.epsilon == 0.25
    connections.close_all()
    server().run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_wrong_password_is_in_no_traceback() -> None:
    """Not even among the variables of a frame of ours below the call that was given it."""
    with pytest.raises(LedgerRefused, match="password authentication failed") as refusal:
        Ledger.open(resolve(server().url(user="nobody_at_all", password="hushhush", tcp=True)), dp.Budget(epsilon=1))
    problem = refusal.value
    assert (problem.__cause__, problem.__context__) == (None, None)
    shown = "".join(traceback.TracebackException.from_exception(problem, capture_locals=True).format())
    assert "discreet/ledger/connections.py" in shown
    assert "hushhush" not in shown.replace('password="hushhush"', "")  # but for the line of this test
