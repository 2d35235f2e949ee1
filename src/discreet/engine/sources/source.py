"""Where a private table comes from: files of Parquet or CSV, a DuckDB database, an Arrow table, a pandas or polars frame.

A source knows public things only (names, types, how to be read), and a fingerprint of what it holds.
Only the columns that are asked for are ever read or converted.
"""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.engine.base import Known, NoFile
from discreet.engine.sources.contents import is_settled, of_files, of_frame, state_of
from discreet.engine.sources.names import check_names, choose, find
from discreet.engine.sql.dialect import quoted, text_literal
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import duckdb
    import pyarrow

    from discreet.engine.sources.frames import Batches


_TAKEN = "a path to .parquet, .csv, .tsv or .duckdb files, an Arrow table, or a pandas or polars frame"


@dataclass(frozen=True)
class LocalSource:
    """A table that can be attached to a session.

    ``names`` are all its columns; ``raw`` has the DuckDB type of those that were asked for. ``query`` is SQL that reads a file,
    ``frame`` an Arrow table that is registered instead, and ``stream`` a file that goes through Arrow batch by batch.
    """

    names: tuple[str, ...]
    raw: Mapping[str, str]
    files: tuple[Path, ...] = ()
    query: str | None = None
    database: Path | None = None
    table: str = ""  # of the database, as SQL
    drops_lines: bool = False  # it is text, of which lines that cannot be read are left out
    frame: pyarrow.Table | None = field(default=None, repr=False)  # its text would show cells
    stream: Batches | None = field(default=None, repr=False)
    no_ids: frozenset[str] = frozenset()  # columns whose type says nothing by which persons could be told apart
    path: str | None = None  # as it was given
    states: Mapping[Path, tuple[int, ...]] = field(default_factory=dict, repr=False)  # of the files, where they had settled
    _prints: dict[bytes, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def engine(self) -> str:
        """DuckDB reads files and frames."""
        return "duckdb"

    def find(self, name: str) -> str:
        """The name of a column as the table writes it: the same letters, or else the same letters in another case."""
        return find(name, self.names)

    @property
    def layout(self) -> tuple[object, ...]:
        """How the table is read, all of it public: columns in their order, types, delimiter, files.

        A query that was made for one layout could, in a table of another, take the wrong column for its persons.
        """
        return self.names, tuple(self.raw.items()), self.files, self.query, self.table, self.no_ids, self.stream is None

    def is_current(self) -> bool:
        """Whether all files are known to be as they were (device, inode, size, times), and no others have come."""
        if self.path is None:
            return True
        if len(self.states) != 1 or self.database is not None:  # files of a pattern, with a log, or not settled
            return bool(self.states) and _states_of(_files(self.path)) == self.states
        ((file, state),) = self.states.items()  # where one file was meant, the name that was given still means it
        return all(_is_state(name, state) for name in {self.path, str(file)}) or _states_of(_files(self.path)) == self.states

    @property
    def coded(self) -> bool:
        """Whether cells of few values arrive as places in a list of values, as writers of Parquet keep them."""
        return self.query is not None and all(_kind(file) == "parquet" for file in self.files)

    @property
    def held(self) -> object | None:
        """What is registered under a name, where SQL reads no file."""
        return self.stream if self.frame is None else self.frame

    def statements(self, view: str, attached: dict[Path, str]) -> Iterator[str]:
        """SQL that makes a view of this name; a frame is registered under the name instead. ``attached`` databases have a name
        already, since a file is attached once."""
        if self.database is not None and self.database not in attached:
            attached[self.database] = view + " file"
            yield f"ATTACH {text_literal(str(self.database))} AS {quoted(view + ' file')} (READ_ONLY)"
        if self.query is not None:
            query = self.query if self.database is None else self.query.replace(_FILE, quoted(attached[self.database]))
            yield f"CREATE VIEW {quoted(view)} AS {query}"

    def fingerprint(self, salt: bytes, known: Known | None = None) -> str:
        """A keyed hash of what the table holds: the bytes of files, the cells of a frame. ``known`` files are not read again."""
        if self.frame is None:
            log = None if self.database is None else Path(f"{self.database}.wal")  # changes that a database has yet to take in
            files = (*self.files, *([log] if log and log.exists() else []))
            return of_files(files, salt, {} if known is None else known, self.table)
        if salt not in self._prints:
            self._prints[salt] = of_frame(self.frame, salt)
        return self._prints[salt]


_FILE = "\0file\0"  # stands for the attached database in a query; no name can contain it


def open_source(source: object, *, table: str | None = None, columns: Iterable[str] | None = None) -> LocalSource:
    """Look at a table without reading its rows; ``columns`` are those that will be asked for (all, unless said).

    >>> import pyarrow
    >>> open_source(pyarrow.table({"age": [1, 2]})).raw
    {'age': 'BIGINT'}
    """
    wanted = None if columns is None else tuple(columns)
    if isinstance(source, str | os.PathLike):
        now, path = time.time_ns(), os.fspath(source)
        files = _files(path)
        states = _states_of(files)
        settled = all(is_settled(state, now) for state in states.values())
        return replace(_open_files(path, files, table, wanted), path=path, states=states if settled else {})
    if table is not None:
        raise ParameterError("table= names a table of a DuckDB file, and this source is no file; leave it out.")
    from discreet.engine.sources.frames import arrow_of, names_of, untold

    names = names_of(source)
    if names is None:
        raise ParameterError(f"A table cannot be read from {type(source).__name__}; give {_TAKEN}.")
    check_names(names)
    chosen = choose(wanted, names)
    frame = arrow_of(source, chosen)
    return LocalSource(names, _types(["SELECT * FROM given"], frame)[0], frame=frame, no_ids=untold(source, chosen))


def _states_of(files: Iterable[Path]) -> dict[Path, tuple[int, ...]]:
    """Files, and what changes with the bytes of each; none is opened."""
    logs = (Path(f"{file}.wal") for file in files if _kind(file) == "database")
    return {file: state_of(file) for file in (*files, *(log for log in logs if log.exists()))}


def _is_state(name: str, state: tuple[int, ...]) -> bool:
    """Whether there is a file of this name, which this user may read, in this state."""
    try:
        return state_of(name) == state and os.access(name, os.R_OK)
    except ParameterError:
        return False


def _open_files(path: str, files: tuple[Path, ...], table: str | None, wanted: tuple[str, ...] | None) -> LocalSource:
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1 or None in kinds:
        raise ParameterError(f"{_shown(path)} is not a table this can read; give {_TAKEN}, all files of one kind.")
    kind = kinds.pop()
    if kind == "database":
        return _open_database(files, table, wanted)
    if table is not None:
        raise ParameterError("table= names a table of a DuckDB file, and this source is none; leave it out.")
    if kind == "parquet":
        return _open_parquet(files, wanted)
    from discreet.engine.sources.csv import csv_names, csv_query

    names, delimiter = csv_names(files)
    check_names(names)
    chosen = choose(wanted, names)
    query = csv_query(files, names, delimiter, chosen)
    return LocalSource(names, dict.fromkeys(chosen, "VARCHAR"), files, query, drops_lines=True)


def _open_parquet(files: tuple[Path, ...], wanted: tuple[str, ...] | None) -> LocalSource:
    first, *others = _types([f"SELECT * FROM {_parquet((file,))}" for file in files])
    if any(other != first for other in others):
        raise ParameterError("The files have not the same columns with the same types; write them all with one schema.")
    names = tuple(first)
    if not set(names) <= set(_written(files[0])):  # DuckDB renames columns that differ in case only
        raise ParameterError("Two columns of the table differ in the case of their letters only; rename one.")
    chosen = choose(wanted, names)
    no_ids = frozenset(name for name in chosen if not tells_apart(first[name]))
    if any(_overflows(file, chosen) for file in files):
        from discreet.engine.sources.frames import Batches

        stream = Batches(files, chosen)
        return LocalSource(names, _types(["SELECT * FROM given"], stream)[0], files, stream=stream, no_ids=no_ids)
    query = f"SELECT {', '.join(_parquet_sql(name, first[name]) for name in chosen)} FROM {_parquet(files)}"
    return LocalSource(names, {name: raw_type(first[name]) for name in chosen}, files, query, no_ids=no_ids)


def _parquet_sql(name: str, kind: str) -> str:
    """SQL of a column of such files. The least and the greatest text that they note are of bytes, before bad ones among them
    became question marks: the engine would leave out texts by them, and so one row would decide about others. Behind a function
    that has no bounds it leaves out none."""
    return f"greatest({quoted(name)}) AS {quoted(name)}" if kind == "VARCHAR" else read_sql(name, kind)


def _overflows(file: Path, chosen: tuple[str, ...]) -> bool:
    """Whether a column has moments in milliseconds: one beyond DuckDB's calendar would fail its every reading of the file."""
    from pyarrow import parquet, types

    return any(
        types.is_timestamp(field.type) and field.type.unit in ("s", "ms")
        for field in parquet.read_schema(file)
        if field.name in chosen
    )


def _parquet(files: Iterable[Path]) -> str:
    """SQL that reads files; a text that is not UTF-8 would fail the whole question, so its bad bytes become question marks. The
    greatest number that they note is never NaN, which may be there all the same; unless told, the engine would take it for
    a number between the others, and one of these would decide what becomes of it."""
    listed = ", ".join(text_literal(str(file)) for file in files)
    return f"read_parquet([{listed}], hive_partitioning = false, utf8_validation = 'replace', can_have_nan = true)"


def _open_database(files: tuple[Path, ...], table: str | None, wanted: tuple[str, ...] | None) -> LocalSource:
    import duckdb

    try:
        with duckdb.connect(str(files[0]), read_only=True) as database:
            listing = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
            held = database.execute(listing).fetchall()
            called = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in held}
            if len(files) > 1 or (table or next(iter(called), None)) not in called or (table is None and len(called) > 1):
                raise ParameterError(f"Say which table of the database is meant; write table= one of {', '.join(called)}.")
            schema, name = called[table or next(iter(called))]
            place = f"{quoted(schema)}.{quoted(name)}"
            raw = {row[0]: row[1] for row in database.execute(f"DESCRIBE {place}").fetchall()}
    except duckdb.Error:
        raise ParameterError(f"{files[0]} cannot be opened as a DuckDB database; close programs that write to it.") from None
    chosen = choose(wanted, tuple(raw))
    query = f"SELECT {', '.join(read_sql(name, raw[name]) for name in chosen)} FROM {_FILE}.{place}"
    types, no_ids = {column: raw_type(raw[column]) for column in chosen}, [name for name in chosen if not tells_apart(raw[name])]
    return LocalSource(tuple(raw), types, files, query, files[0], place, no_ids=frozenset(no_ids))


def _files(path: object) -> tuple[Path, ...]:
    if not isinstance(path, str) or not path or "\0" in path:
        raise ParameterError(f"A path must be a text; give {_TAKEN}.")
    found = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    files = tuple(sorted({Path(os.path.realpath(file)) for file in found if not os.path.isdir(file)}))
    if not files:
        raise NoFile(f"There is no file at {_shown(path)}; give {_TAKEN}.")
    for file in files:
        if any(sign in str(file) for sign in "*?["):
            raise ParameterError(f"{_shown(str(file))} has a sign of a pattern (*, ? or [) in its own name; rename it.")
        if not os.access(file, os.R_OK):
            raise NoFile(f"{_shown(str(file))} may not be read by this user.")
    return files


def _kind(file: Path) -> str | None:
    name = file.name.lower().removesuffix(".gz") if file.name.lower().endswith((".csv.gz", ".tsv.gz")) else file.name.lower()
    kinds = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".duckdb": "database", ".db": "database"}
    return kinds.get(Path(name).suffix)


def describer() -> duckdb.DuckDBPyConnection:
    """A cursor of a database that holds nothing, for looking at what is given: to start one takes much longer than to ask it."""
    return _describer().cursor()


@cache
def _describer() -> duckdb.DuckDBPyConnection:
    import duckdb

    settings = {"autoload_known_extensions": "false", "autoinstall_known_extensions": "false", "threads": "1"}
    return duckdb.connect(config={**settings, "enable_external_file_cache": "false"})


def _end_describer() -> None:
    """Before a fork: a child that has a copy of the database, but not its threads, would wait for them when it ends."""
    if _describer.cache_info().currsize:
        _describer().close()
        _describer.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_end_describer)


def _types(queries: Iterable[str], given: object | None = None) -> list[dict[str, str]]:
    """The names and DuckDB types that queries would give, from schemas alone."""
    import duckdb

    try:
        with describer() as database:
            if given is not None:
                database.register("given", given)
            return [{row[0]: row[1] for row in database.execute(f"DESCRIBE {query}").fetchall()} for query in queries]
    except duckdb.Error:
        raise ParameterError(f"The columns of the table cannot be read; give {_TAKEN}, whole and undamaged.") from None


def _written(file: Path) -> list[str]:
    from pyarrow import parquet

    return [str(name) for name in parquet.read_schema(file).names]


def _shown(path: object) -> str:
    return str(path) if len(str(path)) <= 200 else f"{str(path)[:200]}..."


# Types whose cells mean something to a declaration.
_PLAIN = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|BOOLEAN|VARCHAR|UUID|BLOB|BIT|ENUM\(.*\)|DATE"
    r"|TIMESTAMP(_S|_MS|_NS)?|TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS",
    re.DOTALL,
)


def tells_apart(kind: str) -> bool:
    """Whether cells of this type can be ids: those that carry nothing cannot, nor bytes, of which only some spell a text."""
    return _PLAIN.fullmatch(kind) is not None and kind != "BLOB"


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
