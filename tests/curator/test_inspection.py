"""Whether declarations fit: the owner's look, what it leaves behind, and the private shares."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp
from discreet.curator.answer import Answer
from discreet.errors import BudgetExceeded, DiscreetError, LedgerRefused
from discreet.ledger.ledger import Ledger

N = 1000
BAD: dict[str, list[object]] = {  # 100 missing, 200 unlisted, 300 clamped, 400 fine
    "age": [None] * 100 + ["old"] * 150 + [1.5] * 50 + [-1] * 100 + [121] * 200 + [0, 120, 40, 7] * 100,
    "debt": [""] * 100 + ["much"] * 200 + ["10.5"] * 100 + ["-0.01"] * 200 + ["0", "10", "9.999", "1e0"] * 100,
    "day": [None] * 100 + ["31.12.2020"] * 200 + ["2021-01-01"] * 300 + ["2020-01-01", "2020-12-31"] * 200,
    "drug": ["  "] * 100 + ["Yes", "NO"] * 100 + ["yes"] * 700,
    "smokes": [None] * 100 + ["perhaps"] * 200 + ["true", "f"] * 350,
    "city": [None] * 50 + [""] * 50 + ["Oslo"] * 900,
}
COLUMNS = {
    "age": dp.integer(0, 120, missing=40),
    "debt": dp.number(0, 10, step=0.01),
    "day": dp.date("2020-01-01", "2020-12-31"),
    "drug": dp.category("yes", "no", missing="no"),
    "smokes": dp.boolean(),
    "city": dp.text(),
}
CLAMPED = {"age", "debt", "day"}
QUESTION = "SELECT count(*) AS n FROM data"
CHANGED = "Declarations changed after the owner looked"

Open = Callable[..., dp.Curator]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def build(
        frame: object = None, columns: Any = COLUMNS, unit: object = None, budget: object = None, ledger: str = "l"
    ) -> dp.Curator:
        source = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in BAD.items()}) if frame is None else frame
        place = tmp_path / f"{ledger}.ledger"
        return dp.Curator(source, unit=unit or dp.rows(), columns=columns, budget=budget or dp.Budget(epsilon=3), ledger=place)

    return build


def lines(look: object) -> dict[str, list[str]]:
    """The table that is printed: a column's shares, empty where it has no such state."""
    shown = str(look).splitlines()
    start = next(i for i, line in enumerate(shown) if line.startswith("column"))
    edges = [found.end() for found in re.finditer(r"\S+", shown[start])]
    found = {}
    for line in shown[start + 2 :]:
        cells = [line[a:b].strip() for a, b in zip([0, *edges], edges, strict=False)]
        if cells[0] in COLUMNS:
            found[cells[0]] = cells[1:]
    return found


def test_every_state_of_every_type(opened: Open) -> None:
    found = lines(opened().check())
    assert set(found) == set(COLUMNS)
    for name in COLUMNS:
        others = ["20 %" if name != "city" else "", "30 %" if name in CLAMPED else ""]
        assert found[name] == ["10 %", *others], name


def test_the_three_mistakes_that_owners_make(opened: Open) -> None:
    """Another spelling, a column that tells nobody apart, persons with more rows than they may count for."""
    frame = pd.DataFrame({"patient": [1] * 190 + list(range(2, 812)), "idp": ["x", "y"] * 500, "sex": ["Male", "female"] * 500})
    columns = {"sex": dp.category("male", "female", "diverse")}
    wrong = str(opened(frame, columns, dp.person("idp", rows=2, groups=1)).check())
    assert "idp has 2 different values: does it tell persons apart?" in wrong
    right = str(opened(frame, columns, dp.person("patient", rows=100, groups=1)).check())
    assert "patient has about 800 different values" in right
    assert "tell persons apart" not in right
    assert "9 % of rows are beyond rows=100, all that a person counts for in one group." in right
    assert "sex: 'male' not found as declared, but with other capital letters or spaces around it." in right
    assert "sex: 'diverse' not found." in right
    assert "Male" not in right


def test_texts_that_another_declaration_would_read(opened: Open) -> None:
    frame = pd.DataFrame({"amount": ["12,50", "1.100,00"] * 50, "ordered": ["31.01.2024"] * 100, "plain": ["1.5"] * 100})
    columns = {
        "amount": dp.number(0, 2000, step=0.5),
        "ordered": dp.date("2024-01-01", "2024-12-31"),
        "plain": dp.number(0, 2),
    }
    said = str(opened(frame, columns).check())
    assert 'amount: most of what cannot be read could be, declared with decimal=",".' in said
    assert 'ordered: most of what cannot be read could be, declared with format="%d.%m.%Y".' in said
    assert "plain: " not in said


@given(st.lists(st.sampled_from(["yes", "YES", " no", "zq7", "zq8", "17.5zq", "", None, "zq'; --", 'zq"', "zq\n"]), min_size=1))
@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_cell_is_ever_shown(opened: Open, cells: list[str | None]) -> None:
    frame = pd.DataFrame({"drug": pd.Series(cells, dtype=object), "who": pd.Series(cells, dtype=object)})
    columns = {"drug": dp.category("yes", "no"), "who": dp.text()}
    said = str(opened(frame, columns, dp.person("who", rows=1, groups=2)).check())
    assert "NOT PRIVATE" in said
    assert "zq" not in said
    assert "YES" not in said


def test_a_look_cannot_be_kept(opened: Open, tmp_path: Path) -> None:
    hospital = opened()
    look = hospital.check()
    for keep in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(DiscreetError, match="cannot be stored"):
            keep(look)
    assert "%" not in repr(look)
    assert not hasattr(look, "_repr_html_")
    assert [file.name for file in tmp_path.iterdir()] == ["l.ledger"]
    stored = (tmp_path / "l.ledger").read_bytes()
    assert b"20 %" not in stored
    assert b"Oslo" not in stored


def records(ledger: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(ledger) as database:
        return [json.loads(text) for (text,) in database.execute("SELECT text FROM records ORDER BY number")]


def test_the_ledger_notes_looks_beside_payments(opened: Open, tmp_path: Path) -> None:
    hospital = opened()
    hospital.check()
    hospital.sql(QUESTION, epsilon=1)
    hospital.check()
    kinds = [record["kind"] for record in records(tmp_path / "l.ledger")]
    assert kinds == ["opened", "looked", "reserved", "answered", "looked"]
    assert [entry.state for entry in hospital.history()] == ["looked", "answered", "looked"]
    assert [entry.asked for entry in hospital.history()] == ["nothing", "epsilon=1", "nothing"]
    assert hospital.budget.spent.epsilon == 1
    assert Ledger.open(tmp_path / "l.ledger").history() == opened()._desk.ledger().history()


def test_a_look_fixes_neither_budget_nor_unit(opened: Open) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "age": [1, 2]})
    columns = {"age": dp.integer(0, 120)}
    opened(frame, columns, dp.person("a", rows=1, groups=1)).check()
    other = opened(frame, columns, dp.person("b", rows=1, groups=1), dp.Budget(epsilon=5))
    assert other.sql(QUESTION, epsilon=5).cost == "epsilon=5"
    other.check()
    with pytest.raises(LedgerRefused, match="budget"):
        opened(frame, columns, dp.person("b", rows=1, groups=1), dp.Budget(epsilon=6)).check()


def test_answers_say_when_declarations_changed_after_a_look(opened: Open) -> None:
    corrected = COLUMNS | {"drug": dp.category("Yes", "NO", "yes")}
    first = opened().sql(QUESTION, epsilon=0.1)
    assert not first.remarks
    changed = opened(columns=corrected).sql(QUESTION, epsilon=0.1)
    assert not changed.remarks  # nobody had looked
    opened().check()
    assert not opened().sql(QUESTION, epsilon=0.1).remarks
    for answer in (
        opened(columns=corrected).sql(QUESTION, epsilon=0.1),
        opened(columns=corrected).preview(QUESTION, epsilon=0.1),
    ):
        assert any(CHANGED in remark and "(drug)" in remark for remark in answer.remarks)
        assert CHANGED in str(answer)
    hospital = opened(columns=corrected)
    hospital.check()  # another look does not undo the first
    assert any(CHANGED in remark for remark in hospital.sql(QUESTION, epsilon=0.2).remarks)
    fewer = {name: column for name, column in COLUMNS.items() if name != "drug"} | {"new": dp.text()}
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in BAD.items()} | {"new": "x"})
    left_out = opened(frame, fewer).sql(QUESTION, epsilon=0.1).remarks
    assert not left_out  # of a column that was never looked at, nothing was learned


def test_who_is_protected_is_a_declaration_too(opened: Open) -> None:
    frame, columns = pd.DataFrame({"p": [1, 2], "age": [1, 2]}), {"age": dp.integer(0, 120)}
    opened(frame, columns, dp.person("p", rows=1, groups=1)).check()
    remarks = opened(frame, columns, dp.person("p", rows=2, groups=1)).sql(QUESTION, epsilon=0.1).remarks
    assert any("(who is protected)" in remark for remark in remarks)


def test_nobody_looks_where_that_cannot_be_noted(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise LedgerRefused("The disk is full.")

    monkeypatch.setattr(Ledger, "note_look", full)
    monkeypatch.setattr("discreet.curator.curator.look_at_all", lambda *_: pytest.fail("somebody looked"))
    with pytest.raises(LedgerRefused):
        opened().check()


# The private shares.


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10**6), dp.Budget(rho=10**6), dp.Budget(epsilon=10**6, delta=1e-6)])
def test_private_shares_are_right_but_for_their_noise(opened: Open, budget: dp.Budget) -> None:
    """At so large an epsilon noise moves a share of 1,000 rows by 0.01 with probability far below 1e-9."""
    hospital = opened(budget=budget)
    answer = hospital.check(**({"epsilon": 10**5} if budget.rho is None else {"rho": 10**5}))
    assert isinstance(answer, Answer)
    wanted = {(name, state): share for name in COLUMNS for state, share in STATES.items() if possible(name, state)}
    found = {(row["column"], row["state"]): row for row in answer.rows()}
    assert set(found) == set(wanted)
    for key, share in wanted.items():
        assert found[key]["share"] == pytest.approx(share, abs=0.01)
        assert 0 <= found[key]["share_lower"] <= found[key]["share_upper"] <= 1
    assert not answer.remarks


STATES = {"missing": 0.1, "unlisted": 0.2, "clamped": 0.3}


def possible(name: str, state: str) -> bool:
    return state == "missing" or (state == "clamped" and name in CLAMPED) or (state == "unlisted" and name != "city")


def test_private_shares_are_paid_for_once_and_noted_as_no_look(opened: Open) -> None:
    hospital = opened()
    answer = hospital.check(epsilon=1)
    assert hospital.budget.spent.epsilon == 1
    again = hospital.check(epsilon=0.5)
    assert isinstance(again, Answer)
    assert again.repeated
    assert answer.rows() == again.rows()
    assert [entry.state for entry in hospital.history()] == ["answered"]
    with pytest.raises(BudgetExceeded):
        hospital.check(epsilon=2.5)
    assert "NOT PRIVATE" not in str(answer)


def test_every_count_of_the_private_shares_pays_its_part(opened: Open) -> None:
    """One row moves every one of 1 + 14 counts by one: fifteen Laplace mechanisms at a fifteenth of the epsilon each."""
    states = sum(possible(name, state) for name in COLUMNS for state in STATES)
    answer = opened(budget=dp.Budget(epsilon=3)).check(epsilon=1)
    assert isinstance(answer, Answer)
    assert answer.parts == ((f"count(*) and {states} sums", f"Laplace noise of scale {states + 1}"),)


def test_answers_about_bounded_persons_say_that_they_are(opened: Open) -> None:
    frame, columns = pd.DataFrame({"p": [1, 2, 2], "age": [1, 2, 3]}), {"age": dp.integer(0, 120)}
    hospital = opened(frame, columns, dp.person("p", rows=1, groups=2))
    said = "Persons are bounded: each counts for at most 1 row in a group and 2 groups' worth in all. Where they have more, "
    said += "counts and sums lie below the table's own; contributions() says by how much."
    for one in (hospital.sql(QUESTION, epsilon=0.1), hospital.preview(QUESTION, epsilon=0.1), hospital.check(epsilon=0.1)):
        assert said in str(one)
    assert "bounded:" not in str(opened(frame, columns, ledger="rows").sql(QUESTION, epsilon=0.1))


def test_any_name_and_value_may_be_declared(opened: Open) -> None:
    """Names that SQL must quote, names that our own readings would have, values with quotes."""
    names = ['a "b"', "x as text", "x", "x in wider bounds", "Ünï", "select", "n0", "it's", "line\nbreak"]
    frame = pd.DataFrame({name: [1, 200] for name in names} | {"c": ["it's", 'a "b"']})
    columns: dict[str, Any] = {name: dp.integer(0, 120) for name in names} | {"c": dp.category("it's", 'A "B"', "';--")}
    hospital = opened(frame, columns, budget=dp.Budget(epsilon=10**6))
    said = str(hospital.check())
    assert said.count("50 %") == len(names) + 1  # one of two is clamped; of c one is unlisted
    assert "c: ';--' not found." in said.replace("''", "'")
    answer = hospital.check(epsilon=10**5)
    assert isinstance(answer, Answer)
    clamped = [row["share"] for row in answer.rows() if row["state"] == "clamped"]
    assert clamped == pytest.approx([0.5] * len(names), abs=0.01)


def test_bounds_at_the_edge_of_their_type(opened: Open) -> None:
    frame = pd.DataFrame({"i": [0, 1], "n": [0.0, 1.0], "d": ["0001-01-01", "9999-12-31"]})
    columns: dict[str, Any] = {
        "i": dp.integer(1 - 2**63, 2**63 - 1),
        "n": dp.number(-(2**53), 2**53, step=1),
        "d": dp.date("0001-01-01", "9999-12-31"),
    }
    assert lines_of(opened(frame, columns).check(), columns) == {name: ["none"] * 3 for name in columns}


def lines_of(look: object, columns: Any) -> dict[str, list[str]]:
    return {cells[0]: cells[1:] for line in str(look).splitlines() if (cells := line.split()) and cells[0] in columns}


# Wide tables, and several that share a ledger.


def test_tables_with_hundreds_of_columns(opened: Open) -> None:
    """They are asked about in several questions that are paid for together; noise moves a share by 0.01 less often than 1e-9."""
    names = [f"a column with the rather long name {i}" for i in range(300)]
    frame = pd.DataFrame({name: ["x"] * 9 + [" "] for name in names})
    hospital = opened(frame, dict.fromkeys(names, dp.text()), budget=dp.Budget(epsilon=10**7))
    answer = hospital.check(epsilon=10**6)
    assert isinstance(answer, Answer)
    assert [row["column"] for row in answer.rows()] == names
    assert [row["share"] for row in answer.rows()] == pytest.approx([0.1] * 300, abs=0.01)
    assert len(answer.parts) > 1
    assert sum(int(what.split()[2]) for what, _ in answer.parts) == 300
    assert (hospital.budget.spent.epsilon, len(hospital.history())) == (10**6, 1)


@pytest.mark.parametrize("most", [1, 700, 10**6])
def test_shares_are_the_same_in_however_many_questions(most: int, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.curator.inspection._MOST_ASKED", most)
    answer = opened(budget=dp.Budget(epsilon=10**6)).check(epsilon=10**6)
    assert isinstance(answer, Answer)
    wanted = [(name, state, share) for name in COLUMNS for state, share in STATES.items() if possible(name, state)]
    assert [(row["column"], row["state"]) for row in answer.rows()] == [(name, state) for name, state, _ in wanted]
    assert [row["share"] for row in answer.rows()] == pytest.approx([share for *_, share in wanted], abs=0.01)
    assert (len(answer.parts) > 1) == (most < 10**6)
    assert answer.cost == "epsilon=1000000"


def test_a_long_declared_value_is_found_in_another_spelling(opened: Open) -> None:
    long = "x" * 300
    look = str(opened(pd.DataFrame({"c": [f"  {long.upper()}  "]}), {"c": dp.category(long)}).check())
    assert "with other capital letters or spaces" in look


def test_a_look_is_at_one_table_of_a_ledger(tmp_path: Path) -> None:
    def table(name: str, most: int) -> dp.Curator:
        columns, unit = {"age": dp.integer(0, most)}, dp.person("p", rows=1, groups=1)
        return dp.Curator(tmp_path / name, unit=unit, columns=columns, budget=dp.Budget(epsilon=3))

    for name in ("visits.csv", "labs.csv"):
        (tmp_path / name).write_text("p,age\n1,2\n2,3\n")
    visits = table("visits.csv", 120)
    visits.check()
    assert table("labs.csv", 99).ledger == visits.ledger
    assert CHANGED not in str(table("labs.csv", 99).sql(QUESTION, epsilon=0.1))
    assert CHANGED not in str(table("labs.csv", 99).preview(QUESTION, epsilon=0.1))
    assert CHANGED not in str(visits.sql(QUESTION, epsilon=0.1))
    assert CHANGED in str(table("visits.csv", 99).sql(QUESTION, epsilon=0.1))
    table("labs.csv", 99).check()
    assert CHANGED in str(table("labs.csv", 120).sql(QUESTION, epsilon=0.1))
    assert CHANGED not in str(visits.sql(QUESTION, epsilon=0.2))
    looks = Ledger.open(visits.ledger).looks
    assert len({name for name, _ in looks}) == 2
    assert not any("csv" in str(record.get("table")) for record in records(visits.ledger))  # names are keyed hashes


def test_a_public_count_is_not_said_to_have_noise(opened: Open) -> None:
    frame, columns = pd.DataFrame({"age": [1, 2, 300]}), {"age": dp.integer(0, 120)}
    answer = opened(frame, columns, dp.rows(neighbours="replace", size=3)).check(epsilon=1)
    assert isinstance(answer, Answer)
    (rows, public), (sums, noise) = answer.parts
    assert (rows, sums) == ("count(*)", "3 sums")
    assert public.startswith("public")
    assert noise == "Laplace noise of scale 3"
    one = opened(frame, {"age": dp.text()}, ledger="text").check(epsilon=1)
    assert isinstance(one, Answer)
    assert one.parts == (("count(*) and 1 sum", "Laplace noise of scale 1"),)  # a pair


def test_one_group_has_a_worth_of_its_own(opened: Open) -> None:
    frame, columns = pd.DataFrame({"p": [1], "age": [1]}), {"age": dp.integer(0, 120)}
    said = str(opened(frame, columns, dp.person("p", rows=2, groups=1)).preview(QUESTION, epsilon=1))
    assert "at most 2 rows in a group and 1 group's worth in all." in said


def test_totals_that_persons_make_different_are_said_to_be(opened: Open) -> None:
    """Each question bounds persons by its own groups; under rows() totals agree and nothing is said."""
    frame = pd.DataFrame({"p": [1, 2, 2], "age": [1, 2, 3], "sex": ["f", "m", "f"]})
    columns = {"age": dp.integer(0, 120), "sex": dp.category("f", "m")}
    asked = ["SELECT sex, count(*) AS n FROM data GROUP BY sex", QUESTION]
    for unit, says in ((dp.person("p", rows=1, groups=2), True), (dp.rows(), False)):
        hospital = opened(frame, columns, unit, ledger=f"totals {says}")
        for answer in hospital.batch(asked, epsilon=0.1):
            assert ("Totals of what was asked together may differ" in str(answer)) is says
        assert "may differ" not in str(hospital.sql(QUESTION, epsilon=0.2))
