"""An answer: noisy numbers with their errors, what they cost, and what is left. It is public; whatever is done with it is free.

>>> yes = Column((41,), (2.8,), (35.5,), (46.5,))
>>> noise = (("count(*)", "Laplace noise of scale 2"),)
>>> answer = Answer("SELECT count(*) AS n FROM data", {}, {"n": yes}, noise, "epsilon=0.5", "epsilon 2.5 of 3 left")
>>> answer.value
41
>>> answer.rows()
[{'n': 41, 'n_lower': 35.5, 'n_upper': 46.5, 'n_error': 2.8}]
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.curator import exports, rendering
from discreet.curator.column import Column, Series, all_read, all_written, write_facts
from discreet.errors import ParameterError
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.margins.agreement import agree, tell_apart
from discreet.plan.margins.levels import make_levels_whole
from discreet.plan.plan import Plan
from discreet.plan.query import Order, Query
from discreet.privacy.account import Account
from discreet.schema.columns import Kind

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

__all__ = ["Answer", "Column", "agreed", "made_whole", "refine", "write_facts"]

_NO_ANSWER = "This text is no answer known here; give what to_json() wrote, or update discreet."
_AGREED = "Counts and sums agree with those of the other questions that were asked together with it."
_APART = (
    "Rows in which {} is missing are in no group: totals of other questions that were asked together with it may be of more "
    "rows. Declare missing=, or write coalesce({}, 'unknown')."
)


@dataclass(frozen=True, repr=False)
class Answer:
    """A table of keys and outputs. Intervals cover the statistic after clamping and bounding.

    ``kinds`` says what type a key or an output has where its declaration says so; others are typed by their values. ``margins``:
    keys that are None are added up over. ``tables``: the same rows as several tables, with keys of their own, for pictures.
    """

    question: str
    keys: Mapping[str, tuple[Value, ...]]
    outputs: Mapping[str, Column]
    parts: tuple[tuple[str, str], ...]
    cost: str
    left: str | Account
    repeated: bool = False
    remarks: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    margins: bool = False
    tables: tuple[Answer, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        keys = {name: tuple(values) for name, values in self.keys.items()}
        object.__setattr__(self, "keys", MappingProxyType(keys))
        object.__setattr__(self, "outputs", MappingProxyType(dict(self.outputs)))
        object.__setattr__(self, "kinds", MappingProxyType(dict(self.kinds)))
        object.__setattr__(self, "parts", tuple((what, how) for what, how in self.parts))
        object.__setattr__(self, "remarks", tuple(self.remarks))
        sizes = {len(values) for values in self.keys.values()} | {column.size for column in self.outputs.values()}
        if len(sizes) != 1:
            raise ParameterError(
                "All keys and outputs of an answer have the same number of rows, and there is at least one column."
            )

    def __len__(self) -> int:
        """The number of rows."""
        return next(iter([*map(len, self.keys.values()), *(column.size for column in self.outputs.values())]))

    def __bool__(self) -> bool:
        return True  # an answer without rows is an answer

    @property
    def value(self) -> Value:
        """The only number, or choice, of an answer with one row and one output."""
        if len(self) != 1 or len(self.outputs) != 1:
            raise ParameterError(
                f"This answer has {len(self):,} rows and {len(self.outputs)} outputs, so there is no single value; "
                "write answer.to_pandas() or answer.rows()."
            )
        return next(iter(self.outputs.values())).values[0]

    def rows(self) -> list[dict[str, Value]]:
        """A dictionary for every row: keys, then ``n``, ``n_lower``, ``n_upper``, ``n_error`` for every output ``n``."""
        return exports.rows(self)

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        return exports.to_arrow(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame."""
        return exports.to_pandas(self)

    def pivot(self, output: str | None = None) -> pandas.DataFrame:
        """One output as a cross table, a pandas DataFrame: the first key down, the others across; margins are called 'all'."""
        return exports.pivot(self, output)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame."""
        return exports.to_polars(self)

    def to_json(self) -> str:
        """A text that means the same answer for ever: what a ledger keeps, and what a repeat gives back.

        Numbers, texts, truth values and null are JSON's own; whatever JSON has no word for is an object with its type's name.
        """
        return write_facts(self.facts())

    def facts(self) -> dict[str, object]:
        """What that text says; many numbers as the array that they are in."""
        return {
            "discreet": "answer",
            "version": 1,
            "question": self.question,
            "keys": {name: all_written(values) for name, values in self.keys.items()},
            "outputs": {name: column.facts() for name, column in self.outputs.items()},
            "parts": [list(part) for part in self.parts],
            "cost": self.cost,
            "left": rendering.left_of(self),
            "repeated": self.repeated,
            "remarks": list(self.remarks),
            "kinds": dict(self.kinds),
            **({"margins": True} if self.margins else {}),
        }

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """The answer that ``to_json`` wrote."""
        try:
            facts = json.loads(text)
        except (TypeError, ValueError):
            raise ParameterError(_NO_ANSWER) from None
        return cls.from_facts(facts)

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Answer:
        """The answer of which these are the facts, as JSON gives them back."""
        try:
            facts = dict(facts)
            if facts.pop("discreet") != "answer" or facts.pop("version") != 1:
                raise ValueError
            facts["keys"] = {name: all_read(values) for name, values in facts["keys"].items()}
            facts["outputs"] = {name: Column.from_facts(column) for name, column in facts["outputs"].items()}
            return cls(**facts)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise ParameterError(_NO_ANSWER) from None

    def plot(self, output: str | None = None, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Bars with 95 % intervals, a panel for every output or the one that is named, and for every marginal of a workload of
        several; needs matplotlib. Bins make a histogram, two keys of many values a heat map; margins are left out."""
        return rendering.plot(self, output, ax, title)

    def picked(self, rows: Sequence[int]) -> Answer:
        """Only these rows, in this order."""

        def pick(column: Column) -> Column:
            parts = (
                None if part is None else tuple(part[i] for i in rows) for part in (column.errors, column.lower, column.upper)
            )
            errors, lower, upper = parts
            return Column(tuple(column.values[i] for i in rows), errors, lower, upper, column.mechanism)

        keys = {name: tuple(values[i] for i in rows) for name, values in self.keys.items()}
        return replace(self, keys=keys, outputs={name: pick(column) for name, column in self.outputs.items()}, tables=())

    def as_tables(self, keys: Sequence[Mapping[str, tuple[Value, ...]]]) -> Answer:
        """The same, whose rows are those of tables with these keys, one after the other."""
        tables, start = [], 0
        for one in keys:
            end = start + len(next(iter(one.values())))
            tables.append(replace(self.picked(range(start, end)), keys=one, kinds={}))
            start = end
        return replace(self, tables=tuple(tables))

    def __float__(self) -> float:
        """The only number of an answer with one row and one output; NaN where nothing is known of it."""
        value = self.value
        if not isinstance(value, (int, float)) and value is not None:
            raise ParameterError(f"The answer is a {type(value).__name__} and no number; write answer.value.")
        return math.nan if value is None else float(value)

    def __getitem__(self, name: str) -> tuple[Value, ...]:
        """The values of a key; those of an output with their intervals, which arithmetic on them carries along."""
        if name in self.outputs:
            column = self.outputs[name]
            source = f"{column.mechanism} for {self.cost}: {column.values}"  # asked again, by any name, it is the same noise
            return Series(column.values, column.lower, column.upper, frozenset({source}))
        if name not in self.keys:
            raise KeyError(f"There is no column {name!r}; there are {', '.join((*self.keys, *self.outputs))}.")
        return self.keys[name]

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return iter(self.rows())

    def __str__(self) -> str:
        return rendering.render_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rendering.render_html(self)

    def __reduce__(self) -> tuple[Callable[[str], Answer], tuple[str]]:
        return Answer.from_json, (self.to_json(),)


def refine(answer: Answer, query: Query) -> Answer:
    """HAVING, ORDER BY, LIMIT and OFFSET on the noisy result, and then only what is selected of it: free."""
    if query.having is None and not query.order and query.limit is None and not query.offset:
        return answer
    shown = {output.name: answer.outputs[output.name] for output in query.outputs if output.shown}
    columns = {**answer.keys, **{name: column.values for name, column in answer.outputs.items()}}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    kept = [i for i, row in enumerate(rows) if query.having is None or evaluate(query.having, row) is True]
    for order in reversed(query.order):  # sorts are stable: the last one is the most important
        kept = _sorted(kept, rows, order)
    kept = kept[query.offset :][: query.limit]

    return replace(answer, outputs=shown).picked(kept)


def agreed(kept: Sequence[tuple[Plan, Answer]]) -> list[Answer]:
    """Answers to what was asked together, whose counts and sums agree: free."""
    if len(kept) < 2:
        return [answer for _, answer in kept]
    found = agree([(plan, {name: column.values for name, column in answer.outputs.items()}) for plan, answer in kept])
    result = []
    for (_, answer), others, apart in zip(kept, found, tell_apart([plan for plan, _ in kept]), strict=True):
        outputs = {name: Column.of(one, answer.outputs[name].mechanism) for name, one in others.items()}
        more = [_AGREED] if outputs else []
        more += [_APART.format(", ".join(apart), apart[0])] if apart else []
        result.append(replace(answer, outputs={**answer.outputs, **outputs}, remarks=(*answer.remarks, *more)))
    return result


def made_whole(answer: Answer, plan: Plan) -> Answer:
    """Counts of a table with margins as whole numbers, where that was asked for; an interval holds the number that is shown, and
    nothing below zero."""
    levels, sizes = plan.query.levels, tuple(map(len, plan.keys.listings or ()))
    if levels is None or not levels.whole:
        return answer
    outputs = {}
    for name, column in answer.outputs.items():
        values = make_levels_whole(levels, sizes, column.values)
        lower = tuple(max(0.0, min(end, x)) for end, x in zip(column.lower or (), values, strict=True))
        upper = tuple(max(end, float(x)) for end, x in zip(column.upper or (), values, strict=True))
        outputs[name] = Column(tuple(values), column.errors, lower, upper, column.mechanism)
    return replace(answer, outputs=outputs)


def _sorted(kept: list[int], rows: list[dict[str, Value]], order: Order) -> list[int]:
    """Missing values last, or first, whichever way."""
    found = {i: evaluate(order.by, rows[i]) for i in kept}
    present = sorted((i for i in kept if found[i] is not None), key=lambda i: found[i], reverse=order.descending)  # type: ignore[arg-type,return-value]
    missing = [i for i in kept if found[i] is None]
    return missing + present if order.missing_first else present + missing
