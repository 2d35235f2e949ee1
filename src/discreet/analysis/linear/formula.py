"""Formulas of linear models: ``debt ~ age + ward + age:ward``, and the columns of the design that they mean.

Terms are joined by ``+``; ``a:b`` is the product of two, ``a*b`` is ``a + b + a:b``; ``- 1`` or ``+ 0`` leaves the intercept
out, and ``- a`` a term. A variable is a column, ``I(age // 10)`` or an expression in backticks, as SQL writes it; ``C(x)``
takes a number with few values as a category. Categories are coded against their first declared level, and with all their
levels where the term without them is not in the model, as R and patsy do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.analysis.linear.gram import Cell, as_share, bare
from discreet.curator.question import Question
from discreet.display import label
from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.plan import facts_of

MOST_COLUMNS = 60
_MOST_CROSSED = 6
_TOKEN = re.compile(r"\s*(?:(?P<quoted>`[^`]*`)|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)?)|(?P<number>\d+)|(?P<sign>[-+:*~()^/|.]))")
_SHOWN = 'write for example "debt ~ age + ward + age:ward"'

Term = tuple[Expression, ...]  # variables that are multiplied; none: the intercept


@dataclass(frozen=True)
class Column:
    """One column of a design: the product of numbers, as they are and not centred, in one cell of categories."""

    label: str
    numbers: tuple[str, ...] = ()
    at: tuple[tuple[str, int], ...] = ()

    @property
    def cells(self) -> list[Cell]:
        """The products of numbers in [-1, 1] that it is a linear form of."""
        subsets = itertools.chain.from_iterable(itertools.combinations(self.numbers, k) for k in range(len(self.numbers) + 1))
        return [Cell(tuple(sorted(of)), self.at) for of in subsets]


@dataclass(frozen=True)
class Formula:
    """A response, and terms in order; ``categories`` are those of its variables that are taken as such."""

    response: Expression
    terms: tuple[Term, ...]
    categories: frozenset[Expression]
    text: str
    share: bool = False  # whether the response is a truth value, as 0 or 1

    @property
    def explained(self) -> str:
        """The response, as it was written."""
        return self.text.split("~")[0].strip()

    @property
    def variables(self) -> tuple[Expression, ...]:
        """What the terms are made of, each once."""
        return tuple(dict.fromkeys(one for term in self.terms for one in term))

    @property
    def intercept(self) -> bool:
        return () in self.terms

    def columns(self, levels: Mapping[str, tuple[Value, ...]]) -> tuple[Column, ...]:
        """The columns of the design."""
        found = []
        sets = {frozenset(term) for term in self.terms}
        for term in self.terms:
            parts = [self._coded(one, levels, reduced=frozenset(term) - {one} in sets) for one in term]
            for each in itertools.product(*parts):
                numbers = tuple(name for name, level in each if level is None)
                at = tuple((name, level) for name, level in each if level is not None)
                found.append(Column(_label(each, levels), numbers, at))
        if len(found) > MOST_COLUMNS:
            raise ParameterError(
                f"This model has {len(found)} coefficients, and at most {MOST_COLUMNS} are fitted; leave terms out."
            )
        return tuple(found)

    def _coded(
        self, one: Expression, levels: Mapping[str, tuple[Value, ...]], *, reduced: bool
    ) -> Sequence[tuple[str, int | None]]:
        if one not in self.categories:
            return [(str(one), None)]
        return [(str(one), level) for level in range(int(reduced), len(levels[str(one)]))]

    def __str__(self) -> str:
        return self.text


def _label(each: Sequence[tuple[str, int | None]], levels: Mapping[str, tuple[Value, ...]]) -> str:
    parts = [bare(name) if level is None else f"{bare(name)}[{label(levels[name][level])}]" for name, level in each]
    return ":".join(parts) or "intercept"


def read_formula(rows: Question, text: str) -> Formula:
    """A formula over the columns in sight; a truth value as a response is a share."""
    facts = facts_of(rows.facts, rows.rows.tables)
    found = parse_formula(text, rows.read, lambda one: infer(one, facts).kind in ("text", "boolean", "date"))
    known = infer(found.response, facts)
    if known.kind != "boolean":
        return found
    return replace(found, response=as_share(found.response, nullable=known.nullable), share=True)


def parse_formula(text: object, read: Callable[[str], Expression], is_category: Callable[[Expression], bool]) -> Formula:
    """The formula that a text means; ``read`` makes an expression of a variable's text."""
    if not isinstance(text, str):
        raise ParameterError(f"A formula is a text, not {type(text).__name__}; {_SHOWN}.")
    sides = text.split("~")
    if len(sides) != 2 or not sides[0].strip():
        raise ParameterError(f"A formula has a response, one ~ and terms; {_SHOWN}.")
    left = _Reader(sides[0], read)
    response, as_category = left.variable()
    left.end()
    if as_category:
        raise ParameterError("The response is a number; leave C() out.")
    right = _Reader(sides[1], read)
    terms = right.terms()
    variables = [one for term in terms for one in term]
    categories = frozenset(one for one in variables if one in right.categories or is_category(one))
    if response in variables:
        raise ParameterError(f"{bare(str(response))} is the response, and explains itself; leave it out of the terms.")
    if not terms:
        raise ParameterError(f"This formula has neither terms nor an intercept; {_SHOWN}.")
    return Formula(response, terms, categories, " ".join(text.split()))


class _Reader:
    """Reads one side of a formula from left to right."""

    def __init__(self, text: str, read: Callable[[str], Expression]) -> None:
        self._text, self._read, self._place = text, read, 0
        self.categories = set[Expression]()

    def terms(self) -> tuple[Term, ...]:
        """All terms: the intercept first, then in the order in which they are written."""
        found: dict[frozenset[Expression], Term] = {frozenset(): ()}
        sign = self._take("-", "+") or "+"
        while True:
            number = self._number()
            added = (sign == "+") != (number == "0")  # - 0 is + 1
            for term in [()] if number else self._crossed():
                if added:
                    found.setdefault(frozenset(term), term)
                else:
                    found.pop(frozenset(term), None)
            taken = self._take("+", "-")
            if taken is None:
                self.end()
                return tuple(sorted(found.values(), key=bool))
            sign = taken

    def _crossed(self) -> list[Term]:
        """``a*b:c``: a, b:c and their product."""
        parts = [self._product()]
        while self._take("*"):
            parts.append(self._product())
            if len(parts) > _MOST_CROSSED:
                raise ParameterError(
                    f"At most {_MOST_CROSSED} variables are crossed by *; write the products that you mean with :."
                )
        parts = list(dict.fromkeys(parts))
        several = (itertools.combinations(parts, k) for k in range(1, len(parts) + 1))
        return [tuple(dict.fromkeys(one for part in some for one in part)) for those in several for some in those]

    def _product(self) -> Term:
        """``a:b``."""
        parts = [self._factor()]
        while self._take(":"):
            parts.append(self._factor())
            if len(parts) > _MOST_CROSSED:
                raise ParameterError(f"At most {_MOST_CROSSED} variables are multiplied in a term; name fewer.")
        return tuple(dict.fromkeys(parts))

    def _factor(self) -> Expression:
        of, as_category = self.variable()
        if as_category:
            self.categories.add(of)
        return of

    def variable(self) -> tuple[Expression, bool]:
        """A column or an expression, and whether it is to be taken as a category."""
        found = _TOKEN.match(self._text, self._place)
        if found is None or found["sign"] or found["number"]:
            raise self._refusal()
        self._place = found.end()
        if found["quoted"]:
            return self._read(found["quoted"][1:-1]), False
        name = found["name"]
        if name in ("I", "C") and self._text[self._place :].lstrip().startswith("("):
            return self._read(self._bracketed()), name == "C"
        if self._text[self._place :].lstrip().startswith("("):
            raise ParameterError(f"{name}(...) is no part of a formula; write I({name}(...)) for an expression of SQL.")
        return self._read(name), False

    def _bracketed(self) -> str:
        start = self._text.index("(", self._place)
        depth = 0
        for i in range(start, len(self._text)):
            depth += (self._text[i] == "(") - (self._text[i] == ")")
            if not depth:
                self._place = i + 1
                return self._text[start + 1 : i]
        raise ParameterError(f"A bracket of this formula is not closed; {_SHOWN}.")

    def _take(self, *signs: str) -> str | None:
        found = _TOKEN.match(self._text, self._place)
        if found is None or found["sign"] not in signs:
            return None
        self._place = found.end()
        return found["sign"]

    def _number(self) -> str | None:
        found = _TOKEN.match(self._text, self._place)
        if found is None or found["number"] is None:
            return None
        if found["number"] not in ("0", "1"):
            raise ParameterError(f"{found['number']} is no term; write + 1 or - 1 for the intercept, I(...) for an expression.")
        self._place = found.end()
        return found["number"]

    def end(self) -> None:
        """Refuse what is left over."""
        if self._text[self._place :].strip():
            raise self._refusal()

    def _refusal(self) -> ParameterError:
        rest = self._text[self._place :].strip()[:40]
        where = f"at {rest!r}" if rest else "at its end"
        return ParameterError(f"This formula cannot be read {where}; {_SHOWN}.")
