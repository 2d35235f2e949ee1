"""A toy aggregate, in one class: the share of rows in which a condition holds, of those in which it is not missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Context, Estimate, Expected, OfExpression, Spelling, Typical
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.measures import measure_presence
from discreet.plan.release import Additive, Need, Release, Released
from discreet.plan.statistics import Sums

__all__ = ["ShareTrue"]


@dataclass(frozen=True)
class ShareTrue(OfExpression):
    """Two noisy counts and their quotient."""

    of: Expression

    spellings = (Spelling("share_true", ("share_true",), "share_true"),)
    depends_on_size = True

    def check(self, facts: Mapping[str, Facts]) -> None:
        if infer(self.of, facts).kind != "boolean":
            raise ParameterError(f"{self} needs a condition; write share_true(age >= 18).")

    def needs(self, context: Context) -> tuple[Need, ...]:
        held = Call("case", (self.of, Literal(1), Literal(None)))
        return tuple(Additive(Sums((measure_presence(one, context.of(one)),))) for one in (self.of, held))

    def estimate(self, released: Sequence[Released]) -> Estimate:
        known, held = (one.real for one in released)
        share = np.clip(held / np.maximum(known, 1.0), 0.0, 1.0)
        half = sum(one.release.spread.half(0.975) for one in released) / np.maximum(known, 1.0)
        return Estimate(share, None, np.clip(share - half, 0.0, 1.0), np.clip(share + half, 0.0, 1.0))

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        error = sum(release.spread.half(0.975) for release in releases) / typical.rows
        return Expected(error, f"± {error:.4f} of the share, {typical.of}")

    def __str__(self) -> str:
        return f"share_true({self.of})"
