"""An answer as JSON text, exactly: what a ledger keeps, and what a repeat gives back.

Numbers, texts, truth values and null are JSON's own; whatever JSON has no word for is an object with its type's name.
"""

from __future__ import annotations

import datetime
import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.curator.cells import left_of
from discreet.errors import ParameterError
from discreet.plan.expressions import Value

if TYPE_CHECKING:
    from discreet.curator.answer import Answer

__all__ = ["from_json", "to_json"]

_Written = None | bool | int | float | str | dict[str, str]


def to_json(answer: Answer) -> str:
    """A text that means the same answer for ever."""
    outputs = {
        name: {
            "values": [_written(value) for value in column.values],
            "mechanism": column.mechanism,
            **{
                part: [_written(number) for number in numbers]
                for part, numbers in (("errors", column.errors), ("lower", column.lower), ("upper", column.upper))
                if numbers is not None
            },
        }
        for name, column in answer.outputs.items()
    }
    facts = {
        "discreet": "answer",
        "version": 1,
        "question": answer.question,
        "keys": {name: [_written(value) for value in values] for name, values in answer.keys.items()},
        "outputs": outputs,
        "parts": [list(part) for part in answer.parts],
        "cost": answer.cost,
        "left": left_of(answer),
        "repeated": answer.repeated,
        "remarks": list(answer.remarks),
        "kinds": dict(answer.kinds),
    }
    return json.dumps(facts, allow_nan=False)


def from_json(text: str) -> Answer:
    """The answer that ``to_json`` wrote."""
    from discreet.curator.answer import Answer, Column

    try:
        facts = json.loads(text)
        if facts.pop("discreet") != "answer" or facts.pop("version") != 1:
            raise ValueError
        facts["keys"] = {name: tuple(map(_read, values)) for name, values in facts["keys"].items()}
        facts["outputs"] = {name: Column(**_lists_read(column)) for name, column in facts["outputs"].items()}
        return Answer(**facts)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise ParameterError("This text is no answer known here; give what to_json() wrote, or update discreet.") from None


def _written(value: Value) -> _Written:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    return value


def _lists_read(column: dict[str, Any]) -> dict[str, Any]:
    return {part: tuple(map(_read, given)) if isinstance(given, list) else given for part, given in column.items()}


def _read(written: _Written) -> Value:
    if not isinstance(written, dict):
        return written
    ((kind, text),) = written.items()
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "fraction":
        return Fraction(text)
    if kind == "float":
        return float(text)
    raise ValueError(kind)
