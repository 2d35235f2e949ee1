"""Asked again: free, as long as the data are the same, whatever happened to their name, time and container."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dp
from discreet.engine.sources import contents
from discreet.engine.sql.engine import SqlEngine
from discreet.errors import DiscreetError, ParameterError

COUNT, MEAN = "SELECT count(*) AS n FROM data", "SELECT avg(age) AS a FROM data"
COLUMNS = {"age": dp.integer(0, 120)}
TABLE = "id,age\n" + "".join(f"p{i},{i % 90}\n" for i in range(300))


def curator(source: object, folder: Path, **more: object) -> dp.Curator:
    facts: dict[str, object] = {"unit": dp.person("id", rows=1, groups=1), "columns": COLUMNS, "budget": dp.Budget(epsilon=1000)}
    return dp.Curator(source, **(facts | {"ledger": folder / "x.ledger"} | more))  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "visits.csv"
    place.write_text(TABLE)
    return place


def before(one: dp.Curator, text: str = COUNT, epsilon: float = 1) -> str:
    """What a preview says about it."""
    said = [remark for remark in one.preview(text, epsilon=epsilon).remarks if remark.startswith("Asked before")]
    assert len(said) <= 1
    return said[0] if said else ""


def test_other_names_and_another_order_are_the_same_question(tmp_path: Path) -> None:
    """Listed keys and open ones; the rows are those of the new order, with the old numbers."""
    wards = pa.table(
        {"ward": [f"w{i % 3}" for i in range(900)], "sex": ["fm"[i % 7 < 3] for i in range(900)], "age": list(range(900))}
    )
    columns = {"ward": dp.text(), "sex": dp.category("f", "m"), "age": dp.integer(0, 120)}
    facts = {"unit": dp.rows(), "columns": columns, "budget": dp.Budget(epsilon=100, delta=1e-3)}
    for keys, swapped in ((("sex", "age // 60"), "age // 60"), (("sex", "ward"), "ward")):
        one = curator(wards, tmp_path, **facts, ledger=tmp_path / f"{swapped[0]}.ledger")
        first = one.sql(f"SELECT {keys[0]} AS a, {keys[1]} AS b, count(*) AS n, avg(age) AS m FROM data GROUP BY 1, 2", epsilon=9)
        other = f"SELECT {keys[1]} AS x, {keys[0]} AS y, avg(age) AS mean, count(*) AS k, count(*) AS l FROM data GROUP BY 1, 2"
        assert "free" in before(one, other, 9)
        again = one.sql(other, epsilon=9)
        assert again.repeated
        assert len(again.rows()) > 2
        assert list(again.keys) == ["x", "y"]
        assert [(row["x"], row["y"]) for row in again.rows()] == sorted((row["b"], row["a"]) for row in first.rows())
        old = {(row["b"], row["a"]): (row["m"], row["m_lower"], row["n"], row["n"]) for row in first.rows()}
        assert old == {(row["x"], row["y"]): (row["mean"], row["mean_lower"], row["k"], row["l"]) for row in again.rows()}
        twice = first["n"] + again["k"]  # the same noise, which does not average out
        assert twice.upper[0] - twice[0] > 1.9 * (first["n"].upper[0] - first["n"][0])
        assert len(one.history()) == 1


KEYS = ("sex", "ward", "age // 60", "bin(age, 0, 30, 121)", "old")
OUTPUTS = ("count(*)", "sum(age)", "avg(age)", "sum(120 - age)", "count(*) / 2", "sum(age) / count(*)", "count(sex)")


@pytest.mark.parametrize("seed", range(6))
def test_whatever_columns_are_called_and_wherever_they_stand_each_cell_is_the_one_that_was_paid_for(
    seed: int, tmp_path: Path
) -> None:
    """Names are few, and those of columns too, so that questions swap them; what comes after noise differs as well."""
    draw = random.Random(seed)
    wards = pa.table(
        {
            "ward": [f"w{i % 3}" for i in range(900)],
            "sex": ["fm"[i % 7 < 3] for i in range(900)],
            "age": [i % 97 for i in range(900)],
            "old": [i % 4 == 0 for i in range(900)],
        }
    )
    columns = {"ward": dp.text(), "sex": dp.category("f", "m"), "age": dp.integer(0, 120), "old": dp.boolean()}
    one = curator(wards, tmp_path, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=1000, delta=1e-3))
    keys, outputs = draw.sample(KEYS, draw.randint(0, 3)), draw.sample(OUTPUTS, draw.randint(1, 4))

    def asked(*, repeated: bool) -> dict[tuple[object, ...], dict[str, object]]:
        here, more = (
            draw.sample(keys, len(keys)),
            draw.sample(outputs, len(outputs)) + draw.choices(outputs, k=draw.choice([0, 0, 1])),
        )
        names = ["sex", "ward", "a", "age", "b", "c", "old", "d", "e"][: len(here) + len(more)]  # the same ones for other columns
        draw.choice([draw.shuffle, len])(names)
        items = [f"{of} AS {name}" for of, name in zip(here + more, names, strict=True)]
        places = ", ".join(str(i + 1) for i in range(len(here)))
        text = f"SELECT {', '.join(items)} FROM data" + (f" GROUP BY {places} ORDER BY {names[-1]} DESC" if keys else "")
        answer = one.sql(text, epsilon=9)
        assert answer.repeated == repeated
        assert [*answer.keys, *answer.outputs] == names
        called = dict(zip(here, names, strict=False))
        rows = answer.rows()
        last = [row[names[-1]] for row in rows if row[names[-1]] is not None]
        assert not keys or last == sorted(last, reverse=True)
        return {
            tuple(row[called[key]] for key in keys): {
                of: (row[name], row[f"{name}_lower"], row[f"{name}_upper"])
                for of, name in zip(more, names[len(here) :], strict=True)
            }
            for row in rows
        }

    first = asked(repeated=False)
    assert all(asked(repeated=True) == first for _ in range(5))
    assert len(one.history()) == 1


def test_two_keys_of_the_same_column_with_lists_of_their_own_keep_them(tmp_path: Path) -> None:
    one = curator(pa.table({"age": [i % 5 for i in range(500)]}), tmp_path, unit=dp.rows())
    lists = {"a": [1, 2], "b": [1, 2, 3]}
    first = one.group_by(keys=lists, a="age", b="age").agg(n=dp.count()).release(epsilon=9)
    swapped = one.group_by(keys={"b": lists["a"], "a": lists["b"]}, b="age", a="age").agg(n=dp.count()).release(epsilon=9)
    assert swapped.repeated
    assert list(swapped["b"]) == list(first["a"])
    assert list(swapped["a"]) == list(first["b"])
    assert list(swapped["n"]) == list(first["n"])


def test_a_file_that_is_touched_copied_moved_or_linked_is_the_same_data(file: Path, tmp_path: Path) -> None:
    first = curator(file, tmp_path).sql(COUNT, epsilon=1)
    (tmp_path / "else").mkdir()

    def touched() -> Path:
        os.utime(file, ns=(file.stat().st_mtime_ns + 10**9,) * 2)
        return file

    ways: list[Callable[[], object]] = [
        touched,
        lambda: file.chmod(0o600) or file,
        lambda: shutil.copy(file, tmp_path / "copy.csv"),
        lambda: (tmp_path / "link.csv").symlink_to(file) or tmp_path / "link.csv",
        lambda: tmp_path / "cop*.csv",
        lambda: file.write_text(TABLE) and file,  # written again
        lambda: file.rename(tmp_path / "else" / "moved.csv"),
    ]
    for way in ways:
        again = curator(way(), tmp_path)
        answer = again.sql(COUNT, epsilon=1)
        assert answer.repeated
        assert answer.rows() == first.rows()
    assert again.budget.spent.epsilon == 1
    assert len(again.history()) == 1


def test_a_frame_is_the_same_data_whoever_holds_it(file: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(file)
    first = curator(frame, tmp_path).sql(COUNT, epsilon=1)
    for other in (
        frame.copy(),
        pa.Table.from_pandas(frame),
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        frame[["age", "id"]],
    ):
        assert curator(other, tmp_path).sql(COUNT, epsilon=1).rows() == first.rows()
    assert not curator(frame.assign(age=frame.age + 1), tmp_path).sql(COUNT, epsilon=1).repeated


def test_previews_say_what_is_free_and_look_at_no_table(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = curator(file, tmp_path)
    assert before(one) == ""
    one.sql(COUNT, epsilon=1)
    monkeypatch.setattr(contents, "of_files", None)  # whoever reads it fails
    monkeypatch.setattr("discreet.engine.sources.source.of_files", None)
    file.unlink()
    free = "Asked before: free, unless the table changed since it was last opened."
    for curious in (one, curator(file, tmp_path)):
        assert (before(curious), before(curious, epsilon=0.5), before(curious, MEAN)) == (free, free, "")
        assert before(curious, epsilon=2) == "Asked before, for less: it would be paid for again."
        assert before(curious, COUNT + " WHERE age > 3") == ""
        asked = curious.agg(n=dp.count())
        assert free in asked.preview(epsilon=1).remarks
    assert one.budget.spent.epsilon == 1


def test_previews_say_when_the_table_changed(file: Path, tmp_path: Path) -> None:
    one = curator(file, tmp_path)
    one.sql(COUNT, epsilon=1)
    file.write_text(TABLE + "new,5\n")
    assert before(one).startswith("Asked before: free, unless")  # nobody has opened it since
    one.sql(MEAN, epsilon=1)
    for curious in (one, curator(file, tmp_path)):
        assert before(curious) == "Asked before, but the table changed since: it would be paid for again."
        assert before(curious, MEAN).startswith("Asked before: free")
    assert not one.sql(COUNT, epsilon=1).repeated
    file.write_text(TABLE)  # as it was
    assert one.sql(COUNT, epsilon=1).repeated
    assert before(one, MEAN) == "Asked before, but the table changed since: it would be paid for again."
    assert before(one).startswith("Asked before: free")
    moved = file.rename(tmp_path / "moved.csv")
    assert before(curator(moved, tmp_path)) == "Asked before: free if this table holds the same as that one did."


def test_frames_have_no_name_by_which_they_could_be_mixed_up(tmp_path: Path) -> None:
    jan, feb = (pd.DataFrame({"id": ["a", "b"], "age": ages}) for ages in ([1, 2], [3, 4]))
    first, second = curator(jan, tmp_path), curator(feb, tmp_path)
    first.sql(COUNT, epsilon=1)
    assert before(second) == "Asked before: free if this table holds the same as that one did."
    second.sql(MEAN, epsilon=1)
    assert before(first) == "Asked before: free."
    assert before(second) == "Asked before, but the table changed since: it would be paid for again."
    assert before(curator(jan, tmp_path)) == "Asked before: free if this table holds the same as that one did."
    records = len(first.history())
    for one, text in ((first, COUNT), (second, MEAN)) * 2:
        assert one.sql(text, epsilon=1).repeated
    assert len(first.history()) == records


def test_tables_of_one_ledger_are_told_apart(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "february.csv"
    other.write_text(TABLE + "new,5\n")
    curator(file, tmp_path).sql(COUNT, epsilon=1)
    feb = curator(other, tmp_path)
    assert not feb.sql(COUNT, epsilon=1).repeated
    for one in (curator(file, tmp_path), feb):
        assert before(one).startswith("Asked before: free")


def test_a_declared_version_says_whether_the_table_changed(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing that leaves depends on whether it did: no file is hashed."""
    monkeypatch.setattr("discreet.engine.sources.source.of_files", None)
    one = curator(file, tmp_path, version="2026-10")
    one.sql(COUNT, epsilon=1)
    file.write_text(TABLE + "new,5\n")
    for again in (one, curator(file, tmp_path, version="2026-10")):
        assert before(again) == "Asked before: free."
        assert again.sql(COUNT, epsilon=1).repeated
    new = curator(file, tmp_path, version="2026-11")
    assert before(new) == "Asked before, but the table changed since: it would be paid for again."
    assert not new.sql(COUNT, epsilon=1).repeated
    assert before(new) == before(one) == "Asked before: free."
    for odd in ("", 7):
        with pytest.raises(ParameterError, match="version="):
            curator(file, tmp_path, version=odd)


# A table that changes while it is counted.


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    real = SqlEngine.count

    def changing(self: SqlEngine, *arguments: object) -> object:
        found = real(self, *arguments)  # type: ignore[arg-type]
        change()
        return found

    monkeypatch.setattr(SqlEngine, "count", changing)


@pytest.mark.parametrize("change", [lambda file: file.write_text(TABLE + "new,5\n")], ids=["written"])
def test_what_was_counted_of_two_tables_is_never_given_again(
    change: Callable[[Path], object], file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = curator(file, tmp_path)
    with monkeypatch.context() as patched:
        spoil(patched, lambda: change(file))
        answer = one.sql(COUNT, epsilon=1)
    assert any("changed while this was counted" in remark for remark in answer.remarks)
    assert before(one) == ""
    file.write_text(TABLE)
    assert not one.sql(COUNT, epsilon=1).repeated
    assert one.budget.spent.epsilon == 2
    assert [entry.state for entry in one.history()] == ["answered", "answered"]
    assert not any("changed while" in remark for remark in one.sql(COUNT, epsilon=1).remarks)


def test_a_touch_while_it_is_counted_is_no_change(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, lambda: os.utime(file))
    one = curator(file, tmp_path)
    assert not any("changed" in remark for remark in one.sql(COUNT, epsilon=1).remarks)
    assert one.sql(COUNT, epsilon=1).repeated


def test_a_table_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    """An open file lives on under no name: whoever has the old one open must not answer for the new one."""

    def written(rows: int) -> Path:
        with duckdb.connect(str(tmp_path / "new.duckdb")) as database:
            database.execute(f"CREATE TABLE visits AS SELECT 'p' || i AS id, 30 AS age FROM range({rows}) t(i)")
            database.execute(f"CREATE TABLE others AS SELECT 'p' || i AS id, 31 AS age FROM range({rows // 2}) t(i)")
        return (tmp_path / "new.duckdb").replace(tmp_path / "x.duckdb")

    one, other = (curator(written(100), tmp_path, table=name) for name in ("visits", "others"))
    answers = [one.sql(COUNT, epsilon=100), other.sql(COUNT, epsilon=100)]  # one file, two tables, one ledger
    written(200)
    answers += [one.sql(COUNT, epsilon=100), other.sql(COUNT, epsilon=100)]
    assert [round(answer.value) for answer in answers] == [100, 50, 200, 100]  # wrong with probability 4 e^-50
    assert not any(answer.repeated for answer in answers)


# What is kept.


def test_a_file_is_hashed_once_for_all_who_ask(
    file: Path, tmp_path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted, real, later = [0], contents._of_bytes, file.stat().st_mtime_ns + 10**10

    def counting(*arguments: object) -> str:
        counted[0] += 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(contents, "_of_bytes", counting)
    monkeypatch.setattr(contents.time, "time_ns", lambda: later)
    for text in (COUNT, MEAN, COUNT):
        curator(file, tmp_path).sql(text, epsilon=1)
    assert counted == [1]
    (kept,) = (state_folder / "discreet" / "contents").iterdir()
    assert kept.stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert file.name not in kept.read_text()
    for damage in ("", "{}", "[]", '{"version": 2}', "\0"):
        kept.write_text(damage)
        assert curator(file, tmp_path).sql(COUNT, epsilon=1).repeated
    assert counted == [6]
    shutil.rmtree(kept.parent)
    kept.parent.write_text("no folder can be made here")
    assert curator(file, tmp_path).sql(COUNT, epsilon=1).repeated


def test_no_fingerprint_is_shown(file: Path, tmp_path: Path) -> None:
    one = curator(file, tmp_path)
    answer = one.sql(COUNT, epsilon=1)
    shown = f"{one.history()} {one!r} {answer} {answer.to_json()} {one.preview(COUNT, epsilon=1)}"
    salt = one._desk.ledger().salt
    secrets = [one._desk.tables.fingerprint(salt), str(one._desk.tables.name(salt)), salt.hex()]
    assert all(secret not in shown for secret in secrets)


def test_a_crash_between_counting_and_keeping_leaks_and_refunds_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = curator(file, tmp_path)
    with monkeypatch.context() as patched:
        spoil(patched, lambda: file.write_text(TABLE + "new,5\n"))
        patched.setattr("discreet.ledger.ledger.Ledger.tear", lambda *_: (_ for _ in ()).throw(DiscreetError("disk full")))
        with pytest.raises(DiscreetError, match="disk full"):
            one.sql(COUNT, epsilon=1)
    assert one.budget.spent.epsilon == 1
    assert not one.sql(COUNT, epsilon=1).repeated
