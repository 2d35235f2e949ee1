"""Where a ledger lies, who may write there, and what is said when it is not the one that was there.

A ledger keeps the mode and the group that its owner gives it: a new one is for its owner only; ``chmod 660``, and a folder that
the group may write to, let colleagues pay from it too; and whoever may only read it can still see the budget.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import LedgerRefused, ParameterError

__all__ = ["distrust", "is_writable", "real", "resolved", "writable"]


def resolved(path: str | os.PathLike[str]) -> Path:
    """A path that no longer depends on links or the working folder."""
    try:
        return Path(os.path.realpath(os.fsdecode(path)))
    except (TypeError, ValueError):
        raise ParameterError('A ledger is named by a path; write ledger="hospital.ledger".') from None


def real(path: str | os.PathLike[str]) -> Path:
    """The one path of a ledger, through all links."""
    found = resolved(path)
    if os.path.isdir(found) or not os.path.isdir(found.parent):
        raise LedgerRefused(f"A ledger is a file in a folder that exists, which {found} is not; name such a file.")
    return found


def is_writable(path: Path) -> bool:
    """Whether this user may write the ledger at a real path: the file, and the folder, in which its journal comes and goes."""
    return os.access(path.parent, os.W_OK) and (not os.path.exists(path) or os.access(path, os.W_OK))


def writable(path: str | os.PathLike[str]) -> Path:
    """The real path of a ledger that can be written; others can be looked at, and nothing is paid from them."""
    found = real(path)
    if not is_writable(found):
        raise LedgerRefused(
            f"The ledger {found} cannot be written, so nothing is answered; make the file and its folder writable "
            "(for a group: chmod 660 and chmod 2770)."
        )
    return found


def distrust(path: Path, what: str) -> str:
    """Why a ledger is not believed, and what its owner can do."""
    then = (
        f"or, if you are sure that this is it, run: discreet ledger adopt {path}."
        if os.path.exists(path)
        else f"or, to begin anew although what was answered before stays answered, run: discreet ledger forget {path}."
    )
    return f"The ledger {path.name} {what}, so nobody knows how much was spent. Put the latest copy back, {then}"
