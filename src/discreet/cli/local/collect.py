"""`discreet local collect`: reports are checked, counted and forgotten."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import check_place, replace_file
from discreet.cli.local.files import TaskFile, read_list, read_state, read_task_file
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local import Collector
    from discreet.local.task import Task

_SENTENCES = {
    "unreadable file": "cannot be read to its end; none of its reports was counted.",
    "collected before": "was collected before, to the last byte; none of its reports was counted. (Other people's reports that "
    "happen to be equal belong into one file.)",
}


def run(
    task: TaskFile,
    reports: Annotated[
        list[Path],
        typer.Argument(
            help="Files of reports (.jsonl or .parquet), states of other collectors (.json), or - for reports on standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The state; where it exists, the new reports are added.", show_default=False)
    ],
    candidates: Annotated[
        str | None, typer.Option(help="Of a task for any text: the texts to look for, as a,b,c or @FILE with one a line.")
    ] = None,
) -> None:
    """Count reports into a state, whose size does not depend on how many there are.

    Reports that are malformed, of another task or version, or duplicates are refused and counted; nothing they hold is kept. A
    file that cannot be read to its end is refused as a whole, and so is one, or a state, that was collected before. Several runs
    may write to one state: they wait for each other.

    The exit code is 2 if a file cannot be read or nothing was counted; all else is in the state then.

    Examples:

      discreet local collect hair.task.json monday.jsonl tuesday.parquet -o hair.state.json

      discreet local collect hair.task.json berlin.state.json paris.state.json -o all.state.json

      discreet local collect search.task.json reports.jsonl --candidates @words.txt -o search.state.json
    """
    check_place(output)
    asked = read_task_file(task)
    for file in reports:
        if str(file) != "-" and not file.is_file():
            raise ParameterError(f"There is no file {file}; nothing was collected.")
    with _alone(output):
        collector = _collector(asked, output, candidates)
        before, refused_before, damaged = collector.count, collector.refused, False
        for file in reports:
            damaged |= _add(collector, file)
        with replace_file(output) as place:
            place.write_text(collector.to_json() + "\n", encoding="utf-8", newline="")
    counted = collector.count - before
    typer.echo(f"Counted {counted:,} reports; {output} holds {collector.count:,}.", err=True)
    refused = {name: count - refused_before.get(name, 0) for name, count in collector.refused.items()}
    said = ", ".join(f"{name} {count:,}" for name, count in refused.items() if count)
    if said:
        typer.echo(f"Refused: {said}.", err=True)
    if damaged or not counted:
        raise typer.Exit(2)


def _alone(output: Path) -> AbstractContextManager[None]:
    """Nobody else adds to this state meanwhile; what is no file, such as a pipe, has no reader to wait for."""
    from discreet.local.client import lock_file

    if output.exists() and not output.is_file():
        return nullcontext()
    return lock_file(output.resolve(), ParameterError, mode=0o666)


def _collector(task: Task, output: Path, candidates: str | None) -> Collector[object]:
    texts = None if candidates is None else read_list(candidates)
    if not output.exists():
        return task.collector(texts)
    found = read_state(output)
    if found.task.hash != task.hash:
        raise ParameterError(f"{output} holds the reports of another task; write to another place with -o.")
    if texts is not None and found.candidates != tuple(texts):
        raise ParameterError(f"{output} counts other candidates; leave out --candidates, or write to another place with -o.")
    return found


def _add(collector: Collector[object], file: Path) -> bool:
    """Take a file in; whether it is damaged."""
    if str(file) == "-":
        collector.add(line for line in sys.stdin.buffer if line.strip())
        return False
    if file.suffix.lower() == ".json":
        _merge(collector, file)
        return False
    before = collector.refused
    collector.add_file(file)
    said = [reason for reason in _SENTENCES if collector.refused.get(reason, 0) > before.get(reason, 0)]
    for reason in said:
        typer.echo(f"{file} {_SENTENCES[reason]}", err=True)
    return "unreadable file" in said


def _merge(collector: Collector[object], file: Path) -> None:
    other = read_state(file)
    if other.task.hash != collector.task.hash or other.candidates != collector.candidates:
        raise ParameterError(f"{file} counts another task or other candidates; nothing was written.")
    if collector.shares(other):
        typer.echo(f"{file} has reports that were merged before; none was counted. Merge all states into a new one.", err=True)
    else:
        collector.merge(other)
