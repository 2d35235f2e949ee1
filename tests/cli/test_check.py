"""`discreet check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., int]


def test_a_look_is_printed_marked_and_noted(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = Path(people).read_text()
    Path(people).write_text(facts.replace('"eye", "ear"', '"Eye", "ear", "nose"'))
    before = set(Path().iterdir())
    assert discreet("check", people) == 0
    said = capsys.readouterr().out
    assert said.startswith("NOT PRIVATE")
    assert "ward: 'Eye' not found as declared" in said
    assert "ward: 'nose' not found." in said
    assert set(Path().iterdir()) - before == {Path("people-by-id.ledger")}
    assert discreet("budget", people, "--history") == 0
    assert "looked" in capsys.readouterr().out
    Path(people).write_text(facts)
    assert discreet("preview", people, "SELECT count(*) AS n FROM data", "--epsilon", "0.1") == 0
    assert "Declarations changed after the owner looked at the data (ward)" in capsys.readouterr().out


def test_shares_are_bought(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert discreet("check", people, "--epsilon", "0.5") == 0
    said = capsys.readouterr().out
    assert "NOT PRIVATE" not in said
    assert "Cost epsilon=0.5" in said
    assert discreet("check", people, "--epsilon", "3") == 3
    assert discreet("check", people, "--rho", "3") == 2
