"""`discreet demo`: the made-up hospital, from its owner's file to a spent budget."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from discreet.cli.demo.hospital import CONFIGURATION, PATIENTS, build, visits
from discreet.curator.configuration import open as open_curator

Run = Callable[..., int]


def test_the_demo_tells_its_story(discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    state = os.environ["XDG_STATE_HOME"]
    assert discreet("demo") == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()) < 65
    for part in (
        "95 % error",
        "the same numbers, free",
        "surgery",
        "fracture",
        "Refused. This would exceed the budget: epsilon 3 requested",
        "Wrote a chart of debts and days to discreet-demo.png",
    ):
        assert part in said
    assert Path("discreet-demo.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in Path().iterdir()] == ["discreet-demo.png"]
    assert os.environ["XDG_STATE_HOME"] == state
    assert not Path(state).exists()


def test_the_chart_goes_where_it_is_told(discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("demo", "-o", "chart.bmp") == 2
    assert discreet("demo", "-o", "nowhere/chart.png") == 2
    assert capsys.readouterr().out == ""


def test_without_matplotlib_it_says_what_to_install(
    discreet: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    assert discreet("demo") == 0
    assert 'pip install "discreet[plot]"' in capsys.readouterr().out
    assert not list(Path().iterdir())


def test_the_lectures_are_still_there(discreet: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("demo", "--lectures") == 0
    said = capsys.readouterr().out
    for part in ("drug users", "total debt", "meeting place", "best price", "common hair", "±"):
        assert part in said
    assert not list(Path().iterdir())


def test_the_hospital_is_the_same_every_time() -> None:
    table = visits()
    assert table.equals(visits())
    assert 19_000 < table.num_rows < 21_000
    assert len(set(table["patient_id"].to_pylist())) == PATIENTS
    assert max(table["debt"].to_pylist()) > 200_000  # the tail that bounds are for
    assert table["diagnosis"].to_pylist().count("rabies") in range(1, 10)


def test_the_hospital_has_what_its_owner_declares(tmp_path: Path) -> None:
    file = build(tmp_path)
    assert file.read_text() == CONFIGURATION
    urban = "SELECT regions.urban, avg(debt) AS debt FROM data JOIN regions USING (region) GROUP BY regions.urban"
    with open_curator(file) as hospital:
        assert hospital.preview(urban, epsilon=0.5).groups == 2


def test_the_script_writes_the_same_hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Path(__file__).parents[2] / "examples" / "hospital" / "generate.py"
    monkeypatch.setattr("sys.argv", [str(script), str(tmp_path / "new")])
    runpy.run_path(str(script), run_name="__main__")
    assert parquet.read_table(tmp_path / "new" / "hospital.parquet").equals(visits())
    assert (tmp_path / "new" / "hospital.toml").read_text() == CONFIGURATION
