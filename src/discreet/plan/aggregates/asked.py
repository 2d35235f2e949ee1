"""Aggregates as Python asks for them, and arithmetic on them: ``+ - * /`` and ``round`` make formulas, as SQL writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Aggregate, name_from
from discreet.plan.aggregates.combined import combine
from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.plan.expressions.values import plain_values

Read = Callable[[str], Expression]

_MOST = 200  # operations of a formula


class Askable(ABC):
    """What can be asked for: an aggregate, or a formula of aggregates."""

    @abstractmethod
    def aggregate(self, read: Read) -> Aggregate:
        """What it means; ``read`` knows the columns of a table."""

    def __add__(self, other: object) -> Computed:
        return compute("+", self, other)

    def __radd__(self, other: object) -> Computed:
        return compute("+", other, self)

    def __sub__(self, other: object) -> Computed:
        return compute("-", self, other)

    def __rsub__(self, other: object) -> Computed:
        return compute("-", other, self)

    def __mul__(self, other: object) -> Computed:
        return compute("*", self, other)

    def __rmul__(self, other: object) -> Computed:
        return compute("*", other, self)

    def __truediv__(self, other: object) -> Computed:
        return compute("/", self, other)

    def __rtruediv__(self, other: object) -> Computed:
        return compute("/", other, self)

    def __neg__(self) -> Computed:
        return compute("neg", self)

    def __abs__(self) -> Computed:
        return compute("abs", self)

    def __round__(self, digits: int | None = None) -> Computed:
        return compute("round", self) if digits is None else compute("round_to", self, digits)


@dataclass(frozen=True)
class Computed(Askable):
    """A formula of aggregates and constants."""

    operation: str
    of: tuple[Askable | Literal, ...]
    size: int = 1  # operations

    def aggregate(self, read: Read) -> Aggregate:
        parts: dict[str, Aggregate] = {}

        def formula(one: Askable | Literal) -> Expression:
            if isinstance(one, Literal):
                return one
            if isinstance(one, Computed):
                return Call(one.operation, tuple(map(formula, one.of)))
            name = str(len(parts))
            parts[name] = one.aggregate(read)
            return Column(name)

        return combine(formula(self), parts)


def compute(operation: str, *of: object) -> Computed:
    """A formula of aggregates and numbers; anything else is refused."""
    found: list[Askable | Literal] = []
    for one in of:
        number = hasattr(one, "__float__") and not isinstance(one, bool) and not getattr(one, "shape", ())
        if not isinstance(one, Askable) and not number:
            raise ParameterError(
                f"Aggregates are computed with aggregates and numbers, not with {type(one).__name__}; write "
                'sum("cost") / sum("days"), or 100 * mean("smoker").'
            )
        found.append(one if isinstance(one, Askable) else Literal(plain_values("Numbers of a formula", [one], "100")[0]))
    size = 1 + sum(one.size for one in found if isinstance(one, Computed))
    if size > _MOST:
        raise ParameterError(f"A formula has at most {_MOST} operations; ask for its parts.")
    return Computed(operation, tuple(found), size)


Known = Mapping[str, Callable[..., Askable]]


@called_as('sum("cost"), sum("days")')
def ratio(over: Askable, under: Askable) -> Computed:
    """One aggregate divided by another; where the second may be 0, the answer says that nothing is known."""
    return compute("/", over, under)


def named(
    unnamed: Sequence[object], outputs: Mapping[str, object], known: Mapping[str, Callable[..., Askable]]
) -> dict[str, Askable]:
    """What ``agg`` is asked for, by the names of the answer's columns: dictionaries and lists as pandas takes them, aggregates by
    themselves, and those that are named. ``known``: aggregates by the names that a dictionary may use."""
    found: dict[str, Askable] = {}
    for one in unnamed:
        if isinstance(one, Mapping):
            for column, wanted in one.items():
                if isinstance(wanted, Askable):
                    _add(found, str(column), wanted)
                    continue
                for kind in [wanted] if isinstance(wanted, str) else _listed(column, wanted):
                    _add(found, f"{name_from(str(column))}_{kind}", _of(str(column), kind, known))
        else:
            for asked in _listed("agg", one) if isinstance(one, (list, tuple)) else [one]:
                checked = _check("An aggregate", asked)
                _add(found, _name(checked), checked)
    for name, asked in outputs.items():
        _add(found, name, _check(name, asked))
    return found


def _add(found: dict[str, Askable], name: str, asked: Askable) -> None:
    if name in found:
        raise ParameterError(f"Two aggregates would be called {name}; name one of them: agg({name[:40]}_2=...).")
    found[name] = asked


def _check(name: str, asked: object) -> Askable:
    if not isinstance(asked, Askable):
        raise ParameterError(f'{name} must be an aggregate such as count() or mean("debt"), not {type(asked).__name__}.')
    return asked


def _listed(name: object, wanted: object) -> list[object]:
    if isinstance(wanted, (list, tuple)):
        return list(wanted)
    raise ParameterError(f'{str(name)[:60]} takes names of aggregates; write {{"debt": ["sum", "mean"]}}.')


def _of(column: str, kind: object, known: Known) -> Askable:
    """An aggregate of a column by its name; those that would show a single person are refused as SQL refuses them."""
    if kind in ("min", "max"):
        share = 0.01 if kind == "min" else 0.99
        raise ParameterError(f'{kind} would show the value of a single person; write quantile("{column[:60]}", {share}).')
    if not isinstance(kind, str) or kind not in known:
        raise ParameterError(f"{str(kind)[:60]!r} is no aggregate by name; there are {', '.join(known)}.")
    return known[kind](column)


def _name(asked: Askable) -> str:
    """The name of a column that was given none, as pandas makes one: what of, and which."""
    if isinstance(asked, Computed):
        return name_from("_".join(_name(one) for one in asked.of if isinstance(one, Askable)))
    kind, of = getattr(asked, "kind", ""), getattr(asked, "of", None)
    return kind if of is None else f"{name_from(str(of))}_{kind}"
