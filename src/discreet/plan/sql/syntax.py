"""SQL text to a syntax tree, which is all that sqlglot does here: one SELECT statement, or a refusal in a sentence.

The tree is then walked with a list of what is allowed; a node, or a part of a node, that is not on the list is refused by name.
This file imports sqlglot and is itself imported late.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from discreet.errors import ParameterError
from discreet.plan.sql.dialect import Analyst

__all__ = ["LONGEST", "name_of", "only", "refusal", "select", "written"]

LONGEST = 100_000  # characters of a question
_DEEPEST = 100  # brackets within brackets

_ONLY_SELECT = 'a question is one SELECT over the table "data", such as SELECT count(*) FROM data'

# Why a piece of SQL is refused, and what to write instead, by the name of its node.
_WHY = {
    "Subquery": "A query within a query is not answered; ask one question after the other",
    "Select": "A query within a query is not answered; ask one question after the other",
    "Exists": "A query within a query is not answered; ask one question after the other",
    "With": "WITH is not answered; ask one question after the other",
    "CTE": "WITH is not answered; ask one question after the other",
    "Union": "Set operations are not answered; ask two questions",
    "Intersect": "Set operations are not answered; ask two questions",
    "Except": "Set operations are not answered; ask two questions",
    "Window": "Window functions show single rows; write GROUP BY",
    "Distinct": "DISTINCT would show single rows; write GROUP BY with count(*)",
    "Qualify": "QUALIFY filters single rows; write WHERE, or HAVING for noisy results",
    "TableSample": "Sampling is not part of a question; every row counts",
    "Pivot": "PIVOT is not answered; write GROUP BY",
    "Placeholder": "Parameters are not filled in here; write the value itself",
    "Parameter": "Parameters are not filled in here; write the value itself",
    "Offset": "OFFSET is not answered; write LIMIT alone, the rest is free to skip in Python",
    "Star": "* would show the rows of single persons; write count(*), or name aggregates such as avg(x) with GROUP BY",
    "Rand": "Chance is the curator's business; leave it out",
    "Glob": "GLOB is not answered; write LIKE, contains or starts_with",
    "Interval": "An INTERVAL is added to a date or subtracted from it; write d + INTERVAL 30 DAY, or days(a, b) > 30",
    "IgnoreNulls": "Missing values are skipped anyway; leave IGNORE NULLS out",
    "CurrentDate": "What day it is belongs to no question; write DATE '2026-01-31'",
    "RegexpReplace": "regexp_replace is not answered; write replace(x, 'a', 'b'), or regexp_extract(x, '[0-9]+')",
    "CurrentTimestamp": "What time it is belongs to no question; write DATE '2026-01-31'",
    "Cube": "Write plain keys, GROUP BY a, b",
    "Rollup": "Write plain keys, GROUP BY a, b",
    "GroupingSets": "Write plain keys, GROUP BY a, b",
    "Lock": "Nothing is locked or changed here; leave FOR UPDATE out",
    "Into": "Nothing is stored here; leave INTO out",
}

_DIALECT = Analyst()
_TEXT = "text"  # where a tree keeps the question it was read from
_NAMES = {  # functions whose place in the question the parser does not keep
    "GroupConcat": ("string_agg", "group_concat", "listagg"),
    "ArgMax": ("arg_max", "argmax", "max_by"),
    "ArgMin": ("arg_min", "argmin", "min_by"),
    "PercentileDisc": ("quantile_disc", "percentile_disc"),
}
_BRACKETS = {TokenType.L_PAREN: 1, TokenType.CASE: 1, TokenType.R_PAREN: -1, TokenType.END: -1}


def select(text: object) -> exp.Select:
    """The tree of one SELECT statement."""
    if not isinstance(text, str):
        raise ParameterError(f"A question is a text, not {type(text).__name__}; write SELECT count(*) FROM data.")
    if len(text) > LONGEST:
        raise ParameterError(f"A question may have {LONGEST} characters, not {len(text)}; ask several.")
    try:
        with _quiet():
            tokens = list(_DIALECT.tokenize(text))
            _check(tokens)
            trees = _DIALECT.parser().parse(tokens, text)
    except ParseError as error:
        raise ParameterError(_sentence(error)) from None
    except SqlglotError:
        raise ParameterError("This is no SQL: a quote or a comment has no end, or a sign is unknown; close it.") from None
    except RecursionError:
        raise ParameterError("This question is nested too deeply; ask a simpler one.") from None
    except ParameterError:
        raise
    except Exception:  # a parser's own mistakes on strange texts are refusals too
        raise ParameterError(f"This is no SQL known here: {_ONLY_SELECT}.") from None
    tree = trees[0] if trees else None
    if not isinstance(tree, exp.Select):
        raise refusal(tree)
    tree.meta[_TEXT] = text
    return tree


def refusal(node: object, hint: str = "", otherwise: str = _ONLY_SELECT) -> ParameterError:
    """That a piece of SQL is not answered, and what to write instead; ``otherwise`` for what has no word of its own here."""
    return ParameterError(f"{hint or _WHY.get(type(node).__name__) or f'{_shown(node)} is not answered: {otherwise}'}.")


def only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node that has any part but these."""
    for part, value in node.args.items():
        if value and part not in allowed:
            one = value[0] if isinstance(value, list) else value
            known = type(one).__name__ in _WHY
            what = f"{part.strip('_').upper()} is not answered in {_shown(node)}; leave it out"
            raise refusal(one, "" if known else what)


def name_of(node: object) -> tuple[str, bool]:
    """An identifier, and whether it was in quotes."""
    if not isinstance(node, exp.Identifier):
        raise ParameterError(f"{_shown(node)} is no name; write a word.")
    return str(node.this), bool(node.args.get("quoted"))


def written(node: exp.Expression) -> str:
    """A function's name as it stands in the question; one that it has anyway where that is not known."""
    start, end = node.meta.get("start"), node.meta.get("end")
    text = str(node.root().meta.get(_TEXT, ""))
    if isinstance(start, int) and isinstance(end, int) and text[start : end + 1].isidentifier():
        return text[start : end + 1][:40]
    names = _NAMES.get(type(node).__name__) or (type(node).__name__.lower(),)
    return next((name for name in names if name in text.lower()), names[0])


def _check(tokens: list[Token]) -> None:
    """What can be seen before parsing: more than one statement, other statements, and towers of brackets."""
    if not tokens:
        raise ParameterError(f"The question is empty; {_ONLY_SELECT}.")
    ends = [i for i, token in enumerate(tokens) if token.token_type == TokenType.SEMICOLON]
    if ends and any(token.token_type != TokenType.SEMICOLON for token in tokens[ends[0] :]):
        raise ParameterError("This is more than one statement; ask one question after the other.")
    first = tokens[0]
    if first.token_type == TokenType.WITH:
        raise ParameterError("WITH is not answered; ask one question after the other.")
    if first.token_type != TokenType.SELECT:
        raise ParameterError(f"{first.text[:30].upper()} is not answered: {_ONLY_SELECT}.")
    depth = deepest = 0
    for token in tokens:
        depth += _BRACKETS.get(token.token_type, 0)
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise ParameterError("This question is nested too deeply; ask a simpler one.")


def _sentence(error: ParseError) -> str:
    first = error.errors[0] if error.errors else {}
    where = f" at line {first.get('line')}, column {first.get('col')}" if first.get("line") else ""
    near = str(first.get("highlight") or "")[:30]
    return f"This SQL cannot be read{where}{f', near {near!r}' if near else ''}; {_ONLY_SELECT}."


def _shown(node: object) -> str:
    if isinstance(node, exp.Anonymous):
        return f"{str(node.this)[:40]}(...)"
    if isinstance(node, exp.Func) and type(node).__name__ not in ("Cast", "TryCast", "Case"):
        return written(node)  # type: ignore[arg-type]
    return type(node).__name__.upper() if isinstance(node, exp.Expression) else str(node)[:40]


@contextmanager
def _quiet() -> Iterator[None]:
    """sqlglot writes to the log about syntax it does not know; the refusal says it already."""
    log = logging.getLogger("sqlglot")

    def nothing(_: logging.LogRecord) -> bool:
        return False

    log.addFilter(nothing)
    try:
        yield
    finally:
        log.removeFilter(nothing)
