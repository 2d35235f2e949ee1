"""A collector's state as JSON: the task, the counters (compressed, in base64), how many were counted and refused."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.local.task import canonical
from discreet.noise.lazy import Integers

if TYPE_CHECKING:
    from discreet.local.task import Task

__all__ = ["State", "from_text", "to_text"]

_VERSION = 1
_STRANGE = "This text is not the state of a collector, or it is damaged; give what Collector.to_json() wrote."


@dataclass(frozen=True, eq=False)
class State:
    """What was read back, checked for form."""

    task: str
    candidates: tuple[str, ...] | None
    tally: Integers
    count: int
    refused: dict[str, int]
    nonces: set[str]


def to_text(
    task: Task,
    candidates: tuple[str, ...] | None,
    tally: Integers,
    count: int,
    refused: Mapping[str, int],
    nonces: Iterable[str],
) -> str:
    """The canonical text of a state."""
    packed = base64.b64encode(zlib.compress(tally.astype("<i8").tobytes(), 6)).decode("ascii")
    facts: dict[str, object] = {"discreet": "local collector", "version": _VERSION, "task": json.loads(task.to_json())}
    facts |= {"count": count, "refused": dict(refused), "tally": packed, "nonces": sorted(nonces)}
    if candidates is not None:
        facts["candidates"] = list(candidates)
    return canonical(facts)


def from_text(text: str) -> State:
    """The state that ``to_text`` wrote."""
    try:
        facts = json.loads(text)
        if facts["discreet"] != "local collector" or facts["version"] != _VERSION:
            raise ParameterError(_STRANGE)
        tally = np.frombuffer(zlib.decompress(base64.b64decode(facts["tally"], validate=True)), dtype="<i8").astype(np.int64)
        count, refused, nonces = facts["count"], facts["refused"], facts["nonces"]
        listed = facts.get("candidates")
        whole = [count, *refused.values()]
        if not all(type(number) is int and number >= 0 for number in whole) or bool((tally < 0).any()):
            raise ParameterError(_STRANGE)
        candidates = None if listed is None else tuple(str(item) for item in listed)
        return State(canonical(facts["task"]), candidates, tally, count, dict(refused), {str(nonce) for nonce in nonces})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error, zlib.error):
        raise ParameterError(_STRANGE) from None
