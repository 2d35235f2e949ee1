"""A model of a whole table: rows of it, its marginals, and what it was made of, for anyone and for free.

It is computed of noisy marginals that were paid for once, and has their guarantee; whatever is done with it costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.curator.answer import Answer, Column
from discreet.display import figure, text_table
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.plan.expressions import Value
from discreet.privacy import Privacy
from discreet.schema.columns import Kind
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.fit import Fit, mask
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.replicas import Replica, Replicas
from discreet.synthetic.rounds.levels import Levels, Seen
from discreet.synthetic.rounds.measuring import Measurements
from discreet.synthetic.rounds.merging import Merged, share_out, spread_out
from discreet.synthetic.rounds.run import finish, seen_own, total_of
from discreet.synthetic.rounds.selection import LOOKS, Limits
from discreet.synthetic.rounds.slopes import add_slopes
from discreet.synthetic.rows import Rows, as_evidence, draw_rows
from discreet.synthetic.zeros import Zeros

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Synthetic"]

MOST_ROWS = 10**8  # that are drawn at once
_MOST_CELLS = 2**16  # of a marginal that is shown


@called_as('...), or Synthetic.load("people.npz"')
@dataclass(frozen=True, eq=False, repr=False)
class Synthetic:
    """A model, made by ``hospital.synthesize(epsilon=1)`` or read from a file: draw rows with ``sample``, ask for a ``marginal``,
    see what it was made of with ``report``."""

    domain: Domain
    merged: tuple[Merged, ...]
    fitted: Fit
    total: float
    measured: Measurements
    zeros: Zeros
    privacy: Privacy
    left: str = ""
    repeated: bool = False
    looks: int = LOOKS

    @classmethod
    def of(cls, domain: Domain, measured: Measurements, limits: Limits, zeros: Zeros, privacy: Privacy) -> Synthetic:
        """The model of what was measured."""
        merged = tuple(
            share_out(coding, one.real([coding.count]), one.deviation, places)
            for coding, one, places in zip(domain.columns, measured.own, measured.places, strict=True)
        )
        seen, levels = _seen(measured), measured.levels
        total = total_of(seen)
        plain = finish(levels, seen, total, limits, zeros)
        fitted = add_slopes(levels, domain.columns, seen, plain, total, limits.cells, zeros)
        return cls(domain, merged, fitted, total, measured, zeros, privacy, looks=limits.looks)

    @property
    def levels(self) -> Levels:
        """How columns stand in the model."""
        return self.measured.levels

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.domain.names

    @property
    def rows(self) -> int:
        """The noisy number of rows of the table."""
        return round(self.total)

    @called_as('1000, where={"sex": "Female"}')
    def sample(self, rows: int | None = None, *, where: Mapping[str, object] | None = None) -> Rows:
        """Rows of the model, as many as the table has by noisy counts unless told.

        ``where`` fixes columns: to a value, to one of a list, or to what lies from one value to another, ``{"age": (18, 30)}``.
        The rows are drawn from the exact conditional distribution. What has no probability is refused.
        """
        beliefs, merged = self.fitted.beliefs, list(self.merged)
        share = 1.0
        if where is not None:
            evidence = as_evidence(self.domain, self.merged, where)
            for columns, _, within in evidence:
                merged[columns[0]] = within
            fixed = [(self.levels.axes_of(columns), self.levels.spread(left, columns)) for columns, left, _ in evidence]
            share = beliefs.weigh(mask(self.fitted.tree, fixed))
            masks = mask(self.fitted.tree, [*self.levels.zeros(self.zeros).tables, *fixed])
            beliefs = self.fitted.tree.calibrate(self.fitted.logs, masks)
            if not share > 0 or not beliefs.possible:
                raise ParameterError("By this model no row is like that, so that none can be drawn; ask for something less rare.")
        wanted = round(self.total * share) if rows is None else whole("rows", rows, 0)
        if wanted > MOST_ROWS:
            raise ParameterError(f"{wanted:,} rows are more than {MOST_ROWS:,}, the most that are drawn at once; draw fewer.")
        looks = self.looks * self.rows // max(wanted, self.rows)  # of more rows than the table has, less is left to chance
        return draw_rows(beliefs, self.domain, self.levels, merged, wanted, looks)

    @called_as('"age", "sex"')
    def marginal(self, *columns: str) -> Answer:
        """How many rows have every combination of values of some columns, by the model.

        Where these columns were measured together, the standard error is that of the noise. Where they were not, or by runs of
        values alone, what they have to do with one another is the model's guess, and its error is as large as that of other
        guesses was (``replicas``).
        """
        places = self.domain.places(columns)
        codings = [self.domain.columns[column] for column in places]
        if math.prod(one.count for one in codings) > _MOST_CELLS:
            raise ParameterError(f"This marginal has more than {_MOST_CELLS:,} cells; name fewer columns.")
        counts = self.total * self.project(places)
        keys: dict[str, list[Value]] = {one.name: [] for one in codings}
        for row in product(*(range(one.count) for one in codings)):
            for one, cell in zip(codings, row, strict=True):
                keys[one.name].append(one.value(cell) if one.widths.max() == 1 else one.label(cell))
        known = self._errors(places)
        spread = self.replicas.spread(places, known).ravel()
        flat = [float(one) for one in counts.ravel()]
        ends = [tuple(float(one) for one in np.maximum(0, counts.ravel() + sign * 1.96 * spread)) for sign in (-1, 1)]
        column = Column(tuple(flat), tuple(map(float, spread)), ends[0], ends[1], "model")
        remarks = () if known is not None else (f"These columns were {self._apart(places)}: errors are those of other guesses.",)
        kinds: dict[str, Kind] = {one.name: one.kind if one.widths.max() == 1 else "text" for one in codings}
        asked = f"synthetic rows by {', '.join(one.name for one in codings)}"
        return Answer(
            asked,
            {name: tuple(some) for name, some in keys.items()},
            {"rows": column},
            (),
            "nothing",
            self.left,
            remarks=remarks,
            kinds=kinds,
        )

    def project(self, columns: Columns) -> Reals:
        """The probabilities of all cells of some columns."""
        return spread_out(self.levels.project(self.fitted.beliefs, columns), columns, self.merged)

    def _apart(self, columns: Columns) -> str:
        runs = any({*columns} <= {*one.columns} for one in self.noisy)
        return "measured together by runs of values, not by values" if runs else "not measured together"

    def _errors(self, columns: Columns) -> Reals | None:
        """Standard deviations of the noise behind every cell, by the best measurement that has all columns; None without any."""
        best: Reals | None = None
        for one in self.noisy:
            if not {*columns} <= {*one.columns} - {*one.coarse}:
                continue
            over = tuple(axis for axis, column in enumerate(one.columns) if column not in columns)
            spread = np.sqrt((np.broadcast_to(one.deviation, one.counts.shape) ** 2).sum(axis=over))
            for axis, column in enumerate(columns):  # a joined cell's error, by the shares of what it is made of
                spread = np.moveaxis(np.tensordot(spread, self.merged[column].table, axes=(axis, 0)), -1, axis)
            best = spread if best is None else np.minimum(best, spread)
        return best

    @cached_property
    def noisy(self) -> tuple[Seen, ...]:
        """All that was measured, by joined cells or runs of them."""
        return _seen(self.measured)

    @called_as('"SELECT sex, avg(age) AS age FROM data GROUP BY sex"')
    def sql(self, text: str) -> Answer:
        """The model's answer to one SELECT over ``data``, with errors that say how far the private table may be off: free.

        Whatever the curator can be asked of the columns that the model has; there are no persons and no other tables in it.
        """
        from discreet.synthetic.questions import ask

        return ask(text, self.replicas, self.left)

    @cached_property
    def replicas(self) -> Replicas:
        """Tables that the private one could be, drawn when they are first needed."""
        model = Replica(self.levels, self.merged, self.fitted, self.total)
        return Replicas(self.domain, self.measured, self.noisy, model, self.zeros)

    @called_as("")
    def report(self) -> Report:
        """What was measured against what was fitted: free."""
        lines = []
        for one in self.noisy:
            fitted = self.total * self.levels.project(self.fitted.beliefs, one.columns, one.coarse)
            spread = np.broadcast_to(one.deviation, one.counts.shape)
            names = ", ".join(self.domain.names[column] + " in runs" * (column in one.coarse) for column in one.columns)
            away = float(np.abs(fitted - one.counts).sum() / (2 * self.total))
            expected = float(math.sqrt(2 / math.pi) * spread.sum() / (2 * self.total))
            lines.append(Line(names, one.counts.size, float(np.sqrt((spread**2).mean())), away, expected))
        return Report(tuple(lines))

    def save(self, path: str | Path) -> Path:
        """Write the model to one file, from which ``Synthetic.load`` reads it: numbers and JSON, nothing that runs."""
        from discreet.synthetic.files import save_model

        return save_model(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Synthetic:
        """The model that was saved."""
        from discreet.synthetic.files import load_model

        return load_model(path)

    def plot(self, column: str | None = None, ax: Axes | None = None) -> Axes:
        """A column's counts, measured and fitted; without one, which columns hang together. Needs matplotlib."""
        from discreet.synthetic.pictures import draw_column, draw_tree

        return draw_tree(self, ax) if column is None else draw_column(self, column, ax)

    def __str__(self) -> str:
        measured = self.measured
        own, later = len(measured.own), len(measured.later)
        sizes = math.log10(max(self.domain.cells, 1))
        lines = [
            f"Synthetic data of {len(self.columns)} columns: {', '.join(self.columns)}",
            f"Cost {measured.paid}, paid once; everything made of the model is free.",
            f"{self.rows:,} rows by noisy counts, {figure(self.domain.cells) if sizes < 15 else f'10^{sizes:.0f}'} cells.",
            f"Measured: {own} columns, {later} marginals of several; the model has {self.fitted.tree.cells:,} cells.",
            f"Log-likelihood of what was measured: {-self.fitted.loss:,.1f} (less is worse; noise alone leaves about "
            f"{-sum(one.counts.size for one in self.noisy) / 2:,.0f}).",
        ]
        if not measured.complete:
            lines.append("It was interrupted: fewer marginals were measured than were paid for.")
        return "\n".join([*lines, *measured.remarks])

    __repr__ = __str__


def _seen(measured: Measurements) -> tuple[Seen, ...]:
    own = (seen_own(one, places) for one, places in zip(measured.own, measured.places, strict=True))
    return (*own, *(one.seen(measured.levels) for one in measured.later))


@dataclass(frozen=True)
class Line:
    """One measurement: total variation between what was measured and what was fitted, and what noise alone would leave."""

    columns: str
    cells: int
    deviation: float
    distance: float
    noise: float


@dataclass(frozen=True, repr=False)
class Report:
    """What was measured against what was fitted."""

    lines: tuple[Line, ...]

    def __str__(self) -> str:
        rows = [
            [one.columns, f"{one.cells:,}", f"{one.deviation:,.1f}", f"{one.distance:.4f}", f"{one.noise:.4f}"]
            for one in self.lines
        ]
        return text_table(["columns", "cells", "noise", "distance", "by noise"], rows, "<>>>>")

    __repr__ = __str__
