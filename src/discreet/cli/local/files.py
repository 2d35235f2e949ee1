"""The files of a survey: tasks and states are read whole, and written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local import Collector
    from discreet.local.task import Task

__all__ = ["TaskFile", "listed", "read_state", "read_task_file", "read_text", "replaced", "unwritten"]

TaskFile = Annotated[Path, typer.Argument(help="The task, such as hair.task.json.", show_default=False)]


def read_text(file: Path) -> str:
    """A text in UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"{file} is not a text in UTF-8; give another file.") from None
    except OSError as problem:
        raise ParameterError(f"{file} cannot be read ({problem.strerror}); check its name.") from None


def read_task_file(file: Path) -> Task:
    """The task in a file."""
    from discreet.local import read_task

    try:
        return read_task(read_text(file))
    except ParameterError as refusal:
        raise ParameterError(f"{file}: {refusal}") from None


def read_state(file: Path) -> Collector[object]:
    """The collector whose state is in a file."""
    from discreet.local import read_collector

    try:
        return read_collector(read_text(file))
    except ParameterError as refusal:
        raise ParameterError(f"{file}: {refusal}") from None


def listed(text: str) -> list[str]:
    """Words between commas, or the lines of the file after an @."""
    if text.startswith("@"):
        return [line.strip() for line in read_text(Path(text[1:])).splitlines() if line.strip()]
    import csv

    return [word.strip() for word in next(csv.reader([text], skipinitialspace=True, strict=False), [])]


@contextmanager
def replaced(file: Path) -> Iterator[Path]:
    """A new file to write to; it takes the place of ``file`` if the block succeeds, else nothing is changed."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    except OSError as problem:
        raise unwritten(file, problem) from None
    os.close(handle)
    new = Path(name)
    try:
        yield new
        new.chmod(0o666 & ~_umask())
        new.replace(file)
    except OSError as problem:
        raise unwritten(file, problem) from None
    finally:
        new.unlink(missing_ok=True)


def unwritten(file: Path, problem: OSError) -> ParameterError:
    """What is said where a file cannot be written."""
    return ParameterError(f"{file} cannot be written ({problem.strerror}); choose another place.")


def _umask() -> int:
    """The mask that new files have; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
