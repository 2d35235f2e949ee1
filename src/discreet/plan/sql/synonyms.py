"""Aggregates by the names that other dialects have for them, as the nodes that are read here.

``count_if(c)`` is ``count(*) FILTER (WHERE c)``; all that is called percentile or quantile is ``quantile(x, share)``, and a list
of shares is several of them; SQL Server's ``stdev`` and ``varp`` are ``stddev`` and ``variance``.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from sqlglot import exp

from discreet.plan.aggregates.base import name_from
from discreet.plan.sql.syntax import only, refusal

_WITH_CONDITION: dict[str, type[exp.Expression]] = {"sum_if": exp.Sum, "sumif": exp.Sum, "avg_if": exp.Avg, "avgif": exp.Avg}
_SHARES = ("percentile", "percentile_approx", "approx_percentile", "quantile_tdigest")
_SPREADS: dict[str, type[exp.Expression]] = {
    "stdev": exp.Stddev,
    "stdevp": exp.Stddev,
    "varp": exp.Variance,
    "vars": exp.Variance,
}
_REFUSED: tuple[str, ...] = (
    "every",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    "json_group_array",
    "xmlagg",
    "list_agg",
)
_REFUSED += ("collect_list", "collect_set", "approx_top_count", "approx_top_sum", "max_n", "min_n", "skew")
# Aggregates that the parser takes for functions of one row.
NAMES = (*_WITH_CONDITION, *_SHARES, *_SPREADS, "count_big", *_REFUSED)

_WITHIN = "WITHIN GROUP is answered as percentile_cont(0.5) WITHIN GROUP (ORDER BY x); or write quantile(x, 0.5)"


def as_read(node: exp.Expression) -> exp.Expression:
    """The node that means the same under a name that is read."""
    if isinstance(node, exp.CountIf):
        only(node, "this")
        return _on_condition(exp.Count(this=exp.Star()), node.this)
    if isinstance(node, exp.ApproxDistinct):
        only(node, "this")
        return exp.Count(this=exp.Distinct(expressions=[node.this.copy()]))
    if isinstance(node, exp.WithinGroup):
        return _within(node)
    if isinstance(node, (exp.PercentileCont, exp.PercentileDisc, exp.ApproxQuantile)):
        only(node, "this", "quantile", "expression")
        return _quantile(node.this, node.args.get("quantile") or node.args.get("expression"))
    if not isinstance(node, exp.Anonymous):
        return node
    name, arguments = str(node.this).lower(), node.args.get("expressions") or []
    if name in _WITH_CONDITION and len(arguments) == 2:
        return _on_condition(_WITH_CONDITION[name](this=arguments[0].copy()), arguments[1])
    if name in _SHARES and len(arguments) == 2:
        return _quantile(arguments[0], arguments[1])
    if name in _SPREADS and len(arguments) == 1:
        return _SPREADS[name](this=arguments[0].copy())
    if name == "count_big" and len(arguments) == 1:
        return exp.Count(this=arguments[0].copy())
    return node


def several(node: exp.Expression) -> list[tuple[str, exp.Expression]]:
    """The quantiles that a list of shares asks for, and what their shares add to a name; none for anything else."""
    if isinstance(node, exp.Filter):
        return [(name, exp.Filter(this=one, expression=node.args["expression"].copy())) for name, one in several(node.this)]
    plain = as_read(node)
    shares = plain.args.get("quantile") if isinstance(plain, exp.Quantile) else None
    if not isinstance(shares, exp.Array):
        return []
    only(shares, "expressions", "value_constructor", "bracket_notation")
    return [(name_from(one.sql()), _quantile(plain.this, one)) for one in shares.expressions]


def _on_condition(aggregate: exp.Expression, test: exp.Expression) -> exp.Expression:
    return exp.Filter(this=aggregate, expression=exp.Where(this=test.copy()))


def _quantile(of: object, share: object) -> exp.Expression:
    parts = {"this": of, "quantile": share}
    return exp.Quantile(**{name: part.copy() for name, part in parts.items() if isinstance(part, exp.Expression)})


def _within(node: exp.Expression) -> exp.Expression:
    only(node, "this", "expression")
    inner, order = node.this, node.args.get("expression")
    ordered = order.expressions if isinstance(order, exp.Order) else []
    if len(ordered) != 1:
        raise refusal(node, _WITHIN)
    only(ordered[0], "this", "desc")
    if isinstance(inner, exp.Mode) and inner.this is None:
        return exp.Mode(this=ordered[0].this.copy())
    if not isinstance(inner, (exp.PercentileCont, exp.PercentileDisc)) or inner.args.get("expression"):
        listed = isinstance(inner, exp.AggFunc) and not isinstance(inner, exp.Mode)
        return inner if listed else _refuse(node)
    only(inner, "this")
    return _quantile(ordered[0].this, _turned(inner.this) if ordered[0].args.get("desc") else inner.this)


def _refuse(node: exp.Expression) -> exp.Expression:
    raise refusal(node, _WITHIN)


def _turned(share: object) -> exp.Expression:
    """A share from above."""
    try:
        if isinstance(share, exp.Literal) and not share.is_string:
            return exp.Literal.number(str(1 - Decimal(str(share.this))))
    except InvalidOperation:
        pass
    raise refusal(
        share, "With DESC the share of a quantile is one constant; write percentile_cont(0.1) WITHIN GROUP (ORDER BY x)"
    )
