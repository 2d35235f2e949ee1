"""The digest of a question: the hash of the facts by which a ledger knows it again.

A ledger knows questions again by a hash of the public facts that make them the same. Facts are plain JSON in words of
their own, written out one by one, so that no renaming inside discreet ends a free repeat: what is asked (as far as it touches
data, so without HAVING, ORDER BY and LIMIT), what is declared, who is protected, and what is released how. They are not what is
paid, because what was paid more for may be asked again for less; and what tables hold is no part of them.
Neither are names of columns, nor their order: who calls a count by another name asks for the same noise.

Digests of before are known too: those with names (``digest_of``), and those of ledgers that were begun before digests were facts,
hashes of the texts that Python made of objects at that time. These are written out here as they were, whatever the classes are
called now; they are read by old ledgers only, and by the notes of an owner's looks, which keep the same short hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from weakref import WeakKeyDictionary

from discreet.plan.plan import Plan, Prepared
from discreet.plan.query import Levels, grouped
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows, Unit

_VERSION = 2  # 1: hashes of the texts of Python objects (``former_digest``)

# For every declaration: its type in the owner's file, and what it says.
_DECLARED: dict[type, tuple[str, tuple[str, ...]]] = {
    Integer: ("integer", ("lower", "upper", "missing", "decimal")),
    Number: ("number", ("lower", "upper", "step", "missing", "decimal")),
    Category: ("category", ("values", "missing")),
    Boolean: ("boolean", ("missing",)),
    Date: ("date", ("lower", "upper", "missing", "format")),
    Text: ("text", ("missing", "length")),
    Rows: ("rows", ("neighbours", "size")),
    Person: ("person", ("id", "rows", "groups", "neighbours", "size")),
}

_TEXTS: dict[type, tuple[str, tuple[str, ...]]] = {
    Integer: ("Integer", ("lower", "upper", "missing", "decimal")),
    Number: ("Number", ("lower", "upper", "step", "missing", "decimal")),
    Category: ("Category", ("values", "missing")),
    Boolean: ("Boolean", ("missing",)),
    Date: ("Date", ("lower", "upper", "missing", "format")),
    Rows: ("Rows", ("neighbours", "size")),
    Person: ("Person", ("id", "rows", "groups", "neighbours", "size")),
}
_LENGTH = 1000  # of texts that were declared without one


def digest_of(plans: Sequence[Plan]) -> str:
    """The hash of the facts of SELECTs that are asked together."""
    return hash_facts([facts_of(plan) for plan in plans])


def hash_facts(questions: Sequence[dict[str, object]]) -> str:
    """The hash of what is asked together."""
    facts = {"discreet": "questions", "version": _VERSION, "questions": questions}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def facts_of(plan: Plan) -> dict[str, object]:
    """What makes a question the same as another one."""
    schema, rows = plan.private, plan.query.people.rows if plan.query.people else plan.query
    several = len([one for one in rows.tables if one.joined]) > 1
    read = tuple(f"{one.table}." for one in rows.tables) if schema.tables else ("",)
    return {
        "query": str(plan.query.released),
        **({"tables": [[one.table, one.how, one.most] for one in rows.tables]} if several else {}),
        "columns": {name: _declared(column) for name, column in schema.columns.items() if name.startswith(read)},
        "unit": _declared(schema.unit),
        "public": sorted(schema.public),
        **({"levels": _levels(plan.query.levels)} if plan.query.levels else {}),
        "delta": str(plan.share.named) if plan.keys.size is None else None,
        "releases": [[release.label, release.how] for release in plan.releases],
    }


def meaning_of(plan: Plan) -> dict[str, object]:
    """What makes a question the same as another one, whatever its columns are called and in whatever order they stand; of tables
    with margins, in their order. Of plans of one question it is found once for all that release alike."""
    if plan.prepared is None:
        return _meaning_of(plan)
    known = _meanings.setdefault(plan.prepared, {})
    delta = plan.share.named if plan.keys.size is None else None
    released = (delta, *((release.label, release.how) for release in plan.releases))
    found = known.get(released) or _meaning_of(plan)
    if len(known) < _MANY:
        known[released] = found
    return found


_MANY = 16  # deltas and mechanisms under which the meaning of one question is kept
_meanings = WeakKeyDictionary[Prepared, dict[object, dict[str, object]]]()


def _meaning_of(plan: Plan) -> dict[str, object]:
    query, (meant, _) = plan.query, columns_meant(plan)
    keys = (
        list(query.keys) if query.levels else [key for _, key in sorted(zip(meant, query.keys, strict=True), key=lambda x: x[0])]
    )
    outputs = {str(output.aggregate): output for output in query.outputs}
    plain = replace(
        query,
        keys=tuple(replace(key, name=f"key {i}") for i, key in enumerate(keys)),
        outputs=tuple(replace(outputs[of], name=f"output {i}") for i, of in enumerate(sorted(outputs))),
    )
    facts = facts_of(replace(plan, query=plain))
    return {**facts, "releases": sorted(map(list, facts["releases"])), "meaning": 1}  # type: ignore[call-overload]


def columns_meant(plan: Plan) -> tuple[list[str], list[str]]:
    """What every key and every output of a question means, in its order, whatever they are called."""
    query = plan.query
    return [grouped(key) for key in query.keys], [str(output.aggregate) for output in query.outputs]


def hash_declarations(schema: Schema, tables: Iterable[str]) -> str:
    """The hash of what cells of these tables become, and of whose they are: what is declared of rows, and not how much of them
    counts."""
    read, unit = tuple(f"{table}." if table else "" for table in tables), schema.unit
    columns = {name: _declared(column) for name, column in schema.columns.items() if name.startswith(read)}
    facts = {"columns": columns, "id": unit.id if isinstance(unit, Person) else None}
    return hash_facts([{"rows": 1, **facts}])


def _levels(levels: Levels) -> list[object]:
    weights = levels.weights or [1] * len(levels.asked)
    return [[list(level), str(weight)] for level, weight in zip(levels.asked, weights, strict=True)]


@lru_cache(maxsize=4096)
def _declared(declaration: Column | Unit) -> dict[str, object]:
    kind, names = _DECLARED[type(declaration)]
    return {"type": kind, **{name: _plain(getattr(declaration, name)) for name in names}}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Fraction | date) else value


def former_digest(plans: Sequence[Plan]) -> str:
    """The digest of questions that were asked together."""
    return _hash("\n".join(_hash(_text(plan)) for plan in plans))


@lru_cache(maxsize=4096)
def declared_text(declaration: Column | Unit) -> str:
    """A declaration as it was written.

    >>> from discreet.schema import integer
    >>> declared_text(integer(0, 120)), declared_text(Text(length=7))
    ("Integer(lower=0, upper=120, missing=None, decimal='.')", 'Text(missing=None, length=7)')
    """
    if isinstance(declaration, Text):
        more = "" if declaration.length == _LENGTH else f", length={declaration.length}"
        return f"Text(missing={declaration.missing!r}{more})"
    kind, names = _TEXTS[type(declaration)]
    return f"{kind}({', '.join(f'{name}={getattr(declaration, name)!r}' for name in names)})"


def _text(plan: Plan) -> str:
    schema, leak = plan.private, plan.share.named if plan.keys.size is None else 0
    columns = ", ".join(f"({name!r}, {declared_text(column)})" for name, column in sorted(schema.columns.items()))
    return f"{plan.query.released}\n[{columns}]\n{declared_text(schema.unit)}\n{sorted(schema.public)}\n{leak}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
