"""Does the function keep state? Then its runs are not independent draws, and nothing can be concluded from them.

What Python shows of its memory is looked at exactly (``memory``). What it does not show can only be seen in the outputs: runs on
one input must look the same early and late, and each the same whatever came before. Both are tested by ranks with a bound of 6.5
standard deviations, which a function without state passes with probability above 1 - 1e-7 (each statistic is a mean of bounded,
exchangeable terms, with tails no heavier than a normal one's).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.features import Table
from discreet.auditor.memory import Memory, random_store
from discreet.auditor.outcomes import repeated
from discreet.auditor.parts import UNREAD
from discreet.auditor.sampling import Sampler
from discreet.tables import clean

__all__ = ["find_state", "silence"]

Floats = NDArray[np.float64]

_FAR = 6.5
_UNLIKELY = 1e-9
_FEWEST = 40
_LAGS = 8
_COLUMNS = 24
_NOTHING = (("", "None"),)


def find_state(table: Table, sampler: Sampler, memory: Memory, *, refuted: bool) -> str:
    """Why the draws cannot be trusted, in words; empty if nothing speaks against them."""
    if sampler.never_returned:
        return f"the function did not return within {sampler.longest:.2g} seconds, on either input"
    if not table.size:
        return "it was stopped before a single run was through" if sampler.interrupted else "there was no time for a single run"
    if sampler.repeats:
        return (
            "the function keeps state: a curator gave stored answers again, which are not draws; open a fresh ledger in every run"
        )
    if not refuted and (nothing := silence(table, sampler)):
        return nothing
    sides = (table.tokens[table.on_a], table.tokens[~table.on_a])
    constant = [side.size > 0 and bool((side == side[0]).all()) for side in sides]
    if table.size >= _FEWEST and all(constant):
        if sides[0][0] == sides[1][0]:
            return "every run gave the same output: the function is constant, or hands out stored answers"
        if _stored(sampler):
            return "the function keeps state: it gives the same answer to the same input again and again, from a curator's store"
    return random_store(memory, sampler) or _drift(table)


def silence(table: Table, sampler: Sampler) -> str:
    """Why outputs say nothing at all; empty if some do."""
    if sampler.complaints >= table.size:
        return f"every run raised {sampler.complaint}"
    if all(shape == _NOTHING for shape in table.kinds):
        return "the function returned nothing; return the release"
    unread = [word.removesuffix(f", {UNREAD}") for shape in table.kinds for _, word in shape if word.endswith(UNREAD)]
    return f"the function returned a {clean(unread[0])}, {UNREAD}; return a list" if unread else ""


def _drift(table: Table) -> str:
    if _changed_once(table.tokens):
        return "the function keeps state: its outputs changed for good after the first few runs"
    for on_a in (True, False):
        rows = np.flatnonzero(table.on_a == on_a)
        if rows.size < _FEWEST:
            continue
        for column in _looked_at(table, rows):
            if abs(_trend(column)) > _FAR:
                return "the function keeps state: late outputs differ from early ones on the same input"
    above = np.zeros(table.size)
    for on_a in (True, False):
        rows = np.flatnonzero(table.on_a == on_a)
        above[rows] = _above_middle(next(_looked_at(table, rows), np.zeros(rows.size)))
        if any(abs(_echo(above[rows], lag)) > _FAR for lag in range(1, _LAGS)):
            return "the function keeps state: an output depends on the one before it"
    if any(abs(_echo(above, lag)) > _FAR for lag in range(1, _LAGS)):
        return "the function keeps state: an output depends on the one before it"
    return ""


def _looked_at(table: Table, rows: NDArray[np.int64]) -> Iterator[Floats]:
    """Columns worth comparing over time: numbers, their distance from the middle, and frequent tokens and shapes."""
    for name in [name for name in table.numbers if "grain" not in name][:_COLUMNS]:
        column = table.numbers[name][rows]
        missing = np.isnan(column)
        if missing.all():
            continue
        filled = np.where(missing, np.nanmin(column) - 1, column)
        yield filled
        yield np.where(missing, -1.0, np.abs(column - np.nanmedian(column)))
    for tokens in (table.shapes[rows], table.tokens[rows]):
        values, counts = np.unique(tokens, return_counts=True)
        for token in values[np.argsort(-counts)][:5]:
            yield (tokens == token).astype(np.float64)


def _ranks(column: Floats) -> Floats:
    """Ranks with ties shared, centred."""
    values, where, counts = np.unique(column, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray(middle[where.reshape(-1)] - (column.size - 1) / 2) if values.size else column


def _trend(column: Floats) -> float:
    """The correlation of ranks with time, in standard deviations."""
    ranks, time = _ranks(column), np.arange(column.size) - (column.size - 1) / 2
    scale = math.sqrt(float((ranks**2).sum()) * float((time**2).sum()))
    return float(ranks @ time) / scale * math.sqrt(column.size - 1) if scale else 0.0


def _above_middle(column: Floats) -> Floats:
    """1/2 above the median, -1/2 below; all 0 when that would not cut the draws into two large parts."""
    if not column.size:
        return column
    above = column > np.median(column)
    return above - above.mean() if 0.2 <= above.mean() <= 0.8 else np.zeros(column.size)


def _echo(above: Floats, lag: int) -> float:
    """The correlation of a run with one before it, in standard deviations."""
    if above.size < 2 * _FEWEST or not above.any():
        return 0.0
    scale = float((above**2).mean())
    return float(above[lag:] @ above[:-lag]) / scale / math.sqrt(above.size - lag)


def _changed_once(tokens: NDArray[np.int64]) -> bool:
    """Whether all outputs but one kind come first, or last, as chance does not arrange them."""
    values, counts = np.unique(tokens, return_counts=True)
    others = np.flatnonzero(tokens != values[counts.argmax()])
    if others.size < 2 or others.size == tokens.size:
        return False
    for span in (others[-1] + 1, tokens.size - others[0]):
        if math.lgamma(span + 1) - math.lgamma(span - others.size + 1) + math.log(1 / _UNLIKELY) < math.lgamma(
            tokens.size + 1
        ) - math.lgamma(tokens.size - others.size + 1):
            return True
    return False


def _stored(sampler: Sampler) -> bool:
    """Whether one run more is answered from a curator's store."""
    found = False

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        if event == "call" and frame.f_code.co_name == "__post_init__":
            found = found or repeated(frame.f_locals.get("self"))

    before = sys.getprofile()
    for on_a in (True, False):
        sys.setprofile(watch)
        try:
            sampler.again(on_a)
        finally:
            sys.setprofile(before)
    return found
