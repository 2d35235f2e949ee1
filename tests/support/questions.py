"""Questions in the making, without a curator that could answer them."""

from __future__ import annotations

from typing import Any

from discreet.curator.question import Question
from discreet.schema.table import Schema

__all__ = ["begin"]


def begin(schema: Schema) -> Question:
    """A question about a table of which only the schema is known."""

    def nobody(*_: Any) -> Any:
        raise AssertionError("there is no curator")

    return Question(schema, nobody, nobody)
