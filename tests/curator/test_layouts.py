"""A table is read by the layout that it has now: no question, look or check takes an old first line for the new one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator import tables
from discreet.curator.held import Held
from discreet.engine.sql.engine import SqlEngine
from discreet.errors import EngineError, LedgerRefused

COUNT, YOUNG = "SELECT count(*) AS n FROM data", "SELECT count(*) AS n FROM data WHERE age < 200"
PERSON = dp.person("patient", rows=1, groups=1)
COLUMNS = {"age": dp.integer(0, 120)}
FAR = 100  # epsilon: an answer is off by one with probability 2 e^-100
ROWS = 1000


def written(order: str, sign: str = ",") -> str:
    """One person's thousand rows, columns in this order; each visit has a number of its own."""
    names = order.split()
    return (
        sign.join(names)
        + "\n"
        + "".join(sign.join({"patient": "alice", "visit": f"v{i}"}.get(name, "30") for name in names) + "\n" for i in range(ROWS))
    )


RIGHT, WRONG = written("patient visit age"), written("visit patient age")


def curator(source: object, folder: Path, **more: object) -> dp.Curator:
    facts: dict[str, object] = {"unit": PERSON, "columns": COLUMNS, "budget": dp.Budget(epsilon=10_000)}
    return dp.Curator(source, **(facts | {"ledger": folder / "x.ledger"} | more))  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "visits.csv"
    place.write_text(RIGHT)
    return place


def aged(file: Path) -> None:
    """Long unchanged, as far as its times tell; the system's own time of the change stays."""
    os.utime(file, ns=(10**18, 10**18))


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("version", [None, "1"])
@pytest.mark.parametrize("order", ["visit patient age", "age visit patient", "extra patient visit age"])
@pytest.mark.parametrize("before", [False, True], ids=["first", "later"])
def test_persons_are_told_apart_by_the_column_that_has_the_name_now(
    before: bool, order: str, version: str | None, file: Path, tmp_path: Path
) -> None:
    one = curator(file, tmp_path, version=version)
    if before:
        assert round(one.sql(COUNT, epsilon=FAR).value) == 1
    file.write_text(written(order, ";" if order.startswith("extra") else ","))
    assert round(one.sql(YOUNG, epsilon=FAR).value) == 1


@pytest.mark.parametrize("version", [None, "1"])
def test_a_file_whose_times_were_set_back_is_looked_at_anew(
    version: str | None, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = 4 * 10**18  # of the year 2096
    monkeypatch.setattr("discreet.engine.sources.source.time.time_ns", lambda: later)  # nothing is fresh
    aged(file)
    one = curator(file, tmp_path, version=version)
    assert round(one.sql(COUNT, epsilon=FAR).value) == 1
    looked: list[object] = []
    real = Held._open
    monkeypatch.setattr(Held, "_open", lambda self, source: looked.append(source) or real(self, source))
    one.sql(COUNT + " WHERE age > 3", epsilon=FAR)
    assert not looked  # as long as nothing shows that it changed
    file.write_text(WRONG)
    aged(file)
    assert round(one.sql(YOUNG, epsilon=FAR).value) == 1
    assert looked


def watch_opening(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What engines are opened on from now on."""
    opened: list[object] = []
    real = tables.open_engine

    def spy(source: object, *arguments: object, **named: object) -> object:
        opened.append(source)
        return real(source, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "open_engine", spy)
    return opened


@pytest.mark.parametrize("kind", ["frame", "settled file", "file that changes"])
def test_what_a_first_question_is_rehearsed_on_counts_it_too(
    kind: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To open an engine takes longer than a question; where its file is another by then, one is opened on that."""
    monkeypatch.setattr("discreet.engine.sources.source.time.time_ns", lambda: 4 * 10**18)  # nothing is fresh
    one = curator(pd.read_csv(file) if kind == "frame" else file, tmp_path)
    opened = watch_opening(monkeypatch)
    real = SqlEngine.rehearse

    def changing(self: SqlEngine, asked: Any) -> None:
        real(self, asked)
        if kind == "file that changes":
            file.write_text(WRONG)

    monkeypatch.setattr(SqlEngine, "rehearse", changing)
    assert round(one.sql(COUNT, epsilon=FAR).value) == 1
    assert len(opened) == 1 + (kind == "file that changes")


def test_a_check_looks_anew(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = curator(file, tmp_path)
    one.sql(COUNT, epsilon=FAR)
    file.write_text(WRONG)
    opened = watch_opening(monkeypatch)
    one.check(epsilon=FAR)
    assert "patient has 1 different value" in str(one.check())
    assert [source.names for source in opened] == [("visit", "patient", "age")] * 2  # type: ignore[attr-defined]


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object], *, first: bool) -> None:
    real = SqlEngine.count

    def changing(self: SqlEngine, *arguments: object) -> object:
        if first:
            change()
        found = real(self, *arguments)  # type: ignore[arg-type]
        if not first:
            change()
        return found

    monkeypatch.setattr(SqlEngine, "count", changing)


CHANGES: dict[str, Callable[[Path], object]] = {
    "other columns": lambda file: file.write_text(WRONG),
    "other delimiter": lambda file: file.write_text(written("patient visit age", ";")),
    "no columns": lambda file: file.write_text(""),
    "removed": Path.unlink,
    "joined": lambda file: (file.parent / "visits2.csv").write_text(RIGHT),
}


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("version", [None, "1"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_nothing_leaves_when_the_layout_changed_while_it_was_counted(
    first: bool, change: str, version: str | None, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = curator(tmp_path / "visits*.csv", tmp_path, version=version)
    for ask in (lambda: one.sql(COUNT, epsilon=FAR), lambda: one.check(epsilon=FAR)):
        with monkeypatch.context() as patched:
            spoil(patched, lambda: CHANGES[change](file), first=first)
            with pytest.raises(EngineError):
                ask()
        file.write_text(RIGHT)
        (tmp_path / "visits2.csv").unlink(missing_ok=True)
    assert [entry.state for entry in one.history()] == ["reserved"] * 2
    assert one.budget.spent.epsilon == 2 * FAR
    again = one.sql(COUNT, epsilon=FAR)
    assert (again.repeated, round(again.value)) == (False, 1)


def test_what_is_said_then_is_a_sentence_about_public_facts(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, lambda: file.write_text(WRONG), first=True)
    with pytest.raises(EngineError, match="nothing is released, and what was paid stays spent; ask again") as caught:
        curator(file, tmp_path).sql(COUNT, epsilon=FAR)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("version", [None, "1"])
def test_types_of_parquet_may_change_between_questions(version: str | None, tmp_path: Path) -> None:
    file, one = tmp_path / "v.parquet", None
    for number, ages in enumerate((pa.array([1, 2, 3]), pa.array(["1", "2", "3"]), pa.array([1.0, 2.0, 3.0]))):
        pq.write_table(pa.table({"patient": ["a", "b", "b"], "age": ages}), file)
        if one is None:
            one = curator(file, tmp_path, version=version)
        else:
            assert round(one.sql(f"SELECT count(*) AS n FROM data WHERE age < {9 + number}", epsilon=FAR).value) == 2


def test_files_of_a_pattern_join_change_and_go(tmp_path: Path) -> None:
    def month(name: str, persons: int) -> Path:
        place = tmp_path / f"{name}.csv"
        place.write_text("patient,age\n" + "".join(f"{name}{i},30\n" for i in range(persons)))
        return place

    jan = month("jan", 10)
    one = curator(tmp_path / "*.csv", tmp_path)
    found = [one.sql(COUNT, epsilon=FAR)]
    feb = month("feb", 20)
    found.append(one.sql(COUNT, epsilon=FAR))
    month("jan", 11), month("mar", 30)
    found.append(one.sql(COUNT, epsilon=FAR))
    feb.unlink()
    found.append(one.sql(COUNT, epsilon=FAR))
    assert [round(answer.value) for answer in found] == [10, 30, 61, 41]
    assert not any("changed while" in remark for answer in found for remark in answer.remarks)
    assert jan.exists()


def test_a_version_is_one_of_a_table(tmp_path: Path) -> None:
    for name, persons in (("jan", 10), ("feb", 20)):
        (tmp_path / f"{name}.csv").write_text("patient,age\n" + "".join(f"{i},30\n" for i in range(persons)))
    with duckdb.connect(str(tmp_path / "v.duckdb")) as database:
        for name, persons in (("one", 30), ("two", 40)):
            database.execute(f"CREATE TABLE {name} AS SELECT i AS patient, 30 AS age FROM range({persons}) t(i)")
    frames = [pd.DataFrame({"patient": range(n), name: [30] * n}) for n, name in ((50, "age"), (60, "height"))]
    tables = [
        curator(tmp_path / "jan.csv", tmp_path, version="1"),
        curator(tmp_path / "feb.csv", tmp_path, version="1"),
        curator(tmp_path / "v.duckdb", tmp_path, version="1", table="one"),
        curator(tmp_path / "v.duckdb", tmp_path, version="1", table="two"),
        curator(frames[0], tmp_path, version="1"),
        curator(frames[1], tmp_path, version="1", columns={"height": dp.integer(0, 120)}),
    ]
    assert [round(one.sql(COUNT, epsilon=FAR).value) for one in tables] == [10, 20, 30, 40, 50, 60]
    assert all(one.sql(COUNT, epsilon=FAR).repeated for one in tables)


# Whose budget.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three months, which is no temporary one, where less is compared."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "v").mkdir()
    for name in ("jan", "jun", "feb"):
        (tmp_path / "v" / f"{name}.csv").write_text(f"patient,age\n{name},30\n")
    return tmp_path / "v"


@pytest.mark.parametrize("first", [["jan.csv"], ["jan.csv", "jun.csv"], ["*n.csv"]])
def test_a_pattern_makes_no_second_budget_of_a_file_nor_a_file_of_a_pattern(first: list[str], folder: Path) -> None:
    facts = {"unit": dp.rows(), "ledger": None, "budget": dp.Budget(epsilon=1)}
    for name in first:
        curator(folder / name, folder, **facts).sql(COUNT, epsilon=1)
    (folder.parent / "linked.csv").symlink_to(folder / "jan.csv")
    for again in ("j*.csv", "ja[mn].csv", "../v/*.csv", "**/j*.csv", "../l*.csv"):
        with pytest.raises(LedgerRefused, match="the same file"):
            curator(folder / again, folder, **(facts | {"ledger": folder / "second.ledger"}))
    if first == ["*n.csv"]:
        with pytest.raises(LedgerRefused, match="the same file"):
            curator(folder / "jun.csv", folder, **facts)
    curator(folder / "f*.csv", folder, **(facts | {"ledger": folder / "others.ledger"})).sql(COUNT, epsilon=1)


def test_after_a_look_under_another_unit_the_files_of_a_folder_share_a_budget(folder: Path) -> None:
    facts = {"ledger": None, "budget": dp.Budget(epsilon=1)}
    curator(folder / "jan.csv", folder, unit=dp.rows(), **facts).check()
    answer = curator(folder / "jan.csv", folder, **facts).sql(COUNT, epsilon=0.25)
    assert any("after the owner looked" in remark for remark in answer.remarks)
    for spent, name in enumerate(("feb.csv", "jun.csv", "*.csv"), 1):
        one = curator(folder / name, folder, **facts)
        assert one.budget.spent.epsilon == spent / 4
        answer = one.sql(COUNT, epsilon=0.25)
        assert not any("after the owner looked" in remark for remark in answer.remarks)  # at another table
    assert [place.name for place in folder.glob("*.ledger")] == ["jan.ledger"]
