"""An answer for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.curator.cells import cells, notes, shown_rows
from discreet.plan.display import html_table

if TYPE_CHECKING:
    from discreet.curator.answer import Answer

__all__ = ["answer_html"]


def answer_html(answer: Answer) -> str:
    """One piece of HTML; long tables are cut in the middle."""
    rows, cut, hidden = shown_rows(len(answer))
    headers, body, align = cells(answer, rows)
    if hidden:
        body.insert(cut, [f"... {hidden:,} more rows", *[""] * (len(headers) - 1)])
    return html_table(headers, body, align, notes=notes(answer))
