"""Curators of tables on a real PostgreSQL server: what they answer, what they refuse, and what nobody gets to see."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from support.old_server import a_server_of
from support.postgres import a_database, server
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app
from discreet.curator import configuration
from discreet.engine.base import NoFile
from discreet.engine.postgres import server as connections
from discreet.engine.postgres.source import address_of, read_address
from discreet.errors import DiscreetError, EngineError, ParameterError

SECRET = "hunter2%40%2Fx"  # a password as an address writes it
PLAIN = "hunter2@/x"
COLUMNS = {"age": dp.integer(0, 120), "drug": dp.category("yes", "no"), "cost": dp.number(0, 100, step=0.5)}
COUNT = "SELECT count(*) AS n FROM data"
BY_DRUG = "SELECT drug, count(*) AS n, avg(cost) AS m, median(age) AS q FROM data GROUP BY drug"
TABLES = (
    "CREATE SCHEMA clinic",
    "CREATE TABLE clinic.visits (id TEXT, age INTEGER, drug TEXT, cost DOUBLE PRECISION)",
    "INSERT INTO clinic.visits SELECT 'p' || i % 40, i % 100, CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END, i % 50 "
    "FROM generate_series(1, 400) AS i",
    "CREATE TABLE clinic.patients (id TEXT, ward INTEGER)",
    "INSERT INTO clinic.patients SELECT 'p' || i, i % 3 FROM generate_series(0, 39) AS i",
    "CREATE TABLE clinic.hidden (id TEXT, age INTEGER, drug TEXT, cost INTEGER)",
    # A table that takes its time, row by row.
    "CREATE VIEW clinic.slow AS SELECT id, age + CASE WHEN pg_sleep(0.15) IS NULL THEN 1 ELSE 0 END AS age FROM clinic.visits",
    "GRANT USAGE ON SCHEMA clinic TO reader",
    "GRANT SELECT ON clinic.visits, clinic.patients, clinic.slow TO reader",
)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    server().run(f"DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD '{PLAIN}'")
    with a_database() as name:
        server().run(*TABLES, database=name)
        yield name
    server().run("DROP ROLE reader")


@pytest.fixture
def url(database: str) -> str:
    return server().url(database, "reader", SECRET, tcp=True)


def curator(address: str, place: Path, **more: Any) -> dp.Curator:
    facts: dict[str, Any] = {"unit": dp.person("id", rows=5, groups=2), "columns": COLUMNS, "budget": dp.Budget(epsilon=50)}
    return dp.Curator(address, ledger=place / "clinic.ledger", **facts | more)


def test_answers_and_free_repeats(url: str, database: str, tmp_path: Path) -> None:
    with curator(f"{url}?table=clinic.visits", tmp_path) as clinic:
        first = clinic.sql(BY_DRUG, epsilon=1)
        assert clinic.sql(BY_DRUG, epsilon=1).repeated
        assert first.to_arrow()["drug"].to_pylist() == ["yes", "no"]
        server().run("CREATE TABLE elsewhere ()", "DROP TABLE elsewhere", database=database)
        assert clinic.sql(BY_DRUG, epsilon=1).repeated  # something was written, and not to this table
        assert clinic.budget.spent.epsilon == 1
        server().run("INSERT INTO clinic.visits VALUES ('p1', 5, 'yes', 1)", database=database)
        assert not clinic.sql(BY_DRUG, epsilon=1).repeated
        server().run("UPDATE clinic.visits SET age = 6 WHERE age = 5 AND cost = 1", database=database)
        assert not clinic.sql(BY_DRUG, epsilon=1).repeated
        server().run("DELETE FROM clinic.visits WHERE age = 6 AND cost = 1", database=database)
        assert clinic.sql(COUNT, epsilon=1).remarks == clinic.sql(COUNT, epsilon=1).remarks
        assert clinic.progress() is None


def test_who_sees_other_rows_of_a_table_asks_about_other_data(url: str, database: str, tmp_path: Path) -> None:
    server().run(
        "CREATE TABLE clinic.mine (id TEXT, age INTEGER)",
        "INSERT INTO clinic.mine SELECT 'p' || i, i % 100 FROM generate_series(1, 400) AS i",
        "ALTER TABLE clinic.mine ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY young ON clinic.mine USING (age < 10)",
        "GRANT SELECT ON clinic.mine TO reader",
        database=database,
    )
    mine = {"columns": {"age": dp.integer(0, 120)}, "people": "patients"}
    with curator(f"{server().url(database)}&table=clinic.mine", tmp_path, **mine) as all_of_them:
        assert all_of_them.sql(COUNT, epsilon=9).value > 350
    with curator(f"{url}?table=clinic.mine", tmp_path, **mine) as some:
        answer = some.sql(COUNT, epsilon=9)
        assert not answer.repeated
        assert answer.value < 90


def test_a_declared_version_says_which_data_it_is(url: str, database: str, tmp_path: Path) -> None:
    with curator(f"{url}?table=clinic.visits", tmp_path, version="1") as clinic:
        clinic.sql(COUNT, epsilon=1)
        server().run("INSERT INTO clinic.visits VALUES ('p1', 5, 'yes', 77)", database=database)
        assert clinic.sql(COUNT, epsilon=1).repeated
    server().run("DELETE FROM clinic.visits WHERE cost = 77", database=database)
    with curator(f"{url}?table=clinic.visits", tmp_path, version="2") as clinic:
        assert not clinic.sql(COUNT, epsilon=1).repeated


def test_several_tables_and_a_public_one(url: str, tmp_path: Path) -> None:
    addresses = {"patients": f"{url}?table=clinic.patients", "visits": f"{url}?table=clinic.visits"}
    wards = pa.table({"ward": [0, 1, 2], "name": ["north", "süd", "x"], "beds": [10.5, 20.0, 30.0]})
    several = {"patients": {"ward": dp.category(0, 1, 2)}, "visits": COLUMNS}
    with dp.Curator(
        addresses,  # type: ignore[arg-type]
        unit=dp.person("id", rows=500, groups=3),
        columns=several,
        budget=dp.Budget(epsilon=10**7),
        ledger=tmp_path / "clinic.ledger",
        public={"wards": wards},
        at_most={"patients": 1, "visits": 500},
    ) as clinic:
        found = clinic.sql(
            "SELECT wards.name AS w, count(*) AS n FROM visits JOIN patients ON visits.id = patients.id "
            "JOIN wards ON patients.ward = wards.ward GROUP BY w",
            epsilon=10**6,
        )
        assert [round(n) for n in found.to_arrow()["n"].to_pylist()] == [140, 130, 130]


def test_patterns_that_mean_something_else_there_are_refused_before_they_are_paid_for(url: str, tmp_path: Path) -> None:
    with curator(f"{url}?table=clinic.visits", tmp_path) as clinic:
        with pytest.raises(ParameterError, match="another match"):
            clinic.sql("SELECT count(*) AS n FROM data WHERE regexp_extract(drug, '(y|ye)s*', 1) = 'y'", epsilon=1)
        assert clinic.budget.spent.epsilon == 0


def test_an_address_is_the_same_however_it_is_spelt_and_never_holds_a_password() -> None:
    spelt = (
        "postgresql://ann:x@Host/db?table=visits",
        "postgres://host:5432/db?table=public.visits",
        "POSTGRESQL://bob@host/d%62?table=visits&sslmode=require",
        "postgresql://host/?dbname=db&table=visits",
        "postgresql:///db?host=host&port=5432&table=visits",
    )
    assert {read_address(one).place for one in spelt} == {"postgresql://host/db/public.visits"}
    others = ("host:5433/db", "host2/db", "host/db2", "host/db?hostaddr=10.0.0.1", "/db?host=/tmp", "/db?service=x")
    places = [read_address(f"postgresql://{one}{'&' if '?' in one else '?'}table=visits").place for one in others]
    assert len({*places, "postgresql://host/db/public.visits"}) == len(others) + 1
    for broken in ("1/secret", "pa/secret", "1?secret", "1#secret", "[secret"):  # signs that a password has to spell out
        for read in (read_address, address_of):
            with pytest.raises(ParameterError) as caught:
                read(f"postgresql://ann:{broken}@host/db?table=visits")
            assert "secret" not in str(caught.value)


BAD = {
    "no such table": ("?table=clinic.nowhere", "There is no table clinic.nowhere"),
    "may not read": ("?table=clinic.hidden", "may not read"),
    "no table": ("", "names its server, database and table"),
    "no option": ("?table=clinic.visits&colour=red", "libpq does not understand"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_opened_is_said_at_once(url: str, tmp_path: Path, case: str) -> None:
    end, words = BAD[case]
    with pytest.raises(ParameterError, match=words) as caught:
        curator(url + end, tmp_path)
    _shows_no_password(caught.value)
    assert not (tmp_path / "clinic.ledger").exists()


def test_columns_credentials_databases_and_ledgers(url: str, database: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no column wage; did you mean age"):
        curator(f"{url}?table=clinic.visits", tmp_path, columns={"wage": dp.integer(0, 9)})
    wrong = server().url(database, "reader", "wr0ng", tcp=True)
    with pytest.raises(ParameterError, match="does not let this user in") as caught:
        curator(f"{wrong}?table=clinic.visits", tmp_path)
    assert "wr0ng" not in str(caught.value)
    with pytest.raises(ParameterError, match="no such database"):
        curator(server().url("nowhere", "reader", SECRET, tcp=True) + "?table=clinic.visits", tmp_path)
    with pytest.raises(ParameterError, match="A table on a server has no folder"):
        dp.Curator(f"{url}?table=clinic.visits", unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=1))
    with pytest.raises(ParameterError, match="named twice"):
        curator(f"{url}?table=clinic.visits", tmp_path, table="visits")
    with pytest.raises(ParameterError, match="special signs of a password") as caught:
        curator(f"postgresql://reader:a/{PLAIN}@h:x/d?table=t", tmp_path)
    _shows_no_password(caught.value)


def test_a_server_that_is_away_is_missed_by_questions_alone(tmp_path: Path) -> None:
    with curator(f"postgresql://reader:{SECRET}@127.0.0.1:1/d?table=clinic.visits", tmp_path) as clinic:
        assert clinic.preview(COUNT, epsilon=1).lines
        with pytest.raises(NoFile, match="no PostgreSQL server to be reached") as caught:
            clinic.sql(COUNT, epsilon=1)
    _shows_no_password(caught.value)
    assert not (tmp_path / "clinic.ledger").exists()


@pytest.mark.usefixtures("url")
def test_servers_that_are_too_old_or_have_other_texts_are_refused(tmp_path: Path) -> None:
    with (
        a_server_of("13.21") as (where, asked),
        pytest.raises(ParameterError, match="This server is PostgreSQL 13, and discreet needs 14 or later") as caught,
    ):
        curator(f"postgresql://reader:{SECRET}@{where}/clinic?table=clinic.visits", tmp_path)
    _shows_no_password(caught.value)
    assert not asked
    server().run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        with pytest.raises(ParameterError, match="LATIN1"):
            curator(server().url("latin", "reader", SECRET, tcp=True) + "?table=pg_catalog.pg_class", tmp_path)
    finally:
        connections.server_of(read_address(server().url("latin", "reader", SECRET, tcp=True) + "?table=x").conninfo).close()
        server().run("DROP DATABASE latin WITH (FORCE)")


def test_a_table_that_is_altered_is_read_as_it_is_now(url: str, database: str, tmp_path: Path) -> None:
    server().run(
        "CREATE TABLE clinic.moving AS SELECT * FROM clinic.visits", "GRANT SELECT ON clinic.moving TO reader", database=database
    )
    columns = {"age": dp.integer(0, 120)}
    with curator(
        f"{url}?table=clinic.moving", tmp_path, columns=columns, unit=dp.rows(), budget=dp.Budget(epsilon=10**7)
    ) as clinic:
        asked = "SELECT sum(age) AS s FROM data"
        before = clinic.sql(asked, epsilon=10**6).value
        server().run("ALTER TABLE clinic.moving ALTER age TYPE TEXT", database=database)
        assert clinic.sql("SELECT sum(age) AS t FROM data", epsilon=10**6).value == before
        server().run("ALTER TABLE clinic.moving DROP age", database=database)
        with pytest.raises(ParameterError, match="no column age"):
            clinic.sql(COUNT, epsilon=1)
        server().run("REVOKE SELECT ON clinic.moving FROM reader", "ALTER TABLE clinic.moving ADD age INTEGER", database=database)
        with pytest.raises(ParameterError, match="may not read"):
            clinic.sql(COUNT, epsilon=1)


def test_nothing_secret_is_written_down(url: str, tmp_path: Path, state_folder: Path) -> None:
    with curator(f"{url}?table=clinic.visits", tmp_path, unit=dp.person("id", rows=5, groups=1)) as clinic:
        clinic.sql("SELECT drug, count(DISTINCT id) AS n FROM data GROUP BY drug", epsilon=1)
        assert "hunter" not in f"{clinic!r} {clinic.history()!r} {vars(clinic)!r} {vars(clinic._desk.tables)!r}"
        held = next(iter(clinic._desk.tables._held.values()))
        assert "hunter" not in f"{held.facts()!r} {held.source()!r} {held.source().layout!r}"
        salt = clinic._desk.ledger().salt
    for file in [*tmp_path.rglob("*"), *state_folder.rglob("*")]:
        assert not file.is_file() or b"hunter" not in file.read_bytes()
    # A server that logs parameters does so in lines of their own; whoever made the role wrote down its password.
    texts = [line for line in server().log.splitlines() if "DETAIL:" not in line and "ROLE reader" not in line]
    assert any("row_number() OVER" in line for line in texts)
    drawn = hashlib.sha256(b"groups of a person" + salt).hexdigest()
    keys = [1 + int.from_bytes(hashlib.sha256(f"{name} {drawn}".encode()).digest()) % (2**31 - 2) for name in "ABC"]
    assert not any(str(one) in line for line in texts for one in (drawn, *keys, "hunter2"))
    assert any(drawn in line or str(keys[0]) in line for line in server().log.splitlines() if "DETAIL:" in line)


def _active(database: str) -> int:
    with psycopg.connect(server().url(), autocommit=True) as watching:
        # Looks into the catalog are over at once.
        asked = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND usename = 'reader' AND state = 'active' "
            "AND clock_timestamp() - query_start > interval '0.3 s'"
        )
        ((found,),) = watching.execute(asked, [database]).fetchall()
    return int(found)


def _when_it_runs(database: str, act: Callable[[], object]) -> threading.Thread:
    """Do something as soon as the server works on a question."""

    def wait() -> None:
        while not _active(database):
            time.sleep(0.02)
        act()

    started = threading.Thread(target=wait)
    started.start()
    return started


def _until(holds: Callable[[], bool], *, seconds: int) -> bool:
    """Whether something comes true; how soon does not matter."""
    for _ in range(20 * seconds):
        if holds():
            return True
        time.sleep(0.05)
    return False


def _slow(url: str, place: Path) -> dp.Curator:
    return curator(f"{url}?table=clinic.slow", place, columns={"age": dp.integer(0, 120)}, version="1")


def _late(*_: object) -> None:
    raise TimeoutError


@pytest.mark.parametrize(("sent", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGUSR1, EngineError)])
def test_what_interrupts_a_question_ends_it_on_the_server_too(
    url: str, database: str, tmp_path: Path, sent: signal.Signals, raised: type[BaseException]
) -> None:
    """Ctrl-C, and whatever else a signal raises."""
    before = signal.signal(signal.SIGUSR1, _late)
    with _slow(url, tmp_path) as clinic:
        waiting = _when_it_runs(database, lambda: os.kill(os.getpid(), sent))
        with pytest.raises(raised):
            clinic.sql("SELECT sum(age) AS s FROM data", epsilon=1)
        waiting.join()
        signal.signal(signal.SIGUSR1, before)
        assert clinic.budget.spent.epsilon == 1
    assert _until(lambda: _active(database) == 0, seconds=5)
    with psycopg.connect(server().url(database), autocommit=True) as watching:
        held = "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE usename = 'reader'"
        assert watching.execute(held).fetchall() == [(0,)]


KILLED = """
import sys
import discreet as dp
clinic = dp.Curator(sys.argv[1], unit=dp.rows(), columns={"age": dp.integer(0, 120)}, budget=dp.Budget(epsilon=1),
    ledger=sys.argv[2], version="1")
clinic.sql("SELECT sum(age) AS s FROM data", epsilon=1)
"""


def test_a_process_that_is_killed_leaves_no_question_behind(url: str, database: str, tmp_path: Path) -> None:
    """The server notices by itself that nobody is there any more; the question by itself would take a minute."""
    arguments = [sys.executable, "-c", KILLED, f"{url}?table=clinic.slow", str(tmp_path / "killed.ledger")]
    with subprocess.Popen(arguments) as asking:
        _when_it_runs(database, asking.kill).join()
        asking.wait()
    assert _until(lambda: _active(database) == 0, seconds=15)


def test_a_connection_that_is_lost_says_what_is_spent(url: str, database: str, tmp_path: Path) -> None:
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'"
    with _slow(url, tmp_path) as clinic:
        waiting = _when_it_runs(database, lambda: server().run(end))
        with pytest.raises(EngineError, match=r"connection to the PostgreSQL server was lost.* stays spent") as caught:
            clinic.sql("SELECT sum(age) AS s FROM data", epsilon=1)
        waiting.join()
        _shows_no_password(caught.value)
        assert clinic.budget.spent.epsilon == 1
    with curator(f"{url}?table=clinic.visits", tmp_path) as clinic:  # one that was lost while nobody asked is opened again
        clinic.sql(COUNT, epsilon=1)
        server().run(end)
        clinic.sql("SELECT sum(age) AS s FROM data", epsilon=1)
        assert clinic.budget.spent.epsilon == 3


def _shows_no_password(error: BaseException | None) -> None:
    while error is not None:
        assert "hunter" not in f"{error!r} {error} {error.args} {vars(error)}"
        error = error.__cause__ or error.__context__


TOML = """
version = 1
engine = "postgres"
source = "{url}?table=clinic.visits"
ledger = "clinic.ledger"
[unit]
person = "id"
rows = 5
groups = 2
[budget]
epsilon = 10
[columns]
age = {{ type = "integer", lower = 0, upper = 120 }}
"""


def test_the_owners_file_and_the_command_line(url: str, tmp_path: Path) -> None:
    file = tmp_path / "clinic.toml"
    file.write_text(TOML.format(url=url))
    run = CliRunner().invoke
    for command in (
        ["preview", str(file), COUNT, "--epsilon", "1"],
        ["query", str(file), COUNT, "--epsilon", "1"],
        ["check", str(file), "--epsilon", "1"],
    ):
        done = run(app, command)
        assert done.exit_code == 0, done.output
        assert "hunter" not in done.output
    made = tmp_path / "made.toml"
    assert run(app, ["init", f"{url}?table=clinic.visits", "-o", str(made)]).exit_code == 0
    text = made.read_text()
    assert re.search(r'source = "postgresql://reader@127.0.0.1:\d+/\w+\?table=clinic.visits"', text)
    assert "hunter" not in text
    assert "# age = " in text
    file.write_text(TOML.format(url=url).replace('"postgres"', '"duckdb"'))
    with pytest.raises(DiscreetError, match="does not read this source, which postgres does"):
        configuration.read(file)
