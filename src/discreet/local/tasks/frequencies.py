"""Frequencies: the share of every answer, from one randomised report a person.

An estimate may lie below 0 or above 1: that is what makes it unbiased, and sums and averages of estimates right. ``consistent()``
gives shares that are none of both, for showing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.local.collector import Collector
from discreet.local.domains.categorical import Domain, Item, read_domain
from discreet.local.protocols import choose_protocol, make_protocol, rebuild_protocol
from discreet.local.protocols.base import FrequencyProtocol, Rates
from discreet.local.protocols.hashing import Hashing
from discreet.local.results import Cells, Plan, Result, normal_factor, plot_shares
from discreet.local.task import Task, read_epsilon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = 20
_LATTICE = 1 / 32  # of a squared report: counts are whole, and a variance far below that of rounding is none


@dataclass(frozen=True, eq=False)
class Estimate(Result):
    """Estimated shares, one a value, in the order of the domain (or of the candidates).

    ``values``, ``standard_error`` and ``interval`` are about the people whose reports were counted.
    """

    items: Sequence[Item]
    values: Reals
    standard_error: Reals
    count: int
    complete: bool = True  # whether everybody has one of these values, so that the shares add up to 1
    _rates: Rates = field(repr=False, kw_only=True)
    align = "<>>>>"

    @classmethod
    def of(cls, items: Sequence[Item], support: Integers, count: int, rates: Rates, *, complete: bool = True) -> Estimate:
        """The estimate for these numbers of supporting reports among ``count``."""
        values = (support / count - rates.lie) / rates.gain
        likely = np.clip(values, 0.0, 1.0)
        variance = likely * (rates.truth * (1 - rates.truth)) + (1 - likely) * (rates.lie * (1 - rates.lie))
        return cls(items, values, np.sqrt(variance / count) / rates.gain, count, complete, _rates=rates)

    def __getitem__(self, item: Item) -> float:
        try:
            return float(self.values[self.items.index(item)])
        except ValueError:
            raise KeyError("This value is not among those that were estimated.") from None

    def to_dict(self) -> dict[Item, float]:
        """Value to share."""
        return dict(zip(self.items, self.values.tolist(), strict=True))

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Lower and upper ends that cover each share with this probability, one share at a time.

        The share is that of the people whose reports were counted: k of n have the value, and the number C of supporting reports
        is a sum of two binomials, of k with probability p and n - k with q. The ends are the score interval with the correction
        of half a report: all f with |C - E_f| - 1/2 <= z sqrt(Var_f + 1/32), where the last term only matters where C hardly
        varies. At 95 % the exact coverage is at least 0.95 over 12,000 settings of n, k, p and q, and 0.94 is held to by the
        tests and by ``benchmarks/local.py``; where many reported, it is as narrow as the normal interval.
        """
        z, rates, people = normal_factor(confidence), self._rates, self.count
        unit = z * z / (people * rates.gain**2)
        still = unit * (rates.lie * (1 - rates.lie) + _LATTICE / people)
        slope = unit * (rates.truth * (1 - rates.truth) - rates.lie * (1 - rates.lie))
        low, high = (self.values + side * 0.5 / (people * rates.gain) for side in (-1, 1))
        lower = np.minimum(low, low + slope / 2 - np.sqrt(np.maximum(slope * slope / 4 + slope * low + still, 0.0)))
        upper = np.maximum(high, high + slope / 2 + np.sqrt(np.maximum(slope * slope / 4 + slope * high + still, 0.0)))
        # The variance is a square of nothing below 0 and above 1: where these shares fit the count, the interval holds them.
        lower = np.where(low <= math.sqrt(max(still, 0.0)), np.minimum(lower, 0.0), lower)
        upper = np.where(1 - high <= math.sqrt(max(still + slope, 0.0)), np.maximum(upper, 1.0), upper)
        return lower, upper

    def consistent(self) -> Reals:
        """Shares of at least 0 that add up to 1 (at most 1 for some candidates of an open domain): Norm-Sub.

        Free, and far nearer to the truth in large domains; but no longer unbiased.
        """
        return norm_sub(self.values, exactly=self.complete)

    def influence(self, hostile: Number = 0.01) -> float:
        """How far this share of hostile clients among the senders can move one value's estimate."""
        return float(probability("hostile", hostile, zero=True, hint="a share such as 0.01")) * self._rates.influence

    def columns(self) -> dict[str, list[object]]:
        """item, share, standard_error, lower, upper, consistent."""
        low, high = self.interval()
        numbers = {"share": self.values, "standard_error": self.standard_error, "lower": low, "upper": high}
        listed = {name: column.tolist() for name, column in (numbers | {"consistent": self.consistent()}).items()}
        return {"item": list(self.items), **listed}

    def _cells(self) -> Cells:
        """The largest shares, as text."""
        (low, high), tidy = self.interval(), self.consistent()
        order = np.argsort(-self.values, kind="stable")[:_SHOWN]
        worst = float(self.standard_error[order].min())
        places = min(max(0, 1 - math.floor(math.log10(100 * worst))), 9) if worst > 0 else 2
        numbers = [(self.values[i], low[i], high[i], tidy[i]) for i in order]
        rows = [[str(self.items[i]), *(f"{100 * x:.{places}f}" for x in row)] for i, row in zip(order, numbers, strict=True)]
        notes = [f"Percent of the {self.count:,} people who reported; 95 % intervals, one at a time."]
        if len(self.items) > _SHOWN:
            notes.append(f"The {_SHOWN} largest of {len(self.items):,} values; to_pandas() has all.")
        notes.append(f"If 1 % of the senders were hostile, they could move a share by {100 * self.influence():.2g} points.")
        return ["value", "%", "from", "to", "consistent"], rows, notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The largest shares as bars with their 95 % intervals."""
        return plot_shares(self.items, self.values, self.interval(), self.count, ax)


def norm_sub(values: Reals, *, exactly: bool = True) -> Reals:
    """The nearest shares of at least 0 that add up to 1 (to at most 1 unless ``exactly``): all lowered alike, then cut at 0.

    >>> norm_sub(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    positive = np.maximum(values, 0.0)
    if not exactly and positive.sum() <= 1:
        return positive
    below = values - values.max()  # lowering all alike first loses no digits of the rest, however large they are
    falling = -np.sort(-below)
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    lowered: Reals = np.maximum(below - excess[last], 0.0)
    return lowered


@dataclass(frozen=True)
class FrequencyPlan(Plan):
    """What to expect of reports about shares: errors and influence are of one value as common as the average one."""

    targets: float = 1.0
    """How many values hostile clients can lift at once."""

    @property
    def detectable(self) -> float:
        """The smallest share that a 95 % interval tells from 0."""
        return normal_factor(0.95) * self.standard_error

    def _quality(self) -> list[list[str]]:
        at_once = f", for about {self.targets:,.0f} values at once" if self.targets > 1 else ""
        return [
            ["standard error", f"{100 * self.standard_error:.3g} {self.meaning}"],
            ["lost in noise", f"shares below {100 * self.detectable:.3g} %"],
            ["1 % hostile", f"move a share by up to {100 * self.influence:.3g} percentage points{at_once}"],
        ]


def plan_frequencies(protocol: FrequencyProtocol, n: int, reason: str) -> FrequencyPlan:
    """The plan of ``n`` reports."""
    size = max(protocol.size, 2)
    variance = protocol.rates.variance(1 / size)
    error, z = math.sqrt(variance / n), normal_factor(0.95)
    warnings = []
    if z * error >= max(1 / size, 0.1):
        needed = math.ceil(variance * (z / 0.05) ** 2)
        warnings.append(
            f"the answer will be noise: with {n:,} reports at epsilon {float(protocol.epsilon):.6g}, shares are only known to "
            f"within {100 * z * error:,.0f} percentage points. Ask {needed:,} people for 5 points, or allow a larger epsilon."
        )
    return FrequencyPlan(
        n=n,
        protocol=protocol.name,
        parameters=protocol.parameters,
        reason=reason,
        epsilon=float(protocol.epsilon),
        standard_error=error,
        meaning="percentage points a value",
        bits=protocol.bits,
        server=protocol.server,
        influence=0.01 * protocol.rates.influence,
        warnings=tuple(warnings),
        targets=protocol.targets,
    )


@called_as('["dark", "blond"], 1')
@dataclass(frozen=True, init=False)
class Frequencies(Task):
    """The share of every value of a public domain, from reports that are each epsilon-differentially private on their own.

    ``domain`` is a list, a range, a public fact such as ``dp.category(...)``, or ``dp.text()`` for any text. The protocol is
    chosen for the least error with reports of at most ``max_bits``, unless named. ``missing`` is the fate of other answers.

    >>> hair = Frequencies(["dark", "blond", "brown", "red"], epsilon=1)
    >>> hair.protocol.name, hair.randomize("red").to_json()[:7]
    ('k-ary', '{"v":1,')
    """

    domain: Domain
    protocol: FrequencyProtocol
    question: str
    period: str
    reason: str = field(compare=False, repr=False)
    kind: ClassVar[str] = "frequencies"

    def __init__(
        self,
        domain: object,
        epsilon: Number,
        *,
        protocol: str | None = None,
        max_bits: int = 1024,
        missing: Item | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        values = read_domain(domain, missing)
        price = read_epsilon(epsilon)
        chosen, reason = _choose(values, price, protocol, whole("max_bits", max_bits))
        self._fill(question, period, domain=values, protocol=chosen, reason=reason)

    @property
    def facts(self) -> dict[str, object]:
        return {"domain": self.domain.facts, "protocol": {"name": self.protocol.name, **self.protocol.parameters}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Frequencies:
        made = cls.__new__(cls)
        domain = Domain.from_facts(facts["domain"])  # type: ignore[arg-type]
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        protocol = rebuild_protocol(
            parameters.pop("name"), read_epsilon(Fraction(str(facts["epsilon"]))), domain.size or 0, parameters
        )
        if domain.size is None and not isinstance(protocol, Hashing):
            raise ParameterError("Any text can be asked for by the protocol 'hashing' alone.")
        made._fill(facts["question"], facts["period"], domain=domain, protocol=protocol, reason="as the task says")
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        return self.domain.codes(values)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Estimate]:
        """Where reports are counted. For a domain of any text, ``candidates`` are the texts to look for."""
        protocol, items, texts = self.protocol, self.domain.items, None if candidates is None else tuple(candidates)
        if (items is None) == (texts is None):
            raise ParameterError("candidates= lists the texts to look for; it is for a domain of any text, and needed there.")
        if texts is not None and isinstance(protocol, Hashing):
            codes = [self.domain.code(text) for text in texts]
            if not codes or None in codes or len(set(codes)) < len(codes):
                raise ParameterError("Candidates are texts; list at least one, each once.")
            protocol = protocol.among(np.array(codes, dtype=np.int64))
        shown: Sequence[Item] = texts or items or ()

        def conclude(tally: Integers, count: int) -> Estimate:
            return Estimate.of(shown, protocol.support(tally), count, protocol.rates, complete=texts is None)

        return Collector(self, protocol, conclude, texts)

    def plan(self, n: int) -> FrequencyPlan:
        """What to expect of ``n`` reports, before any is asked for."""
        return plan_frequencies(self.protocol, whole("n", n), self.reason)


def _choose(domain: Domain, epsilon: Fraction, name: str | None, max_bits: int) -> tuple[FrequencyProtocol, str]:
    if domain.size is None:
        if name not in (None, "hashing"):
            raise ParameterError("Any text can be asked for by the protocol 'hashing' alone; leave out protocol=.")
        return make_protocol("hashing", epsilon, 0), "the only protocol for a domain of any text"
    if name is not None:
        return make_protocol(name, epsilon, domain.size), "named by the task's author"
    reason = f"least expected error among reports of at most {max_bits:,} bits; within 2 % of it, the shortest report"
    return choose_protocol(epsilon, domain.size, max_bits), reason


@called_as("1")
@dataclass(frozen=True, init=False)
class Bit(Frequencies):
    """Yes or no, by randomized response.

    >>> drugs = Bit(epsilon=1, question="Did you ever take illegal drugs?")
    >>> collector = drugs.collector()
    >>> collector.add(drugs.randomize([True] * 300 + [False] * 700))
    >>> 0.0 < collector.estimate()[True] < 0.6
    True
    """

    kind: ClassVar[str] = "bit"

    def __init__(self, epsilon: Number, *, missing: bool | str | None = None, question: str = "", period: str = "") -> None:
        super().__init__(
            (True, False), epsilon, protocol="randomized response", missing=missing, question=question, period=period
        )
