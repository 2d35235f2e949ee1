"""Whose budget: months, refreshes, copies and frames of the same people are paid for from one ledger."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, LedgerRefused, ParameterError
from discreet.ledger import Ledger, people, sqlite

COUNT = "SELECT count(*) AS n FROM data"
COLUMNS = {"age": dp.integer(0, 120)}
TABLE = "patient,visitor,age\n" + "".join(f"p{i},v{i},{i % 90}\n" for i in range(50))
PERSON = dp.person("patient", rows=1, groups=1)


@pytest.fixture(autouse=True)
def _lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of these tests are no temporary ones, where less is compared."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def visits(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        (folder / name).write_text(TABLE + f"extra{number},v,{number}\n")
    return folder


def curator(source: object, **more: object) -> dp.Curator:
    facts: dict[str, object] = {"unit": PERSON, "columns": COLUMNS, "budget": dp.Budget(epsilon=1)}
    return dp.Curator(source, **(facts | more))  # type: ignore[arg-type]


def test_months_of_a_folder_share_one_budget(tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "visits_jan.csv", "visits_feb.csv", "visits_mar.csv")
    curator(folder / "visits_jan.csv").sql(COUNT, epsilon=0.5)
    feb = curator(folder / "visits_feb.csv", columns={"age": dp.integer(0, 90)})
    assert feb.budget.spent.epsilon == 0.5
    assert not feb.sql(COUNT, epsilon=0.5).repeated  # other data, the same people
    for source in ("visits_mar.csv", "visits_*.csv"):
        with pytest.raises(BudgetExceeded):
            curator(folder / source).sql(COUNT, epsilon=0.1)
    assert [one.name for one in folder.glob("*.ledger")] == ["people-by-patient.ledger"]
    assert feb.ledger == (folder / "people-by-patient.ledger").resolve()


def test_other_persons_of_the_folder_and_rows_have_their_own(tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "a.csv", "b.csv", "c.csv")
    curator(folder / "a.csv").sql(COUNT, epsilon=1)
    curator(folder / "b.csv", unit=dp.person("visitor", rows=1, groups=1)).sql(COUNT, epsilon=1)
    curator(folder / "c.csv", unit=dp.rows()).sql(COUNT, epsilon=1)
    visits(folder, "d.csv")
    curator(folder / "d.csv", unit=dp.rows()).sql(COUNT, epsilon=1)
    names = {"people-by-patient.ledger", "people-by-visitor.ledger", "c.ledger", "d.ledger"}
    assert {one.name for one in folder.glob("*.ledger")} == names


@pytest.mark.parametrize("first", [PERSON, dp.rows()], ids=["person", "rows"])
def test_one_file_has_no_two_budgets_whoever_is_protected(first: object, tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "a.csv")
    curator(folder / "a.csv", unit=first).sql(COUNT, epsilon=0.5)
    for unit in (PERSON, dp.rows(), dp.person("visitor", rows=1, groups=1)):
        if unit != first:
            with pytest.raises(LedgerRefused, match=r"the same file|every row .add-remove., and not every person"):
                curator(folder / "a.csv", unit=unit)
        with pytest.raises(LedgerRefused, match="the same file"):
            curator(folder / "a.csv", unit=unit, ledger=tmp_path / "second.ledger")


ELSEWHERE = {
    "a copy of the folder": lambda folder: {"source": shutil.copytree(folder, folder.parent / "copy") / "jan.csv"},
    "a link to it": lambda folder: {"source": _linked(folder) / "jan.csv", "ledger": folder.parent / "mine.ledger"},
    "a month in a folder of its own": lambda folder: {"source": visits(folder.parent / "feb", "jan.csv") / "jan.csv"},
    "a frame": lambda folder: {"source": pd.read_csv(folder / "jan.csv"), "ledger": folder.parent / "frame.ledger"},
    "another case of the column": lambda folder: {
        "source": folder / "feb.csv",
        "unit": dp.person("PATIENT", rows=1, groups=1),
        "ledger": folder.parent / "case.ledger",
    },
}


def _linked(folder: Path) -> Path:
    link = folder.parent / "link"
    link.symlink_to(folder)
    return link


@pytest.mark.parametrize("other", ELSEWHERE)
def test_a_second_budget_is_refused_until_told_that_they_are_others(other: str, tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv")
    facts = ELSEWHERE[other](folder)  # before there is a ledger that could be copied along
    first = curator(folder / "jan.csv")
    first.sql(COUNT, epsilon=0.5)
    with pytest.raises(LedgerRefused, match="second budget") as refusal:
        curator(**facts)
    assert f'ledger="{first.ledger}"' in str(refusal.value)
    with pytest.raises(LedgerRefused, match="second budget"):
        curator(**facts, people="patients of the bone clinic")  # the first does not say whose it is
    same = facts | {"ledger": first.ledger} | ({"unit": PERSON} if "unit" in facts else {})
    assert curator(**same).budget.spent.epsilon == 0.5
    named = curator(folder / "jan.csv", ledger=first.ledger, people="patients of the eye clinic")
    assert named.sql(COUNT, epsilon=0.5).repeated
    with pytest.raises(LedgerRefused, match="second budget"):
        curator(**facts, people="Patients of the eye clinic")
    others = curator(**facts, people="patients of the bone clinic")
    assert (others.budget.spent.epsilon, others.people) == (0, "patients of the bone clinic")
    others.sql(COUNT, epsilon=1)
    assert named.budget.spent.epsilon == 0.5


def test_a_ledger_is_named_and_found_by_its_people(tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv")
    jan = curator(folder / "jan.csv", people="Patients of the clinic")
    jan.sql(COUNT, epsilon=0.5)
    assert jan.ledger.name == "patients-of-the-clinic.ledger"
    assert curator(folder / "feb.csv", people="patients of  the clinic").budget.spent.epsilon == 0.5
    with pytest.raises(LedgerRefused, match=r"second budget .*patients-of-the-clinic\.ledger"):
        curator(folder / "feb.csv")  # who says nothing does not get another budget
    assert curator(folder / "feb.csv", people="staff").budget.spent.epsilon == 0
    with pytest.raises(LedgerRefused, match="is the budget of Patients of the clinic, not of staff"):
        curator(folder / "feb.csv", people="staff", ledger=jan.ledger)
    for odd in ("", 7, "a\nb"):
        with pytest.raises(ParameterError, match="patients of the clinic"):
            curator(folder / "jan.csv", people=odd)


def test_a_ledger_that_lies_beside_its_file_keeps_its_place(tmp_path: Path) -> None:
    """As they were made before files of a folder shared one."""
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv", "mar.csv")
    for name in ("jan", "feb"):
        ledger = Ledger.open(folder / f"{name}.ledger", dp.Budget(epsilon=1), PERSON.protected)
        ledger.commit(ledger.reserve(question="?", plan="p", data="d", privacy=dp.pure(0.25), asked=""), "{}")
    for name in ("jan", "feb"):
        one = curator(folder / f"{name}.csv")
        assert (one.ledger.name, one.budget.spent.epsilon) == (f"{name}.ledger", 0.25)
        one.sql(COUNT, epsilon=0.25)
        assert curator(folder / f"{name}.csv").budget.spent.epsilon == 0.5
    with pytest.raises(LedgerRefused, match=r'write ledger=".*feb\.ledger"'):
        curator(folder / "mar.csv")
    assert curator(folder / "mar.csv", ledger=folder / "jan.ledger").budget.spent.epsilon == 0.5


def test_frames_of_rows_have_a_ledger_each(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [1, 2, 3]})
    for name in ("a", "b"):
        curator(frame, unit=dp.rows(), ledger=tmp_path / name).sql(COUNT, epsilon=1)
    with pytest.raises(ParameterError, match="ledger="):
        curator(frame, unit=dp.rows(), people="patients of the clinic")


def test_previews_and_budgets_remember_nothing(tmp_path: Path, state_folder: Path) -> None:
    folder = visits(tmp_path / "data", "jan.csv")
    for place in ("a.ledger", "b.ledger"):
        one = curator(folder / "jan.csv", ledger=tmp_path / place)
        assert (one.preview(COUNT, epsilon=0.5).cost, one.budget.spent.epsilon) == ("epsilon=0.5", 0)
    assert not state_folder.exists()
    one.sql(COUNT, epsilon=0.5)
    assert state_folder.exists()
    with pytest.raises(LedgerRefused, match="second budget"):
        curator(folder / "jan.csv", ledger=tmp_path / "a.ledger")


def test_whoever_waits_with_the_first_question_is_refused_then(tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "jan.csv")
    one, other = (curator(folder / "jan.csv", ledger=tmp_path / place) for place in ("a.ledger", "b.ledger"))
    one.sql(COUNT, epsilon=0.5)
    with pytest.raises(LedgerRefused, match="second budget"):
        other.sql(COUNT, epsilon=0.5)
    assert not (tmp_path / "b.ledger").exists()


# Relative paths.


@pytest.mark.parametrize("ledger", [None, "mine.ledger", "books/mine.ledger"])
def test_the_working_folder_may_change_at_any_time(ledger: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = visits(tmp_path / "data", "jan.csv")
    (folder / "books").mkdir()
    (tmp_path / "else" / "books").mkdir(parents=True)
    monkeypatch.chdir(folder)
    given = {} if ledger is None else {"ledger": ledger}
    one, pattern = curator("jan.csv", **given), curator("j*.csv", **given)
    late = curator("late.csv", **given)
    monkeypatch.chdir(tmp_path / "else")
    visits(folder, "late.csv")
    for number, each in enumerate((one, pattern, late)):
        each.sql(f"SELECT count(*) AS n FROM data WHERE age > {number}", epsilon=0.25)
    monkeypatch.chdir(folder)
    assert curator("jan.csv", **given).budget.spent.epsilon == 0.75
    assert not list((tmp_path / "else").rglob("*.ledger"))


def test_an_owners_file_may_be_opened_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = visits(tmp_path / "data", "jan.csv")
    (folder / "jan.toml").write_text(
        'version = 1\nsource = "jan.csv"\npeople = "patients"\ndata_version = "1"\n[unit]\nperson = "patient"\nrows = 1\n'
        'groups = 1\n[budget]\nepsilon = 1\n[columns]\nage = { type = "integer", lower = 0, upper = 120 }\n'
    )
    monkeypatch.chdir(folder)
    one = dp.open("jan.toml")
    monkeypatch.chdir(tmp_path)
    one.sql(COUNT, epsilon=0.5)
    again = dp.open("data/jan.toml")
    assert (again.budget.spent.epsilon, again.people, again.ledger.name) == (0.5, "patients", "patients.ledger")


@pytest.mark.parametrize("odd", ["\ud800", "a\0b", 7, b"\0"], ids=["surrogate", "nothing", "number", "bytes"])
def test_paths_that_cannot_be_are_sentences(odd: object, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r'write ledger="hospital\.ledger"'):
        curator(tmp_path / "jan.csv", ledger=odd)
    with pytest.raises(ParameterError, match="give"):
        curator(odd)


def test_a_folder_that_does_not_exist_yet_has_previews(tmp_path: Path) -> None:
    one = curator(tmp_path / "later" / "jan.csv")
    assert one.preview(COUNT, epsilon=0.5).cost == "epsilon=0.5"
    assert one.budget.spent.epsilon == 0


FORK = """
import os, sys
import discreet as dp
facts = dict(unit=dp.person("patient", rows=1, groups=1), columns={"age": dp.integer(0, 120)}, budget=dp.Budget(epsilon=1))
children = []
for place in ("a.ledger", "b.ledger", "c.ledger"):
    child = os.fork()
    if not child:
        try:
            dp.Curator(sys.argv[1], **facts, ledger=place).sql("SELECT count(*) AS n FROM data", epsilon=1)
        except dp.errors.LedgerRefused as refusal:
            os._exit(1 if "second budget" in str(refusal) else 2)
        os._exit(0)
    children.append(child)
print(sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX")
def test_of_three_processes_with_a_ledger_each_one_is_answered(tmp_path: Path) -> None:
    file = visits(tmp_path / "data", "jan.csv") / "jan.csv"
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(file)], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )
    assert done.stdout.strip() == "[0, 1, 1]", done.stderr


# Looks before the unit is right.


@pytest.mark.parametrize("ledger", [False, True], ids=["unsaid", "as the refusal says"])
def test_a_look_under_rows_does_not_keep_a_file_from_the_budget_of_its_persons(ledger: bool, tmp_path: Path) -> None:
    """January was looked at before its unit was right; February pays first, for persons."""
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv")
    early = curator(folder / "jan.csv", unit=dp.rows(), columns={"age": dp.integer(0, 90)})
    early.check()
    feb = curator(folder / "feb.csv")
    feb.sql(COUNT, epsilon=0.25)
    if ledger:
        with pytest.raises(LedgerRefused, match="second budget") as refusal:
            curator(folder / "jan.csv", ledger=folder / "jan.ledger").sql(COUNT, epsilon=0.25)
        assert f'write ledger="{feb.ledger}"' in str(refusal.value)
    jan = curator(folder / "jan.csv", **({"ledger": feb.ledger} if ledger else {}))
    assert (jan.ledger, jan.budget.spent.epsilon) == (feb.ledger, 0.25)
    assert "Declarations changed after the owner looked" in str(jan.sql(COUNT, epsilon=0.25).remarks)
    assert [entry.state for entry in jan.history()] == ["answered", "looked", "answered"]
    assert "Declarations changed" not in str(curator(folder / "feb.csv").sql("SELECT avg(age) FROM data", epsilon=0.25).remarks)
    for unit in (dp.rows(), PERSON):  # what was only looked into is ended: nothing is ever paid from it
        with pytest.raises(LedgerRefused, match=rf'Nothing was ever paid .* write ledger="{feb.ledger}"'):
            curator(folder / "jan.csv", unit=unit, ledger=folder / "jan.ledger")
    with pytest.raises(LedgerRefused, match="Nothing was ever paid"):
        early.sql(COUNT, epsilon=0.25)
    assert curator(folder / "jan.csv").sql(COUNT, epsilon=0.25).repeated


def test_two_files_that_were_looked_at_under_rows_come_to_one_budget(tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv")
    for name in ("jan.csv", "feb.csv"):
        curator(folder / name, unit=dp.rows()).check()
    for name, spent in (("jan.csv", 0.25), ("feb.csv", 0.5)):
        curator(folder / name).sql(COUNT, epsilon=0.25)
        assert curator(folder / name).budget.spent.epsilon == spent
    assert curator(folder / "feb.csv").ledger.name == "jan.ledger"


def test_a_ledger_that_paid_does_not_give_way(tmp_path: Path) -> None:
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv")
    early = curator(folder / "jan.csv", unit=dp.rows())
    early.check()
    early.sql(COUNT, epsilon=0.25)
    feb = curator(folder / "feb.csv")
    feb.sql(COUNT, epsilon=0.25)
    with pytest.raises(LedgerRefused, match="the same file"):
        curator(folder / "jan.csv", ledger=feb.ledger).sql(COUNT, epsilon=0.25)
    assert early.sql("SELECT avg(age) FROM data", epsilon=0.25).value is not None


STEPS = {
    "checked": (people, "find_giving_way"),
    "begun": (Ledger, "_take_over"),
    "looks": (Ledger, "_note"),
    "ended": (Ledger, "_write_witness"),
    "remembered": (people, "remember"),
}


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("event", ["dies", "another pays"])
@pytest.mark.parametrize("said", ["patients", ""], ids=["named", "unnamed"])
def test_while_a_ledger_gives_way_one_budget_is_paid_whatever_happens(
    step: str, event: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each step of taking over, the one who does it dies, or one who has the old ledger open pays: never are both paid."""
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)  # who pays within another's transaction waits in vain
    file = visits(tmp_path / "data", "jan.csv") / "jan.csv"
    named = {"people": said, "ledger": tmp_path / "other.ledger"} if said else {"ledger": tmp_path / "other.ledger"}
    early = curator(file, unit=dp.rows())
    early.check()
    paid: list[object] = []

    def pay(clinic: Callable[[], dp.Curator]) -> None:
        with suppress(LedgerRefused):
            answer = clinic().sql(COUNT, epsilon=1)
            paid.extend([answer.value] * (not answer.repeated))

    owner, name = STEPS[step]
    real = getattr(owner, name)

    def happens(*given: Any, **more: Any) -> Any:
        monkeypatch.setattr(owner, name, real)
        if event == "dies":
            raise KeyboardInterrupt
        pay(lambda: early)
        return real(*given, **more)

    monkeypatch.setattr(owner, name, happens)
    try:
        pay(lambda: curator(file, **named))
    except KeyboardInterrupt:
        assert event == "dies"
    monkeypatch.setattr(owner, name, real)
    pay(lambda: early)
    pay(lambda: curator(file, unit=dp.rows(), ledger=early.ledger))
    pay(lambda: curator(file, **named))
    assert len(paid) == 1


def test_two_ledgers_that_come_to_a_table_at_once_do_not_both_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both were paid from before, by other tables; one remembers the table between the other's check and its memory."""
    places = [visits(tmp_path / name, f"{name}.csv") / f"{name}.csv" for name in ("one", "two", "three")]
    for file in places[:2]:
        curator(file, unit=dp.rows(), ledger=file.with_suffix(".ledger")).sql(COUNT, epsilon=0.25)
    first, second = (curator(places[2], unit=dp.rows(), ledger=file.with_suffix(".ledger")) for file in places[:2])
    real = people.remember

    def late(*given: Any) -> None:
        monkeypatch.setattr(people, "remember", real)
        second.sql("SELECT avg(age) FROM data", epsilon=0.25)
        real(*given)

    monkeypatch.setattr(people, "remember", late)
    with pytest.raises(LedgerRefused, match="the same file"):
        first.sql("SELECT avg(age) FROM data", epsilon=0.25)
    assert (first.budget.spent.epsilon, second.budget.spent.epsilon) == (0.25, 0.5)


def test_persons_whose_ledger_gave_way_are_known_to_a_colleague(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = visits(tmp_path / "data", "jan.csv", "feb.csv")
    curator(folder / "jan.csv").check()
    paying = tmp_path / "elsewhere.ledger"
    curator(folder / "jan.csv", ledger=paying, people="patients").sql(COUNT, epsilon=0.25)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a colleague's state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "a colleague's state"))
    with pytest.raises(LedgerRefused, match=f'second budget .* write ledger="{paying}"'):
        curator(folder / "feb.csv", ledger=folder / "mine.ledger").sql(COUNT, epsilon=0.25)


# Files that join a pattern.


@pytest.mark.parametrize("running", [False, True], ids=["opened again", "running"])
@pytest.mark.parametrize("unit", [PERSON, dp.rows()], ids=["person", "rows"])
def test_a_file_with_a_ledger_of_its_own_does_not_join_a_pattern(unit: object, running: bool, tmp_path: Path) -> None:
    folder, other = visits(tmp_path / "data", "visits_jan.csv"), visits(tmp_path / "other", "feb.csv")
    pattern = curator(folder / "visits_*.csv", unit=unit, people="patients of the eye clinic")
    pattern.sql(COUNT, epsilon=0.25)
    feb = curator(other / "feb.csv", unit=unit, columns={"age": dp.integer(0, 90)}, people="patients of the bone clinic")
    feb.sql(COUNT, epsilon=0.25)
    mar = curator(visits(tmp_path / "third", "mar.csv") / "mar.csv", unit=dp.rows(), columns={"visitor": dp.text()})
    mar.sql(COUNT, epsilon=0.25)

    def again() -> dp.Curator:
        return pattern if running else curator(folder / "visits_*.csv", unit=unit, people="patients of the eye clinic")

    (folder / "visits_feb.csv").symlink_to(other / "feb.csv")
    again().sql(COUNT, epsilon=0.25)  # both say whose they are
    (folder / "visits_mar.csv").symlink_to(tmp_path / "third" / "mar.csv")
    with pytest.raises(LedgerRefused, match=r"second budget .*\(the same file\)"):
        again().sql(COUNT, epsilon=0.25)
    assert pattern.budget.spent.epsilon == 0.5
    (folder / "visits_mar.csv").unlink()
    visits(folder, "visits_apr.csv")
    assert not again().sql(COUNT, epsilon=0.25).repeated
    with pytest.raises(LedgerRefused, match=r"second budget .*\(the same file\)"):
        curator(folder / "visits_apr.csv", unit=dp.rows(), columns={"visitor": dp.text()})
