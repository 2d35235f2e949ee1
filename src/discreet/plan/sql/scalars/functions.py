"""Functions of numbers and texts that have a form of their own, in the spellings of several dialects: rounding, logarithms, bins,
missing values, positions, trimming and patterns."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.patterns import canonical, canonical_like, canonical_similar
from discreet.plan.sql.scalars.casts import convert
from discreet.plan.sql.scalars.constants import Form, Named, Read, check_small, compare, refuse_always
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import only, refusal

_MOST_BINS = 1000
MOST_TEXT = 10**6  # characters: what substring(x, 3) takes
_LOG = "log is base 10 on some systems and base e on others; write ln(x), log10(x) or log2(x)"
_FORMATS = (
    "Days in texts are read as 2026-01-31, or in a declared format: dp.date(..., format='%d.%m.%Y'); write TRY_CAST(x AS DATE)"
)


def _digits(name: str) -> Form:
    """``round(x)`` and ``round(x, 2)``; ``trunc`` the same."""

    def form(node: exp.Expression, read: Read, _: Scope) -> Expression:
        only(node, "this", "decimals")
        digits = node.args.get("decimals")
        if digits is None:
            return Call(name, (read(node.this),))
        return Call(f"{name}_to", (read(node.this), read(digits)))

    return form


def _distinct(node: exp.Expression, read: Read, scope: Scope) -> Expression:
    """``a IS DISTINCT FROM b``: whether they differ, where missing is a value like any other."""
    only(node, "this", "expression")
    sides = [check_small(read(node.this)), check_small(read(node.args.get("expression")))]
    none = [one for one in sides if isinstance(one, Literal) and one.value is None]
    found: Expression
    if none:
        others = [one for one in sides if one not in none]
        found = Call("not", (Call("is_null", (others[0] if others else none[0],)),))
    else:
        both = Call("and", tuple(Call("is_null", (one,)) for one in sides))
        found = Call("coalesce", (compare("<>", sides, scope), Call("not", (both,))))
    return Call("not", (found,)) if isinstance(node, exp.NullSafeEQ) else found


def _trim(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``trim(x)``, ``ltrim(x)``, ``trim(LEADING '0' FROM x)``."""
    only(node, "this", "expression", "position")
    signs, where = node.args.get("expression"), str(node.args.get("position") or "BOTH").upper()
    found = read(node.this)
    if signs is None and where == "BOTH":
        return Call("trim", (found,))
    trimmed = Literal(" ") if signs is None else read(signs)
    for name, places in (("ltrim", ("BOTH", "LEADING")), ("rtrim", ("BOTH", "TRAILING"))):
        if where in places:
            found = Call(name, (found, trimmed))
    return found


def _pad(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "expression", "fill_pattern", "is_left")
    fill = node.args.get("fill_pattern")
    name = "lpad" if node.args.get("is_left") else "rpad"
    return Call(name, (read(node.this), read(node.args.get("expression")), Literal(" ") if fill is None else read(fill)))


def _constant(node: exp.Expression, found: Expression) -> str:
    if not isinstance(found, Literal) or not isinstance(found.value, str):
        raise refusal(node, "A pattern is a text constant; write x ~ '^a[0-9]+', or contains(x, y)")
    return found.value


def _matches(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``x ~ 'pattern'``, ``regexp_matches(x, 'pattern', 'i')``."""
    only(node, "this", "expression", "flag", "full_match")
    flags = "" if node.args.get("flag") is None else _constant(node, read(node.args.get("flag")))
    if set(flags) - {"i", "c"}:
        raise refusal(node, "Of the flags of a pattern only 'i' is answered, for either case; leave the others out")
    text = _constant(node, read(node.args.get("expression")))
    if isinstance(node, exp.RegexpFullMatch):
        text = f"^(?:{text})$"
    fold = isinstance(node, exp.RegexpILike) or "i" in flags
    return Call("regexp_matches", (read(node.this), Literal(canonical(text, fold=fold))))


def _similar(node: exp.Expression, read: Read, _: Scope) -> Expression:
    only(node, "this", "expression")
    text = _constant(node, read(node.args.get("expression")))
    return Call("regexp_matches", (read(node.this), Literal(canonical_similar(text))))


def _escaped(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``x LIKE '%!%' ESCAPE '!'``."""
    only(node, "this", "expression")
    inner, escape = node.this, _constant(node, read(node.args.get("expression")))
    if not isinstance(inner, (exp.Like, exp.ILike)) or len(escape) != 1:
        raise refusal(node, "ESCAPE takes one character after LIKE; write x LIKE '10!%' ESCAPE '!'")
    only(inner, "this", "expression", "negate")
    value, text = read(inner.this), _constant(node, read(inner.args.get("expression")))
    if isinstance(inner, exp.ILike):
        value, text, escape = Call("lower", (value,)), text.lower(), escape.lower()
    found = Call("regexp_matches", (value, Literal(canonical_like(text, escape))))
    return Call("not", (found,)) if inner.args.get("negate") else found


def _extracted(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``regexp_extract(x, 'a(b)', 1)``."""
    only(node, "this", "expression", "group", "null_if_pos_overflow")
    group = node.args.get("group")
    number = Literal(0) if group is None else read(group)
    if not isinstance(number, Literal) or type(number.value) is not int or not 0 <= number.value <= 9:
        raise refusal(node, "The group of regexp_extract is a constant from 0 to 9; write regexp_extract(x, '([0-9]+)', 1)")
    text = _constant(node, read(node.args.get("expression")))
    return Call("regexp_extract", (read(node.this), Literal(canonical(text, group=number.value))))


def _replaced(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``regexp_replace(x, '[0-9]+', '#', 'g')``."""
    only(node, "this", "expression", "replacement", "modifiers", "single_replace")
    flags = "" if node.args.get("modifiers") is None else _constant(node, read(node.args.get("modifiers")))
    if set(flags) - {"g", "i", "c"} or "g" not in flags:
        raise refusal(
            node,
            "regexp_replace replaces the first match on some systems and all on others; write regexp_replace(x, '[0-9]+', '#', "
            "'g') for all, 'gi' for either case",
        )
    text, other = (_constant(node, read(node.args.get(part))) for part in ("expression", "replacement"))
    return Call("regexp_replace", (read(node.this), Literal(canonical(text, fold="i" in flags)), Literal(other), Literal("g")))


def _whether(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``nvl2(x, present, missing)``."""
    only(node, "this", "true", "false")
    return Call("case", (Call("is_null", (read(node.this),)), read(node.args.get("false")), read(node.args.get("true"))))


def _joined(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``concat_ws('-', a, b)``: each with the separator before it, what is missing left out, and the first separator cut off."""
    only(node, "expressions", "safe", "coalesce")
    separator, *parts = (read(one) for one in node.expressions)
    if not isinstance(separator, Literal) or not isinstance(separator.value, str) or len(parts) < 2:
        raise refusal(node, "concat_ws takes a text constant and two or more texts; write concat_ws('-', a, b)")
    joined = Call("concat", tuple(Call("||", (separator, part)) for part in parts))
    return Call("substring", (joined, Literal(len(separator.value) + 1), Literal(MOST_TEXT)))


def _day(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``make_date(2024, 6, 1)``."""
    only(node, "year", "month", "day")
    parts = [one.value for one in (read(node.args.get(part)) for part in ("year", "month", "day")) if isinstance(one, Literal)]
    try:
        year, month, day = (part for part in parts if isinstance(part, int))
        return Literal(datetime.date(year, month, day))
    except (ValueError, OverflowError):
        raise refusal(node, "A date is made of three constants that name a day; write DATE '2026-01-31'") from None


FORMS: Mapping[type[exp.Expression], Form] = {
    exp.Round: _digits("round"),
    exp.Trunc: _digits("trunc"),
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: _distinct,
    exp.Trim: _trim,
    exp.Pad: _pad,
    exp.RegexpLike: _matches,
    exp.RegexpILike: _matches,
    exp.RegexpFullMatch: _matches,
    exp.SimilarTo: _similar,
    exp.Escape: _escaped,
    exp.RegexpExtract: _extracted,
    exp.RegexpSubstr: _extracted,
    exp.RegexpReplace: _replaced,
    exp.Nvl2: _whether,
    exp.ConcatWs: _joined,
    exp.DateFromParts: _day,
}


def _logarithm(_: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, __: Scope) -> Expression:
    return Call(name, (read(arguments[0]),))


def _log(node: exp.Expression, _: str, arguments: Sequence[exp.Expression], read: Read, __: Scope) -> Expression:
    if len(arguments) == 1:
        raise refusal(node, _LOG)
    base, value = (read(one) for one in arguments)
    if not isinstance(base, Literal) or not isinstance(base.value, (int, Fraction)) or base.value <= 0 or base.value == 1:
        raise refusal(node, "The base of a logarithm is a constant above 0, not 1, and comes first; write log(10, x)")
    if base.value in (2, 10):
        return Call(f"log{base.value}", (value,))
    return Call("/", (Call("ln", (value,)), Call("ln", (base,))))


def _bin(node: exp.Expression, _: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
    """``bin(x, 0, 18, 65)`` with edges, ``bin(x, width => 5)`` with bins of one width over all of the bounds."""
    named = [one for one in arguments if isinstance(one, (exp.Kwarg, exp.PropertyEQ))]
    if not named:
        return Call("bin", tuple(read(one) for one in arguments))
    if len(arguments) != 2 or arguments[0] in named or str(named[0].this.name).lower() != "width":
        raise refusal(node, "bin takes edges, or one width; write bin(age, 0, 18, 65), or bin(age, width => 5)")
    value, width = read(arguments[0]), read(named[0].expression)
    facts = infer(value, scope.facts) if scope.knows(value) else None
    if not isinstance(width, Literal) or not isinstance(width.value, (int, Fraction)) or width.value <= 0:
        raise refusal(node, "The width of bins is a number above zero; write bin(age, width => 5)")
    if facts is None or facts.kind != "number" or facts.lower is None or facts.upper is None:
        raise refusal(
            node, "Bins of one width need a number with known bounds; write bin(least(greatest(x, 0), 100), width => 5)"
        )
    first, last = math.floor(facts.lower / width.value), math.floor(facts.upper / width.value) + 1
    if last - first > _MOST_BINS:
        raise refusal(node, f"These are {last - first:,} bins, and at most {_MOST_BINS:,} are made; write a larger width")
    edges = [i * Fraction(width.value) for i in range(first, last + 1)]
    return Call("bin", (value, *(Literal(int(edge) if edge.denominator == 1 else edge) for edge in edges)))


def _otherwise(_: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, __: Scope) -> Expression:
    """``ISNULL(x, 0)`` of SQL Server, ``isnull(x)`` of MySQL, ``zeroifnull(x)``."""
    value = read(arguments[0])
    if name == "isnull" and len(arguments) == 1:
        return Call("is_null", (value,))
    return Call("coalesce", (value, Literal(0) if name == "zeroifnull" else read(arguments[1])))


def _decode(node: exp.Expression, _: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
    """``decode(x, 1, 'a', 2, 'b', 'c')`` of Oracle."""
    subject, *rest = (read(one) for one in arguments)
    default = rest.pop() if len(rest) % 2 else Literal(None)
    parts = [compare("=", [check_small(subject), one], scope) if i % 2 == 0 else one for i, one in enumerate(rest)]
    if not parts:
        raise refusal(node, "decode takes a value and pairs; write decode(x, 1, 'a', 2, 'b', 'c')")
    return Call("case", (*parts, default))


def _choice(_: exp.Expression, __: str, arguments: Sequence[exp.Expression], read: Read, ___: Scope) -> Expression:
    return Call("case", tuple(read(one) for one in arguments))


def _to(target: str) -> Named:
    def named(node: exp.Expression, _: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
        if len(arguments) > 1:
            raise refusal(node, _FORMATS if target == "date" else "to_number takes no format here; write TRY_CAST(x AS DOUBLE)")
        return convert(node, read(arguments[0]), target, (), scope)

    return named


def _contains(node: exp.Expression, _: str, arguments: Sequence[exp.Expression], read: Read, __: Scope) -> Expression:
    return Call("regexp_matches", (read(arguments[0]), Literal(canonical(_constant(node, read(arguments[1]))))))


def _square(_: exp.Expression, __: str, arguments: Sequence[exp.Expression], read: Read, ___: Scope) -> Expression:
    return Call("power", (read(arguments[0]), Literal(2)))


def _both_ends(_: exp.Expression, __: str, arguments: Sequence[exp.Expression], read: Read, ___: Scope) -> Expression:
    signs = Literal(" ") if len(arguments) == 1 else read(arguments[1])
    return Call("rtrim", (Call("ltrim", (read(arguments[0]), signs)), signs))


def _middle(_: exp.Expression, __: str, arguments: Sequence[exp.Expression], read: Read, ___: Scope) -> Expression:
    return Call("substring", tuple(read(one) for one in arguments))


def _prefix(_: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, __: Scope) -> Expression:
    return Call("starts_with" if name == "prefix" else "ends_with", tuple(read(one) for one in arguments))


NAMED: Mapping[str, tuple[int, int, Named]] = {
    "log": (1, 2, _log),
    "log2": (1, 1, _logarithm),
    "log10": (1, 1, _logarithm),
    "square": (1, 1, _square),
    "bin": (2, 10**4, _bin),
    "isnull": (1, 2, _otherwise),
    "zeroifnull": (1, 1, _otherwise),
    "iff": (3, 3, _choice),
    "decode": (3, 1000, _decode),
    "to_number": (1, 2, _to("real")),
    "to_date": (1, 2, _to("date")),
    "date": (1, 1, _to("date")),
    "str_to_date": (2, 2, refuse_always(_FORMATS)),
    "parse_date": (2, 2, refuse_always(_FORMATS)),
    "regexp_contains": (2, 2, _contains),
    "btrim": (1, 2, _both_ends),
    "mid": (3, 3, _middle),
    "prefix": (2, 2, _prefix),
    "suffix": (2, 2, _prefix),
}
