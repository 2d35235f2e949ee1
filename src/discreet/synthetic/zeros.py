"""What can never be: combinations of cells that declared facts rule out, and that get no probability.

A fact is a condition over columns that holds in every row, ``child_age < age``; a row for which it is unknown, because something
is missing, is possible. It is tried on every combination of values, so that its columns have a cell for every value,
and none are joined.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, columns_of
from discreet.plan.expressions.evaluate import evaluate, infer
from discreet.plan.expressions.facts import Facts
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.fit import mask
from discreet.synthetic.inference.tree import Columns, Tree

_MOST = 2**16  # combinations that are tried


@dataclass(frozen=True, eq=False)
class Zeros:
    """Tables over some columns each: 0 where nothing can be, 1 elsewhere."""

    tables: tuple[tuple[Columns, Reals], ...] = ()

    @property
    def columns(self) -> frozenset[int]:
        return frozenset(column for columns, _ in self.tables for column in columns)

    @classmethod
    def of(cls, conditions: Sequence[Expression], domain: Domain, facts: Mapping[str, Facts], most: int) -> Zeros:
        """What conditions rule out. ``most``: the cells that one table may have, and the tree of all of them."""
        found = cls(tuple(_table(condition, domain, facts, min(most, _MOST)) for condition in conditions))
        sizes = [size if column in found.columns else 1 for column, size in enumerate(domain.sizes)]
        tree = Tree.over(sizes, [columns for columns, _ in found.tables])
        if conditions and tree.cells > most:
            raise ParameterError(
                f"Together these facts are about {tree.cells:,} combinations, and at most {most:,} are kept; write fewer "
                "of them, or allow more work, seconds=60."
            )
        if not tree.calibrate([np.zeros(shape) for shape in tree.shapes], mask(tree, found.tables)).possible:
            raise ParameterError("No row can satisfy all these facts at once, whatever the data; write what holds in every row.")
        return found


def _table(condition: Expression, domain: Domain, facts: Mapping[str, Facts], most: int) -> tuple[Columns, Reals]:
    if infer(condition, facts).kind != "boolean":
        raise ParameterError(f"{condition} is no condition; write what holds in every row, such as child_age < age.")
    names = dict.fromkeys(columns_of(condition))
    columns = domain.places(names)
    codings = [domain.columns[column] for column in columns]
    wide = next((one for one in codings if one.widths.max() > 1), None)
    if wide is not None:
        raise ParameterError(
            f"{condition} is tried on single values, and a cell of {wide.name} has several; write more bins for it."
        )
    shape = tuple(one.count for one in codings)
    if int(np.prod([float(size) for size in shape])) > most:
        raise ParameterError(
            f"{condition} is about {' times '.join(map(str, shape))} combinations, and at most {most:,} are tried."
        )
    rows = itertools.product(*([one.value(cell) for cell in range(one.count)] for one in codings))
    held = [evaluate(condition, dict(zip((one.name for one in codings), row, strict=True))) is not False for row in rows]
    table = np.array(held, dtype=np.float64).reshape(shape)
    if not table.any():
        raise ParameterError(f"No row can satisfy {condition}, whatever the data; write what holds in every row.")
    return columns, table
