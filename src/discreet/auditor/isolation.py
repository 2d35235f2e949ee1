"""The isolation of audited runs: a function may print, fork, exit or hang, and none of that gets out.

``call`` ends a child that comes back from a fork. ``mute`` sends what is written to the standard output and error to nowhere,
also by other programs and by C. ``InterruptFlag`` turns Ctrl-C into a flag, so that a ``KeyboardInterrupt`` that the function
raises by itself is an output like any other exception.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import IO, TypeVar

import numpy as np

S = TypeVar("S")
T = TypeVar("T")

_here = threading.local()
_lock = threading.Lock()
_depth = 0  # descriptors belong to the process: whoever comes first diverts them, whoever leaves last puts them back
_saved: list[tuple[int, int]] = []


class TimedOut(BaseException):
    """Raised inside a run that takes too long; no ``except Exception`` of the function can catch it."""


class Interrupted(BaseException):
    """Raised inside a run that somebody stops."""


def call(function: Callable[[S], T], given: S) -> T:
    """One run. A child that the function forked and let come back here is ended at once, else it would go on auditing."""
    pid = os.getpid()
    _here.running = True
    try:
        with np.errstate():  # what it sets holds inside only
            result = function(given)
            if inspect.iscoroutine(result):
                result.close()  # nobody will wait for it, and it would complain
            return result
    finally:
        _here.running = False
        if os.getpid() != pid:
            os._exit(0)


class InterruptFlag:
    """Inside it, Ctrl-C sets ``interrupted``, and stops a run if there is one; in the main thread only."""

    def __init__(self) -> None:
        self.interrupted = False
        self._before: object = None

    def __enter__(self) -> InterruptFlag:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) not in (None, signal.SIG_IGN):
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupted = True
        if getattr(_here, "running", False):
            raise Interrupted


@contextlib.contextmanager
def mute() -> Iterator[None]:
    """Nothing that is written reaches the standard output or error."""
    with open(os.devnull, "w") as nowhere, redirect(nowhere, 1, 2):
        yield


@contextlib.contextmanager
def redirect(target: IO[str] | IO[bytes], *descriptors: int) -> Iterator[None]:
    """What is written to these descriptors goes to another file; inside another diversion nothing changes."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            _flush()
            for number in descriptors:
                with contextlib.suppress(OSError):  # one that is closed stays so
                    _saved.append((os.dup(number), number))
                    os.dup2(target.fileno(), number)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if not _depth:
                _flush()  # what waits in a buffer was written inside
                while _saved:
                    copy, number = _saved.pop()
                    os.dup2(copy, number)
                    os.close(copy)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]


def time_limit(seconds: float) -> contextlib.AbstractContextManager[None]:
    """An exception after so many seconds, where the system can send one."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise TimedOut

    return alarm(ring, seconds)


@contextlib.contextmanager
def alarm(ring: Callable[[int, FrameType | None], None], first: float, every: float = 0.0) -> Iterator[None]:
    """Ring after so many seconds, and perhaps again and again, in the main thread of a system that has interval timers."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, first, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
