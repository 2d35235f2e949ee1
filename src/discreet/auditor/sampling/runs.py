"""Fresh runs of the audited function: each is a draw, on an input chosen by a fair coin before it.

Whatever a run does is its output: a value, an exception (type and text), or that it did not return in time. What it prints is
swallowed, what it warns of is ignored. The time limit works in the main thread of a system with interval timers; elsewhere a run
that hangs hangs the audit.
"""

from __future__ import annotations

import contextlib
import io
import secrets
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from discreet.auditor.isolation import Interrupted, InterruptFlag, TimedOut, alarm, call, mute
from discreet.auditor.sampling.outputs import TIMED_OUT, Output, is_stored_answer, read_exception, read_output
from discreet.auditor.texts import describe_exception

PATIENCE = 10.0  # seconds for a first run
QUICK = 1.0  # seconds at least, once runs are known to return
_TICK = 0.05
_TIMEOUTS = 60  # more are not waited for
_WAITS = 8  # that end a batch: time to learn from them


class _Silence(io.TextIOBase):
    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


@dataclass
class Batch:
    """Outputs and the side of each (True for a), in the order of the runs."""

    outputs: list[Output] = field(default_factory=list)
    on_a: list[bool] = field(default_factory=list)


class Sampler:
    """Draws runs of ``function`` on ``a`` or ``b``; knows how long they took and why it stopped."""

    def __init__(self, function: Callable[[object], object], a: object, b: object, deadline: float, flag: InterruptFlag) -> None:
        self.function, self._a, self._b, self._deadline, self._flag = function, a, b, deadline, flag
        self._slowest = 0.0
        self._returned = 0
        self._started = 0.0
        self._limit = PATIENCE
        self._stopped = False
        self.timeouts = {True: 0, False: 0}  # by side
        self.longest = 0.0  # the longest wait for a run that did not return
        self.repeats = 0  # answers that a curator had stored
        self.failures = 0  # runs that raised something
        self.failure = ""  # the first of them, for the reader

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return self._stopped or self._flag.interrupted

    @property
    def finished(self) -> bool:
        """Whether no more draws will be taken."""
        too_many = sum(self.timeouts.values()) >= _TIMEOUTS or (not self._returned and min(self.timeouts.values()) >= 2)
        return self.interrupted or too_many or time.monotonic() > self._deadline

    @property
    def never_returned(self) -> bool:
        return sum(self.timeouts.values()) > 0 and not self._returned

    def draw(self, size: int) -> Batch:
        """Up to ``size`` runs: fewer when time is up, when several hang, or when somebody stops it."""
        batch = Batch()
        coins = secrets.token_bytes(size)
        waited = sum(self.timeouts.values())
        with contextlib.suppress(TimedOut), self._watch():
            for coin in coins:
                if self.finished or sum(self.timeouts.values()) - waited >= _WAITS:
                    break
                on_a = bool(coin & 1)
                result = self._run(self.function, on_a)
                if result is None or self.interrupted:  # a run that was cut short is no draw
                    break
                batch.outputs.append(result)
                batch.on_a.append(on_a)
        return batch

    def rerun(self, on_a: bool, function: Callable[[object], object] | None = None) -> None:
        """One run more, whose output nobody looks at; perhaps of another function."""
        if not self.interrupted:
            with contextlib.suppress(TimedOut), self._watch():
                self._run(function or self.function, on_a)

    def _run(self, function: Callable[[object], object], on_a: bool) -> Output | None:
        self._limit = max(QUICK, 100 * self._slowest) if self._returned >= 2 else PATIENCE
        took, self._started = 0.0, time.monotonic()
        try:
            try:
                value = call(function, self._a if on_a else self._b)
                self.repeats += is_stored_answer(value)
                result = read_output(value)
            finally:
                took, self._started = time.monotonic() - self._started, 0.0
        except TimedOut:
            self.timeouts[on_a] += 1
            self.longest = max(self.longest, took)
            return TIMED_OUT
        except Interrupted:
            self._stopped = True
            return None
        except BaseException as raised:  # exceptions are outputs, SystemExit and KeyboardInterrupt too
            result = read_exception(raised)
            self.failures += 1
            self.failure = self.failure or describe_exception(raised)
        self._returned += 1
        self._slowest = max(self._slowest, took)
        return result

    def _overdue(self, _number: int, _frame: FrameType | None) -> None:
        started = self._started
        if started and time.monotonic() - started > self._limit:
            raise TimedOut

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Runs inside are silent, and end in time where the system can send an alarm."""
        with _quiet(), alarm(self._overdue, _TICK, _TICK):
            try:
                yield
            finally:
                self._started = 0.0


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    silence = _Silence()
    with warnings.catch_warnings(), mute(), contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
        warnings.simplefilter("ignore")
        yield
