"""The witness: a small file that remembers how far a ledger had come, kept apart from it.

A hash chain shows every change inside a ledger but not that its end was cut off, that an older copy was put back, or that the
file was deleted. The witness does: it holds the number and the hash of a recent record, in the user's state folder, under a name
made from the ledger's real path or its address. It may lag behind the ledger (a crash between the two); it is never ahead of it.

It is a file of two places, each of one line with its own check sum. A witness is written over the older of the two and synced,
so that whatever ends in the middle damages a line that is not the last: the other is then the witness, one step behind. The first
one, and one that its owner has adopted, are written aside, synced, renamed, and the folder synced: no earlier line is left.
Writers hold the ledger's own write lock, so that it never moves backwards.

A ledger keeps the mode and the group that its owner gives it: a new one is for its owner only; ``chmod 660``, and a folder that
the group may write to, let colleagues pay from it too; and whoever may only read it can still see the budget.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from discreet.errors import LedgerRefused
from discreet.ledger.chain import Chain
from discreet.ledger.place import Address, Named, Place, key_of, resolve, typed
from discreet.ledger.store import store_of


@dataclass(frozen=True)
class Witness:
    """A record that the ledger with this id is known to contain."""

    ledger: str
    number: int
    hash: bytes

    def check(self, chain: Chain, ledger: Place) -> None:
        """Refuse a ledger, of which this is the verified part, that does not contain the record."""
        if self.ledger != chain.id:
            raise LedgerRefused(distrust(ledger, "is not the one that was here before"))
        if self.number > chain.head:
            raise LedgerRefused(distrust(ledger, f"ends at record {chain.head}, but record {self.number} was seen"))
        if self.hash != chain.hashes[self.number]:
            raise LedgerRefused(distrust(ledger, "has records that differ from those seen before"))


_PLACE = 4096  # bytes of one of two places: no disk writes one with the other


def place(ledger: Place) -> Path:
    """Where the witness of the ledger at this place is kept."""
    return _place(os.path.normcase(key_of(ledger)), state_folder())


@lru_cache(maxsize=256)
def _place(key: str, folder: Path) -> Path:
    return folder / "witness" / f"{hashlib.sha256(key.encode(errors='surrogateescape')).hexdigest()}.json"


def read(ledger: Place) -> Witness | None:
    """The witness of a ledger, None where there is none."""
    path = place(ledger)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            found = _newest(os.read(handle, 2 * _PLACE + 1))
        finally:
            os.close(handle)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise LedgerRefused(
            f"The witness of {ledger.name} at {path} cannot be read ({reason(problem)}); mend that first."
        ) from None
    if found is None:
        raise LedgerRefused(
            f"The witness of the ledger {ledger.name} is damaged, so nobody knows how much was spent. "
            f"If you are sure that this ledger is the latest, run: discreet ledger adopt {typed(ledger)}."
        )
    return found[1]


def _newest(content: bytes) -> tuple[int, Witness] | None:
    """The last witness in a file, and at which of its two places it is; None where there is none that is whole."""
    lines = [content[:_PLACE], content[_PLACE:]] if len(content) == 2 * _PLACE else [content]  # one: as it was in version 1
    found = [(number, one) for number, line in enumerate(lines) if (one := _parse(line, 1 + (len(lines) > 1))) is not None]
    return max(found, key=lambda one: one[1].number, default=None)


@lru_cache(maxsize=256)
def _parse(line: bytes, version: int) -> Witness | None:
    try:
        facts = json.loads(line)
        found = Witness(facts["ledger"], facts["number"], bytes.fromhex(facts["hash"]))
        whole = version == 1 or facts["check"] == _check(found)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    known = facts["discreet"] == "witness" and facts["version"] == version
    return found if known and whole and type(found.number) is int and found.number >= 0 else None


def _check(witness: Witness) -> str:
    return hashlib.sha256(f"{witness.ledger} {witness.number} {witness.hash.hex()}".encode()).hexdigest()


def recall(ledger: Place) -> Witness:
    """The witness of a ledger that was seen here before."""
    found = read(ledger)
    if found is None:
        raise LedgerRefused(distrust(ledger, "has lost its witness"))
    return found


def write(ledger: Place, witness: Witness, *, anew: bool = False) -> None:
    """Make a witness durable, unless there is one that has seen as much; the caller holds the ledger's write lock. ``anew``:
    whatever there was is forgotten."""
    path = place(ledger)
    facts = {"discreet": "witness", "version": 2, "ledger": witness.ledger, "number": witness.number, "hash": witness.hash.hex()}
    line = json.dumps({**facts, "check": _check(witness)}).encode().ljust(_PLACE - 1) + b"\n"
    try:
        if anew or not _write_over(path, line, witness.number):
            known = None if anew else read(ledger)
            if known is None or known.number < witness.number:
                _write_aside(path, line)
    except OSError as problem:
        raise LedgerRefused(
            f"The witness of {ledger.name} at {path} cannot be written ({reason(problem)}), so nothing is answered; "
            "what was reserved counts as spent. Make room or mend the permissions, then ask again."
        ) from None


_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def _write_over(path: Path, line: bytes, number: int) -> bool:
    """Put a line over the older of the two that a file holds, unless the other has come as far; whether there is such a file."""
    try:
        handle = os.open(path, os.O_RDWR | _PLAIN)
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ELOOP):  # a link is replaced
            return False
        raise
    try:
        content = os.read(handle, 2 * _PLACE + 1)
        found = _newest(content)
        if found is None or len(content) != 2 * _PLACE:
            return False
        if found[1].number >= number:
            return True
        os.lseek(handle, _PLACE * (1 - found[0]), os.SEEK_SET)
        _put(handle, line)
    finally:
        os.close(handle)
    return True


def _write_aside(path: Path, line: bytes) -> None:
    """Make a file of a line and an empty place, and put it where others may have been, in one step."""
    aside = path.with_suffix(".new")
    make_folder(path.parent)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _PLAIN, 0o600)
    try:
        _put(handle, line + b" " * _PLACE)
    finally:
        os.close(handle)
    os.replace(aside, path)
    sync_folder(path.parent)


def _put(handle: int, content: bytes) -> None:
    if os.write(handle, content) != len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    sync_file(handle)


def sync_file(handle: int) -> None:
    """Make what a file holds durable; its times need not be."""
    getattr(os, "fdatasync", os.fsync)(handle)


def remove(ledger: Place) -> bool:
    """Forget a ledger; whether there was a witness of it."""
    path = place(ledger)
    try:
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise LedgerRefused(f"The witness at {path} cannot be removed ({reason(problem)}); mend that first.") from None
    return True


def make_folder(folder: Path) -> None:
    """A folder below the state folder, for its user only, durably."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for above in (folder.parent, folder.parent.parent):
            sync_folder(above)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable. Windows cannot, and does not need to."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def state_folder() -> Path:
    """Where this user's machine remembers ledgers."""
    if sys.platform == "win32":
        given, usual = os.environ.get("LOCALAPPDATA"), ("AppData", "Local")
    else:
        given, usual = os.environ.get("XDG_STATE_HOME"), (".local", "state")
    if given and os.path.isabs(given):
        return _below(given)
    try:
        return Path.home().joinpath(*usual, "discreet")
    except RuntimeError:
        raise LedgerRefused("There is no home folder to keep a ledger's witness in; set XDG_STATE_HOME to a folder.") from None


@lru_cache(maxsize=256)
def _below(given: str) -> Path:
    return Path(given) / "discreet"


def reason(problem: OSError) -> str:
    """What the system says went wrong."""
    return (problem.strerror or type(problem).__name__).lower()


def resolve_real(path: Named) -> Place:
    """The one place of a ledger, through all links."""
    found = resolve(path)
    if isinstance(found, Address):
        return found
    if os.path.isdir(found) or not os.path.isdir(found.parent):
        raise LedgerRefused(f"A ledger is a file in a folder that exists, which {found} is not; name such a file.")
    return found


def is_writable(path: Path) -> bool:
    """Whether this user may write the ledger at a real path: the file, and the folder, in which its journal comes and goes."""
    return os.access(path.parent, os.W_OK) and (not os.path.exists(path) or os.access(path, os.W_OK))


def resolve_writable(path: Named) -> Place:
    """The real place of a ledger that can be written; others can be looked at, and nothing is paid from them.

    Of an address the server says that, whenever something is written.
    """
    found = resolve_real(path)
    if isinstance(found, Path) and not is_writable(found):
        raise LedgerRefused(
            f"The ledger {found} cannot be written, so nothing is answered; make the file and its folder writable "
            "(for a group: chmod 660 and chmod 2770)."
        )
    return found


def distrust(path: Place, what: str) -> str:
    """Why a ledger is not believed, and what its owner can do."""
    then = (
        f"or, if you are sure that this is it, run: discreet ledger adopt {typed(path)}."
        if store_of(path).exists(path)
        else f"or, to begin anew although what was answered before stays answered, run: discreet ledger forget {typed(path)}."
    )
    return f"The ledger {path.name} {what}, so nobody knows how much was spent. Put the latest copy back, {then}"
