"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from contract.stores import PROMISES
from local import protocols, tasks
from support.toy_protocol import Backwards
from support.toy_task import Grades

import discreet as dp
from discreet.cli import main
from discreet.ledger.store import STORES
from discreet.local.protocols import PROTOCOLS
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.task import KINDS, Task


@pytest.mark.parametrize("promise", protocols.PROMISES, ids=lambda promise: promise.__name__)
def test_a_local_protocol(promise: Callable[[FrequencyProtocol], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/toy_protocol.py``, and one line; then tasks name it, and their collectors estimate from its reports."""
    promise(Backwards(Fraction(1), 5))
    monkeypatch.setitem(PROTOCOLS, "backwards", Backwards)
    task = dp.local.Frequencies(range(5), 20, protocol="backwards")
    collector = dp.local.read_task(task.to_json()).collector()
    collector.add(task.randomize([3] * 50))
    assert collector.estimate()[3] > 0.9  # type: ignore[index]


@pytest.mark.parametrize("promise", tasks.PROMISES, ids=lambda promise: promise.__name__)
def test_a_local_task(promise: Callable[[Task, object], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/toy_task.py``, and one line."""
    monkeypatch.setitem(KINDS, "grades", Grades)
    promise(Grades(1, question="How was it?"), [1, 2, 6] * 10)


def test_the_command_line_knows_a_new_local_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "grades", Grades)
    monkeypatch.chdir(tmp_path)
    Path("grades.task.json").write_text(Grades(20).to_json())
    Path("answers.txt").write_text("1\n2\n2\n")
    for command in (
        ["randomize", "grades.task.json", "answers.txt", "-o", "reports.jsonl"],
        ["collect", "grades.task.json", "reports.jsonl", "-o", "state.json"],
        ["estimate", "state.json", "-o", "grades.csv"],
    ):
        monkeypatch.setattr(sys, "argv", ["discreet", "local", *command])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    assert Path("grades.csv").read_text().splitlines()[2].startswith("2,0.66")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_ledger_store(promise: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/memory_store.py``, and one line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setitem(STORES, ".memory", "support.memory_store")
    promise(tmp_path / "clinic.memory")
    assert not (tmp_path / "clinic.memory").exists()
