"""What plans and answers show: small tables, numbers as people read them, and keys of a table of strangers."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

from discreet.plan.expressions import Value
from discreet.tables import clean, decimals, figure, html_table, text_table

__all__ = ["clean", "decimals", "figure", "html_table", "label", "text_table"]


def label(value: Value) -> str:
    """A key or a choice as people read it: no thousands separators, for 2026 may be a year.

    >>> label(2026), label(True), label(None), label(Fraction(1, 4))
    ('2026', 'true', '(missing)', '0.25')
    """
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (float, Fraction)):
        return f"{float(value):.12g}"
    if isinstance(value, datetime.date):
        return value.isoformat()
    return clean(value) if isinstance(value, str) else f"{Decimal(value):f}"
