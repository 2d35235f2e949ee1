"""Work that a signal can stop: in one thread that is kept, and in another where that one was interrupted."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from discreet.engine.sql import interrupting
from discreet.engine.sql.interrupting import interruptible


def stop() -> None:
    pytest.fail("Nothing was interrupted.")


def test_work_is_done_in_one_thread_that_is_not_ours() -> None:
    first, second = (interruptible(stop, threading.current_thread) for _ in range(2))
    assert first is second
    assert first is not threading.main_thread()


def test_what_goes_wrong_is_raised_here_and_ends_nothing() -> None:
    before = interruptible(stop, threading.current_thread)
    with pytest.raises(ZeroDivisionError):
        interruptible(stop, lambda: 1 // 0)
    assert interruptible(stop, threading.current_thread) is before


class Panic(BaseException):
    """What a library may raise that is no usual exception."""


def test_whatever_goes_wrong_is_raised_here_and_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Nobody waits for a thread that has ended, which would have shown the words of what ended it: they may quote a cell."""

    def work() -> None:
        raise Panic("a cell")

    before = interruptible(stop, threading.current_thread)
    with pytest.raises(RuntimeError) as problem:
        interruptible(stop, work)
    assert not str(problem.value)
    assert interruptible(stop, threading.current_thread) is before
    assert capfd.readouterr() == ("", "")


def test_nothing_is_held_when_the_work_is_done() -> None:
    rows = np.zeros(3)
    seen = weakref.ref(rows)
    assert interruptible(stop, partial(len, rows)) == 3
    del rows
    assert seen() is None


@pytest.mark.parametrize("before", [True, False], ids=["before it has begun", "while it is done"])
def test_an_interruption_waits_for_the_work_to_stop(before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And takes no thread that may still be at work, which then ends; what has not begun is not begun any more."""
    started, told, ended = threading.Event(), threading.Event(), []
    begin = interrupting._Worker.begin

    def work() -> None:
        started.set()
        told.wait()
        ended.append(True)

    def interrupted(self: interrupting._Worker, given: Callable[[], None]) -> None:
        if not before:
            begin(self, given)
            started.wait()
        raise KeyboardInterrupt

    usual = interruptible(stop, threading.current_thread)
    with monkeypatch.context() as patched:
        patched.setattr(interrupting._Worker, "begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            interruptible(told.set, work)
    assert ended == ([] if before else [True])
    assert interruptible(stop, threading.current_thread) is not usual
    usual.join()  # or wait for ever


TWICE = """
import os, threading
from discreet.engine.sql import interrupting
begun, told, calls = threading.Event(), threading.Event(), []

def work():
    begun.set()
    told.wait()
    os.write(1, b"ended")

def stop():
    calls.append(1)
    if len(calls) == 1:
        raise KeyboardInterrupt
    told.set()

def wait(worker, seconds):
    begun.wait()
    raise KeyboardInterrupt

interrupting._Worker.wait = wait
try:
    interrupting.interruptible(stop, work)
except KeyboardInterrupt:
    os.write(1, b"interrupted, ")
"""


def test_whoever_interrupts_twice_leaves_nothing_at_work_when_the_program_ends() -> None:
    """A thread that is in an engine then would abort the process."""
    ended = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, check=True)
    assert (ended.stdout, ended.stderr) == (b"interrupted, ended", b"")


def test_others_than_the_main_thread_work_themselves() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(interruptible(stop, threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_a_thread_of_its_own() -> None:
    interruptible(stop, int)
    child = os.fork()
    if not child:
        os._exit(7 if interruptible(stop, lambda: 41 + 1) == 42 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
