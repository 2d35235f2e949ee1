"""Answers as CSV, JSON, Parquet and pictures."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator.answer import Answer
    from discreet.plan.expressions import Value

__all__ = ["as_csv", "as_json", "draw", "write", "write_parquet"]


def as_csv(answer: Answer) -> str:
    """A header and a line for every row; missing values are empty."""
    from discreet.curator.exports import columns

    found = columns(answer)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in found])
    writer.writerows([[_cell(value) for value in row] for row in zip(*(column.values for column in found), strict=True)])
    return text.getvalue()


def as_json(answer: Answer) -> str:
    """Rows with their cost; days are texts, and what JSON has no number for is null."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in answer.rows()]
    facts = {
        "discreet": "rows",
        "version": 1,
        "question": answer.question,
        "cost": answer.cost,
        "left": str(answer.left),
        "repeated": answer.repeated,
        "parts": [list(part) for part in answer.parts],
        "remarks": list(answer.remarks),
        "rows": rows,
    }
    return json.dumps(facts, allow_nan=False) + "\n"


def write(text: str, file: Path) -> None:
    """Write a text; the answer is in the ledger already, so a failure costs nothing."""
    try:
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
    except OSError as problem:
        raise _unwritten(file, problem) from None


def write_parquet(answer: Answer, file: Path) -> None:
    """Write a Parquet file."""
    from pyarrow import parquet

    try:
        parquet.write_table(answer.to_arrow(), file)
    except OSError as problem:
        raise _unwritten(file, problem) from None


def draw(answer: Answer, file: Path) -> None:
    """Draw the first output, where there need be no screen."""
    from discreet.privacy.canvas import new_axes, save

    try:
        import matplotlib as mpl

        mpl.use("Agg")
    except ImportError:
        new_axes(None)  # says what to install
    save(answer.plot(), file)


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _plain(value: Value) -> object:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _unwritten(file: Path, problem: OSError) -> ParameterError:
    return ParameterError(
        f"{file} cannot be written ({problem.strerror}); choose another place and ask again: the answer is kept, and free."
    )
