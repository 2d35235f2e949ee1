"""Work of an engine that a signal can stop."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

_T = TypeVar("_T")


class _Worker:
    """A thread that does what it is given, one after the other: to begin a new one takes longer than many a question.

    Plain locks, and no semaphores: whatever a signal raises finds them given or not, and never half-way.
    """

    stop: Callable[[], object] | None = None  # what ends the work that it is at
    _retired = False

    def __init__(self) -> None:
        self._given, self._done = threading.Lock(), threading.Lock()
        self._given.acquire()
        self._done.acquire()
        self._work: Callable[[], None] | None = None
        threading.Thread(target=self._serve, name="discreet engine", daemon=True).start()
        _all.append(self)

    def _serve(self) -> None:
        while self._given.acquire() and not self._retired:
            work, self._work = self._work, None
            if work is not None:
                work()
            del work  # nothing of it is held while the next is waited for
            self._done.release()

    def begin(self, work: Callable[[], None]) -> None:
        """Have something done, which raises nothing."""
        self._work = work
        self._given.release()

    def wait(self, seconds: float) -> bool:
        """Whether it is done, after so many seconds at most; said once."""
        return self._done.acquire(timeout=seconds)

    def retire(self) -> None:
        """End the thread: after what it is at, and instead of what it has not begun."""
        self._retired = True
        with suppress(RuntimeError):  # it was given something, and has not taken it yet
            self._given.release()
        with suppress(ValueError):  # in a child that was forked in between
            _all.remove(self)


_all: list[_Worker] = []
_idle: list[_Worker] = []  # those that ended what they were given; whoever is interrupted has its own retire


def interruptible(stop: Callable[[], object], work: Callable[[], _T]) -> _T:
    """What ``work`` gives. It runs in another thread, so that whatever a signal raises in the main one makes ``stop`` end it
    at once: engines by themselves may listen for Ctrl-C only when the work is done."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals are not heard here anyway
    given: list[_T] = []
    failed: list[Exception] = []
    begun = ended = forgotten = False

    def run() -> None:
        nonlocal begun, ended
        begun, worker.stop = True, stop  # before it looks whether it is forgotten: either we see that, or who forgot it sees this
        try:
            if not forgotten:
                given.append(work())
        except BaseException as error:  # a thread that ended would be waited for without end; and it would say of what
            failed.append(error if isinstance(error, Exception) else RuntimeError())
        finally:
            ended, worker.stop = True, None

    worker = _idle.pop() if _idle else _Worker()
    try:
        worker.begin(run)
        while not worker.wait(0.5):  # without a limit, some systems would not hear Ctrl-C either
            pass
    except BaseException:
        forgotten = True
        while begun and not ended:  # once more: it may be forgotten before the work has begun
            stop()
            worker.wait(0.05)
        worker.retire()
        raise
    _idle.append(worker)
    if failed:
        raise failed[0]
    return given[0]


@atexit.register
def _finish() -> None:
    """At the end of the program, end what is still at work, because somebody interrupted twice: a thread that comes back from an
    engine when Python is gone would take the process down, and what it had in memory might be written to a disk."""
    for worker in _all:
        while (stop := worker.stop) is not None:
            with suppress(Exception):
                stop()
            time.sleep(0.01)


def _forget() -> None:
    """In a forked child: threads did not come along."""
    _all.clear()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
