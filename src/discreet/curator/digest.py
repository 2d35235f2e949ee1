"""The digest of questions: a hash of the public facts that make them the same, by which a ledger knows them again.

Facts are plain JSON in words of their own, written out one by one, so that no renaming inside discreet ends a free repeat. They
are what is asked (of what touches data: not HAVING, ORDER BY and LIMIT), what is declared, who is protected, and what is released
how; not what is paid, because what was paid more for may be asked again for less. What tables hold is no part of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import date
from fractions import Fraction

from discreet.plan.plan import Plan
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text
from discreet.schema.units import Person, Rows, Unit

__all__ = ["digest_of", "facts_of"]

_VERSION = 2  # 1: hashes of the texts of Python objects (``former``)

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


def digest_of(plans: Sequence[Plan]) -> str:
    """The hash of the facts of questions that are asked together."""
    facts = {"discreet": "questions", "version": _VERSION, "questions": [facts_of(plan) for plan in plans]}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def facts_of(plan: Plan) -> dict[str, object]:
    """What makes a question the same as another one."""
    schema = plan.schema
    return {
        "query": str(plan.query.released),
        "columns": {name: _declared(column) for name, column in schema.columns.items()},
        "unit": _declared(schema.unit),
        "public": sorted(schema.public),
        "delta": str(plan.share.named) if plan.keys.size is None else None,
        "releases": [[release.label, release.how] for release in plan.releases],
    }


def _declared(declaration: Column | Unit) -> dict[str, object]:
    kind, names = _DECLARED[type(declaration)]
    return {"type": kind, **{name: _plain(getattr(declaration, name)) for name in names}}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Fraction | date) else value
