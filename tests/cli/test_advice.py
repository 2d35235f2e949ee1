"""`discreet bounds` and `discreet contributions`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., int]


def test_bounds_are_suggested_for_a_price(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At such a price noise is no matter (below 1e-9)."""
    _rich(people)
    assert discreet("bounds", people, "age", "--epsilon", "100", "--clamped", "0.05") == 0
    said = capsys.readouterr().out
    assert "Suggested for age: dp.integer(" in said
    assert "Cost epsilon=100" in said
    (declared,) = _toml(said)["columns"].values()
    assert f"dp.integer({declared['lower']}, {declared['upper']})" in said
    Path(people).write_text(_with_age(Path(people).read_text(), said.splitlines()[-1]))
    assert discreet("check", people) == 0
    capsys.readouterr()
    assert discreet("bounds", people, "age", "--type", "date", "--epsilon", "100") == 0
    assert "nothing is suggested" in capsys.readouterr().out
    assert discreet("bounds", people, "ward", "--epsilon", "1") == 2
    assert discreet("bounds", people, "age") == 2
    assert discreet("bounds", people, "age", "--epsilon", "10000") == 3


def test_contributions_are_shown_for_a_price(discreet: Run, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    _rich(people)
    assert discreet("contributions", people, "--epsilon", "100") == 0
    assert 'dp.person("id", rows=' in capsys.readouterr().out
    assert discreet("contributions", people, "--by", "ward", "--cap", "16", "--later", "0.5", "--epsilon", "100") == 0
    said = capsys.readouterr().out
    assert "rows in their fullest group" in said
    assert "Suggested for questions at epsilon=0.5" in said
    unit = _toml(said)["unit"]
    assert f"rows={unit['rows']}, groups={unit['groups']})" in said
    assert discreet("contributions", people, "--by", "ward, bin(age, 0, 50, 120)", "--epsilon", "100") == 0
    assert "rows in their fullest group" in capsys.readouterr().out
    assert discreet("contributions", people, "--by", "nobody", "--epsilon", "1") == 2


def _toml(said: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads(said.split("In the owner's file:")[1])


def _with_age(text: str, line: str) -> str:
    return "\n".join(line if one.startswith("age =") else one for one in text.split("\n"))


def _rich(people: str) -> None:
    """The same file with a budget that buys the truth."""
    text = Path(people).read_text()
    assert "epsilon = " in text
    Path(people).write_text("\n".join("epsilon = 1000" if line.startswith("epsilon =") else line for line in text.split("\n")))
