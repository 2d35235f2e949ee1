"""Tables that add up: counts, sums or means by some keys, with every margin and the total, of which no two disagree.

``hospital.table(by=["sex", "ward"], epsilon=1)`` is the question GROUP BY CUBE (sex, ward): its levels are measured by the
strategy that has the least error when all of them weigh alike, or as ``weights`` say, and are made consistent afterwards
(``plan.margins.lattice``). Keys that may be missing have a line for that, so that every row is in the table, and tables by
other keys have the same total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan.aggregates import Askable, Count, count
from discreet.plan.cost import Accuracy
from discreet.plan.expressions import Call, Expression, Literal, Value
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.expressions.facts import Facts
from discreet.plan.margins.lattice import Level, below
from discreet.plan.margins.levels import MOST_AXES
from discreet.plan.plan import facts_of
from discreet.plan.query import Key, Levels

Names = str | tuple[str, ...]  # of the keys that a level keeps

_MOST_VALUES = 1000  # of a key that is a number or a date
_MOST_TEXTS = 256  # values of a key that may be missing and is no text, each of which is written as one
_BY = 'by= names the keys of the table; write table(by=["sex", "ward"]).'


@called_as('by=["sex", "ward"]')
def table(
    rows: Question,
    by: str | Sequence[str] | Mapping[str, str],
    of: Askable | Mapping[str, Askable] | None = None,
    *,
    margins: bool = True,
    weights: Mapping[Names, Number] | None = None,
    whole: bool = False,
    missing: str | None = "(missing)",
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Answer | Question:
    """A table by these keys with all its margins (keys that are added up over are None in rows, and "all" in print).

    ``of``: ``count()`` where nothing is said, ``sum("cost")``, ``mean("cost")``, or several by name. ``weights``: how much the
    error of a level matters, ``{("sex", "ward"): 1, "sex": 3, (): 1}``; 1 where nothing is said. ``whole``: counts as whole
    numbers, none negative, that add up. ``missing``: what rows are called in which a key is missing; None leaves them out.
    """
    named = _named(by)
    if len(named) > MOST_AXES:
        raise ParameterError(f"A table has at most {MOST_AXES} keys, not {len(named):,}; ask for fewer at a time.")
    keys = tuple(_key(rows, name, text, missing) for name, text in named.items())
    asked = rows.keyed(*keys).agg({"n": count()} if of is None else of)
    every: Level = tuple(range(len(keys)))
    levels = below([every]) if margins else (every,)
    question = asked.leveled(Levels(levels, _weights(weights, levels, [key.name for key in keys]), bool(whole)))
    if whole and not all(isinstance(one, Count) for one in question.aggregates):
        raise ParameterError("whole=True makes counts whole; leave it out for sums and means, or ask for of=count().")
    if epsilon is None and rho is None and accuracy is None:
        return question
    return question.release(epsilon=epsilon, rho=rho, accuracy=accuracy, at_least=at_least)


def _named(by: object) -> dict[str, str]:
    """The keys, by their names."""
    listed = [by] if isinstance(by, str) else by
    if isinstance(listed, Mapping):
        pairs = list(listed.items())
    elif isinstance(listed, Sequence):
        pairs = [(one, one) for one in listed]
    else:
        raise ParameterError(_BY)
    if not pairs or not all(isinstance(part, str) for pair in pairs for part in pair):
        raise ParameterError(_BY)
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ParameterError("by= names a key twice; name each once.")
    return found


def _key(rows: Question, name: str, text: str, missing: str | None) -> Key:
    """A key that is never missing, as far as that can be written."""
    of = rows.read(text)
    facts = facts_of(rows.facts, rows.rows.tables)
    known = infer(of, facts)
    many = known.kind in ("number", "date") and (known.size is None or known.size > _MOST_VALUES)
    values = None if many else listing(of, facts)
    if values is None:
        raise ParameterError(
            f"{name} has no list of values that a table could have a line for; declare a category, or write bins: "
            f"by={{{name[:40]!r}: 'bin({text[:40]}, 0, 10, 100)'}}, or 'year({text[:40]})' for a date."
        )
    if len(values) < 2:
        raise ParameterError(f"{name} has one value only, so that it divides nothing; leave it out of by=.")
    if missing is not None and not (isinstance(missing, str) and 0 < len(missing) <= 100 and missing.isprintable()):
        raise ParameterError('missing= is what rows are called in which a key is missing; write missing="unknown", or None.')
    return Key(name, of if missing is None or not known.nullable else _present(of, known, values, missing))


def _present(of: Expression, known: Facts, values: Sequence[Value], missing: str) -> Expression:
    """The same with a text where it is missing; other values than texts are written as such, where they are few."""
    if known.kind == "text":
        return Call("coalesce", (of, Literal(missing)))
    if len(values) > _MOST_TEXTS:
        return of
    cases: list[Expression] = []
    for value in values:
        exact = float(value) if isinstance(value, Fraction) and value.denominator > 1 else value
        cases += [Call("=", (of, Literal(value))), Literal(str(exact).lower() if isinstance(value, bool) else str(exact))]
    return Call("case", (*cases, Literal(missing)))


def _weights(given: object, levels: Sequence[Level], names: Sequence[str]) -> tuple[Fraction, ...]:
    """The weight of every level."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise ParameterError('weights= is a dictionary of levels; write weights={("sex", "ward"): 1, "sex": 3, (): 1}.')
    found = dict.fromkeys(levels, Fraction(1))
    for level, weight in given.items():
        parts = (level,) if isinstance(level, str) else tuple(level) if isinstance(level, (tuple, list, frozenset)) else (None,)
        places = tuple(sorted(names.index(part) for part in parts if part in names))
        if len(places) < len(parts) or places not in found:
            raise ParameterError(
                f"weights= names a level by its keys, of {', '.join(names)}; write one, several as a tuple, or () for the total."
            )
        found[places] = Fraction(positive(f"weight of {level}", weight, "a number such as 2"))
        if not 10**-6 <= found[places] <= 10**6:
            raise ParameterError("Weights of levels are numbers from a millionth to a million; write for example 2.")
    return tuple(found.values())
