"""The same rows, handed over as another file or frame, are the same data: asked before is free, and one cell ends that."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import discreet as dp
from discreet.curator.tables import Tables
from discreet.engine.sql.engine import SqlEngine
from discreet.errors import BudgetExceeded, ParameterError
from discreet.ledger.chain import Rows

COUNT = "SELECT count(*) AS n, avg(age) AS a FROM data"
COLUMNS = {"age": dp.integer(0, 120), "ward": dp.category("w0", "w1", "w2")}
FRAME = pd.DataFrame({"id": range(300), "age": [i % 90 for i in range(300)], "ward": [f"w{i % 3}" for i in range(300)], "x": 1.5})
FREE, IF_SAME = "Asked before: free.", "Asked before: free if this table holds the same as that one did."
NOT_IF_OTHER = IF_SAME[:-1] + "; the same rows in another form would be paid for again."
APART = "The same was paid for before, of data that cannot be compared with these; if they hold the same rows, ask those: free."


def curator(source: object, folder: Path, **more: object) -> dp.Curator:
    facts: dict[str, object] = {"unit": dp.person("id", rows=1, groups=1), "columns": COLUMNS, "budget": dp.Budget(epsilon=1000)}
    return dp.Curator(source, **(facts | {"ledger": folder / "x.ledger"} | more))  # type: ignore[arg-type]


def before(one: dp.Curator, text: str = COUNT) -> str:
    return next((remark for remark in one.preview(text, epsilon=1).remarks if remark.startswith("Asked before")), "")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scans by which rows were known again."""
    found, real = [], SqlEngine.identify

    def counting(self: SqlEngine, *arguments: object) -> str | None:
        found.append("scan")
        return real(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlEngine, "identify", counting)
    return found


def to_csv(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "visits.csv", index=False)
    return folder / "visits.csv"


def to_parquet(frame: pd.DataFrame, folder: Path) -> Path:
    parquet.write_table(pa.Table.from_pandas(frame), folder / "visits.parquet")
    return folder / "visits.parquet"


FORMS: dict[str, Callable[[pd.DataFrame, Path], object]] = {
    "csv": to_csv,
    "frame": lambda frame, _: frame,
    "parquet": to_parquet,
    "polars": lambda frame, _: pl.from_pandas(frame.sample(frac=1, random_state=1)),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame.astype({"id": str, "age": float})),
    "read again": lambda frame, folder: pd.read_csv(to_csv(frame, folder), dtype=object),
}


@pytest.mark.parametrize(("first", "others"), [("csv", [*FORMS]), ("frame", ["csv", "polars"])])
def test_asked_again_of_the_same_rows_in_another_form_is_free(
    first: str, others: list[str], tmp_path: Path, scans: list[str]
) -> None:
    forms = {name: FORMS[name] for name in others}
    paid = curator(FORMS[first](FRAME, tmp_path), tmp_path).sql(COUNT, epsilon=1)
    assert (paid.repeated, len(scans)) == (False, 1)
    for number, form in enumerate(forms.values()):
        again = curator(form(FRAME, tmp_path), tmp_path)
        assert before(again) in (FREE, IF_SAME, FREE[:-1] + ", unless the table changed since it was last opened.")
        answer = again.sql(COUNT, epsilon=1)
        assert (answer.repeated, answer.rows()) == (True, paid.rows())
        assert before(again).startswith("Asked before: free")
        assert number or len(scans) <= 2
        assert again.sql(COUNT, epsilon=1).repeated
    assert len(scans) <= 1 + len(forms)
    assert again.budget.spent.epsilon == 1
    for name, form in forms.items():
        other = form(FRAME.assign(age=FRAME.age + (FRAME.id == 7)), tmp_path)
        answer = curator(other, tmp_path).sql(COUNT, epsilon=1)
        assert answer.repeated == (name != "csv")  # one cell: paid for once, whatever holds it
        assert APART not in answer.remarks
        assert answer.rows() != paid.rows()


def test_rows_are_read_for_it_once_for_every_content(tmp_path: Path, scans: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger remembers them, whoever asks; a free repeat of the same bytes opens no engine; a paid question has no more
    statements than it had."""
    place, statements = to_csv(FRAME, tmp_path), []
    one = curator(place, tmp_path)
    for i in range(3):
        one.sql(f"SELECT count(*) AS n FROM data WHERE age < {50 + i}", epsilon=1)
    curator(place, tmp_path).sql(COUNT, epsilon=1)
    assert len(scans) == 1
    other = curator(FRAME, tmp_path)
    assert other.sql(COUNT, epsilon=1).repeated
    other.sql("SELECT count(*) AS n FROM data WHERE age < 20", epsilon=1)
    assert curator(FRAME, tmp_path).sql(COUNT, epsilon=1).repeated  # another curator of the same frame
    assert len(scans) == 2
    real = SqlEngine._fetch
    monkeypatch.setattr(SqlEngine, "_fetch", lambda self, asked: statements.append(asked.text) or real(self, asked))
    other.sql("SELECT count(*) AS n FROM data WHERE age < 21", epsilon=1)
    assert (len(scans), len(statements)) == (2, 2)  # rehearsed and counted
    monkeypatch.setattr(Tables, "engine", None)
    assert curator(FRAME, tmp_path).sql(COUNT, epsilon=1).repeated


def test_other_declarations_are_other_rows(tmp_path: Path) -> None:
    """Where a bound makes two ages the same, the tables are the same; where it does not, they are not, whatever was seen."""
    older = FRAME.assign(age=FRAME.age.where(FRAME.age < 80, 100))
    narrow, wide = {"age": dp.integer(0, 80)}, {"age": dp.integer(0, 120)}
    first = curator(FRAME, tmp_path, columns=narrow).sql(COUNT, epsilon=1)
    again = curator(older, tmp_path, columns=narrow).sql(COUNT, epsilon=1)
    assert (again.repeated, again.rows()) == (True, first.rows())
    curator(FRAME, tmp_path, columns=wide).sql(COUNT, epsilon=1)
    assert not curator(older, tmp_path, columns=wide).sql(COUNT, epsilon=1).repeated


def test_what_cannot_be_compared_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A declared version, and a ledger from before rows were known; never silently."""
    place = to_csv(FRAME, tmp_path)
    with monkeypatch.context() as old:
        old.setattr(Tables, "rows", lambda *_: Rows())
        curator(place, tmp_path).sql(COUNT, epsilon=1)
    one = curator(FRAME, tmp_path)
    assert before(one) == NOT_IF_OTHER
    answer = one.sql(COUNT, epsilon=1)
    assert not answer.repeated
    assert APART in answer.remarks
    again = one.sql(COUNT, epsilon=1)
    assert again.repeated
    assert APART not in again.remarks  # it was said of the payment
    assert curator(place, tmp_path).sql(COUNT, epsilon=1).repeated
    curator(place, tmp_path).sql("SELECT count(*) AS n FROM data", epsilon=1)  # now its rows are known, for all its answers
    assert curator(FRAME.iloc[::-1], tmp_path).sql(COUNT, epsilon=1).repeated
    declared = curator(FRAME.iloc[::-1], tmp_path, version="7")
    assert before(declared) == "Asked before, but the table changed since: it would be paid for again."
    assert APART in declared.sql(COUNT, epsilon=1).remarks
    assert before(curator(FRAME, tmp_path, version="7")) == FREE


def test_a_table_that_changes_while_its_rows_are_read_is_not_taken_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, real = to_csv(FRAME, tmp_path), SqlEngine.identify
    text = place.read_text()

    def changing(self: SqlEngine, *arguments: object) -> str | None:
        place.write_text(text + "500,5,w1,1.5\n")
        return real(self, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(SqlEngine, "identify", changing)
        answer = curator(place, tmp_path).sql(COUNT, epsilon=1)
    assert any("changed while" in remark for remark in answer.remarks)
    place.write_text(text)
    curator(place, tmp_path).sql(COUNT, epsilon=1)
    more = pd.concat([FRAME, pd.DataFrame({"id": [500], "age": [5], "ward": ["w1"], "x": [1.5]})])
    assert not curator(more, tmp_path).sql(COUNT, epsilon=1).repeated
    assert curator(FRAME, tmp_path).sql(COUNT, epsilon=1).repeated


def test_two_who_ask_at_once_of_two_forms_agree_afterwards(tmp_path: Path) -> None:
    """Both may have paid; from then on both forms give the newest answer, and nobody pays again."""
    held = [curator(form, tmp_path) for form in (to_csv(FRAME, tmp_path), FRAME)]
    held[0].sql("SELECT count(*) AS n FROM data", epsilon=1)
    with ThreadPoolExecutor(2) as both:
        asked = list(both.map(lambda one: one.sql(COUNT, epsilon=1), held))
    again = [one.sql(COUNT, epsilon=1) for one in held]
    assert all(one.repeated for one in again)
    assert again[0].rows() == again[1].rows()
    assert again[0].rows() in [one.rows() for one in asked]
    assert held[0].budget.spent.epsilon == 1 + sum(not one.repeated for one in asked)


def test_several_tables_and_public_ones_are_compared_table_by_table(tmp_path: Path) -> None:
    columns = {"people": {"ward": COLUMNS["ward"]}, "visits": {"age": COLUMNS["age"]}}
    text = "SELECT floor, count(*) AS n FROM people JOIN visits USING (id) JOIN wards USING (ward) GROUP BY floor"

    def opened(people: object, visits: object, floors: tuple[int, ...] = (1, 2, 2)) -> dp.Curator:
        wards = pd.DataFrame({"ward": ["w0", "w1", "w2"], "floor": floors})
        given = {"people": people, "visits": visits}
        return curator(given, tmp_path, columns=columns, public={"wards": wards}, unit=dp.person("id", rows=2, groups=2))

    first = opened(to_csv(FRAME, tmp_path), to_parquet(FRAME, tmp_path)).sql(text, epsilon=1)
    again = opened(FRAME.iloc[::-1], pl.from_pandas(FRAME)).sql(text, epsilon=1)
    assert (again.repeated, again.rows()) == (True, first.rows())
    assert not opened(FRAME, FRAME, (1, 2, 1)).sql(text, epsilon=1).repeated
    assert not opened(FRAME, FRAME.assign(age=3)).sql(text, epsilon=1).repeated
    alone = "SELECT count(*) AS n FROM people"  # what it does not read may be anything
    opened(FRAME, FRAME).sql(alone, epsilon=1)
    assert opened(FRAME.iloc[::-1], FRAME.assign(age=9)).sql(alone, epsilon=1).repeated


def test_what_other_rooms_ask_is_free_too(tmp_path: Path) -> None:
    """They go through the same gate: a model, a matrix that serves another question, a table that is read otherwise."""
    facts = {"unit": dp.rows(), "columns": {"age": dp.integer(0, 120), "ill": dp.boolean()}, "budget": dp.Budget(rho=100)}
    frame = pd.DataFrame({"age": FRAME.age, "ill": np.arange(300) % 2 == 0})

    def asked(one: dp.Curator) -> list[object]:
        model = one.fit(dp.learn.GaussianNB(), features=["age"], target="ill", rho=1)
        moments = one.moments(["age"], rho=1)
        wider = one.bounds("age", rho=1)
        return [model.repeated_, model.theta_.tolist(), str(moments), str(wider)]

    fresh, _, *_ = paid = asked(curator(to_csv(frame, tmp_path), tmp_path, **facts))
    other = curator(frame.iloc[::-1], tmp_path, **facts)
    spent = other.budget.spent.rho
    again = asked(other)
    assert (fresh, again[0], again[1]) == (False, True, paid[1])
    assert other.budget.spent.rho == spent


def test_a_first_question_that_is_refused_makes_no_ledger(tmp_path: Path) -> None:
    """What cannot tell persons apart, or costs more than there is, leaves nothing that looks like a budget of the same people."""
    bad = tmp_path / "later.parquet"
    waiting = curator(bad, tmp_path)  # the file comes later
    parquet.write_table(pa.table({"id": pa.array([b"a", b"b"], pa.binary()), "age": [1, 2], "ward": ["w0", "w1"]}), bad)
    with pytest.raises(ParameterError, match="cannot tell persons apart"):
        waiting.sql(COUNT, epsilon=1)
    with pytest.raises(ParameterError, match="cannot tell persons apart"):
        curator(bad, tmp_path).sql(COUNT, epsilon=1)
    with pytest.raises(BudgetExceeded):
        curator(FRAME, tmp_path).sql(COUNT, epsilon=1001)
    assert not (tmp_path / "x.ledger").exists()
    curator(FRAME, tmp_path, ledger=tmp_path / "second.ledger").sql(COUNT, epsilon=1)
    with pytest.raises(BudgetExceeded):
        curator(FRAME, tmp_path, ledger=tmp_path / "second.ledger").sql(COUNT, epsilon=1001)


def test_a_cell_that_the_engine_cannot_hold_decides_nothing_before_payment(tmp_path: Path, scans: list[str]) -> None:
    """It is in a column that the question does not read: rows are not known again in another form, and nothing else happens."""
    columns = {"age": dp.integer(0, 120), "note": dp.text(length=100)}
    place = tmp_path / "notes.parquet"
    for letters in (1, 2 * 10**8):
        parquet.write_table(pa.table({"age": [5] * 500, "note": ["a"] * 499 + ["b" * letters]}), place)
        one = curator(place, tmp_path, columns=columns, unit=dp.rows(), memory="64MB")
        spent = one.budget.spent.epsilon
        assert not one.sql("SELECT count(*) AS n FROM data WHERE age < 50", epsilon=1).repeated
        assert one.budget.spent.epsilon == spent + 1
    assert len(scans) == 2


def test_who_has_nothing_left_to_pay_with_has_rows_read_once(tmp_path: Path, scans: list[str]) -> None:
    curator(to_csv(FRAME, tmp_path), tmp_path, budget=dp.Budget(epsilon=1)).sql(COUNT, epsilon=1)
    other = curator(FRAME.assign(age=3), tmp_path, budget=dp.Budget(epsilon=1))
    for i in range(3):
        with pytest.raises(BudgetExceeded):
            other.sql(f"SELECT count(*) AS n FROM data WHERE age < {i + 1}", epsilon=1)
    assert len(scans) == 2
    assert curator(FRAME, tmp_path, budget=dp.Budget(epsilon=1)).sql(COUNT, epsilon=1).repeated  # without a budget, still free


def test_a_first_question_that_no_engine_can_count_makes_no_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ParameterError("The engine cannot do this question.")

    with monkeypatch.context() as patched:
        patched.setattr(SqlEngine, "rehearse", refuse)
        with pytest.raises(ParameterError, match="cannot do"):
            curator(FRAME, tmp_path).sql(COUNT, epsilon=1)
    assert not (tmp_path / "x.ledger").exists()
    curator(FRAME, tmp_path, ledger=tmp_path / "second.ledger").sql(COUNT, epsilon=1)
