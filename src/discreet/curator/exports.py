"""An answer as rows, or as an Arrow, pandas or polars table.

Columns are the keys, and ``n``, ``n_lower``, ``n_upper``, ``n_error`` for every output ``n``. Where such a name is taken, the
derived column gets an underscore more, so that nothing that was paid for is lost.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError
from discreet.plan.expressions import Value
from discreet.schema.columns import Kind

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from discreet.curator.answer import Answer

Type = Literal["integer", "number", "text", "boolean", "date"]


@dataclass(frozen=True)
class Exported:
    """A column of the table: its name, its type, and values of that type."""

    name: str
    type: Type
    values: list[Value]


def columns(answer: Answer) -> list[Exported]:
    """All columns, in order."""
    taken = {*answer.keys, *answer.outputs}
    found = [_exported(name, values, answer.kinds.get(name)) for name, values in answer.keys.items()]

    def free(name: str) -> str:
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    for name, output in answer.outputs.items():
        found.append(_exported(free(name) if name in answer.keys else name, output.values, answer.kinds.get(name)))
        for ending, numbers in (("lower", output.lower), ("upper", output.upper), ("error", output.errors)):
            if numbers is not None:
                found.append(Exported(free(f"{name}_{ending}"), "number", [float(number) for number in numbers]))
    return found


def rows(answer: Answer) -> list[dict[str, Value]]:
    """A dictionary for every row."""
    found = columns(answer)
    names = [column.name for column in found]
    return [dict(zip(names, row, strict=True)) for row in zip(*(column.values for column in found), strict=True)]


def to_arrow(answer: Answer) -> pyarrow.Table:
    """The rows as an Arrow table."""
    try:
        import pyarrow
    except ImportError:
        raise _missing("pyarrow") from None
    types = {
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "text": pyarrow.string(),
        "boolean": pyarrow.bool_(),
        "date": pyarrow.date32(),
    }
    found = columns(answer)
    arrays = [pyarrow.array(_encodable(column), types[column.type]) for column in found]
    return pyarrow.Table.from_arrays(arrays, names=[column.name for column in found])


def to_pandas(answer: Answer) -> pandas.DataFrame:
    """The rows as a pandas DataFrame; dates are days of ``datetime64``, missing whole numbers and truth values are ``<NA>``."""
    try:
        import pandas
    except ImportError:
        raise _missing("pandas") from None
    text = "str" if int(pandas.__version__.split(".")[0]) >= 3 else "object"  # what pandas itself makes of texts
    types = {"integer": "int64", "number": "float64", "text": text, "boolean": "bool", "date": "datetime64[s]"}
    nullable = {"integer": "Int64", "boolean": "boolean"}
    return pandas.DataFrame(
        {
            column.name: pandas.Series(
                _encodable(column),
                dtype=nullable.get(column.type, types[column.type]) if None in column.values else types[column.type],
            )
            for column in columns(answer)
        }
    )


def pivot(answer: Answer, output: str | None = None) -> pandas.DataFrame:
    """One output as a cross table: the first key down, the others across, as the answer has them; margins are called 'all'."""
    if len(answer.keys) < 2:
        raise ParameterError("A cross table has two keys or more, one down and the others across; use to_pandas().")
    name = next(iter(answer.outputs)) if output is None else output
    if name not in answer.outputs:
        raise ParameterError(f"There is no output {name!r}; there are {', '.join(answer.outputs)}.")
    try:
        import pandas
    except ImportError:
        raise _missing("pandas") from None
    names = list(answer.keys)
    shown = [["all" if answer.margins and value is None else value for value in answer.keys[key]] for key in names]
    across = list(zip(*shown[1:], strict=True))
    held = dict(zip(zip(shown[0], across, strict=True), answer.outputs[name].values, strict=True))
    down, columns = list(dict.fromkeys(shown[0])), list(dict.fromkeys(across))
    cells = [[held.get((row, column)) for column in columns] for row in down]
    if len(names) > 2:
        heads = pandas.MultiIndex.from_tuples(columns, names=names[1:])
    else:
        heads = pandas.Index([column[0] for column in columns], name=names[1])
    return pandas.DataFrame(cells, index=pandas.Index(down, name=names[0]), columns=heads)


def to_polars(answer: Answer) -> polars.DataFrame:
    """The rows as a polars DataFrame."""
    try:
        import polars
    except ImportError:
        raise _missing("polars") from None
    types = {
        "integer": polars.Int64,
        "number": polars.Float64,
        "text": polars.String,
        "boolean": polars.Boolean,
        "date": polars.Date,
    }
    return polars.DataFrame([polars.Series(one.name, _encodable(one), dtype=types[one.type]) for one in columns(answer)])


def _exported(name: str, values: Sequence[Value], kind: Kind | None) -> Exported:
    kind = kind or _kind(values)
    if kind == "number":
        present = [value for value in values if value is not None]
        if present and all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in present):
            return Exported(name, "integer", list(values))
        return Exported(name, "number", [None if value is None else float(value) for value in values])  # type: ignore[arg-type]
    return Exported(name, kind, list(values))


def _kind(values: Sequence[Value]) -> Kind:
    """The one type of these values; texts where nothing is known."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool) for value in present):
        return "boolean"
    if present and all(isinstance(value, datetime.date) for value in present):
        return "date"
    if present and all(isinstance(value, (int, float, Fraction)) for value in present):
        return "number"
    return "text"


def _encodable(column: Exported) -> list[Value]:
    """Texts that no other program could read, such as half of a pair of surrogates, get a mark instead."""
    if column.type != "text":
        return column.values
    return [None if value is None else str(value).encode("utf-8", "replace").decode() for value in column.values]


def _missing(package: str) -> ParameterError:
    return ParameterError(f"This needs {package}, which is not installed; run pip install {package}, or use answer.rows().")
