"""Aggregates that are not answered, each with what to write instead, and arithmetic around those that are."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.evaluate import infer
from discreet.plan.expressions import Expression, Literal
from discreet.plan.facts import Facts
from discreet.plan.query import Quantile
from discreet.plan.requirements import instead_of
from discreet.plan.scalars import is_aggregate, scalar
from discreet.plan.scope import Scope
from discreet.plan.tree import refusal, written

__all__ = ["aggregates_in", "alone", "unanswered"]

_SINGLE = "would show the value of a single person"
_MOMENTS = "is not answered yet; ask for avg and variance"
_LISTED = (
    "values of single persons are not shown; write mode(x) for the most common of declared values, or GROUP BY with count(*)"
)
_EXTREMES = {"min": Fraction(1, 100), "max": Fraction(99, 100)}
_QUANTILE = "is not answered; write quantile(x, 0.5)"

# What a function's name is followed by; a name that ends in * stands for all that begin so.
_INSTEAD = {
    "approx_distinct": "is not answered, distinct values are not counted; write GROUP BY with count(*)",
    "percentile_disc": _QUANTILE,
    "quantile_disc": _QUANTILE,
    "reservoir_quantile": _QUANTILE,
    "mad": "is not answered; ask for quantile(x, 0.25) and quantile(x, 0.75)",
    "corr": _MOMENTS,
    "covar_*": _MOMENTS,
    "regr_*": _MOMENTS,
    "skewness": _MOMENTS,
    "kurtosis*": _MOMENTS,
    "sem": _MOMENTS,
    "product": "is not answered; ask for avg, or for the sum of something bounded",
    "geomean": "is not answered; ask for avg, or for the sum of something bounded",
    "entropy": "is not answered; write GROUP BY with count(*), and compute it from the noisy counts, which is free",
    "approx_top_k": "is not answered; write GROUP BY with count(*) AS n, and ORDER BY n DESC LIMIT 3",
    "logical_*": f"{_SINGLE}; write count(*) FILTER (WHERE x)",
    "bitwise_*": f"{_SINGLE}; write count(*) FILTER (WHERE x)",
    "fsum": "is not answered; write sum(x), which is exact",
    "sumkahan": "is not answered; write sum(x), which is exact",
    "kahan_sum": "is not answered; write sum(x), which is exact",
    "favg": "is not answered; write avg(x), whose sums are exact",
}


def unanswered(node: exp.Expression, scope: Scope) -> ParameterError:
    """The refusal of an aggregate, by the name that was written."""
    name, shown = _name(node), written(node)
    if name in ("min", "max", "count_if", "histogram"):
        of = scalar(_first(node), scope)
        if name == "count_if":
            return refusal(node, f"{shown} is not answered; write count(*) FILTER (WHERE {of})")
        if name == "histogram":
            return refusal(node, f"{shown} is not answered; {_counted(of, infer(of, scope.facts))}")
        return refusal(node, f"{shown} {_SINGLE}; {instead_of(Quantile(of, _EXTREMES[name]), scope.facts)}")
    for known, instead in _INSTEAD.items():
        if name == known or (known.endswith("*") and name.startswith(known[:-1])):
            return refusal(node, f"{shown} {instead}")
    return refusal(node, f"{shown} is not answered, {_LISTED}")


def aggregates_in(node: exp.Expression) -> list[exp.Expression]:
    """The outermost aggregates of an expression; none where a window or another query stands around them."""
    if isinstance(node, exp.Window) or node.find(exp.Window, exp.Query) is not None:
        return []
    return [one for one in node.walk(prune=is_aggregate) if isinstance(one, exp.Expression) and is_aggregate(one)]


def alone(aggregates: list[str]) -> ParameterError:
    """That nothing is computed around aggregates, which can be done with their noisy values."""
    listed = " and ".join(dict.fromkeys(aggregates))
    return ParameterError(
        f"An aggregate stands alone in the SELECT list: select {listed}, and round or compute with the noisy result afterwards, "
        "which is free."
    )


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
