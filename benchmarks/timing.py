"""How long a call takes, in the time that the process worked: other work on the machine does not count."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["seconds"]


def seconds(call: Callable[[], object], repeats: int = 15) -> float:
    """The least of several."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best
