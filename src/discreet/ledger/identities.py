"""Hashes of files that were read before, so that each is read for its hash once.

They are kept in the user's state folder, by ledger: the keys are hashes of what a file looks like from outside, the values those
of its contents, and both say nothing to whoever has not the ledger's salt. Nothing depends on them but time: what is lost,
damaged or cannot be written is hashed again.
"""

from __future__ import annotations

import contextlib
import json
import os
from hashlib import sha256
from pathlib import Path

from discreet.ledger import witness

__all__ = ["Identities"]

_MOST = 10_000


class Identities:
    """What is known of files under one ledger's key."""

    def __init__(self, salt: bytes) -> None:
        self._name = f"{sha256(b'contents' + salt).hexdigest()}.json"
        self._known: dict[str, str] | None = None

    def get(self, state: str) -> str | None:
        """The hash of a file in this state."""
        if self._known is None:
            self._known = self._read()
        return self._known.get(state)

    def update(self, found: dict[str, str]) -> None:
        """Keep hashes; the oldest go."""
        self._known = self._read() | (self._known or {}) | found
        kept = dict(list(self._known.items())[-_MOST:])
        aside = self._place().with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            witness.make_folder(aside.parent)
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump({"discreet": "contents", "version": 1, "known": kept}, file)
            os.replace(aside, self._place())

    def _place(self) -> Path:
        return witness.state_folder() / "contents" / self._name

    def _read(self) -> dict[str, str]:
        try:
            facts = json.loads(self._place().read_bytes())
            if facts["version"] != 1:
                return {}
            return {str(state): str(content) for state, content in facts["known"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
