"""`discreet ledger`: looking after the record of what was spent."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)

_HELP = "The ledger: a file such as hospital.ledger, or an address such as postgresql://host/database?ledger=patients."
_Place = Annotated[str, typer.Argument(help=_HELP, show_default=False)]


@app.callback()
def _about() -> None:
    """Look after the record of what was spent."""


@app.command()
def adopt(path: _Place) -> None:
    """Trust a ledger that was moved, copied or restored.

    Its chain is checked, and it becomes the one that this machine has seen. If it is an older copy, what was spent since is
    forgotten, and the budget no longer bounds what was let out: adopt the latest copy only.

    Example:

      discreet ledger adopt hospital.ledger
    """
    from discreet.ledger import adopt as trust

    ledger = trust(path)
    typer.echo(f"Adopted {_shown(path)}: {ledger.account.brief}.")


@app.command()
def people(
    path: _Place,
    whose: Annotated[str, typer.Argument(help="Whose budget it is, in a few words.", show_default=False)],
) -> None:
    """Say whose budget a ledger is.

    All tables about the same people pay from one ledger, and a second one for what looks like the same people is refused. Ledgers
    that say whose they are, in different words, are for others.

    Example:

      discreet ledger people hospital.ledger "patients of the clinic"
    """
    from discreet.ledger import Ledger

    ledger = Ledger.open(path)
    ledger.name(whose)
    typer.echo(f"{_shown(path)} is the budget of {ledger.people}.")


@app.command()
def forget(path: _Place) -> None:
    """Let a new ledger be made where one was deleted.

    What the deleted one had answered stays answered, and nobody counts it any more: together with a new budget, the people in
    the table may pay more than either. Put the old ledger back wherever you can.

    Example:

      discreet ledger forget hospital.ledger
    """
    from discreet.ledger import forget as let_go

    let_go(path)
    typer.echo(f"Forgotten: the next question begins a new ledger at {_shown(path)}.")


def _shown(path: str) -> str:
    """A ledger as it was typed, but for a password."""
    from discreet.ledger.place import Address, resolve

    place = resolve(path)
    return str(place) if isinstance(place, Address) else path
