"""The files of a survey: tasks, states, and lists of words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import read_text
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local import Collector
    from discreet.local.task import Task

TaskFile = Annotated[Path, typer.Argument(help="The task, such as hair.task.json.", show_default=False)]


def read_task_file(file: Path) -> Task:
    """The task in a file."""
    from discreet.local import read_task

    text = read_text(file)
    try:
        return read_task(text)
    except ParameterError as refusal:
        raise ParameterError(f"{file}: {refusal}") from None


def read_state(file: Path) -> Collector[object]:
    """The collector whose state is in a file."""
    from discreet.local import read_collector

    text = read_text(file)
    try:
        return read_collector(text)
    except ParameterError as refusal:
        raise ParameterError(f"{file}: {refusal}") from None


def read_list(text: str) -> list[str]:
    """Words between commas, or the lines of the file after an @."""
    if text.startswith("@"):
        return [line.strip() for line in read_text(Path(text[1:])).splitlines() if line.strip()]
    import csv

    return [word.strip() for word in next(csv.reader([text], skipinitialspace=True, strict=False), [])]
