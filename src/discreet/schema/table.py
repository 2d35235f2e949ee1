"""All public facts about a private table, or several about the same persons: columns, who is protected, and the public tables
that they may be joined with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text
from discreet.schema.units import Person, Rows, Unit

MOST_EACH = 2**12  # rows of one person that one table may bring into a join


@dataclass(frozen=True)
class Schema:
    """Facts checked at birth: names are distinct whatever their case, the id of a person is not declared as something else.

    Where there are several private tables, ``tables`` has their names, and the most rows of one person that each brings into a
    join; columns are then called ``visits.cost``, like those of public tables (``of_tables``).

    >>> from discreet.schema.columns import integer
    >>> Schema({"age": integer(0, 120)}, Rows()).find("AGE")
    'age'
    """

    columns: Mapping[str, Column]
    unit: Unit
    public: Mapping[str, Mapping[str, Column]] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_tables(
        cls,
        columns: Mapping[str, Mapping[str, Column]],
        unit: Unit,
        public: Mapping[str, Mapping[str, Column]] | None = None,
        at_most: Mapping[str, int] | None = None,
    ) -> Schema:
        """The facts of several private tables about the same persons.

        ``at_most``: how many rows of one person a table brings into a join; unless told, as many as a person may count for.

        >>> from discreet.schema.columns import integer
        >>> facts = Schema.of_tables({"patients": {"age": integer(0, 120)}, "visits": {}}, Person("pid", 8, 3))
        >>> facts.find("age", table="patients"), facts.tables
        ('patients.age', {'patients': 24, 'visits': 24})
        """
        if not isinstance(unit, Person):
            raise ParameterError(
                "Several private tables are about the same persons, and under rows() nobody has an id by which to join them; "
                'write unit=person("patient_id", rows=8, groups=3), or one curator a table.'
            )
        if not all(isinstance(declared, Mapping) for declared in columns.values()):
            raise ParameterError('Columns are declared table by table; write columns={"visits": {"cost": number(0, 500)}, ...}.')
        for where, declared in columns.items():
            _check(str(where), declared)
        given = dict(at_most or {})
        default = min(unit.rows * unit.groups, MOST_EACH)
        tables = {name: whole("at_most", given.pop(name, default)) for name in columns}
        if given:
            raise ParameterError(f"at_most= names {', '.join(map(str, given))}, and the tables are {', '.join(tables)}.")
        flat = {f"{table}.{name}": column for table, declared in columns.items() for name, column in declared.items()}
        return cls(flat, unit, public or {}, tables)

    def __post_init__(self) -> None:
        if not isinstance(self.unit, (Rows, Person)):
            raise ParameterError('Who is protected? Write unit=rows() or unit=person("patient_id", rows=8, groups=3).')
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise ParameterError('No column is declared; write columns={"age": integer(0, 120), ...}.')
        for where, columns in (*(() if self.tables else (("columns", self.columns),)), *self.public.items()):
            _check(where, columns)
        self._check_tables()
        if "data" in {name.lower() for name in self.public} or len({name.lower() for name in self.public}) < len(self.public):
            raise ParameterError('Public tables need names of their own, and "data" is the private table; rename one.')
        for name in self.public:
            if not name.isidentifier():
                raise ParameterError(f"{name!r} cannot name a public table; write a word such as regions.")

    def _check_tables(self) -> None:
        for name, most in self.tables.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise ParameterError(f"{name!r} cannot name a private table; write a word such as visits.")
            if not 1 <= most <= MOST_EACH:
                raise ParameterError(f"at_most= of {name} is from 1 to {MOST_EACH:,} rows of one person, not {most:,}.")
        names = [name.lower() for name in (*self.tables, *self.public)]
        if self.tables and len(set(names)) < len(names):
            raise ParameterError("Every table needs a name of its own, whatever the case of its letters; rename one.")

    def find(self, name: str, *, table: str | None = None, quoted: bool = False) -> str | None:
        """The declared name that a question means, whatever its case; ``regions.name`` for a column of a public table."""
        if table is not None and table in self.tables:
            mine = self.names(table)
            known = _match(name, mine, quoted)
            return None if known is None else mine[known]
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

    def names(self, table: str) -> dict[str, str]:
        """The names of a table's columns, and what questions call them."""
        if table in self.public:
            return {name: f"{table}.{name}" for name in self.public[table]}
        if not self.tables:
            return {name: name for name in self.columns}
        return {name.split(".", 1)[1]: name for name in self.columns if name.startswith(f"{table}.")}

    def is_private(self, table: str) -> bool:
        """Whether a table that a question names is a private one."""
        return table in self.tables if self.tables else table == "data"

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
