"""Arrow tables and frames, made ready for the engine: every cell becomes what it becomes by itself.

Types that the engine would read with an error, or by looking at other rows first, are rewritten here: dictionaries are spelled
out, a text that is not UTF-8 and a moment beyond the engine's calendar are missing, and a pandas column of mixed Python objects
becomes text, object by object, every cell's in one of two places: how somebody writes numbers and days may be declared, and
concerns texts alone; whether a column has both may hang on one row. Durations, times of day, lists and other things made of
parts are missing in whatever holds them.
"""

from __future__ import annotations

import datetime
import math
import sys
import uuid
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    _Array: TypeAlias = pyarrow.Array | pyarrow.ChunkedArray

_LEVELS = 40  # decimals are spelled out up to so many digits
_LONG = 2**63 - 1
_FIRST = -9_223_372_022_400_000_000  # microseconds: the first moment of the engine's calendar
_EPOCH = datetime.datetime(1970, 1, 1)
_UNITS = {"W": 604_800 * 10**18, "D": 86_400 * 10**18, "h": 3600 * 10**18, "m": 60 * 10**18, "s": 10**18, "ms": 10**15}
_UNITS |= {"us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 10**3, "as": 1}  # of numpy, in attoseconds
_MONTHS = 12 * 10**6  # beyond every calendar


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
        arrays = [_from_polars(chosen[name]) for name in columns]
    else:
        arrays = [_safe(cast("pyarrow.Table", source).column(name)) for name in columns]
    return pyarrow.table(arrays, names=list(columns))


def untold(source: object, columns: tuple[str, ...]) -> frozenset[str]:
    """Columns whose type cannot tell persons apart, whatever the rows: bytes, durations, times of day, things made of parts."""
    from pyarrow import types

    if _known(source) == "pandas":  # whose type may hang on one row
        return frozenset()
    schema = source.schema if _known(source) == "arrow" else None  # type: ignore[attr-defined]
    if schema is None:
        schema = cast("polars.LazyFrame", source).lazy().select(columns).limit(0).collect().to_arrow().schema
    kinds = {name: _plain_type(schema.field(name).type) for name in columns}
    return frozenset(name for name, kind in kinds.items() if _missing(kind) or _is_bytes(kind) or types.is_null(kind))


class Batches:
    """Parquet files that go through Arrow, so that every cell is made safe before the engine sees it; no rows are kept."""

    def __init__(self, files: Iterable[Path], columns: tuple[str, ...]) -> None:
        self._files, self._columns = tuple(files), columns

    def __arrow_c_schema__(self) -> object:
        return self._schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        import pyarrow

        schema = self._schema()
        return pyarrow.RecordBatchReader.from_batches(schema, self._batches(schema)).__arrow_c_stream__(requested_schema)

    def _schema(self) -> pyarrow.Schema:
        """What the engine is given, whatever the rows: the types of no rows at all."""
        import pyarrow
        from pyarrow import parquet

        empty = parquet.read_schema(self._files[0]).empty_table()
        return pyarrow.schema([(name, _safe(empty.column(name)).type) for name in self._columns])

    def _batches(self, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyarrow import parquet

        for file in self._files:
            with parquet.ParquetFile(file) as opened:
                for batch in opened.iter_batches(columns=list(self._columns)):
                    safe = [_safe(batch.column(name)).cast(schema.field(name).type) for name in self._columns]
                    yield pyarrow.record_batch([_whole(one) for one in safe], schema=schema)


def _whole(array: _Array) -> pyarrow.Array:
    """One array instead of parts."""
    import pyarrow

    return array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array


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
        return _from_pandas(series.cat.categories.to_series()).take(pyarrow.array(codes, mask=codes < 0))
    if series.dtype != object:
        try:
            return _safe(pyarrow.array(series.copy(), from_pandas=True))  # Arrow would share memory that the caller can write to
        except Exception:
            pass  # a type that Arrow does not know: object by object
    return _from_objects(np.asarray(series, dtype=object))


def _from_polars(series: polars.Series) -> _Array:
    if str(series.dtype) == "Object":
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return _from_objects(values)
    return _safe(series.to_arrow())


def _from_objects(values: NDArray[np.object_]) -> _Array:
    import pyarrow

    try:
        return pyarrow.array(values, type=pyarrow.large_string(), from_pandas=True)  # texts only, and nothing else
    except (pyarrow.ArrowException, TypeError, ValueError):
        held = list(values)
        texts = pyarrow.array([_as_text(value) for value in held], type=pyarrow.large_string())
        return marked(texts, np.fromiter((isinstance(value, str | bytes | bytearray) for value in held), bool, len(held)))


def _as_text(value: object) -> str | None:
    """One Python object as the text that ``cleaning`` gives its typed likeness; an object that is no plain value is missing.

    A type means one thing wherever its values are found. Subclasses, as enumerations of numbers are, mean what they are made of.
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _stamp(_micros_of(value)) if isinstance(value, np.datetime64) else None
    if isinstance(value, np.floating | np.complexfloating):  # also long doubles, as the nearest double
        with np.errstate(over="ignore"):
            value = float(value) if isinstance(value, np.floating) else complex(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value) if value.isascii() or _encodes(value) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        whole = int.__int__(value)
        return str(whole) if abs(whole) < 10**4000 else "inf" if whole > 0 else "-inf"
    if isinstance(value, complex):  # one of them makes all numbers of its column such
        value = value.real if value.imag == 0 else math.nan
    if isinstance(value, float):
        real = float.__float__(value)
        short = real.is_integer() and abs(real) < 2**63
        return None if real != real else str(int(real)) if short else repr(real)
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
        return datetime.date.isoformat(value)
    if hasattr(value, "asm8"):  # pandas' own, whose calendar is longer than Python's
        return _stamp(_micros_of(value.asm8))
    try:
        ahead = value.utcoffset() or datetime.timedelta()
    except Exception:  # somebody's own time zone
        return None
    return _stamp((value.replace(tzinfo=None) - _EPOCH - ahead) // datetime.timedelta(microseconds=1))


def _micros_of(value: np.datetime64) -> int | None:
    """Microseconds since 1970, rounded down; None where there is no such moment."""
    unit, count = np.datetime_data(value.dtype)
    number = int(value.astype(np.int64)) * count
    if np.isnat(value) or unit == "generic" or (unit in ("Y", "M") and abs(number) > _MONTHS):
        return None
    if unit in ("Y", "M"):  # of no fixed length
        number, unit = int(value.astype("datetime64[D]").astype(np.int64)), "D"
    return number * _UNITS[unit] // 10**12


def _stamp(micros: int | None) -> str | None:
    """A moment as the engine writes it; missing where it is beyond the engine's calendar."""
    if micros is None or not _FIRST <= micros < _LONG:
        return None
    days, rest = divmod(micros, 86_400 * 10**6)
    year, month, day = str(np.datetime64(days, "D")).rsplit("-", 2)
    past = f"{1 - int(year):04}-{month}-{day} (BC)" if int(year) <= 0 else f"{int(year):04}-{month}-{day}"
    seconds, part = divmod(rest, 10**6)
    text = f"{past} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{part:06}".rstrip("0") if part else text


def _plain_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    """What is left of a type when it is spelled out."""
    import pyarrow
    from pyarrow import types

    if isinstance(kind, pyarrow.BaseExtensionType):
        return pyarrow.large_string() if kind.extension_name == "arrow.uuid" else _plain_type(kind.storage_type)
    inside = types.is_dictionary(kind) or types.is_run_end_encoded(kind)
    return _plain_type(kind.value_type) if inside else kind


def _missing(kind: pyarrow.DataType) -> bool:
    """Whether cells of a type are missing, whatever they are."""
    from pyarrow import types

    return bool(types.is_nested(kind) or types.is_duration(kind) or types.is_time(kind) or types.is_interval(kind))


def _is_bytes(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    some = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return bool(some or types.is_fixed_size_binary(kind))


def _safe(array: _Array) -> _Array:
    """The same values in a type that the engine reads without looking twice."""
    import pyarrow
    from pyarrow import compute, types

    kind = array.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        if kind.extension_name == "pandas.period":  # a stretch of time, and no number
            return pyarrow.nulls(len(array), pyarrow.large_string())
        return _decoded(array) if kind.extension_name == "arrow.uuid" else _safe(array.cast(kind.storage_type))
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
    if _missing(kind):
        return pyarrow.nulls(len(array), pyarrow.large_string())
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        try:
            array.validate(full=True)
        except pyarrow.ArrowInvalid:
            return _decoded(array.cast(pyarrow.large_binary()))
    return _decoded(array) if _is_bytes(kind) else array


def _decoded(array: _Array) -> pyarrow.Array:
    """Bytes as the text they spell (where they are no UTF-8, the cell is missing), and other objects as theirs."""
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
        near = compute.and_(compute.less_equal(units, (_LONG - 1) // times), compute.greater_equal(units, -(-_FIRST // times)))
        if kind.unit == "us" and compute.all(near, min_count=0).as_py():
            return array
        micros = compute.multiply(compute.if_else(near, units, pyarrow.scalar(None, pyarrow.int64())), times)
    return micros.cast(pyarrow.timestamp("us", kind.tz))


def mixed_type() -> pyarrow.StructType:
    """Arrow's type of what ``cleaning`` calls ``MIXED``."""
    import pyarrow

    return pyarrow.struct([("given text", pyarrow.large_string()), ("given value", pyarrow.large_string())])


def marked(texts: pyarrow.Array, written: NDArray[np.bool_]) -> pyarrow.StructArray:
    """Texts, of which those were written by somebody."""
    import pyarrow
    from pyarrow import compute

    none = pyarrow.scalar(None, pyarrow.large_string())
    halves = [compute.if_else(pyarrow.array(which), texts, none) for which in (written, ~written)]
    return pyarrow.StructArray.from_arrays(halves, fields=list(mixed_type()))


def unmarked(table: pyarrow.Table) -> pyarrow.Table:
    """The same table with plain texts instead: for public tables, of which no spelling is declared."""
    from pyarrow import compute

    for i, field in enumerate(table.schema):
        if field.type == mixed_type():
            halves = [compute.struct_field(table.column(i), j) for j in (0, 1)]
            table = table.set_column(i, field.name, compute.coalesce(*halves))
    return table
