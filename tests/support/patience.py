"""Work that is counted: how many calls a piece of code makes, whatever the machine is busy with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """How many functions are called while this runs, Python's and C's."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@contextmanager
def within(most: int) -> Iterator[None]:
    """Raise TimeoutError inside the block when it makes more calls than this: for what must come to an end."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")
        if count > most:
            raise TimeoutError("this must not take so many calls")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield
    finally:
        sys.setprofile(before)
