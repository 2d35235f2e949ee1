"""The clearest difference that was seen, in words: for the reader. The certificate is the wealth, not this event."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.claims import Claim
from discreet.auditor.sampling.features import FINEST, GRAIN, Table, wild
from discreet.auditor.sampling.learning import Guesses
from discreet.auditor.sampling.outputs import NUMBER, describe, said_beside
from discreet.tables import clean

__all__ = ["FLOATS", "Event", "clearest"]

Floats = NDArray[np.float64]

_PLAIN = {"token": 1.0, "word": 1.0, "number": 0.95, "shape": 0.9, "score": 0.7}  # what is easier to read wins a near tie

_FAULTS = {
    ".raised": "the function raises {}",
    ".text": "the function raises an exception with the text {}",
    ".hangs": "the function {}",
}
FLOATS = "floating-point noise: the low bits of the output tell the inputs apart"
_PRESENT = 1.05  # that a part is there at all, or that the function fails, is easiest to read


@dataclass(frozen=True)
class Event:
    """Words with counts, and the counts: how many runs on a and on b had it."""

    text: str
    hits: tuple[int, int] = (0, 0)


def clearest(table: Table, guesses: Guesses, claim: Claim) -> Event:
    """The event that speaks most against the claim; if none does, the one that tells a from b best."""
    if not guesses.cells:
        guesses.learn(table)
    runs = np.array([table.on_a.sum(), (~table.on_a).sum()], dtype=np.float64)
    best, found = 0.0, Event("")
    for points in (claim.points, ((0.0, 0.0),)):
        for (kind, name), cells in guesses.cells.items():
            column = guesses.column(table, kind, name)
            counts, word = _candidates(table, kind, name, column, cells.edges)
            worth = _PLAIN[kind] * np.max([_against(counts, runs, *point) for point in points], axis=0)
            if kind == "word":
                worth[:2] *= 0.0 if name in ("", *_FAULTS) or said_beside(name) else 1.0  # there is always something, or a fault
                worth[: worth.size if name in _FAULTS else 1] *= _PRESENT
            at = int(worth.argmax()) if worth.size else 0
            if worth.size and worth[at] > best:
                hits = int(counts[0, at]), int(counts[1, at])
                text = f"{word(at)}: {hits[0]:,} of {int(runs[0]):,} runs on a, {hits[1]:,} of {int(runs[1]):,} on b"
                best, found = float(worth[at]), Event(clean(text), hits)
        if best > 0:
            break
    return found


def _against(counts: Floats, runs: Floats, epsilon: float, delta: float) -> Floats:
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


def _candidates(
    table: Table, kind: str, name: str, column: Floats | NDArray[np.int64], edges: Floats | None
) -> tuple[Floats, Callable[[int], str]]:
    """Counts of simple events on one column (2 x events), and how to say the i-th of them."""
    if edges is not None:
        places = np.where(np.isnan(column), 0, np.searchsorted(edges, column, side="left") + 1)
        tally = _tally(places, table.on_a, edges.size + 2)
        up_to = np.cumsum(tally[:, 1:-1], axis=1)
        above = tally[:, 1:].sum(axis=1, keepdims=True) - up_to
        title = "a learned score of the output" if kind == "score" else name

        def number(index: int) -> str:
            place = index % edges.size
            if name.startswith((GRAIN, FINEST)):
                return _low_bits(name, math.floor(edges[place]) + 1, fine=index < edges.size)
            return f"{title} is {'at most' if index < edges.size else 'above'} {wild(edges[place]):.6g}"

        return np.concatenate([up_to, above], axis=1), number
    tally = _tally(column.astype(np.int64) + 1, table.on_a, int(column.max(initial=0)) + 2)
    if kind == "word":
        present = tally[:, 1:].sum(axis=1, keepdims=True)

        def word(index: int) -> str:
            if index < 2:
                return f"output{name} is {'absent' if index else 'present'}"
            text = list(table.texts[name])[index - 2] if index - 2 < len(table.texts[name]) else "a rare word"
            if name in _FAULTS:
                return _FAULTS[name].format(text)
            return f"output{name} is " + (f"a number of type {text.removeprefix(NUMBER)}" if text.startswith(NUMBER) else text)

        return np.concatenate([present, tally], axis=1), word
    numbers = kind == "shape"

    def token(index: int) -> str:
        if index == 0:
            return "the output is new"
        if numbers:
            return f"the output looks like {describe((table.kinds[index - 1], ()))}"
        example = table.examples[index - 1] if index - 1 < len(table.examples) else None
        return f"the output is {describe(example)}" if example else "the output is one seldom seen"

    return tally, token


def _low_bits(name: str, power: int, *, fine: bool) -> str:
    """That numbers lie on multiples of a power of two, or that they do not."""
    what = "a number of the output" if name.startswith(FINEST) and fine else name.partition(" of ")[2]
    said = f"{what} is {'no' if fine else 'a'} multiple of 2^{power}"
    return f"{FLOATS} ({said})" if power < 0 else said


def _tally(places: NDArray[np.int64], on_a: NDArray[np.bool_], size: int) -> Floats:
    return np.array([np.bincount(places[side], minlength=size) for side in (on_a, ~on_a)], dtype=np.float64)
