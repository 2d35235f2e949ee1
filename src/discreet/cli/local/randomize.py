"""`discreet local randomize`: answers become reports, each private on its own."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import check_place, protect, refuse_writing, replace_file
from discreet.cli.local.files import TaskFile, read_task_file
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.report import Batch
    from discreet.local.task import Task
    from discreet.local.tasks.attributes import Attributes


def run(
    task: TaskFile,
    answers: Annotated[
        Path, typer.Argument(help="Answers, one a line; or a .csv, .tsv or .parquet file. - is standard input.")
    ] = Path("-"),
    column: Annotated[str | None, typer.Option(help="Which column of a table.")] = None,
    nonce: Annotated[bool, typer.Option("--nonce", help="Mark each report, so that a collector finds duplicates.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file: .parquet, or one JSON report a line.")
    ] = None,
) -> None:
    """Randomise answers, one a person. Every run costs each person the task's epsilon again.

    An answer outside the task's domain has the fate that the task declares; where that is refuse, nothing is written at all.

    Examples:

      discreet local randomize hair.task.json answers.txt -o reports.jsonl

      discreet local randomize hair.task.json people.csv --column hair -o reports.parquet

      echo red | discreet local randomize hair.task.json

      discreet local randomize both.task.json people.csv -o reports.jsonl
    """
    output = None if output == Path("-") else output
    if output is not None:
        protect(check_place(output), task, answers)
    asked = read_task_file(task)
    with _place(output) as file:
        write = _write_parquet if output is not None and output.suffix.lower() == ".parquet" else _write_lines
        count = write(file, _batches(asked, answers, column, nonce))
    if output is not None:
        typer.echo(f"Wrote {output}: {count:,} reports; each cost its sender epsilon {float(asked.epsilon):.6g}.", err=True)


def _batches(task: Task, answers: Path, column: str | None, nonce: bool) -> Iterator[Batch]:
    """Randomised answers, some at a time; one empty batch where there are none."""
    from discreet.local.report import Batch
    from discreet.local.tasks.attributes import Attributes

    for values in _attributes(task, answers, column) if isinstance(task, Attributes) else _values(task, answers, column):
        made = task.randomize(values, nonce=nonce)
        assert isinstance(made, Batch)
        yield made


def _values(task: Task, answers: Path, column: str | None) -> Iterator[list[object]]:
    from discreet.cli.local.values import read_meaning, read_values

    meaning = read_meaning(task)
    for piece in chain([[]], read_values(answers, column)):
        yield [meaning(entry) for entry in piece]


def _attributes(task: Attributes, answers: Path, column: str | None) -> Iterator[dict[str, list[object]]]:
    """One column of the table for every attribute, by its name."""
    if column is not None:
        raise ParameterError("Attributes have a column each, named as they are; leave out --column.")
    if str(answers) == "-":
        raise ParameterError("Attributes are columns of a table; give a .csv, .tsv or .parquet file.")
    columns = [_values(member, answers, name) for name, member in task.tasks.items()]
    for pieces in zip(*columns, strict=True):
        yield dict(zip(task.tasks, pieces, strict=True))


@contextmanager
def _place(output: Path | None) -> Iterator[Path]:
    """Where reports are written; they get out only when all of them are made, so that nobody has to be randomised twice."""
    if output is not None:
        with replace_file(output) as file:
            yield file
        return
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        file = Path(folder) / "reports.jsonl"
        yield file
        with file.open(encoding="utf-8", newline="") as reports:
            shutil.copyfileobj(reports, sys.stdout)


def _write_lines(file: Path, batches: Iterator[Batch]) -> int:
    count = 0
    with file.open("w", encoding="utf-8", newline="") as target:
        for batch in batches:
            target.writelines(report.to_json() + "\n" for report in batch)
            count += len(batch)
    return count


def _write_parquet(file: Path, batches: Iterator[Batch]) -> int:
    from pyarrow import parquet

    count, writer = 0, None
    try:
        for batch in batches:
            table = batch.to_arrow()
            writer = writer or parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
            count += len(batch)
    except OSError as problem:
        raise refuse_writing(file, problem) from None
    finally:
        if writer is not None:
            writer.close()
    return count
