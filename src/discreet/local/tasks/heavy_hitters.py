"""Heavy hitters: the most common words of an unknown vocabulary, found by their prefixes and measured by whole words.

**Theorem.** Where the public hashes are independent uniform functions, a word that nobody has is reported in at most 5 % of all
surveys, whatever words there are and however common.

*Why.* Let v be a candidate that nobody has. The counts of whole words depend on people's coins and on the buckets of words that
somebody has; the choice of candidates depends on the counts of other lengths, whose hashes are others. So given all counts, v's
bucket is a uniform one for every hash, independently, and its support is a sum of one count of each hash, drawn evenly: a law
that is computed, not modelled (``tails.py``), with whatever common and uncommon words have left in the counts. The same holds
for counts from which words that somebody has were taken off. In each of four rounds the words above a threshold are taken
off, which any candidate that nobody has passes with a chance of 0.25 %, and at last those above another one are reported, which
any passes with a chance of 4 %: each candidate with so much divided by their number. Unless one passes somewhere, only words that
somebody has are ever taken off, so the counts are those of this argument; and all chances add up to 5 %.

The hashes in use are drawn once, by SHA-256 and SplitMix64, and are linear in a word's key; ``benchmarks/heavy_hitters.py``
counts false words of theirs, among words that differ in one letter too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
from discreet.local.protocols.hashing import choose_buckets, hash_by_seed
from discreet.local.protocols.prefixes import Prefixes, hash_prefixes
from discreet.local.results import Cells, Plan, Result, normal_factor, plot_shares
from discreet.local.tails import bound_sums
from discreet.local.task import Task, read_epsilon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HASHES = 512  # at most: decoding takes time in them
_COUNTERS, _ALL_COUNTERS = 2**19, 2**26  # at most, of one length (4 MB) and of all; buckets above 1,024 so leave fewer hashes
_FEWEST_HASHES = 32
_LOOKED_AT = 2**22
_FIRST, _CANDIDATES = 16, 2**15  # bits of the first prefix, and prefixes that are looked at a time
_MISS, _EARLY = 0.04, 0.0025  # chances that any word that nobody has is reported at last, and is taken off in a round: 5 % in all
_EXPECTED_MISS = 0.02  # the same for plans, which know nothing of rounds and of other words
_FOLLOWED = 2.0  # standard errors above which a prefix is followed; a wrong one costs time, not truth
_REACH = 4.0  # standard deviations of what common words bring into the buckets of others
_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class HeavyHittersEstimate(Result):
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


def expect_threshold(protocol: Prefixes, people: int, candidates: int) -> float:
    """The share that, of ``candidates`` words which nobody has, any is estimated to have with a chance of 2 % at most.

    Reports support a word which nobody has with probability q, over all hashes: a binomial count C, and P(C >= c) is at most
    P(C = c) / (1 - r), where r < 1 is the ratio of its probabilities at c + 1 and c, for those ratios fall.
    """
    lie, allowed = protocol.rates.lie, math.log(_EXPECTED_MISS / max(candidates, 1))

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


def find_words(task: HeavyHitters, tally: Integers, count: int) -> HeavyHittersEstimate:
    """Extend the prefixes that stand out, length by length; then those who told about whole words decide, and measure."""
    protocol, spelling, found, before = task.protocol, task.spelling, np.zeros((1, task.spelling.length), dtype=np.int64), 0
    for counts, bits in zip(protocol.counts(tally)[:-1], task.prefixes[:-1], strict=True):
        grown = spelling.extend(found, before, bits)
        level = Level(protocol, counts, hash_prefixes(grown, bits), task.most)
        found, before = grown[level.best(_FOLLOWED * math.sqrt(level.variance))], bits
    grown = spelling.extend(found, before, task.prefixes[-1])
    grown = grown[[spelling.is_word(row) for row in grown]]
    level = Level(protocol, protocol.counts(tally)[-1], hash_prefixes(grown, task.prefixes[-1]), task.most)
    # No share is above 1: where the threshold is, whatever stands above it is noise.
    order = level.best(level.threshold if level.threshold <= 1 else math.inf)
    values, people = level.shares[order], max(level.people, 1)
    inside = np.clip(values, 0.0, 1.0)
    coins = np.array([protocol.rates.variance(share) for share in inside]) / people
    drawn = inside * (1 - inside) * max(1 / people - 1 / max(count, 1), 0.0)  # these are some of the people only
    words = tuple(spelling.text(row) for row in grown[order])
    return HeavyHittersEstimate(words, values, np.sqrt(coins + drawn + level.crowd), count, level.threshold)


class Level:
    """The shares of the candidates for one length, freed of what common ones bring into the others' buckets.

    The raw estimate of a word errs by sum over other words v of f(v) M(v), where M(v) tells how many of the hashes put both into
    one bucket: it is public, so what the common words add is computed and taken off, and the rest is noise like that of coins.
    """

    def __init__(self, protocol: Prefixes, counts: Integers, keys: Integers, most: int) -> None:
        self._protocol, self._most, self._by_hash = protocol, most, counts.sum(axis=1)
        self.people = int(self._by_hash.sum())
        self.shares, self.variance, self.threshold = np.full(keys.size, -math.inf), 1.0, math.inf
        if self.people and keys.size:
            self._measure(counts.astype(np.float64), keys)

    def _measure(self, counts: Reals, keys: Integers) -> None:
        raw, left = self._estimate(counts, keys), counts
        self._judge(left, _EARLY / keys.size)
        # The others are given up: they come out on top in no case that matters.
        near = np.flatnonzero(raw > _FOLLOWED * math.sqrt(self._coins) - _REACH * math.sqrt(self.crowd))
        self.shares[near] = raw[near]
        common = np.zeros(0, dtype=np.int64)
        for _ in range(_ROUNDS):
            again = np.sort(self.best(self.threshold))
            if np.array_equal(again, common):
                break
            common = again
            places = np.stack(list(self._buckets(keys[common])), axis=1)
            own: Reals = np.linalg.lstsq(self._meet(places), raw[common], rcond=None)[0].astype(np.float64)
            left = self._take_off(counts, places, own)
            self._judge(left, _EARLY / keys.size)
            self.shares[near] = self._estimate(left, keys[near])
            self.shares[common] = own
        self._judge(left, _MISS / keys.size)

    @property
    def _coins(self) -> float:
        """The variance of a word that nobody has, were there no other words."""
        return self._protocol.rates.variance(0.0) / max(self.people, 1)

    @property
    def crowd(self) -> float:
        """What uncommon words add to it."""
        return max(self.variance - self._coins, 0.0)

    def _judge(self, left: Reals, miss: float) -> None:
        """Variance and threshold of a word which nobody has, when these counts are left: its buckets are random ones."""
        unit = self.people * self._protocol.rates.gain
        apart = left - left.mean(axis=1, keepdims=True)
        self.variance = float((apart**2).mean(axis=1).sum()) / unit**2
        self.threshold = max(bound_sums(apart, miss), 1.0) / unit  # less than one report is rounding

    def best(self, threshold: float) -> Integers:
        """The places of at most so many candidates above the threshold, the most common first."""
        order = np.argsort(-self.shares, kind="stable")[: self._most]
        return order[self.shares[order] > threshold]

    def _estimate(self, counts: Reals, keys: Integers) -> Reals:
        """The share of each key that these counts show."""
        support = np.zeros(keys.size)
        for row, buckets in zip(counts, self._buckets(keys), strict=True):
            support += row[buckets]
        shares: Reals = (support / self.people - self._protocol.rates.lie) / self._protocol.rates.gain
        return shares

    def _meet(self, places: Integers) -> Reals:
        """M of every pair: how far more often than by chance they are in one bucket, weighted as the hashes were drawn."""
        chance = 1 / self._protocol.buckets
        found = np.array([(places == other) @ self._by_hash for other in places]).reshape(len(places), len(places))
        return np.asarray((found / self.people - chance) / (1 - chance))

    def _take_off(self, counts: Reals, places: Integers, shares: Reals) -> Reals:
        """The counts, less what words in these buckets (one row a word) with these shares are expected to add."""
        hashes, size = np.arange(len(counts)), self._protocol.buckets
        added = self._protocol.rates.gain / (1 - 1 / size) * self._by_hash  # by a word of everybody, to its bucket
        left: Reals = counts + (shares.sum() / size * added)[:, None]
        for buckets, share in zip(places, shares, strict=True):
            left[hashes, buckets] -= share * added
        return left

    def _buckets(self, keys: Integers) -> Iterator[Integers]:
        """The buckets of the keys, one hash after the other."""
        return hash_by_seed(np.arange(self._protocol.hashes).astype(np.uint64), keys, self._protocol.buckets)


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
        counters = min(_COUNTERS, _ALL_COUNTERS // len(prefixes))
        buckets = min(choose_buckets(price), counters // _FEWEST_HASHES)
        protocol = Prefixes(price, len(prefixes), min(_HASHES, counters // buckets), buckets)
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

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[HeavyHittersEstimate]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("Heavy hitters find their words themselves; ask Frequencies(dp.text(), ...) for candidates.")
        return Collector(self, self.protocol, lambda tally, count: find_words(self, tally, count))

    def plan(self, n: int) -> Plan:
        """What to expect of ``n`` reports, before any is asked for."""
        n, protocol, lengths = whole("n", n), self.protocol, self.protocol.levels
        rates, last = protocol.rates, max(1, round(n * protocol.last_share))
        error = math.sqrt(rates.variance(0.0) / last)
        seen = expect_threshold(protocol, last, self.most * 2 ** (self.prefixes[-1] - (0, *self.prefixes)[-2]))
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
