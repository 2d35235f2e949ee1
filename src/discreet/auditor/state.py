"""Does the function keep state? Then its runs are not independent draws, and nothing can be concluded from them.

Runs on one input must look the same early and late, and each the same whatever came before. Both are tested by ranks with
a bound of 6.5 standard deviations, which a function without state passes with probability above 1 - 1e-7 (each statistic is a
mean of bounded, exchangeable terms, with tails no heavier than a normal one's). A function that always answers the same on
each input either has no noise, or remembers its answers; its memory is looked at to tell which.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.features import Table
from discreet.auditor.outcomes import repeated
from discreet.auditor.sampling import Sampler

__all__ = ["find_state", "memory"]

Floats = NDArray[np.float64]

_FAR = 6.5
_UNLIKELY = 1e-9
_FEWEST = 40
_LAGS = 8
_COLUMNS = 24


def find_state(
    function: Callable[[object], object], a: object, b: object, table: Table, sampler: Sampler, before: dict[str, object]
) -> str:
    """Why the draws cannot be trusted, in words; empty if nothing speaks against them."""
    if sampler.never_returned:
        return f"the function did not return within {sampler.longest:.2g} seconds, on either input"
    if not table.size:
        return "there was no time for a single run"
    if sampler.repeats:
        return (
            "the function keeps state: a curator gave stored answers again, which are not draws; open a fresh ledger in every run"
        )
    sides = (table.tokens[table.on_a], table.tokens[~table.on_a])
    constant = [side.size > 0 and bool((side == side[0]).all()) for side in sides]
    if table.size >= _FEWEST and all(constant):
        if sides[0][0] == sides[1][0]:
            return "every run gave the same output: the function is constant, or hands out stored answers"
        if memory(function) != before or _stored(a, b, sampler):
            return "the function keeps state: it gives the same answer to the same input again and again, from its memory"
    return _drift(table)


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


def _stored(a: object, b: object, sampler: Sampler) -> bool:
    """Whether one run more is answered from a curator's store."""
    found = False

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        if event == "call" and frame.f_code.co_name == "__post_init__":
            found = found or repeated(frame.f_locals.get("self"))

    before = sys.getprofile()
    for given in (a, b):
        sys.setprofile(watch)
        try:
            sampler.again(given)
        finally:
            sys.setprofile(before)
    return found


def memory(function: object) -> dict[str, object]:
    """What a function could remember things in: a shallow picture of the containers, counters and caches it can reach."""
    reach: dict[str, object] = {"itself": function}
    plain = inspect.unwrap(function) if callable(function) else function
    plain = getattr(plain, "__func__", plain)
    owner = getattr(function, "__self__", None)
    for name, held in (("owner", getattr(owner, "__dict__", {})), ("own", getattr(function, "__dict__", {}))):
        reach |= {f"{name}.{key}": value for key, value in dict(held).items()}
    code = getattr(plain, "__code__", None)
    if code is not None:
        everything = getattr(plain, "__globals__", {})
        reach |= {f"global {name}": everything[name] for name in code.co_names if name in everything}
        for name, cell in zip(code.co_freevars, getattr(plain, "__closure__", None) or (), strict=False):
            reach |= {f"closure {name}": cell.cell_contents} if _filled(cell) else {}
        reach |= {f"default {i}": value for i, value in enumerate(getattr(plain, "__defaults__", None) or ())}
    return {name: _picture(value) for name, value in reach.items()}


def _filled(cell: object) -> bool:
    try:
        return bool(cell.cell_contents is not cell)  # type: ignore[attr-defined]
    except ValueError:
        return False


def _picture(value: object) -> object:
    if callable(getattr(value, "cache_info", None)):
        return str(value.cache_info())  # type: ignore[attr-defined]
    if isinstance(value, (dict, list, set, bytearray)):
        return type(value).__name__, len(value)
    if isinstance(value, (int, float, str, bytes, type(None))):
        return value
    return id(value)
