"""`discreet local`: a survey from task to table, and everything that can go wrong with its files."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

import discreet as dp

Run = Callable[..., int]
Said = pytest.CaptureFixture[str]
HAIR = ["dark", "blond", "brown", "red"]
ANSWERS = [*["dark"] * 600, *["red"] * 400]


@pytest.fixture
def hair(discreet: Run, capsys: Said) -> str:
    """A task that costs so much that a thousand reports say nearly the truth."""
    assert discreet("local", "task", "frequencies", "--domain", ",".join(HAIR), "--epsilon", "6", "-o", "hair.task.json") == 0
    Path("answers.txt").write_text("".join(f"{answer}\n" for answer in ANSWERS))
    capsys.readouterr()
    return "hair.task.json"


def refused(run: Callable[[], int], capsys: Said, sentence: str) -> None:
    """Exit code 2, one sentence, nothing on standard output."""
    capsys.readouterr()
    assert run() == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert said.out == ""


@pytest.mark.parametrize("reports", ["reports.jsonl", "reports.parquet"])
def test_a_survey_from_task_to_table(reports: str, discreet: Run, hair: str, capsys: Said) -> None:
    """The share of dark hair is off by more than 0.1 in less than one of 1e15 runs: 24 standard errors."""
    assert discreet("local", "randomize", hair, "answers.txt", "-o", reports) == 0
    assert "1,000 reports; each cost its sender epsilon 6" in capsys.readouterr().err
    assert discreet("local", "collect", hair, reports, "-o", "hair.state.json") == 0
    assert capsys.readouterr().err == "Counted 1,000 reports; hair.state.json holds 1,000.\n"
    assert discreet("local", "estimate", "hair.state.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["value", "%", "from", "to", "consistent"]
    assert [line.split()[0] for line in lines[2:4]] == ["dark", "red"]
    assert abs(float(lines[2].split()[1]) - 60) < 10
    assert discreet("local", "estimate", "hair.state.json", "--plot", "hair.png") == 0
    assert Path("hair.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_numbers_in_every_format(discreet: Run, hair: str, capsys: Said) -> None:
    assert discreet("local", "randomize", hair, "answers.txt", "-o", "reports.jsonl") == 0
    assert discreet("local", "collect", hair, "reports.jsonl", "-o", "hair.state.json") == 0
    capsys.readouterr()
    assert discreet("local", "estimate", "hair.state.json", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["version"], found["reports"], found["refused"], found["epsilon"]) == (1, 1000, {}, 6.0)
    assert [row["item"] for row in found["rows"]] == HAIR
    truth = dp.local.read_collector(Path("hair.state.json").read_text()).estimate()
    assert [row["share"] for row in found["rows"]] == truth.values.tolist()
    assert [row["upper"] for row in found["rows"]] == truth.interval()[1].tolist()
    assert discreet("local", "estimate", "hair.state.json", "-o", "hair.csv") == 0
    rows = list(csv.DictReader(io.StringIO(Path("hair.csv").read_text())))
    assert rows == [{name: str(cell) for name, cell in row.items()} for row in found["rows"]]
    assert discreet("local", "estimate", "hair.state.json", "-o", "hair.parquet") == 0
    assert parquet.read_table("hair.parquet").to_pylist() == found["rows"]


def test_states_grow_and_merge(discreet: Run, hair: str, capsys: Said) -> None:
    for day in ("monday.jsonl", "tuesday.parquet"):
        assert discreet("local", "randomize", hair, "answers.txt", "-o", day) == 0
    assert discreet("local", "collect", hair, "monday.jsonl", "-o", "one.json") == 0
    assert discreet("local", "collect", hair, "tuesday.parquet", "-o", "one.json") == 0
    assert discreet("local", "collect", hair, "tuesday.parquet", "monday.jsonl", "-o", "two.json") == 0
    one, two = (dp.local.read_collector(Path(name).read_text()) for name in ("one.json", "two.json"))
    assert one.count == two.count == 2000
    assert one.estimate().values.tolist() == two.estimate().values.tolist()
    assert discreet("local", "collect", hair, "one.json", "two.json", "-o", "three.json") == 0
    capsys.readouterr()
    for states in (("three.json",), ("one.json", "two.json")):
        assert discreet("local", "estimate", *states, "--format", "json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["reports"] == 4000
        assert [row["share"] for row in found["rows"]] == one.estimate().values.tolist()


def test_answers_from_tables(discreet: Run, hair: str, capsys: Said) -> None:
    Path("people.csv").write_text('id,hair\n1,dark\n2," red "\n')
    Path("people.tsv").write_text("id\thair\n1\tdark\n2\tred\n")
    parquet.write_table(pyarrow.table({"id": [1, 2], "hair": ["dark", "red"]}), "people.parquet")
    for table in ("people.csv", "people.tsv", "people.parquet"):
        assert discreet("local", "randomize", hair, table, "--column", "hair") == 0
        lines = capsys.readouterr().out.splitlines()
        assert [sorted(json.loads(line)) for line in lines] == [["r", "task", "v"]] * 2
        refused(lambda table=table: discreet("local", "randomize", hair, table), capsys, "--column")
        refused(lambda table=table: discreet("local", "randomize", hair, table, "--column", "id2"), capsys, "no column 'id2'")
    refused(lambda: discreet("local", "randomize", hair, "answers.txt", "--column", "hair"), capsys, "leave out --column")


def test_standard_input_and_output(discreet: Run, hair: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("dark\r\nred\n"))
    assert discreet("local", "randomize", hair, "--nonce") == 0
    reports = capsys.readouterr().out
    assert len({json.loads(line)["nonce"] for line in reports.splitlines()}) == 2
    twice = io.TextIOWrapper(io.BytesIO((reports + "\n" + reports).encode()))
    monkeypatch.setattr("sys.stdin", twice)
    assert discreet("local", "collect", hair, "-", "-o", "hair.state.json") == 0
    assert capsys.readouterr().err == "Counted 2 reports; hair.state.json holds 2.\nRefused: duplicate 2.\n"


@pytest.mark.parametrize(
    ("options", "entries", "meant"),
    [
        (("bit",), ["yes", "No", "TRUE", "0", " false"], [True, False, True, False, False]),
        (("frequencies", "--domain", "0..9"), ["0", " 9", "+3", "7"], [0, 9, 3, 7]),
        (("frequencies", "--domain", "7,-3,0"), ["7", "-3", "0 "], [7, -3, 0]),
        (("frequencies", "--domain", "7,007"), ["7", "007"], ["7", "007"]),
        (("frequencies", "--domain", 'a,"b, c", d'), ["a", "b, c", "d"], ["a", "b, c", "d"]),
    ],
    ids=["bit", "range", "numbers", "words", "quoted"],
)
def test_a_text_stands_for_the_answer_that_is_spelled_so(
    options: tuple[str, ...], entries: list[str], meant: list[object], discreet: Run, capsys: Said
) -> None:
    """At epsilon 1000 a report is the truth but for one in 1e400."""
    assert discreet("local", "task", *options, "--epsilon", "1000", "-o", "task.json") == 0
    task = dp.local.read_task(Path("task.json").read_text())
    Path("answers").write_text("\n".join(entries))
    capsys.readouterr()
    assert discreet("local", "randomize", "task.json", "answers") == 0
    reports = [json.loads(line)["r"] for line in capsys.readouterr().out.splitlines()]
    assert reports == task.codes(meant).tolist()


def test_tasks_are_those_of_python(discreet: Run, capsys: Said) -> None:
    Path("domain.txt").write_text("dark\n\n blond\n")
    written = {
        ("frequencies", "--domain", "@domain.txt"): dp.local.Frequencies(["dark", "blond"], epsilon=0.1),
        ("frequencies", "--domain", "0..20", "--protocol", "unary", "--missing", "3"): dp.local.Frequencies(
            range(21), epsilon=0.1, protocol="unary", missing=3
        ),
        ("frequencies", "--any-text", "--missing", "other"): dp.local.Frequencies(dp.text(), epsilon=0.1, missing="other"),
        ("frequencies", "--domain", "0..5000", "--max-bits", "16"): dp.local.Frequencies(range(5001), epsilon=0.1, max_bits=16),
        ("frequencies", "--domain", "0..5000", "--option", "max_bits=16"): dp.local.Frequencies(
            range(5001), epsilon=0.1, max_bits=16
        ),
        ("bit", "--option", "missing=no"): dp.local.Bit(epsilon=0.1, missing=False),
        ("bit", "--missing", "no", "--question", "Drugs?", "--period", "May"): dp.local.Bit(
            epsilon=0.1, missing=False, question="Drugs?", period="May"
        ),
    }
    for words, task in written.items():
        assert discreet("local", "task", *words, "--epsilon", "0.1") == 0
        assert capsys.readouterr().out == task.to_json() + "\n"
    assert discreet("local", "task", "bit", "--epsilon", "0.1", "--people", "50", "-o", "bit.json") == 0
    assert "the answer will be noise" in capsys.readouterr().err


NUMBERS = ("--lower", "0", "--upper", "15")


@pytest.mark.parametrize(
    ("options", "answers", "names"),
    [
        (
            ("mean", *NUMBERS, "--step", "1", "--missing", "0"),
            ["3", "nonsense"],
            "mean standard_error lower upper consistent",
        ),
        (("distribution", *NUMBERS, "--bins", "16"), ["3", "1e1"], "from to share standard_error lower upper"),
        (("heavy-hitters", "--length", "2", "--alphabet", "abc"), ["ab", "cc"], "item share standard_error lower upper"),
    ],
    ids=["mean", "distribution", "heavy-hitters"],
)
def test_other_kinds_of_tasks(options: tuple[str, ...], answers: list[str], names: str, discreet: Run, capsys: Said) -> None:
    """Every kind through all four commands; what the numbers mean is tested with the tasks themselves."""
    assert discreet("local", "task", *options, "--epsilon", "4", "--people", "2000", "-o", "task.json") == 0
    assert "standard error" in capsys.readouterr().err
    Path("answers.txt").write_text("".join(f"{answer}\n" for answer in answers * 1000))
    assert discreet("local", "randomize", "task.json", "answers.txt", "-o", "reports.jsonl") == 0
    assert discreet("local", "collect", "task.json", "reports.jsonl", "-o", "state.json") == 0
    capsys.readouterr()
    assert discreet("local", "estimate", "state.json") == 0
    assert "2,000 people who reported" in capsys.readouterr().out
    assert discreet("local", "estimate", "state.json", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows
    assert " ".join(rows[0]) == names
    assert discreet("local", "estimate", "state.json", "-o", "state.csv") == 0
    assert Path("state.csv").read_text().splitlines()[0] == names.replace(" ", ",")
    assert discreet("local", "estimate", "state.json", "-o", "state.parquet") == 0
    assert parquet.read_table("state.parquet").to_pylist() == rows
    assert discreet("local", "estimate", "state.json", "--plot", "shape.svg") == 0
    assert Path("shape.svg").read_text().startswith("<?xml")


def test_any_text_needs_candidates(discreet: Run, capsys: Said) -> None:
    assert discreet("local", "task", "frequencies", "--any-text", "--epsilon", "6", "-o", "word.task.json") == 0
    Path("answers.txt").write_text("yes\n" * 300)
    assert discreet("local", "randomize", "word.task.json", "answers.txt", "-o", "reports.jsonl") == 0
    collect = ("local", "collect", "word.task.json", "reports.jsonl", "-o", "word.state.json")
    refused(lambda: discreet(*collect), capsys, "candidates")
    assert not Path("word.state.json").exists()
    assert discreet(*collect, "--candidates", "yes,no") == 0
    assert discreet("local", "randomize", "word.task.json", "answers.txt", "-o", "reports.jsonl") == 0
    assert discreet(*collect) == 0  # the state knows them
    capsys.readouterr()
    assert discreet("local", "estimate", "word.state.json", "--format", "json") == 0
    shares = {row["item"]: row["share"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert shares["yes"] > 0.5 > shares["no"]  # 600 reports: a dozen standard errors away
    refused(lambda: discreet(*collect, "--candidates", "yes,maybe"), capsys, "other candidates")


def test_bad_reports_are_counted_and_named(discreet: Run, hair: str, capsys: Said) -> None:
    assert discreet("local", "task", "bit", "--epsilon", "1", "-o", "bit.task.json") == 0
    assert discreet("local", "randomize", hair, "answers.txt", "-o", "good.parquet") == 0
    Path("cut.parquet").write_bytes(Path("good.parquet").read_bytes()[:-50])
    Path("bad.jsonl").write_text('nonsense\n{"v":9}\n{"v":1,"task":"x","r":0}\n[]\n')
    capsys.readouterr()
    assert discreet("local", "collect", hair, "bad.jsonl", "cut.parquet", "good.parquet", "-o", "hair.state.json") == 2
    assert capsys.readouterr().err.splitlines() == [
        "cut.parquet cannot be read to its end; none of its reports was counted.",
        "Counted 1,000 reports; hair.state.json holds 1,000.",
        "Refused: malformed 2, another version 1, another task 1, unreadable file 1.",
    ]
    assert discreet("local", "collect", "bit.task.json", "good.parquet", "-o", "bit.state.json") == 2
    assert "Refused: another task 1,000." in capsys.readouterr().err
    refused(lambda: discreet("local", "estimate", "bit.state.json"), capsys, "no reports")


def test_nothing_counts_twice(discreet: Run, hair: str, capsys: Said) -> None:
    for day in ("monday.jsonl", "tuesday.parquet"):
        assert discreet("local", "randomize", hair, "answers.txt", "-o", day) == 0
    collect = ("local", "collect", hair)
    assert discreet(*collect, "monday.jsonl", "-o", "one.json") == 0
    Path("copy.jsonl").write_bytes(Path("monday.jsonl").read_bytes())
    capsys.readouterr()
    assert discreet(*collect, "monday.jsonl", "copy.jsonl", "-o", "one.json") == 2  # nothing was counted
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(" was collected before")[0] for line in said[:2]] == ["monday.jsonl", "copy.jsonl"]
    assert said[2:] == ["Counted 0 reports; one.json holds 1,000.", "Refused: collected before 2."]
    assert discreet(*collect, "tuesday.parquet", "monday.jsonl", "tuesday.parquet", "-o", "one.json") == 0
    assert "Counted 1,000 reports; one.json holds 2,000.\nRefused: collected before 2." in capsys.readouterr().err
    assert discreet(*collect, "one.json", "-o", "all.json") == 0
    assert discreet("local", "randomize", hair, "answers.txt", "-o", "wednesday.jsonl") == 0
    assert discreet(*collect, "wednesday.jsonl", "-o", "one.json") == 0  # it has grown
    capsys.readouterr()
    assert discreet(*collect, "one.json", "-o", "all.json") == 2
    assert "one.json has reports that were merged before" in capsys.readouterr().err
    refused(lambda: discreet("local", "estimate", "one.json", "all.json"), capsys, "in common")
    assert dp.local.read_collector(Path("all.json").read_text()).count == 2000


def test_runs_at_once_lose_nothing(discreet: Run, hair: str) -> None:
    days = [f"{day}.jsonl" for day in range(4)]
    for day in days:
        assert discreet("local", "randomize", hair, "answers.txt", "-o", day) == 0
    command = "from discreet.cli import main; main()"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", command, "local", "collect", hair, day, "-o", "all.json"], stderr=subprocess.DEVNULL
        )
        for day in days
    ]
    assert [run.wait(timeout=600) for run in runs] == [0] * 4
    assert dp.local.read_collector(Path("all.json").read_text()).count == 4000
    assert not Path("all.json.lock").exists()


def test_one_answer_outside_and_nothing_is_written(discreet: Run, hair: str, capsys: Said) -> None:
    Path("answers.txt").write_text("dark\nsecret\n")
    for words in ((), ("-o", "reports.jsonl"), ("-o", "reports.parquet")):
        refused(
            lambda words=words: discreet("local", "randomize", hair, "answers.txt", *words), capsys, "outside the task's domain"
        )
    assert sorted(path.name for path in Path().iterdir()) == ["answers.txt", hair]


def test_no_answers_are_no_reports(discreet: Run, hair: str, capsys: Said) -> None:
    Path("answers.txt").write_text("")
    for file in ("reports.jsonl", "reports.parquet"):
        assert discreet("local", "randomize", hair, "answers.txt", "-o", file) == 0
        assert discreet("local", "collect", hair, file, "-o", "hair.state.json") == 2
        assert "Counted 0 reports" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("task", "frequencies", "--epsilon", "1"), "--any-text"),
        (("task", "frequencies", "--epsilon", "1", "--domain", "a,b", "--any-text"), "--any-text"),
        (("task", "frequencies", "--epsilon", "1", "--domain", ""), "no answers"),
        (("task", "frequencies", "--epsilon", "1", "--domain", "a"), "at least two values"),
        (("task", "frequencies", "--epsilon", "1", "--domain", "9..0"), "at least two values"),
        (("task", "frequencies", "--epsilon", "1", "--domain", "@nowhere"), "cannot be read"),
        (("task", "frequencies", "--epsilon", "0", "--domain", "a,b"), "above 0"),
        (("task", "frequencies", "--epsilon", "1", "--domain", "a,b", "--protocol", "magic"), "no protocol called magic"),
        (("task", "frequencies", "--epsilon", "1", "--domain", "a,b", "--missing", "c"), "missing="),
        (("task", "frequencies", "--epsilon", "1", "--domain", "a,b", "-o", "hair.task.json"), "not overwritten"),
        (("task", "bit", "--epsilon", "1", "--domain", "a,b"), "--domain does not belong"),
        (("task", "bit", "--epsilon", "1", "--missing", "maybe"), "missing="),
        (("task", "bit", "--epsilon", "1", "--option", "colour=red"), "--colour does not belong"),
        (("task", "bit", "--epsilon", "1", "--option", "epsilon"), "epsilon must be a number"),
        (("task", "repeated", "--epsilon", "1", "--permanent", "2", "--values", "1", "--any-text"), "closed domain"),
        (("task", "mean", "--epsilon", "1", "--lower", "0"), "--upper 15"),
        (("task", "mean", "--epsilon", "1", *NUMBERS, "--bins", "3"), "--bins does not belong"),
        (("task", "distribution", "--epsilon", "1", *NUMBERS, "--missing", "never"), "missing="),
        (("task", "heavy-hitters", "--epsilon", "1", "--any-text"), "--any-text does not belong"),
        (("task", "bit", "--epsilon", "1", "--people", "0"), "at least 1"),
        (("task", "bit", "--epsilon", "1", "-o", "nowhere/task.json"), "folder that exists"),
        (("randomize", "nowhere.json", "answers.txt"), "cannot be read"),
        (("randomize", "answers.txt", "answers.txt"), "not a task"),
        (("randomize", "hair.task.json", "nowhere.txt"), "cannot be read"),
        (("randomize", "hair.task.json", "answers.txt", "-o", "nowhere/reports.jsonl"), "folder that exists"),
        (("randomize", "hair.task.json", "fake.parquet", "--column", "hair"), "not a Parquet file"),
        (("collect", "hair.task.json", "nowhere.jsonl", "-o", "hair.state.json"), "no file nowhere.jsonl"),
        (("collect", "hair.task.json", "hair.task.json", "-o", "hair.state.json"), "not the state of a collector"),
        (("collect", "hair.task.json", "answers.txt", "-o", "answers.txt"), "not the state of a collector"),
        (("collect", "hair.task.json", "answers.txt", "-o", "nowhere/state.json"), "folder that exists"),
        (("collect", "hair.task.json", "--candidates", "a", "answers.txt", "-o", "hair.state.json"), "candidates="),
        (("randomize", "hair.task.json", "answers.txt", "-o", "answers.txt"), "belongs to what is read"),
        (("randomize", "hair.task.json", "answers.txt", "-o", "./hair.task.json"), "belongs to what is read"),
        (("collect", "hair.task.json", "answers.txt", "-o", "hair.task.json"), "not the state of a collector"),
        (("collect", "hair.task.json", "answers.txt", "-o", "-"), "name a file"),
        (("estimate", "hair.task.json", "-o", "hair.task.json"), "belongs to what is read"),
        (("estimate", "hair.task.json", "link.svg", "--plot", "link.svg"), "belongs to what is read"),
        (("estimate", "nowhere.json"), "cannot be read"),
        (("estimate", "hair.task.json"), "not the state of a collector"),
        (("estimate", "hair.task.json", "--format", "parquet"), "-o result.parquet"),
        (("estimate", "hair.task.json", "--plot", "chart.bmp"), ".png or .svg"),
        (("estimate", "hair.task.json", "-o", "nowhere/shares.csv"), "folder that exists"),
    ],
)
@pytest.mark.usefixtures("hair")
def test_refusals_are_sentences(words: tuple[str, ...], sentence: str, discreet: Run, capsys: Said) -> None:
    Path("fake.parquet").write_text("no Parquet")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    refused(lambda: discreet("local", *words), capsys, sentence)
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_a_state_of_another_task_is_left_alone(discreet: Run, hair: str, capsys: Said) -> None:
    assert discreet("local", "task", "bit", "--epsilon", "1", "-o", "bit.task.json") == 0
    Path("bits.txt").write_text("yes\n")
    assert discreet("local", "randomize", "bit.task.json", "bits.txt", "-o", "bits.jsonl") == 0
    assert discreet("local", "collect", "bit.task.json", "bits.jsonl", "-o", "bit.state.json") == 0
    before = Path("bit.state.json").read_bytes()
    refused(lambda: discreet("local", "collect", hair, "bits.jsonl", "-o", "bit.state.json"), capsys, "another task")
    refused(lambda: discreet("local", "collect", hair, "bit.state.json", "-o", "hair.state.json"), capsys, "another task")
    assert Path("bit.state.json").read_bytes() == before
    assert not Path("hair.state.json").exists()


def test_every_command_has_examples(discreet: Run, capsys: Said) -> None:
    for command in ("task", "randomize", "collect", "estimate"):
        assert discreet("local", command, "--help") == 0
        assert f"discreet local {command}" in capsys.readouterr().out


def test_the_guide_runs(discreet: Run) -> None:
    """The commands of docs/local.md, in their order."""
    guide = (Path(__file__).parents[2] / "docs" / "local.md").read_text()
    commands = re.findall(r"^discreet (.*)$", "".join(re.findall(r"```sh\n(.*?)```", guide, flags=re.DOTALL)), flags=re.MULTILINE)
    assert len(commands) == 4
    Path("people.csv").write_text("name,hair\n" + "Alice,red\nBob,dark\n" * 50)
    for command in commands:
        assert discreet(*shlex.split(command)) == 0
    assert Path("hair.png").exists()


def test_attributes_are_columns_of_one_table(discreet: Run, capsys: Said) -> None:
    assert discreet("local", "task", "bit", "--epsilon", "6", "-o", "smokes.json") == 0
    assert discreet("local", "task", "mean", "--lower", "0", "--upper", "10", "--epsilon", "6", "-o", "age.json") == 0
    both = ("local", "task", "attributes", "--of", "smokes=smokes.json", "--of", "age=age.json")
    refused(lambda: discreet(*both, "--epsilon", "1"), capsys, "--epsilon does not belong")
    refused(lambda: discreet(*both[:-2]), capsys, "two or more tasks")
    refused(lambda: discreet(*both[:-2], "--of", "smokes=age.json"), capsys, "different names")
    capsys.readouterr()
    assert discreet(*both, "--people", "4000", "-o", "both.json") == 0
    assert capsys.readouterr().err.count("standard error") == 2
    Path("people.csv").write_text("age,smokes\n" + "2,yes\n8,yes\n" * 2000)
    assert discreet("local", "randomize", "both.json", "people.csv", "-o", "reports.jsonl") == 0
    refused(lambda: discreet("local", "randomize", "both.json", "people.csv", "--column", "age"), capsys, "leave out --column")
    refused(lambda: discreet("local", "randomize", "both.json"), capsys, "columns of a table")
    assert discreet("local", "collect", "both.json", "reports.jsonl", "-o", "state.json") == 0
    capsys.readouterr()
    assert discreet("local", "estimate", "state.json", "--plot", "both.png") == 0
    said = capsys.readouterr().out
    assert said.startswith("age\n")
    assert "\nsmokes\n" in said
    assert discreet("local", "estimate", "state.json", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)["attributes"]
    assert abs(found["age"][0]["mean"] - 5) < 1  # 2,000 reports with a standard error below 0.1
    assert found["smokes"][0]["share"] > 0.9  # a standard error below 0.01
    refused(lambda: discreet("local", "estimate", "state.json", "--format", "csv"), capsys, "--format json")
    refused(lambda: discreet("local", "estimate", "state.json", "-o", "state.parquet"), capsys, "--format json")
    assert not Path("state.parquet").exists()


def test_a_repeated_question(discreet: Run, capsys: Said) -> None:
    asked = ("local", "task", "repeated", "--domain", "good,bad", "--epsilon", "2")
    refused(lambda: discreet(*asked), capsys, "--permanent")
    refused(lambda: discreet(*asked, "--permanent", "4"), capsys, "--values 2")
    refused(lambda: discreet(*asked, "--permanent", "4", "--values", "3"), capsys, "values=2")
    assert discreet(*asked, "--permanent", "4", "--values", "2", "-o", "mood.json") == 0
    assert Path("mood.json").read_text() == dp.local.Repeated(["good", "bad"], 2, permanent=4, values=2).to_json() + "\n"
    Path("answers.txt").write_text("good\n" * 2000)
    assert discreet("local", "randomize", "mood.json", "answers.txt", "-o", "reports.parquet") == 0
    assert discreet("local", "collect", "mood.json", "reports.parquet", "-o", "state.json") == 0
    capsys.readouterr()
    assert discreet("local", "estimate", "state.json", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["item"] == "good"
    assert rows[0]["share"] > 0.8  # a standard error of 0.02


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_marked_reports_are_counted_once(ending: str, discreet: Run, capsys: Said) -> None:
    assert discreet("local", "task", "frequencies", "--domain", "dark,red", "--epsilon", "1", "-o", "hair.json") == 0
    Path("answers.txt").write_text("dark\nred\n" * 50)
    for name in ("empty.txt", "answers.txt"):
        Path("empty.txt").write_text("")
        assert discreet("local", "randomize", "hair.json", name, "--nonce", "-o", f"{name}.{ending}") == 0
    assert discreet("local", "collect", "hair.json", f"answers.txt.{ending}", "-o", "state.json") == 0
    reports = Path(f"answers.txt.{ending}")
    twice = Path(f"twice.{ending}")
    if ending == "parquet":
        table = parquet.read_table(reports)
        parquet.write_table(table.slice(0, 10), twice)
    else:
        twice.write_text("".join(reports.read_text().splitlines(keepends=True)[:10]))
    capsys.readouterr()
    assert discreet("local", "collect", "hair.json", str(twice), "-o", "state.json") == 2  # nothing new
    assert "duplicate 10" in capsys.readouterr().err
    assert dp.local.read_collector(Path("state.json").read_text()).count == 100


def test_a_missing_file_is_named_once(discreet: Run, capsys: Said) -> None:
    for words in (("estimate", "nowhere.json"), ("randomize", "nowhere.json")):
        assert discreet("local", *words) == 2
        assert capsys.readouterr().err.count("nowhere.json") == 1
