"""Random words from the system's cryptographic generator, in bulk, with nothing kept between calls.

``words(n)`` asks OpenSSL's generator (seeded and reseeded from the kernel, safe after ``fork``) and hands
every byte out once. There is no seed, no pool and no leftover, so a forked child, another thread or an
unpickled object can never meet the same noise again.

Set the environment variable ``DISCREET_STRICT_ENTROPY=1`` before the first import to read every byte from the
kernel (``os.urandom``) instead: ten times slower, and right for virtual machines that are cloned while running.
The kernel is also the fallback where OpenSSL is missing, fails, or is one of the releases (before 1.1.1d) that
did not notice a fork.

Tests that need to know the words in advance use ``tests/support/recorded.py``, which marks every result as
not private. Nothing else can replace the source.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

try:
    import ssl
except ImportError:  # a Python built without OpenSSL
    ssl = None  # type: ignore[assignment]

Words = NDArray[np.uint64]

CHUNK = 8192
"""How many words a sampler handles at a time: 64 KB, so that its temporaries stay in the processor's cache."""

_STRICT = os.environ.get("DISCREET_STRICT_ENTROPY", "") not in ("", "0")
_FORK_SAFE = (1, 1, 1, 4)  # OpenSSL 1.1.1d


def _openssl(count: int) -> bytes:
    try:
        return ssl.RAND_bytes(count)
    except (ssl.SSLError, OverflowError):
        return os.urandom(count)


def _system() -> Callable[[int], bytes]:
    if _STRICT or ssl is None or ssl.OPENSSL_VERSION_INFO[:4] < _FORK_SAFE:
        return os.urandom
    return _openssl


# The one place where randomness enters. A context variable, so that a recorded source reaches only the
# function it was opened for, never another thread.
_source: ContextVar[Callable[[int], bytes] | None] = ContextVar("discreet entropy", default=None)
_generator = _system()


def words(count: int) -> Words:
    """``count`` independent uniform 64-bit words."""
    return np.frombuffer((_source.get() or _generator)(8 * count), dtype=np.uint64)
