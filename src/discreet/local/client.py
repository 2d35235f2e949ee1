"""A person's own side: reports leave through it, and it counts what they cost over a lifetime.

The ledger is one small JSON file, mode 0600, written anew and moved into place before a report leaves. Epsilons add (pure
composition, any two lives of one person), as exact fractions, over all tasks and periods; there is no reset. A report that would
exceed the total is refused, and nothing is sent.

The file has a secret, from which memoised responses are derived, and keyed marks by which it knows how many different values were
reported; no value is in it. Who has the file could test guesses against those marks: it is as private as the device.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.errors import BudgetExceeded, LedgerRefused, ParameterError, ValueRefused
from discreet.exact import positive, up
from discreet.local.repeated import Lifetime, Repeated
from discreet.local.report import Report, new_nonces
from discreet.local.task import Task, canonical
from discreet.mechanisms.values import Number
from discreet.noise.bits import words

try:
    import fcntl
except ImportError:  # no such locks on this system; one process at a time there
    fcntl = None  # type: ignore[assignment]

__all__ = ["Client"]

_VERSION = 1


@dataclass(frozen=True)
class _Life:
    """What the file holds."""

    total: Fraction
    secret: bytes
    spent: dict[str, Fraction] = field(default_factory=dict)  # by the hash of the task
    reports: dict[str, int] = field(default_factory=dict)
    seen: dict[str, tuple[str, ...]] = field(default_factory=dict)  # marks of different values, repeated tasks only


class Client:
    """One person's (or device's) reports and their total price.

    >>> import tempfile
    >>> from discreet.local import Bit
    >>> folder = tempfile.TemporaryDirectory()
    >>> me = Client(Path(folder.name) / "me.json", epsilon=2)
    >>> report = me.randomize(Bit(epsilon=1.5), True)
    >>> print(me)
    epsilon 1.5 spent of 2 in 1 reports to 1 tasks
    >>> me.randomize(Bit(epsilon=1), True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.errors.BudgetExceeded: This would exceed the budget: epsilon 1 requested, 1.5 spent, 0.5 left...
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path, *, epsilon: Number | None = None) -> None:
        self.path = Path(path)
        total = None if epsilon is None else positive("epsilon", epsilon, "the most that all reports of a lifetime may cost")
        with self._locked():
            if not self.path.exists():
                if total is None:
                    raise ParameterError("There is no ledger of this client yet; write Client(path, epsilon=4) to begin one.")
                _write(self.path, _Life(total, words(4).tobytes()))
            elif total is not None and _read(self.path).total != total:
                raise ParameterError("This client's total was fixed when its ledger began; leave out epsilon=.")

    @property
    def total(self) -> Fraction:
        """The most that all reports together may cost."""
        return _read(self.path).total

    @property
    def spent(self) -> Fraction:
        """What all reports together have cost."""
        return sum(_read(self.path).spent.values(), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What further reports may cost."""
        return self.total - self.spent

    def __str__(self) -> str:
        life = _read(self.path)
        spent = up(sum(life.spent.values(), Fraction(0)))
        reports = f"{sum(life.reports.values()):,} reports to {len(life.reports):,} tasks"
        return f"epsilon {spent:.6g} spent of {up(life.total):.6g} in {reports}"

    def lifetime(self, task: Repeated) -> Lifetime | None:
        """What a repeated task has cost this person so far; None before the first report."""
        life = _read(self.path)
        if task.hash not in life.seen:
            return None
        return task.lifetime(reports=life.reports[task.hash], values=len(life.seen[task.hash]))

    def randomize(self, task: Task, value: object, *, nonce: bool = False) -> Report:
        """One report of this person, paid for before it leaves.

        A task costs its epsilon every time. A repeated task costs its permanent epsilon for every value it has not seen before,
        and nothing for the others.
        """
        with self._locked():
            life = _read(self.path)
            if isinstance(task, Repeated):
                report, price, mark = _remembered(task, value, life, nonce=nonce)
            else:
                drawn = task.randomize(value, nonce=nonce)
                if not isinstance(drawn, Report):
                    raise ValueRefused("A client reports for one person: give one value, not many.")
                report, price, mark = drawn, task.epsilon, None
            _write(self.path, _paid(life, task.hash, price, mark))
        return report

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time, so that nothing is spent twice."""
        try:
            handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as problem:
            raise LedgerRefused(f"The client's ledger cannot be locked ({problem.strerror}); choose another place.") from None
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _remembered(task: Repeated, value: object, life: _Life, *, nonce: bool) -> tuple[Report, Fraction, str]:
    code = int(task.codes([value])[0])
    mark = hmac.new(life.secret, f"discreet seen|{task.hash}|{code}".encode(), hashlib.sha256).hexdigest()[:32]
    price = Fraction(0) if mark in life.seen.get(task.hash, ()) else task.protocol.permanent
    permanent = task.protocol.permanent_code(life.secret, task.hash, code)
    fresh = task.protocol.again(np.array([permanent]))
    return Report(task.hash, int(fresh[0]), new_nonces(1)[0] if nonce else None), price, mark


def _paid(life: _Life, task: str, price: Fraction, mark: str | None) -> _Life:
    """The ledger after one more report, or a refusal."""
    spent = sum(life.spent.values(), Fraction(0))
    if spent + price > life.total:
        raise BudgetExceeded({"epsilon": spent}, {"epsilon": price}, {"epsilon": life.total - spent})
    seen = dict(life.seen)
    if mark is not None:
        seen[task] = tuple(sorted({*seen.get(task, ()), mark}))  # in an order that tells no history
    return replace(
        life,
        spent={**life.spent, task: life.spent.get(task, Fraction(0)) + price},
        reports={**life.reports, task: life.reports.get(task, 0) + 1},
        seen=seen,
    )


def _read(path: Path) -> _Life:
    try:
        facts = json.loads(path.read_text())
        if facts["discreet"] != "local client" or facts["version"] != _VERSION:
            raise ValueError
        spent = {str(task): Fraction(amount) for task, amount in facts["spent"].items()}
        reports = {str(task): int(count) for task, count in facts["reports"].items()}
        seen = {str(task): tuple(marks) for task, marks in facts["seen"].items()}
        life = _Life(Fraction(facts["total"]), bytes.fromhex(facts["secret"]), spent, reports, seen)
        if life.total <= 0 or len(life.secret) != 32 or any(amount < 0 for amount in spent.values()):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
        raise LedgerRefused("The client's ledger is missing or damaged; nothing is reported without it.") from None
    return life


def _write(path: Path, life: _Life) -> None:
    spent = {task: str(amount) for task, amount in life.spent.items()}
    facts = {"discreet": "local client", "version": _VERSION, "total": str(life.total), "secret": life.secret.hex()}
    text = canonical({**facts, "spent": spent, "reports": life.reports, "seen": {k: list(v) for k, v in life.seen.items()}})
    fresh = path.with_name(f"{path.name}.{words(1).tobytes().hex()}.new")
    try:
        handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as file:
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
    if fcntl is not None:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
