"""The command that makes a whole table that anyone may have: `discreet synthesize`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import asking
from discreet.cli.asking import Configuration, Epsilon, Rho
from discreet.cli.files import check_place, protect, replace_file
from discreet.errors import ParameterError

INTERRUPTED = 130
_ROWS = (".parquet", ".csv")
_MODEL = ".npz"
_KEPT = "; the model is kept in the ledger, and asked again it is free"


def run(
    configuration: Configuration,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Where to: rows as .parquet or .csv, the model as .npz; may be repeated."),
    ] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    column: Annotated[list[str] | None, typer.Option(help="A column that it has; may be repeated. All unless told.")] = None,
    target: Annotated[list[str] | None, typer.Option(help="A column that matters most; may be repeated.")] = None,
    bought: Annotated[
        list[str] | None, typer.Option(help="A column whose values or runs are bought for a part of the price; may be repeated.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="How many rows to draw; about as many as the table has unless told.")] = None,
    seconds: Annotated[float, typer.Option(help="About how much work the fit may take.")] = 15.0,
    preview: Annotated[bool, typer.Option("--preview", help="Only say what it would cost and take: no data is read.")] = False,
) -> None:
    """Make synthetic rows: a model of the whole table is paid for once, and rows are drawn of it for free.

    Examples:

      discreet synthesize hospital.toml --epsilon 1 --preview

      discreet synthesize hospital.toml --epsilon 1 -o people.parquet

      discreet synthesize hospital.toml --epsilon 1 -o people.csv -o people.npz --target drug_use --rows 100000

    Ctrl-C ends the measuring: what was measured until then makes the model. The price stays the same.
    """
    places = [_checked(file) for file in output or ()]
    if not places and not preview:
        raise ParameterError("Where shall the rows go? Add -o people.parquet, or --preview for what it would cost.")
    if preview:
        with asking.open_curator(configuration) as curator:
            typer.echo(str(_ask(curator, column, target, bought, seconds, None).preview(epsilon=epsilon, rho=rho)))
        return
    try:
        with asking.open_curator(configuration) as curator, _progress() as watch:
            for file in places:
                protect(file, *asking.list_read(configuration, [], curator))
            model = _ask(curator, column, target, bought, seconds, watch).release(epsilon=epsilon, rho=rho)
    except KeyboardInterrupt:
        typer.echo("Interrupted. What was measured is kept: asked again, it goes on, and nothing more is paid.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    for file in places:
        with replace_file(file, _KEPT) as new:
            _write(model, file, new, rows)
        typer.echo(f"Wrote {file}.", err=True)
    typer.echo(str(model))
    typer.echo(f"{model.left}.")


def _ask(
    curator: Any, columns: list[str] | None, targets: list[str] | None, bought: list[str] | None, seconds: float, watch: Any
) -> Any:
    return curator.synthesize(columns=columns, targets=targets or (), bought=bought or (), seconds=seconds, watch=watch)


def _checked(file: Path) -> Path:
    """A place that can be written to, with an ending that is known; before anything is paid."""
    if file.suffix.lower() not in (*_ROWS, _MODEL):
        raise ParameterError(f"{file} ends in none of .parquet, .csv (rows) and .npz (the model); write such as people.parquet.")
    return check_place(file)


def _write(model: Any, file: Path, new: Path, rows: int | None) -> None:
    if file.suffix.lower() == _MODEL:
        model.save(new)
        return
    drawn = model.sample(rows)
    if file.suffix.lower() == ".csv":
        from pyarrow import csv

        csv.write_csv(drawn.table, new)
    else:
        from pyarrow import parquet

        parquet.write_table(drawn.table, new)


@contextmanager
def _progress() -> Iterator[Callable[[Any], None] | None]:
    """A bar on a terminal: how much is spent, the seconds left, and what was just measured; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Measuring"), BarColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def watch(done: Any) -> None:
            said = f"round {done.rounds}: {', '.join(done.columns)} (noise {done.deviation:,.0f} rows)"
            bar.update(task, completed=done.spent, description=said)

        yield watch
