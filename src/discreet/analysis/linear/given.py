"""Public rows that a model predicts for: given as a frame or a dictionary, read as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, Value
from discreet.plan.expressions.evaluate import evaluate

_MOST_ROWS = 100_000  # at a time


def evaluate_given(one: Expression, row: Mapping[str, Value]) -> Value:
    """A variable of a model in a row that was given; who gave the row may read of it in a refusal."""
    try:
        return evaluate(one, row)
    except KeyError as missing:
        raise ParameterError(f"The rows to predict for have no column {missing.args[0]}; give it.") from None
    except OverflowError:
        raise ParameterError("A row to predict for has a number beyond all doubles; give one within declared bounds.") from None


def read_given(given: Any) -> list[dict[str, Value]]:
    """Rows as dictionaries, of a frame or a dictionary of columns or of single values."""
    if hasattr(given, "to_pydict"):
        given = given.to_pydict()
    elif hasattr(given, "to_dict"):
        given = given.to_dict("list") if hasattr(given, "iloc") else given.to_dict(as_series=False)
    if not isinstance(given, Mapping) or not given:
        raise ParameterError('predict takes a frame or a dictionary of columns; write predict({"age": [30, 60]}).')
    columns = {str(name): _listed(values) for name, values in given.items()}
    counts = {len(values) for values in columns.values() if values is not None}
    size = max(counts, default=1)
    if len(counts) > 1 or size > _MOST_ROWS:
        raise ParameterError(f"All columns to predict for have the same number of rows, at most {_MOST_ROWS:,}.")
    full = {name: values if values is not None else [_plain(given[name])] * size for name, values in columns.items()}
    return [dict(zip(full, row, strict=True)) for row in zip(*full.values(), strict=True)]


def _listed(values: Any) -> list[Value] | None:
    """A column's values; None for a single one."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        return None
    return [_plain(one) for one in values]


def _plain(value: Any) -> Value:
    plain: Value = value.item() if isinstance(value, np.generic) else value
    return plain
