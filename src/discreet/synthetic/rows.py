"""Rows drawn from a model: as many of every kind as the model says, to the nearest row, in an order that says nothing.

Cliques are drawn from the root down. The rows that agree on a separator are n; they get the values of the clique's own columns in
numbers that differ from n p by less than 1, where fractions are settled by one random start (systematic sampling, Madow 1949),
and which row gets which is a random permutation, drawn anew for every clique. So every row has the model's distribution, columns
that are independent given a separator stay so, and marginals have far less sampling error than independent draws would leave.
Then rows trade what these permutations left to chance, until pairs of columns that no clique has agree with the model as well
(``balancing``).

What has probability 0 is never drawn. All randomness is the system's; it is no part of the guarantee, which the model has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.errors import DiscreetError, ParameterError
from discreet.noise.bits import words
from discreet.synthetic.balancing import balance
from discreet.synthetic.domain import Coding, Domain
from discreet.synthetic.inference.tree import Beliefs
from discreet.synthetic.rounds.levels import Levels
from discreet.synthetic.rounds.merging import Merged

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_PLACES = 20  # binary digits of a row's number: rows are drawn up to 2^20 at a time
_CHECKED = 2**14  # rows by which a draw is held against its model
_ALARM = 1e-12  # the chance that a right draw of independent rows is refused, for one pair of columns


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Synthetic rows."""

    table: pyarrow.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        return self.table

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; columns with missing whole numbers or truth values have types that know ``<NA>``."""
        import pandas

        found = self.table.to_pandas(date_as_object=False)
        for name, column in zip(self.table.column_names, self.table.columns, strict=True):
            if column.null_count and str(column.type) in ("int64", "bool"):
                kind = "Int64" if str(column.type) == "int64" else "boolean"
                found[name] = pandas.array(column.to_pylist(), dtype=kind)
        return found

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame."""
        import polars

        found = polars.from_arrow(self.table)
        assert isinstance(found, polars.DataFrame)
        return found

    def save(self, path: str | Path) -> Path:
        """Write the rows as Parquet or CSV, by the file's ending."""
        file = Path(path)
        try:
            if file.suffix.lower() == ".parquet":
                from pyarrow import parquet

                parquet.write_table(self.table, file)
            elif file.suffix.lower() == ".csv":
                from pyarrow import csv

                csv.write_csv(self.table, file)
            else:
                raise ParameterError(f"{file.name!r} does not end in .parquet or .csv; write a name such as people.parquet.")
        except OSError as problem:
            raise ParameterError(f"{file} cannot be written ({problem.strerror or 'no such place'}); choose another.") from None
        return file

    def __repr__(self) -> str:
        return f"{len(self):,} synthetic rows of {', '.join(self.table.column_names)}"


def draw_rows(beliefs: Beliefs, domain: Domain, levels: Levels, merged: Sequence[Merged], count: int, looks: int) -> Rows:
    """Rows of values. ``levels``: how columns stand in the model; ``merged``: what joined cells are made of; ``looks``: how much
    work may be done to balance them."""
    import pyarrow

    parts: list[Any] = []
    for many in _parts(count):
        axes = draw_cells(beliefs, many)
        cells = [spread_cells(own, one) for own, one in zip(levels.cells(axes), merged, strict=True)]
        axes, cells = balance(axes, cells, beliefs, levels, merged, looks * many // max(count, 1))
        if not parts:
            check_cells(axes, beliefs)
        arrays = [decode_cells(one, own) for one, own in zip(domain.columns, cells, strict=True)]
        parts.append(pyarrow.table(dict(zip(domain.names, arrays, strict=True))))
    return Rows(pyarrow.concat_tables(parts))


def _parts(count: int) -> Iterator[int]:
    most = 1 << _PLACES
    yield from (most for _ in range(count // most))
    if count % most or not count:
        yield count % most


def draw_cells(beliefs: Beliefs, count: int) -> list[Integers]:
    """The cells of some rows, axis by axis."""
    tree = beliefs.tree
    found: dict[int, Integers] = {}
    for i, clique in enumerate(tree.cliques):
        shared = tree.separators[i]
        own = [column for column in clique if column not in shared]
        order = [clique.index(column) for column in (*shared, *own)]
        table = beliefs.conditionals[i].transpose(order).reshape(math.prod(tree.sizes[column] for column in shared), -1)
        groups = np.zeros(count, dtype=np.int64)
        for column in shared:
            groups = groups * tree.sizes[column] + found[column]
        cells = _allot(groups, table)
        for column in reversed(own):
            cells, found[column] = np.divmod(cells, tree.sizes[column])
    return [found[column] for column in range(len(tree.sizes))]


def _allot(groups: Integers, table: Reals) -> Integers:
    """A cell for every row: those of a group in the proportions of its line of the table, to the nearest row."""
    high, wide = table.shape
    many = np.bincount(groups, minlength=high)
    totals = np.cumsum(table, axis=1)
    whole = totals[:, -1:]
    # What comes after the last cell that can be is equal to the whole, so that it is 1, exactly, and gets nothing.
    shares = np.where(totals >= whole, 1.0, totals / np.where(whole > 0, whole, 1.0))
    starts = (words(high) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    ends = np.ceil(many[:, None] * shares - starts[:, None]).astype(np.int64)
    np.clip(ends, 0, many[:, None], out=ends)
    ends[:, -1] = many
    counts = np.diff(ends, axis=1, prepend=0).ravel()
    values = np.repeat(np.tile(np.arange(wide), high), counts)
    found = np.empty(len(groups), dtype=np.int64)
    found[_shuffled(groups, high)] = values
    return found


def _shuffled(groups: Integers, high: int) -> Integers:
    """The numbers of all rows, by group, and in random order within each."""
    digits = max(1, (high - 1).bit_length())
    keys = words(len(groups)) >> np.uint64(digits)
    keys &= ~np.uint64((1 << _PLACES) - 1)
    keys |= groups.astype(np.uint64) << np.uint64(64 - digits)
    keys |= np.arange(len(groups), dtype=np.uint64)
    keys.sort()
    return (keys & np.uint64((1 << _PLACES) - 1)).astype(np.int64)


def spread_cells(cells: Integers, merged: Merged) -> Integers:
    """The cells within joined ones."""
    if merged.is_plain:
        return cells
    joined = np.bincount(merged.places) > 1
    found, rows = np.unique(merged.places, return_index=True)[1][cells], np.flatnonzero(joined[cells])
    found[rows] = _allot(cells[rows], merged.table)
    return found


def share_rows(weights: Reals, count: int) -> Integers:
    """So many numbers of weights, each as often as its weight says, to the nearest whole; none where all are 0."""
    return _allot(np.zeros(count if weights.sum() > 0 else 0, dtype=np.int64), weights.reshape(1, -1))


def decode_cells(coding: Coding, cells: Integers) -> Any:
    """An Arrow array of values of these cells, each of which is as likely as the others of its cell."""
    return coding.decode(cells, _inside(coding.widths[cells]))


def _inside(widths: Integers) -> Integers:
    """One of so many values, each as likely as the others."""
    if not len(widths) or widths.max() == 1:
        return np.zeros(len(widths), dtype=np.int64)
    even = (words(len(widths)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.minimum((even * widths).astype(np.int64), widths - 1)


def check_cells(cells: Sequence[Integers], beliefs: Beliefs) -> None:
    """Refuse rows that disagree with the model that they were drawn from, in any two columns.

    The L1 distance between the shares of n independent rows and their probabilities p has mean at most the sum of sqrt(p / n),
    and one row moves it by at most 2/n, so that it exceeds its mean by t with probability at most exp(-n t^2 / 2) (McDiarmid).
    """
    sizes, some = beliefs.tree.sizes, [own[:_CHECKED] for own in cells]
    n = len(some[0])
    if n < 100:
        return
    slack = math.sqrt(2 * math.log(1 / _ALARM) / n)
    for a, b in combinations(range(len(sizes)), 2):
        wanted = beliefs.project((a, b)).ravel()
        seen = np.bincount(some[a] * sizes[b] + some[b], minlength=wanted.size) / n
        if np.abs(seen - wanted).sum() > np.sqrt(np.maximum(wanted, 0) / n).sum() + slack or (seen[wanted <= 0] > 0).any():
            raise DiscreetError(
                "The rows that were drawn disagree with the model's own marginals, so they are not handed out; it is a fault of "
                "discreet: please report it."
            )


def as_evidence(domain: Domain, merged: Sequence[Merged], where: object) -> list[tuple[tuple[int, ...], Reals, Merged]]:
    """What a condition leaves of joined cells: a column, the share of each that it leaves, and the cells within."""
    if not isinstance(where, dict) or not where:
        raise ParameterError('where= says what columns are; write where={"sex": "Female", "age": (18, 30)}.')
    found: list[tuple[tuple[int, ...], Reals, Merged]] = []
    for name, wanted in where.items():
        (column,) = domain.places([name])
        inside = domain.columns[column].find(wanted)
        shares = merged[column].shares * inside
        left = merged[column].within(inside)
        totals = left[merged[column].places]
        found.append(
            ((column,), left, Merged(merged[column].places, np.where(totals > 0, shares / np.where(totals > 0, totals, 1), 0.0)))
        )
    return found
