"""A client: one person's (or device's) own side, through which reports leave, paid for from the budget of a lifetime.

Epsilons add, as exact fractions, over all tasks and periods; there is no reset. A report that would exceed the total is refused,
and nothing is sent. Whether one leaves depends on how many were sent to which tasks, never on a value. (What lies outside a
task's domain has the fate that the task declares; where that is "refuse", nothing is sent, and who waits for a report knows why.)

**What the sum means.** A task costs its epsilon for every report: those epsilons bound what all reports tell between any two
lives of one person (pure composition). A repeated task costs ``values`` times its permanent epsilon, once: that bounds what its
reports tell between lives *of the same pattern*, in which its values are equal at the same pairs of times. Between other lives
its reports cost up to ``lifetime(task).any_history``; see ``protocols/memoised.py``.

**The ledger** is one small JSON file, mode 0600, written anew and moved into place before a report leaves. It has a secret, from
which memoised responses are derived, and keyed marks by which it knows how many different values were reported; no value is in
it. Who has the file could test guesses against those marks: it is as private as the device. The same text is a ledger of the
JavaScript client.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.errors import BudgetExceeded, DiscreetError, LedgerRefused, ParameterError, ValueRefused
from discreet.exact import positive, up
from discreet.local.report import Report, new_nonces
from discreet.local.task import Task, canonical
from discreet.local.tasks.repeated import Lifetime, Repeated
from discreet.noise.bits import words

_VERSION = 1
_FIELDS = {"discreet", "version", "total", "secret", "spent", "reports", "seen"}
_AMOUNT = re.compile(r"[0-9]{1,4300}(/[0-9]{1,4300})?")  # as long as Python can write
_TASK, _SECRET, _MARK = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Ledger:
    """What a client keeps; amounts and counts are by the hash of a task."""

    total: Fraction
    secret: bytes
    paid: dict[str, Fraction] = field(default_factory=dict)
    reports: dict[str, int] = field(default_factory=dict)
    seen: dict[str, tuple[str, ...]] = field(default_factory=dict)  # marks of different values, repeated tasks only

    @property
    def spent(self) -> Fraction:
        return sum(self.paid.values(), Fraction(0))

    def pay(self, task: str, price: Fraction, seen: tuple[str, ...] | None) -> Ledger:
        """The ledger after one more report, or a refusal."""
        if self.spent + price > self.total:
            raise BudgetExceeded({"epsilon": self.spent}, {"epsilon": price}, {"epsilon": self.total - self.spent})
        return replace(
            self,
            paid={**self.paid, task: self.paid.get(task, Fraction(0)) + price},
            reports={**self.reports, task: self.reports.get(task, 0) + 1},
            seen=self.seen if seen is None else {**self.seen, task: seen},
        )

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """The ledger in a file; exactly what ``write`` wrote, or a refusal."""
        try:
            text = path.read_text(encoding="utf-8")
            facts = json.loads(text)
            if canonical(facts) != text or set(facts) != _FIELDS:
                raise ValueError
            if facts["discreet"] != "local client" or type(facts["version"]) is not int or facts["version"] != _VERSION:
                raise ValueError
            if not _SECRET.fullmatch(facts["secret"]):
                raise ValueError
            paid = {task: _read_amount(amount) for task, amount in facts["spent"].items()}
            seen = {task: tuple(marks) for task, marks in facts["seen"].items()}
            ledger = cls(_read_amount(facts["total"]), bytes.fromhex(facts["secret"]), paid, facts["reports"], seen)
            if not ledger._is_sound():
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
            raise LedgerRefused("The client's ledger is missing or damaged; nothing is reported without it.") from None
        return ledger

    def _is_sound(self) -> bool:
        return (
            self.total > 0
            and set(self.reports) == set(self.paid) >= set(self.seen)
            and all(_TASK.fullmatch(task) for task in self.paid)
            and all(type(count) is int and 0 < count < 2**53 for count in self.reports.values())
            and all(_MARK.fullmatch(mark) for marks in self.seen.values() for mark in marks)
            and all(marks == tuple(sorted(set(marks))) for marks in self.seen.values())
        )

    def write(self, path: Path) -> None:
        """Durable when this returns."""
        spent = {task: str(amount) for task, amount in self.paid.items()}
        facts = {"discreet": "local client", "version": _VERSION, "total": str(self.total), "secret": self.secret.hex()}
        text = canonical({**facts, "spent": spent, "reports": self.reports, "seen": {k: list(v) for k, v in self.seen.items()}})
        fresh = path.with_name(f"{path.name}.{words(1).tobytes().hex()}.new")
        try:
            handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
            _sync_folder(path.parent)
        except OSError as problem:
            fresh.unlink(missing_ok=True)
            raise LedgerRefused(f"The client's ledger cannot be written ({problem.strerror}); nothing was reported.") from None


def _read_amount(text: str) -> Fraction:
    if not _AMOUNT.fullmatch(text) or str(Fraction(text)) != text:
        raise ValueError
    return Fraction(text)


def _sync_folder(folder: Path) -> None:
    """Make the new name in the folder as durable as the file, where the system allows."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@called_as('"me.json", epsilon=3')
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
        if not isinstance(path, (str, Path)) or not Path(path).name:
            raise ParameterError('A client keeps its ledger in a file of its own; write Client("me.json", epsilon=4).')
        self.path = Path(path)
        total = None if epsilon is None else positive("epsilon", epsilon, "the most that all reports of a lifetime may cost")
        with lock_file(self.path, LedgerRefused):
            if not self.path.exists():
                if total is None:
                    raise ParameterError("There is no ledger of this client yet; write Client(path, epsilon=4) to begin one.")
                Ledger(total, words(4).tobytes()).write(self.path)  # with a secret of its own
            elif total is not None and Ledger.read(self.path).total != total:
                raise ParameterError("This client's total was fixed when its ledger began; leave out epsilon=.")

    @property
    def total(self) -> Fraction:
        """The most that all reports together may cost."""
        return Ledger.read(self.path).total

    @property
    def spent(self) -> Fraction:
        """What all reports together have cost."""
        return Ledger.read(self.path).spent

    @property
    def left(self) -> Fraction:
        """What further reports may cost."""
        ledger = Ledger.read(self.path)
        return ledger.total - ledger.spent

    def __str__(self) -> str:
        ledger = Ledger.read(self.path)
        reports = f"{sum(ledger.reports.values()):,} reports to {len(ledger.reports):,} tasks"
        return f"epsilon {up(ledger.spent):.6g} spent of {up(ledger.total):.6g} in {reports}"

    def lifetime(self, task: Repeated) -> Lifetime | None:
        """What the reports to a repeated task tell about this person so far; None before the first one."""
        ledger = Ledger.read(self.path)
        return task.lifetime(reports=ledger.reports[task.hash]) if task.hash in ledger.seen else None

    def randomize(self, task: Task, value: object, *, nonce: bool = False) -> Report:
        """One report of this person, paid for before it leaves.

        A task costs its epsilon every time. A repeated task costs ``values`` times its permanent epsilon before its first report,
        and nothing afterwards, whatever the values are.
        """
        with lock_file(self.path, LedgerRefused):
            ledger = Ledger.read(self.path)
            if isinstance(task, Repeated):
                report, after = _report_again(task, value, ledger, nonce=nonce)
            else:
                drawn = task.randomize(value, nonce=nonce)
                if not isinstance(drawn, Report):
                    raise ValueRefused("A client reports for one person: give one value, not many.")
                report, after = drawn, ledger.pay(task.hash, task.epsilon, None)
            after.write(self.path)
        return report


def _report_again(task: Repeated, value: object, ledger: Ledger, *, nonce: bool) -> tuple[Report, Ledger]:
    """A fresh report about a permanent response, and the ledger after it."""
    code, memoised = int(task.codes([value])[0]), task.protocol
    answered, seen = memoised.choose_answered(ledger.secret, task.hash, code, ledger.seen.get(task.hash, ()))
    permanent = memoised.respond_permanently(ledger.secret, task.hash, answered)
    fresh = memoised.respond_again(np.array([permanent]))
    report = Report(task.hash, int(fresh[0]), new_nonces(1)[0] if nonce else None)
    price = Fraction(0) if task.hash in ledger.seen else memoised.values * memoised.permanent
    return report, ledger.pay(task.hash, price, seen)


@contextmanager
def lock_file(path: Path, refusal: type[DiscreetError], *, mode: int = 0o600) -> Iterator[None]:
    """Let one process at a time read, change and write a file.

    The lock is another file beside it, which is there as long as somebody holds or awaits it.
    """
    if os.name != "posix":  # no such locks there: one process at a time is the user's care
        yield
        return
    lock = path.with_name(path.name + ".lock")
    try:
        handle = _acquire(lock, mode)
    except OSError as problem:
        raise refusal(f"{path} cannot be locked ({problem.strerror}); choose another place.") from None
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()  # those who wait for it see that it is gone, and make a new one
        os.close(handle)


def _acquire(lock: Path, mode: int) -> int:
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
