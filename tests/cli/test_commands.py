"""`discreet init`, `preview`, `budget`, `ledger adopt`, and what all commands share."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., int]
WARDS = "SELECT ward, count(*) AS n FROM data GROUP BY ward"


def test_init_names_columns_and_nothing_of_their_contents(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(people).unlink()
    assert discreet("init", "people.csv") == 0
    assert "Wrote people.toml." in capsys.readouterr().out
    text = Path("people.toml").read_text()
    assert all(f"# {name} = {{" in text for name in ("id", "age", "ward", "note"))
    assert not any(cell in text for cell in ("eye", "ear\n", "p399", "n2"))
    assert tomllib.loads(text)["source"] == "people.csv"
    assert discreet("preview", "people.toml", WARDS, "--epsilon", "1") == 2
    assert "[unit]" in capsys.readouterr().err


def test_init_never_overwrites(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(people).read_text()
    assert discreet("init", "people.csv") == 2
    assert "not overwritten" in capsys.readouterr().err
    assert Path(people).read_text() == before


@pytest.mark.usefixtures("people")
def test_init_elsewhere_finds_the_table_again(discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("facts").mkdir()
    assert discreet("init", "people.csv", "-o", "facts/new.toml") == 0
    assert tomllib.loads(Path("facts/new.toml").read_text())["source"] == str(Path("..") / "people.csv")
    assert discreet("init", "*.csv") == 2
    assert "-o visits.toml" in capsys.readouterr().err
    assert discreet("init", "*.csv", "-o", "many.toml") == 0
    assert discreet("init", "missing.csv") == 2
    assert discreet("init", "people.csv", "-o", "nowhere/new.toml") == 2


def test_a_filled_in_skeleton_works(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(people).unlink()
    assert discreet("init", "people.csv") == 0
    text = Path("people.toml").read_text()
    for before, after in (
        ('# person = "patient_id"\n# rows = 8\n# groups = 3', 'person = "id"\nrows = 1\ngroups = 1'),
        ("# epsilon = 3", "epsilon = 3"),
        ('# ward = { type = "" }', 'ward = { type = "category", values = ["eye", "ear"] }'),
    ):
        assert before in text
        text = text.replace(before, after)
    Path("people.toml").write_text(text)
    assert discreet("query", "people.toml", WARDS, "--epsilon", "1") == 0
    assert "eye" in capsys.readouterr().out


def test_preview_is_free_and_reads_no_rows(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("preview", people, WARDS, "--epsilon", "1") == 0
    said = capsys.readouterr().out
    assert "Would cost epsilon=1" in said
    assert discreet("preview", people, WARDS, "--epsilon", "1", "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["version"], facts["groups"], facts["lines"][0]["output"]) == (1, 2, "n")
    assert discreet("budget", people) == 0
    first, _, *account = capsys.readouterr().out.splitlines()
    assert first == f"Ledger: {Path('people-by-id.ledger').resolve()}"
    assert account[0].startswith("0 % of the budget (epsilon 2, delta 1e-06) is used")


def test_budget_and_history(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("budget", people, "--history") == 0
    assert "No question was paid for yet." in capsys.readouterr().out
    assert discreet("query", people, WARDS, "--epsilon", "0.5") == 0
    capsys.readouterr()
    assert discreet("budget", people, "--history") == 0
    said = capsys.readouterr().out
    assert WARDS in said
    assert "answered" in said
    assert discreet("budget", people, "--history", "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["total"]["epsilon"] == 2
    assert facts["spent"]["rho"] + facts["remaining"]["rho"] == pytest.approx(facts["total"]["rho"])
    (entry,) = facts["history"]
    assert (entry["cost"], entry["question"], entry["state"]) == ("epsilon=0.5", WARDS, "answered")


def test_a_restored_ledger_must_be_adopted(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, "SELECT count(*) AS n FROM data", "--epsilon", "0.1") == 0
    shutil.copy("people-by-id.ledger", "old")
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    shutil.copy("old", "people-by-id.ledger")
    for rest in Path().glob("people-by-id.ledger-*"):
        rest.unlink()
    assert discreet("query", people, WARDS, "--epsilon", "1") == 2
    assert "discreet ledger adopt" in capsys.readouterr().err
    assert discreet("ledger", "adopt", "people-by-id.ledger") == 0
    adopted = "Adopted people-by-id.ledger: 0.357 % of the budget is used: one question of up to epsilon 1.99"
    assert adopted in capsys.readouterr().out
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    assert discreet("ledger", "adopt", "missing.ledger") == 2


def test_a_deleted_ledger_is_begun_anew_on_purpose_only(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("budget", people) == discreet("preview", people, WARDS, "--epsilon", "1") == 0
    assert not Path("people-by-id.ledger").exists()
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    assert discreet("ledger", "forget", "people-by-id.ledger") == 2
    Path("people-by-id.ledger").unlink()
    capsys.readouterr()
    assert discreet("query", people, WARDS, "--epsilon", "1") == discreet("budget", people) == 2
    assert "discreet ledger forget" in capsys.readouterr().err
    assert discreet("ledger", "forget", "people-by-id.ledger") == 0
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0


@pytest.mark.parametrize("command", ["init", "preview", "query", "budget", "ledger adopt", "ledger people", "ledger forget"])
def test_help_has_an_example(command: str, discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet(*command.split(), "--help") == 0
    said = capsys.readouterr().out
    assert "Example" in said
    assert f"discreet {command} " in said.split("Example")[1]


def test_exit_codes_are_documented(discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("--help") == 0
    assert "3 the budget would be" in " ".join(capsys.readouterr().out.split())


def test_help_loads_no_engine() -> None:
    program = (
        "import sys; from discreet.cli import app; "
        "assert not {'duckdb', 'sqlglot', 'pyarrow', 'pandas', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unforeseen_failure_shows_no_variables() -> None:
    """Their values may be somebody's data: the traceback has lines of code, and nothing else."""
    program = (
        "from discreet.cli import app, main\n"
        "@app.command()\n"
        "def fail() -> None:\n"
        "    cell = 'o'.join(['s', 'mebody', 's data'])\n"
        "    raise RuntimeError\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "fail"], capture_output=True, text=True, check=False)
    assert "RuntimeError" in done.stderr
    assert "somebody" not in done.stderr


@pytest.fixture
def _lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of this test is no temporary one, where less is compared."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.mark.usefixtures("_lasting")
def test_whose_budget_it_is(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A month later, elsewhere: refused until the owner says that they are the same people, or that they are others."""
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    shutil.copy("people.csv", "february.csv")
    Path("february.toml").write_text(Path(people).read_text().replace("people.csv", "february.csv"))
    capsys.readouterr()
    assert discreet("budget", "february.toml", "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["spent"]["epsilon"], facts["people"], Path(facts["ledger"]).name) == (1, None, "people-by-id.ledger")
    Path("else").mkdir()
    shutil.copy("people.csv", "else")
    elsewhere = 'people = "members of the club"\n' + Path(people).read_text()
    Path("else/people.toml").write_text(elsewhere)
    assert discreet("query", "else/people.toml", WARDS, "--epsilon", "1") == 2
    assert "discreet ledger people people-by-id.ledger" in capsys.readouterr().err
    assert discreet("ledger", "people", "people-by-id.ledger", "patients of the clinic") == 0
    assert "is the budget of patients of the clinic." in capsys.readouterr().out
    assert discreet("query", "else/people.toml", WARDS, "--epsilon", "1") == 0
    capsys.readouterr()
    assert discreet("budget", people) == discreet("budget", "else/people.toml") == 0
    said = capsys.readouterr().out
    assert "people-by-id.ledger, the budget of patients of the clinic" in said
    assert "members-of-the-club.ledger, the budget of members of the club" in said
    for wrong in (("missing.ledger", "nobody"), ("people-by-id.ledger", "")):
        assert discreet("ledger", "people", *wrong) == 2


@pytest.mark.usefixtures("_lasting")
def test_a_ledger_of_a_folder_that_is_gone_is_forgotten(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("old").mkdir()
    for name in ("people.csv", people):
        shutil.copy(name, "old")
    assert discreet("query", f"old/{people}", WARDS, "--epsilon", "1") == 0
    Path("old/people-by-id.ledger").unlink()
    assert discreet("query", people, WARDS, "--epsilon", "1") == 2
    assert "discreet ledger forget" in capsys.readouterr().err
    shutil.rmtree("old")
    assert discreet("ledger", "forget", "old/people-by-id.ledger") == 0
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0


def test_python_m_discreet_is_the_command(people: str) -> None:
    done = subprocess.run([sys.executable, "-m", "discreet", "budget", people], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "epsilon" in done.stdout
    refused = subprocess.run([sys.executable, "-m", "discreet", "budget", "no.toml"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_no_ledger_is_named_that_is_not_there(discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("ledger", "people", "nope.ledger", "patients") == 2
    said = capsys.readouterr().err
    assert "There is no ledger at" in said
    assert "budget" not in said
    assert not Path("nope.ledger").exists()
