"""An answer for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.curator.cells import cells, notes, shown_rows
from discreet.plan.display import clean, text_table

if TYPE_CHECKING:
    from discreet.curator.answer import Answer

__all__ = ["answer_text"]


def answer_text(answer: Answer) -> str:
    """An aligned table, then a few lines; long tables are cut in the middle."""
    rows, cut, hidden = shown_rows(len(answer))
    lines = text_table(*cells(answer, rows)).split("\n")
    if hidden:
        lines.insert(2 + cut, f"... {hidden:,} more rows")
    if not len(answer):
        lines.append("(no rows)")
    return "\n".join([*lines, "", *map(clean, notes(answer))])
