"""`discreet budget`: what is spent, what is left, and on what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.asking import Configuration, opened
from discreet.cli.preview import Format

if TYPE_CHECKING:
    from discreet.ledger import Entry
    from discreet.privacy.account import Account
    from discreet.privacy.amount import Amount

__all__ = ["amounts", "run"]


def run(
    configuration: Configuration,
    history: Annotated[bool, typer.Option("--history", help="Also list the questions that were paid for.")] = False,
    format: Annotated[Format, typer.Option(help="A table to read, or JSON.")] = Format.table,
) -> None:
    """Show how much of a budget is used, and what still fits.

    Examples:

      discreet budget hospital.toml

      discreet budget hospital.toml --history --format json
    """
    with opened(configuration) as curator:
        account, entries = curator.budget, curator.history() if history else ()
        place, people = curator.ledger, curator.people
    if format is Format.json:
        typer.echo(_json(account, entries if history else None, {"ledger": str(place), "people": people}))
        return
    typer.echo(f"Ledger: {place}{'' if people is None else f', the budget of {people}'}\n")
    typer.echo(str(account))
    if history:
        typer.echo("\n" + (_history(entries) if entries else "No question was paid for yet."))


def _history(entries: Sequence[Entry]) -> str:
    from discreet.plan.display import text_table

    rows = [[str(one.number), one.time[:19].replace("T", " "), one.state, one.asked, one.question] for one in entries]
    return text_table(["", "time (UTC)", "state", "cost", "question"], rows, "><<<<")


def _json(account: Account, entries: Sequence[Entry] | None, whose: dict[str, str | None]) -> str:
    facts: dict[str, object] = {"discreet": "spending", "version": 1, **whose, "used": float(account.used)}
    facts |= amounts(account)
    if entries is not None:
        facts["history"] = [
            {"number": one.number, "time": one.time, "state": one.state, "cost": one.asked, "question": one.question}
            for one in entries
        ]
    return json.dumps(facts)


def amounts(account: Account) -> dict[str, dict[str, float | None]]:
    """Total, spent and remaining as numbers."""
    return {"total": _amount(account.total), "spent": _amount(account.spent), "remaining": _amount(account.remaining)}


def _amount(amount: Amount) -> dict[str, float | None]:
    return {"epsilon": amount.epsilon, "delta": amount.delta, "rho": amount.rho}
