"""HAVING, ORDER BY and LIMIT: on the noisy result, so free."""

from __future__ import annotations

from dataclasses import replace

from discreet.curator.answer import Answer, Column
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.query import Order, Query

__all__ = ["refine"]


def refine(answer: Answer, query: Query) -> Answer:
    """Keep, sort and cut rows of a noisy result."""
    if query.having is None and not query.order and query.limit is None:
        return answer
    columns = {**answer.keys, **{name: column.values for name, column in answer.outputs.items()}}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kept = [i for i, row in enumerate(rows) if query.having is None or evaluate(query.having, row) is True]
    for order in reversed(query.order):  # sorts are stable: the last one is the most important
        kept = _sorted(kept, rows, order)
    kept = kept[: query.limit]

    def pick(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(values[i] for i in kept)

    def cut(numbers: tuple[float, ...] | None) -> tuple[float, ...] | None:
        return None if numbers is None else tuple(numbers[i] for i in kept)

    outputs = {
        name: Column(pick(c.values), cut(c.errors), cut(c.lower), cut(c.upper), c.mechanism) for name, c in answer.outputs.items()
    }
    return replace(answer, keys={name: pick(values) for name, values in answer.keys.items()}, outputs=outputs)


def _sorted(kept: list[int], rows: list[dict[str, Value]], order: Order) -> list[int]:
    """Missing values last, whichever way."""
    found = {i: evaluate(order.by, rows[i]) for i in kept}
    present = sorted((i for i in kept if found[i] is not None), key=lambda i: found[i], reverse=order.descending)  # type: ignore[arg-type,return-value]
    return present + [i for i in kept if found[i] is None]
