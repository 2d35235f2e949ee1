"""Heavy hitters: the most common words of an unknown vocabulary, found by their prefixes and measured by whole words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.collector import Collector
from discreet.local.domains.spelling import Spelling
from discreet.local.protocols.hashing import choose_buckets, hash_to_bucket
from discreet.local.protocols.prefixes import Prefixes, hash_prefixes
from discreet.local.results import Cells, Plan, Result, normal_factor, plot_shares
from discreet.local.task import Task, read_epsilon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["HeavyHitters", "Hitters", "find", "line"]

_MISS = 0.02  # the share of surveys in which any word that nobody has may be reported: 5 % are promised, crowds are estimated
_FOLLOWED = 2.0  # standard errors above which a prefix is followed; a wrong one costs time, not truth
_REACH = 4.0  # standard deviations of what common words bring into the buckets of others
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Hitters(Result):
    """The words found, the most common first, with the share of people who have each.

    A word that nobody has is among them in at most 5 % of all surveys. Those who told about whole words measured them, and only
    words that came out above the threshold are listed: one that has just passed looks somewhat more common than it is.
    """

    items: tuple[str, ...]
    values: Reals
    standard_error: Reals
    count: int
    threshold: float
    """Words with a smaller share are lost in the noise."""
    align = "<>>>"

    def __getitem__(self, word: str) -> float:
        if word not in self.items:
            raise KeyError("This word was not found; it may be less common than the threshold.")
        return float(self.values[self.items.index(word)])

    def to_dict(self) -> dict[str, float]:
        """Word to share."""
        return dict(zip(self.items, self.values.tolist(), strict=True))

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Ends that cover each share with about this probability, one at a time."""
        arm = normal_factor(confidence) * self.standard_error
        return self.values - arm, self.values + arm

    def columns(self) -> dict[str, list[object]]:
        """item, share, standard_error, lower, upper."""
        low, high = self.interval()
        numbers = {"share": self.values, "standard_error": self.standard_error, "lower": low, "upper": high}
        return {"item": list(self.items), **{name: column.tolist() for name, column in numbers.items()}}

    def _cells(self) -> Cells:
        low, high = self.interval()
        rows = [
            [word, *(f"{100 * x:.2f}" for x in numbers)]
            for word, *numbers in zip(self.items, self.values, low, high, strict=True)
        ]
        notes = [f"Percent of the {self.count:,} people who reported; 95 % intervals, one at a time."]
        if self.threshold > 1:
            notes.append("There are too few reports to find any word, however common: ask more people, or allow more epsilon.")
        else:
            notes.append(f"Words with a share below about {100 * self.threshold:.2g} % are lost in the noise.")
        return ["word", "%", "from", "to"], rows, notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The largest shares as bars with their 95 % intervals."""
        return plot_shares(self.items, self.values, self.interval(), self.count, ax)


def line(protocol: Prefixes, people: int, candidates: int) -> float:
    """The share that, of ``candidates`` words which nobody has, any is estimated to have with a chance of 2 % at most.

    Reports support a word which nobody has with probability q, over all hashes: a binomial count C, and P(C >= c) is at most
    P(C = c) / (1 - r), where r < 1 is the ratio of its probabilities at c + 1 and c, for those ratios fall.
    """
    lie, allowed = protocol.rates.lie, math.log(_MISS / max(candidates, 1))

    def rare(count: int) -> bool:
        ratio = (people - count) / (count + 1) * lie / (1 - lie)
        ways = math.lgamma(people + 1) - math.lgamma(count + 1) - math.lgamma(people - count + 1)
        chance = ways + count * math.log(lie) + (people - count) * math.log1p(-lie)
        return ratio < 1 and chance - math.log1p(-ratio) <= allowed

    low, high = math.floor(people * lie), people + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rare(middle) else (middle, high)
    return ((high - 0.5) / max(people, 1) - lie) / protocol.rates.gain


def find(protocol: Prefixes, spelling: Spelling, prefixes: tuple[int, ...], most: int, tally: Integers, count: int) -> Hitters:
    """Extend the prefixes that stand out, length by length; then those who told about whole words decide, and measure.

    The candidates for whole words were chosen by other people's reports, and the line which they have to pass is such that of
    those which nobody has, any passes it in at most 5 % of all surveys.
    """
    found, before = np.zeros((1, spelling.length), dtype=np.int64), 0
    for counts, bits in zip(protocol.counts(tally)[:-1], prefixes[:-1], strict=True):
        grown = spelling.extended(found, before, bits)
        level = Level(protocol, counts, hash_prefixes(grown, bits), most)
        found, before = grown[level.best(_FOLLOWED * math.sqrt(level.variance))], bits
    grown = spelling.extended(found, before, prefixes[-1])
    grown = grown[[spelling.is_word(row) for row in grown]]
    level = Level(protocol, protocol.counts(tally)[-1], hash_prefixes(grown, prefixes[-1]), most)
    order = level.best(level.line)
    values, people = level.shares[order], max(level.people, 1)
    likely = np.clip(values, 0.0, 1.0)
    coins = np.array([protocol.rates.variance(share) for share in likely]) / people
    drawn = likely * (1 - likely) * max(1 / people - 1 / max(count, 1), 0.0)  # these are some of the people only
    words = tuple(spelling.text(row) for row in grown[order])
    return Hitters(words, values, np.sqrt(coins + drawn + level.crowd), count, level.line)


class Level:
    """The shares of candidates for one length, freed of what common ones bring into the others' buckets.

    The raw estimate of a word errs by sum over other words v of f(v) M(v), where M(v) tells how many of the hashes put both into
    one bucket: it is public, has mean 0 and variance 1 / (hashes (buckets - 1)). So what the common words add is computed and
    taken off; what the others add is small, and counted as variance (``crowd``).
    """

    def __init__(self, protocol: Prefixes, counts: Integers, keys: Integers, most: int) -> None:
        self._protocol, self._most = protocol, most
        self._by_hash = counts.sum(axis=1)
        self.people = int(self._by_hash.sum())
        self.crowd, self.shares, self._wider = 0.0, np.full(keys.size, -math.inf), np.ones(keys.size)
        self._line = line(protocol, self.people, keys.size)
        if self.people and keys.size:
            self._measure(counts.astype(np.float64), keys)

    def _measure(self, counts: Reals, keys: Integers) -> None:
        raw = self._estimate(counts, keys)
        self.crowd = self._crowd(counts)
        reach = _FOLLOWED * math.sqrt(self.variance - self.crowd) - _REACH * math.sqrt(self.crowd)
        near = np.flatnonzero(raw > reach)  # the others are given up: they come out on top in no case that matters
        self.shares[near] = raw[near]
        common = np.zeros(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            again = self.best(self.line)
            if np.array_equal(np.sort(again), common):
                return
            common = np.sort(again)
            buckets = [_buckets(self._protocol, number, keys[common]) for number in range(self._protocol.hashes)]
            places = np.stack(buckets, axis=1)
            own: Reals = np.linalg.lstsq(self._meeting(places), raw[common], rcond=None)[0].astype(np.float64)
            left = self._without(counts, places, own)
            self.crowd = self._crowd(left)
            self.shares[near] = self._estimate(left, keys[near])
            self.shares[common] = own
            # Where common words support one that nobody has, its count varies more: its chance is what was taken off, and q.
            rates = self._protocol.rates
            chance = np.clip(rates.lie + rates.gain * (raw[near] - self.shares[near]), rates.lie, 0.5)
            self._wider[near] = np.sqrt(chance * (1 - chance) / (rates.lie * (1 - rates.lie)))

    @property
    def variance(self) -> float:
        """Of the estimate of a word which nobody has."""
        return self._protocol.rates.variance(0.0) / max(self.people, 1) + self.crowd

    @property
    def line(self) -> float:
        """What a word must be estimated to have, for it not to be nobody's."""
        return self._line * math.sqrt(self.variance / (self.variance - self.crowd))

    def best(self, line: float) -> Integers:
        """The places of at most so many candidates above the line, the most common first."""
        order = np.argsort(-self.shares, kind="stable")[: self._most]
        return order[self.shares[order] > line * self._wider[order]]

    def _estimate(self, counts: Reals, keys: Integers) -> Reals:
        """The share of each key that these counts show."""
        support = np.zeros(keys.size)
        for number in range(self._protocol.hashes):
            support += counts[number][_buckets(self._protocol, number, keys)]
        shares: Reals = (support / self.people - self._protocol.rates.lie) / self._protocol.rates.gain
        return shares

    def _meeting(self, places: Integers) -> Reals:
        """M of every pair: how far more often than by chance they are in one bucket, weighted as the hashes were drawn."""
        chance = 1 / self._protocol.buckets
        found = np.stack([(places == other) @ self._by_hash for other in places])
        return np.asarray((found / self.people - chance) / (1 - chance))

    @property
    def _gain(self) -> float:
        """How much likelier a bucket is to be reported by those who are in it."""
        return self._protocol.rates.gain / (1 - 1 / self._protocol.buckets)

    def _without(self, counts: Reals, places: Integers, shares: Reals) -> Reals:
        """The counts, less what words in these buckets (one row a word) with these shares are expected to add."""
        hashes = np.arange(len(counts))
        left: Reals = counts + shares.sum() * self._gain * self._by_hash[:, None] / self._protocol.buckets
        for buckets, share in zip(places, shares, strict=True):
            left[hashes, buckets] -= share * self._gain * self._by_hash
        return left

    def _crowd(self, left: Reals) -> float:
        """The variance which words add that are still in these counts: their squared shares over what the hashes tell apart."""
        size, weights = self._protocol.buckets, float((self._by_hash.astype(np.float64) ** 2).sum())
        apart = 1 - 1 / size
        squares = float(((left - self._by_hash[:, None] / size) ** 2).sum()) - self.people * apart
        return min(max(squares / (self._gain**2 * apart * weights), 0.0), 1.0) * weights / self.people**2 / (size - 1)


def _buckets(protocol: Prefixes, number: int, keys: Integers) -> Integers:
    return hash_to_bucket(np.array([number], dtype=np.uint64), keys, protocol.buckets)


_HASHES, _BUCKETS = 512, 256  # at most: decoding takes time in the one, memory in the other
_LOOKED_AT = 2**22
_FIRST, _CANDIDATES = 16, 2**15  # bits of the first prefix, and prefixes that are looked at a time


@called_as("2")
@dataclass(frozen=True, init=False)
class HeavyHitters(Task):
    """The most common words of an unknown vocabulary, from reports that are each epsilon-differentially private on their own.

    Pure local privacy: any two words of one person are indistinguishable up to e^epsilon. Words are cut to ``length`` symbols:
    bytes of any text, or characters of a public ``alphabet`` (fewer candidates, so rarer words are found). At most ``most``
    prefixes are followed, several bits at a time. ``missing`` is the fate of answers that cannot be spelled. The collector needs
    the same memory for any number of reports. A word that nobody has is reported in at most 5 % of all surveys.

    >>> words = HeavyHitters(epsilon=4, length=3, alphabet="abcdefgh")
    >>> collector = words.collector()
    >>> collector.add(words.randomize(["cab", "bed", "cab", "cab"] * 1000))
    >>> collector.estimate().items
    ('cab', 'bed')
    """

    spelling: Spelling
    most: int
    prefixes: tuple[int, ...]
    """The bits of the prefixes that clients tell about, the whole word last."""
    protocol: Prefixes
    question: str
    period: str
    kind: ClassVar[str] = "heavy hitters"
    version: ClassVar[int] = 2

    def __init__(
        self,
        epsilon: Number,
        *,
        length: int = 8,
        alphabet: str | None = None,
        most: int = 100,
        missing: str = "refuse",
        question: str = "",
        period: str = "",
    ) -> None:
        price, spelling, followed = read_epsilon(epsilon), Spelling(whole("length", length), alphabet, missing), _read_most(most)
        step = max(4, (_CANDIDATES // followed).bit_length() - 1)
        shorter = range(max(0, -(-(spelling.bits - _FIRST) // step)), 0, -1)
        prefixes = (*(spelling.bits - step * back for back in shorter), spelling.bits)
        buckets = min(choose_buckets(price), _BUCKETS)
        protocol = Prefixes(price, len(prefixes), _HASHES, buckets)
        self._fill(question, period, spelling=spelling, most=followed, prefixes=prefixes, protocol=protocol)

    @property
    def facts(self) -> dict[str, object]:
        spelled = {"length": self.spelling.length, "alphabet": self.spelling.alphabet, "missing": self.spelling.missing}
        protocol = {"name": self.protocol.name, **self.protocol.parameters}
        return {"words": spelled, "most": self.most, "prefixes": list(self.prefixes), "protocol": protocol}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> HeavyHitters:
        made = cls.__new__(cls)
        spelling = Spelling(**facts["words"])  # type: ignore[arg-type]
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        prefixes: tuple[int, ...] = tuple(facts["prefixes"])  # type: ignore[arg-type]
        steps = [after - before for before, after in pairwise((0, *prefixes))]
        right = all(type(bits) is int for bits in prefixes) and all(0 < step <= 20 for step in steps)
        if not right or parameters.pop("name") != Prefixes.name or sum(steps) != spelling.bits:
            raise ParameterError("Words are found by prefixes up to the whole word, 1 to 20 bits longer each time.")
        if any(2**step * _read_most(facts["most"]) > _LOOKED_AT for step in steps[1:]):
            raise ParameterError(f"At most {_LOOKED_AT:,} prefixes are looked at a time; follow fewer, or take shorter steps.")
        protocol = Prefixes(read_epsilon(Fraction(str(facts["epsilon"]))), len(prefixes), **parameters)
        fields = {"spelling": spelling, "most": _read_most(facts["most"]), "prefixes": prefixes, "protocol": protocol}
        made._fill(facts["question"], facts["period"], **fields)
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """One row a word: the key of its prefix of every length."""
        symbols = self.spelling.symbols(values)
        return np.column_stack([hash_prefixes(self.spelling.cut(symbols, bits), bits) for bits in self.prefixes])

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Hitters]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("Heavy hitters find their words themselves; ask Frequencies(dp.text(), ...) for candidates.")
        described = (self.protocol, self.spelling, self.prefixes, self.most)
        return Collector(self, self.protocol, lambda tally, n: find(*described, tally, n))

    def plan(self, n: int) -> Plan:
        """What to expect of ``n`` reports, before any is asked for."""
        n, protocol, lengths = whole("n", n), self.protocol, self.protocol.levels
        rates, last = protocol.rates, max(1, round(n * protocol.last_share))
        error = math.sqrt(rates.variance(0.0) / last)
        seen = line(protocol, last, self.most * 2 ** (self.prefixes[-1] - (0, *self.prefixes)[-2]))
        warning = (
            f"the answer will be noise: with {n:,} reports at epsilon {float(self.epsilon):.6g}, only words of more than "
            f"{100 * seen:,.0f} % of the people are found. Ask {math.ceil(n * (seen / 0.05) ** 2):,} people for words of 5 %."
        )
        return Plan(
            n=n,
            protocol="prefixes",
            parameters=protocol.parameters,
            reason=f"each client tells about one of {lengths} prefix lengths, at full epsilon",
            epsilon=float(self.epsilon),
            standard_error=error,
            meaning=f"of a word's share; words below {100 * seen:.3g} % are lost in noise",
            bits=protocol.bits,
            server=f"{protocol.cells:,} counters, one addition a report, {protocol.hashes:,} hashes a candidate",
            influence=0.01 * rates.influence / protocol.last_share,
            warnings=(warning,) if seen > 0.25 else (),
        )


def _read_most(most: object) -> int:
    """How many prefixes are followed, where they are not too many."""
    number = whole("most", most)
    if number > 10_000:
        raise ParameterError("At most 10,000 prefixes are followed; ask for fewer.")
    return number
