"""The beginning of a configuration, from the names of columns alone: everything else is the owner's to say.

Nothing is read off the data, neither a type nor a bound: whatever a table's rows decide is not public.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["skeleton", "write_skeleton"]

_TEXT = """\
# Public facts about {name}, for discreet. They come from you, never from the data: whatever you write here, everybody may know.
#
# Only you can say:
#   who is protected, and for how many rows and groups a person may count;
#   what all questions together may cost;
#   between which bounds numbers and days lie, and which categories there are (from the meaning of a column, not by looking).

version = 1
source = {source}
# people = "patients of the clinic"   # whose budget it is: all files about the same people share one ledger
# ledger = {ledger}   # where spending is written down; unless told beside the source, one for every person column
# data_version = "2026-11"   # changed by you when the table changes; unless told, everybody may learn that it did

[unit]
# Every person, by the column that tells persons apart; they count for at most so many rows in a group, and groups' worth in all:
# person = "patient_id"
# rows = 8
# groups = 3
# Or, where every row is another person:
# rows = true

[budget]
# epsilon = 3
# delta = 1e-6

[columns]
# Leave away columns that no question needs. A declaration is one of
#   {{ type = "integer", lower = 0, upper = 120 }}                        others are clamped to the bounds
#   {{ type = "number", lower = 0, upper = 10_000_000, step = 0.01 }}     rounded to steps
#   {{ type = "category", values = ["yes", "no"] }}                       others are missing
#   {{ type = "boolean" }}
#   {{ type = "date", lower = 2020-01-01, upper = 2026-12-31 }}
#   {{ type = "text", length = 100 }}                                     longer ones are cut; groups are chosen privately
# and may say what a missing value becomes: missing = 0.
# In texts, as in CSV, numbers are read as 1100.5 or 1,100.5 and days as 2026-01-31, and everything else is missing; unless a
# declaration says how they are written: decimal = "," for 1.100,5 and format = "%d.%m.%Y" for 31.01.2026.
{columns}
# Public tables that questions may join:
# [public.regions]
# source = "regions.csv"
"""


def write_skeleton(source: str | os.PathLike[str], *, written: str | None = None, table: str | None = None) -> str:
    """A commented configuration for a file, from the names of its columns; ``written`` is its path as the text will say it."""
    from discreet.engine.sources.source import open_source

    return skeleton(written or os.fspath(source), open_source(source, table=table).names, table)


def skeleton(source: str, names: Sequence[str], table: str | None = None) -> str:
    """The text for a source with these columns.

    >>> print(skeleton("people.csv", ["age"]).splitlines()[8])
    source = "people.csv"
    """
    path = Path(source)
    columns = "".join(
        f'# {_key(name)} = {{ type = "" }}   # integer, number, category, boolean, date or text\n' for name in names
    )
    return _TEXT.format(
        name=_shown(path.name),
        source=_quoted(source) + ("" if table is None else f"\ntable = {_quoted(table)}"),
        ledger=_quoted(path.stem + ".ledger"),
        columns=columns,
    )


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A text as TOML writes it: as JSON does, but for the sign that TOML forbids and JSON does not."""
    return json.dumps(_readable(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _readable(text: str) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    return text.encode("utf-8", "replace").decode()
