"""The comparison of two runs: a function on two neighbouring tables, with the same noisy answers, step by step.

Everything that leaves through discreet's mechanisms passes a value, a declared sensitivity and a price. So two runs are enough
to check the declaration itself, without statistics: the values before noise may be no further apart than declared, and *nothing
else* may differ: which releases there are and in which order, shapes, parameters, candidates, payments, stored answers, errors,
warnings, prints, and what is returned. The second run gets the noisy answers of the first, so programs that adapt to their
answers are compared on equal terms (composition is proved the same way). So are lots that a public law draws
(``mechanisms.rows.lots``), such as how often a private search runs.

What a replay cannot see: noise that is not discreet's (the function is then reported as one that cannot be replayed), steps that
other noisy answers would have led to, other threads, files, time, and pairs that were not tried. It finds violations; it proves
nothing.

>>> from discreet import Laplace
>>> print(replay(lambda rows: Laplace(sensitivity=1, epsilon=1).release(sum(rows)), [1, 5], [1]))
Violated on this pair: release 1 (Laplace) moved by 5, declared 1 (L1): 6 and 1.
>>> print(replay(lambda rows: Laplace(sensitivity=1, epsilon=1).release(len(rows)), [1, 5], [1]))
Not refuted by this pair: 1 release moved no further than declared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from discreet.auditor.replay.trace import Committed, Kept, Released, Reserved, Step, Trace, watch
from discreet.auditor.sampling.containers import read_attributes
from discreet.display import clean
from discreet.mechanisms.base import Mechanism, Moved
from discreet.mechanisms.rows.lots import Lot, Turn
from discreet.privacy import Privacy
from discreet.privacy.filters import add_prices, as_approximate, as_concentrated

D = TypeVar("D")

Kind = Literal["moved", "branch", "shape", "declaration", "payment", "raised", "said", "stored", "returned"]


@dataclass(frozen=True)
class Difference:
    """Something that tells two neighbours apart and no noise covers."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Replay:
    """What two runs have to say about each other. ``privacy``: what the releases cost this pair, by their theorems."""

    differences: tuple[Difference, ...]
    releases: int
    privacy: Privacy
    steady: bool = True

    @property
    def violated(self) -> bool:
        """Whether the function breaks what it declares; one that is not steady was not tested."""
        return self.steady and bool(self.differences)

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of its differences, if they are a violation."""
        return frozenset(difference.kind for difference in self.differences if self.steady)

    def __str__(self) -> str:
        if not self.steady:
            return (
                "This function cannot be replayed: twice on the same data and with the same noisy answers, it did different "
                f"things ({self.differences[0]}). It keeps state, or uses randomness that is not discreet's."
            )
        if self.differences:
            return f"Violated on this pair: {'; '.join(map(str, self.differences))}."
        if not self.releases:
            return "Not refuted by this pair, on which nothing was released through discreet."
        many = "1 release" if self.releases == 1 else f"{self.releases} releases"
        return f"Not refuted by this pair: {many} moved no further than declared."


def replay(run: Callable[[D], object], a: D, b: D) -> Replay:
    """Run on two neighbouring inputs (made up: findings show them) and compare exactly."""
    return follow(run, watch(run, a), a, b)


def follow(run: Callable[[D], object], first: Trace, a: D, b: D) -> Replay:
    """``replay`` where the run on ``a`` has been watched already."""
    second = watch(run, b, first)
    differences, privacy = _compare(first, second)
    releases = sum(map(_lets_out, first.steps))
    steady = not differences or not _compare(first, watch(run, a, first))[0]
    return Replay(tuple(differences), releases, privacy, steady)


def _lets_out(step: Step) -> bool:
    return isinstance(step, Released) and not isinstance(step.release.mechanism, Lot)


def _compare(first: Trace, second: Trace) -> tuple[list[Difference], Privacy]:
    found: list[Difference] = []
    paid: Privacy | None = None
    spent = total = Privacy()
    streams, runs, number = _Streams(), _Runs(), 0
    for one, other in zip(first.steps, second.steps, strict=False):
        number += _lets_out(one)
        apart = _compare_steps(one, other, number)
        found += apart
        if any(difference.kind in ("branch", "shape", "raised") for difference in apart):
            return found, total  # what comes after belongs to different programs
        if isinstance(one, Reserved):
            paid, spent = one.privacy, Privacy()
        elif isinstance(one, Committed) and paid is not None:
            found += _check_payment(spent, paid)
            paid = None
        elif isinstance(one, Released) and isinstance(other, Released) and not one.refused:
            here = streams.join(one.release.mechanism.moved(one.release, other.release))
            if words := here.far or (here.many if paid is None else None):
                found.append(Difference("moved", f"release {number} ({one.name}) {words}"))
            lost, more = runs.join(one.release.mechanism, here.cost)
            found += more
            spent, total = spent + lost, total + here.cost
    spent += runs.end()
    if len(first.steps) != len(second.steps):
        found.append(_compare_lengths(first, second, number))
    if paid is not None:  # and the answer never came
        found += _check_payment(spent, paid)
    return found or list(_compare_ends(first, second)), total


class _Streams:
    """Comparisons of one stream belong together: it is paid for once, and if it was declared monotonic, all move the same way."""

    def __init__(self) -> None:
        self._ways: dict[int, frozenset[bool]] = {}

    def join(self, here: Moved) -> Moved:
        """A move, seen with what its stream has done before."""
        if here.stream is None:
            return here
        before = self._ways.get(id(here.stream), frozenset())
        self._ways[id(here.stream)] = now = before | here.ways
        both = "moved both ways, declared monotonic" if here.monotonic and len(before) < len(now) == 2 else None
        return dataclasses.replace(here, cost=Privacy() if before else here.cost, far=here.far or both)


class _Runs:
    """Runs of which one comes out lose together what their theorem says, as long as none loses more than one of them may."""

    def __init__(self) -> None:
        self._turn: Turn | None = None
        self._lost = self._all = Privacy()

    def join(self, mechanism: Mechanism, cost: Privacy) -> tuple[Privacy, list[Difference]]:
        """What is lost by a release, outside of runs or by all of them when they end; and what is wrong with a run."""
        if not isinstance(mechanism, Turn):
            if self._turn is None:
                return cost, []
            self._lost += cost
            return Privacy(), []
        found = [] if self._turn is None else list(_check_payment(self._lost, self._turn.each, "in one of several runs "))
        if self._lost.parts:
            self._all = mechanism.whole
        self._turn, self._lost = mechanism, Privacy()
        return (self.end() if mechanism.last else Privacy()), found

    def end(self) -> Privacy:
        """What all runs lost; also where one of them was the last by an error."""
        whole = self._turn.whole if self._turn is not None and (self._lost.parts or self._all.parts) else Privacy()
        self._turn, self._lost, self._all = None, Privacy(), Privacy()
        return whole


def _compare_lengths(first: Trace, second: Trace, number: int) -> Difference:
    """One run ended where the other went on."""
    shorter, longer = sorted((first, second), key=lambda trace: len(trace.steps))
    onward = longer.steps[len(shorter.steps)].name
    if shorter.raised:
        return Difference(
            "raised", f"after release {number} one side raises {_cut(shorter.raised)}, the other goes on to {onward}"
        )
    return Difference("branch", f"after release {number} only one side goes on, to {onward}")


def _compare_steps(one: Step, other: Step, number: int) -> list[Difference]:
    """Differences that no noise covers, between two steps at the same place."""
    if type(one) is not type(other):
        return [Difference("branch", f"one side comes to {one.name} where the other comes to {other.name}")]
    if isinstance(one, Released) and isinstance(other, Released):
        return list(_compare_releases(one, other, f"release {number} ({one.name})"))
    if isinstance(one, Reserved) and one != other:
        return [Difference("payment", f"one side pays for {one}, the other for {other}")]
    if isinstance(one, Committed) and isinstance(other, Committed) and one != other:
        texts = _show_difference(one.answer, other.answer)
        return [Difference("stored", f"the same noisy answers are stored as {texts[0]} and as {texts[1]}")]
    if isinstance(one, Kept) and isinstance(other, Kept) and one != other:
        texts = _show_difference(one.text, other.text)
        return [Difference("stored", f"the same noisy answers are kept on the way as {texts[0]} and as {texts[1]}")]
    return []


def _compare_releases(one: Released, other: Released, name: str) -> Iterator[Difference]:
    a, b = one.release, other.release
    if type(a.mechanism) is not type(b.mechanism):
        yield Difference("branch", f"{name} goes through {other.name} on the other side")
        return
    if not are_equal(a.mechanism, b.mechanism):
        yield Difference("declaration", f"{name} is {a.mechanism} on one side and {b.mechanism} on the other")
    elif not are_equal(a.facts, b.facts):
        yield Difference("declaration", f"{name} is told {_cut(str(a.facts))} on one side and {_cut(str(b.facts))} on the other")
    if one.shape != other.shape:
        yield Difference(
            "shape", f"{name} has {_describe_size(one.shape)} on one side and {_describe_size(other.shape)} on the other"
        )
    elif one.refused != other.refused:
        yield Difference("raised", f"{name} is refused on one side only")


def _check_payment(spent: Privacy, paid: Privacy, where: str = "") -> Iterator[Difference]:
    """Whether a pair lost more than the ledger was told, in the first currency that has a price for it."""
    for name, price in (("epsilon", as_approximate), ("rho", as_concentrated)):
        allowed, lost = add_prices(paid, price), add_prices(spent, price)
        if allowed is not None:
            if lost is None or lost[0] > allowed[0] or lost[1] > allowed[1]:
                amount = "without bound" if lost is None else f"{name} {float(lost[0]):.6g}, delta {float(lost[1]):.3g}"
                asked = f"{name} {float(allowed[0]):.6g}, delta {float(allowed[1]):.3g}"
                yield Difference("payment", f"{where}this pair loses {amount}, and {asked} was paid")
            return


def _compare_ends(first: Trace, second: Trace) -> Iterator[Difference]:
    """How runs end that took the same steps."""
    if first.raised != second.raised:
        ends = [f"raises {_cut(trace.raised)}" if trace.raised else "returns" for trace in (first, second)]
        yield Difference("raised", f"one side {ends[0]}, the other {ends[1]}")
    if first.printed != second.printed:
        yield Difference("said", f"one side prints or warns {_cut(str(first.printed))}, the other {_cut(str(second.printed))}")
    if not first.raised and not second.raised and not are_equal(first.returned, second.returned):
        texts = _cut(repr(first.returned)), _cut(repr(second.returned))
        yield Difference("returned", f"with the same noisy answers, one side returns {texts[0]} and the other {texts[1]}")


def _describe_size(size: tuple[int, ...] | None) -> str:
    return "no fixed size" if size is None else " x ".join(map(str, size)) + " values" if size else "one value"


def _show_difference(one: str, other: str) -> tuple[str, str]:
    """Two long texts, where they begin to differ."""
    start = max(0, next((i for i, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), 0) - 30)
    return f"...{one[start : start + 60]}...", f"...{other[start : start + 60]}..."


def _cut(text: str) -> str:
    return clean(text if len(text) <= 160 else f"{text[:140]}...")


def are_equal(one: object, other: object, above: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Whether two results are equal, NaN to NaN, of the same types. Objects that know no equality are compared by what they
    hold; ``above`` are the pairs that one is inside of, since some contain themselves.

    >>> are_equal({"n": [1, float("nan")]}, {"n": [1, float("nan")]}), are_equal(1, 1.0)
    (True, False)
    """
    if one is other or (id(one), id(other)) in above:
        return True
    if type(one) is not type(other):
        return False
    below = above | {(id(one), id(other))}
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and are_equal(one.tolist(), other.tolist(), below)
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return are_equal(list(one.items()), list(other.items()), below)  # their order is seen too
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, (str, bytes)):
        return len(one) == len(other) and all(are_equal(x, y, below) for x, y in zip(one, other, strict=True))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [field.name for field in dataclasses.fields(one)]
        return all(are_equal(getattr(one, name), getattr(other, name), below) for name in names)
    if isinstance(one, BaseException) and isinstance(other, BaseException):
        return are_equal(one.args, other.args, below) and are_equal(read_attributes(one), read_attributes(other), below)
    if type(one).__eq__ is object.__eq__ and type(one).__module__.startswith("discreet."):
        return True  # such as a stream of answers, with its secret threshold
    if type(one).__eq__ is object.__eq__:
        return are_equal(read_attributes(one), read_attributes(other), below)
    return _equal(one, other)


def _equal(one: object, other: object) -> bool:
    if hasattr(one, "equals"):  # frames, whose == gives a frame
        return bool(one.equals(other))
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False
