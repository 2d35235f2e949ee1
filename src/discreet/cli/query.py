"""`discreet query`: pay for a question, and get its noisy answer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.asking import Accuracy, Configuration, Delta, Epsilon, Rho, Sql, accuracy_of, checked_place, opened, sql_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator import Curator

__all__ = ["Format", "run"]

_PATIENCE = 0.5  # seconds before a bar appears


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def run(
    configuration: Configuration,
    sql: Sql,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    accuracy: Accuracy = None,
    format: Annotated[Format | None, typer.Option(help="How to write the answer; by the ending of --output unless told.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the first output, as .png or .svg.")] = None,
) -> None:
    """Ask a question: it is paid for first, then answered with noise. Asked again, it is free.

    Examples:

      discreet query hospital.toml "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use" --epsilon 0.5

      discreet query hospital.toml "SELECT ward, avg(debt) AS debt FROM data GROUP BY ward" --epsilon 1 -o debt.csv

      discreet query hospital.toml @question.sql --accuracy n=20 --plot chart.png

    Exit code 3: the budget does not hold the question, and nothing was spent.
    """
    written = _format(format, output)
    if written is Format.parquet and output is None:
        raise ParameterError("Parquet needs a file; add -o answer.parquet.")
    for place in (output, plot):
        if place is not None:
            checked_place(place)
    if plot is not None:
        from discreet.privacy.canvas import check_ending

        check_ending(plot)
    text, goal = sql_of(sql), accuracy_of(accuracy)
    with opened(configuration) as curator, _progress(curator):
        answer = curator.sql(text, epsilon=epsilon, rho=rho, delta=delta, accuracy=goal)
    from discreet.cli.writing import as_csv, as_json, draw, write, write_parquet

    if written is Format.parquet and output is not None:
        write_parquet(answer, output)
    else:
        shown = as_csv(answer) if written is Format.csv else as_json(answer) if written is Format.json else f"{answer}\n"
        if output is None:
            typer.echo(shown, nl=False)
        else:
            write(shown, output)
    if output is not None:
        typer.echo(f"Wrote {output}. {answer.left}.", err=True)
    if plot is not None:
        draw(answer, plot)
        typer.echo(f"Wrote {plot}.", err=True)


def _format(given: Format | None, output: Path | None) -> Format:
    if given is not None:
        return given
    ending = "" if output is None else output.suffix.lower().removeprefix(".")
    return Format(ending) if ending in ("csv", "json", "parquet") else Format.table


@contextmanager
def _progress(curator: Curator) -> Iterator[None]:
    """A bar on a terminal while a long scan runs; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(curator, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(curator: Curator, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("Counting"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        while not done.wait(0.1):
            share = curator.progress()
            if share is not None:
                bar.update(task, total=1.0, completed=share)
