"""Operations on texts, and bins of numbers.

Characters are counted as Unicode code points. ``lower`` and ``upper`` agree on every engine for ASCII letters; elsewhere they are
the engine's, and nothing that depends on them is listed in advance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.plan.expressions import Literal, Value
from discreet.plan.expressions.facts import TRUTH, Facts, Operation, Takes, number_facts

_MOST = 10**6  # characters that a literal position may name
_MOST_PADDED = 1000


def _made(length: int) -> Facts:
    return Facts("text", False, length=length)


def _changed(times: int) -> Callable[[Sequence[Facts]], Facts]:
    """A text that is so many times as long at most: one letter may become three in another case, as in some engines."""
    return lambda arguments: _made(times * (arguments[0].length or 0))


def _joined(arguments: Sequence[Facts]) -> Facts:
    return _made(sum(argument.length or 0 for argument in arguments))


def _positions(arguments: Sequence[Facts]) -> Facts:
    value: object = 0
    for i, fact in enumerate(arguments[1:]):
        least = 1 if i == 0 and len(arguments) == 3 else 0
        value = fact.values[0] if fact.values else None
        if type(value) is not int or not least <= value <= _MOST:
            raise ParameterError(
                f"A position in a text is a whole number from {least} to a million; write substring(name, 1, 3)."
            )
    assert isinstance(value, int)
    return _made(min(arguments[0].length or 0, value))  # the last position is how many characters are kept


def _substring(text: str, start: float, length: float) -> str:
    return text[int(start) - 1 : int(start) - 1 + int(length)]


def _right(text: str, length: float) -> str:
    return text[max(0, len(text) - int(length)) :]


def _constants(arguments: Sequence[Facts]) -> list[Value]:
    return [fact.values[0] if fact.values else None for fact in arguments]


def _position(text: str, part: str) -> float:
    return float(text.find(part) + 1)


def _position_facts(arguments: Sequence[Facts]) -> Facts:
    text, part = arguments
    shortest = max(1, min((len(str(value)) for value in part.values or ("",)), default=1))  # an empty part is at the beginning
    return number_facts(Fraction(0), Fraction(max(1, (text.length or 0) - shortest + 1)), Fraction(1))


def _split(text: str, separator: str, index: float) -> str:
    parts = text.split(separator)
    return parts[int(index) - 1] if index <= len(parts) else ""


def _split_facts(arguments: Sequence[Facts]) -> Facts:
    separator, index = _constants(arguments[1:])
    if not separator or type(index) is not int or not 1 <= index <= _MOST:
        raise ParameterError("split_part takes a separator and the number of a part, from 1; write split_part(x, '-', 1).")
    return _made(arguments[0].length or 0)


def _replace_facts(arguments: Sequence[Facts]) -> Facts:
    old, new = map(str, _constants(arguments[1:]))
    if not old:
        raise ParameterError("replace takes a text that is not empty; write replace(x, '-', '').")
    length = arguments[0].length or 0
    return _made(length + length // len(old) * max(0, len(new) - len(old)))


def _pad(left: bool) -> Callable[[str, float, str], str]:
    def pad(text: str, length: float, sign: str) -> str:
        more = sign * (int(length) - len(text))
        return (more + text if left else text + more)[: int(length)]

    return pad


def _pad_facts(arguments: Sequence[Facts]) -> Facts:
    length, sign = _constants(arguments[1:])
    if type(length) is not int or not 0 <= length <= _MOST_PADDED or len(str(sign)) != 1:
        raise ParameterError(
            f"A text is padded to 0 to {_MOST_PADDED} characters, with one that is repeated; write lpad(x, 5, '0')."
        )
    return _made(length)


def _length(arguments: Sequence[Facts]) -> Facts:
    return number_facts(Fraction(0), Fraction(arguments[0].length or 0), Fraction(1))


def _concat_skipping(*texts: str | None) -> str:
    return "".join(text for text in texts if text is not None)


def labels(edges: Sequence[float | Fraction]) -> tuple[str, ...]:
    """The names of the bins between these edges, which are doubles to every engine.

    >>> labels((18, 40, Fraction("65.5")))
    ('[18, 40)', '[40, 65.5]')
    """
    return _labels(tuple(map(float, edges)))


@lru_cache(maxsize=64)
def _labels(edges: tuple[float, ...]) -> tuple[str, ...]:
    """They are asked for again with every value that is put into a bin."""
    exact = [Fraction(repr(edge)) for edge in edges]
    shown = [str(Literal(int(edge) if edge.denominator == 1 else edge)) for edge in exact]
    last = len(edges) - 2
    return tuple(f"[{shown[i]}, {shown[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def _bin(value: float, *edges: float) -> str | None:
    for i, label in enumerate(labels(edges)):
        if edges[i] <= value < edges[i + 1] or (i == len(edges) - 2 and value == edges[-1]):
            return label
    return None


def _bin_facts(arguments: Sequence[Facts]) -> Facts:
    value, edges = arguments[0], [fact.lower for fact in arguments[1:] if fact.lower is not None]
    doubles = [float(edge) for edge in edges]
    if any(not a < b for a, b in pairwise(doubles)):
        raise ParameterError("The edges of bins must increase; write bin(age, 0, 18, 65, 120).")
    inside = value.lower is not None and value.upper is not None and edges[0] <= value.lower and value.upper <= edges[-1]
    names = labels(doubles)
    return Facts("text", not inside, values=names, length=max(map(len, names)))


_PADDED: Takes = ("text", "number", "text")

WORDS = (
    Operation("lower", 1, 1, ("text",), str.lower, _changed(2)),
    Operation("upper", 1, 1, ("text",), str.upper, _changed(3)),
    Operation("trim", 1, 1, ("text",), lambda text: text.strip(" "), _changed(1)),
    Operation("length", 1, 1, ("text",), lambda text: float(len(text)), _length),
    Operation("substring", 3, 3, ("text", "number"), _substring, _positions, constant=1),
    Operation("left", 2, 2, ("text", "number"), lambda text, length: text[: int(length)], _positions, constant=1),
    Operation("right", 2, 2, ("text", "number"), _right, _positions, constant=1),
    Operation("concat", 2, None, ("text",), _concat_skipping, _joined, strict=False),
    Operation("||", 2, 2, ("text",), lambda a, b: a + b, _joined),
    Operation("starts_with", 2, 2, ("text",), str.startswith, lambda _: TRUTH),
    Operation("contains", 2, 2, ("text",), lambda text, part: part in text, lambda _: TRUTH),
    Operation("ends_with", 2, 2, ("text",), str.endswith, lambda _: TRUTH),
    Operation("strpos", 2, 2, ("text",), _position, _position_facts),
    Operation("ltrim", 2, 2, ("text",), str.lstrip, _changed(1), constant=1),
    Operation("rtrim", 2, 2, ("text",), str.rstrip, _changed(1), constant=1),
    Operation("split_part", 3, 3, ("text", "text", "number"), _split, _split_facts, constant=1),
    Operation("replace", 3, 3, ("text",), str.replace, _replace_facts, constant=1),
    Operation("lpad", 3, 3, _PADDED, _pad(left=True), _pad_facts, constant=1),
    Operation("rpad", 3, 3, _PADDED, _pad(left=False), _pad_facts, constant=1),
    Operation("bin", 3, None, ("number",), _bin, _bin_facts, constant=1),
)
