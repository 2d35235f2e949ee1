"""One private table, or several, in a Spark session of their owner, classic or Connect.

Nothing but the DataFrame and SQL interface is used, so that a Connect server does as well as a driver of one's own. Statements
run in the owner's session, in ANSI mode, which is looked at before and after each: a setting that changes meanwhile ends the
question.
Tables are temporary views under names of their own, which go when the session is closed.

Long lists are tables, made from Arrow. So is what is secret: a table of one row, of which plans, the history of the server, its
event log and logs show the columns and never the cells, while a parameter would be written out in all of them. Whatever Spark
says when it fails may quote a cell: its words are dropped.
"""

from __future__ import annotations

import datetime
import os
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.engine.base import Unreachable
from discreet.engine.sources.public import PublicTable
from discreet.engine.spark.failures import is_connected, kindly, reach
from discreet.engine.spark.literals import name_of, quoted
from discreet.engine.spark.source import SparkSource, address_of, open_source, place_of
from discreet.engine.sql.interrupting import interruptible
from discreet.errors import EngineError, ParameterError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")

__all__ = ["SparkEngineSession", "address_of", "open_session", "open_source", "place_of"]

_FIRST_VERSION = 4
_BATCH = 2**20
_SOME = 2**15
_FEW = 2**14
_SECRET = re.compile(r"\(SELECT (p[0-9]+) FROM IDENTIFIER\(:secrets\)\)")
_PLAIN = re.compile(r"[A-Za-z0-9 _-]*")
_ANSI = "spark.sql.ansi.enabled"
# What the text of a statement means must not hang on settings; these are Spark's own defaults, and what they protect.
_SETTINGS = {
    _ANSI: "true",  # what overflows raises instead of being another number
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",  # 1e0 is a double
    "spark.sql.parser.quotedRegexColumnNames": "false",  # a quoted name is a name
    "spark.sql.crossJoin.enabled": "true",  # keys are all combinations of lists
    "spark.sql.legacy.ctePrecedencePolicy": "corrected",  # of two tables of one name the inner one is meant
}
_ORDER = "spark.sql.functionResolution.sessionOrder"  # unknown to versions in which functions of the session may go first
_FORKED = "This process was forked from the one that opened the table; open the table again here."


class SparkEngineSession:
    """Answers SQL over the raw private table, and over the public tables by their names. Threads may share it."""

    coded = False

    def __init__(self, source: SparkSource | Mapping[str, SparkSource], public: Mapping[str, PublicTable]) -> None:
        sources = {"": source} if isinstance(source, SparkSource) else dict(source)
        self._spark = next(iter(sources.values())).session
        self._mark, self._process = f"discreet_{uuid.uuid4().hex[:12]}", os.getpid()
        self._views: list[str] = []
        self._lock, self._secrets = threading.Lock(), dict[tuple[tuple[str, str], ...], str]()
        self._tables: dict[str, str] = {}  # public ones, by name
        self._busy: list[str] = []
        self._share: float | None = None  # how far a Connect server is
        try:
            self.relation, self.nothing, self.several = kindly(lambda: self._opened(sources, public))
        except BaseException:
            self.close()
            raise

    def _opened(
        self, sources: Mapping[str, SparkSource], public: Mapping[str, PublicTable]
    ) -> tuple[str, str, Mapping[str, tuple[str, str]]]:
        check_version(self._spark)
        check_settings(self._spark)
        pairs = {name: self._open(name, one) for name, one in sources.items()}
        for name, table in public.items():
            self._public(name, table)
        if is_connected(self._spark):
            self._spark.registerProgressHandler(self._note)  # type: ignore[arg-type]
        return *next(iter(pairs.values())), {name: pair for name, pair in pairs.items() if name}

    def _open(self, name: str, source: SparkSource) -> tuple[str, str]:
        """A private table in SQL, and the same columns without rows."""
        if source.session is not self._spark:
            raise ParameterError("These tables are of different Spark sessions, and joins need one; read them all with one.")
        columns = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(column)}" for column, kind in source.raw.items())
        rows = self._view(f"raw_{name.encode().hex()}", source.relation())
        nothing = self._view(f"nothing_{name.encode().hex()}", self._spark.sql(f"SELECT {columns} WHERE FALSE"))
        return rows, nothing

    def _public(self, name: str, table: PublicTable) -> None:
        """A public table; statements call it by its own name, of which the session may have a table, too."""
        held = table.compared()
        plain = held.rename_columns([name_of(column) for column in held.column_names])
        self._tables[quoted(name)] = self._view(f"public_{name.encode().hex()}", self._frame(plain))

    def _view(self, name: str, frame: DataFrame) -> str:
        view = f"{self._mark}_{name}"
        frame.createOrReplaceTempView(view)
        with self._lock:
            self._views.append(view)
        return f"`{view}`"

    def fetch(self, sql: str, parameters: Mapping[str, object] | None = None) -> dict[str, list[object]]:
        """All rows that one statement gives, as Python's own values by column; integers of any width are exact."""
        found = self._run(sql, parameters or {})
        return {name: [_plain(value) for value in found[name].to_pylist()] for name in found.column_names}

    def stream(self, sql: str, parameters: Mapping[str, object] | None = None) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same in batches of arrays. All of it is on this machine first: Spark counts by cells, so it is no table of rows."""
        for batch in self._run(sql, parameters or {}).to_batches(_BATCH):
            yield {name: _array(batch.column(j)) for j, name in enumerate(batch.schema.names)}

    def read(self, sql: str, parameters: Mapping[str, object] | None = None) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same of all rows of a table; a partition or two of it are on this machine at any time."""
        if os.getpid() != self._process:
            raise EngineError(_FORKED)
        batches = self._batches(sql, parameters or {})
        while (batch := kindly(lambda: next(batches, None))) is not None:
            yield batch

    def _batches(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, NDArray[np.generic]]]:
        """Rows by row, since Spark has no other way to let go of a partition that was read."""
        self._check()
        with self._bound(sql, parameters) as bound, self._watched() as tag:

            def ask() -> tuple[list[str], Iterator[Any]]:
                frame = self._spark.sql(self._with_public(sql), args=bound)
                return frame.columns, iter(frame.toLocalIterator(prefetchPartitions=True))

            names, rows = interruptible(lambda: self._stop(tag), lambda: self._tagged(tag, ask))
            while some := interruptible(lambda: self._stop(tag), lambda: self._tagged(tag, lambda: list(islice(rows, _SOME)))):
                yield {name: _listed([row[j] for row in some]) for j, name in enumerate(names)}
        self._check()

    def _run(self, sql: str, parameters: Mapping[str, object]) -> pyarrow.Table:
        if os.getpid() != self._process:
            raise EngineError(_FORKED)
        return kindly(lambda: self._checked(sql, parameters))

    def _checked(self, sql: str, parameters: Mapping[str, object]) -> pyarrow.Table:
        """What a statement gives, between two looks at the settings."""
        self._check()
        with self._bound(sql, parameters) as bound, self._watched() as tag:
            found = interruptible(lambda: self._stop(tag), lambda: self._asked(self._with_public(sql), bound, tag))
        self._check()
        return found

    def _check(self) -> None:
        """Settings are as they were when the table was opened: else no question can be asked, and none that was is answered."""
        reach(self._spark)
        try:
            check_settings(self._spark)
        except ParameterError as refusal:
            changed = Unreachable(str(refusal))
        else:
            return
        raise changed

    def _asked(self, sql: str, bound: dict[str, Any], tag: str) -> pyarrow.Table:
        return self._tagged(tag, lambda: self._spark.sql(sql, args=bound).toArrow())

    def _tagged(self, tag: str, work: Callable[[], T]) -> T:
        """Work, by whose tag it can be stopped."""
        self._spark.addTag(tag)  # of this thread
        try:
            return work()
        finally:
            with suppress(Exception):
                self._spark.removeTag(tag)

    def _stop(self, tag: str) -> None:
        """Cancel the jobs with this tag."""
        with suppress(Exception):
            self._spark.interruptTag(tag)

    def _with_public(self, sql: str) -> str:
        """The statement, in which names of public tables mean them."""
        used = [f"{name} AS (SELECT * FROM {view})" for name, view in self._tables.items() if name in sql]
        return sql.replace("WITH ", f"WITH {', '.join(used)}, ", 1) if used else sql

    @contextmanager
    def _bound(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        """What is bound in a statement: constants, the names of tables that hold lists, and that of the one with secrets."""
        hidden, listed = set(_SECRET.findall(sql)), []
        bound: dict[str, Any] = {}
        try:
            for name, value in parameters.items():
                if isinstance(value, list):
                    listed.append(self._view(f"list_{uuid.uuid4().hex}", self._list(value)))
                    bound[name] = listed[-1]
                elif name not in hidden:
                    bound[name] = _constant(value)
            if hidden:
                bound["secrets"] = self._hidden({name: str(parameters[name]) for name in sorted(hidden)})
            yield bound
        finally:
            for view in listed:
                self._drop(view)

    def _list(self, values: list[object]) -> DataFrame:
        """A table of values and their numbers."""
        import pyarrow

        some = next((value for value in values if value is not None), None)
        kind = pyarrow.string() if some is None else None
        numbers = pyarrow.array(np.arange(len(values), dtype=np.int32))
        return self._frame(pyarrow.table({"k": pyarrow.array(values, kind), "i": numbers}))

    def _frame(self, table: pyarrow.Table) -> DataFrame:
        """A table of ours in Spark; of one without rows Connect would not know the types. A long one is put aside on the cluster:
        as a part of the plan, it would be looked at by every rule of the planner."""
        if table.num_rows:
            made = self._spark.createDataFrame(table)
            return made if table.num_rows <= _FEW else made.localCheckpoint()
        types = {"double": "DOUBLE", "bool": "BOOLEAN", "date32[day]": "DATE", "int32": "INT"}
        columns = (f"CAST(NULL AS {types.get(str(column.type), 'STRING')}) AS `{column.name}`" for column in table.schema)
        return self._spark.sql(f"SELECT {', '.join(columns)} WHERE FALSE")

    def _hidden(self, values: Mapping[str, str]) -> str:
        """The table of one row that holds these, made once."""
        import pyarrow

        key = tuple(values.items())
        if key not in self._secrets:
            row = pyarrow.table({name: [value] for name, value in values.items()})
            self._secrets[key] = self._view(f"secrets_{uuid.uuid4().hex}", self._spark.createDataFrame(row))
        return self._secrets[key]

    @contextmanager
    def _watched(self) -> Iterator[str]:
        """A tag for a question, by which it can be stopped."""
        tag = f"{self._mark}-{uuid.uuid4().hex[:12]}"
        with self._lock:
            self._busy.append(tag)
        try:
            yield tag
        finally:
            with self._lock:
                self._busy.remove(tag)

    def _note(self, stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: ARG002
        """What a Connect server tells about an operation under way."""
        tasks = sum(stage.num_tasks for stage in stages)
        self._share = sum(stage.num_completed_tasks for stage in stages) / tasks if tasks and not done else None

    def reading(self) -> AbstractContextManager[None]:
        """Spark has no states to choose from: whether files changed meanwhile is asked when everything is counted."""
        return nullcontext()

    def progress(self) -> float | None:
        """How far the stages are that Spark knows of, from 0 to 1; None when nothing is under way."""
        if not self._busy:
            return None
        if is_connected(self._spark):
            return self._share
        with suppress(Exception):
            tracker = self._spark.sparkContext.statusTracker()
            stages = [one for one in map(tracker.getStageInfo, tracker.getActiveStageIds()) if one is not None]
            tasks = sum(stage.numTasks for stage in stages)
            return sum(stage.numCompletedTasks for stage in stages) / tasks if tasks else None
        return None

    def _drop(self, view: str) -> None:
        with suppress(Exception):
            self._spark.catalog.dropTempView(view.strip("`"))
        with self._lock, suppress(ValueError):
            self._views.remove(view.strip("`"))

    def close(self) -> None:
        """Drop the views; harmless when repeated, and when the session is gone."""
        if os.getpid() != self._process:
            return
        for view in list(self._views):
            self._drop(view)
        with suppress(Exception):
            if is_connected(self._spark):
                self._spark.removeProgressHandler(self._note)  # type: ignore[arg-type]


def open_session(
    source: SparkSource | Mapping[str, SparkSource], public: Mapping[str, PublicTable], *, memory: str | None = None
) -> SparkEngineSession:
    """A session over tables in Spark."""
    if memory is not None:
        raise ParameterError("How much memory Spark has is for its session to say, spark.executor.memory; leave memory= out.")
    return SparkEngineSession(source, public)


def check_version(spark: SparkSession) -> None:
    """Refuse a Spark that is too old."""
    version = str(spark.version)
    first = re.match("[0-9]+", version)
    if first is None or int(first[0]) < _FIRST_VERSION:
        raise ParameterError(f"This is Spark {version}, and discreet needs Spark 4; run one, and pip install 'pyspark>=4'.")


def check_settings(spark: SparkSession) -> None:
    """Refuse settings under which a statement would mean something else."""
    for name, wanted in _SETTINGS.items():
        if setting(spark, name) not in (wanted, None):
            raise ParameterError(
                f"In this Spark session {name} is not {wanted}, and numbers could silently be others; write "
                f'spark.conf.set("{name}", "{wanted}").'
            )
    order = setting(spark, _ORDER)
    if order == "first":
        raise ParameterError(
            f"In this Spark session {_ORDER} is first, so that its functions may stand for Spark's own, and numbers could "
            f'silently be others; write spark.conf.unset("{_ORDER}").'
        )
    if order is None and (taken := taken_functions(spark)):
        raise ParameterError(
            f"In this Spark session there are functions with names of Spark's own ({', '.join(taken)}), and numbers could "
            "silently be others; drop them."
        )


def setting(spark: SparkSession, name: str) -> str | None:
    """What a setting is, also where nobody set it: a default given here would hide one that comes from the environment of the
    server (SPARK_ANSI_SQL_MODE). None in versions that do not know it."""
    try:
        return str(spark.conf.get(name)).lower()
    except Exception as unknown:
        if "SQL_CONF_NOT_FOUND" not in str(unknown):
            raise
    return None


def taken_functions(spark: SparkSession) -> list[str]:
    """Functions of the session that have the names of Spark's own."""
    own, others = (
        {row["function"].lower() for row in spark.sql(f"SHOW {whose} FUNCTIONS").collect()} for whose in ("SYSTEM", "USER")
    )
    return sorted(own & others)


def _constant(value: object) -> object:
    """A constant of a question. A text with anything but letters and digits is bound as its bytes, which no parser reads."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else bytearray(value.encode())
    return value


def _plain(value: object) -> object:
    return int(value) if isinstance(value, Decimal) else value


def _listed(column: list[object]) -> NDArray[np.generic]:
    """Cells of rows: whole numbers of 64 bits, or texts."""
    return np.array(column, dtype=np.int64 if all(type(one) is int for one in column) else object)


def _array(column: pyarrow.Array) -> NDArray[np.generic]:
    """Numbers as an array; decimals, which are whole numbers of any width, as Python's integers."""
    import pyarrow

    if not pyarrow.types.is_decimal(column.type):
        plain: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
        return plain
    return np.array([_plain(value) for value in column.to_pylist()], dtype=object)
