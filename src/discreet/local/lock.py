"""One process at a time, for a file that is read, changed and written anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import DiscreetError

__all__ = ["locked"]


@contextmanager
def locked(path: Path, refusal: type[DiscreetError], *, mode: int = 0o600) -> Iterator[None]:
    """Hold the lock of a file: another one beside it, which is there as long as somebody holds or awaits it."""
    if os.name != "posix":  # no such locks there: one process at a time is the user's care
        yield
        return
    lock = path.with_name(path.name + ".lock")
    try:
        handle = _acquired(lock, mode)
    except OSError as problem:
        raise refusal(f"{path} cannot be locked ({problem.strerror}); choose another place.") from None
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # those who wait for it see that it is gone, and make a new one
        os.close(handle)


def _acquired(lock: Path, mode: int) -> int:
    """The lock that is there now, not one that its holder has removed."""
    import fcntl

    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, mode)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), lock.stat()):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
