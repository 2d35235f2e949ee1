"""What a function remembers from one run to the next, and whether that makes its runs depend on each other.

Memory is harmless if it changes with every run (a counter, a log) and if it always ends up the same when the function starts
afresh (a public table that is loaded once). It is not if it settles on something random: the function then answers from a store,
and a thousand runs are one draw. So the places that settled are put back as they were, the function is run again, and what it
stores this time is compared with what it stored the last time. Of a cache of ``functools`` the answers are compared with what
the function behind it says now. No draw is used, and nothing is estimated; but what lies where Python does not show it is not
seen (``reach``), only what it does to the outputs (``state``).
"""

from __future__ import annotations

import sys
import time

from discreet.auditor.sampling.outputs import Outcome, outcome
from discreet.auditor.sampling.places import Cache, Holder, Place
from discreet.auditor.sampling.reach import places
from discreet.auditor.sampling.runs import Sampler

__all__ = ["Memory", "random_store"]

_RUNS = 10  # on each input: what changes in none of them has settled
_AGAIN = 12  # fresh starts that must all end alike
_LEAST = 3  # of them, when runs take long
_SECONDS = 3.0


class Memory:
    """Everything a function can remember, and what it was at the beginning."""

    def __init__(self, function: object) -> None:
        self._marks = [(place, place.mark()) for place in places(function)]

    @property
    def changed(self) -> list[tuple[Place, list[Place]]]:
        """Places that are not as they were (a cache: one that answered from its store), with the entries that are not."""
        found = [(place, mark) for place, mark in self._marks if place.differs(mark)]
        return [(place, place.changed(mark) if isinstance(place, Holder) else [place]) for place, mark in found]

    def restore(self) -> None:
        """Put everything back."""
        for place, mark in self._marks:
            place.put_back(mark)


def random_store(memory: Memory, sampler: Sampler) -> str:
    """Why runs depend on each other, in words; empty if nothing that was kept could make them."""
    suspects = memory.changed
    caches = [place for place, _ in suspects if isinstance(place, Cache)]
    problem = next(filter(None, (_cached(cache, sampler) for cache in caches)), "")
    settled = [] if problem else _settled([pair for pair in suspects if not isinstance(pair[0], Cache)], sampler)
    if settled:
        problem = _kept(settled, memory, sampler)
    if suspects and not problem and sampler.interrupted:
        return "it was stopped by hand before it was known whether runs depend on what the function remembers"
    return problem


def _settled(suspects: list[tuple[Place, list[Place]]], sampler: Sampler) -> list[Place]:
    """Those that more runs do not change; entries of what grows in every run are a log."""
    entries = {id(place): inside for place, inside in suspects}
    logs = {id(place): place for place, _ in suspects if isinstance(place, Holder)}
    for on_a in (True, False) * _RUNS:
        sizes = {key: place.size() for key, place in logs.items()}
        marks = {key: [(place, place.mark()) for place in inside] for key, inside in entries.items()}
        sampler.again(on_a)
        logs = {key: place for key, place in logs.items() if place.size() > sizes[key]}
        entries = {key: [place for place, mark in inside if not place.differs(mark)] for key, inside in marks.items()}
    if sampler.interrupted:
        return []
    return [place for key, inside in entries.items() if key not in logs for place in inside if not _is_curator(place.value)]


def _is_curator(held: object) -> bool:
    """It may be kept open: its repeats are found out by themselves."""
    curators = sys.modules.get("discreet.curator.curator")
    return curators is not None and isinstance(held, curators.Curator)


def _kept(settled: list[Place], memory: Memory, sampler: Sampler) -> str:
    """Whether these places hold something else when the function starts afresh."""
    started, first = time.monotonic(), None
    for turn in range(_AGAIN):
        if turn >= _LEAST and time.monotonic() - started > _SECONDS:
            break
        memory.restore()
        sampler.again(True)
        sampler.again(False)
        now = [_content(place) for place in settled]
        first = first or now
        for place, one, other in zip(settled, first, now, strict=True):
            if one != other and not sampler.interrupted:
                return (
                    f"the function keeps state: {place.name} holds random values from one run to the next, "
                    "so that runs are not independent; forget them in every run"
                )
    return ""


def _content(place: Place) -> Outcome:
    try:
        return outcome(place.value)
    except Exception:  # what cannot be looked at is not called random
        return (), ()


def _cached(cache: Cache, sampler: Sampler) -> str:
    """Whether a cache hands out answers that the function behind it would not give again."""
    compared, differs = 0, False

    def spy(*arguments: object, **named: object) -> object:
        nonlocal compared, differs
        stored = cache.value(*arguments, **named)
        differs = differs or outcome(stored) != outcome(cache.value.__wrapped__(*arguments, **named))
        compared += 1
        return stored

    itself = cache.value is sampler.function
    if cache.binding is not None:
        cache.binding.bind(spy)
    try:
        for on_a in (True, False) * _RUNS:
            sampler.again(on_a, spy if itself else None)
            if differs:
                break
    finally:
        if cache.binding is not None:
            cache.binding.bind(cache.value)
    if differs:
        return (
            f"the function keeps state: the cache of {cache.name} gives random answers again, so that runs are not independent; "
            "clear it in every run"
        )
    if not compared:
        return (
            f"the function keeps state: the cache of {cache.name} answers again, and it cannot be told whether its answers are "
            "public; clear it in every run"
        )
    return ""
