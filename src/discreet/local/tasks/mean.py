"""How large is a number on average? Every person reports their own, randomised."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, shown, whole
from discreet.local.collector import Collector
from discreet.local.domains.scale import Scale, scale_of
from discreet.local.outlook import Outlook
from discreet.local.protocols.numbers.base import MeanProtocol
from discreet.local.protocols.numbers.duchi import Duchi
from discreet.local.protocols.numbers.hybrid import Hybrid, best_window
from discreet.local.protocols.numbers.laplace import Laplace
from discreet.local.result import normal_factor
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.mean_estimate import MeanEstimate
from discreet.schema.columns import default_step

__all__ = ["Mean"]

# A protocol's file is registered here: its class, and its best parameters beside epsilon and the number of steps.
_PROTOCOLS: dict[str, type[MeanProtocol]] = {kind.name: kind for kind in (Duchi, Hybrid, Laplace)}
_MAKERS: dict[str, Callable[[Fraction, int], MeanProtocol]] = {
    "duchi": Duchi,
    "hybrid": lambda epsilon, steps: Hybrid(epsilon, steps, *best_window(epsilon)),
    "laplace": Laplace,
}
_TIE = 1.02


@called_as("0, 100, 1")
@dataclass(frozen=True, init=False)
class Mean(Task):
    """The mean of a number between two public bounds, from reports that are each epsilon-differentially private on their own.

    Pure local privacy: any two values of one person are indistinguishable up to e^epsilon. Numbers are clamped to the bounds and
    rounded to ``step`` (unless told, a millionth of the range or somewhat less). The protocol is the one with the least
    worst-case variance, unless named: "duchi", "hybrid" or "laplace". ``missing`` is the fate of what is no number.

    >>> skipped = Mean(0, 15, epsilon=1, step=1, question="How many lectures did you skip?")
    >>> collector = skipped.collector()
    >>> collector.add(skipped.randomize([0, 3, 15, 7] * 1000))
    >>> 4 < float(collector.estimate()) < 9
    True
    """

    scale: Scale
    protocol: MeanProtocol
    question: str
    period: str
    reason: str = field(compare=False, repr=False)
    kind: ClassVar[str] = "mean"

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number,
        *,
        protocol: str | None = None,
        step: Number | None = None,
        missing: Number | str | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        scale, price = scale_of(lower, upper, missing), read_epsilon(epsilon)
        chosen, reason = _chosen(price, _steps(scale, step), protocol)
        self._fill(question, period, scale=scale, protocol=chosen, reason=reason)

    @property
    def facts(self) -> dict[str, object]:
        return {"scale": self.scale.facts, "protocol": {"name": self.protocol.name, **self.protocol.parameters}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Mean:
        made = cls.__new__(cls)
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        name = parameters.pop("name")
        if name not in _PROTOCOLS or not all(type(number) is int for number in parameters.values()):
            raise ParameterError(f"There is no protocol for means called {shown(name)}; is the task newer than discreet?")
        protocol = _PROTOCOLS[name](read_epsilon(Fraction(str(facts["epsilon"]))), **parameters)  # type: ignore[call-arg]
        scale = Scale.from_facts(facts["scale"])  # type: ignore[arg-type]
        made._fill(facts["question"], facts["period"], scale=scale, protocol=protocol, reason="as the task says")
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        return np.rint(self.scale.places(values) * self.protocol.steps).astype(np.int64)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[MeanEstimate]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("candidates= lists texts to look for; a mean has none.")

        def conclude(tally: Integers, count: int) -> MeanEstimate:
            place, spread = self.protocol.summary(tally, count)
            known = self.protocol.variance(np.clip([place], 0.0, 1.0))[0]  # few reports may agree by chance
            error = math.sqrt(max(spread, float(known)) / count)
            return MeanEstimate.of(self.scale, self.protocol, place, error, count)

        return Collector(self, self.protocol, conclude)

    def variance(self, value: Number) -> float:
        """Of one report's measurement of this value: the closed form."""
        code = self.codes([value])
        return float(self.protocol.variance(code / self.protocol.steps)[0]) * self.scale.width**2

    def plan(self, n: int) -> Outlook:
        """What to expect of ``n`` reports, before any is asked for."""
        n = whole("n", n)
        error, width, z = math.sqrt(self.protocol.worst / n), self.scale.width, normal_factor(0.95)
        warnings = []
        if z * error >= 0.25:
            needed = math.ceil(self.protocol.worst * (z / 0.05) ** 2)
            warnings.append(
                f"the answer will be noise: with {n:,} reports at epsilon {float(self.epsilon):.6g}, the mean is only known to "
                f"within {100 * z * error:,.0f} % of the range. Ask {needed:,} people for 5 %, or allow a larger epsilon."
            )
        return Outlook(
            n=n,
            protocol=self.protocol.name,
            parameters=self.protocol.parameters,
            reason=self.reason,
            epsilon=float(self.epsilon),
            standard_error=error * width,
            meaning="of the mean, at worst",
            bits=self.protocol.bits,
            server=f"{self.protocol.cells:,} counters, a few additions a report",
            influence=0.01 * self.protocol.reach * width,
            warnings=tuple(warnings),
        )


def _steps(scale: Scale, step: Number | None) -> int:
    if step is None:
        return math.ceil((scale.upper - scale.lower) / default_step(scale.lower, scale.upper))
    count = (scale.upper - scale.lower) / positive("step", step, "the finest difference that matters, such as 1")
    if count.denominator != 1:
        raise ParameterError(f"The range is no multiple of the step {shown(step)}; write a step that divides it.")
    return int(count)


def _chosen(epsilon: Fraction, steps: int, name: str | None) -> tuple[MeanProtocol, str]:
    if name is not None:
        if name not in _MAKERS:
            raise ParameterError(f"There is no protocol for means called {shown(name)}; write one of {', '.join(_MAKERS)}.")
        return _MAKERS[name](epsilon, steps), "named by the task's author"
    offers = [_MAKERS[protocol](epsilon, steps) for protocol in ("duchi", "hybrid")]  # Laplace is worse at every epsilon
    least = min(offer.worst for offer in offers)
    close = [offer for offer in offers if offer.worst <= _TIE * least]
    return min(close, key=lambda offer: offer.bits), "least worst-case variance; within 2 % of it, the shortest report"
