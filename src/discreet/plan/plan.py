"""Plans: a question with its groups, its releases and what the whole costs, all from public facts.

The cost is split evenly over what a question needs, and what two outputs have in common is paid once. A mean that is released
as a pair (``aggregates.soft``) has the shares of the two numbers that it stands for.

What must hold of a question whoever made it, SQL text, Python or a program, is checked before it is priced. The engine relies
on it. A text where a condition belongs would be converted row by row, and a row whose text cannot be would make the question
fail: an answer about that row which nobody paid for. So would a text that grows with a row's own, as ``concat(name, name, ...)``
does, until it fills the memory: what a question makes of one row, and how long it is to an engine, is bounded here, from
declarations and from its own text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Context
from discreet.plan.aggregates.soft import soften
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Expression, Literal, columns_of
from discreet.plan.expressions.evaluate import OPERATIONS, infer
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.plan.keys import Keys, keys_of
from discreet.plan.margins.levels import check_levels, level_needs
from discreet.plan.measures import Frame, Measure, is_private
from discreet.plan.people import person_table
from discreet.plan.private import Private, check_private
from discreet.plan.query import People, Query, people_of
from discreet.plan.release import Additive, Need, OpenKeys, Release
from discreet.plan.statistics import MOST_WORK, Axis, Histogram, list_axis
from discreet.privacy import Privacy
from discreet.schema.table import Schema
from discreet.schema.units import OneRow, Person

MOST_TERMS = 2**15  # of a question, each as often as an engine may have to write it
MOST_TEXT = 2**16  # characters that a question makes of one row; engines hold some thousand rows at a time
MOST_KEY = 2**12  # characters of the keys of one row, which engines keep for all groups at once

_FREE = Cost("rho", Fraction(1))  # of a plan that releases nothing
_WIDEST = 2**53  # units of a number that is read
_MOST_COLUMNS = 2**12  # that are read of a row

Needs = Mapping[str, tuple[Need, ...]]  # by the names of what they are for


@dataclass(frozen=True)
class Plan:
    """A question, its groups, its releases, and those behind every output. Where keys are open, they are the first release."""

    query: Query
    schema: Schema
    keys: Keys
    releases: tuple[Release, ...]
    behind: Mapping[str, tuple[Release, ...]]
    share: Cost
    declared: Schema | None = None  # of the private table, where ``schema`` is that of one row a person
    prepared: Prepared | None = field(default=None, repr=False, compare=False)  # what all plans of this question have

    def __post_init__(self) -> None:
        known = self.prepared
        if known and not (known.query is self.query and known.schema is self.schema and known.declared is self.declared):
            object.__setattr__(self, "prepared", None)  # it was made of another plan, and is of another question

    @property
    def private(self) -> Schema:
        """What is declared of the private table."""
        return self.declared or self.schema

    @cached_property
    def privacy(self) -> Privacy | None:
        """What the whole question costs; None if its answer is public."""
        costs = [release.privacy for release in self.releases if release.privacy is not None]
        return sum(costs[1:], costs[0]).under(self.schema.unit.neighbours) if costs else None

    @property
    def units(self) -> tuple[int | None, ...]:
        """All that statements which count it know of its cost: the bits of every release; None where that is public."""
        return tuple(None if release.mechanism is None else release.bits for release in self.releases)

    @cached_property
    def facts(self) -> Mapping[str, Facts]:
        """What is declared, by the names that questions use."""
        return facts_of(self.schema, self.query.tables) if self.prepared is None else self.prepared.facts

    @property
    def norm(self) -> int:
        """The norm in which sums are bounded: 1 for Laplace noise, and where groups are added up; 2 for Gaussian noise."""
        return 1 if self.share.epsilon is not None or self.query.levels is not None else 2


@dataclass(frozen=True, eq=False)
class Prepared:
    """A question that was checked, with its groups and all that it needs: what its plans have in common, whatever they cost.

    It equals nothing but itself, so whoever has done something for it knows it again.
    """

    query: Query
    schema: Schema
    keys: Keys
    needs: Needs
    facts: Mapping[str, Facts]
    declared: Schema | None = None

    def priced(self, share: Cost) -> Plan:
        """Split a cost over needs, by the names of what they are for; what two of them need alike is released once."""
        keys, frame, (shares, rest) = self.keys, self._frame, self._shares
        found = {need: need.releases(frame, share.part(each)) for need, each in shares.items()}
        behind = {name: tuple(release for need in those for release in found[need]) for name, those in self.needs.items()}
        chosen = OpenKeys().releases(frame, share.part(rest)) if keys.size is None else ()
        releases = (*chosen, *(release for those in found.values() for release in those))
        for release in releases:
            release.check()
        return Plan(self.query, self.schema, keys, releases, behind, share, self.declared, self)

    @cached_property
    def _frame(self) -> Frame:
        return _frame(self.query, self.schema, self.keys)

    @cached_property
    def _shares(self) -> tuple[Mapping[Need, Fraction], Fraction]:
        """Which share of a cost every need has, each once, and which one open keys have; refused where they are too many
        numbers."""
        needed = list(dict.fromkeys(need for each in self.needs.values() for need in each))
        if (self.keys.size or 1) * len(needed) > MOST_WORK:
            raise ParameterError(
                f"{self.keys.size:,} groups times {len(needed)} statistics are more than {MOST_WORK:,} numbers; ask for less at "
                "a time."
            )
        paid = (need.shares for need in needed if not need.public(self._frame))
        shares = sum(paid, Fraction(self.keys.size is None)) or Fraction(1)
        return {need: need.shares / shares for need in needed}, 1 / shares


What = Measure | Axis | Expression
"""A number in whole units of its step, the place of a value in a public list, or a text."""


@dataclass(frozen=True)
class Reading:
    """What a learner reads: the rows of a question that has no outputs, and numbers, places or texts of each, by name. They come
    as secrets; of a person who has more rows than count, those with the smallest keyed hashes."""

    plan: Plan
    columns: Mapping[str, What]

    @property
    def most(self) -> int | None:
        """The rows of one person that are read; None where every row is somebody."""
        unit = self.plan.schema.unit
        return unit.rows if isinstance(unit, Person) and not isinstance(unit, OneRow) else None


def facts_of(schema: Schema, tables: Sequence[Private] = ()) -> dict[str, Facts]:
    """What is declared, by the names that questions use; what rows need not have a partner for may be missing."""
    facts = {name: facts_of_column(column) for name, column in schema.columns.items()}
    for table, columns in schema.public.items():
        facts |= {f"{table}.{name}": facts_of_column(column) for name, column in columns.items()}
    left = tuple(f"{one.table}." for one in tables if one.how == "left")
    return {name: replace(fact, nullable=True) if name.startswith(left) else fact for name, fact in facts.items()}


def price(query: Query, schema: Schema, share: Cost, *, pairs: bool = True) -> Plan:
    """Split a cost over what a question needs, and calibrate every mechanism to its share. ``pairs``: whether means may be
    released so; in older ledgers they were not."""
    return prepare(query, schema, pure=share.epsilon is not None, pairs=pairs).priced(share)


def prepare(query: Query, schema: Schema, *, pure: bool, pairs: bool = True) -> Prepared:
    """Check a question, and find its groups and what it needs, for costs that are ``pure`` epsilons or else rhos."""
    schema = _aliased(schema, query)
    if query.people is not None:
        return replace(_prepare(query, _read_people(query.people, schema), pure=pure, pairs=pairs), declared=schema)
    return _prepare(query, schema, pure=pure, pairs=pairs)


def _aliased(schema: Schema, query: Query) -> Schema:
    """The facts, also about public tables that a question joins by other names."""
    for join in (*query.joins, *(query.people.rows.joins if query.people else ())):
        if join.alias:
            schema = schema.aliased(join.table, join.alias)
    return schema


def _read_people(people: People, schema: Schema) -> Schema:
    """The facts about the table of one row a person that a question is about, when its own rows and traits are checked."""
    facts = facts_of(schema, people.rows.tables)
    check(people.rows, schema, facts, [trait.of for trait in people.traits if trait.of is not None])
    return person_table(people.traits, schema, facts)


def _prepare(query: Query, schema: Schema, *, pure: bool, pairs: bool) -> Prepared:
    facts = facts_of(schema, query.tables)
    check(query, schema, facts)
    keys = keys_of(query, facts)
    if query.levels is not None:
        check_levels(query, keys)
        needs = level_needs(query, keys, _frame(query, schema, keys), facts, pure=pure)
        return Prepared(query, schema, keys, needs, facts)
    context = Context(facts, keys.size or 2**10, tuple(part for output in query.outputs for part in output.aggregate.parts))
    if pairs:
        context = soften(context, _frame(query, schema, keys), gaussian=not pure)
    return Prepared(query, schema, keys, {output.name: output.aggregate.needs(context) for output in query.outputs}, facts)


def price_needs(
    query: Query, schema: Schema, share: Cost, needs: Callable[[Mapping[str, Facts]], Needs], of: Sequence[Expression] = ()
) -> Plan:
    """What is needed, by the names of what it is for, of the rows and in the groups of a question that has no outputs of its own;
    ``of`` are the expressions over rows that it is made of. Needs have their shares of the cost."""
    schema = _aliased(schema, query)
    if query.people is not None:
        found = price_needs(replace(query, people=None), _read_people(query.people, schema), share, needs, of)
        return replace(found, query=query, declared=schema)
    facts = facts_of(schema, query.tables)
    check(query, schema, facts, of)
    return Prepared(query, schema, keys_of(query, facts), needs(facts), facts).priced(share)


def plan_rows(query: Query, schema: Schema, columns: Mapping[str, What]) -> Reading:
    """A reading, when all that public facts forbid is refused."""
    if len(columns) > _MOST_COLUMNS:
        raise ParameterError(f"{len(columns):,} columns are more than {_MOST_COLUMNS:,}, the most that are read at once.")
    for name, what in columns.items():
        if isinstance(what, Measure) and (what.what != "value" or what.bound > _WIDEST):
            raise ParameterError(f"{name} has more than 2^53 steps between its bounds; declare a coarser step.")
        if isinstance(what, Axis) and what.values is None:
            raise ParameterError(f"{name} is read by its place in a list of values, and has none; declare a category.")
    return Reading(price_needs(query, schema, _FREE, lambda _: {}, _expressions(columns)), dict(columns))


def _expressions(columns: Mapping[str, What]) -> Sequence[Expression]:
    found = []
    for what in columns.values():
        of = what.of if isinstance(what, Measure | Axis) else what
        assert of is not None
        found.append(of)
    return found


def price_marginal(of: Sequence[Expression], query: Query, schema: Schema, share: Cost) -> Plan:
    """Noise on every cell of one histogram over several expressions, of the rows and in the groups of a question that has no
    outputs of its own."""

    def cells(facts: Mapping[str, Facts]) -> Needs:
        axes = [list_axis(one, infer(one, facts)) for one in of]
        listed = tuple(axis for axis in axes if axis is not None)
        if not of or len(listed) < len(of):
            raise ParameterError(
                "A marginal counts combinations of values that are listed; declare categories, or coarser steps."
            )
        return {"marginal": (Additive(Histogram(listed)),)}

    return price_needs(query, schema, share, cells, of)


def _frame(query: Query, schema: Schema, keys: Keys) -> Frame:
    """Keys that are columns as they are, never missing, with all their values listed, leave no row out of a table's margins."""
    facts = facts_of(schema, query.tables) if query.levels else {}
    keyed = query.levels is None or any(
        key.values is not None or not is_private(key.of) or infer(key.of, facts).nullable for key in query.keys
    )
    left = query.where is not None or (keyed and bool(query.keys))
    return Frame(schema.unit, keys.size, not left and all(join.keep for join in query.joins) and len(query.tables) < 2)


def check(query: Query, schema: Schema, facts: Mapping[str, Facts], beside: Sequence[Expression] = ()) -> None:
    """Refuse what is not of the type, or has not the columns, that its place in the question needs. ``beside``: what else is
    counted of rows."""
    check_private(query.tables)
    for one in query.tables:
        if one.having is not None:
            table = _read_people(people_of(one, several=bool(schema.tables)), schema)
            check(Query((), one.having), table, facts_of(table))
        _condition(
            one.where, facts, f"Rows of {one.table} are chosen by a condition that is true or false; write for example age >= 18."
        )
    _condition(query.where, facts, "Rows are chosen by a condition that is true or false; write for example age >= 18.")
    for key in query.keys:
        if not any(True for _ in columns_of(key.of)):
            raise ParameterError("Groups are made by columns or expressions over them; write for example region.")
        infer(key.of, facts)
    for output in query.outputs:
        output.aggregate.check_place(schema.unit, grouped=bool(query.keys))
        strange = [str(one) for one in output.aggregate.within if all(one != key.of for key in query.keys)]
        if strange:
            raise ParameterError(f"Groups are added up within keys of the question, and {strange[0]} is none; group by it too.")
    _check_size(query, facts, beside)
    after = query.result(facts)
    _names(after, len(query.keys) + len(query.outputs))
    _condition(query.having, after, "Rows of the result are kept by a condition, true or false; write for example n > 100.")
    for order in query.order:
        infer(order.by, after)


def terms(expression: Expression) -> int:
    """How many columns, constants and operations an engine has to write; guards against errors repeat what they guard.

    >>> from discreet.plan.expressions import Column
    >>> terms(Call("/", (Literal(1), Column("age"))))
    5
    """
    if not isinstance(expression, Call):
        return 1
    operation = OPERATIONS[expression.name]
    if operation.defined is not None:
        return terms(operation.defined(*expression.arguments))
    if expression.name == "bin":  # the value is written for every edge
        value, *edges = expression.arguments
        return 1 + len(edges) * (terms(value) + 2)
    return 1 + operation.written * sum(map(terms, expression.arguments))


def _written(query: Query, beside: Sequence[Expression]) -> Iterator[tuple[Expression, int]]:
    """The expressions of a question over rows, and how often each is written."""
    if query.where is not None:
        yield query.where, 1
    yield from ((one.where, 1) for one in query.tables if one.where is not None)
    for key in query.keys:
        yield key.of, 1
        yield from ((Literal(value), 1) for value in key.values or ())
    yield from ((mine, 1) for join in query.joins for mine, _ in join.on)
    yield from ((one, 2) for one in beside)
    for output in query.outputs:
        yield from output.aggregate.written()


def _check_size(query: Query, facts: Mapping[str, Facts], beside: Sequence[Expression]) -> None:
    count, characters, seen, known = 0, 0, set[Expression](), dict[int, tuple[Expression, Facts]]()
    for expression, times in _written(query, beside):
        count += times * terms(expression)
        if count > MOST_TERMS:
            raise ParameterError(
                f"This question has more than {MOST_TERMS:,} terms as an engine has to write it; ask about less at a time, with "
                "fewer nested divisions, candidates or listed values."
            )
        characters += _made(expression, facts, seen, known)
    if characters > MOST_TEXT:
        raise ParameterError(
            f"This question makes texts of up to {characters:,} characters of one row, and at most {MOST_TEXT:,} are made; "
            "write left(x, 100) for x, or declare a smaller length: text(length=100)."
        )
    keys = sum(infer(key.of, facts).length or 0 for key in query.keys)
    if keys > MOST_KEY:
        raise ParameterError(
            f"The keys of one row may have {keys:,} characters together, and at most {MOST_KEY:,} are grouped by; "
            "write GROUP BY left(x, 100) for GROUP BY x, or declare a smaller length: text(length=100)."
        )


def _made(
    expression: Expression, facts: Mapping[str, Facts], seen: set[Expression], known: dict[int, tuple[Expression, Facts]]
) -> int:
    """The characters of all texts that are made on the way to an expression's value; each text that was not seen before."""
    if not isinstance(expression, Call) or expression in seen:
        return 0
    seen.add(expression)
    found = infer(expression, facts, known)
    mine = found.length or 0 if found.kind == "text" and found.values != () else 0
    return mine + sum(_made(argument, facts, seen, known) for argument in expression.arguments)


def _condition(condition: Expression | None, facts: Mapping[str, Facts], otherwise: str) -> None:
    if condition is not None and infer(condition, facts).kind != "boolean":
        raise ParameterError(otherwise)


def _names(after: Mapping[str, Facts], count: int) -> None:
    for name in after:
        if not name or len(name) > 200 or not name.isprintable():
            raise ParameterError(f"{name[:40]!r} cannot name a column of the result; write a word such as n.")
    if len({name.lower() for name in after}) < count:
        raise ParameterError("Two columns of the result have the same name; name them apart.")
