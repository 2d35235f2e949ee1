"""`discreet query`: pays, answers, writes; refuses before it pays."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

Run = Callable[..., int]
WARDS = "SELECT ward, count(*) AS n FROM data GROUP BY ward"


def spent(discreet: Run, capsys: pytest.CaptureFixture[str]) -> float:
    capsys.readouterr()
    assert discreet("budget", "people.toml", "--format", "json") == 0
    return float(json.loads(capsys.readouterr().out)["spent"]["rho"])


def test_a_table_for_people(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].split() == ["ward", "n", "±", "(95", "%)"]
    assert [line.split()[0] for line in lines[2:4]] == ["eye", "ear"]
    assert "epsilon=1" in said.out
    assert said.err == ""


def test_asked_again_it_is_the_same_and_free(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, WARDS, "--epsilon", "1", "--format", "csv") == 0
    first = capsys.readouterr().out
    before = spent(discreet, capsys)
    assert discreet("query", people, WARDS, "--epsilon", "1", "--format", "csv") == 0
    assert capsys.readouterr().out == first
    assert spent(discreet, capsys) == before > 0
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    assert "this repeat was free" in capsys.readouterr().out


def test_the_same_numbers_in_every_format(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, WARDS, "--epsilon", "1", "--format", "csv") == 0
    as_csv = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert discreet("query", people, WARDS, "--epsilon", "1", "--format", "json") == 0
    as_json = json.loads(capsys.readouterr().out)
    assert (as_json["version"], as_json["repeated"]) == (1, True)
    assert [{name: str(value) for name, value in row.items()} for row in as_json["rows"]] == as_csv
    assert discreet("query", people, WARDS, "--epsilon", "1", "-o", "answer.parquet") == 0
    assert parquet.read_table("answer.parquet").to_pylist() == as_json["rows"]
    assert discreet("query", people, WARDS, "--epsilon", "1", "-o", "answer.csv") == 0
    assert list(csv.DictReader(io.StringIO(Path("answer.csv").read_text()))) == as_csv
    assert "Wrote answer.csv." in capsys.readouterr().err


def test_a_chart_and_a_question_from_a_file(discreet: Run, people: str) -> None:
    Path("question.sql").write_text(f"-- by ward\n{WARDS}\n")
    assert discreet("query", people, "@question.sql", "--epsilon", "1", "--plot", "chart.png") == 0
    assert Path("chart.png").read_bytes().startswith(b"\x89PNG")


def test_too_much_exits_with_3_and_costs_nothing(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, WARDS, "--epsilon", "2.5") == 3
    said = capsys.readouterr()
    assert "requested" in said.err
    assert said.out == ""
    assert spent(discreet, capsys) == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((WARDS,), "epsilon="),
        ((WARDS, "--rho", "0.1"), "epsilon"),
        ((WARDS, "--epsilon", "-1"), "above 0"),
        ((WARDS, "--epsilon", "1", "--format", "parquet"), "-o result.parquet"),
        ((WARDS, "--epsilon", "1", "-o", "nowhere/answer.csv"), "folder that exists"),
        ((WARDS, "--epsilon", "1", "--plot", "chart.bmp"), ".png or .svg"),
        ((WARDS, "--accuracy", "n=many"), "--accuracy n=6"),
        ((WARDS, "--accuracy", "6", "--accuracy", "n=6"), "--accuracy n=6"),
        (("@missing.sql", "--epsilon", "1"), "cannot be read"),
        (("SELECT shoe FROM data", "--epsilon", "1"), "shoe"),
        (("DROP TABLE data", "--epsilon", "1"), "SELECT"),
    ],
)
def test_refusals_cost_nothing(
    words: tuple[str, ...], sentence: str, discreet: Run, people: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("query", people, *words) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert said.out == ""
    assert spent(discreet, capsys) == 0
    assert not Path("answer.csv").exists()


def test_accuracy_buys_what_it_says(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, WARDS, "--accuracy", "n=40", "--format", "json") == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert 30 < (row["n_upper"] - row["n_lower"]) / 2 <= 40


def test_warnings_are_sentences(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = Path(people).read_text()
    Path(people).write_text(facts.replace("groups = 1", "groups = 1\nsize = 5_000_000"))
    assert discreet("query", people, WARDS, "--epsilon", "1") == 0
    said = capsys.readouterr().err
    assert said.startswith("Warning: delta")
    assert ".py" not in said


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (60.0, False)], ids=["long", "short"])
def test_a_bar_on_a_terminal_while_it_takes_long(patience: float, shown: bool, people: str) -> None:
    """The bar is on standard error, and the answer is still all there is on standard output."""
    pty = pytest.importorskip("pty", reason="there are no such terminals here")
    parent, child = pty.openpty()
    program = f"from discreet.cli import main, query; query._PATIENCE = {patience}; main()"
    command = [sys.executable, "-c", program, "query", people, WARDS, "--epsilon", "1"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=child, check=True, text=True, timeout=600)
        os.write(child, b"end")
        seen = os.read(parent, 100_000)
    finally:
        os.close(child)
        os.close(parent)
    assert done.stdout.startswith("ward")
    assert (b"Counting" in seen) == shown


def test_several_questions_share_one_cost(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    count = "SELECT count(*) AS n FROM data"
    assert discreet("preview", people, WARDS, count, "--epsilon", "0.5") == 0
    assert "Would cost epsilon=0.5" in capsys.readouterr().out
    assert discreet("query", people, WARDS, count, "--epsilon", "0.5", "--format", "json") == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["question"], second["question"]) == (WARDS, count)
    assert first["budget"] == second["budget"]
    assert first["budget"]["spent"]["epsilon"] <= 0.5
    assert discreet("query", people, WARDS, count, "--epsilon", "0.5") == 0
    assert capsys.readouterr().out.count("free") >= 2
    assert discreet("query", people, WARDS, count, "--epsilon", "0.1", "--format", "csv") == 2
    assert "Several answers" in capsys.readouterr().err
    assert discreet("budget", people, "--history", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)["history"]) == 1


def test_files_with_strange_endings_are_refused_before_anything_is_paid(
    discreet: Run, people: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("query", people, WARDS, "--epsilon", "0.5", "-o", "answer.xlsx") == 2
    assert "txt, csv, json, parquet" in capsys.readouterr().err
    assert not Path("people.ledger").exists()
    assert discreet("query", people, WARDS, "--epsilon", "0.5", "-o", "answer.xlsx", "--format", "csv") == 0


def test_several_questions_write_a_file_each(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("query", people, WARDS, "SELECT count(*) AS n FROM data", "--epsilon", "0.5")
    assert discreet(*ask, "-o", "both.csv", "--plot", "both.png", "--title", "People") == 0
    said = capsys.readouterr()
    assert [line.split()[1] for line in said.err.splitlines()] == ["both-1.csv.", "both-2.csv.", "both-1.png.", "both-2.png."]
    assert Path("both-1.csv").read_text().startswith("ward,n,")
    assert Path("both-2.csv").read_text().startswith("n,n_lower")
    assert not Path("both.csv").exists()
    assert all(Path(f"both-{i}.png").read_bytes().startswith(b"\x89PNG") for i in (1, 2))
    assert discreet(*ask, "-o", "both.parquet") == 0
    assert Path("both-2.parquet").exists()
    assert discreet(*ask, "-o", "both.json") == 0
    assert len(Path("both.json").read_text().splitlines()) == 2
    assert discreet(*ask, "--title", "People") == 2
    assert "--plot" in capsys.readouterr().err


READ = [
    ("-o", "people.csv"),
    ("-o", "./people.csv", "--format", "json"),
    ("-o", "link.csv"),
    ("-o", "wards.csv"),
    ("-o", "people.toml", "--format", "csv"),
    ("-o", "people-by-id.ledger", "--format", "csv"),
    ("-o", "people-by-id.ledger-wal", "--format", "csv"),
    ("-o", "people-by-id.ledger-shm", "--format", "table"),
    ("-o", "question.sql", "--format", "csv"),
    ("--plot", "picture.svg"),
]


def test_nothing_that_is_read_is_written_over(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("question.sql").write_text(WARDS)
    Path("wards.csv").write_text("ward,floor\neye,1\near,2\n")
    Path("link.csv").symlink_to("people.csv")
    os.link("people.csv", "picture.svg")
    with Path(people).open("a") as facts:
        facts.write('[public.wards]\nsource = "wards.csv"\n')
    before = {file.name: file.read_bytes() for file in Path().iterdir()}
    for words in READ:
        assert discreet("query", people, "@question.sql", "--epsilon", "1", *words) == 2, words
        assert "choose another place" in capsys.readouterr().err
        assert {file.name: file.read_bytes() for file in Path().iterdir()} == before, words  # not even a ledger was made
    assert discreet("query", people, "@question.sql", "--epsilon", "1", "-o", "answer.csv") == 0
    ledger = Path("people-by-id.ledger").read_bytes()
    for words in READ:
        assert discreet("query", people, "@question.sql", "--epsilon", "0.5", *words) == 2, words
        assert Path("people-by-id.ledger").read_bytes() == ledger


@pytest.mark.parametrize("place", ["tables/a.csv", "tables/new.csv", "elsewhere/new.csv"])
def test_a_pattern_stands_for_all_its_files(place: str, discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also for those that would be new: the next question would read an answer as rows."""
    Path("tables").mkdir()
    Path("elsewhere").symlink_to("tables")
    table = Path("people.csv").rename("tables/a.csv").read_text()
    for pattern in ("tables/*.csv", "**/*.csv"):
        Path(people).write_text(Path(people).read_text().replace("people.csv", pattern).replace("tables/*.csv", pattern))
        assert discreet("query", people, WARDS, "--epsilon", "1", "-o", place) == 2
        assert "choose another place" in capsys.readouterr().err
    assert [file.read_text() for file in Path("tables").iterdir()] == [table]


@pytest.mark.parametrize("option", [("-o", "people.csv"), ("--plot", "people.svg", "--format", "json")])
def test_numbered_files_are_not_what_is_read_either(option: tuple[str, ...], discreet: Run, people: str) -> None:
    table = Path("people.csv").rename(f"people-2{Path(option[1]).suffix}")
    if table.suffix == ".csv":
        Path(people).write_text(Path(people).read_text().replace("people.csv", "people-2.csv"))
    else:
        Path("people.csv").write_bytes(table.read_bytes())
        table.unlink()
        os.link("people.csv", table)
    before = table.read_bytes()
    assert discreet("query", people, WARDS, "SELECT count(*) AS n FROM data", "--epsilon", "1", *option) == 2
    assert table.read_bytes() == before


def test_a_dash_is_standard_output(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("query", people, WARDS, "--epsilon", "1", "-o", "-", "--format", "csv") == 0
    assert capsys.readouterr().out.startswith("ward,n,")
    assert discreet("query", people, WARDS, "--epsilon", "1", "-o", "-", "--format", "parquet") == 2
    assert "Parquet needs a file" in capsys.readouterr().err
    assert discreet("init", "people.csv", "-o", "-") == 2
    assert "name a file" in capsys.readouterr().err
    assert not Path("-").exists()
