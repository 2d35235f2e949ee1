"""A toy analysis, the number of rows by two columns and in all, for tests that show what an analysis takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.analysis.base import Analysis, Paid, Study
from discreet.curator.answer import Answer, Column
from discreet.curator.desk import Desk
from discreet.curator.plans import Measured
from discreet.curator.question import Question
from discreet.plan.cost import Cost
from discreet.plan.expressions import Expression
from discreet.plan.measures import ROWS
from discreet.plan.plan import Plan, price_marginal, price_needs
from discreet.plan.preview import PreviewLine
from discreet.plan.query import Query
from discreet.plan.release import Additive
from discreet.plan.statistics import Sums


@dataclass(frozen=True)
class Both(Analysis[Answer]):
    desk: Desk
    rows: Query
    of: tuple[Expression, ...]

    def priced(self, share: Cost) -> Study[Answer]:
        schema = self.desk.schema
        whole = price_needs(self.rows, schema, share.part(Fraction(1, 4)), lambda _: {"n": (Additive(Sums((ROWS,))),)})
        return BothStudy(self, (price_marginal(self.of, self.rows, schema, share.part(Fraction(3, 4))), whole))

    def __str__(self) -> str:
        return f"rows by {', '.join(map(str, self.of))} and in all, of {self.rows.source}"


@dataclass(frozen=True)
class BothStudy(Study[Answer]):
    of: Both
    plans: tuple[Plan, ...]

    kind: ClassVar[str] = "toy"

    @property
    def asked(self) -> Mapping[str, object]:
        return {}

    def lines(self, _: int | None = None) -> tuple[PreviewLine, ...]:
        (total,) = self.plans[1].releases
        return (PreviewLine("n", total.how, total.spread.half(), ""),)

    def conclude(self, measured: Sequence[Measured], paid: Paid) -> Answer:
        (cells,), (total,) = measured[0]["marginal"], measured[1]["n"]
        shown = {"cells": Column((float(cells.real.sum()),)), "n": Column((float(total.real[0]),))}
        return paid.answer({}, shown, {})


def both(rows: Question, *of: str, **cost: object) -> Answer | Analysis[Answer]:
    """Rows by every combination of these, and in all."""
    return Both(rows.desk, rows.rows, tuple(map(rows.read, of))).settle(**cost)  # type: ignore[arg-type]
