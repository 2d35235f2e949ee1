"""Digests of ledgers that were begun before digests were facts: hashes of the texts that Python made of objects at that time.

The texts are written out here as they were, whatever the classes are called now; they are read by old ledgers only, and by the
notes of an owner's looks, which keep the same short hashes. Nothing here changes any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from discreet.plan.plan import Plan
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text
from discreet.schema.units import Person, Rows, Unit

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


def former_digest(plans: Sequence[Plan]) -> str:
    """The digest of questions that were asked together."""
    return _hash("\n".join(_hash(_text(plan)) for plan in plans))


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
