"""A private table in Spark: a DataFrame, a table of a catalogue, or Parquet files that its cluster can read.

What identifies the data of files is the list of them with their sizes and times, as the cluster sees them; it is looked at before
and after every question. Of views, of tables whose files alone do not say what they hold (Delta, Iceberg, JDBC), and of
DataFrames, which may be made of anything, nothing does: their owner declares a ``version``.

Cells arrive as plain types. Texts are compared by their bytes, whatever collation they were made with; bytes are the text that
they spell. Intervals, arrays, maps, structs and variants are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from discreet.engine.base import Known, hashed
from discreet.engine.sources.names import check_names, choose, find
from discreet.engine.spark.failures import kindly, missing_package, reach
from discreet.engine.spark.literals import quoted
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX = "spark:"
_PLAIN = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"})
_OF_FILES = frozenset({"parquet", "orc", "csv", "json", "text", "avro"})
_NAME = re.compile(r"(?:[^\W\d]\w*|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`)){0,9}")
_STATE = "concat_ws(' ', CAST(length AS STRING), CAST(unix_micros(modificationTime) AS STRING), path) AS state"
_UNKNOWN = (
    "Nothing in Spark says whether this table still holds what it held, which decides whether an answer is given again; declare "
    'it: version="2026-11", and change that when the table changes.'
)


@dataclass(frozen=True)
class SparkSource:
    """A table in Spark, looked at without reading rows."""

    names: tuple[str, ...]
    raw: Mapping[str, str]
    frame: DataFrame = field(repr=False, compare=False)
    no_ids: frozenset[str] = frozenset()
    given: str | None = None  # the text by which it was given
    identified: bool = False  # by its files
    drops_lines: bool = False

    @property
    def engine(self) -> str:
        """Spark reads it."""
        return "spark"

    @property
    def session(self) -> SparkSession:
        """The session that it belongs to."""
        return self.frame.sparkSession

    @property
    def layout(self) -> tuple[object, ...]:
        """How the table is read: columns in their order, types, and where it is."""
        return self.names, tuple(self.raw.items()), self.given, self.no_ids

    def find(self, name: str) -> str:
        """The name of a column as the table writes it."""
        return find(name, self.names)

    def is_current(self) -> bool:
        """A DataFrame stays what it is; what a name means is looked up anew."""
        return self.given is None

    def fingerprint(self, salt: bytes, known: Known | None = None) -> str:  # noqa: ARG002
        """A keyed hash of which files there are, how long each is and when it was written."""
        if not self.identified:
            raise ParameterError(_UNKNOWN)
        return hashed(salt, (str(part).encode() for part in ("files", *sorted(kindly(self._states)))))

    def _states(self) -> list[str]:
        files = list(self.frame.inputFiles())  # Connect gives something like a list, and takes only one
        listed = self.session.read.format("binaryFile").load(files) if files else None
        return [] if listed is None else listed.selectExpr(_STATE).toArrow()["state"].to_pylist()

    def relation(self) -> DataFrame:
        """The columns that were asked for, as plain types under plain names."""
        every = self.frame.toDF(*(f"c{i}" for i in range(len(self.names))))
        kinds = dict(_kinds(self.frame))
        return every.selectExpr(*(f"{_read(f'c{self.names.index(name)}', kinds[name])} AS {quoted(name)}" for name in self.raw))


def place_of(given: object, table: str | None = None) -> str | None:  # noqa: ARG001
    """Where a table is, as it was given; a DataFrame is nowhere."""
    return given if isinstance(given, str) else None


def address_of(given: object) -> str:
    """The same, as a file may say it."""
    return str(given)


def open_source(given: object, *, table: str | None = None, columns: Iterable[str] | None = None) -> SparkSource:
    """Look at a table without reading its rows; ``columns`` are those that will be asked for (all, unless said)."""
    if table is not None:
        raise ParameterError('table= names a table of a DuckDB file; a table in Spark is given as "spark:sales.orders".')
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_package() from None
    frame, identified, kinds = kindly(lambda: _looked_at(given, SparkSession))
    names = tuple(name for name, _ in kinds)
    check_names(names)
    if len({name.lower() for name in names}) < len(names):
        raise ParameterError("Two columns of the table differ in the case of their letters only; rename one.")
    chosen, kind = choose(None if columns is None else tuple(columns), names), dict(kinds)
    no_ids = frozenset(name for name in chosen if not _tells_apart(kind[name]))
    text = given if isinstance(given, str) else None
    return SparkSource(names, {name: _raw(kind[name]) for name in chosen}, frame, no_ids, text, identified)


def _looked_at(given: object, sessions: type[SparkSession]) -> tuple[DataFrame, bool, list[tuple[str, str]]]:
    """The table, whether its files say what it holds, and its columns."""
    if isinstance(given, str):
        session = sessions.getActiveSession() or sessions.builder.getOrCreate()
        reach(session)
        frame, identified = _named(session, given.removeprefix(PREFIX))
    else:
        frame, identified = cast("DataFrame", given), False
        reach(frame.sparkSession)
    if frame.isStreaming:
        raise ParameterError("A stream has no end, so nothing can be counted in it; give a table.")
    return frame, identified, _kinds(frame)


def _named(session: SparkSession, name: str) -> tuple[DataFrame, bool]:
    """The table of a name or path, and whether its files say what it holds."""
    if not name:
        raise ParameterError('Say which table of Spark is meant; write "spark:sales.orders" or "spark:/data/orders.parquet".')
    if "/" in name or name.endswith(".parquet"):
        session.catalog.refreshByPath(_folder(name))  # what was cached of it may be of other files
        return session.read.parquet(name), True
    if not _NAME.fullmatch(name):
        raise ParameterError(f"{name!r} is no name of a table in Spark; write spark:schema.table, and odd names `like this`.")
    session.catalog.refreshTable(name)
    facts = {row["col_name"]: row["data_type"] for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()}
    of_files = facts.get("Provider", "").lower() in _OF_FILES and facts.get("Type", "") in ("MANAGED", "EXTERNAL")
    return session.table(name), of_files


def _folder(path: str) -> str:
    """The folder of files that are named by a pattern; a path that is none stays what it is."""
    fixed = re.split(r"[*?\[{]", path, maxsplit=1)[0]
    return path if fixed == path else fixed.rpartition("/")[0] or fixed or "."


def _kinds(frame: DataFrame) -> list[tuple[str, str]]:
    """Names and types of all columns, as Spark calls them."""
    return [(column.name, column.dataType.simpleString().split(" ", 1)[0]) for column in frame.schema.fields]


def _raw(kind: str) -> str:
    """The type under which a column of this type arrives."""
    plain = kind.upper()
    return plain if plain in _PLAIN or plain.startswith("DECIMAL(") else "STRING"


def _tells_apart(kind: str) -> bool:
    """Whether cells of this type can be ids: those that carry nothing cannot, nor bytes, of which only some spell a text."""
    return _raw(kind) != "STRING" or _is_text(kind)


def _is_text(kind: str) -> bool:
    return kind == "string" or kind.startswith(("char(", "varchar("))


def _read(column: str, kind: str) -> str:
    """SQL of a column as it is read."""
    if _is_text(kind):
        return f"CAST({column} AS STRING)"
    if kind == "binary":
        return f"try_validate_utf8(CAST({column} AS STRING))"
    return column if _raw(kind) != "STRING" else "CAST(NULL AS STRING)"
