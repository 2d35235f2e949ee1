"""The mean of a number between two public bounds, from one randomised report a person.

Its standard error comes from the spread of the reports, so it holds the noise and the differences between people: right for the
population of which they are a sample, a little cautious for these people alone. It is never less than the noise that the protocol
is known to have, for few reports may agree by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.canvas import BLUE, finish, new_axes
from discreet.display import decimals, figure
from discreet.errors import ParameterError
from discreet.exact import positive, probability, shown, whole
from discreet.local.collector import Collector
from discreet.local.domains.scale import Scale, read_scale
from discreet.local.protocols.numbers import MEAN_PROTOCOLS, MeanProtocol
from discreet.local.results import Cells, Plan, Result, normal_factor
from discreet.local.task import Task, read_epsilon
from discreet.schema.columns import default_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class MeanEstimate(Result):
    """The mean of all who reported. It may lie outside the bounds, for it is unbiased; ``consistent()`` never does."""

    value: float
    standard_error: float
    count: int
    _scale: Scale = field(repr=False, kw_only=True)
    _protocol: MeanProtocol = field(repr=False, kw_only=True)
    _place: float = field(repr=False, kw_only=True)
    align = ">>>"

    @classmethod
    def of(cls, scale: Scale, protocol: MeanProtocol, place: float, error: float, count: int) -> MeanEstimate:
        """The estimate at a place between the bounds, with its standard error as a part of their distance."""
        return cls(scale.value(place), error * scale.width, count, _scale=scale, _protocol=protocol, _place=place)

    def __float__(self) -> float:
        return self.value

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Ends that cover the mean with this probability."""
        error = self.standard_error / self._scale.width
        low, high = self._protocol.interval(self._place, error, self.count, normal_factor(confidence))
        return self._scale.value(low), self._scale.value(high)

    def consistent(self) -> float:
        """The estimate moved into the bounds: free, but no longer unbiased."""
        return min(max(self.value, float(self._scale.lower)), float(self._scale.upper))

    def influence(self, hostile: Number = 0.01) -> float:
        """How far this share of hostile clients among the senders can move the estimate."""
        share = float(probability("hostile", hostile, zero=True, hint="a share such as 0.01"))
        return share * self._protocol.reach * self._scale.width

    def columns(self) -> dict[str, list[object]]:
        """One row: mean, standard_error, lower, upper, consistent."""
        low, high = self.interval()
        numbers = {"mean": self.value, "standard_error": self.standard_error, "lower": low, "upper": high}
        return {name: [number] for name, number in (numbers | {"consistent": self.consistent()}).items()}

    def _cells(self) -> Cells:
        places = decimals(self.standard_error)
        notes = [
            f"Mean of the {self.count:,} people who reported, clamped to the declared bounds; 95 % interval.",
            f"If 1 % of the senders were hostile, they could move it by {self.influence():.2g}.",
        ]
        return ["mean", "from", "to"], [[figure(x, places) for x in (self.value, *self.interval())]], notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The mean with its 95 % interval, between the declared bounds."""
        axes, (low, high) = new_axes(ax), self.interval()
        arms = [[self.value - low], [high - self.value]]
        axes.errorbar([self.value], [0], xerr=arms, fmt="o", color=BLUE, ecolor="#222222", capsize=4)
        axes.axvspan(float(self._scale.lower), float(self._scale.upper), color=BLUE, alpha=0.08)
        axes.set_yticks([])
        axes.set_xlabel("mean, with its 95 % interval; shaded: the declared bounds")
        return finish(axes, f"Mean from {self.count:,} randomised reports")


_AUTOMATIC = ("duchi", "hybrid")  # Laplace is worse at every epsilon
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
        scale, price = read_scale(lower, upper, missing), read_epsilon(epsilon)
        chosen, reason = _choose(price, _count_steps(scale, step), protocol)
        self._fill(question, period, scale=scale, protocol=chosen, reason=reason)

    @property
    def facts(self) -> dict[str, object]:
        return {"scale": self.scale.facts, "protocol": {"name": self.protocol.name, **self.protocol.parameters}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Mean:
        made = cls.__new__(cls)
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        name = parameters.pop("name")
        if name not in MEAN_PROTOCOLS or not all(type(number) is int for number in parameters.values()):
            raise ParameterError(f"There is no protocol for means called {shown(name)}; is the task newer than discreet?")
        protocol = MEAN_PROTOCOLS[name](read_epsilon(Fraction(str(facts["epsilon"]))), **parameters)  # type: ignore[call-arg]
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

    def plan(self, n: int) -> Plan:
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
        return Plan(
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


def _count_steps(scale: Scale, step: Number | None) -> int:
    if step is None:
        return math.ceil((scale.upper - scale.lower) / default_step(scale.lower, scale.upper))
    count = (scale.upper - scale.lower) / positive("step", step, "the finest difference that matters, such as 1")
    if count.denominator != 1:
        raise ParameterError(f"The range is no multiple of the step {shown(step)}; write a step that divides it.")
    return int(count)


def _choose(epsilon: Fraction, steps: int, name: str | None) -> tuple[MeanProtocol, str]:
    if name is not None:
        if name not in MEAN_PROTOCOLS:
            raise ParameterError(
                f"There is no protocol for means called {shown(name)}; write one of {', '.join(MEAN_PROTOCOLS)}."
            )
        return MEAN_PROTOCOLS[name].best(epsilon, steps), "named by the task's author"
    offers = [MEAN_PROTOCOLS[protocol].best(epsilon, steps) for protocol in _AUTOMATIC]
    least = min(offer.worst for offer in offers)
    close = [offer for offer in offers if offer.worst <= _TIE * least]
    return min(close, key=lambda offer: offer.bits), "least worst-case variance; within 2 % of it, the shortest report"
