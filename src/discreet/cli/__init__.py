"""The `discreet` command."""

from __future__ import annotations

from typing import Annotated

import typer

import discreet
from discreet.cli import advice, audit, demo, init, ledger, local, plot, query, synthesize, text

__all__ = ["app", "main"]

REFUSED, EXCEEDED = 2, 3

# A pretty traceback may show the values of variables, and those may be somebody's data.
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("demo")(demo.run)
app.command("init")(init.run)
app.command("check")(query.check)
app.command("bounds")(advice.bounds)
app.command("contributions")(advice.contributions)
app.command("preview")(query.preview)
app.command("query")(query.query)
app.command("budget")(query.budget)
app.command("synthesize")(synthesize.run)
app.add_typer(ledger.app, name="ledger")
app.command("audit")(audit.run)
app.add_typer(local.app, name="local")
app.add_typer(text.app, name="text")
app.command("plot")(plot.run)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {discreet.__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 done, 1 an audit found a violation, 2 refused (one sentence says why), 3 the budget would be exceeded."
)
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Differential privacy that is exact, tight, fast and pleasant.

    Start with discreet demo; for a table of your own, with discreet init people.csv.
    """


def main() -> None:
    """Entry point: a refusal is one sentence and an exit code, never a traceback."""
    try:
        app()
    except discreet.errors.DiscreetError as refusal:
        typer.echo(str(refusal), err=True)
        raise SystemExit(EXCEEDED if isinstance(refusal, discreet.errors.BudgetExceeded) else REFUSED) from None
