"""The distribution of a number between two public bounds: shares of bins, and quantiles, from one randomised report a person.

The estimate of the shape is smoothed and has no closed-form error: spikes narrower than a few bins come out lower and wider than
they are. Intervals of quantiles do not believe it: they come from the counts of reports, and hold for any shape. Intervals of the
shares of bins come from a bootstrap: the counts are drawn again from themselves, and the shape is found anew. That is after
privacy, so it is free; it shows the noise, not the bias of smoothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.canvas import BLUE, finish, new_axes
from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.local.collector import Collector
from discreet.local.domains.scale import Scale, read_scale
from discreet.local.protocols.numbers.square_wave import SquareWave, choose_arm
from discreet.local.results import Cells, Plan, Result, normal_factor
from discreet.local.task import Task, read_epsilon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REPLICATES = 200
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class DistributionEstimate(Result):
    """An estimated distribution. ``values`` are the shares of the bins between ``edges``; they are at least 0 and add up to 1."""

    edges: Reals
    values: Reals
    count: int
    _tally: Integers = field(repr=False, kw_only=True)
    _wave: SquareWave = field(repr=False, kw_only=True)
    align = ">>>>"

    @classmethod
    def of(cls, scale: Scale, wave: SquareWave, tally: Integers, count: int) -> DistributionEstimate:
        """The estimate for these counts of cells."""
        edges = float(scale.lower) + np.linspace(0.0, 1.0, wave.bins + 1) * scale.width
        return cls(edges, wave.shares(tally.astype(np.float64)), count, _tally=tally.copy(), _wave=wave)

    @cached_property
    def _replicates(self) -> Reals:
        drawn = np.random.default_rng(0).multinomial(self.count, self._tally / self.count, size=_REPLICATES)  # after privacy
        return self._wave.shares(drawn.astype(np.float64))

    @property
    def standard_error(self) -> Reals:
        """Of every bin's share: bootstrap, noise only."""
        return np.asarray(self._replicates.std(axis=0, ddof=1))

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Bootstrap ends for every bin's share, one at a time."""
        wanted = float(probability("confidence", confidence, zero=False, hint="a number such as 0.95"))
        low, high = np.quantile(self._replicates, [(1 - wanted) / 2, (1 + wanted) / 2], axis=0)
        return low, high

    def quantile(self, share: Number) -> float:
        """The number below which this share of the people are."""
        wanted = float(probability("share", share, zero=False, hint="a number such as 0.5"))
        return float(find_quantile(self.values, self.edges, wanted))

    def quantile_interval(self, share: Number, confidence: Number = 0.95) -> tuple[float, float]:
        """Ends that cover a quantile of the people who reported with this probability, whatever the shape is.

        Nothing is smoothed: F(x), the share at or below a bin, is estimated without bias (``SquareWave.cumulative``). F never
        falls, so its mean over some bins that end at x is at most F(x), and over some that begin at x at least F(x): averaging
        errs on the safe side only. The ends are those of all bins which may hold the quantile, F(x - 1) < share <= F(x), by the
        normal law; they are edges of bins, and hold the smoothed estimate too.
        """
        wanted, z = float(probability("share", share, zero=False, hint="a number such as 0.5")), normal_factor(confidence)
        below, variance = self._wave.cumulative(self._tally.astype(np.float64))
        window, bins = self._wave.window_for(self.count, z), np.arange(below.size)
        nobody, everybody = np.zeros(window), np.ones(window)
        shares = np.cumsum(np.concatenate([[0.0], nobody, below, everybody])) / window
        squares = np.cumsum(np.concatenate([[0.0], nobody, variance, nobody])) / window**2
        here, next_one, after = bins, bins + window, bins + 2 * window
        least = shares[next_one] - shares[here] - z * np.sqrt(squares[next_one] - squares[here])  # F(x - 1) is not below this
        most = shares[after] - shares[next_one] + z * np.sqrt(squares[after] - squares[next_one])  # F(x) is not above this
        ends = int(np.flatnonzero(most >= wanted)[0]), int(np.flatnonzero(least < wanted)[-1])
        found = self.quantile(share)
        return min(found, float(self.edges[min(ends)])), max(found, float(self.edges[max(ends) + 1]))

    def mean(self) -> float:
        """The mean of the shape. ``dp.local.Mean`` measures it without bias."""
        return float(self.values @ (self.edges[:-1] + self.edges[1:]) / 2)

    def columns(self) -> dict[str, list[object]]:
        """from, to, share, and the bootstrap's standard_error, lower, upper."""
        low, high = self.interval()
        bins = {"from": self.edges[:-1], "to": self.edges[1:], "share": self.values}
        numbers = bins | {"standard_error": self.standard_error, "lower": low, "upper": high}
        return {name: column.tolist() for name, column in numbers.items()}

    def _cells(self) -> Cells:
        numbers = [(share, self.quantile(share), *self.quantile_interval(share)) for share in _QUANTILES]
        rows = [[f"{share:.0%}", *(f"{number:.6g}" for number in found)] for share, *found in numbers]
        notes = [
            f"Quantiles of the {self.count:,} people who reported, from a smoothed shape of {self._wave.bins:,} bins.",
            "95 % intervals that hold for any shape, spikes and all; quantile_interval says how.",
        ]
        return ["quantile", "value", "from", "to"], rows, notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The shape with its bootstrap band."""
        axes, (low, high) = new_axes(ax), self.interval()
        axes.stairs(100 * self.values, self.edges, color=BLUE)
        below, above = (np.append(100 * end, 100 * end[-1]) for end in (low, high))
        axes.fill_between(self.edges, below, above, step="post", alpha=0.25, color=BLUE)
        axes.set_xlabel("value")
        axes.set_ylabel("percent of people in a bin, bootstrap 95 %")
        return finish(axes, f"Shape from {self.count:,} randomised reports")


def find_quantile(shares: Reals, edges: Reals, wanted: float) -> float:
    """Where the sum of the shares reaches ``wanted``, evenly inside a bin."""
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    return float(np.interp(wanted, sums / sums[-1], edges))


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
        scale, price, count = read_scale(lower, upper, missing), read_epsilon(epsilon), whole("bins", bins, 2)
        self._fill(question, period, scale=scale, protocol=SquareWave(price, count, choose_arm(price, count)))

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

    def plan(self, n: int) -> Plan:
        """What to expect of ``n`` reports, by simulating people who are spread evenly; nobody is asked."""
        n, wave = whole("n", n), self.protocol
        places = np.linspace(0.0, 1.0, wave.bins + 1)
        even = wave.expected(np.full(wave.bins, 1 / wave.bins))
        drawn = np.random.default_rng(0).multinomial(n, even / even.sum(), size=_PLANNED).astype(np.float64)
        medians = np.array([find_quantile(row, places, 0.5) for row in wave.shares(drawn)])
        named = np.linspace(wave.cells // 2, wave.cells - 1, 9).astype(np.int64)  # all hostile ones name the same cell
        hostile = np.tile(0.99 * even * n, (named.size, 1))
        hostile[np.arange(named.size), named] += 0.01 * n
        moved = max(find_quantile(row, places, 0.5) - 0.5 for row in wave.shares(hostile))
        error = float(medians.std(ddof=1))
        warning = (
            f"the answer will be noise: with {n:,} reports at epsilon {float(self.epsilon):.6g} even the median is off by "
            f"{100 * error:.0f} % of the range. Ask more people, or allow a larger epsilon."
        )
        return Plan(
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
