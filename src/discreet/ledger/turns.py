"""Turns: transactions of one process, whatever keeps their ledgers, follow one another.

A fork waits for the turn to end: the child inherits no half-open connection, whose locks it would wrongly believe to hold, or
keep from being given up when its parent dies.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_turn = threading.RLock()
_closing: list[Callable[[], None]] = []


@contextmanager
def turn() -> Iterator[None]:
    """Nobody else's transaction within this block; one's own may be within each other."""
    with _turn:
        yield


def close_before_forks(close: Callable[[], None]) -> None:
    """What no child is to inherit."""
    _closing.append(close)


def _before() -> None:
    _turn.acquire()
    for close in _closing:
        close()


def _in_parent() -> None:
    _turn.release()


def _in_child() -> None:
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
