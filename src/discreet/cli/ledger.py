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
def create(path: _Place) -> None:
    """Make an empty ledger, for others to pay from.

    The first question makes one where it is needed. On a server not everybody may: its owner does this first, and then lets
    others add to it and read it.

    Example:

      discreet ledger create "postgresql://owner@db.clinic/research?ledger=patients"
    """
    from discreet.ledger import create as make

    typer.echo(f"Made an empty ledger at {make(path)}: the first question begins it.")


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


@app.command()
def move(
    path: _Place, to: Annotated[str, typer.Argument(help="Where it goes on: a new file, or an address.", show_default=False)]
) -> None:
    """Let a ledger go on at another place, such as a server.

    All that it knows goes along; the old one ends and says where. If this is interrupted, run it again.

    Example:

      discreet ledger move hospital.ledger "postgresql://db.clinic/research?ledger=patients"
    """
    from discreet.ledger import move as bring

    ledger = bring(path, to)
    typer.echo(f"Moved to {_shown(to)}: {ledger.account.brief}.")


def _shown(path: str) -> str:
    """A ledger as it was typed, but for a password."""
    from discreet.ledger.place import Address, resolve

    place = resolve(path)
    return str(place) if isinstance(place, Address) else path
