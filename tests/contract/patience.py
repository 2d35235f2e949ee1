"""A time limit for calls that must come to an end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_BUSY = 20  # how much longer a call may take on a machine that is busy with other things


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError inside the block when it works longer than this, or takes far longer by the clock.

    There is no limit where the system has no alarms.
    """
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError("this must not take so long")

    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(_BUSY * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for kind, handler in before.items():
            signal.signal(kind, handler)
