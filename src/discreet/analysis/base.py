"""An analysis: asked like a question, with plans of its own, and a result that is made of their noisy numbers.

``Analysis`` is what is asked, about the rows that a question has chosen: it can be previewed, released, and put into a batch.
``Study`` is the same at a share of a cost: plans, whose releases have their exact shares of it, and what is concluded from what
came out. The ledger keeps the noisy whole numbers and the share that was paid for them: asked again, perhaps for less,
they are concluded from anew by the study that they came from, whose noise and strategy may be others than those of the new one.

To add one, write an ``Analysis`` and its ``Study`` in a file, a verb that makes it, and a line in ``curator.question.VERBS``.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Number
from discreet.curator.answer import Answer, Column
from discreet.curator.digest import facts_of
from discreet.curator.plans import Measured, Part, Receipt
from discreet.curator.question import Inquiry
from discreet.engine.base import groups_of
from discreet.errors import ParameterError
from discreet.plan.cost import Accuracy, Cost, Currency, Terms
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan
from discreet.plan.release import Release, Released
from discreet.privacy.account import Account
from discreet.schema.columns import Kind

_DECLARED = ("tables", "columns", "unit", "public")  # facts about the table, of those of a plan
_WHOLE = 2**53  # up to here JSON's numbers are read alike everywhere; larger ones are texts

Result = TypeVar("Result")


@dataclass(frozen=True)
class Paid:
    """What is said of a result: what it cost, how it was released, what is left of the budget, remarks; whether it was given
    before."""

    question: str
    cost: str
    parts: tuple[tuple[str, str], ...]
    left: Account
    remarks: tuple[str, ...] = ()
    repeated: bool = False

    def answer(
        self, keys: Mapping[str, Sequence[Value]], outputs: Mapping[str, Column], kinds: Mapping[str, Kind], *remarks: str
    ) -> Answer:
        """A table of results."""
        return Answer(
            self.question,
            {name: tuple(values) for name, values in keys.items()},
            outputs,
            self.parts,
            self.cost,
            self.left,
            self.repeated,
            (*remarks, *self.remarks),
            kinds,
        )


@dataclass(frozen=True, eq=False)
class Noisy:
    """What a ledger keeps of an analysis: the noisy whole numbers of every release of every plan, the share of the cost that they
    had, and the cost in words."""

    units: tuple[tuple[NDArray[np.generic], ...], ...]
    share: Cost
    cost: str
    remarks: tuple[str, ...] = ()


class Analysis(Inquiry[Result]):
    """What is asked. Subclasses are frozen dataclasses with a ``desk``, whose ``str()`` says in a line what is asked."""

    @abstractmethod
    def priced(self, share: Cost) -> Study[Result]:
        """The same at a share of a cost; what public facts forbid is refused here."""

    def asked(self) -> Analysis[Result]:
        return self

    def settle(
        self,
        epsilon: Number | None = None,
        rho: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Result | Analysis[Result]:
        """What a verb gives back: with a cost its result, which is paid for at once; without, a question to go on with."""
        if epsilon is None and rho is None and accuracy is None:
            return self
        result: Result = self.desk.release([self], Terms(epsilon, rho, None, accuracy, at_least))[0]
        return result


class Study(Part[Noisy, Result]):
    """An analysis at its price. Subclasses are frozen dataclasses that have ``plans``, whose groups are listed, and whose shares
    add up to that of the analysis."""

    kind: ClassVar[str]  # by which a ledger knows analyses of this kind for ever
    of: Analysis[Result]

    @property
    @abstractmethod
    def asked(self) -> Mapping[str, object]:
        """What tells it from others of its kind beside its question, as plain JSON: neither what is paid nor what follows from
        that, such as a choice of strategy."""

    @property
    def question(self) -> str:
        return str(self.of)

    @property
    def share(self) -> Cost:
        """What it has of the cost."""
        return replace(self.plans[0].share, amount=sum((plan.share.amount for plan in self.plans), Fraction(0)))

    @property
    def facts(self) -> dict[str, object]:
        rows = {name: fact for name, fact in facts_of(self.plans[0]).items() if name in _DECLARED}
        return {"analysis": self.kind, "version": 1, "question": self.question, "asked": dict(self.asked), **rows}

    @abstractmethod
    def conclude(self, measured: Sequence[Measured], paid: Paid) -> Result:
        """The result, from the noisy numbers of every plan: free."""

    def keep(self, measured: Sequence[Measured], cost: str) -> Noisy:
        units = tuple(tuple(one.released[release].units for release in _behind(one.plan)) for one in measured)
        return Noisy(units, self.share, cost)

    def write(self, kept: Noisy, remarks: tuple[str, ...]) -> str:
        facts = {
            "discreet": "analysis",
            "version": 1,
            "units": [[_write(units.tolist()) for units in plan] for plan in kept.units],
            "share": [kept.share.currency, *map(str, (kept.share.amount, kept.share.delta, kept.share.named))],
            "released": self.released,
            "cost": kept.cost,
            "remarks": [*kept.remarks, *remarks],
        }
        return json.dumps(facts, allow_nan=False)

    def read(self, text: str) -> Noisy:
        facts = json.loads(text)
        if (facts.get("discreet"), facts.get("version")) == ("analysis", 1):
            share = read_share(facts["share"])
            if self._at(share).released == facts["released"]:
                units = tuple(tuple(map(_read, plan)) for plan in facts["units"])
                return Noisy(units, share, facts["cost"], tuple(facts["remarks"]))
        raise ParameterError("This was measured by another version of discreet, in another way; ask for more, for a new one.")

    @property
    def released(self) -> list[list[list[str]]]:
        """What is released and how, in words, by which stored numbers are known to be of this study."""
        return [[[release.label, release.how] for release in _behind(plan)] for plan in self.plans]

    def _at(self, share: Cost) -> Study[Result]:
        """The study at a share that was paid."""
        mine = self.share
        return self if (share.currency, share.amount) == (mine.currency, mine.amount) else self.of.priced(share)

    def finish(self, kept: Noisy, receipt: Receipt) -> Result:
        return self._at(kept.share)._finish(kept, receipt)

    def _finish(self, kept: Noisy, receipt: Receipt) -> Result:
        measured = []
        for plan, units in zip(self.plans, kept.units, strict=True):
            released = {release: Released(release, one) for release, one in zip(_behind(plan), units, strict=True)}
            measured.append(Measured(plan, groups_of(plan), released))
        remarks = (*kept.remarks, *receipt.remarks)
        paid = Paid(self.question, kept.cost, self.described, receipt.left, remarks, receipt.repeated)
        return self.conclude(measured, paid)


def _behind(plan: Plan) -> list[Release]:
    """The releases of a plan, each once."""
    return list(dict.fromkeys(release for those in plan.behind.values() for release in those))


def read_share(written: Sequence[str]) -> Cost:
    """A share of a cost, as the ledger keeps it."""
    currency: Currency = "epsilon" if written[0] == "epsilon" else "rho"
    amount, delta, named = map(Fraction, written[1:])
    return Cost(currency, amount, delta, named)


def _write(units: object) -> object:
    """Whole numbers as JSON that any reader reads alike."""
    if isinstance(units, list):
        return [_write(one) for one in units]
    whole = int(units)  # type: ignore[call-overload]
    return whole if abs(whole) <= _WHOLE else str(whole)


def _read(units: object) -> NDArray[np.generic]:
    """The same numbers: 64 bits wide, or as wide as they need to be."""
    found = np.array(units, dtype=object)
    exact = np.array([int(one) for one in found.ravel()], dtype=object).reshape(found.shape)
    small = all(abs(one) < 2**62 for one in exact.ravel())
    return exact.astype(np.int64) if small else exact
