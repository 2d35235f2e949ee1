"""How are numbers distributed? Every person reports their own, randomised; the shape and its quantiles come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.collector import Collector
from discreet.local.domains.scale import Scale, scale_of
from discreet.local.outlook import Outlook
from discreet.local.protocols.numbers.square_wave import SquareWave, best_arm
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.distribution_estimate import DistributionEstimate, quantiles_of

__all__ = ["Distribution"]

_PLANNED = 50  # simulated repetitions


@called_as("0, 100, 1")
@dataclass(frozen=True, init=False)
class Distribution(Task):
    """The shape of a number between two public bounds, from reports that are each epsilon-differentially private on their own.

    Pure local privacy: any two values of one person are indistinguishable up to e^epsilon. Numbers are clamped to the bounds and
    put into ``bins``; reports follow the square wave. ``missing`` is the fate of what is no number.

    >>> ages = Distribution(0, 100, epsilon=2, bins=50)
    >>> collector = ages.collector()
    >>> collector.add(ages.randomize([20, 30, 30, 40] * 2000))
    >>> 20 < collector.estimate().quantile(0.5) < 40
    True
    """

    scale: Scale
    protocol: SquareWave
    question: str
    period: str
    kind: ClassVar[str] = "distribution"

    def __init__(
        self,
        lower: Number,
        upper: Number,
        epsilon: Number,
        *,
        bins: int = 256,
        missing: Number | str | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        scale, price, count = scale_of(lower, upper, missing), read_epsilon(epsilon), whole("bins", bins, 2)
        self._fill(question, period, scale=scale, protocol=SquareWave(price, count, best_arm(price, count)))

    @property
    def facts(self) -> dict[str, object]:
        return {"scale": self.scale.facts, "protocol": {"name": self.protocol.name, **self.protocol.parameters}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Distribution:
        made = cls.__new__(cls)
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        if parameters.pop("name") != SquareWave.name or not all(type(number) is int for number in parameters.values()):
            raise ParameterError("A distribution is asked for by the square wave; is the task newer than discreet?")
        protocol = SquareWave(read_epsilon(Fraction(str(facts["epsilon"]))), **parameters)
        scale = Scale.from_facts(facts["scale"])  # type: ignore[arg-type]
        made._fill(facts["question"], facts["period"], scale=scale, protocol=protocol)
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        bins = self.protocol.bins
        return np.minimum(np.floor(self.scale.places(values) * bins), bins - 1).astype(np.int64)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[DistributionEstimate]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("candidates= lists texts to look for; a distribution has none.")
        return Collector(self, self.protocol, lambda tally, n: DistributionEstimate.of(self.scale, self.protocol, tally, n))

    def plan(self, n: int) -> Outlook:
        """What to expect of ``n`` reports, by simulating people who are spread evenly; nobody is asked."""
        n, wave = whole("n", n), self.protocol
        places = np.linspace(0.0, 1.0, wave.bins + 1)
        even = wave.expected(np.full(wave.bins, 1 / wave.bins))
        drawn = np.random.default_rng(0).multinomial(n, even / even.sum(), size=_PLANNED).astype(np.float64)
        medians = np.array([quantiles_of(row, places, 0.5) for row in wave.shares(drawn)])
        named = np.linspace(wave.cells // 2, wave.cells - 1, 9).astype(np.int64)  # all hostile ones name the same cell
        hostile = np.tile(0.99 * even * n, (named.size, 1))
        hostile[np.arange(named.size), named] += 0.01 * n
        moved = max(quantiles_of(row, places, 0.5) - 0.5 for row in wave.shares(hostile))
        error = float(medians.std(ddof=1))
        warning = (
            f"the answer will be noise: with {n:,} reports at epsilon {float(self.epsilon):.6g} even the median is off by "
            f"{100 * error:.0f} % of the range. Ask more people, or allow a larger epsilon."
        )
        return Outlook(
            n=n,
            protocol=wave.name,
            parameters=wave.parameters,
            reason="the protocol for shapes",
            epsilon=float(self.epsilon),
            standard_error=error * self.scale.width,
            meaning="of the median of an even spread (simulated)",
            bits=wave.bits,
            server=f"{wave.cells:,} counters, one addition a report, up to a second for the estimate",
            influence=abs(moved) * self.scale.width,
            warnings=(warning,) if error > 0.1 else (),
        )
