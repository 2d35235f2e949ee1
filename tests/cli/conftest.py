"""Every test has a folder of its own to work in, and runs the command in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import typer.main

from discreet.cli import main

TABLE = "id,age,ward,note\n" + "".join(f"p{i},{20 + i % 50},{('eye', 'ear')[i % 2]},n{i % 3}\n" for i in range(400))

FACTS = """\
version = 1
source = "people.csv"
[unit]
person = "id"
rows = 1
groups = 1
[budget]
epsilon = 2
delta = 1e-6
[columns]
age = { type = "integer", lower = 0, upper = 120 }
ward = { type = "category", values = ["eye", "ear"] }
note = { type = "text" }
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)


_built = cache(typer.main.get_command)


@pytest.fixture(autouse=True)
def _built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process builds its commands from their signatures once; so does this one, which runs hundreds of them."""
    monkeypatch.setattr(typer.main, "get_command", _built)


@pytest.fixture
def people() -> str:
    """A table of 400 people and the file of its owner."""
    Path("people.csv").write_text(TABLE)
    Path("people.toml").write_text(FACTS)
    return "people.toml"


@pytest.fixture
def discreet(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The exit code of the command with these words."""

    def run(*words: str) -> int:
        monkeypatch.setattr("sys.argv", ["discreet", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0)

    return run
