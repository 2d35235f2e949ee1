"""`discreet local collect`: reports are checked, counted and forgotten."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import checked_place, replaced
from discreet.cli.local.files import TaskFile, listed, read_state, read_task_file
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local import Collector
    from discreet.local.task import Task

__all__ = ["run"]


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
    file that cannot be read to its end is refused as a whole. Give each file once: reports without a nonce would count twice.

    Examples:

      discreet local collect hair.task.json monday.jsonl tuesday.parquet -o hair.state.json

      discreet local collect hair.task.json berlin.state.json paris.state.json -o all.state.json

      discreet local collect search.task.json reports.jsonl --candidates @words.txt -o search.state.json
    """
    checked_place(output)
    asked = read_task_file(task)
    for file in reports:
        if str(file) != "-" and not file.is_file():
            raise ParameterError(f"There is no file {file}; nothing was collected.")
    collector = _collector(asked, output, candidates)
    before, refused_before = collector.count, collector.refused
    for file in reports:
        _add(collector, file)
    with replaced(output) as place:
        place.write_text(collector.to_json() + "\n", encoding="utf-8", newline="")
    typer.echo(f"Counted {collector.count - before:,} reports; {output} holds {collector.count:,}.", err=True)
    refused = {name: count - refused_before.get(name, 0) for name, count in collector.refused.items()}
    said = ", ".join(f"{name} {count:,}" for name, count in refused.items() if count)
    if said:
        typer.echo(f"Refused: {said}.", err=True)


def _collector(task: Task, output: Path, candidates: str | None) -> Collector[object]:
    texts = None if candidates is None else listed(candidates)
    if not output.exists():
        return task.collector(texts)
    found = read_state(output)
    if found.task.hash != task.hash:
        raise ParameterError(f"{output} holds the reports of another task; write to another place with -o.")
    if texts is not None and found.candidates != tuple(texts):
        raise ParameterError(f"{output} counts other candidates; leave out --candidates, or write to another place with -o.")
    return found


def _add(collector: Collector[object], file: Path) -> None:
    if str(file) == "-":
        collector.add(line for line in sys.stdin.buffer if line.strip())
    elif file.suffix.lower() == ".json":
        other = read_state(file)
        if other.task.hash != collector.task.hash or other.candidates != collector.candidates:
            raise ParameterError(f"{file} counts another task or other candidates; nothing was written.")
        collector.merge(other)
    else:
        damaged = collector.refused.get("unreadable file", 0)
        collector.add_file(file)
        if collector.refused.get("unreadable file", 0) > damaged:
            typer.echo(f"{file} cannot be read to its end; none of its reports was counted.", err=True)
