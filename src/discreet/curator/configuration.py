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
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TypedDict, TypeVar

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.privacy.budget import Budget
from discreet.schema import columns as kinds
from discreet.schema.columns import Column
from discreet.schema.units import Unit, person, rows

__all__ = ["Configuration", "read"]

_TOP = ("version", "source", "table", "ledger", "people", "data_version", "unit", "budget", "columns", "public")
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

    source: str
    table: str | None
    ledger: str | None
    people: str | None
    version: str | None
    unit: Unit
    budget: Budget
    columns: dict[str, Column]
    public: dict[str, str]


def read(path: str | os.PathLike[str]) -> Configuration:
    """What the file says, checked; every mistake is a sentence with the name of its key."""
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f'The owner\'s file is named by a path, not by {type(path).__name__}; write open("hospital.toml").')
    file = Path(path)
    facts = _parsed(file)
    try:
        _known(facts, _TOP, "the file")
        if facts.get("version") != 1 or isinstance(facts["version"], bool):
            raise ParameterError("its first line must say which version of these rules it follows; write version = 1.")
        table, ledger, people, data = (_text(facts, name) if name in facts else None for name in _TEXTS)
        return Configuration(
            source=_beside(file, _text(facts, "source")),
            table=table,
            ledger=None if ledger is None else _beside(file, ledger),
            people=people,
            version=data,
            unit=_unit(_section(facts, "unit")),
            budget=_budget(_section(facts, "budget")),
            columns={name: _column(name, given) for name, given in _section(facts, "columns").items()},
            public={name: _public(file, name, given) for name, given in _section(facts, "public").items()}
            if "public" in facts
            else {},
        )
    except ParameterError as mistake:
        raise ParameterError(f"{file.name}: {mistake}") from None


def _parsed(file: Path) -> _Table:
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
    "public": 'name public tables: [public.regions] with source = "regions.csv".',
}


def _unit(given: _Table) -> Unit:
    if "person" in given:
        _known(given, ("person", "rows", "groups", "neighbours", "size"), "[unit]")
        _needed(given, ("rows", "groups"), "[unit] with a person", "rows = 8 in a group, and groups = 3 groups' worth in all")
        rest = {name: value for name, value in given.items() if name != "person"}
        return _said("[unit]", lambda: person(_text(given, "person"), **rest))  # type: ignore[arg-type]
    _known(given, ("rows", "neighbours", "size"), "[unit] without a person")
    if given.get("rows") is not True:
        raise ParameterError(f"[unit]: {_SECTIONS['unit']}")
    rest = {name: value for name, value in given.items() if name != "rows"}
    return _said("[unit]", lambda: rows(**rest))  # type: ignore[arg-type]


def _budget(given: _Table) -> Budget:
    _known(given, ("epsilon", "delta", "rho"), "[budget]")
    return _said("[budget]", lambda: Budget(**given))


def _column(name: str, given: object) -> Column:
    where = f"[columns] {shown(name)}"
    if not isinstance(given, dict) or "type" not in given:
        raise ParameterError(f'{where} has no type; write {shown(name)} = {{ type = "integer", lower = 0, upper = 120 }}.')
    kind = given["type"]
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ParameterError(
            f"{where}: there is no type {shown(kind)}{_meant(str(kind), _TYPES)}; there are {', '.join(_TYPES)}."
        )
    make, must, may = _TYPES[kind]
    _known(given, ("type", *must, *may), f"{where}, which is {kind},")
    _needed(given, must, f"{where}, which is {kind},", ", ".join(f"{key} = ..." for key in must))
    rest = {key: value for key, value in given.items() if key not in ("type", "values")}
    values = given.get("values", [])
    if not isinstance(values, list):
        raise ParameterError(f'{where}: values must be a list; write values = ["yes", "no"].')
    return _said(where, lambda: make(*values, **rest))


def _public(file: Path, name: str, given: object) -> str:
    if not isinstance(given, dict):
        raise ParameterError(f"[public] {shown(name)} is no table of keys; {_SECTIONS['public']}")
    _known(given, ("source",), f"[public.{shown(name)}]")
    return _beside(file, _text(given, "source"))


def _said(where: str, make: Callable[[], _T]) -> _T:
    """A refusal of a public fact, with the place where it was written."""
    try:
        return make()
    except ParameterError as mistake:
        raise ParameterError(f"{where}: {mistake}") from None


def _known(given: _Table, names: Iterable[str], where: str) -> None:
    for key in given:
        if key not in tuple(names):
            raise ParameterError(f"{where} has an unknown key {shown(key)}{_meant(key, names)}; there are {', '.join(names)}.")


def _needed(given: _Table, names: Iterable[str], where: str, example: str) -> None:
    missing = [name for name in names if name not in given]
    if missing:
        raise ParameterError(f"{where} does not say {' and '.join(missing)}; write {example}.")


def _meant(key: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(key.lower(), list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _text(given: _Table, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise ParameterError(f'{name} must be a text; write {name} = "{_EXAMPLES[name]}".')
    return value


_EXAMPLES = {
    "source": "hospital.parquet",
    "table": "patients",
    "ledger": "hospital.ledger",
    "people": "patients of the clinic",
    "data_version": "2026-11",
    "person": "patient_id",
}


def _beside(file: Path, name: str) -> str:
    return str(file.parent / name)
