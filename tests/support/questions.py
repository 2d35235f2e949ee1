"""Questions in the making that no curator stands behind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from discreet.curator.desk import Desk
from discreet.curator.question import Question
from discreet.schema.table import Schema


def begin(schema: Schema) -> Question:
    """A question about a table with these facts, at a desk where nobody answers."""
    return Question(cast(Desk, SimpleNamespace(schema=schema)))
