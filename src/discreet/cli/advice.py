"""The commands that help with declarations, for a price: `discreet bounds` and `contributions`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import asking
from discreet.cli.asking import Configuration, Epsilon, Rho

if TYPE_CHECKING:
    from discreet.curator import Curator


class _Type(StrEnum):
    """What the values of a column are."""

    number = "number"
    integer = "integer"
    date = "date"


_TableOption = Annotated[str | None, typer.Option("--table", help="Which of several private tables.")]


def bounds(
    configuration: Configuration,
    column: Annotated[str, typer.Argument(help="A column of the table, declared or not.", show_default=False)],
    epsilon: Epsilon = None,
    rho: Rho = None,
    type: Annotated[_Type | None, typer.Option(help="What values are, unless as declared; else numbers.")] = None,
    clamped: Annotated[float, typer.Option(help="The share of values that may lie beyond the bounds.")] = 0.01,
    table: _TableOption = None,
) -> None:
    """Suggest bounds for a column, from its noisy distribution. It is paid for from the budget; asked again, it is free.

    Examples:

      discreet bounds hospital.toml income --epsilon 0.1

      discreet bounds hospital.toml admitted --type date --epsilon 0.1
    """
    kind = None if type is None else type.value
    with asking.open_curator(configuration) as curator:
        _show(_rows(curator, table).bounds(column, type=kind, clamped=clamped), epsilon, rho)


def contributions(
    configuration: Configuration,
    by: Annotated[list[str] | None, typer.Option(help="Keys that make groups; may be repeated.")] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    cap: Annotated[int, typer.Option(help="The number of rows of a person up to which they are counted.")] = 1024,
    later: Annotated[
        float | None, typer.Option(help="What a later question will cost; a tenth of the budget unless told.")
    ] = None,
    table: _TableOption = None,
) -> None:
    """Show how many rows and groups persons have, and suggest rows= and groups= for the unit. It is paid for from the budget.

    Examples:

      discreet contributions hospital.toml --epsilon 0.1

      discreet contributions hospital.toml --by ward --epsilon 0.2 --later 0.5
    """
    with asking.open_curator(configuration) as curator:
        _show(_rows(curator, table).contributions(by=by, cap=cap, later=later), epsilon, rho)


def _rows(curator: Curator, table: str | None) -> Any:
    return curator if table is None else curator.table(table)


def _show(asked: Any, epsilon: float | None, rho: float | None) -> None:
    typer.echo(str(asked.release(epsilon=epsilon, rho=rho)))
