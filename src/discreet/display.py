"""Small tables as plain text and as HTML; numbers and keys as people read them.

What is shown may come from a table of strangers: control characters never reach a terminal, and markup never reaches a page.

>>> print(text_table(["ward", "n"], [["surgery", "1,204"], ["eye", "87"]], "<>"))
ward         n
-------  -----
surgery  1,204
eye         87
"""

from __future__ import annotations

import datetime
import html
import math
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

_WIDEST = 60  # characters of a cell in a terminal
_HARMFUL = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))  # controls, direction marks, lone surrogates, line ends
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.3em 0"
_LINE = "1px solid rgba(128,128,128,0.4)"  # seen on light and on dark pages


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Aligned columns under a rule; ``align`` has a ``<`` or a ``>`` for every column, else all are to the left."""
    sides = align.ljust(len(headers), "<")
    cells = [[_cut(clean(cell)) for cell in row] for row in (headers, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(_pad, row, widths, sides)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def html_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = "", *, notes: Sequence[str] = ()) -> str:
    """The same as one piece of HTML that needs no style sheet, with notes below."""
    sides = ["right" if side == ">" else "left" for side in align.ljust(len(headers), "<")]
    head = "".join(_cell("th", name, side, "bottom") for name, side in zip(headers, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', cell, side, '') for cell, side in zip(row, sides, strict=True))}</tr>" for row in rows
    )
    below = "".join(f'<div style="opacity:0.75;font-size:90%">{_safe(note)}</div>' for note in notes)
    return f'<div><table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>'


def clean(text: str) -> str:
    """The text on one line, with a mark for every character that could steer a terminal or turn the reading direction.

    >>> clean("red\\x1b[31m")
    'red�[31m'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(sign) in _HARMFUL else sign for sign in text)


def figure(value: float | Fraction, places: int | None = None) -> str:
    """A number with thousands separators; whole numbers stay whole, others are cut to so many decimals.

    >>> figure(1234567), figure(1234.5678, 1), figure(0.00012)
    ('1,234,567', '1,234.6', '0.00012')
    """
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**18 else f"{Decimal(value):.6e}"
    number = float(value)
    if not math.isfinite(number) or places is None or abs(number) >= 1e18:
        return f"{number:,.6g}" if abs(number) < 1e6 else f"{number:,.0f}" if abs(number) < 1e18 else f"{number:.6e}"
    text = f"{number:,.{places}f}"
    return text[1:] if text.startswith("-") and not any(sign in "123456789" for sign in text) else text  # no minus zero


def decimals(error: float) -> int | None:
    """How many decimals of a number mean something, when it may be off by so much: two digits of the error.

    >>> decimals(6.03), decimals(250.0), decimals(0.0042)
    (1, 0, 4)
    """
    if not math.isfinite(error) or error <= 0:
        return None
    return min(max(0, 1 - math.floor(math.log10(error))), 12)


def label(value: bool | int | float | Fraction | str | datetime.date | None) -> str:
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


def _cell(tag: str, text: str, side: str, line: str) -> str:
    border = f";border-bottom:{_LINE}" if line else ""
    return f'<{tag} style="text-align:{side};padding:0.15em 0.8em 0.15em 0{border}">{_safe(text)}</{tag}>'


def _safe(text: str) -> str:
    return html.escape(clean(text), quote=True)


def _width(text: str) -> int:
    """Columns in a terminal: wide signs take two, marks on another sign none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def _cut(text: str) -> str:
    if _width(text) <= _WIDEST:
        return text
    kept = text[: _WIDEST - 1]
    while _width(kept) >= _WIDEST:
        kept = kept[:-1]
    return kept + "…"


def _pad(text: str, width: int, side: str) -> str:
    space = " " * (width - _width(text))
    return space + text if side == ">" else text + space
