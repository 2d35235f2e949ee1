"""How many rows, and groups, persons have: the private distribution, and the bounds ``person(rows=, groups=)`` that it suggests.

**Theorem.** One person moves one cell of each histogram by 1; replaced, two cells by 1 each. No bound on rows is needed. *Proof.*
By the theorem of ``plan.people``, neighbouring tables have tables of one row a person that differ in one row, which comes, goes,
or is another one. The number of a person's rows, and of their groups, is one trait of that row; it is clamped to one more than
``cap``, which is public, so that it is in one cell of the grid. Nobody is left out, or weighted, for having many rows. ∎

**Advice** balances what bounding takes away against the noise that it allows, for counts of rows: bounding to r rows takes
lost(r) = sum of max(c - r, 0) over persons of c rows, and the noise has a deviation that grows with r. Without groups the mean
square error of a count is lost^2 + noise^2, and r is where that is least. By K groups the errors add up to about lost^2 / K + K
noise^2, for which g groups a person are chosen first, by counts of persons, and then r, for rows in the group where a person has
most; other groups are taken to lose no more than that one. Persons in a cell of several numbers are taken to be spread evenly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.analysis.advice import Advice, Cells, Counts, as_columns, known, percent
from discreet.analysis.base import Analysis, Paid, Study
from discreet.analysis.distribution import Distribution, Ranges
from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.curator.answer import Column as Output
from discreet.curator.desk import Desk
from discreet.curator.plans import Measured
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.exact import positive, whole
from discreet.plan.cost import Accuracy, Cost, Terms
from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import MOST_KEYS, Facts
from discreet.plan.keys import Keys, keys_of
from discreet.plan.measures import ROWS, Frame
from discreet.plan.people import Trait
from discreet.plan.plan import Needs, Plan, facts_of, price_needs
from discreet.plan.preview import PreviewLine
from discreet.plan.query import Key, People, Query
from discreet.plan.statistics import Persons
from discreet.schema.columns import Kind
from discreet.schema.units import Person

_CAP, _MOST_CAP = 1024, 2**18
_SIGNS = "/|;:~\x1f"  # between keys that are one text: the first that no key has
_MOST_VALUES = 1000  # of a key that is a number or a date
_LATER = 10  # questions that share a budget, unless told


@called_as("epsilon=0.1")
def contributions(
    rows: Question,
    by: str | Sequence[str] | None = None,
    *,
    cap: int = _CAP,
    later: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Contributions | Analysis[Contributions]:
    """How many rows persons have; with ``by``, in how many of these groups they are, and how many rows they have in the one where
    they have most. Numbers beyond ``cap`` are not told apart. ``later`` is what a later question will cost, in the currency of
    the budget, for the sake of advice: a tenth of the budget unless told."""
    unit = rows.desk.schema.unit
    if not isinstance(unit, Person):
        raise ParameterError(
            "Here every row is somebody (unit=rows()), who has one row; contributions() is for persons with several: "
            'unit=person("patient_id", rows=8, groups=3).'
        )
    if rows.rows.people is not None:
        raise ParameterError("These rows are persons already, one row each; leave person() out before contributions().")
    if not 2 <= whole("cap", cap) <= _MOST_CAP:
        raise ParameterError(f"cap= is the number up to which rows of a person are counted, from 2 to {_MOST_CAP:,}.")
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, Sequence) else () if by is None else (by,)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError('by= is a key that makes groups, or several; write by="ward", or by=["ward", "sex"].')
    keys = tuple(_key(rows, name) for name in names)
    budget = rows.desk.budget
    total = budget.rho if budget.kind == "concentrated" else budget.epsilon
    assert total is not None
    amount = total / _LATER if later is None else positive("later", later, "what a question will cost, such as 0.5")
    priced = Terms(rho=amount) if budget.kind == "concentrated" else Terms(epsilon=amount)
    asked = priced.asked(budget)
    each = Later(f"{asked.currency}={float(asked.amount):g}", priced.spend(asked, budget, 1))
    return Asked(rows.desk, rows.rows, keys, cap, each).settle(epsilon, rho, accuracy, at_least)


def _key(rows: Question, name: str) -> Key:
    """A key of few groups: numbers and days have many, of which a person is in one for almost every row."""
    of = rows.read(name)
    known = infer(of, facts_of(rows.facts, rows.rows.tables))
    if known.kind in ("number", "date") and known.values is None and _MOST_VALUES < (known.size or 0) <= MOST_KEYS:
        fewer = f"year({of})" if known.kind == "date" else f"bin({of}, 0, 10, 100)"
        raise ParameterError(
            f"{name[:60]} has {known.size:,} values, and a key makes at most {_MOST_VALUES:,} groups; write by={fewer!r}."
        )
    return Key(name, of)


@dataclass(frozen=True)
class Later:
    """What a later question costs: in words, and what it spends."""

    words: str
    cost: Cost

    def deviation(self, unit: Person, groups: int, *, persons: bool = False) -> float:
        """The standard deviation of the noise on a count of rows, or of persons, by so many groups."""
        size = (Persons() if persons else ROWS).norms(Frame(unit, groups, whole_table=False))
        if self.cost.epsilon is not None:
            return math.sqrt(2) * math.ldexp(size.l1, -size.bits) / float(self.cost.epsilon)
        assert self.cost.rho is not None
        return math.ldexp(size.l2, -size.bits - size.finer) / math.sqrt(2 * float(self.cost.rho))


@dataclass(frozen=True)
class Asked(Analysis["Contributions"]):
    """How many rows, and groups, persons have."""

    desk: Desk
    rows: Query
    by: tuple[Key, ...]
    cap: int
    later: Later

    @property
    def unit(self) -> Person:
        unit = self.desk.schema.unit
        assert isinstance(unit, Person)
        return unit

    def priced(self, share: Cost) -> ContributionsStudy:
        unit = self.unit
        schema = replace(self.desk.schema, unit=Person(unit.id, self.cap + 1, 1, unit.neighbours, unit.size))
        facts = facts_of(schema, self.rows.tables)
        traits: tuple[Trait, ...] = (Trait("rows", "count"),)
        grids = {"rows": Ranges.up_to(self.cap, also=unit.rows, beyond=True)}
        groups = 1
        if self.by:
            keys = self._keys(facts)
            groups, key = keys.size or 1, _joined(keys, facts)
            traits = (Trait("rows", "fullest", key), Trait("groups", "distinct", key))
            grids = {
                "rows": Ranges.up_to(self.cap, 0, also=unit.rows, beyond=True),
                "groups": Ranges.up_to(min(groups, self.cap), 0, also=unit.groups, beyond=groups > self.cap),
            }
        places = {name: grid.place(Column(name)) for name, grid in grids.items()}

        def needs(facts: Mapping[str, Facts]) -> Needs:
            return {name: (Cells.of(place, facts, f"persons by {name}"),) for name, place in places.items()}

        query = Query((), people=People(unit.id, self.rows, traits))
        return ContributionsStudy(self, (price_needs(query, schema, share, needs, [*places.values()]),), grids, groups)

    def _keys(self, facts: Mapping[str, Facts]) -> Keys:
        found = keys_of(Query((), where=self.rows.where, keys=self.by), facts)
        if found.size is None:
            raise ParameterError(
                f"The values of {', '.join(str(key.of) for key in self.by)} are not all listed, so that nobody knows how many "
                "groups there are; declare a category, or leave by= out."
            )
        return found

    def __str__(self) -> str:
        groups = f" and groups by {', '.join(str(key.of) for key in self.by)}" if self.by else ""
        return f"rows{groups} of every {self.unit.id} up to {self.cap:,}, of {self.rows.source}"


def _joined(keys: Keys, facts: Mapping[str, Facts]) -> Expression:
    """Several keys as one, missing where one is."""
    if len(keys.keys) == 1:
        return keys.keys[0].of
    words = "".join(value for listed in keys.listings or () for value in listed if isinstance(value, str))
    apart = next((sign for sign in _SIGNS if sign not in words), _SIGNS[-1])
    texts = []
    for key in keys.keys:
        kind = infer(key.of, facts).kind
        if kind == "date":
            raise ParameterError(f"Several keys are joined as texts, and {key.of} is a day; write year({key.of}).")
        as_truth = Call("case", (key.of, Literal("1"), Call("not", (key.of,)), Literal("0"), Literal(None)))
        texts.append({"text": key.of, "number": Call("as_text", (key.of,)), "boolean": as_truth}[kind])
    joined = texts[0]
    for text in texts[1:]:
        joined = Call("||", (Call("||", (joined, Literal(apart))), text))
    return joined


@dataclass(frozen=True)
class ContributionsStudy(Study["Contributions"]):
    """The same at its price."""

    of: Asked
    plans: tuple[Plan, ...]
    grids: Mapping[str, Ranges]
    groups: int

    kind: ClassVar[str] = "contributions"

    @property
    def asked(self) -> Mapping[str, object]:
        return {name: list(grid.ends) for name, grid in self.grids.items()}

    def lines(self, _: int | None = None) -> tuple[PreviewLine, ...]:
        found = []
        for name in self.grids:
            (release,) = self.plans[0].behind[name]
            half = release.spread.half()
            found.append(PreviewLine(name, release.how, half, f"± {half:,.4g} persons in every cell"))
        return tuple(found)

    def conclude(self, measured: Sequence[Measured], paid: Paid) -> Contributions:
        found = {name: Distribution(grid, Counts.of(measured[0][name][0])) for name, grid in self.grids.items()}
        lines = [one.counts.line(cell) for one in found.values() for cell in np.eye(len(one.counts.cells))]
        labels = [label for grid in self.grids.values() for label in grid.labels]
        keys = {"rows": labels}
        if self.of.by:
            what = {"rows": "rows in their fullest group", "groups": "groups"}
            keys = {"of": [what[name] for name, grid in self.grids.items() for _ in grid.labels], "number": labels}
        kinds: dict[str, Kind] = {**dict.fromkeys(keys, "text"), "persons": "number", "share": "number"}
        suggested, remarks = suggest(self.of.unit, found, self.of.later, self.groups)
        outputs = as_columns(lines, "persons", self.plans[0].releases[0].how)
        return Contributions(paid.answer(keys, outputs, kinds, *remarks), suggested, found)


@dataclass(frozen=True, repr=False)
class Contributions(Advice):
    """How many rows, and groups, persons have, and the unit that this suggests: None where too little is seen."""

    suggested: Person | None
    distributions: Mapping[str, Distribution]

    @called_as("rows=8")
    def cut(self, *, rows: int | None = None, groups: int | None = None) -> Answer:
        """How many persons a bound would cut, and how many of their rows (or groups) it would take away: free.

        Whoever is beyond the cap counts as having one more than it."""
        asked = {name: most for name, most in (("rows", rows), ("groups", groups)) if most is not None}
        if len(asked) != 1:
            raise ParameterError("One bound is asked about at a time; write cut(rows=8), or cut(groups=3).")
        ((name, most),) = asked.items()
        if name not in self.distributions:
            raise ParameterError("Groups were not asked about; write contributions(by=...) with the keys that make them.")
        found = self.distributions[name].cut(name, whole(name, most))
        how = self.table.outputs["persons"].mechanism
        outputs = {what: Output((known(best),), None, (low,), (high,), how) for what, (best, low, high) in found.items()}
        return replace(self.table, keys={f"{name} at most": (most,)}, outputs=outputs, kinds={}, remarks=())


def suggest(unit: Person, found: Mapping[str, Distribution], later: Later, groups: int) -> tuple[Person | None, tuple[str, ...]]:
    """The unit that loses least to bounding and noise together, and what is said of it."""
    rows = found["rows"]
    if not rows.smooth.any() or not rows.lost(0):
        most = rows.counts.everybody()[2]
        return None, (f"Noise hides how many persons there are (at most about {most:,.0f}): nothing is suggested.",)
    best, each, remarks = unit, 1.0, list[str]()
    if "groups" in found:
        pairs = found["groups"]
        each = max(pairs.lost(0) / max(float(pairs.smooth.sum()), 1e-300), 1.0)

        def group_error(most: int) -> float:
            return math.hypot(pairs.lost(most), groups * later.deviation(replace(unit, groups=most), groups, persons=True))

        best = replace(best, groups=min((end for end in pairs.grid.ends if end), key=group_error))

    def error(most: int) -> float:
        return math.hypot(each * rows.lost(most), groups * later.deviation(replace(best, rows=most), groups))

    best = replace(best, rows=min((end for end in rows.grid.ends if end), key=error))
    remarks.append(f"Suggested for questions at {later.words}: {write_unit(best)}.")
    for name, one in found.items():
        most, declared = getattr(best, name), getattr(unit, name)
        choices = sorted({max(most // 2, 1), most, min(2 * most, one.grid.ends[-1]), declared})
        told = [_loss(name, choice, one, "as declared" if choice == declared else "") for choice in choices]
        remarks.append(f"As far as noise lets see, {'; '.join(told)}.")
        beyond, cap = float(one.smooth[-1]), one.grid.ends[-1]
        if one.grid.beyond and beyond:
            remarks.append(
                f"About {beyond:,.0f} persons have more than {cap:,} {name}, and count as having {cap + 1:,}; write a larger "
                "cap= to tell them apart."
            )
    return best, tuple(remarks)


def _loss(name: str, most: int, of: Distribution, note: str) -> str:
    persons, lost = of.shares(most)
    return f"{name}={most}{f' ({note})' if note else ''} cuts {percent(persons)} of persons and {percent(lost)} of {name}"


def write_unit(unit: Person) -> str:
    """A unit as its owner writes it.

    >>> write_unit(Person("pid", 8, 3, "replace"))
    'dp.person("pid", rows=8, groups=3, neighbours="replace")'
    """
    more = "" if unit.neighbours == "add-remove" else f', neighbours="{unit.neighbours}"'
    size = "" if unit.size is None else f", size={unit.size}"
    return f"dp.person({json.dumps(unit.id, ensure_ascii=False)}, rows={unit.rows}, groups={unit.groups}{more}{size})"
