"""Arrow tables and frames, made ready for the engine: every cell becomes what it becomes by itself.

Types that the engine would read with an error, or by looking at other rows first, are rewritten here: dictionaries are spelled
out, a text that is not UTF-8 and a moment beyond the engine's calendar are missing, and a pandas column of mixed Python objects
becomes text, object by object, as ``mixed`` says. Durations, times of day, lists and other things made of parts are missing in
whatever holds them.
"""

from __future__ import annotations

import datetime
import math
import sys
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from discreet.engine.duckdb.mixed import marked, mixed_type
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    _Array: TypeAlias = pyarrow.Array | pyarrow.ChunkedArray

__all__ = ["arrow_of", "names_of"]

_LEVELS = 40  # decimals are spelled out up to so many digits
_LONG = 2**63 - 1
_FIRST = -9_223_372_022_400_000_000  # microseconds: the first moment of the engine's calendar


def names_of(source: object) -> tuple[str, ...] | None:
    """The columns of an Arrow table or a frame, or None for anything else."""
    frame = _known(source)
    if frame == "pandas":
        named = list(cast("pandas.DataFrame", source).columns)
        if not all(isinstance(name, str) for name in named):
            raise ParameterError("The columns of a frame need texts as names; rename them with frame.columns = [...].")
        return tuple(named)
    if frame == "polars":
        return tuple(cast("polars.LazyFrame", source).collect_schema().names())
    return tuple(cast("pyarrow.Table", source).column_names) if frame == "arrow" else None


def arrow_of(source: object, columns: tuple[str, ...]) -> pyarrow.Table:
    """The columns of an Arrow table or a frame, as an Arrow table the engine can read without an error."""
    import pyarrow

    frame = _known(source)
    if frame == "pandas":
        held = cast("pandas.DataFrame", source)
        arrays = [_from_pandas(held[name]) for name in columns]
    elif frame == "polars":
        chosen = cast("polars.LazyFrame", source).lazy().select(columns).collect()
        arrays = [chosen[name].to_arrow() for name in columns]
    else:
        arrays = [cast("pyarrow.Table", source).column(name) for name in columns]
    # What marked made is safe, and of a type that no frame can bring along by itself.
    return pyarrow.table([a if frame == "pandas" and a.type == mixed_type() else _safe(a) for a in arrays], names=list(columns))


def _known(source: object) -> str | None:
    """Which library a frame is of; a library that was never imported cannot have made it."""
    for library, types in (("pyarrow", ("Table",)), ("pandas", ("DataFrame",)), ("polars", ("DataFrame", "LazyFrame"))):
        module = sys.modules.get(library)
        if module is not None and isinstance(source, tuple(getattr(module, name) for name in types)):
            return library.removeprefix("py")
    return None


def _from_pandas(series: pandas.Series) -> _Array:
    import pyarrow

    if hasattr(series, "cat"):  # its categories one by one: Arrow would find one type for all of them
        codes = series.cat.codes.to_numpy()
        listed = _from_pandas(series.cat.categories.to_series())
        listed = listed if listed.type == mixed_type() else _safe(listed)
        return listed.take(pyarrow.array(codes, mask=codes < 0))
    if series.dtype != object:
        try:
            return pyarrow.array(series.copy(), from_pandas=True)  # Arrow would share the memory that the caller can write to
        except Exception:
            pass  # a type that Arrow does not know: object by object
    values = np.asarray(series, dtype=object)
    try:
        return pyarrow.array(values, type=pyarrow.large_string(), from_pandas=True)  # texts only, and nothing else
    except (pyarrow.ArrowException, TypeError, ValueError):
        held = values.tolist()
        texts = pyarrow.array([_as_text(value) for value in held], type=pyarrow.large_string())
        return marked(texts, np.fromiter((isinstance(value, str | bytes | bytearray) for value in held), bool, len(held)))


def _as_text(value: object) -> str | None:
    """One Python object as the text that ``cleaning`` gives its typed likeness; an object that is no plain value is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value if value.isascii() or _encodes(value) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**4000 else "inf" if value > 0 else "-inf"
    if isinstance(value, complex):  # one of them makes all numbers of its column such
        value = value.real if value.imag == 0 else math.nan
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 2**63
        return None if value != value else str(int(value)) if whole else repr(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, datetime.date):
        return _moment(value)
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return None
    return str(value) if isinstance(value, uuid.UUID) else None


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > _LEVELS:
        return str(value).lower().replace("infinity", "inf")
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _moment(value: datetime.date) -> str | None:
    if value != value:  # pandas' missing moment
        return None
    if not isinstance(value, datetime.datetime):
        return value.isoformat()
    if value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        except OverflowError:
            return None
    text = value.isoformat(sep=" ", timespec="microseconds")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _safe(array: _Array) -> _Array:
    """The same values in a type that the engine reads without looking twice."""
    import pyarrow
    from pyarrow import compute, types

    kind = array.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return _safe(array.cast(kind.storage_type))
    if types.is_dictionary(kind):
        chunks = array.chunks if isinstance(array, pyarrow.ChunkedArray) else [array]
        return _safe(pyarrow.chunked_array([chunk.dictionary.take(chunk.indices) for chunk in chunks], kind.value_type))
    if types.is_run_end_encoded(kind):
        return _safe(compute.run_end_decode(array))
    if types.is_float16(kind):
        return array.cast(pyarrow.float32())
    if types.is_decimal32(kind) or types.is_decimal64(kind):
        return array.cast(pyarrow.decimal128(kind.precision, kind.scale))
    if types.is_decimal256(kind):
        text = array.cast(pyarrow.large_string())
        text = compute.utf8_rtrim(compute.utf8_rtrim(text, "0"), ".") if kind.scale > 0 else text
        text = text.combine_chunks() if isinstance(text, pyarrow.ChunkedArray) else text
        return marked(text, np.zeros(len(text), bool))
    if types.is_timestamp(kind):
        return _microseconds(array, kind)
    if types.is_nested(kind) or types.is_duration(kind) or types.is_time(kind) or types.is_interval(kind):
        return pyarrow.nulls(len(array), pyarrow.large_string())
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        try:
            array.validate(full=True)
        except pyarrow.ArrowInvalid:
            return _decoded(array.cast(pyarrow.large_binary()))
    is_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return _decoded(array) if is_bytes or types.is_fixed_size_binary(kind) else array


def _decoded(array: _Array) -> pyarrow.Array:
    """Bytes as the text they spell; where they are no UTF-8, the cell is missing."""
    import pyarrow

    return pyarrow.array([_as_text(value) for value in array.to_pylist()], type=pyarrow.large_string())


def _microseconds(array: _Array, kind: pyarrow.TimestampType) -> _Array:
    """Moments in microseconds of UTC, rounded down; those beyond the engine's calendar are missing."""
    import pyarrow
    from pyarrow import compute

    units = array.cast(pyarrow.int64())
    if kind.unit == "ns":
        toward_zero = compute.divide(units, 1000)
        above = compute.greater(compute.multiply(toward_zero, 1000), units)
        micros = compute.subtract(toward_zero, above.cast(pyarrow.int64()))
    else:
        times = {"s": 10**6, "ms": 10**3, "us": 1}[kind.unit]
        near = compute.and_(compute.less(units, _LONG // times), compute.greater_equal(units, -(-_FIRST // times)))
        if kind.unit == "us" and compute.all(near, min_count=0).as_py():
            return array
        micros = compute.multiply(compute.if_else(near, units, pyarrow.scalar(None, pyarrow.int64())), times)
    return micros.cast(pyarrow.timestamp("us", kind.tz))
