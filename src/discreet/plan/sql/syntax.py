"""SQL text to a syntax tree, which is all that sqlglot does here: one SELECT statement, or a refusal in a sentence.

The tree is then walked with a list of what is allowed; a node, or a part of a node, that is not on the list is refused by name.
This file imports sqlglot and is itself imported late.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser

from discreet.errors import ParameterError

LONGEST = 100_000  # characters of a question
_SHOWN = 40  # characters of a piece of it in a message
_DEEPEST = 100  # brackets within brackets

_ONLY_SELECT = 'a question is one SELECT over the table "data", such as SELECT count(*) FROM data'

_WITHIN = "A query within a query is not answered here, only after FROM and in WITH; ask one question after the other"
_CLOCK = "What time it is belongs to no question; write DATE '2026-01-31'"
_CHANCE = "Chance is the curator's business; leave it out"
_MARGINS = (
    "Margins are asked for where the question itself groups; write GROUP BY CUBE (a, b), or GROUPING SETS ((a, b), (a), ())"
)
_LISTS = "Lists, maps and structs are not made of rows; name columns, and GROUP BY with count(*)"

# Why a piece of SQL is refused, and what to write instead, by the name of its node.
_WHY = {
    "Subquery": _WITHIN,
    "Select": _WITHIN,
    "Exists": _WITHIN,
    "With": "WITH stands at the beginning of a question; write it there",
    "CTE": "WITH stands at the beginning of a question; write it there",
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
    "Star": "* would show the rows of single persons; write count(*), or name aggregates such as avg(x) with GROUP BY",
    "Rand": _CHANCE,
    "Uuid": _CHANCE,
    "Glob": "GLOB is not answered; write LIKE, contains or starts_with",
    "Interval": "An INTERVAL is added to a date or subtracted from it; write d + INTERVAL 30 DAY, or days(a, b) > 30",
    "IgnoreNulls": "Missing values are skipped anyway; leave IGNORE NULLS out",
    "CurrentDate": "What day it is belongs to no question; write DATE '2026-01-31'",
    "CurrentTimestamp": _CLOCK,
    "CurrentTime": _CLOCK,
    "CurrentDatetime": _CLOCK,
    "Localtimestamp": _CLOCK,
    "Localtime": _CLOCK,
    "CurrentUser": "Who asks belongs to no question; leave it out",
    "SessionUser": "Who asks belongs to no question; leave it out",
    "Cube": _MARGINS,
    "Rollup": _MARGINS,
    "GroupingSets": _MARGINS,
    "Tuple": "Columns are compared one by one; write a = 1 AND b = 2",
    "Any": "ANY is not answered; write x IN (1, 2)",
    "All": "ALL is not answered; write x > 1 AND x > 2",
    "AtTimeZone": "Dates have no time zone here; leave it out",
    "Collate": "Texts are compared as they are; leave the collation out, or write lower(x)",
    "Bracket": "Brackets after a value are not answered; write substring(x, 1, 2) for a part of a text",
    "Array": _LISTS,
    "List": _LISTS,
    "Struct": _LISTS,
    "Map": _LISTS,
    "ToMap": _LISTS,
    "Explode": _LISTS,
    "Unnest": _LISTS,
    "Lambda": "Functions of one's own are not answered; write the expression itself",
    "Columns": "COLUMNS stands for many columns; name one aggregate for each",
    "Lateral": "LATERAL would multiply rows; compute in SELECT, or with CASE",
    "Lock": "Nothing is locked or changed here; leave the lock out",
    "Into": "Nothing is stored here; leave INTO out",
}

# The same by the name that was written, of functions that the parser does not know.
_CALLED = {"now": _CLOCK, "today": _CLOCK, "getdate": _CLOCK, "sysdate": _CLOCK, "curdate": _CLOCK, "newid": _CHANCE}

_TEXT = "text"  # where a tree keeps the question it was read from
_NAMES = {  # functions whose place in the question the parser does not keep
    "GroupConcat": ("string_agg", "group_concat", "listagg"),
    "ArgMax": ("arg_max", "argmax", "max_by"),
    "ArgMin": ("arg_min", "argmin", "min_by"),
    "PercentileDisc": ("quantile_disc", "percentile_disc"),
}
_BRACKETS = {TokenType.L_PAREN: 1, TokenType.CASE: 1, TokenType.R_PAREN: -1, TokenType.END: -1}


# Functions that systems spell alike and mean differently: they are read here, as they were written.
_LEFT: tuple[str, ...] = ("date_trunc", "datetrunc", "datediff", "date_diff", "timestampdiff", "date_add", "dateadd", "date_sub")
_LEFT += ("timestampadd", "add_months", "last_day", "eomonth", "strftime", "to_char", "date_format", "format_date", "format")
_LEFT += ("monthname", "dayname", "datename", "date_part", "datepart", "dayofweek", "epoch", "log", "log2", "log10", "decode")
_LEFT += ("to_number", "to_date", "date", "str_to_date", "parse_date")


def _as_written(name: str) -> Callable[[Sequence[exp.Expression]], exp.Expression]:
    return lambda arguments: exp.Anonymous(this=name, expressions=arguments)


class _Analyst(DuckDB):
    """The dialect of questions: DuckDB's, with names in backticks too."""

    class Tokenizer(DuckDB.Tokenizer):
        """Names in double quotes or backticks."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  (as sqlglot has it)

    class Parser(DuckDBParser):
        """Functions of many dialects."""

        FUNCTION_PARSERS = {  # noqa: RUF012
            **DuckDBParser.FUNCTION_PARSERS,
            "CONVERT": lambda self: self._parse_analysts_convert(exp.Cast),
            "TRY_CONVERT": lambda self: self._parse_analysts_convert(exp.TryCast),
        }
        FUNCTIONS = {  # noqa: RUF012
            **DuckDBParser.FUNCTIONS,
            **{name.upper(): _as_written(name) for name in _LEFT},
        }

        def _parse_analysts_convert(self, cast: type[exp.Expression]) -> exp.Expression | None:
            """``CONVERT(INT, x)`` of SQL Server, with a style perhaps; ``CONVERT(x, SIGNED)`` of MySQL."""
            start = self._index
            kind = self._parse_types()
            if not isinstance(kind, exp.DataType) or kind.this == exp.DType.USERDEFINED or not self._match(TokenType.COMMA):
                self._retreat(start)
                return self._parse_convert(cast is exp.Cast)  # type: ignore[return-value]
            if kind.this == exp.DType.TEXT and start + 2 < self._index and self._tokens[start + 2].token_type == TokenType.NUMBER:
                length = exp.Literal.number(self._tokens[start + 2].text)  # which DuckDB forgets
                kind.set("expressions", [exp.DataTypeParam(this=length)])
            value = self._parse_assignment()
            style = self._parse_assignment() if self._match(TokenType.COMMA) else None
            return self.expression(cast(this=value, to=kind, format=style))


_DIALECT = _Analyst()


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
            tokens, top = _without_top(tokens)
            trees = _DIALECT.parser().parse(tokens, text)
    except ParseError as error:
        raise ParameterError(_sentence(error, text)) from None
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
    if top is not None:
        if tree.args.get("limit"):
            raise ParameterError("TOP and LIMIT say the same; leave one of them out.")
        tree.set("limit", exp.Limit(expression=exp.Literal.number(top)))
    tree.meta[_TEXT] = text
    return tree


def refusal(node: object, hint: str = "", otherwise: str = _ONLY_SELECT) -> ParameterError:
    """That a piece of SQL is not answered, and what to write instead; ``otherwise`` for what has no word of its own here."""
    why = _WHY.get(type(node).__name__)
    if isinstance(node, exp.Anonymous):
        why = _CALLED.get(str(node.this).lower())
    return ParameterError(f"{hint or why or f'{_shown(node)} is not answered: {otherwise}'}.")


def only(node: exp.Expression, *allowed: str) -> None:
    """Refuse a node that has any part but these."""
    for part, value in node.args.items():
        if value and part not in allowed:
            one = value[0] if isinstance(value, list) else value
            known = type(one).__name__ in _WHY
            raise refusal(one, "" if known else f"{_part(node, part, one)} is not answered in {_shown(node)}; leave it out")


def name_of(node: object) -> tuple[str, bool]:
    """An identifier, and whether it was in quotes."""
    if not isinstance(node, exp.Identifier):
        raise ParameterError(f"{_shown(node)} is no name; write a word.")
    return str(node.this), bool(node.args.get("quoted"))


def unname(node: exp.Expression) -> tuple[str | None, exp.Expression]:
    """The name that AS gives, and what it is given to, out of its brackets."""
    name = None
    if isinstance(node, exp.Alias):
        only(node, "this", "alias")
        name, node = name_of(node.args.get("alias"))[0], node.this
    while isinstance(node, exp.Paren):
        only(node, "this")
        node = node.this
    return name, node


def written(node: exp.Expression) -> str:
    """A function's name as it stands in the question; one that it has anyway where that is not known."""
    start, end = node.meta.get("start"), node.meta.get("end")
    text = str(node.root().meta.get(_TEXT, ""))
    if isinstance(start, int) and isinstance(end, int) and text[start : end + 1].isidentifier():
        return text[start : end + 1][:40]
    names = _NAMES.get(type(node).__name__, ())
    if isinstance(node, exp.Func):
        names += tuple(name.lower() for name in node.sql_names())
    return next((name for name in names if name in text.lower()), "") or (names[0] if names else _shortened(node))


def _check(tokens: list[Token]) -> None:
    """What can be seen before parsing: more than one statement, other statements, and towers of brackets."""
    if not tokens:
        raise ParameterError(f"The question is empty; {_ONLY_SELECT}.")
    ends = [i for i, token in enumerate(tokens) if token.token_type == TokenType.SEMICOLON]
    if ends and any(token.token_type != TokenType.SEMICOLON for token in tokens[ends[0] :]):
        raise ParameterError("This is more than one statement; ask one question after the other.")
    first = tokens[0]
    if first.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.FROM):
        raise ParameterError(f"{first.text[:30].upper()} is not answered: {_ONLY_SELECT}.")
    depth = deepest = 0
    for token in tokens:
        depth += _BRACKETS.get(token.token_type, 0)
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise ParameterError("This question is nested too deeply; ask a simpler one.")


def _without_top(tokens: list[Token]) -> tuple[list[Token], str | None]:
    """SELECT TOP 10 without TOP 10, and that number: SQL Server's word for LIMIT, which the parser does not know."""
    level, place = 0, len(tokens)
    for i, token in enumerate(tokens):  # queries within have brackets around them
        level += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if token.token_type == TokenType.SELECT and level == 0:
            place = i + 1
            break
    place += place < len(tokens) and tokens[place].token_type in (TokenType.DISTINCT, TokenType.ALL)
    kinds = [token.token_type for token in tokens[place : place + 4]]
    if place >= len(tokens) or tokens[place].token_type != TokenType.VAR or tokens[place].text.upper() != "TOP":
        return tokens, None
    if kinds[1:2] == [TokenType.NUMBER]:
        number, after = tokens[place + 1].text, place + 2
    elif kinds[1:4] == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]:
        number, after = tokens[place + 2].text, place + 4
    else:
        return tokens, None
    if after >= len(tokens) or tokens[after].token_type in (TokenType.COMMA, TokenType.FROM, TokenType.ALIAS):
        return tokens, None
    if tokens[after].text.upper() in ("PERCENT", "WITH"):
        raise ParameterError("TOP takes a number of rows; write TOP 10, without percent and ties.")
    return tokens[:place] + tokens[after:], number


def _sentence(error: ParseError, text: str) -> str:
    first = error.errors[0] if error.errors else {}
    where = f" at line {first.get('line')}, column {first.get('col')}" if first.get("line") else ""
    near = str(first.get("highlight") or "")[:30]
    instead = 'names with spaces are written in double quotes, "blood group"' if {"`", "["} & {*text} else _ONLY_SELECT
    return f"This SQL cannot be read{where}{f', near {near!r}' if near else ''}; {instead}."


def _shown(node: object) -> str:
    """A piece of the question as it was written, or in words that mean the same; never a name that only a parser knows."""
    if isinstance(node, exp.Anonymous):
        return f"{str(node.this)[:40]}(...)"
    if not isinstance(node, exp.Expression):
        return "This" if node is None else str(node)[:40]
    name = written(node) if isinstance(node, exp.Func) and not isinstance(node, exp.Connector) else ""
    if name.isidentifier() and name.lower() in str(node.root().meta.get(_TEXT, name)).lower():
        return f"{name}(...)"
    return _shortened(node)


def _shortened(node: exp.Expression) -> str:
    try:
        with _quiet():
            text = " ".join(node.sql(dialect="duckdb", comments=False).split())
    except Exception:  # what cannot even be written down
        return "A part of this question"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _part(node: exp.Expression, part: str, value: object) -> str:
    """A part of a node: its text; for a mere flag its name, where that is a word of the question."""
    if isinstance(value, exp.Expression):
        return _shown(value)
    word = str(value) if isinstance(value, str) else part.strip("_").replace("_", " ").upper()
    return word[:_SHOWN] if word.lower() in str(node.root().meta.get(_TEXT, "")).lower() else "What more is said"


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
