"""Aggregates of a SELECT list: which are answered, and what is written instead of those that would show a single person."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import SQL, Aggregate, Best, Count, Distinct, Present, Quantile
from discreet.plan.aggregates.base import Spelling
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.expressions.values import check_candidate, plain_values
from discreet.plan.sql.scalars import scalar
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.synonyms import as_read
from discreet.plan.sql.syntax import name_of, only, refusal, written
from discreet.plan.sql.tables.private import check_present
from discreet.schema.units import OneRow, Person


def read_aggregate(node: object, scope: Scope) -> Aggregate:
    """The aggregate that a node means, with types and bounds checked."""
    found = read_as_written(node, scope).with_numbers(scope.facts)
    found.check(scope.facts)
    return found


def read_as_written(node: object, scope: Scope) -> Aggregate:
    """The aggregate that a node means, whether or not it can be answered."""
    if not isinstance(node, exp.Expression):
        raise ParameterError("A part of this question is empty; write it out.")
    node = as_read(node)
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else None
    if isinstance(node, exp.Filter):
        return _filtered(node, scope)
    if isinstance(node, exp.Count):
        return _count(node, scope)
    if isinstance(node, exp.Quantile):
        only(node, "this", "quantile")
        return Quantile(_argument(node.this, scope), _share(node.args.get("quantile"), scope))
    if name == "choose":
        return _best(node, scope)
    if name == "quantile_only":
        return _value_only(node, scope)
    if _name(node) not in SQL:
        raise _unanswered(node, scope)
    found, spelling = SQL[_name(node)]
    if spelling.pair:
        return _pair(node, found, spelling, scope)
    only(node, "this", "expressions" if name else "this")
    arguments = node.args.get("expressions") or [] if name else [node.this]
    if len(arguments) != 1:
        raise ParameterError(f"{spelling.name} takes one expression; write {spelling.name}(x).")
    return found.make(_argument(arguments[0], scope), **spelling.fixed)


def _pair(node: exp.Expression, found: type[Aggregate], spelling: Spelling, scope: Scope) -> Aggregate:
    """``corr(x, y)``: of the rows in which neither is missing."""
    anonymous = isinstance(node, exp.Anonymous)
    only(node, "this", "expressions" if anonymous else "expression")
    arguments = node.args.get("expressions") or [] if anonymous else [node.this, node.args.get("expression")]
    if len(arguments) != 2 or None in arguments:
        raise ParameterError(f"{spelling.name} takes two expressions; write {spelling.name}(x, y).")
    of, other = (_argument(one, scope) for one in arguments)
    return found.make(of, other=other, **spelling.fixed)


def _best(node: exp.Expression, scope: Scope) -> Aggregate:
    """``choose([200, 500], score)``: the candidate with the largest sum of the score, in which it is called ``candidate``."""
    only(node, "this", "expressions")
    check_candidate(scope.schema.columns)
    arguments = node.args.get("expressions") or []
    if len(arguments) != 2 or not isinstance(arguments[0], exp.Array):
        raise ParameterError(
            "A choice takes candidates and a score; write choose([200, 500], CASE WHEN debt >= candidate THEN 1 ELSE 0 END)."
        )
    only(arguments[0], "expressions", "value_constructor", "bracket_notation")
    listed = [scalar(one, scope) for one in arguments[0].expressions]
    if not all(isinstance(one, Literal) for one in listed):
        raise ParameterError("Candidates are constants, from public knowledge; write choose([200, 500], ...).")
    candidates = plain_values("Candidates", [one.value for one in listed if isinstance(one, Literal)], "choose([200, 500], ...)")
    return Best(candidates, scalar(arguments[1], replace(scope, free=("candidate",))))


def _value_only(node: exp.Expression, scope: Scope) -> Aggregate:
    """``quantile_only(x, 0.9)``: without an interval, for the whole share."""
    only(node, "this", "expressions")
    arguments = node.args.get("expressions") or []
    if len(arguments) != 2:
        raise ParameterError("quantile_only takes an expression and a share; write quantile_only(x, 0.9), or median_only(x).")
    return Quantile(_argument(arguments[0], scope), _share(arguments[1], scope), interval=False)


def _argument(node: object, scope: Scope) -> Expression:
    if isinstance(node, exp.Distinct):
        raise refusal(
            node, "DISTINCT within an aggregate is not answered; leave it out, or count persons with count(DISTINCT id)"
        )
    if isinstance(node, exp.Order):
        raise refusal(node, "ORDER BY within an aggregate is not answered; leave it out")
    return scalar(node, scope)


def _count(node: exp.Expression, scope: Scope) -> Aggregate:
    only(node, "this", "big_int")
    if node.this is None or isinstance(node.this, exp.Star):
        if node.this is not None:
            only(node.this)
        return Count()
    if isinstance(node.this, exp.Distinct):
        return _distinct(node.this, scope)
    of = _argument(node.this, scope)
    return Count() if isinstance(of, Literal) and of.value is not None else Count(of)


def _distinct(node: exp.Expression, scope: Scope) -> Aggregate:
    only(node, "expressions")
    unit, inside = scope.schema.unit, [one.this if isinstance(one, exp.Paren) else one for one in node.expressions]
    persons = f"; persons are counted by count(DISTINCT {unit.id})" if isinstance(unit, Person) else ""
    if len(inside) != 1:
        raise refusal(node, f"Distinct values are counted of one column; write count(DISTINCT ward){persons}")
    if isinstance(inside[0], exp.Column):
        only(inside[0], "this", "table", "db", "catalog")
        name, quoted = name_of(inside[0].this)
        table = inside[0].args.get("table")
        of = None if table is None else name_of(table)[0]
        if scope.is_person(name, of, quoted) and (of is None or check_present(scope.tables.get(of.lower(), ""), scope)):
            return Count() if isinstance(unit, OneRow) else Distinct()
        if not isinstance(unit, Person) and scope.find(name, of, quoted) is None:
            raise refusal(node, f"Here every row is somebody, and there is no column {name[:60]}; write count(*)")
    return Present(scalar(inside[0], scope))


def _filtered(node: exp.Expression, scope: Scope) -> Aggregate:
    only(node, "this", "expression")
    where = node.args.get("expression")
    if not isinstance(where, exp.Where):
        raise refusal(where)
    found, test = read_as_written(node.this, scope), scalar(where.this, scope)
    if infer(test, scope.facts).kind != "boolean":
        raise ParameterError("FILTER (WHERE ...) takes a condition; write FILTER (WHERE age >= 18).")
    return found.filtered(test)


def _share(node: object, scope: Scope) -> Fraction:
    if isinstance(node, exp.Array):
        raise refusal(node, "A list of shares is several columns; write quantile(x, [0.25, 0.75]) alone in the SELECT list")
    found = scalar(node, scope)
    parts = found.arguments if isinstance(found, Call) and found.name == "/" else (found,)
    numbers = [part.value for part in parts if isinstance(part, Literal)]
    exact = [Fraction(one) for one in numbers if isinstance(one, (int, Fraction)) and not isinstance(one, bool)]
    if len(exact) == len(parts) and exact[-1]:
        share = exact[0] / exact[1] if len(exact) == 2 else exact[0]
        if 0 < share < 1:
            return share
    raise ParameterError(
        "The share of a quantile is a constant between 0 and 1, such as 0.5; write quantile(x, 0.01) for nearly the least."
    )


_SINGLE = "would show the value of a single person"
_MOMENTS = "is not answered yet; ask for avg and variance"
_LINE = "is not answered; write regr_slope(y, x), regr_intercept(y, x) or corr(x, y)"
_LISTED = (
    "values of single persons are not shown; write mode(x) for the most common of declared values, or GROUP BY with count(*)"
)
_EVERYBODY = (
    f"{_SINGLE}: one row decides it; write count(*) FILTER (WHERE x) beside count(*), or avg(CAST(x AS INTEGER)) for the share"
)
_EXTREMES = {"min": Fraction(1, 100), "max": Fraction(99, 100)}
_QUANTILE = "is not answered; write quantile(x, 0.5)"

# What a function's name is followed by; a star stands for any letters.
_INSTEAD = {
    "approx_quantiles": "is not answered; write quantile(x, [0.25, 0.5, 0.75])",
    "reservoir_quantile": _QUANTILE,
    "percentile*": _QUANTILE,
    "approx_percentile": _QUANTILE,
    "sum*if": "takes an expression and a condition; write sum(x) FILTER (WHERE age >= 18)",
    "avg*if": "takes an expression and a condition; write avg(x) FILTER (WHERE age >= 18)",
    "mad": "is not answered; ask for quantile(x, 0.25) and quantile(x, 0.75)",
    "regr_*": _LINE,
    "skew*": _MOMENTS,
    "kurtosis*": _MOMENTS,
    "sem": _MOMENTS,
    "product": "is not answered; ask for avg, or for the sum of something bounded",
    "geomean": "is not answered; ask for avg, or for the sum of something bounded",
    "entropy": "is not answered; write GROUP BY with count(*), and compute it from the noisy counts, which is free",
    "grouping*": "is for HAVING and ORDER BY, and not selected: in rows that add up a key, the key is None, and shown as 'all'",
    "approx_top_*": "is not answered; write GROUP BY with count(*) AS n, and ORDER BY n DESC LIMIT 3",
    "logical_*": _EVERYBODY,
    "every": _EVERYBODY,
    "bitwise_*": _EVERYBODY,
    "fsum": "is not answered; write sum(x), which is exact",
    "sumkahan": "is not answered; write sum(x), which is exact",
    "kahan_sum": "is not answered; write sum(x), which is exact",
    "favg": "is not answered; write avg(x), whose sums are exact",
}


def _unanswered(node: exp.Expression, scope: Scope) -> ParameterError:
    """The refusal of an aggregate, by the name that was written."""
    name, shown = _name(node), written(node)
    if name in ("min", "max", "histogram"):
        of = scalar(_first(node), scope)
        if name == "histogram":
            return refusal(node, f"{shown} is not answered; {_counted(of, infer(of, scope.facts))}")
        return refusal(node, f"{shown} {_SINGLE}; {Quantile(of, _EXTREMES[name]).instead(scope.facts)}")
    for known, instead in _INSTEAD.items():
        if fnmatchcase(name, known):
            return refusal(node, f"{shown} {instead}")
    return refusal(node, f"{shown} is not answered, {_LISTED}")


def _name(node: exp.Expression) -> str:
    """A function's usual name in small letters, whichever of its names was written."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    return str(node.sql_name()).lower() if isinstance(node, exp.Func) else ""


def _first(node: exp.Expression) -> object:
    arguments = node.args.get("expressions") if isinstance(node, exp.Anonymous) else [node.this]
    return arguments[0] if arguments else None


def _counted(of: Expression, facts: Facts) -> str:
    """How to count by ranges, or by values."""
    if facts.kind != "number":
        return f"write GROUP BY {of} with count(*)"
    edges: list[Fraction] = [Fraction(0), Fraction(10), Fraction(100)]
    if facts.lower is not None and facts.upper is not None:
        edges = [facts.lower, (facts.lower + facts.upper) / 2, facts.upper]
    listed = ", ".join(str(Literal(int(edge) if edge.denominator == 1 else edge)) for edge in edges)
    return f"write GROUP BY bin({of}, {listed}) with count(*), and edges that suit it"
