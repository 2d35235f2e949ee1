"""CSV and TSV files, one physical line a record.

Files are read line by line, without quotes, so that a stray quote cannot swallow the lines after it; each line is then cut into
fields by itself. A field in quotes may contain the delimiter and doubled quotes, but no line break (\\n, \\r\\n or \\r). Fields
that lack at the end of a line, and empty ones, are missing values; fields too many are dropped. A line that is empty, not UTF-8,
or longer than ``LONGEST`` is left out. Nothing is guessed from the rows: all cells are text, to be read by ``cleaning``.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

from discreet.engine.sql.dialect import text_literal
from discreet.errors import ParameterError

LONGEST = 2_000_000  # bytes of a line
_NEVER = "\x1e\x1f\x1e"  # the delimiter of fields for DuckDB: what follows it on a line is dropped


def csv_names(files: Sequence[Path]) -> tuple[tuple[str, ...], str]:
    """The names in the first line, and the delimiter; all files must have the same first line."""
    heads = [_first_line(file) for file in files]
    if any(head != heads[0] for head in heads):
        raise ParameterError("The files have not the same first line; give files whose first lines name the same columns.")
    head = heads[0]
    tabs = files[0].name.lower().removesuffix(".gz").endswith(".tsv")
    delimiter = "\t" if tabs else ";" if ";" in head and "," not in head else ","
    names = tuple(name.strip() for name in next(csv.reader([head], delimiter=delimiter), []))
    if not names:
        raise ParameterError(f"{files[0]} is empty; its first line must name the columns.")
    return names, delimiter


def csv_query(files: Sequence[Path], names: Sequence[str], delimiter: str, chosen: Sequence[str]) -> str:
    """SQL of the chosen columns of the files, all VARCHAR."""
    listed = ", ".join(text_literal(str(file)) for file in files)
    lines = (
        f"read_csv([{listed}], auto_detect = false, header = false, skip = 1, columns = {{'line': 'VARCHAR'}}, "
        f"delim = '{_NEVER}', quote = '', escape = '', comment = '', new_line = '\\n', ignore_errors = true, "
        f"strict_mode = false, null_padding = false, max_line_size = {LONGEST}, hive_partitioning = false)"
    )
    # Behind a delimiter: a quoted field if its quotes close on this line, else everything up to the next delimiter.
    field = f'{delimiter}("(?:[^"]|"")*"|[^{delimiter}]*)'
    cut = (
        f"CASE WHEN contains(line, '\"') THEN regexp_extract_all('{delimiter}' || line, '{field}', 1) "
        f"ELSE string_split(line, '{delimiter}') END"
    )
    columns = ", ".join(f'{_unquoted(names.index(name) + 1)} AS "{name.replace(chr(34), chr(34) * 2)}"' for name in chosen)
    return f"SELECT {columns} FROM (SELECT {cut} AS fields FROM {lines} WHERE line IS NOT NULL)"


def _unquoted(place: int) -> str:
    cell = f"fields[{place}]"
    inside = f"replace(substring({cell}, 2, length({cell}) - 2), '\"\"', '\"')"
    return f"NULLIF(CASE WHEN {cell} LIKE '\"%\"' THEN {inside} ELSE {cell} END, '')"


def _first_line(file: Path) -> str:
    opened = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with opened(file, "rb") as stream:
            head = stream.read(LONGEST)
        line = head.replace(b"\r", b"\n").split(b"\n", 1)[0]
        if len(line) == LONGEST:
            raise ValueError
        return line.decode("utf-8-sig")
    except (OSError, EOFError, ValueError):  # also what is not UTF-8
        raise ParameterError(f"{file} does not begin with a line of UTF-8 text that names its columns.") from None
