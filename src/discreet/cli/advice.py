"""The commands that help with declarations, for a price: `discreet bounds` and `contributions`."""

from __future__ import annotations

import json
from collections.abc import Callable
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
        asked = _rows(curator, table).bounds(column, type=kind, clamped=clamped)
        found = asked.release(epsilon=epsilon, rho=rho)
    _show(found, lambda suggested: _column(asked.column, suggested, table))


def contributions(
    configuration: Configuration,
    by: Annotated[
        list[str] | None, typer.Option(help="Keys that make groups, with commas between them; may be repeated.")
    ] = None,
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

      discreet contributions hospital.toml --by sex,ward --epsilon 0.2 --later 0.5
    """
    keys = None if by is None else [key for text in by for key in _keys(text)]
    with asking.open_curator(configuration) as curator:
        found = _rows(curator, table).contributions(by=keys, cap=cap, later=later).release(epsilon=epsilon, rho=rho)
    _show(found, lambda unit: f"[unit]\nrows = {unit.rows}\ngroups = {unit.groups}")


def _rows(curator: Curator, table: str | None) -> Any:
    return curator if table is None else curator.table(table)


def _keys(text: str) -> list[str]:
    """The keys of a list with commas, those within brackets apart.

    >>> _keys("sex, bin(age, 0, 18, 120)")
    ['sex', 'bin(age, 0, 18, 120)']
    """
    found, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [key.strip() for key in found]


def _column(name: str, column: Any, table: str | None) -> str:
    """Bounds of a column in the owner's file."""
    from discreet.curator.configuration import write_key
    from discreet.schema.columns import Date, Integer

    section = "[columns]" if table is None else f"[tables.{write_key(table)}.columns]"
    if isinstance(column, Date):
        kind, ends = "date", [str(column.lower), str(column.upper)]
        more = f", format = {json.dumps(column.format)}" if column.format else ""
    else:
        kind = "integer" if isinstance(column, Integer) else "number"
        ends = [f"{int(end):_}" if end == int(end) else repr(float(end)) for end in (column.lower, column.upper)]
        more = ', decimal = ","' if column.decimal == "," else ""
    return f'{section}\n{write_key(name)} = {{ type = "{kind}", lower = {ends[0]}, upper = {ends[1]}{more} }}'


def _show(found: Any, written: Callable[[Any], str]) -> None:
    """What came out, and what is suggested as the owner's file has it."""
    typer.echo(str(found))
    if found.suggested is not None:
        typer.echo(f"\nIn the owner's file:\n\n{written(found.suggested)}")
