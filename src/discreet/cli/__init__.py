"""The `discreet` command."""

from __future__ import annotations

from typing import Annotated

import typer

import discreet
from discreet.cli import demo, plot

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Differential privacy that is exact, tight, fast and pleasant."
)
app.command("demo")(demo.run)
app.command("plot")(plot.run)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {discreet.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Differential privacy that is exact, tight, fast and pleasant."""


def main() -> None:
    """Entry point: a refusal is one sentence and exit code 2, never a traceback."""
    try:
        app()
    except discreet.errors.DiscreetError as refusal:
        typer.echo(str(refusal), err=True)
        raise SystemExit(2) from None
