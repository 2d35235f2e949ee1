"""The verb ``quality``: how far a model is from the table, in marginals that were never measured. It is paid for.

Let x be the counts of a marginal and m those of the model. Half of |x - m|_1 is the number of rows in the wrong cells; it moves
by at most s/2 where the histogram moves by s (``mechanisms.values.misfits``). Of k marginals together these numbers move by
s k / 2 in L1 and by s sqrt(k) / 2 in L2 norm, so that the noise they are released with does not grow
with the cells of a marginal.
"""

from __future__ import annotations

import html
import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.gate import Letting, Reservation
from discreet.curator.question import Question
from discreet.display import html_table, text_table
from discreet.engine.base import Engine
from discreet.errors import ParameterError
from discreet.exact import root_up
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.values import misfits
from discreet.plan.cost import Terms
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.model import Synthetic
from discreet.synthetic.request import Asked, Synthesis
from discreet.synthetic.rounds.run import GUESSED, Aim, in_units
from discreet.synthetic.rounds.selection import Candidates, Limits
from discreet.synthetic.synthesize import tables_of
from discreet.synthetic.zeros import Zeros

_MOST = 600  # marginals that are compared
_MOST_CELLS = 2**20  # of one of them


@called_as("model, epsilon=0.1")
def quality(rows: Question, model: Synthetic, *, epsilon: Number | None = None, rho: Number | None = None) -> Quality:
    """How far a model is from the table: total variations of marginals of one, two and three columns that were not measured."""
    if not isinstance(model, Synthetic):
        raise ParameterError("quality() is about a model; write hospital.quality(model, epsilon=0.1).")
    desk, terms = rows.desk, Terms(epsilon, rho)
    strange = [one.name for one in model.domain.columns if one.name not in rows.facts.columns]
    if strange:
        raise ParameterError(f"The model has a column {strange[0]}, and the table has none; ask the curator it was made by.")
    cost, sets = terms.asked(desk.budget), unmeasured(model)
    limits = Limits.of(Fraction(15), len(model.columns))
    candidates = Candidates(dict.fromkeys(sets, 1))
    name = sha256(model.measured.write().encode()).hexdigest()
    aim = Aim(model.domain, limits, candidates, Zeros())
    asked = Asked(rows.rows, desk.schema, aim, {"quality": name, "sets": [list(one) for one in sets]})
    request = Comparison(asked, cost, terms.spend(cost, desk.budget, 1), model=model)
    outcome = desk.ask(request, desk.tables.reading(tables_of(rows)))
    return replace(Quality.of(model, sets, outcome.result.rows, outcome.result.deviation), remarks=outcome.remarks)


def unmeasured(model: Synthetic) -> list[Columns]:
    """Sets of one, two and three columns that no measurement has together: of many an even choice, by their numbers."""
    known = [{*one.columns} for one in model.measured.later]
    found: list[Columns] = [(column,) for column in range(len(model.columns))]
    for size in (2, 3):
        sets = [
            one
            for one in itertools.combinations(range(len(model.columns)), size)
            if not any({*one} <= own for own in known) and math.prod(model.domain.sizes[i] for i in one) <= _MOST_CELLS
        ]
        found += sets[:: max(1, -(-len(sets) // (_MOST // 2)))]
    return found


@dataclass(frozen=True)
class Distances:
    """What was released: rows in the wrong cells of every marginal, and the standard deviation of the noise."""

    rows: tuple[float, ...]
    deviation: float


@dataclass(frozen=True)
class Comparison(Synthesis):
    """The request: one release of all distances."""

    model: Synthetic | None = None

    @property
    def question(self) -> str:
        return f"quality of synthetic data of {', '.join(self.asked.domain.names)}, of {self.asked.query.source}"

    @cached_property
    def mechanism(self) -> Gaussian | Laplace:
        """Noise on twice the distances, in the units of guesses."""
        many, far = len(self.asked.aim.candidates.weights), self.payment.norms.l1 << GUESSED
        if self.share.epsilon is not None:
            return Laplace(sensitivity=far * many, epsilon=self.share.epsilon)
        return Gaussian(sensitivity=math.ceil(root_up(Fraction(far**2 * many))), rho=self.share.rho)

    def run(self, engine: Engine | None, reserved: Reservation) -> Distances:  # type: ignore[override]
        assert engine is not None
        assert self.model is not None
        scans, model = self.count(engine, reserved), self.model
        sets, unit = list(self.asked.aim.candidates.weights), 2 ** (self.payment.norms.bits + GUESSED)
        guesses = [in_units(model.total * model.project(one), unit) for one in sets]
        even = [1] * len(sets)
        scores = misfits([scans.marginal(one) for one in sets], guesses, even, [0] * len(sets), GUESSED)
        released = np.ravel(np.asarray(reserved.release(Letting(self.mechanism), scores)))
        return Distances(tuple(float(one) / unit / 2 for one in released), math.sqrt(self.mechanism.variance) / unit / 2)

    def write(self, result: Distances, remarks: tuple[str, ...]) -> list[str]:  # type: ignore[override]
        facts = {"discreet": "quality", "version": 1, "rows": result.rows, "deviation": result.deviation, "remarks": remarks}
        return [json.dumps(facts, allow_nan=False)]

    def read(self, texts: list[str]) -> Distances:  # type: ignore[override]
        facts = json.loads(texts[0])
        return Distances(tuple(map(float, facts["rows"])), float(facts["deviation"]))


@dataclass(frozen=True)
class Distance:
    """Total variation between the table and the model in some columns, noisy, and its standard error."""

    columns: str
    order: int
    distance: float
    error: float


@dataclass(frozen=True, repr=False)
class Quality:
    """Noisy distances of marginals that were not measured, the worst first."""

    lines: tuple[Distance, ...]
    remarks: tuple[str, ...] = ()  # what is said of how it was paid for

    @classmethod
    def of(cls, model: Synthetic, sets: Sequence[Columns], rows: Sequence[float], deviation: float) -> Quality:
        found = [
            Distance(", ".join(model.columns[i] for i in one), len(one), far / model.total, deviation / model.total)
            for one, far in zip(sets, rows, strict=True)
        ]
        return cls(tuple(sorted(found, key=lambda line: (line.order, -line.distance))))

    def mean(self, order: int) -> tuple[float, float]:
        """The mean distance of all marginals of so many columns, and its standard error."""
        some = [line for line in self.lines if line.order == order]
        if not some:
            raise ParameterError(
                f"No marginal of {order} columns was compared; there are those of 1, 2 and 3, unless all were measured."
            )
        return sum(line.distance for line in some) / len(some), some[0].error / math.sqrt(len(some))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        orders = [order for order in (1, 2, 3) if any(line.order == order for line in self.lines)]
        means = [
            [f"mean of {sum(line.order == order for line in self.lines)} of {order}", *map("{:.4f}".format, self.mean(order))]
            for order in orders
        ]
        worst = [
            [line.columns, f"{line.distance:.4f}", f"{line.error:.4f}"]
            for order in orders
            for line in [one for one in self.lines if one.order == order][:5]
        ]
        return ["columns", "total variation", "standard error"], [*means, *worst]

    def __str__(self) -> str:
        return "\n".join([text_table(*self._table(), "<>>"), *self.remarks])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        chosen = "Marginals that were not measured; five of each number of columns, the worst first."
        return html_table(*self._table(), "<>>", notes=[chosen, *self.remarks])

    def save(self, path: str | Path) -> Path:
        """All of it as one page of HTML."""
        file = Path(path)
        rows = [[line.columns, str(line.order), f"{line.distance:.4f}", f"{line.error:.4f}"] for line in self.lines]
        body = html_table(["columns", "how many", "total variation", "standard error"], rows, "<>>>")
        title = html.escape("How far the synthetic data is from the table")
        page = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><body style="font-family:sans-serif">'
        try:
            file.write_text(f"{page}<h1>{title}</h1>{self._repr_html_()}{body}</body></html>", encoding="utf-8")
        except OSError as problem:
            raise ParameterError(f"{file} cannot be written ({problem.strerror}); choose another place.") from None
        return file
