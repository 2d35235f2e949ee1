"""Fresh runs of the audited function, on an input chosen by a fair coin before each.

Whatever a run does is its output: a value, an exception (type and text), or that it did not return in time. What it prints is
swallowed, what it warns of is ignored. The time limit works in the main thread of a system with interval timers; elsewhere a run
that hangs hangs the audit.
"""

from __future__ import annotations

import contextlib
import io
import secrets
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from discreet.auditor.outcomes import Outcome, failure, hang, outcome, repeated

__all__ = ["Batch", "Sampler"]

PATIENCE = 10.0  # seconds for a first run
QUICK = 1.0  # seconds at least, once runs are known to return
_TICK = 0.05
_HANGS = 60  # more are not waited for
_WAITS = 8  # that end a batch: time to learn from them


class _Overdue(BaseException):
    """Raised inside a run that takes too long; no ``except Exception`` of the function can catch it."""


class _Silence(io.TextIOBase):
    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


@dataclass
class Batch:
    """Outputs and the side of each (True for a), in the order of the runs."""

    outcomes: list[Outcome] = field(default_factory=list)
    on_a: list[bool] = field(default_factory=list)


class Sampler:
    """Draws runs of ``function`` on ``a`` or ``b``; knows how long they took and why it stopped."""

    def __init__(self, function: Callable[[object], object], a: object, b: object, deadline: float) -> None:
        self._function, self._a, self._b, self._deadline = function, a, b, deadline
        self._slowest = 0.0
        self._returned = 0
        self._started = 0.0
        self._limit = PATIENCE
        self.hangs = {True: 0, False: 0}  # by side
        self.longest = 0.0  # the longest wait for a run that did not return
        self.repeats = 0  # answers that a curator had stored
        self.interrupted = False

    @property
    def over(self) -> bool:
        """Whether no more draws will be taken."""
        too_many = sum(self.hangs.values()) >= _HANGS or (not self._returned and min(self.hangs.values()) >= 2)
        return self.interrupted or too_many or time.monotonic() > self._deadline

    @property
    def never_returned(self) -> bool:
        return sum(self.hangs.values()) > 0 and not self._returned

    def take(self, size: int) -> Batch:
        """Up to ``size`` runs: fewer when time is up, when several hang, or at a keyboard interrupt."""
        batch = Batch()
        coins = secrets.token_bytes(size)
        waited = sum(self.hangs.values())
        with contextlib.suppress(_Overdue), _quiet(), self._watch():
            for coin in coins:
                if self.over or sum(self.hangs.values()) - waited >= _WAITS:
                    break
                on_a = bool(coin & 1)
                try:
                    result = self._run(self._a if on_a else self._b, on_a)
                except KeyboardInterrupt:
                    self.interrupted = True
                    break
                batch.outcomes.append(result)
                batch.on_a.append(on_a)
        return batch

    def again(self, given: object) -> None:
        """One run more, on this input, whose output nobody looks at."""
        with contextlib.suppress(_Overdue, KeyboardInterrupt), _quiet(), self._watch():
            self._run(given, True)

    def _run(self, given: object, on_a: bool) -> Outcome:
        self._limit = max(QUICK, 100 * self._slowest) if self._returned >= 2 else PATIENCE
        took, self._started = 0.0, time.monotonic()
        try:
            try:
                value = self._function(given)
                self.repeats += repeated(value)
                result = outcome(value)
            finally:
                took, self._started = time.monotonic() - self._started, 0.0
        except _Overdue:
            self.hangs[on_a] += 1
            self.longest = max(self.longest, took)
            return hang()
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as raised:  # exceptions are outputs, SystemExit too
            result = failure(raised)
        self._returned += 1
        self._slowest = max(self._slowest, took)
        return result

    def _overdue(self, _number: int, _frame: FrameType | None) -> None:
        started = self._started
        if started and time.monotonic() - started > self._limit:
            raise _Overdue

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._overdue)
        timer = signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        try:
            yield
        finally:
            self._started = 0.0
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), contextlib.redirect_stdout(_Silence()), contextlib.redirect_stderr(_Silence()):
        warnings.simplefilter("ignore")
        yield
