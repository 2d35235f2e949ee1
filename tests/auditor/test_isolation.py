"""What an audited function does to the process does not get out: forks, descriptors, signals, settings."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import discreet as dp
from discreet.auditor.cases import read_pairs
from discreet.auditor.examine import examine
from discreet.auditor.isolation import mute

_release = dp.Laplace(sensitivity=1, epsilon=1).release

FORKS = """
import os, sys
import discreet as dp
from discreet.auditor.cases import read_pairs
from discreet.auditor.examine import examine

def forks(rows):
    if os.fork() == 0:
        END
    return dp.Laplace(sensitivity=1, epsilon=1).release(len(rows))

dp.audit(forks, [1, 2], [1], epsilon=1, draws=3)
examine(forks, read_pairs([([1, 2], [1])]), epsilon=1, draws=3)
print("over")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize("end", ["sys.exit()", "return 3", "raise ValueError"])
def test_a_child_that_comes_back_is_ended(end: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS.replace("END", end)], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout == "over\n"


def test_what_is_written_to_descriptors_is_swallowed(capfd: pytest.CaptureFixture[str]) -> None:
    def loud(rows: list[int]) -> object:
        os.write(1, b"a secret")
        os.write(2, b"a secret")
        sys.__stdout__.write("a secret")  # type: ignore[union-attr]
        return _release(len(rows))

    assert not dp.audit(loud, [1, 2], [1], epsilon=1, draws=50, error=1e-6).violated
    assert not examine(loud, read_pairs([([1, 2], [1])]), epsilon=1, draws=50, error=1e-6).violated
    os.write(1, b"heard")
    assert capfd.readouterr() == ("heard", "")


def test_descriptors_come_back_whoever_leaves_last(capfd: pytest.CaptureFixture[str]) -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with mute():
            entered.set()
            leave.wait(600)

    thread = threading.Thread(target=other)
    with mute():
        thread.start()
        entered.wait(600)
    leave.set()
    thread.join()
    os.write(1, b"heard")
    assert capfd.readouterr().out == "heard"


@pytest.fixture
def keyboard() -> Iterator[None]:
    """Ctrl-C arrives, also where tests run in the background and the shell had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressed(after: int) -> Callable[[list[int]], object]:
    runs = itertools.count()

    def answer(rows: list[int]) -> object:
        if next(runs) == after:
            os.kill(os.getpid(), signal.SIGINT)
        return _release(len(rows))

    return answer


@pytest.mark.usefixtures("keyboard")
def test_ctrl_c_stops_an_audit_and_what_is_known_is_returned() -> None:
    before = signal.getsignal(signal.SIGINT)
    finding = dp.audit(pressed(700), [1, 2], [1], epsilon=1, error=1e-6)
    assert finding.stopped
    assert finding.draws == 350
    assert finding.verdict.startswith("not refuted by 350 draws")
    assert "It was stopped by hand." in str(finding)
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("after", [1, 100])
def test_ctrl_c_stops_replays_and_samples(after: int) -> None:
    report = examine(pressed(after), read_pairs([([1, 2], [1]), ([1], [])]), epsilon=1, error=1e-6)
    assert (report.outcome, report.stopped) == ("stopped", True)
    assert report.draws <= after
    assert "stopped by hand" in report.verdict


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_the_function_raises_is_its_output(raised: type[BaseException]) -> None:
    def fails(rows: list[int]) -> object:
        if len(rows) == 2:
            raise raised
        return _release(len(rows))

    finding = dp.audit(fails, [1, 2], [1], epsilon=1, draws=1_000, error=1e-6)
    assert finding.violated
    assert raised.__name__ in finding.event
    report = examine(fails, read_pairs([([1, 2], [1])]), epsilon=1, draws=5_000, error=1e-6)
    assert (report.outcome, report.stopped) == ("violated", False)


def test_settings_of_numpy_hold_inside_only() -> None:
    def sets(rows: list[int]) -> object:
        np.seterr(all="raise")
        return _release(len(rows)) * 1e307

    before = np.geterr()
    assert not dp.audit(sets, [1, 2], [1], epsilon=1, draws=300, error=1e-6).violated
    assert np.geterr() == before
