"""`discreet local estimate`: what the reports say about all who sent one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.asking import checked_place
from discreet.cli.local.files import read_state, replaced
from discreet.cli.query import Format
from discreet.errors import ParameterError

__all__ = ["run"]


def run(
    states: Annotated[
        list[Path], typer.Argument(help="States that discreet local collect wrote, of one task.", show_default=False)
    ],
    format: Annotated[Format | None, typer.Option(help="How to write it; by the ending of --output unless told.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it, as .png or .svg.")] = None,
) -> None:
    """Estimate from what was collected. This is free, as often as you like.

    The table shows 95 % intervals. CSV, JSON and Parquet hold everything with all digits, shares as fractions of 1.

    Examples:

      discreet local estimate hair.state.json

      discreet local estimate berlin.state.json paris.state.json --format json

      discreet local estimate hair.state.json -o hair.csv --plot hair.png
    """
    from discreet.cli.local.tables import as_csv, as_json, as_text, columns, write_parquet
    from discreet.privacy.canvas import check_ending, save

    written = _format(format, output)
    if written is Format.parquet and output is None:
        raise ParameterError("Parquet needs a file; add -o shares.parquet.")
    for place in (output, plot):
        if place is not None:
            checked_place(place)
    if plot is not None:
        check_ending(plot)
    collector = read_state(states[0])
    for file in states[1:]:
        collector.merge(read_state(file))
    found = collector.estimate()
    if plot is not None and not hasattr(found, "plot"):
        raise ParameterError("There is no picture of this kind of estimate; leave out --plot.")
    if written is Format.parquet and output is not None:
        with replaced(output) as new:
            write_parquet(columns(found), new)
    else:
        if written is Format.table:
            text = as_text(found)
        else:
            text = as_csv(columns(found)) if written is Format.csv else as_json(collector, columns(found))
        if output is None:
            typer.echo(text, nl=False)
        else:
            with replaced(output) as new:
                new.write_text(text, encoding="utf-8", newline="")
    if output is not None:
        typer.echo(f"Wrote {output}.", err=True)
    if plot is not None and hasattr(found, "plot"):
        _no_window()
        save(found.plot(), plot)
        typer.echo(f"Wrote {plot}.", err=True)


def _format(given: Format | None, output: Path | None) -> Format:
    if given is not None:
        return given
    ending = "" if output is None else output.suffix.lower().removeprefix(".")
    return Format(ending) if ending in ("csv", "json", "parquet") else Format.table


def _no_window() -> None:
    """Pictures go to files, also where there is no screen."""
    try:
        import matplotlib as mpl
    except ImportError:
        return  # the picture itself says what to install
    mpl.use("Agg")
