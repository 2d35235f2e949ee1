"""The event that tells the two inputs apart most clearly, in words, and what a violation may be due to other than a leak.

Both are for the reader. The certificate is the wealth, not this event; hints stand beside a finding, never instead of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.auditor.claims import Claim
from discreet.auditor.sampling.features import FINEST, Sample, expand, is_lowest_bit
from discreet.auditor.sampling.learning import Learner
from discreet.auditor.sampling.outputs import NUMBER, describe, is_annotation
from discreet.auditor.sampling.partitions import Partition
from discreet.display import clean

_PLAIN = {"token": 1.0, "word": 1.0, "number": 0.95, "shape": 0.9, "score": 0.7}  # what is easier to read wins a near tie

_FAULTS = {
    ".raised": "the function raises {}",
    ".text": "the function raises an exception with the text {}",
    ".hangs": "the function {}",
}
_FLOATS = "floating-point noise: the low bits of the output tell the inputs apart"
_PRESENT = 1.05  # that a part is there at all, or that the function fails, is easiest to read
_MOST = 100_000  # elements of inputs that are compared


@dataclass(frozen=True)
class Event:
    """Words with counts, and the counts: how many runs on a and on b had it. ``low_bits``: it is floating-point noise."""

    text: str
    hits: tuple[int, int] = (0, 0)
    low_bits: bool = False


def find_clearest(sample: Sample, learner: Learner, claim: Claim) -> Event:
    """The event that speaks most against the claim; if none does, the one that tells a from b best."""
    if not learner.partitions:
        learner.learn(sample)
    runs = np.array([sample.on_a.sum(), (~sample.on_a).sum()], dtype=np.float64)
    best, found = 0.0, Event("")
    for points in (claim.points, ((0.0, 0.0),)):
        for (kind, name), cells in learner.partitions.items():
            column = learner.column(sample, kind, name)
            counts, word = _list_candidates(sample, kind, name, column, cells)
            worth = _PLAIN[kind] * np.max([_measure_against(counts, runs, *point) for point in points], axis=0)
            if kind == "word":
                worth[:2] *= (
                    0.0 if name in ("", *_FAULTS) or is_annotation(name) else 1.0
                )  # there is always something, or a fault
                worth[: worth.size if name in _FAULTS else 1] *= _PRESENT
            at = int(worth.argmax()) if worth.size else 0
            if worth.size and worth[at] > best:
                hits = int(counts[0, at]), int(counts[1, at])
                text = f"{word(at)}: {hits[0]:,} of {int(runs[0]):,} runs on a, {hits[1]:,} of {int(runs[1]):,} on b"
                fine = is_lowest_bit(name) and cells.edges is not None and _power(cells.edges, at) < 0
                best, found = float(worth[at]), Event(clean(text), hits, fine)
        if best > 0:
            break
    return found


def _measure_against(counts: Reals, runs: Reals, epsilon: float, delta: float) -> Reals:
    """How much better each event is explained by its own frequencies than by the nearest that the claim allows."""
    limit = 1 / (1 + np.exp(-epsilon))
    high, low = -np.log1p(np.exp(-epsilon)), -epsilon - np.log1p(np.exp(-epsilon))  # logarithms of the limit, and of 1 less it
    worth = np.zeros(counts.shape[1])
    for one, other in ((0, 1), (1, 0)):
        hits = np.maximum(0.0, counts[one] - delta * runs[one]) / max(runs[one], 1)
        misses = counts[other] / max(runs[other], 1)
        share = (hits + 0.5 / runs.max()) / (hits + misses + 1 / runs.max())
        gain = share * (np.log(share) - high) + (1 - share) * (np.log1p(-share) - low)
        worth = np.maximum(worth, np.where(share > limit, (hits + misses) * runs.min() * gain, 0.0))
    return worth


def _list_candidates(
    sample: Sample, kind: str, name: str, column: Reals | Integers, cells: Partition
) -> tuple[Reals, Callable[[int], str]]:
    """Counts of simple events on one column (2 x events), and how to say the i-th of them."""
    if (edges := cells.edges) is not None:
        tally = cells.tally(column, sample.on_a)
        up_to = np.cumsum(tally[:, 1:-1], axis=1)
        above = tally[:, 1:].sum(axis=1, keepdims=True) - up_to
        title = "a learned score of the output" if kind == "score" else name

        def number(index: int) -> str:
            if is_lowest_bit(name):
                return _describe_low_bits(name, _power(edges, index), fine=index < edges.size)
            return f"{title} is {'at most' if index < edges.size else 'above'} {expand(edges[index % edges.size]):.6g}"

        return np.concatenate([up_to, above], axis=1), number
    numbered = column.astype(np.int64) + 1
    sides = (numbered[sample.on_a], numbered[~sample.on_a])
    tally = np.array([np.bincount(side, minlength=int(numbered.max(initial=1)) + 1) for side in sides], dtype=np.float64)
    if kind == "word":
        present = tally[:, 1:].sum(axis=1, keepdims=True)

        def word(index: int) -> str:
            if index < 2:
                return f"output{name} is {'absent' if index else 'present'}"
            text = list(sample.texts[name])[index - 2] if index - 2 < len(sample.texts[name]) else "a rare word"
            if name in _FAULTS:
                return _FAULTS[name].format(text)
            return f"output{name} is " + (f"a number of type {text.removeprefix(NUMBER)}" if text.startswith(NUMBER) else text)

        return np.concatenate([present, tally], axis=1), word
    numbers = kind == "shape"

    def token(index: int) -> str:
        if index == 0:
            return "the output is new"
        if numbers:
            return f"the output looks like {describe((sample.known_shapes[index - 1], ()))}"
        example = sample.examples[index - 1] if index - 1 < len(sample.examples) else None
        return f"the output is {describe(example)}" if example else "the output is one seldom seen"

    return tally, token


def _describe_low_bits(name: str, power: int, *, fine: bool) -> str:
    """That numbers lie on multiples of a power of two, or that they do not."""
    what = "a number of the output" if name.startswith(FINEST) and fine else name.partition(" of ")[2]
    said = f"{what} is {'no' if fine else 'a'} multiple of 2^{power}"
    return f"{_FLOATS} ({said})" if power < 0 else said


def _power(edges: Reals, index: int) -> int:
    """The power of two on whose multiples lie the numbers above an edge."""
    return math.floor(float(edges[index % edges.size])) + 1


def explain(a: object, b: object, claim: Claim, least: float, event: Event) -> Iterator[str]:
    """Sentences for the reader of a violation; ``least`` is the certified epsilon.

    A claim for adding or removing one promises twice its epsilon for replacing one: beyond that it is broken all the same.
    """
    if event.low_bits:
        yield 'Noise on a public grid mends that; write floats="ignore" to see whether anything else is wrong.'
    pure = len(claim.points) == 1 and not claim.delta
    if is_replacement(a, b) and not (pure and least > 2 * claim.points[0][0]):
        yield (
            "The inputs are of the same length and differ in one element: if the claim is for adding or removing one, this pair "
            "is two steps apart, which may cost twice as much; leave the element out of one of them."
        )


def is_replacement(a: object, b: object) -> bool:
    """Whether one element was exchanged for another.

    >>> is_replacement([1, 2], [1, 3]), is_replacement([1, 2], [1]), is_replacement([1, 2], [2, 1]), is_replacement(0, 1)
    (True, False, False, False)
    """
    one, other = _list_elements(a), _list_elements(b)
    if one is None or other is None or len(one) != len(other) or len(one) > _MOST:
        return False
    return sum((Counter(map(repr, one)) - Counter(map(repr, other))).values()) == 1


def _list_elements(given: object) -> list[object] | None:
    """The elements of a list, or the rows of a table; None for what has neither."""
    if isinstance(given, (list, tuple)):
        return list(given)
    if isinstance(given, np.ndarray):
        return list(given.tolist()) if given.ndim else None
    rows = getattr(given, "to_pylist", None) or getattr(getattr(given, "values", None), "tolist", None)
    try:
        return None if rows is None else list(rows())
    except Exception:  # whatever an input of somebody's own is made of
        return None
