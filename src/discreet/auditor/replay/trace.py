"""The trace of one run of a function: every value before its noise, every payment, and everything that came out.

A second run may *follow* a first one. It is then given the first one's noisy answers instead of its own. Whatever a private
program does is decided by its noisy answers alone, so a run that follows must take every step of the first; only the values
before noise may differ. Adaptive programs need no exception: on both sides they see the same answers.

The salt of a new ledger, which decides which of a person's rows count, is followed as well.
"""

from __future__ import annotations

import copy
import io
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import wraps
from typing import TypeVar
from unittest.mock import patch

import numpy as np

from discreet.auditor.isolation import Interrupted, TimedOut, call, mute
from discreet.auditor.texts import exception_text, strip_addresses
from discreet.ledger import ledger as ledgers
from discreet.ledger.chain import Chain, Facts, opening
from discreet.mechanisms import RandomizedResponse
from discreet.mechanisms.base import Recording, recorded, recorder
from discreet.mechanisms.values import Histograms
from discreet.privacy import Privacy
from discreet.privacy.budget import Budget

D = TypeVar("D")

_patching = threading.RLock()  # one watched run at a time: the ledger's functions are exchanged meanwhile


@dataclass(frozen=True, eq=False)
class Released:
    """A release and what came of it; ``refused``: an error did."""

    release: Recording
    output: object = None
    refused: bool = False

    @property
    def name(self) -> str:
        return type(self.release.mechanism).__name__

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of the value; one person's answer has none, even if it is a tuple."""
        value = self.release.value
        answers = isinstance(self.release.mechanism, RandomizedResponse) and not isinstance(value, (list, np.ndarray))
        return () if answers else _find_shape(value)


@dataclass(frozen=True)
class Opened:
    """A new ledger."""

    salt: str

    name = "a new ledger"


@dataclass(frozen=True)
class Reserved:
    """A payment into a ledger."""

    question: str
    plan: str
    asked: str
    privacy: Privacy

    name = "a payment"


@dataclass(frozen=True)
class Committed:
    """An answer that a ledger keeps."""

    answer: str

    name = "an answer for the ledger"


@dataclass(frozen=True)
class Kept:
    """A step that a ledger keeps on the way to an answer."""

    text: str

    name = "a step for the ledger"


Step = Released | Opened | Reserved | Committed | Kept


@dataclass(eq=False)
class Trace:
    """What one run did, in order, and how it ended."""

    steps: list[Step] = field(default_factory=list)
    returned: object = None
    raised: str | None = None
    printed: tuple[str, ...] = ()  # or warned


def watch(run: Callable[[D], object], data: D, following: Trace | None = None) -> Trace:
    """Run a function on made-up data and write down all it does. Errors, warnings and prints are kept, and go no further."""
    watcher, printed = _Watcher(following), io.StringIO()
    trace = watcher.trace
    with _patching, _watch_ledgers(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with recorded(watcher.release), mute(), redirect_stdout(printed), redirect_stderr(printed):
            try:
                trace.returned = call(run, data)
            except (TimedOut, Interrupted):
                raise
            except BaseException as error:
                trace.raised = f"{type(error).__name__}: {exception_text(error)}"
    warned = [f"{w.category.__name__}: {w.message}" for w in caught if not issubclass(w.category, ResourceWarning)]
    trace.printed = tuple(strip_addresses(text) for text in (printed.getvalue(), *warned) if text)
    return trace


class _Watcher:
    """Writes a trace, and hands out the answers of another one while the steps are alike."""

    def __init__(self, following: Trace | None) -> None:
        self.trace = Trace()
        self._steps = [] if following is None else following.steps

    def expected(self) -> Step | None:
        """The other run's step at this place."""
        place = len(self.trace.steps)
        return self._steps[place] if place < len(self._steps) else None

    def release(self, release: Recording, draw: Callable[[], object]) -> object:
        wanted = self.expected()
        try:
            output = draw()  # also where its result is not used: it may refuse
        except Exception:
            self.trace.steps.append(Released(release, refused=True))
            self._steps = []
            raise
        if (
            isinstance(wanted, Released)
            and not wanted.refused
            and type(wanted.release.mechanism) is type(release.mechanism)
            and wanted.shape == Released(release).shape
        ):
            output = copy.deepcopy(wanted.output)
        else:
            self._steps = []  # from here on they are different programs
        self.trace.steps.append(Released(release, copy.deepcopy(output)))
        return output


def _find_shape(value: object) -> tuple[int, ...] | None:
    """How many numbers there are, and how they lie; None for what has no public shape, such as counts by private keys.

    >>> _find_shape(3), _find_shape([[1, 2], [3, 4]]), _find_shape({"a": 1})
    ((), (2, 2), None)
    """
    if isinstance(value, Histograms):
        return value.height, value.width
    if isinstance(value, (Mapping, Set)):
        return None
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        inner = _find_shape(value[0]) if len(value) else ()
        return (len(value), *(inner or ()))
    return tuple(np.asarray(value).shape) if hasattr(value, "__array__") else ()


def _watcher() -> _Watcher | None:
    found = getattr(recorder(), "__self__", None)
    return found if isinstance(found, _Watcher) else None


@contextmanager
def _watch_ledgers() -> Iterator[None]:
    """Ledgers that tell the watcher of this thread, if it has one."""
    reserve, commit, keep = ledgers.Ledger.reserve, ledgers.Ledger.commit, ledgers.Ledger.keep

    def watched_opening(budget: Budget, unit: str = "", before: Chain | None = None) -> Facts:
        facts, watcher = opening(budget, unit, before), _watcher()
        if watcher is not None:
            wanted = watcher.expected()
            facts |= {"salt": wanted.salt} if isinstance(wanted, Opened) else {}
            watcher.trace.steps.append(Opened(str(facts["salt"])))
        return facts

    @wraps(reserve)
    def watched_reserve(self: ledgers.Ledger, *, question: str, plan: str, privacy: Privacy, asked: str, **more: object) -> int:
        number = reserve(self, question=question, plan=plan, privacy=privacy, asked=asked, **more)  # type: ignore[arg-type]
        if (watcher := _watcher()) is not None:
            watcher.trace.steps.append(Reserved(question, plan, asked, privacy))
        return number

    @wraps(commit)
    def watched_commit(self: ledgers.Ledger, number: int, answer: str) -> None:
        commit(self, number, answer)
        if (watcher := _watcher()) is not None:
            watcher.trace.steps.append(Committed(answer))

    @wraps(keep)
    def watched_keep(self: ledgers.Ledger, number: int, place: int, text: str) -> None:
        keep(self, number, place, text)
        if (watcher := _watcher()) is not None:
            watcher.trace.steps.append(Kept(text))

    with (
        patch.object(ledgers, "opening", watched_opening),
        patch.object(ledgers.Ledger, "keep", watched_keep),
        patch.object(ledgers.Ledger, "reserve", watched_reserve),
        patch.object(ledgers.Ledger, "commit", watched_commit),
    ):
        yield
