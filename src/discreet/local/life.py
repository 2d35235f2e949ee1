"""What a person's client keeps: one small JSON file, mode 0600, written anew and moved into place before a report leaves.

The file has a secret, from which memoised responses are derived, and keyed marks by which it knows how many different values were
reported; no value is in it. Who has the file could test guesses against those marks: it is as private as the device. The same
text is a ledger of the JavaScript client.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from discreet.errors import BudgetExceeded, LedgerRefused
from discreet.local.task import canonical
from discreet.noise.bits import words

__all__ = ["Life", "new_life", "read_life", "write_life"]

_VERSION = 1
_FIELDS = {"discreet", "version", "total", "secret", "spent", "reports", "seen"}
_AMOUNT = re.compile(r"[0-9]{1,4300}(/[0-9]{1,4300})?")  # as long as Python can write
_TASK, _SECRET, _MARK = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Life:
    """The amounts and counts are by the hash of a task."""

    total: Fraction
    secret: bytes
    paid: dict[str, Fraction] = field(default_factory=dict)
    reports: dict[str, int] = field(default_factory=dict)
    seen: dict[str, tuple[str, ...]] = field(default_factory=dict)  # marks of different values, repeated tasks only

    @property
    def spent(self) -> Fraction:
        return sum(self.paid.values(), Fraction(0))

    def after(self, task: str, price: Fraction, seen: tuple[str, ...] | None) -> Life:
        """The ledger after one more report, or a refusal."""
        if self.spent + price > self.total:
            raise BudgetExceeded({"epsilon": self.spent}, {"epsilon": price}, {"epsilon": self.total - self.spent})
        return replace(
            self,
            paid={**self.paid, task: self.paid.get(task, Fraction(0)) + price},
            reports={**self.reports, task: self.reports.get(task, 0) + 1},
            seen=self.seen if seen is None else {**self.seen, task: seen},
        )


def new_life(total: Fraction) -> Life:
    """A ledger with a secret of its own, and nothing spent."""
    return Life(total, words(4).tobytes())


def read_life(path: Path) -> Life:
    """The ledger in a file; exactly what ``write_life`` wrote, or a refusal."""
    try:
        text = path.read_text(encoding="utf-8")
        facts = json.loads(text)
        if canonical(facts) != text or set(facts) != _FIELDS:
            raise ValueError
        if facts["discreet"] != "local client" or type(facts["version"]) is not int or facts["version"] != _VERSION:
            raise ValueError
        if not _SECRET.fullmatch(facts["secret"]):
            raise ValueError
        paid = {task: _amount(amount) for task, amount in facts["spent"].items()}
        seen = {task: tuple(marks) for task, marks in facts["seen"].items()}
        life = Life(_amount(facts["total"]), bytes.fromhex(facts["secret"]), paid, facts["reports"], seen)
        if not _holds(life):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
        raise LedgerRefused("The client's ledger is missing or damaged; nothing is reported without it.") from None
    return life


def _amount(text: str) -> Fraction:
    if not _AMOUNT.fullmatch(text) or str(Fraction(text)) != text:
        raise ValueError
    return Fraction(text)


def _holds(life: Life) -> bool:
    return (
        life.total > 0
        and set(life.reports) == set(life.paid) >= set(life.seen)
        and all(_TASK.fullmatch(task) for task in life.paid)
        and all(type(count) is int and 0 < count < 2**53 for count in life.reports.values())
        and all(_MARK.fullmatch(mark) for marks in life.seen.values() for mark in marks)
        and all(marks == tuple(sorted(set(marks))) for marks in life.seen.values())
    )


def write_life(path: Path, life: Life) -> None:
    """Durable when this returns."""
    spent = {task: str(amount) for task, amount in life.paid.items()}
    facts = {"discreet": "local client", "version": _VERSION, "total": str(life.total), "secret": life.secret.hex()}
    text = canonical({**facts, "spent": spent, "reports": life.reports, "seen": {k: list(v) for k, v in life.seen.items()}})
    fresh = path.with_name(f"{path.name}.{words(1).tobytes().hex()}.new")
    try:
        handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
        _settle(path.parent)
    except OSError as problem:
        fresh.unlink(missing_ok=True)
        raise LedgerRefused(f"The client's ledger cannot be written ({problem.strerror}); nothing was reported.") from None


def _settle(folder: Path) -> None:
    """Make the new name in the folder as durable as the file, where the system allows."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
