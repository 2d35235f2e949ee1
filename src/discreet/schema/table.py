"""All public facts about one private table: its columns, who is protected, and the public tables it may be joined with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from discreet.errors import ParameterError
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text
from discreet.schema.units import Person, Rows, Unit


@dataclass(frozen=True)
class Schema:
    """Facts checked at birth: names are distinct whatever their case, the id of a person is not declared as something else.

    >>> from discreet.schema.columns import integer
    >>> Schema({"age": integer(0, 120)}, Rows()).find("AGE")
    'age'
    """

    columns: Mapping[str, Column]
    unit: Unit
    public: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.unit, (Rows, Person)):
            raise ParameterError('Who is protected? Write unit=rows() or unit=person("patient_id", rows=8, groups=3).')
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise ParameterError('No column is declared; write columns={"age": integer(0, 120), ...}.')
        for where, columns in (("columns", self.columns), *self.public.items()):
            _check(where, columns)
        if "data" in {name.lower() for name in self.public} or len({name.lower() for name in self.public}) < len(self.public):
            raise ParameterError('Public tables need names of their own, and "data" is the private table; rename one.')
        for name in self.public:
            if not name.isidentifier():
                raise ParameterError(f"{name!r} cannot name a public table; write a word such as regions.")

    def find(self, name: str, *, table: str | None = None, quoted: bool = False) -> str | None:
        """The declared name that a question means, whatever its case; ``regions.name`` for a column of a public table."""
        if table is None or table.lower() == "data":
            found = _match(name, self.columns, quoted)
            if found is not None or table is not None:
                return found
            found_in = [
                f"{public}.{column}" for public, columns in self.public.items() if (column := _match(name, columns, quoted))
            ]
            return found_in[0] if len(found_in) == 1 else None
        public = _match(table, self.public, False)
        column = None if public is None else _match(name, self.public[public], quoted)
        return None if column is None else f"{public}.{column}"

    def aliased(self, table: str, alias: str) -> Schema:
        """The same, with a public table known by one more name."""
        return replace(self, public={**self.public, alias: self.public[table]})

    def column(self, name: str) -> Column:
        """What is declared of a column that ``find`` found."""
        if name in self.columns:
            return self.columns[name]
        table, column = name.split(".", 1)
        return self.public[table][column]


def _check(where: str, columns: Mapping[str, Column]) -> None:
    for name, column in columns.items():
        if not isinstance(name, str) or not name or "." in name or "\x00" in name:
            raise ParameterError(f"{name!r} cannot name a column of {where}: give a text without a point.")
        if not isinstance(column, (Integer, Number, Category, Boolean, Date, Text)):
            raise ParameterError(
                f"The column {name} of {where} is declared as {type(column).__name__}; write integer(0, 120), number(0, 1), "
                'category("yes", "no"), boolean(), date("2020-01-01", "2026-12-31") or text().'
            )
    if len({name.lower() for name in columns}) < len(columns):
        raise ParameterError(f"Two columns of {where} differ in the case of their letters only; rename one.")


def _match(name: str, names: Mapping[str, object], quoted: bool) -> str | None:
    if name in names:
        return name
    return None if quoted else next((known for known in names if known.lower() == name.lower()), None)
