"""A query within a query that is grouped by the protected person: a table of one row a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import Mean, Sum
from discreet.plan.aggregates.base import name_from
from discreet.plan.expressions import Call, Column, Expression, Literal, both
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.plan.people import Trait, What, most_rows, person_table
from discreet.plan.query import People, Query
from discreet.plan.sql.scalars import aggregates_in, is_aggregate, scalar
from discreet.plan.sql.scope import PERSON, Scope, match, private
from discreet.plan.sql.syntax import name_of, only, refusal, unname, written
from discreet.schema.units import Person

_TRAITS: Mapping[type[exp.Expression] | str, What] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Median: "median",
    exp.Min: "min",
    exp.Max: "max",
    exp.AnyValue: "any_value",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
    "arbitrary": "any_value",
    "mean": "avg",
    "every": "bool_and",
}
_KNOWN = "of one person's rows there are count, sum, avg, median, min, max, any_value, bool_or, bool_and and count(DISTINCT x)"
_LIMITED = "A query within is about one person's rows; put ORDER BY and LIMIT into the question around it"


def is_of_people(tree: exp.Select, rows: Scope) -> bool:
    """Whether a query within a query is in groups, and these are persons or parts of them; or would be if persons were known."""
    if not isinstance(rows.schema.unit, Person):
        return bool(tree.args.get("group"))
    return any(_is_id(one, rows) for one in _groups(tree))


def read_people(
    tree: exp.Select, rows: Scope, source: Query, alias: str, names: Sequence[str] = ()
) -> tuple[Scope, Expression | None]:
    """What is in sight around a query that is grouped by the protected person: what it selects, by name; and which persons are
    kept. ``rows`` and ``source``: what is in sight within it, and which rows come in; ``names``: for its columns, in turn."""
    if tree.args.get("order") or tree.args.get("limit") or tree.args.get("offset"):
        raise refusal(tree, _LIMITED)
    only(tree, "expressions", "from_", "joins", "where", "group", "having", "distinct", "with_")
    if not isinstance(rows.schema.unit, Person):
        person_table((), rows.schema, {})  # which says why there is none
    if rows.people is not None:
        raise ParameterError("These rows are persons already, one row each; ask about them without grouping them again.")
    items = [unname(one) for one in tree.expressions]
    if len(names) > len(items):
        raise ParameterError(f"{alias} has {len(items)} columns, and {len(names)} names are given; give one for each.")
    items = [(names[i] if i < len(names) else name, of) for i, (name, of) in enumerate(items)]
    _check_groups(tree, rows)
    made = Making(rows)
    for name, of in items:
        if _is_id(of, rows):
            made.name(name or name_of(of.this)[0], PERSON)
        else:
            made.select(name, of)
    having = made.condition(tree.args.get("having"))
    where = both(source.where, _rows_kept(tree.args.get("where"), rows))
    return made.scope(alias, replace(source, where=where)), having


def _rows_kept(where: object, rows: Scope) -> Expression | None:
    if where is None or where.this is None:  # type: ignore[attr-defined]
        return None
    assert isinstance(where, exp.Where)
    only(where, "this")
    if aggregates_in(where):
        raise ParameterError("WHERE is about single rows; put a condition on what is made of a person's rows into HAVING.")
    found = scalar(where.this, rows)
    if infer(found, rows.facts).kind != "boolean":
        raise ParameterError("WHERE takes a condition; write WHERE age >= 18.")
    return found


def _is_id(node: object, rows: Scope) -> bool:
    """Whether this is the protected person's id."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return False
    name, quoted = name_of(node.this)
    return rows.is_person(name, str(node.table) or None, quoted)


def _groups(tree: exp.Select) -> list[exp.Expression]:
    """What a query is grouped by; by all that it selects where that is DISTINCT."""
    group, items = tree.args.get("group"), [unname(one)[1] for one in tree.expressions]
    if isinstance(group, exp.Group):
        if group.args.get("all"):
            return [one for one in items if not aggregates_in(one)]
        only(group, "expressions")
        return [_numbered(one, items) for one in group.expressions]
    return items if tree.args.get("distinct") else []


def _check_groups(tree: exp.Select, rows: Scope) -> None:
    """Refuse a query that is grouped by anything but the person."""
    unit = rows.schema.unit
    assert isinstance(unit, Person)
    if tree.args.get("distinct"):
        only(tree.args["distinct"])
    if not all(_is_id(one, rows) for one in _groups(tree)):
        raise ParameterError(
            f"Groups of {unit.id} and something else are several rows a person; group by it alone, GROUP BY {unit.id}, with "
            "any_value(x) or sum(x) FILTER (WHERE ...) for the rest; or ask about the rows themselves, which are bounded."
        )


def _numbered(node: exp.Expression, items: list[exp.Expression]) -> exp.Expression:
    place = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    if place.isdecimal() and len(place) < 6 and 1 <= int(place) <= len(items):
        return items[int(place) - 1]
    return node


@dataclass
class Making:
    """A table of one row a person in the making: what is selected of a person's rows, and the traits that it is made of."""

    rows: Scope
    named: dict[str, Expression] = field(default_factory=dict)
    traits: list[Trait] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._scope = Scope(self.rows.schema, {}, self.facts, special=self._special, named=self.named)

    def select(self, name: str | None, node: exp.Expression) -> None:
        """One more column."""
        if isinstance(node, exp.Star):
            raise refusal(node, "* would show the rows of single persons; name what is made of a person's rows, such as count(*)")
        if is_aggregate(node):
            found: Expression = self._trait(node, name)
        else:
            found = scalar(node, self._scope)
            infer(found, self.facts)
        self.name(name or (found.name if isinstance(found, Column) else name_from(str(found))), found)

    def name(self, name: str, found: Expression) -> None:
        """Let a column be known by its name."""
        if not name or len(name) > 200 or "." in name or not name.isprintable():
            raise ParameterError(f"{name[:40]!r} cannot name a column; write AS n.")
        unit = self.rows.schema.unit
        assert isinstance(unit, Person)
        if match(name, (*self.named, *(() if found == PERSON else (unit.id,))), False) is not None:
            raise ParameterError(f"Two columns of the query within are called {name}; give one another name with AS.")
        self.named[name] = found

    def condition(self, node: object) -> Expression | None:
        """Which persons are kept."""
        if node is None:
            return None
        assert isinstance(node, exp.Having)
        only(node, "this")
        found = scalar(node.this, self._scope)
        if infer(found, self.facts).kind != "boolean":
            raise ParameterError("HAVING takes a condition on what is made of a person's rows; write HAVING count(*) > 2.")
        return found

    def scope(self, alias: str, rows: Query) -> Scope:
        """What is in sight around it."""
        unit = self.rows.schema.unit
        assert isinstance(unit, Person)
        if not self.traits:
            self._add("count", None, None)
        people = People(unit.id, rows, tuple(self.traits))
        found = private(person_table(people.traits, self.rows.schema, self.rows.facts), alias)
        return replace(found, tables={}, derived={alias.lower(): dict(self.named)}, people=people)

    def _special(self, node: object) -> Expression | None:
        """Traits are made as they are met; what was selected before is known by its name."""
        if is_aggregate(node):
            return self._trait(node, None)
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        name, quoted = name_of(node.this)
        known = match(name, self.named, quoted) if node.args.get("table") is None else None
        if _is_id(node, self.rows) or (known is not None and self.named[known] == PERSON):
            raise ParameterError(f"{name} tells persons apart, and nothing is computed from it; leave it out.")
        if known is not None:
            return None
        meant = scalar(node, self.rows)
        raise ParameterError(f"A person may have several rows; write any_value({meant}), or max({meant}), for {meant}.")

    def _trait(self, node: object, name: str | None) -> Column:
        what, of = _read_trait(node, self.rows)
        return self._add(what, of, name)

    def _add(self, what: What, of: Expression | None, name: str | None) -> Column:
        for trait in self.traits:
            if (trait.what, trait.of) == (what, of):
                return Column(trait.name)
        trait = Trait(self._free(name or name_from(str(Trait("", what, of)))), what, of)
        self.traits.append(trait)
        self.facts[trait.name] = facts_of_column(trait.column(self.rows.facts, most_rows(self.rows.schema)))
        return Column(trait.name)

    def _free(self, name: str) -> str:
        """A name that no other trait has."""
        taken, found, i = {trait.name.lower() for trait in self.traits}, name, 2
        while found.lower() in taken:
            found, i = f"{name}_{i}", i + 1
        return found


def _read_trait(node: object, rows: Scope) -> tuple[What, Expression | None]:
    """What an aggregate of one person's rows is made of."""
    if isinstance(node, exp.IgnoreNulls):
        only(node, "this")
        return _read_trait(node.this, rows)
    if isinstance(node, exp.Filter):
        only(node, "this", "expression")
        where = node.args.get("expression")
        if not isinstance(where, exp.Where):
            raise refusal(where)
        what, of = _read_trait(node.this, rows)
        test = scalar(where.this, rows)
        if infer(test, rows.facts).kind != "boolean":
            raise ParameterError("FILTER (WHERE ...) takes a condition; write FILTER (WHERE age >= 18).")
        return what, Call("case", (test, Literal(1) if of is None else of, Literal(None)))
    if isinstance(node, exp.Count):
        return _read_count(node, rows)
    assert isinstance(node, exp.Expression)
    if isinstance(node, exp.CountIf):
        only(node, "this")
        test = scalar(node.this, rows)
        if infer(test, rows.facts).kind != "boolean":
            raise ParameterError("count_if takes a condition; write count_if(cost > 100).")
        return "count", Call("case", (test, Literal(1), Literal(None)))
    named = str(node.this).lower() if isinstance(node, exp.Anonymous) else None
    found = _TRAITS.get(named or type(node))
    if found is None:
        raise refusal(node, f"{written(node)} is not made of one person's rows; {_KNOWN}")
    only(node, "this", "expressions" if named else "this")
    arguments = node.args.get("expressions") or [] if named else [node.this]
    if len(arguments) != 1 or isinstance(arguments[0], (exp.Distinct, exp.Order, exp.Star)):
        raise ParameterError(f"{found} takes one expression, without DISTINCT or ORDER BY; write {found}(x).")
    return found, _checked(found, scalar(arguments[0], rows), rows.facts)


def _read_count(node: exp.Expression, rows: Scope) -> tuple[What, Expression | None]:
    only(node, "this", "big_int")
    inside = node.this
    if inside is None or isinstance(inside, exp.Star):
        return "count", None
    if isinstance(inside, exp.Distinct):
        only(inside, "expressions")
        if len(inside.expressions) != 1:
            raise ParameterError("count(DISTINCT x) takes one expression here; write count(DISTINCT concat(a, '/', b)).")
        if _is_id(inside.expressions[0], rows):
            raise ParameterError("Within one person there is one person; leave count(DISTINCT ...) of the id out.")
        return "distinct", scalar(inside.expressions[0], rows)
    of = scalar(inside, rows)
    return "count", None if isinstance(of, Literal) and of.value is not None else of


def _checked(what: What, of: Expression, facts: Mapping[str, Facts]) -> Expression:
    """An argument of the type and with the bounds that a trait needs; truth values are summed as 0 and 1."""
    known = infer(of, facts)
    if known.values == ():
        raise ParameterError(f"{what}(NULL) is always missing; write {what}(x).")
    if what in ("bool_or", "bool_and"):
        if known.kind != "boolean":
            raise ParameterError(f"{what} takes a condition, not a {known.kind}; write {what}(cost > 100).")
        return of
    if what in ("sum", "avg") and known.kind == "boolean":
        of = Call("case", (of, Literal(1), Call("not", (of,)), Literal(0), Literal(None)))
    if what in ("sum", "avg", "median") or known.kind == "number":
        (Mean if what == "avg" else Sum)(of).check(facts)
    return of
