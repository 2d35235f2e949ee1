"""The one file that the data's owner writes: where the table is, who is protected, what is publicly known, what may be spent.

Numbers mean the decimals that were written: 0.01 is a hundredth. Paths are relative to the file.

    version = 1
    source = "hospital.parquet"
    people = "patients of the clinic"
    [unit]
    person = "patient_id"
    rows = 8
    groups = 3
    [budget]
    epsilon = 3
    delta = 1e-6
    [columns]
    age = { type = "integer", lower = 0, upper = 120 }

Several tables about the same persons have a part each instead of ``source`` and ``[columns]``, under the name that questions use:

    [tables.patients]
    source = "patients.parquet"
    at_most = 1   # rows of one person that a join reads; unless told, as many as a person may count for
    [tables.patients.columns]
    age = { type = "integer", lower = 0, upper = 120 }
    [tables.visits]
    source = "visits.csv"
    [tables.visits.columns]
    cost = { type = "number", lower = 0, upper = 5000, step = 0.01 }

``write_skeleton`` begins one from the names of columns alone: nothing is read off the data, neither a type nor a bound, because
whatever a table's rows decide is not public.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NotRequired, TypedDict, TypeVar

from discreet.calls import called_as
from discreet.curator.curator import Curator
from discreet.engine import address_of, engine_of, open_source, what_is_read
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.ledger.place import is_address
from discreet.privacy.budget import Budget
from discreet.schema import columns as kinds
from discreet.schema.columns import Column
from discreet.schema.units import Unit, person, rows

_TOP = (
    "version",
    "engine",
    "source",
    "table",
    "ledger",
    "people",
    "data_version",
    "unit",
    "budget",
    "columns",
    "tables",
    "public",
)
_TEXTS = ("table", "ledger", "people", "data_version")
_HUGE = 400  # digits before or after the point

# For every type of column: what makes it, and what it must and may say.
_TYPES: dict[str, tuple[Callable[..., Column], tuple[str, ...], tuple[str, ...]]] = {
    "integer": (kinds.integer, ("lower", "upper"), ("missing", "decimal")),
    "number": (kinds.number, ("lower", "upper"), ("step", "missing", "decimal")),
    "category": (kinds.category, ("values",), ("missing",)),
    "boolean": (kinds.boolean, (), ("missing",)),
    "date": (kinds.date, ("lower", "upper"), ("missing", "format")),
    "text": (kinds.text, (), ("missing", "length")),
}

_Table = Mapping[str, object]
_T = TypeVar("_T")


class Configuration(TypedDict):
    """The arguments of a curator."""

    source: str | dict[str, str]
    table: str | dict[str, str] | None
    ledger: str | None
    people: str | None
    version: str | None
    unit: Unit
    budget: Budget
    columns: dict[str, Column] | dict[str, dict[str, Column]]
    public: dict[str, str]
    at_most: NotRequired[dict[str, int]]  # of several tables


def read(path: str | os.PathLike[str]) -> Configuration:
    """What the file says, checked; every mistake is a sentence with the name of its key."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f'The owner\'s file is named by a path, not by {type(path).__name__}; write open("hospital.toml").')
    file = Path(path)
    facts = _parse(file)
    try:
        _check_keys(facts, _TOP, "the file")
        if facts.get("version") != 1 or isinstance(facts["version"], bool):
            raise ParameterError("its first line must say which version of these rules it follows; write version = 1.")
        _check_engine(facts)
        table, ledger, people, data = (_text(facts, name) if name in facts else None for name in _TEXTS)
        made = Configuration(
            source="" if "tables" in facts else _resolve(file, _text(facts, "source")),
            table=table,
            ledger=ledger if ledger is None or is_address(ledger) else _resolve(file, ledger),
            people=people,
            version=data,
            unit=_unit(_section(facts, "unit")),
            budget=_budget(_section(facts, "budget")),
            columns={} if "tables" in facts else _columns(_section(facts, "columns"), "[columns]"),
            public={name: _public(file, name, given) for name, given in _section(facts, "public").items()}
            if "public" in facts
            else {},
        )
        return made if "tables" not in facts else _several(file, facts, made)
    except ParameterError as mistake:
        raise ParameterError(f"{file.name}: {mistake}") from None


def _check_engine(facts: _Table) -> None:
    """Refuse an engine that does not read these tables: where a table is says which does."""
    if "engine" not in facts:
        return
    asked, parts = _text(facts, "engine"), facts.get("tables")
    tables = [facts, *(parts.values() if isinstance(parts, dict) else ())]
    for source in (one["source"] for one in tables if isinstance(one, dict) and "source" in one):
        if engine_of(source) != asked:
            raise ParameterError(
                f"engine = {shown(asked)} does not read this source, which {engine_of(source)} does; leave engine out, or give "
                f"what it reads: {', '.join(f'{name} reads {what}' for name, what in what_is_read().items())}."
            )


def _several(file: Path, facts: _Table, made: Configuration) -> Configuration:
    """The same for several tables, each with a part of its own."""
    for key in ("source", "table", "columns"):
        if key in facts:
            raise ParameterError(f"{key} is said table by table where there are [tables]; write it into [tables.patients].")
    parts = _section(facts, "tables")
    for name, given in parts.items():
        if not isinstance(given, dict):
            raise ParameterError(f"[tables] {shown(name)} is no table of keys; {_SECTIONS['tables']}")
        _check_keys(given, ("source", "table", "at_most", "columns"), f"[tables.{shown(name)}]")
    tables = {name: given for name, given in parts.items() if isinstance(given, dict)}
    made["source"] = {name: _resolve(file, _text(given, "source")) for name, given in tables.items()}
    made["table"] = {name: _text(given, "table") for name, given in tables.items() if "table" in given} or None
    made["columns"] = {
        name: _columns(_section(given, "columns"), f"[tables.{shown(name)}.columns]") for name, given in tables.items()
    }
    made["at_most"] = {name: given["at_most"] for name, given in tables.items() if "at_most" in given}
    return made


def _columns(given: _Table, where: str) -> dict[str, Column]:
    return {name: _column(name, one, where) for name, one in given.items()}


def _parse(file: Path) -> _Table:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"), parse_float=_decimal)
    except tomllib.TOMLDecodeError as mistake:
        raise ParameterError(
            f"{file.name} is not TOML: {mistake}. Texts need quotes, and every key stands on its own line."
        ) from None
    except UnicodeDecodeError:
        raise ParameterError(f"{file.name} is not a text in UTF-8; write it with a text editor, or discreet init.") from None
    except OSError as problem:
        raise ParameterError(
            f"{file} cannot be read ({problem.strerror}); check its name, or write one with discreet init."
        ) from None
    except ParameterError as mistake:
        raise ParameterError(f"{file.name}: {mistake}") from None


def _decimal(text: str) -> Decimal:
    number = Decimal(text)
    if number.is_finite() and abs(number.adjusted()) > _HUGE:
        raise ParameterError(f"the number {shown(text)} is too large or too small to mean anything; write it smaller or larger.")
    return number


def _section(facts: _Table, name: str) -> _Table:
    if name not in facts:
        raise ParameterError(f"there is no [{name}]; {_SECTIONS[name]}")
    section = facts[name]
    if not isinstance(section, dict) or not section:
        raise ParameterError(f"[{name}] must hold keys of its own; {_SECTIONS[name]}")
    return section


_SECTIONS = {
    "unit": 'say who is protected: person = "patient_id", rows = 8, groups = 3; or rows = true where every row is somebody.',
    "budget": "say what all questions together may cost: epsilon = 3 and delta = 1e-6.",
    "columns": 'declare what questions may use: age = { type = "integer", lower = 0, upper = 120 }.',
    "tables": 'give every table a part: [tables.visits] with source = "visits.csv", and [tables.visits.columns].',
    "public": 'name public tables: [public.regions] with source = "regions.csv".',
}


def _unit(given: _Table) -> Unit:
    if "person" in given:
        _check_keys(given, ("person", "rows", "groups", "neighbours", "size"), "[unit]")
        _check_needed(
            given, ("rows", "groups"), "[unit] with a person", "rows = 8 in a group, and groups = 3 groups' worth in all"
        )
        rest = {name: value for name, value in given.items() if name != "person"}
        return _locate("[unit]", lambda: person(_text(given, "person"), **rest))  # type: ignore[arg-type]
    _check_keys(given, ("rows", "neighbours", "size"), "[unit] without a person")
    if given.get("rows") is not True:
        raise ParameterError(f"[unit]: {_SECTIONS['unit']}")
    rest = {name: value for name, value in given.items() if name != "rows"}
    return _locate("[unit]", lambda: rows(**rest))  # type: ignore[arg-type]


def _budget(given: _Table) -> Budget:
    _check_keys(given, ("epsilon", "delta", "rho"), "[budget]")
    return _locate("[budget]", lambda: Budget(**given))


def _column(name: str, given: object, section: str) -> Column:
    where = f"{section} {shown(name)}"
    if not isinstance(given, dict) or "type" not in given:
        raise ParameterError(f'{where} has no type; write {shown(name)} = {{ type = "integer", lower = 0, upper = 120 }}.')
    kind = given["type"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ParameterError(
            f"{where}: there is no type {shown(kind)}{_suggest(str(kind), _TYPES)}; there are {', '.join(_TYPES)}."
        )
    make, must, may = _TYPES[kind]
    _check_keys(given, ("type", *must, *may), f"{where}, which is {kind},")
    _check_needed(given, must, f"{where}, which is {kind},", ", ".join(f"{key} = ..." for key in must))
    rest = {key: value for key, value in given.items() if key not in ("type", "values")}
    values = given.get("values", [])
    if not isinstance(values, list):
        raise ParameterError(f'{where}: values must be a list; write values = ["yes", "no"].')
    return _locate(where, lambda: make(*values, **rest))


def _public(file: Path, name: str, given: object) -> str:
    if not isinstance(given, dict):
        raise ParameterError(f"[public] {shown(name)} is no table of keys; {_SECTIONS['public']}")
    _check_keys(given, ("source",), f"[public.{shown(name)}]")
    return _resolve(file, _text(given, "source"))


def _locate(where: str, make: Callable[[], _T]) -> _T:
    """A refusal of a public fact, with the place where it was written."""
    try:
        return make()
    except ParameterError as mistake:
        raise ParameterError(f"{where}: {mistake}") from None


def _check_keys(given: _Table, names: Iterable[str], where: str) -> None:
    for key in given:
        if key not in tuple(names):
            raise ParameterError(f"{where} has an unknown key {shown(key)}{_suggest(key, names)}; there are {', '.join(names)}.")


def _check_needed(given: _Table, names: Iterable[str], where: str, example: str) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise ParameterError(f"{where} does not say {' and '.join(missing)}; write {example}.")


def _suggest(key: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(key.lower(), list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _text(given: _Table, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise ParameterError(f'{name} must be a text; write {name} = "{_EXAMPLES[name]}".')
    return value


_EXAMPLES = {
    "engine": "duckdb",
    "source": "hospital.parquet",
    "table": "patients",
    "ledger": "hospital.ledger",
    "people": "patients of the clinic",
    "data_version": "2026-11",
    "person": "patient_id",
}


def _resolve(file: Path, name: str) -> str:
    return str(file.parent / name) if engine_of(name) == "duckdb" else name


_TEXT = """\
# Public facts about {name}, for discreet. They come from you, never from the data: whatever you write here, everybody may know.
#
# Only you can say:
#   who is protected, and for how many rows and groups a person may count;
#   what all questions together may cost;
#   between which bounds numbers and days lie, and which categories there are (from the meaning of a column, not by looking).

version = 1
source = {source}
# people = "patients of the clinic"   # whose budget it is: all files about the same people share one ledger
# ledger = {ledger}   # where spending is written down; unless told beside the source, one for every person column
# data_version = "2026-11"   # changed by you when the table changes; unless told, everybody may learn that it did

[unit]
# Every person, by the column that tells persons apart; they count for at most so many rows in a group, and groups' worth in all:
# person = "patient_id"
# rows = 8
# groups = 3
# Or, where every row is another person:
# rows = true

[budget]
# epsilon = 3
# delta = 1e-6

[columns]
# Leave away columns that no question needs. A declaration is one of
#   {{ type = "integer", lower = 0, upper = 120 }}                        others are clamped to the bounds
#   {{ type = "number", lower = 0, upper = 10_000_000, step = 0.01 }}     rounded to steps
#   {{ type = "category", values = ["yes", "no"] }}                       others are missing
#   {{ type = "boolean" }}
#   {{ type = "date", lower = 2020-01-01, upper = 2026-12-31 }}
#   {{ type = "text", length = 100 }}                                     longer ones are cut; groups are chosen privately
# and may say what a missing value becomes: missing = 0.
# In texts, as in CSV, numbers are read as 1100.5 or 1,100.5 and days as 2026-01-31, and everything else is missing; unless a
# declaration says how they are written: decimal = "," for 1.100,5 and format = "%d.%m.%Y" for 31.01.2026.
{columns}
# Public tables that questions may join:
# [public.regions]
# source = "regions.csv"
"""


def write_skeleton(source: str | os.PathLike[str], *, written: str | None = None, table: str | None = None) -> str:
    """A commented configuration for a file, from the names of its columns; ``written`` is its path as the text will say it."""
    names, address = open_source(source, table=table).names, address_of(source)
    return skeleton(written or address or os.fspath(source), names, table)


def skeleton(source: str, names: Sequence[str], table: str | None = None) -> str:
    """The text for a source with these columns.

    >>> print(skeleton("people.csv", ["age"]).splitlines()[8])
    source = "people.csv"
    """
    path = Path(source if engine_of(source) == "duckdb" else source.rpartition("=")[2])
    columns = "".join(
        f'# {write_key(name)} = {{ type = "" }}   # integer, number, category, boolean, date or text\n' for name in names
    )
    return _TEXT.format(
        name=_shown(path.name),
        source=_quoted(source) + ("" if table is None else f"\ntable = {_quoted(table)}"),
        ledger=_quoted(path.stem + ".ledger"),
        columns=columns,
    )


def write_key(name: str) -> str:
    """A name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A text as TOML writes it: as JSON does, but for the sign that TOML forbids and JSON does not."""
    return json.dumps(_readable(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _readable(text: str) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


@called_as('"hospital.toml"')
def open(path: str | os.PathLike[str]) -> Curator:
    """The curator of the table that a file such as ``hospital.toml`` describes."""
    return Curator(**read(path))
