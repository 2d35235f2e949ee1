"""Words known beforehand replace the system's only inside one function call, and the result says so."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from support.recorded import NotPrivate, replay

from discreet.errors import EntropyError
from discreet.noise import bits


def test_a_recording_says_what_it_is() -> None:
    done = replay(lambda: bits.words(3).tolist(), [5, 2**64 - 1, 0, 9])
    assert done == NotPrivate([5, 2**64 - 1, 0], 1)
    assert "NotPrivate" in repr(done)


def test_a_recording_ends_with_its_function() -> None:
    with pytest.raises(ZeroDivisionError):
        replay(lambda: 1 // 0, [1, 2, 3])
    with pytest.raises(EntropyError, match="record more"):
        replay(lambda: bits.words(4), [1, 2, 3])
    assert bits._source.get() is None
    assert bits.words(3).tolist() != [1, 2, 3]  # equal with probability 2^-192


def test_a_recording_inside_a_recording() -> None:
    def outer() -> list[int]:
        inner = replay(lambda: int(bits.words(1)[0]), [77]).value
        return [inner, int(bits.words(1)[0])]

    assert replay(outer, [1]).value == [77, 1]


def test_a_recording_reaches_no_other_thread() -> None:
    """Neither one that runs already, nor one started by the recorded function."""
    begin, done = threading.Event(), threading.Event()
    elsewhere: list[np.ndarray] = []

    def draw() -> None:
        elsewhere.append(bits.words(4))

    def wait_and_draw() -> None:
        begin.wait(600)
        draw()
        done.set()

    def recorded() -> None:
        begin.set()
        done.wait(600)
        second = threading.Thread(target=draw)
        second.start()
        second.join()

    first = threading.Thread(target=wait_and_draw)
    first.start()
    assert replay(recorded, [0] * 8).words_left == 8
    first.join()
    assert len(elsewhere) == 2
    assert all(sample.any() for sample in elsewhere)
