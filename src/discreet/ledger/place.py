"""Where a ledger lies, and what is said when it is not the one that was there."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import LedgerRefused

__all__ = ["distrust", "real"]


def real(path: str | os.PathLike[str]) -> Path:
    """The one path of a ledger, through all links; a folder that cannot be written to is refused."""
    found = Path(os.path.realpath(path))
    if found.is_dir() or not found.parent.is_dir():
        raise LedgerRefused(f"A ledger is a file in a folder that exists, which {found} is not; name such a file.")
    if not os.access(found.parent, os.W_OK) or (found.exists() and not os.access(found, os.W_OK)):
        raise LedgerRefused(
            f"The ledger {found} cannot be written, so nothing is answered; make the file and its folder writable."
        )
    return found


def distrust(path: Path, what: str) -> str:
    """Why a ledger is not believed, and what its owner can do."""
    then = (
        f"or, if you are sure that this is it, run: discreet ledger adopt {path}."
        if path.exists()
        else f"or, to begin anew although what was answered before stays answered, run: discreet ledger forget {path}."
    )
    return f"The ledger {path.name} {what}, so nobody knows how much was spent. Put the latest copy back, {then}"
