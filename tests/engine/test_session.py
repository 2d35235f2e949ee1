"""The session: nothing but the declared files can be reached, nothing of the data is said, and whole numbers are exact."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engine.duckdb.session import DuckDBSession, Spill, _parsed, _shape
from discreet.engine.sources.public import open_public
from discreet.engine.sources.source import open_source
from discreet.errors import EngineError

SECRET = "Zorblax-4711"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"x": list(range(1000)), "word": [SECRET] * 1000}), tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


@pytest.fixture
def session(file: Path) -> Iterator[DuckDBSession]:
    with DuckDBSession(open_source(file), {"regions": open_public(pa.table({"r": ["a", "b"]}))}) as opened:
        yield opened


def test_parameters_are_bound_by_name(session: DuckDBSession) -> None:
    assert session.fetch(f"SELECT count(*) AS n FROM {DuckDBSession.relation} WHERE x < $top", {"top": 20}) == {"n": [20]}


def test_what_differs_by_numbers_alone_is_rehearsed_once(session: DuckDBSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is bound may matter where there are no rows: texts may be patterns, and numbers beyond 2^53 are rounded. What
    is asked of rows is always asked."""
    lent, asked = DuckDBSession._lent, []

    def count(self: DuckDBSession) -> object:
        asked.append(1)
        return lent(self)

    monkeypatch.setattr(DuckDBSession, "_lent", count)
    for relation, expected in ((DuckDBSession.nothing, [1, 0, 0, 1, 1, 1]), (DuckDBSession.relation, [1] * 6)):
        found = []
        for bound in (1.0, 2.0, -0.5, 2.0**60, "1", True):
            asked.clear()
            session.fetch(f"SELECT count(*) AS n FROM {relation} WHERE CAST(x AS VARCHAR) <> CAST($p0 AS VARCHAR)", {"p0": bound})
            found.append(len(asked))
        assert found == expected, relation


def test_long_lists_are_no_part_of_what_is_remembered() -> None:
    """A million keys would be written out to be compared."""
    sql, long = f"SELECT 1 AS n FROM {DuckDBSession.nothing}", 2**8
    assert _shape(sql, {"p0": ["a"], "p1": 1.0}) == f"{sql}{[('p0', ['a']), ('p1', 'number')]}"
    assert _shape(sql, {"p0": [0.0] * long}) == _shape(sql, {"p0": "a" * long}) == _shape("x" * 2**14, {}) == ""


def test_a_statement_is_read_once_and_bound_anew(session: DuckDBSession) -> None:
    sql = f"SELECT count(*) AS n FROM {DuckDBSession.relation} WHERE x < $top"
    assert [session.fetch(sql, {"top": top})["n"] for top in (20, 5, 20)] == [[20], [5], [20]]
    read = _parsed[sql]
    with pytest.raises(EngineError):
        session.fetch("SELECT nonsense FROM", {})
    assert session.fetch(sql, {"top": 7}) == {"n": [7]}
    with DuckDBSession(open_source(pa.table({"x": [1, 2, 3]}))) as other:
        assert other.fetch(sql, {"top": 3}) == {"n": [2]}
        assert [batch["n"].tolist() for batch in other.stream(sql, {"top": 2})] == [[1]]
    assert session.fetch(sql, {"top": 8}) == {"n": [8]}
    assert _parsed[sql] is read


def test_few_statements_are_kept(session: DuckDBSession, monkeypatch: pytest.MonkeyPatch) -> None:
    most = len(_parsed) + 3
    monkeypatch.setattr("discreet.engine.duckdb.session._MANY", most)
    for number in [*range(9), 0]:
        assert session.fetch(f"SELECT {number} AS n") == {"n": [number]}
    assert len(_parsed) == most


def test_arrays_of_files_load_no_pandas(file: Path) -> None:
    """Which takes longer than most questions do."""
    program = (
        "import sys; from pathlib import Path; from discreet.engine.duckdb.session import DuckDBSession, open_source\n"
        "session = DuckDBSession(open_source(Path(sys.argv[1])))\n"
        "sql = f'SELECT x, x / 2 AS half FROM {DuckDBSession.relation} WHERE x > 996'\n"
        "found = [dict(zip(b, (v.tolist() for v in b.values()))) for b in session.stream(sql)]\n"
        "print(found, 'pandas' in sys.modules); session.close()"
    )
    ran = subprocess.run([sys.executable, "-c", program, str(file)], check=True, capture_output=True, text=True)
    assert ran.stdout == "[{'x': [997, 998, 999], 'half': [498.5, 499.0, 499.5]}] False\n"


def test_public_tables_are_there_by_name(session: DuckDBSession) -> None:
    assert sorted(session.fetch("SELECT r FROM regions")["r"]) == ["a", "b"]


@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb"])
def test_public_tables_come_from_files_too(kind: str, tmp_path: Path, file: Path) -> None:
    place = tmp_path / f"regions.{kind}"
    if kind == "duckdb":
        with duckdb.connect(str(place)) as database:
            database.execute("CREATE TABLE regions AS SELECT 'a' AS r")
    else:
        duckdb.sql("SELECT 'a' AS r").write_csv(str(place)) if kind == "csv" else pq.write_table(pa.table({"r": ["a"]}), place)
    with DuckDBSession(open_source(file), {"regions": open_public(place)}) as session:
        place.unlink()  # a public table was copied, and its file is not asked again
        assert session.fetch("SELECT r FROM regions")["r"] == ["a"]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('{folder}/secret.txt')",
        "SELECT * FROM '{folder}/other.parquet'",
        "SELECT * FROM read_parquet('{folder}/*.parquet')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "COPY (SELECT 1) TO '{folder}/x.parquet'",
        "ATTACH '{folder}/new.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "RESET lock_configuration",
        "SELECT * FROM table_of_the_caller",
        "SELECT getenv('HOME')",
        "EXPORT DATABASE '{folder}/dump'",
    ],
)
def test_the_outside_cannot_be_reached(statement: str, session: DuckDBSession, tmp_path: Path) -> None:
    table_of_the_caller = pa.table({"x": [1]})
    pq.write_table(table_of_the_caller, tmp_path / "other.parquet")
    (tmp_path / "secret.txt").write_text("secret")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(EngineError):
        session.fetch(statement.format(folder=tmp_path))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("expression", ["CAST(word AS INTEGER)", "error(word)", "CAST(word AS DATE)", "x::TINYINT"])
def test_no_failure_says_anything_of_the_data(expression: str, session: DuckDBSession) -> None:
    with pytest.raises(EngineError) as caught:
        session.fetch(f"SELECT max({expression}) FROM {DuckDBSession.relation}")
    said = "".join(traceback.format_exception(caught.value))
    assert SECRET not in said.replace("SECRET", "")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_defect_of_ours_is_called_one(session: DuckDBSession) -> None:
    with pytest.raises(EngineError, match="defect of discreet"):
        session.fetch("SELECT nothing FROM nowhere")


def test_a_file_that_vanished_is_said(session: DuckDBSession, file: Path) -> None:
    file.unlink()
    with pytest.raises(EngineError, match="vanished"):
        session.fetch(f"SELECT sum(x) FROM {DuckDBSession.relation}")


def test_a_file_cut_short_is_an_engine_error(session: DuckDBSession, file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(EngineError):
        session.fetch(f"SELECT sum(x) FROM {DuckDBSession.relation}")


def test_too_little_memory_is_said(file: Path) -> None:
    with DuckDBSession(open_source(file), memory="20MB", threads=1) as session, pytest.raises(EngineError, match="memory"):
        session.fetch("SELECT count(DISTINCT s) FROM (SELECT repeat(i::VARCHAR, 100000) AS s FROM range(10000) AS t(i))")


def test_a_table_larger_than_memory_streams(tmp_path: Path) -> None:
    place = tmp_path / "large.parquet"
    duckdb.sql("SELECT i, hash(i) AS h, md5(i::VARCHAR) AS m FROM range(1500000) AS t(i)").write_parquet(str(place))
    assert place.stat().st_size > 2 * 20 * 2**20
    with DuckDBSession(open_source(place), memory="20MB", threads=1) as session:
        answer = session.fetch(f"SELECT sum(i) AS s, max(m) AS m FROM {DuckDBSession.relation}")
        assert answer["s"] == [1500000 * 1499999 // 2]


def test_wide_integers_arrive_to_the_last_bit(session: DuckDBSession) -> None:
    numbers = [2**127 - 1, -(2**127) + 1, 0, -1, 2**64, -(2**64), 2**63, 10**38]
    rows = ", ".join(f"({i}, '{n}'::HUGEINT)" for i, n in enumerate(numbers))
    wanted = f"SELECT n FROM (VALUES {rows}) AS t(i, n) ORDER BY i"
    assert session.fetch(wanted) == {"n": numbers}
    assert [n for batch in session.stream(wanted) for n in batch["n"]] == numbers
    assert [batch["n"].tolist() for batch in session.stream("SELECT 5 AS n")] == [[5]]


@pytest.mark.parametrize("frame", [False, True])
def test_threads_share_a_session(frame: bool, file: Path) -> None:
    with DuckDBSession(open_source(pq.read_table(file) if frame else file)) as session, ThreadPoolExecutor(8) as pool:

        def ask(top: int) -> int:
            return int(session.fetch(f"SELECT count(*) AS n FROM {DuckDBSession.relation} WHERE x < $top", {"top": top})["n"][0])

        assert list(pool.map(ask, range(1, 201))) == list(range(1, 201))


def test_progress_is_known_while_a_question_runs(session: DuckDBSession) -> None:
    assert session.progress() is None
    seen: list[float | None] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            seen.append(session.progress())

    watcher = threading.Thread(target=watch)
    watcher.start()
    session.fetch("SELECT count(DISTINCT md5(i::VARCHAR)) FROM range(2000000) AS t(i)")
    done.set()
    watcher.join()
    assert seen
    assert all(share is None or 0 <= share <= 1 for share in seen)
    assert any(share is not None for share in seen)


def test_the_spill_folder_is_private_and_removed(file: Path) -> None:
    for ending in ("close", "forget"):
        session = DuckDBSession(open_source(file))
        folder = session.fetch("SELECT current_setting('temp_directory') AS f")["f"][0]
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        session.close() if ending == "close" else None
        del session
        gc.collect()
        assert not os.path.exists(folder)


@pytest.mark.skipif(os.name != "posix", reason="no locks that die with their process")
def test_a_killed_process_leaves_no_spill_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes open a folder each and one is killed: the next to come removes that one's, and nothing else."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import sys; from discreet.engine.duckdb.session import Spill; s = Spill(); print(s.path, flush=True); sys.stdin.read()"
    )
    opened = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        for _ in range(2)
    ]
    killed, living = [process.stdout.readline().strip() for process in opened if process.stdout]
    (Path(killed) / "duckdb_temp_storage.tmp").write_text("rows")
    stranger = tmp_path / "discreet-notes"
    stranger.mkdir(mode=0o700)
    opened[0].kill()
    opened[0].communicate()
    mine = Spill()
    assert {path.name for path in tmp_path.iterdir()} == {Path(living).name, Path(mine.path).name, "discreet-notes"}
    mine.remove()
    opened[1].communicate("")
    assert {path.name for path in tmp_path.iterdir()} == {"discreet-notes"}


def test_a_closed_session_answers_nothing(file: Path) -> None:
    session = DuckDBSession(open_source(file))
    session.close()
    session.close()
    with pytest.raises(EngineError):
        session.fetch("SELECT 1")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_is_refused(session: DuckDBSession) -> None:
    folder = session.fetch("SELECT current_setting('temp_directory') AS f")["f"][0]
    child = os.fork()
    if child == 0:
        try:
            session.fetch("SELECT 1")
        except EngineError as error:
            session.close()
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert os.path.exists(folder)  # the child closed nothing that is ours
    assert session.fetch("SELECT 1 AS n")["n"] == [1]


def test_two_sessions_read_one_database(tmp_path: Path) -> None:
    place = tmp_path / "x.duckdb"
    with duckdb.connect(str(place)) as database:
        database.execute("CREATE TABLE t AS SELECT 7 AS x")
    source = open_source(place)
    with DuckDBSession(source) as one, DuckDBSession(source) as other:
        for session in (one, other):
            assert session.fetch(f"SELECT x FROM {DuckDBSession.relation}")["x"] == [7]
            with pytest.raises(EngineError):
                session.fetch('DELETE FROM "discreet raw file".t')


@pytest.mark.skipif(sys.platform == "win32", reason="signals of the terminal are POSIX")
@pytest.mark.parametrize("verb", ["fetch", "stream"])
def test_whoever_presses_ctrl_c_stops_everything(verb: str, session: DuckDBSession) -> None:
    """A refusal could be caught by a loop that goes on with the next question."""
    endless = "SELECT sum(a.range * b.range)::DOUBLE AS s FROM range(10000000) a, range(100000) b"
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(getattr(session, verb)(endless, {}))
    timer.join()
    assert session.fetch("SELECT 1 AS one") == {"one": [1]}


def test_a_cursor_that_was_interrupted_is_not_lent_again(session: DuckDBSession) -> None:
    """It may still be at work: the next question would fail after it was paid for."""
    for ending, kept in ((ValueError, True), (KeyboardInterrupt, False)):
        with pytest.raises(ending), session._lent() as cursor:
            raise ending
        assert (cursor in session._idle) is kept
        assert session._busy == []
    assert session.fetch("SELECT 1 AS one") == {"one": [1]}
