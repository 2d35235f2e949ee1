"""Columns of files and databases as they are read: which types mean something to a declaration, and how they are named in SQL."""

from __future__ import annotations

import re

__all__ = ["quoted", "raw_type", "read_sql", "tells_apart"]

# Types whose cells mean something to a declaration.
_PLAIN = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|BOOLEAN|VARCHAR|UUID|BLOB|BIT|ENUM\(.*\)|DATE"
    r"|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS",
    re.DOTALL,
)


def tells_apart(kind: str) -> bool:
    """Whether cells of this type can be ids: those that carry nothing cannot, nor bytes, of which only some spell a text."""
    return _PLAIN.fullmatch(kind) is not None and kind != "BLOB"


def quoted(name: str) -> str:
    """A name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def raw_type(kind: str) -> str:
    """The type under which a column of this type arrives."""
    return kind if _PLAIN.fullmatch(kind) and kind != "BLOB" else "VARCHAR"


def read_sql(name: str, kind: str) -> str:
    """SQL of a column as it is read. Durations, times of day and things made of parts are missing, and not even looked at."""
    column = quoted(name)
    if not _PLAIN.fullmatch(kind):
        return f"CAST(NULL AS VARCHAR) AS {column}"
    if kind == "BLOB":
        return f"TRY(decode({column})) AS {column}"  # bytes are the text they spell
    # It may have been made with a collation under which texts that differ are equal: here they never are.
    return f'{column} COLLATE "binary" AS {column}' if kind == "VARCHAR" else column
