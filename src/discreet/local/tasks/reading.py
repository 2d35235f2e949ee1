"""Tasks and collectors read back from JSON. A kind of task is registered here."""

from __future__ import annotations

import json

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.local.collector import Collector
from discreet.local.state_text import from_text
from discreet.local.task import Task, canonical
from discreet.local.tasks.attributes import Attributes
from discreet.local.tasks.bit import Bit
from discreet.local.tasks.distribution import Distribution
from discreet.local.tasks.frequencies import Frequencies
from discreet.local.tasks.heavy_hitters import HeavyHitters
from discreet.local.tasks.mean import Mean
from discreet.local.tasks.repeated import Repeated

__all__ = ["KINDS", "read_collector", "read_task"]

KINDS: dict[str, type[Task]] = {
    kind.kind: kind for kind in (Frequencies, Bit, Mean, Distribution, HeavyHitters, Attributes, Repeated)
}

_STRANGE = "This text is not a task of local privacy, or it was changed; give what task.to_json() wrote."


@called_as("text")
def read_task(text: str) -> Task:
    """The task that ``to_json`` wrote; it has the same hash.

    >>> task = Frequencies(range(100), epsilon=2, period="2026-03")
    >>> read_task(task.to_json()) == task
    True
    """
    try:
        facts = json.loads(text)
        if facts["discreet"] != "local task":
            raise ParameterError(_STRANGE)
        if facts["kind"] not in KINDS:
            raise ParameterError(
                f"This discreet reads the kinds {', '.join(KINDS)}, not {shown(facts['kind'])}; use a newer one."
            )
        kind, version = KINDS[facts["kind"]], facts["version"]
        if type(version) is not int or version != kind.version:
            older = type(version) is int and 0 < version < kind.version
            instead = (
                f"make a new one with {kind.__name__}(...), for its reports are made otherwise now"
                if older
                else "use a newer one"
            )
            raise ParameterError(f"This discreet reads version {kind.version} of {kind.kind}, not {shown(version)}; {instead}.")
        task = kind.from_facts(facts)
    except ParameterError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError, ArithmeticError):
        raise ParameterError(_STRANGE) from None
    if task.to_json() != canonical(facts):
        raise ParameterError(_STRANGE)
    return task


@called_as("text")
def read_collector(text: str) -> Collector[object]:
    """The collector whose state ``to_json`` wrote, with its task."""
    stored = from_text(text)
    collector = read_task(stored.task).collector(stored.candidates)
    collector.restore(stored)
    return collector
