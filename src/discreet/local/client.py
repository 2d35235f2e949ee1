"""A person's own side: reports leave through it, and it counts what they cost over a lifetime.

Epsilons add, as exact fractions, over all tasks and periods; there is no reset. A report that would exceed the total is refused,
and nothing is sent. Whether one leaves depends on how many were sent to which tasks, never on a value. (What lies outside a
task's domain has the fate that the task declares; where that is "refuse", nothing is sent, and who waits for a report knows why.)

**What the sum means.** A task costs its epsilon for every report: those epsilons bound what all reports tell between any two
lives of one person (pure composition). A repeated task costs ``values`` times its permanent epsilon, once: that bounds what its
reports tell between lives *of the same pattern*, in which its values are equal at the same pairs of times. Between other lives
its reports cost up to ``lifetime(task).any_history``; see ``memoised.py``.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.errors import LedgerRefused, ParameterError, ValueRefused
from discreet.exact import positive, up
from discreet.local.life import Life, new_life, read_life, write_life
from discreet.local.lock import locked
from discreet.local.report import Report, new_nonces
from discreet.local.task import Task
from discreet.local.tasks.repeated import Lifetime, Repeated

__all__ = ["Client"]


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
        with locked(self.path, LedgerRefused):
            if not self.path.exists():
                if total is None:
                    raise ParameterError("There is no ledger of this client yet; write Client(path, epsilon=4) to begin one.")
                write_life(self.path, new_life(total))
            elif total is not None and read_life(self.path).total != total:
                raise ParameterError("This client's total was fixed when its ledger began; leave out epsilon=.")

    @property
    def total(self) -> Fraction:
        """The most that all reports together may cost."""
        return read_life(self.path).total

    @property
    def spent(self) -> Fraction:
        """What all reports together have cost."""
        return read_life(self.path).spent

    @property
    def left(self) -> Fraction:
        """What further reports may cost."""
        life = read_life(self.path)
        return life.total - life.spent

    def __str__(self) -> str:
        life = read_life(self.path)
        reports = f"{sum(life.reports.values()):,} reports to {len(life.reports):,} tasks"
        return f"epsilon {up(life.spent):.6g} spent of {up(life.total):.6g} in {reports}"

    def lifetime(self, task: Repeated) -> Lifetime | None:
        """What the reports to a repeated task tell about this person so far; None before the first one."""
        life = read_life(self.path)
        return task.lifetime(reports=life.reports[task.hash]) if task.hash in life.seen else None

    def randomize(self, task: Task, value: object, *, nonce: bool = False) -> Report:
        """One report of this person, paid for before it leaves.

        A task costs its epsilon every time. A repeated task costs ``values`` times its permanent epsilon before its first report,
        and nothing afterwards, whatever the values are.
        """
        with locked(self.path, LedgerRefused):
            life = read_life(self.path)
            if isinstance(task, Repeated):
                report, after = _remembered(task, value, life, nonce=nonce)
            else:
                drawn = task.randomize(value, nonce=nonce)
                if not isinstance(drawn, Report):
                    raise ValueRefused("A client reports for one person: give one value, not many.")
                report, after = drawn, life.after(task.hash, task.epsilon, None)
            write_life(self.path, after)
        return report


def _remembered(task: Repeated, value: object, life: Life, *, nonce: bool) -> tuple[Report, Life]:
    """A fresh report about a permanent response, and the ledger after it."""
    code, memoised = int(task.codes([value])[0]), task.protocol
    answered, seen = memoised.answered(life.secret, task.hash, code, life.seen.get(task.hash, ()))
    permanent = memoised.permanent_code(life.secret, task.hash, answered)
    fresh = memoised.again(np.array([permanent]))
    report = Report(task.hash, int(fresh[0]), new_nonces(1)[0] if nonce else None)
    price = Fraction(0) if task.hash in life.seen else memoised.values * memoised.permanent
    return report, life.after(task.hash, price, seen)
