"""`discreet audit`: exit codes, words, JSON, a page, and one sentence for every refusal."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MODULE = """\
import discreet as dp
print("loading")
pairs = [([1, 2], [1]), ([1], [])]
def made():
    return iter(pairs)
def good(rows):
    print("noise on the standard output")
    return dp.Laplace(sensitivity=1, epsilon=1).release(len(rows))
def bad(rows):
    return dp.Laplace(sensitivity=1, epsilon=1).release(5 * len(rows))
def leaky(rows):
    return len(rows)
def naive(rows):
    import random
    return float(len(rows)) + random.choice([-1, 1]) * random.expovariate(1)
def table(rows):
    return dp.Laplace(sensitivity=1, epsilon=1).release(rows.num_rows)
def visits(tables):
    return dp.Laplace(sensitivity=1, epsilon=1).release(tables["visits"].num_rows)
def persons(tables):
    found = {one for table in tables.values() for one in table["pid"].to_pylist() if one is not None}
    return dp.Laplace(sensitivity=1, epsilon=1).release(len(found))
def stops(rows):
    import os, signal
    os.kill(os.getpid(), signal.SIGINT)
    return good(rows)
def writes(rows):
    import os
    os.write(1, b"to the descriptor")
    return good(rows)
def broken():
    raise ValueError("no pairs today")
number = 7
"""
FACTS = """\
version = 1
source = "nowhere.csv"
[unit]
rows = true
[budget]
epsilon = 1
[columns]
age = { type = "integer", lower = 0, upper = 120 }
"""


SEVERAL = """\
version = 1
[unit]
person = "pid"
rows = 2
groups = 2
[budget]
epsilon = 1
[tables.patients]
source = "nowhere.csv"
[tables.patients.columns]
age = { type = "integer", lower = 0, upper = 120 }
[tables.visits]
source = "nowhere.csv"
[tables.visits.columns]
cost = { type = "integer", lower = 0, upper = 9 }
"""


@pytest.fixture(autouse=True)
def _module(_here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    Path("count.py").write_text(MODULE)
    Path("empty.py").write_text("def f(rows):\n    return 0\n")
    Path("facts.toml").write_text(FACTS)
    Path("several.toml").write_text(SEVERAL)


def test_exit_codes(discreet: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("audit", "count.py::good", "--claim", "epsilon=1", "--draws", "300", "--error", "1e-6") == 0
    said = capsys.readouterr().out
    assert said.startswith("not refuted by ")
    assert "on these 2 pairs" in said
    assert discreet("audit", "count.py::bad", "--claim", "epsilon=1") == 1
    assert "moved by 5, declared 1" in capsys.readouterr().out
    assert discreet("audit", "count.py::leaky", "--claim", "epsilon=1,delta=1e-6") == 1
    assert "is refuted by" in capsys.readouterr().out
    assert discreet("audit", "count.py::naive", "--claim", "epsilon=1", "--draws", "5000") == 1
    assert "floating-point noise: the low bits of the output tell the inputs apart" in capsys.readouterr().out
    words = ("audit", "count.py::naive", "--claim", "epsilon=1", "--draws", "300", "--error", "1e-6", "--floats", "ignore")
    assert discreet(*words) == 0
    capsys.readouterr()
    assert discreet("audit", "count.py::stops", "--claim", "epsilon=1") == 2
    assert capsys.readouterr().out.startswith("stopped by hand, and not refuted by 0 draws")


def test_other_pairs(discreet: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("audit", "empty.py::f", "--claim", "epsilon=1", "--pairs", "count.py::made", "--draws", "300") == 2
    assert "cannot be audited: every run gave the same output" in capsys.readouterr().out
    for pairs in ("made", "count.py::made"):  # a name alone is one of the same file
        assert discreet("audit", "count.py::bad", "--claim", "epsilon=1", "--pairs", pairs) == 1
    capsys.readouterr()
    words = ("audit", "count.py::table", "--claim", "rho=0.5", "--schema", "facts.toml", "--draws", "50", "--format", "json")
    assert discreet(*words, "--error", "1e-6") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["pairs"] > 20
    assert 0 < facts["replayed"] <= facts["pairs"]


def test_a_function_of_several_tables(discreet: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    """It is given them by name, and a person changes in all of them at once."""
    words = ("--claim", "epsilon=1", "--schema", "several.toml", "--draws", "50", "--error", "1e-6", "--format", "json")
    assert discreet("audit", "count.py::persons", *words) == 0
    capsys.readouterr()
    assert discreet("audit", "count.py::visits", *words) == 1
    Path("again.py").write_text(json.loads(capsys.readouterr().out)["script"])
    runpy.run_path("again.py")
    assert "declared 1" in capsys.readouterr().out


def test_json_is_alone_on_the_standard_output_and_the_script_runs(
    discreet: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("audit", "count.py::bad", "--claim", "epsilon=1", "--format", "json") == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["version"] == 1
    Path("again.py").write_text(facts["script"])
    runpy.run_path("again.py")
    assert "Violated on this pair: release 1 (Laplace) moved by 5, declared 1" in capsys.readouterr().out


HELPED = """\
import os
import random
import helper
os.system("echo loading")
class Rows:
    def __init__(self, n):
        self.n = n
def made():
    yield Rows(2), Rows(1)
pairs = made()
def leaks(rows):
    assert isinstance(rows, Rows)
    return helper.ONE * rows.n + random.random() / 2
"""


@pytest.mark.parametrize("others", [(), ("--pairs", "deep/helped.py::made"), ("--pairs", "deep/cases/more.py::more")], ids=len)
def test_the_script_runs_where_files_need_each_other(
    others: tuple[str, ...], discreet: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    """Pairs from a generator of objects that are no literals, and modules beside the files."""
    Path("deep/cases").mkdir(parents=True)
    Path("deep/helped.py").write_text(HELPED)
    Path("deep/helper.py").write_text("ONE = 1\n")
    Path("deep/cases/more.py").write_text("import beside\nmore = iter([(beside.Rows(2), beside.Rows(1))])\n")
    Path("deep/cases/beside.py").write_text("class Rows:\n    def __init__(self, n):\n        self.n = n\n")
    if others and "more" in others[1]:
        Path("deep/helped.py").write_text(HELPED.replace("    assert isinstance(rows, Rows)\n", ""))
    words = ("audit", "deep/helped.py::leaks", "--claim", "epsilon=1", "--format", "json", *others)
    assert discreet(*words) == 1
    facts = json.loads(capfd.readouterr().out)
    Path("again.py").write_text(facts["script"])
    done = subprocess.run([sys.executable, "again.py"], capture_output=True, text=True, timeout=600, check=True)
    assert "violated: the claim epsilon=1 is refuted" in done.stdout


def test_json_is_alone_also_when_descriptors_are_written_to(
    discreet: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("audit", "count.py::writes", "--claim", "epsilon=1", "--format", "json", "--draws", "300", "--error", "1e-6")
    assert discreet(*words) == 0
    assert json.loads(capfd.readouterr().out)["outcome"] == "not refuted"


def test_the_page_of_a_sampled_violation_has_a_script_that_runs(discreet: Callable[..., int]) -> None:
    assert discreet("audit", "count.py::leaky", "--claim", "epsilon=1", "--html", "audit.html", "--format", "json") == 1
    page = Path("audit.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "count.py" in page


def test_a_bar_on_a_terminal_only(
    discreet: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("audit", "count.py::good", "--claim", "epsilon=1", "--draws", "300", "--error", "1e-6")
    assert discreet(*words) == 0
    assert "Sampling" not in capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert discreet(*words) == 0
    assert "Sampling" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["count.py", "--claim", "epsilon=1"], "write count.py::noisy_count"),
        (["gone.py::f", "--claim", "epsilon=1"], "There is no file gone.py"),
        (["count.py::gone", "--claim", "epsilon=1"], "has nothing called gone"),
        (["count.py::number", "--claim", "epsilon=1"], "is not a function"),
        (["facts.toml::f", "--claim", "epsilon=1"], "is not a Python file"),
        (["wrong.py::f", "--claim", "epsilon=1"], "wrong.py cannot be loaded: SyntaxError"),
        (["leaves.py::f", "--claim", "epsilon=1"], "leaves.py cannot be loaded: SystemExit"),
        (["empty.py::f", "--claim", "epsilon=1"], "write pairs = [([1, 2], [1])]"),
        (["count.py::good", "--claim", "epsilon=1", "--pairs", "count.py::number"], "list of pairs"),
        (["count.py::good", "--claim", "epsilon=1", "--pairs", "count.py::broken"], "no pairs today"),
        (
            ["count.py::good", "--claim", "epsilon=1", "--pairs", "count.py::pairs", "--schema", "facts.toml"],
            "leave one of them out",
        ),
        (["count.py::good", "--claim", "epsilon=1", "--schema", "gone.toml"], "cannot be read"),
        (["count.py::good", "--claim", "much"], "is no claim"),
        (["count.py::good", "--claim", "epsilon=1,rho=1"], "is no claim"),
        (["count.py::good", "--claim", "epsilon=1,epsilon=2"], "says epsilon twice"),
        (["count.py::good", "--claim", "epsilon=-1"], "epsilon must lie between"),
        (["count.py::good", "--claim", "epsilon=nan"], "epsilon must be finite"),
        (["count.py::good", "--claim", "rho=0"], "rho must be above 0"),
        (["count.py::good", "--claim", "epsilon=1", "--time", "soon"], "is no time"),
        (["count.py::good", "--claim", "epsilon=1", "--time", "0s"], "is no time"),
        (["count.py::good", "--claim", "epsilon=1", "--error", "2"], "error must lie in"),
        (["count.py::good", "--claim", "epsilon=1", "--draws", "0"], "draws must"),
        (["count.py::good", "--claim", "epsilon=1", "--floats", "no"], "ignore"),
        (["count.py::good", "--claim", "epsilon=1", "--html", "nowhere/page.html"], "choose another place"),
        (["count.py::good", "--claim", "epsilon=1", "--html", "count.py"], "belongs to what is read"),
        (["count.py::good", "--claim", "epsilon=1", "--html", "-"], "name a file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refusals(words: list[str], sentence: str, discreet: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.py").write_text("def f(:\n")
    Path("leaves.py").write_text("import sys\nsys.exit(0)\n")
    assert discreet("audit", *words) == 2
    said = capsys.readouterr().err.replace("loading\n", "")
    assert sentence in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1


def test_the_command_itself() -> None:
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "audit", "count.py::bad", "--claim", "epsilon=1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("violated: ")
