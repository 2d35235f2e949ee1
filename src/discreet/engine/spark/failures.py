"""What is said when Spark fails or does not answer: the kind of failure, in words that carry nothing of the data, which its own
may quote."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from discreet.engine.base import Unreachable
from discreet.errors import DiscreetError, EngineError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")

_PATIENCE = 5.0  # seconds for a Connect server to answer at all
_GONE: tuple[str, ...] = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "PATH_NOT_FOUND",
    "UNRESOLVED_COLUMN",
    "UNABLE_TO_INFER_SCHEMA",
    "SCHEMA_NOT_FOUND",
)
_GONE += ("CATALOG_NOT_FOUND", "FAILED_READ_FILE", "FILE_NOT_EXIST", "CANNOT_READ_FILE_FOOTER", "UNSUPPORTED_DATASOURCE")
_OURS = ("ParseException", "AnalysisException")
_LOST: tuple[str, ...] = (
    "stopped SparkContext",
    "SparkContext.dagScheduler()",
    "SparkContext was shut down",
    "UNAVAILABLE",
    "SESSION_CLOSED",
    "SESSION_NOT_FOUND",
    "NoneType",
)
_LOST += ("NO_ACTIVE_SESSION", "INVALID_HANDLE", "Connection refused", "failed to connect", "Answer from Java side is empty")
_FULL = ("OutOfMemoryError", "maxResultSize", "No space left", "MemoryError", "UNABLE_TO_ACQUIRE_MEMORY")

UNREACHABLE = "Spark cannot be reached: its session was stopped, its server is gone or its address is wrong; make a session anew."


def said(error: Exception) -> DiscreetError:
    """The kind of a failure."""
    words, kind = f"{type(error).__name__}: {error}", type(error).__name__
    condition = getattr(error, "getCondition", lambda: None)() or ""
    if any(word in words for word in _FULL):
        return EngineError("Spark ran out of memory, or of disk; give its session more memory, or ask about fewer groups.")
    if any(word in condition or f"[{word}" in words for word in _GONE):
        return EngineError("Spark cannot read the table: it is gone, has other columns or types, or may not be read.")
    if any(word in words for word in _LOST) or isinstance(error, ConnectionError | EOFError):
        return Unreachable(UNREACHABLE)
    if kind in _OURS:
        return EngineError(f"Spark did not understand its own question ({kind}); this is a defect of discreet.")
    return EngineError("Spark could not finish the question; nothing more can be said without speaking of the data.")


def kindly(work: Callable[[], _T]) -> _T:
    """What ``work`` gives; its failures are said in our words, and those of Spark do not travel along."""
    try:
        return work()
    except DiscreetError:
        raise
    except Exception as error:
        failure = said(error)
    raise failure


def missing_package() -> ParameterError:
    """What is said where PySpark is not installed."""
    return ParameterError("Tables in Spark need PySpark 4; run pip install 'discreet[spark]'.")


def is_connected(spark: SparkSession) -> bool:
    """Whether it is a session of a Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def reach(spark: SparkSession) -> None:
    """Refuse where nothing answers at the address of a Connect server: PySpark by itself would go on trying for minutes."""
    channel = getattr(spark.client, "_channel", None) if is_connected(spark) else None
    if channel is None:
        return
    import grpc

    ready = grpc.channel_ready_future(channel)
    try:
        ready.result(timeout=_PATIENCE)
    except (grpc.FutureTimeoutError, grpc.FutureCancelledError, ValueError):  # the last: it was closed
        silent = True
    else:
        silent = False
    finally:
        ready.cancel()
    if silent:
        raise Unreachable(UNREACHABLE)
