"""A task: the immutable, versioned, hashed description of what is asked, of whom nothing has to be known.

Clients and collectors hold the same task. Its hash, the SHA-256 of its canonical JSON (UTF-8, keys in order, no spaces), travels
in every report; a collector refuses reports of any other task. Whoever changes a task, if only its period, has a new one.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, shown
from discreet.local.protocols.base import Protocol
from discreet.local.report import Batch, Report, new_nonces
from discreet.privacy import Privacy, pure

if TYPE_CHECKING:
    from discreet.local.collector import Collector
    from discreet.local.results import Estimates, PerAttribute, Plan, Result

_STRANGE = "This text is not a task of local privacy, or it was changed; give what task.to_json() wrote."
_SMALLEST = Fraction(1, 10**100)
_LARGEST = 1000


class Task(ABC):
    """A question to many people, each of whom answers with one private report.

    A kind of task says how values are coded, by which protocol, and what a tally means.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    """Of the JSON of this kind; another meaning is another version."""
    takes_texts: ClassVar[bool] = False
    """Whether an answer is a whole text, of which the task finds out itself what it needs."""
    question: str
    period: str
    protocol: Protocol

    @property
    @abstractmethod
    def facts(self) -> dict[str, object]:
        """All that is special to this kind of task, as JSON; ``protocol`` and its parameters included."""

    @classmethod
    @abstractmethod
    def from_facts(cls, facts: dict[str, object]) -> Task:
        """The task whose whole JSON this is."""

    @abstractmethod
    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """Values as the protocol takes them, those outside the domain replaced by their declared fate."""

    @abstractmethod
    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Result] | Collector[Estimates]:
        """Where reports are counted; ``candidates`` only where the domain is open."""

    @abstractmethod
    def plan(self, n: int) -> Plan | PerAttribute[Plan]:
        """What to expect of ``n`` reports, before any is asked for."""

    @property
    def epsilon(self) -> Fraction:
        """What one report costs its sender."""
        return self.protocol.epsilon

    @property
    def privacy(self) -> Privacy:
        """The guarantee to every person for one report: pure and local, one value against any other of the same person."""
        return pure(self.epsilon, neighbours="local")

    def _fill(self, question: object, period: object, **fields: object) -> None:
        """Set the fields of a frozen task, its texts checked."""
        texts = {"question": read_text("question", question), "period": read_text("period", period)}
        for name, value in {**fields, **texts}.items():
            object.__setattr__(self, name, value)

    def to_json(self) -> str:
        """The canonical text of the task."""
        common = {"discreet": "local task", "version": self.version, "kind": self.kind, "epsilon": str(self.epsilon)}
        return canonical({**common, "question": self.question, "period": self.period, **self.facts})

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical text, as 64 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def randomize(self, value: object, *, nonce: bool = False) -> Report | Batch:
        """One report for one value, a batch for a list or array of values (one a person).

        Each call costs the person another epsilon. ``nonce=True`` adds a random mark by which a collector finds duplicates.
        """
        many = _read_column(value)
        rows = self.protocol.randomize(self.codes([value] if many is None else many))
        nonces = new_nonces(len(rows)) if nonce else None
        batch = Batch(self.hash, rows, nonces, _protocol=self.protocol)
        return batch[0] if many is None else batch


KINDS: dict[str, type[Task]] = {}
"""The kinds of tasks by their names in JSON; ``tasks/__init__.py`` registers them."""

_ABOVE = {  # those of rooms above this one, loaded when such a task is read
    "phrases": ("discreet.texts", "Phrases"),
    "substitution": ("discreet.texts", "Substitute"),
    "topics": ("discreet.texts", "Topics"),
    "word shares": ("discreet.texts", "WordShares"),
}


def _find_kind(name: object) -> type[Task]:
    """The kind of task of this name, wherever it stands."""
    if isinstance(name, str) and name in KINDS:
        return KINDS[name]
    if isinstance(name, str) and name in _ABOVE:
        room, noun = _ABOVE[name]
        found: type[Task] = getattr(import_module(room), noun)
        return found
    raise ParameterError(f"This discreet reads the kinds {', '.join((*KINDS, *_ABOVE))}, not {shown(name)}; use a newer one.")


@called_as("text")
def read_task(text: str) -> Task:
    """The task that ``to_json`` wrote; it has the same hash.

    >>> from discreet.local import Frequencies
    >>> task = Frequencies(range(100), epsilon=2, period="2026-03")
    >>> read_task(task.to_json()) == task
    True
    """
    try:
        facts = json.loads(text)
        if facts["discreet"] != "local task":
            raise ParameterError(_STRANGE)
        kind, version = _find_kind(facts["kind"]), facts["version"]
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


def canonical(facts: object) -> str:
    """JSON with one spelling only."""
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read_epsilon(value: object) -> Fraction:
    """What a report may cost its sender."""
    epsilon = positive("epsilon", value, "a number such as 1")
    if epsilon < _SMALLEST:
        raise ParameterError(f"epsilon must be at least 1e-100, not {shown(value)}: nobody learns anything from such reports.")
    if epsilon > _LARGEST:
        raise ParameterError(f"epsilon must be at most {_LARGEST}, not {shown(value)}; even 10 protects nobody.")
    return epsilon


def read_text(name: str, value: object) -> str:
    """A public text of a task."""
    if not isinstance(value, str) or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise ParameterError(f"{name} must be a text, not {shown(value)}; write {name}='...'.")
    return value


def _read_column(value: object) -> Sequence[object] | np.ndarray | None:
    """The values of many people, or None for a single value."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, np.ndarray):
        return value if value.ndim else None
    if hasattr(value, "__array__") and not isinstance(value, np.generic):  # columns of data frames
        return np.asarray(value)
    return None
