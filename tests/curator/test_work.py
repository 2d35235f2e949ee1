"""What a question costs beside its scan, counted: nothing that no cost changes is found out twice, and what is remembered serves
its own question alone."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.patience import calls

import discreet as dp
from discreet.engine.sql.engine import SqlEngine
from discreet.ledger import sqlite, witness
from discreet.plan import plan

COUNT = "SELECT sex, count(*) AS n, sum(age) AS s FROM data GROUP BY sex"
COLUMNS = {"sex": dp.category("f", "m"), "age": dp.integer(0, 120)}
BUDGET = dp.Budget(epsilon=10**6, delta=1e-6)
FAR = 400  # epsilon: an answer is off by one with a probability below 1e-9
MOST_CALLS = 8_500  # of functions, Python's and C's; twice as many before there was anything to remember


def write(place: Path, sexes: str, *, turned: bool = False) -> Path:
    columns = {"sex": pa.array([*sexes]), "age": pa.array([30] * len(sexes))}
    pq.write_table(pa.table(dict(reversed(columns.items())) if turned else columns), place)
    return place


def opened(source: object, folder: Path, *, columns: dict[str, Any] = COLUMNS, name: str = "x", **more: Any) -> dp.Curator:
    ledger = folder / f"{name}.ledger"
    return dp.Curator(source, unit=dp.rows(), columns=columns, budget=BUDGET, ledger=ledger, people=name, **more)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "people.parquet", "ffm")


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are taken to be unchanged for as long as it takes to tell that from their times."""
    monkeypatch.setattr("discreet.engine.sources.source.is_settled", lambda *_: True)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often questions are prepared and rehearsed, and what is done to ledgers."""
    found: Counter[str] = Counter()

    def counted(owner: Any, name: str, said: Callable[..., str]) -> None:
        true = getattr(owner, name)

        def patched(*given: Any, **named: Any) -> Any:
            found[said(*given)] += 1
            return true(*given, **named)

        monkeypatch.setattr(owner, name, patched)

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            found.update(["statements", sql])
            return super().execute(sql, *given)

        def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
            found.update(["statements"])
            return super().executemany(sql, *given)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite.sqlite3, "connect", lambda *given, **named: connect(*given, factory=Connection, **named))
    counted(plan, "_prepare", lambda *_: "prepared")
    counted(SqlEngine, "_rehearse_plan", lambda *_: "rehearsed")
    counted(witness, "sync_file", lambda *_: "witnesses")
    counted(witness, "sync_folder", lambda *_: "folders")
    return found


@pytest.mark.usefixtures("settled")
def test_a_question_that_is_asked_again_is_neither_prepared_nor_rehearsed_again(
    file: Path, tmp_path: Path, done: Counter[str]
) -> None:
    clinic = opened(file, tmp_path)
    clinic.preview(COUNT, epsilon=FAR)  # which compares with a budget that has no delta: for epsilons it is another question
    before = done["prepared"]
    assert (before, done["rehearsed"]) == (2, 0)
    for more in range(5):
        assert clinic.sql(COUNT, epsilon=FAR + more)["n"] == (2, 1)
    assert (done["prepared"], done["rehearsed"]) == (before, 1)


def test_an_accuracy_is_bought_without_preparing_a_question_for_every_cost(
    file: Path, tmp_path: Path, done: Counter[str]
) -> None:
    opened(file, tmp_path).sql(COUNT, accuracy={"n": 3, "s": 400})
    assert done["prepared"] == 1


def test_a_question_of_many_groups_is_not_kept(file: Path, tmp_path: Path, done: Counter[str]) -> None:
    clinic = opened(file, tmp_path, columns={"age": dp.integer(0, 2**13)})
    for more in range(2):
        clinic.preview("SELECT age, count(*) AS n FROM data GROUP BY age", epsilon=1 + more)
    assert done["prepared"] == 4


@pytest.mark.usefixtures("settled")
def test_a_question_has_two_transactions_and_two_witnesses(file: Path, tmp_path: Path, done: Counter[str]) -> None:
    clinic = opened(file, tmp_path)
    clinic.sql(COUNT, epsilon=1)
    done.clear()
    clinic.sql(COUNT, epsilon=2)
    assert (done["COMMIT"], done["witnesses"], done["folders"]) == (2, 2, 0)
    assert done["statements"] <= 29


@pytest.mark.usefixtures("settled")
def test_a_question_makes_few_calls(file: Path, tmp_path: Path) -> None:
    clinic = opened(file, tmp_path, columns={**COLUMNS, "sex": dp.category(*"fm", *(f"x{i}" for i in range(98)))}, version="1")
    for more in range(3):
        clinic.sql(COUNT, epsilon=1 + more)
    assert calls(lambda: clinic.sql(COUNT, epsilon=7)) <= MOST_CALLS


# What is remembered serves nobody else.


@pytest.mark.usefixtures("settled")
def test_other_declarations_and_other_curators_have_their_own(file: Path, tmp_path: Path, done: Counter[str]) -> None:
    one = opened(file, tmp_path)
    two = opened(file, tmp_path, columns={"sex": dp.category("m", "x"), "age": dp.integer(0, 10)}, name="y")
    for more in range(2):
        assert one.sql(COUNT, epsilon=FAR + more)["n"] == (2, 1)
        other = two.sql(COUNT, epsilon=FAR + more)
        assert (other["sex"], other["n"]) == (("m", "x"), (1, 0))
        assert abs(other["s"][0] - 10) < 5  # one of 30 years, clamped; by more with a probability below 1e-9
    assert (done["prepared"], done["rehearsed"]) == (2, 2)


def test_a_table_that_changed_is_counted_anew(file: Path, tmp_path: Path) -> None:
    clinic = opened(file, tmp_path)
    assert clinic.sql(COUNT, epsilon=FAR)["n"] == (2, 1)
    write(file, "ffmmm")
    assert clinic.sql(COUNT, epsilon=FAR)["n"] == (2, 3)


def test_another_layout_is_rehearsed_and_read_anew(file: Path, tmp_path: Path, done: Counter[str]) -> None:
    clinic = opened(file, tmp_path)
    assert clinic.sql(COUNT, epsilon=FAR)["n"] == (2, 1)
    write(file, "fmmm", turned=True)
    assert clinic.sql(COUNT, epsilon=FAR)["n"] == (1, 3)
    assert (done["prepared"], done["rehearsed"]) == (1, 2)


def test_what_cannot_be_counted_is_refused_again(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal that failed is no rehearsal."""
    clinic = opened(file, tmp_path)
    monkeypatch.setattr(SqlEngine, "_rehearse_plan", lambda *_: (_ for _ in ()).throw(dp.errors.EngineError("no")))
    for more in range(2):
        with pytest.raises(dp.errors.ParameterError, match="cannot do this question"):
            clinic.sql(COUNT, epsilon=1 + more)
    assert float(clinic.budget.spent) == 0


def test_a_question_pays_and_is_known_as_one_that_was_never_prepared(file: Path, tmp_path: Path) -> None:
    """The same text, price and digest as of a curator that remembers nothing."""
    first, second = opened(file, tmp_path), opened(file, tmp_path, name="y")
    for more in range(3):
        first.sql(COUNT, epsilon=1 + more)
    second.sql(COUNT, epsilon=3)
    one, other = first.history()[-1], second.history()[-1]
    assert (one.question, one.plan, one.privacy, one.asked) == (other.question, other.plan, other.privacy, other.asked)
