"""`discreet synthesize`: rows and models in files, previews without data, refusals before payment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.synthetic.rounds import run

Run = Callable[..., int]
SMALL = ("--seconds", "0.2")


def paid(people: str) -> int:
    """How many questions the ledger knows."""
    with dp.open(people) as curator:
        return len(curator.history())


def test_rows_and_the_model_are_written(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        discreet("synthesize", people, "--epsilon", "1", "-o", "a.parquet", "-o", "a.csv", "-o", "a.npz", "--rows", "50", *SMALL)
        == 0
    )
    said = capsys.readouterr()
    assert "Cost epsilon=1.0, paid once" in said.out
    assert paid(people) == 1
    assert "Wrote a.npz" in said.err
    assert pyarrow.parquet.read_table("a.parquet").column_names == ["age", "ward"]
    assert pyarrow.csv.read_csv("a.csv").num_rows == 50
    assert len(dp.Synthetic.load("a.npz").sample(7)) == 7
    assert discreet("synthesize", people, "--epsilon", "1", "-o", "b.csv", *SMALL) == 0  # asked again: free
    assert paid(people) == 1
    assert discreet("synthesize", people, "--epsilon", "5", "-o", "b.csv", *SMALL) == 3
    assert discreet("synthesize", people, "--epsilon", "1", "--column", "ward", "--target", "ward", "-o", "c.csv", *SMALL) == 0
    assert pyarrow.csv.read_csv("c.csv").column_names == ["ward"]


def test_cells_are_bought(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--bought, once for every column: values of a text that people share, and runs of a number, within the same price."""
    words = ("synthesize", people, "--epsilon", "1", "--bought", "note", "--bought", "age", *SMALL)
    assert discreet(*words, "--preview") == 0
    assert "note" in capsys.readouterr().out
    assert paid(people) == 0
    assert discreet(*words, "-o", "a.npz", "-o", "a.csv", "--rows", "40") == 0
    model = dp.Synthetic.load("a.npz")
    assert {*model.columns} == {"age", "ward", "note"}
    assert len(model.measured.bought) == 2
    assert model.measured.spent == model.measured.cost.amount
    note, age = (model.domain.columns[model.columns.index(name)] for name in ("note", "age"))
    assert {*(note.values or ())} <= {"n0", "n1", "n2"}
    assert age.present < 121  # fewer runs than values
    assert pyarrow.csv.read_csv("a.csv").num_rows == 40
    assert discreet(*words, "-o", "b.csv") == 0  # asked again: free
    assert paid(people) == 1
    capsys.readouterr()
    assert discreet("synthesize", people, "--epsilon", "0.5", "--bought", "height", "-o", "c.csv", *SMALL) == 2
    assert "height" in capsys.readouterr().err
    assert paid(people) == 1


def test_a_preview_reads_no_data(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("people.csv").unlink()
    assert discreet("synthesize", people, "--epsilon", "1", "--preview") == 0
    said = capsys.readouterr().out
    for word in ("Would cost epsilon=1", "No data was read", "MB", "combinations of cells"):
        assert word in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "1"), "Where shall the rows go?"),
        (("--epsilon", "1", "-o", "rows.xls"), "ends in none of .parquet"),
        (("--epsilon", "1", "-o", "nowhere/rows.csv"), "not a file in a folder that exists"),
        (("--epsilon", "1", "-o", "people.csv"), "would be overwritten"),
        (("-o", "rows.csv"), "What may this question cost?"),
        (("--epsilon", "1", "--column", "height", "-o", "rows.csv"), "height is no declared column"),
    ],
)
def test_refusals_cost_nothing(
    words: tuple[str, ...], said: str, discreet: Run, people: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert discreet("synthesize", people, *words) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().glob("*.ledger"))


def test_an_interrupt_keeps_what_was_measured(
    discreet: Run, people: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the columns' own counts: a model of these, which is committed and free when asked again."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run.Run, "_rounds", interrupted)
        assert discreet("synthesize", people, "--epsilon", "1", "-o", "a.csv", *SMALL) == 0
    assert "It was interrupted" in capsys.readouterr().out
    assert discreet("synthesize", people, "--epsilon", "1", "-o", "b.csv", *SMALL) == 0
    said = capsys.readouterr().out
    assert "It was interrupted" in said
    assert paid(people) == 1
