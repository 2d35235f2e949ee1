"""Every test has a state folder of its own, so that no memory of a ledger is seen by another test, or left with the user;
closes the pictures it drew; and sees the same random examples every time, however long each takes."""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support.depth import THOROUGH, examples, spread, thinned

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=examples(100))
settings.load_profile("steady")

# Tests run beside each other, and a second thread of linear algebra spends most of its time waiting, as fast as it can: without
# this the room ``analysis`` takes several times the work. It counts only before numpy is loaded, which is long after this.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A million objects stand for tests that are not run yet. They are made without looking for garbage among them, and never looked
# through again: that is a third of what collecting tests takes, and half a second whenever it would be done later.
gc.disable()

# A job in the background is deaf to Ctrl-C, and so would be what tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Temporary files are in memory where the system has room for that: ledgers wait for the disk many times a question.
_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2**32:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)


_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "spread(usual): so many cases are tried, the ends among them; all by make thorough",
        "diagonal(times=1): every value of every parameter is tried, all together by make thorough",
    ):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes minutes by itself comes first, so that the other process has something to do meanwhile."""
    if not THOROUGH:
        tried = {*thinned(items)}
        config.hook.pytest_deselected(items=[item for item in items if item not in tried])
        items[:] = [item for item in items if item in tried]
    items.sort(key=lambda item: not item.path.name.startswith("test_spark"))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


atexit.register(gc.unfreeze)  # what holds on to modules at the end is called a leak by some of them


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


@pytest.fixture(autouse=True)
def state_folder(_states: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = _states / str(next(_numbers))  # which most tests never make
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder))
    return folder


@pytest.fixture(autouse=True)
def _closed_pictures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def unrehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are not tried out on a table without rows first: the same for all neighbours, and half of a replay's time."""
    monkeypatch.setattr("discreet.engine.sql.engine.SqlEngine.rehearse", lambda *_: None)


@pytest.fixture
def reopened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of the same columns are counted in one database, one after the other: what is looked at is what comes out of it."""
    from support.reopened import reopen

    reopen(monkeypatch)


@pytest.fixture
def replanned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is read and priced once, whoever asks it: plans are made of public facts, the same for all neighbours."""
    from support.reopened import replan

    replan(monkeypatch)


@pytest.fixture
def replayed(
    unrehearsed: None,  # noqa: ARG001
    reopened: None,  # noqa: ARG001
    replanned: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For neighbours, of which an audit asks the same; of all extreme pairs usually every second one and the last."""
    from discreet.auditor import curators

    pairs = curators.extreme_pairs
    monkeypatch.setattr(curators, "extreme_pairs", lambda schema: spread(found := [*pairs(schema)], len(found) // 2 + 1))
