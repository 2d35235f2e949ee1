"""A collector's state as JSON: the task, the counters (compressed, in base64), how many were counted and refused."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Integers
from discreet.errors import ParameterError
from discreet.local.protocols.base import Protocol
from discreet.local.state import MOST_REMEMBERED, MOST_REPORTS, REASONS, State
from discreet.local.task import Task, canonical

__all__ = ["Stored", "from_text", "to_text"]

_VERSION = 1
_STRANGE = "This text is not the state of a collector, or it is damaged; give what Collector.to_json() wrote."
_MARK = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Stored:
    """A state that was read back, checked as far as that goes without its protocol."""

    task: str
    candidates: tuple[str, ...] | None
    _packed: str
    _rest: State  # without its counters

    def state(self, protocol: Protocol) -> State:
        """The state, where reports of this protocol can have left it."""
        tally = _unpacked(self._packed, protocol.cells)
        if tally is None or not protocol.possible(tally, self._rest.count):
            raise ParameterError(_STRANGE)
        rest = self._rest
        return State(tally, rest.count, rest.refused, rest.nonces, rest.files, rest.collectors)


def to_text(task: Task, candidates: tuple[str, ...] | None, state: State) -> str:
    """The canonical text of a state."""
    packed = base64.b64encode(zlib.compress(state.tally.astype("<i8").tobytes(), 6)).decode("ascii")
    facts: dict[str, object] = {"discreet": "local collector", "version": _VERSION, "task": json.loads(task.to_json())}
    facts |= {"count": state.count, "refused": dict(state.refused), "tally": packed, "nonces": sorted(state.nonces)}
    facts |= {"files": list(state.files), "collectors": list(state.collectors)}
    if candidates is not None:
        facts["candidates"] = list(candidates)
    return canonical(facts)


def from_text(text: str) -> Stored:
    """What ``to_text`` wrote; anybody may have written it."""
    try:
        facts = json.loads(text)
        if facts["discreet"] != "local collector" or facts["version"] != _VERSION:
            raise ParameterError(_STRANGE)
        count, refused, candidates = facts["count"], facts["refused"], facts.get("candidates")
        nonces, files, collectors = (_marks(facts[name]) for name in ("nonces", "files", "collectors"))
        if (
            not all(type(number) is int and 0 <= number < 2**63 for number in (count, *refused.values()))
            or not set(refused) <= set(REASONS)
            or not all(isinstance(text, str) for text in candidates or [])
            or not max(len(nonces), len(collectors)) <= count <= MOST_REPORTS
            or max(len(files), len(collectors)) > MOST_REMEMBERED
        ):
            raise ParameterError(_STRANGE)
        rest = State(np.empty(0, dtype=np.int64), count, Counter(refused), set(nonces), files, collectors)
        listed = None if candidates is None else tuple(candidates)
        return Stored(canonical(facts["task"]), listed, facts["tally"], rest)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ParameterError(_STRANGE) from None


def _marks(listed: list[str]) -> dict[str, None]:
    if not isinstance(listed, list) or not all(_MARK.fullmatch(mark) for mark in listed):
        raise ParameterError(_STRANGE)
    return dict.fromkeys(listed)


def _unpacked(packed: str, cells: int) -> Integers | None:
    """So many counters, or None; never more memory than they take."""
    try:
        inflating = zlib.decompressobj()
        raw = inflating.decompress(base64.b64decode(packed, validate=True), 8 * cells + 1)
    except (ValueError, TypeError, zlib.error):
        return None
    return np.frombuffer(raw, dtype="<i8").astype(np.int64) if len(raw) == 8 * cells and inflating.eof else None
