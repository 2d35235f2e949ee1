"""Estimates as text, CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local import Collector

__all__ = ["as_csv", "as_json", "as_text", "columns", "write_parquet"]

Columns = dict[str, list[object]]


def columns(found: object) -> Columns:
    """An estimate in columns, named as in its data frame."""
    from discreet.local.distribution_estimate import DistributionEstimate
    from discreet.local.estimate import Estimate
    from discreet.local.hitters import Hitters
    from discreet.local.mean_estimate import MeanEstimate

    if isinstance(found, MeanEstimate):
        ends = found.interval()
        names = ("mean", "standard_error", "lower", "upper", "consistent")
        return {name: [x] for name, x in zip(names, (found.value, found.standard_error, *ends, found.consistent()), strict=True)}
    if not isinstance(found, (DistributionEstimate, Estimate, Hitters)):
        raise ParameterError("Estimates of several attributes are no one table; write --format table.")
    low, high = found.interval()
    numbers = {"share": found.values, "standard_error": found.standard_error, "lower": low, "upper": high}
    if isinstance(found, Estimate):
        numbers["consistent"] = found.consistent()
    if isinstance(found, DistributionEstimate):
        numbers = {"from": found.edges[:-1], "to": found.edges[1:], **numbers}
    listed: Columns = {name: column.tolist() for name, column in numbers.items()}
    return listed if isinstance(found, DistributionEstimate) else {"item": list(found.items), **listed}


def as_text(found: object) -> str:
    """For people; several attributes one below the other."""
    if isinstance(found, dict):
        return "\n".join(f"{name}\n{as_text(one)}" for name, one in found.items())
    return f"{found}\n"


def as_csv(table: Columns) -> str:
    """A header and a line for every row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*([_spelled(cell) for cell in column] for column in table.values()), strict=True))
    return text.getvalue()


def as_json(collector: Collector[object], table: Columns) -> str:
    """Rows, with how many reports they come from; what JSON has no number for is null."""
    rows = [{name: _plain(cell) for name, cell in zip(table, row, strict=True)} for row in zip(*table.values(), strict=True)]
    facts = {"discreet": "local estimate", "version": 1, "task": collector.task.hash, "epsilon": float(collector.task.epsilon)}
    facts |= {"reports": collector.count, "refused": collector.refused, "rows": rows}
    return json.dumps(facts, allow_nan=False) + "\n"


def write_parquet(table: Columns, file: Path) -> None:
    """A Parquet file; answers of several types become texts."""
    import pyarrow
    from pyarrow import parquet

    if len({type(item) for item in table.get("item", [])}) > 1:
        table = {**table, "item": [str(_spelled(item)) for item in table["item"]]}
    parquet.write_table(pyarrow.table(table), file)


def _spelled(cell: object) -> object:
    return str(cell).lower() if isinstance(cell, bool) else cell


def _plain(cell: object) -> object:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
