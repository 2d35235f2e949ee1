"""Random well-typed expressions over awkward rows."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction

from discreet.plan.expressions import Call, Column, Expression, Literal, Value
from discreet.plan.expressions.evaluate import OPERATIONS
from discreet.plan.expressions.facts import facts_of_column
from discreet.schema.columns import boolean, category, date, integer, number, text

DECLARED = {
    "n": number(-1000, 1000, step=0.25),
    "m": number(0, 8, step=0.25, missing=0),
    "i": integer(-5, 5),
    "w": text(),
    "c": category("a%", "_b", "", "Éa", missing=""),
    "b": boolean(),
    "d": date("0001-01-01", "9999-12-31"),
    "e": date("2019-12-30", "2024-02-29", missing="2020-02-29"),
}
FACTS = {name: facts_of_column(column) for name, column in DECLARED.items()}
DAY = datetime.date
VALUES: dict[str, list[Value]] = {
    "n": [None, 0.0, -1000.0, 1000.0, 0.25, -0.25, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 999.75],
    "m": [0.0, 0.25, 8.0, 3.5, 1.0],
    "i": [None, -5.0, 0.0, 5.0, 1.0, -1.0, 2.0],
    "w": [
        None,
        "",
        " ",
        "  a ",
        "abc",
        "ABC",
        "a%b",
        "a_b",
        "%",
        "_",
        "\\",
        "a\\%",
        "'; DROP",
        "a\nb",
        "é",
        "e\u0301",
        "👨‍👩‍👧",
        "\u3000\u00a0x ",
        "z" * 300,
        " 12 ",
        "-7.50",
        "2024-02-29",
        "2023-02-29",
        "0000-01-01",
        "1e5",
        "-0",
    ],
    "c": ["a%", "_b", "", "Éa"],
    "b": [None, True, False],
    "d": [None, DAY(1, 1, 1), DAY(9999, 12, 31), DAY(2024, 2, 29), DAY(1970, 1, 1), DAY(2023, 1, 1), DAY(1582, 10, 10)],
    "e": [DAY(2019, 12, 30), DAY(2024, 2, 29), DAY(2020, 12, 31)],
}
KINDS = ("boolean", "date", "number", "text")
BY_KIND = {kind: [name for name, facts in FACTS.items() if facts.kind == kind] for kind in KINDS}
CONSTANTS: dict[str, list[Value]] = {
    "number": [0, 1, -1, 3, Fraction(1, 4), Fraction(-5, 2), 1000, Fraction(1, 10)],
    "text": ["", "a", "a%", "%b%", "_", "A", "\\", "é", "%", "__"],
    "boolean": [True, False],
    "date": [DAY(2020, 1, 1), DAY(1, 1, 1), DAY(9999, 12, 31)],
}
_NUMBERS = "sqrt ln exp log2 log10 power trunc sign round_to trunc_to width_bucket "
_NUMBERS += "+ - * / // % neg abs floor ceil round least greatest case coalesce nullif "
_NUMBERS += "length year quarter month week day weekday dow dayofyear isoyear days months strpos try_number try_whole"
_TEXTS = "case coalesce nullif upper lower trim substring left right concat || bin least "
_TEXTS += "strftime ltrim rtrim split_part replace lpad rpad regexp_extract regexp_replace as_text"
_TRUTHS = "= <> < <= > >= and or not is_null in like starts_with ends_with contains regexp_matches case coalesce"
_DATES = "case coalesce nullif least greatest try_date date_trunc add_days add_months"
# constants of operations that take these and no others
SHAPED: dict[str, list[tuple[Value, ...]]] = {
    "ltrim": [(" ",), ("az",), ("\\%é",)],
    "rtrim": [(" ",), ("bcB",)],
    "split_part": [(" ", 1), ("b", 2), ("zz", 3), ("%", 1)],
    "replace": [("a", "bb"), ("b", ""), ("\u0301", "é"), ("zz", "y")],
    "lpad": [(4, "0"), (0, "x"), (2, "é")],
    "rpad": [(4, " "), (1, "-")],
    "regexp_matches": [
        ("^a",),
        ("[^\\n]$",),
        ("z{3,5}",),
        ("a|b|^$",),
        ("(?:ab|a)[\\s\\S]",),
        ("é+",),
        ("\\\\",),
        ("\\ba",),
        ("b\\B",),
    ],
    "regexp_extract": [("(a|ab)",), ("((?:ab|a)b?)",), ("b(c|C)?",), ("([^ ]+)",), ("^([\\s\\S]{0,2})",)],
    "regexp_replace": [
        *(("[ab]+", "-", "g"), ("é|b", "", "g"), ("\\bz|c\\b", "xyz", "g")),
        *(("(?:ab|a)c?", "$0", "g"), ("^[^ ]", "''", "g"), (" $", "%", "g")),
    ],
    "round_to": [(2,), (0,), (-1,), (1,)],
    "trunc_to": [(1,), (-2,)],
    "width_bucket": [(0, 8, 4), (Fraction(-1, 4), 5, 7), (-1000, 1000, 10)],
    "power": [(2,), (3,), (0,), (-1,), (Fraction(1, 2),), (Fraction(-3, 2),), (20,)],
    "date_trunc": [("week",), ("month",), ("quarter",), ("year",)],
    "add_days": [(0,), (1,), (-400,), (36525,)],
    "add_months": [(1,), (-1,), (12,), (-37,)],
    "strftime": [("%Y-%m",), ("%B",), ("%a %d %b",), ("%G/%V/%u",), ("%j %y %A%%",), ("x",)],
}
MAKES = {"number": _NUMBERS.split(), "text": _TEXTS.split(), "boolean": _TRUTHS.split(), "date": _DATES.split()}


def rows(count: int, chance: random.Random) -> list[dict[str, Value]]:
    return [{name: chance.choice(values) for name, values in VALUES.items()} for _ in range(count)]


def draw(kind: str, depth: int, chance: random.Random) -> Expression:
    """A random expression of a type, of well-typed parts."""
    if depth == 0 or chance.random() < 0.1:
        return Column(chance.choice(BY_KIND[kind])) if chance.random() < 0.75 else Literal(chance.choice(CONSTANTS[kind]))
    name = chance.choice(MAKES[kind])
    operation = OPERATIONS[name]
    some = chance.choice(KINDS)
    if name == "case":
        parts = [draw("boolean", depth - 1, chance), draw(kind, depth - 1, chance)] * chance.choice([1, 2])
        return Call(name, (*parts, chance.choice([Literal(None), draw(kind, depth - 1, chance)])))
    if name == "bin":
        return Call(name, (draw("number", depth - 1, chance), *map(Literal, (-2, 0, Fraction(1, 2), 10))))
    if name == "in":
        return Call(name, (draw(some, depth - 1, chance), *map(Literal, chance.sample(CONSTANTS[some], 2))))
    if name == "like":
        return Call(name, (draw("text", depth - 1, chance), Literal(chance.choice(CONSTANTS["text"]))))
    if name in ("substring", "left", "right"):
        places = [Literal(chance.choice([1, 2, 400])), Literal(chance.choice([0, 1, 3]))]
        return Call(name, (draw("text", depth - 1, chance), *places[-(operation.least - 1) :]))
    if name in SHAPED:
        inside = draw(operation.takes[0], depth - 1, chance)
        return Call(name, (inside, *map(Literal, chance.choice(SHAPED[name]))))
    whole = kind if name in ("least", "greatest", "coalesce", "nullif") else some
    count = operation.least if operation.most else chance.choice([operation.least, 3])
    wanted = [operation.takes[min(j, len(operation.takes) - 1)] for j in range(count)]
    return Call(name, tuple(draw(whole if want in ("same", "any") else want, depth - 1, chance) for want in wanted))
