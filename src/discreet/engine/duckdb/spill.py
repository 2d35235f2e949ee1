"""The folder that an engine spills to: only its owner can read it, and it goes when the session does.

A process that is killed removes nothing, so whoever opens a session next does it. A folder is certainly ours if it has our
prefix, belongs to this user, lets nobody else in, and holds our mark. Its process holds a lock on the mark for as long as it
lives (and so do processes forked from it); the system lets go of the lock however a process ends. The mark gets its name when it
is locked already, so that nobody meets it unlocked while its owner lives.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import weakref
from pathlib import Path

if sys.platform != "win32":  # which has no such locks, so that folders of killed processes stay
    import fcntl

__all__ = ["Spill"]

_PREFIX = "discreet-"
_MARK = "discreet.mark"


class Spill:
    """A folder of this process, marked and locked; ``remove`` is harmless when repeated."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.path = tempfile.mkdtemp(prefix=_PREFIX)  # made with mode 0700
        new = Path(self.path, f"{_MARK}.new")
        mark = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        if sys.platform != "win32":
            fcntl.flock(mark, fcntl.LOCK_EX)
        new.rename(Path(self.path, _MARK))
        self.remove = weakref.finalize(self, _remove, self.path, mark, os.getpid())


def _remove(folder: str, mark: int, process: int) -> None:
    if os.getpid() == process:  # a forked child does not own the folder
        shutil.rmtree(folder, ignore_errors=True)
        os.close(mark)


def _sweep(place: Path) -> None:
    """Remove the folders of processes of this user that are gone."""
    if sys.platform == "win32":
        return
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            facts = folder.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) != 0o700:
                continue
            mark = os.open(folder / _MARK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # without a mark, or just gone
            continue
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its owner lives
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(mark)
