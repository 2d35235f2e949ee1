"""Work of an engine that a signal can stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def interruptible(stop: Callable[[], object], work: Callable[[], _T]) -> _T:
    """What ``work`` gives. It runs in another thread, so that whatever a signal raises in the main one makes ``stop`` end it
    at once: engines by themselves may listen for Ctrl-C only when the work is done."""
    if threading.current_thread() is not threading.main_thread():
        return work()  # signals are not heard here anyway
    given: list[_T] = []
    failed: list[Exception] = []
    done = threading.Event()  # not join(): when that is interrupted, Python 3.11 takes the thread for finished

    def run() -> None:
        try:
            given.append(work())
        except Exception as error:
            failed.append(error)
        finally:
            done.set()

    worker = threading.Thread(target=run, name="discreet engine")
    try:
        worker.start()
        while not done.wait(0.5):  # without a limit, some systems would not hear Ctrl-C either
            pass
    except BaseException:
        while worker.ident is not None and not done.is_set():  # once more: it may be forgotten before the work has begun
            stop()
            done.wait(0.05)
        raise
    if failed:
        raise failed[0]
    return given[0]
