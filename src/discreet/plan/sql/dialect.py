"""How sqlglot reads a question: DuckDB's SQL, names in backticks too, and functions that systems spell alike and mean differently
left as they were written, so that they are read here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

_LEFT: tuple[str, ...] = ("date_trunc", "datetrunc", "datediff", "date_diff", "timestampdiff", "date_add", "dateadd", "date_sub")
_LEFT += ("timestampadd", "add_months", "last_day", "eomonth", "strftime", "to_char", "date_format", "format_date", "format")
_LEFT += ("monthname", "dayname", "datename", "date_part", "datepart", "dayofweek", "epoch", "log", "log2", "log10", "decode")
_LEFT += ("to_number", "to_date", "date", "str_to_date", "parse_date")


def _as_written(name: str) -> Callable[[Sequence[exp.Expression]], exp.Expression]:
    return lambda arguments: exp.Anonymous(this=name, expressions=arguments)


class Analyst(DuckDB):
    """The dialect of questions."""

    class Tokenizer(DuckDB.Tokenizer):
        """Names in double quotes or backticks."""

        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  (as sqlglot has it)

    class Parser(DuckDBParser):
        """Functions of many dialects."""

        FUNCTIONS = {  # noqa: RUF012
            **DuckDBParser.FUNCTIONS,
            **{name.upper(): _as_written(name) for name in _LEFT},
        }
