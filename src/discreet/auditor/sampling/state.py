"""Does the function keep state? Then its runs are not independent draws, and nothing can be concluded from them.

What Python shows of its memory is looked at exactly (``memory``). What it does not show can only be seen in the outputs: runs on
one input must look the same early and late, and each the same whatever came before. The tests are exact (``order``) and share an
error of 1e-7 among all columns there are, all lags, and all ends that an audit may come to (it stops after a batch, whichever
refutes the claim): a function without state, whatever its outputs look like and however rare some of them are, is called one
that keeps state with probability at most 1e-7.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.sampling.containers import UNREAD
from discreet.auditor.sampling.features import Table
from discreet.auditor.sampling.memory import Memory, random_store
from discreet.auditor.sampling.order import change, classes, echo, trend
from discreet.auditor.sampling.outputs import repeated
from discreet.auditor.sampling.runs import Sampler
from discreet.tables import clean

__all__ = ["find_state", "silence"]

Ints = NDArray[np.int64]

_ERROR = 1e-7
_ENDS = 150  # batches of an audit at most: they grow by 15 %
_FEWEST = 40
_LAGS = range(1, 8)
_COLUMNS = 24  # that are looked at
_TOKENS = 5
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
    columns = 2 * table.width + 2 * _TOKENS
    sides = [np.flatnonzero(table.on_a == on_a) for on_a in (True, False)]
    unlikely = math.log(_ERROR / _ENDS / (1 + columns * (2 + 3 * len(_LAGS))))
    if change(table.tokens) < unlikely:
        return "the function keeps state: its outputs changed for good after the first few runs"
    echoes = "the function keeps state: an output depends on the one before it"
    middles = []
    for rows in sides:
        looked_at = {} if rows.size < _FEWEST else dict(_looked_at(table, rows))
        if any(trend(column) < unlikely for column in looked_at.values()):
            return "the function keeps state: late outputs differ from early ones on the same input"
        middles.append({name: column > min(np.median(column), column.max() - 1) for name, column in looked_at.items()})
        if any(echo(above, lag) < unlikely for above in middles[-1].values() for lag in _LAGS):
            return echoes
    for name in middles[0].keys() & middles[1].keys():
        above = np.zeros(table.size, dtype=bool)
        for rows, middle in zip(sides, middles, strict=True):
            above[rows] = middle[name]
        if any(echo(above, lag) < unlikely for lag in _LAGS):
            return echoes
    return ""


def _looked_at(table: Table, rows: Ints) -> Iterator[tuple[str, Ints]]:
    """Columns worth comparing over time, as ordered classes: numbers, how far from the middle, frequent tokens, shapes."""
    for name in [name for name in table.numbers if "grain" not in name and name not in table.partial][:_COLUMNS]:
        column = table.numbers[name][rows]
        if not np.isnan(column).all():
            yield name, classes(column)
            yield f"how far from the middle {name} is", classes(np.abs(column - np.nanmedian(column)))
    for kind, tokens in (("shape", table.shapes[rows]), ("token", table.tokens[rows])):
        values, counts = np.unique(tokens, return_counts=True)
        rank = np.sort(counts)[::-1]
        least = int(rank[_TOKENS]) if values.size > _TOKENS else 0  # none of those that only their age would tell apart
        for token in values[counts > least]:
            yield f"{kind} {token}", (tokens == token).astype(np.int64)


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
