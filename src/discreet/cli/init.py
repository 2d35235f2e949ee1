"""`discreet init`: the beginning of an owner's file, from the names of columns alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.files import create
from discreet.errors import ParameterError


def run(
    source: Annotated[
        str, typer.Argument(help="A table: .parquet, .csv, .tsv or .duckdb, or postgresql://...?table=...", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write (people.toml for people.csv unless told).")
    ] = None,
    table: Annotated[str | None, typer.Option(help="Which table of a DuckDB file.")] = None,
) -> None:
    """Write the file that describes a table, for its owner to fill in.

    Only the names of columns are read, never types or contents. An existing file is never overwritten.

    Examples:

      discreet init people.csv

      discreet init "visits/*.parquet" -o visits.toml
    """
    from discreet.curator.configuration import write_skeleton
    from discreet.curator.held import is_file, written_from

    if output is None and is_file(source) and any(sign in source for sign in "*?["):
        raise ParameterError("Several files have no one name; say where to write with -o visits.toml.")
    file = output or (Path(source).with_suffix(".toml") if is_file(source) else Path("table.toml"))
    text = write_skeleton(source, written=written_from(source, file.parent), table=table)
    create(file, text, " and is not overwritten")
    then = f'discreet preview {file} "SELECT count(*) FROM data" --epsilon 0.5'
    typer.echo(f"Wrote {file}. Fill in [unit], [budget] and [columns], then: {then}")
