"""Columns of Python objects, some of them texts and some of them values: every cell's text, in one of two places.

How somebody writes numbers and days may be declared, and concerns texts alone; whether a column has both may hang on one row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow

__all__ = ["marked", "mixed_type", "unmarked"]


def mixed_type() -> pyarrow.StructType:
    """Arrow's type of what ``spelling`` calls ``MIXED``."""
    import pyarrow

    return pyarrow.struct([("given text", pyarrow.large_string()), ("given value", pyarrow.large_string())])


def marked(texts: pyarrow.Array, written: NDArray[np.bool_]) -> pyarrow.StructArray:
    """Texts, of which those were written by somebody."""
    import pyarrow
    from pyarrow import compute

    none = pyarrow.scalar(None, pyarrow.large_string())
    halves = [compute.if_else(pyarrow.array(which), texts, none) for which in (written, ~written)]
    return pyarrow.StructArray.from_arrays(halves, fields=list(mixed_type()))


def unmarked(table: pyarrow.Table) -> pyarrow.Table:
    """The same table with plain texts instead: for public tables, of which no spelling is declared."""
    from pyarrow import compute

    for i, field in enumerate(table.schema):
        if field.type == mixed_type():
            halves = [compute.struct_field(table.column(i), j) for j in (0, 1)]
            table = table.set_column(i, field.name, compute.coalesce(*halves))
    return table
