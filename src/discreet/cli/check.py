"""`discreet check`: whether what the owner declared fits the table."""

from __future__ import annotations

import typer

from discreet.cli.asking import Configuration, Epsilon, Rho, opened

__all__ = ["run"]


def run(configuration: Configuration, epsilon: Epsilon = None, rho: Rho = None) -> None:
    """Show which share of every column is missing, unlisted or clamped.

    Without a cost this is NOT PRIVATE: for the eyes of the data's owner. It shows coarse shares and declared names, no cell, and
    is never written to a file; the ledger notes that somebody looked, and answers say so if declarations change afterwards.

    With a cost it is a question like any other: noisy shares with intervals, paid for from the budget.

    Examples:

      discreet check hospital.toml

      discreet check hospital.toml --epsilon 0.1
    """
    with opened(configuration) as curator:
        typer.echo(str(curator.check(epsilon=epsilon, rho=rho)))
