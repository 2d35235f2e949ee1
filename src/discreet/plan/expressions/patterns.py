"""Regular expressions in a dialect that engines agree on, with work that is bounded in advance.

A pattern is made of characters, ``.``, classes ``[a-z]``, ``\\d \\w \\s`` and their negations (of ASCII), anchors, the edges of
words ``\\b`` and all other places ``\\B`` (of ASCII words), groups, ``|``, and ``* + ? {m,n}``, all greedy. Back references,
look-around, lazy or possessive repeats and flags are refused: they need unbounded work, or mean different things to different
engines. What an engine gets is written anew from what was understood (``canonical``): ``.`` as ``[^\\n]``, classes as ranges, a
repeat of at most 100, a program of at most 2000 instructions. An automaton then looks at each character of a text once for each
instruction, whatever the text is.

>>> canonical(r"^(a|b)+\\d$")
'^(?:a|b)+[0-9]$'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.errors import ParameterError

_LONGEST = 500  # characters of a pattern
_MOST = 2000  # instructions
_MOST_REPEATS = 100
LAST = 0x10FFFF  # of all characters
_META = "\\^$.|?*+()[]{}"
_SPACE = ((9, 10), (12, 13), (32, 32))
_DIGIT = ((48, 57),)
_WORD = ((48, 57), (65, 90), (95, 95), (97, 122))
_ESCAPES = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
EDGES = {"edge": "b", "inner": "B"}
_SIGNS = {"n": 10, "t": 9, "r": 13, "f": 12}
_POSIX = {
    "digit": _DIGIT,
    "alpha": ((65, 90), (97, 122)),
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "upper": ((65, 90),),
    "lower": ((97, 122),),
    "space": _SPACE,
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
}

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Node:
    """A part of a pattern: ``set`` of one character, ``chain``, ``choice``, ``repeat``, ``start``, ``end``, ``edge`` of a word,
    ``inner`` for no edge, or ``group``."""

    kind: str
    parts: tuple[Node, ...] = ()
    ranges: Ranges = ()
    least: int = 0
    most: int | None = None


def _refused(why: str) -> ParameterError:
    return ParameterError(
        f"This pattern {why}; it may have characters, ., [a-z], \\d \\w \\s, ^ $ \\b, groups, | and * + ? {{1,3}}, or write LIKE."
    )


class _Reader:
    """A pattern as a tree, from left to right."""

    def __init__(self, text: str, fold: bool) -> None:
        self.text, self.place, self.fold, self.depth = text, 0, fold, 0

    def whole(self) -> Node:
        found = self.choice()
        if self.place < len(self.text):
            raise _refused("closes a bracket that was not opened")
        return found

    def choice(self) -> Node:
        self.depth += 1
        if self.depth > 30:
            raise _refused("is nested too deeply")
        parts = [self.chain()]
        while self.take("|"):
            parts.append(self.chain())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Node("choice", tuple(parts))

    def chain(self) -> Node:
        parts: list[Node] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            parts.append(self.repeats(self.atom()))
        return parts[0] if len(parts) == 1 else Node("chain", tuple(parts))

    def take(self, sign: str) -> bool:
        found = self.text.startswith(sign, self.place)
        self.place += len(sign) if found else 0
        return found

    def repeats(self, atom: Node) -> Node:
        least, most = 1, 1
        if self.take("*"):
            least, most = 0, -1
        elif self.take("+"):
            least, most = 1, -1
        elif self.take("?"):
            least, most = 0, 1
        elif self.take("{"):
            least, most = self.counts()
        else:
            return atom
        if _may_be_empty(atom):
            raise _refused("repeats what may be empty")
        if self.text[self.place : self.place + 1] in ("*", "+", "?", "{") and self.place < len(self.text):
            raise _refused("has a lazy, possessive or doubled repeat")
        return Node("repeat", (atom,), least=least, most=None if most < 0 else most)

    def counts(self) -> tuple[int, int]:
        end = self.text.find("}", self.place)
        first, comma, last = self.text[self.place : max(end, self.place)].partition(",")
        numbers = (first, last if comma and last else first)
        if end < 0 or not all(one.isascii() and one.isdigit() and len(one) <= 3 for one in numbers):
            raise _refused("has a repeat that is no {2}, {1,3} or {2,}")
        least, most = int(numbers[0]), (-1 if comma and not last else int(numbers[1]))
        if least > _MOST_REPEATS or most > _MOST_REPEATS or 0 <= most < least:
            raise _refused(f"has a repeat beyond {_MOST_REPEATS}, or one that ends before it begins")
        self.place = end + 1
        return least, most

    def atom(self) -> Node:
        sign = self.text[self.place]
        self.place += 1
        if sign == "(":
            plain = self.take("?:")
            if not plain and self.take("?"):
                raise _refused("looks ahead or back, or has flags or a named group")
            inside = self.choice()
            if not self.take(")"):
                raise _refused("opens a bracket that is not closed")
            return inside if plain else Node("group", (inside,))
        if sign == "[":
            return self.listed()
        if sign in "*+?{":
            raise _refused("repeats nothing")
        if sign in "}]":
            raise _refused("closes a bracket that was not opened")
        if sign == ".":
            return Node("set", ranges=_inverted(((10, 10),)))
        if sign in "^$":
            return Node("start" if sign == "^" else "end")
        if sign == "\\" and self.text[self.place : self.place + 1] in EDGES.values():
            self.place += 1
            return Node("edge" if self.text[self.place - 1] == "b" else "inner")
        return Node("set", ranges=self.escaped() if sign == "\\" else self.folded(((ord(sign), ord(sign)),)))

    def escaped(self) -> Ranges:
        sign = self.text[self.place : self.place + 1]
        self.place += 1
        if sign in _ESCAPES:
            return _ESCAPES[sign]
        if sign.lower() in _ESCAPES:
            return _inverted(_ESCAPES[sign.lower()])
        if sign in _SIGNS:
            return ((_SIGNS[sign], _SIGNS[sign]),)
        if not sign or (sign.isascii() and sign.isalnum()):
            raise _refused(f"has \\{sign}, which not every engine knows" if sign else "ends with \\")
        return ((ord(sign), ord(sign)),)

    def listed(self) -> Node:
        negated, found, first = self.take("^"), list[tuple[int, int]](), True
        while first or not self.take("]"):
            if self.place >= len(self.text):
                raise _refused("opens a bracket that is not closed")
            if self.take("[:"):
                end = self.text.find(":]", self.place)
                name = self.text[self.place : max(end, self.place)]
                if name not in _POSIX:
                    raise _refused(f"has a class that is none of {', '.join(f'[:{one}:]' for one in _POSIX)}")
                found += self.folded(_POSIX[name])
                self.place = end + 2
            else:
                found += self.folded(self.span())
            first = False
        return Node("set", ranges=_inverted(_merged(found)) if negated else _merged(found))

    def span(self) -> Ranges:
        low = self.single()
        if len(low) == 1 and low[0][0] == low[0][1] and self.text[self.place : self.place + 1] == "-":
            if self.text[self.place + 1 : self.place + 2] in ("]", ""):
                return low
            self.place += 1
            high = self.single()
            if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                raise _refused("has a range that ends before it begins")
            return ((low[0][0], high[0][0]),)
        return low

    def single(self) -> Ranges:
        sign = self.text[self.place]
        self.place += 1
        return self.escaped() if sign == "\\" else ((ord(sign), ord(sign)),)

    def folded(self, ranges: Ranges) -> Ranges:
        """With ASCII letters of either case, where case does not matter."""
        if not self.fold:
            return ranges
        more = list(ranges)
        for low, high in ranges:
            for first, last, shift in ((65, 90, 32), (97, 122, -32)):
                if max(low, first) <= min(high, last):
                    more.append((max(low, first) + shift, min(high, last) + shift))
        return _merged(more)


def shortest(node: Node) -> int:
    """The fewest characters that a pattern matches."""
    if node.kind == "set":
        return 1
    inside = [shortest(part) for part in node.parts]
    if node.kind == "choice":
        return min(inside)
    return sum(inside) * (node.least if node.kind == "repeat" else 1)


def _may_be_empty(node: Node) -> bool:
    if node.kind in ("chain", "group"):
        return all(map(_may_be_empty, node.parts))
    if node.kind == "choice":
        return any(map(_may_be_empty, node.parts))
    return node.kind in ("start", "end", *EDGES) or (node.kind == "repeat" and node.least == 0)


def _merged(ranges: Sequence[tuple[int, int]]) -> Ranges:
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def _outside(ranges: Ranges) -> Ranges:
    """All other characters."""
    found, start = [], 0
    for low, high in _merged(ranges):
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def _inverted(ranges: Ranges) -> Ranges:
    found = _outside(ranges)
    if not found:
        raise _refused("has a class without characters")
    return found


def _kept(node: Node, keep: int | None, seen: list[int]) -> Node:
    """A tree of which group number ``keep`` is captured; the others only hold together."""
    seen[0] += node.kind == "group"
    mine = node.kind != "group" or seen[0] == keep
    parts = tuple(_kept(part, keep, seen) for part in node.parts)
    return replace(node, parts=parts) if mine else parts[0]


def _written(node: Node) -> str:
    """The text of a tree."""
    if node.kind == "set":
        return _written_set(node.ranges)
    if node.kind in ("start", "end"):
        return "^" if node.kind == "start" else "$"
    if node.kind in EDGES:
        return f"\\{EDGES[node.kind]}"
    if node.kind == "choice":
        return "|".join(map(_written, node.parts))
    if node.kind == "chain":
        return "".join(_held(part, ("choice",)) for part in node.parts)
    if node.kind == "group":
        return f"({_written(node.parts[0])})"
    counts = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.least, node.most))
    if counts is None:
        counts = f"{{{node.least},{'' if node.most is None else node.most}}}"
    return _held(node.parts[0], ("choice", "chain", "repeat")) + counts


def _held(node: Node, kinds: tuple[str, ...]) -> str:
    text = _written(node)
    return f"(?:{text})" if node.kind in kinds else text


def _written_set(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        sign = chr(ranges[0][0])
        return _coded(ranges[0][0]) if sign not in _META else f"\\{sign}"
    if ranges == ((0, LAST),):
        return "[\\s\\S]"
    return f"[^{_spans(_outside(ranges))}]" if ranges[-1][1] == LAST else f"[{_spans(ranges)}]"


def _spans(ranges: Sequence[tuple[int, int]]) -> str:
    return "".join(_in_set(low) if low == high else f"{_in_set(low)}-{_in_set(high)}" for low, high in ranges)


def _in_set(code: int) -> str:
    return f"\\{chr(code)}" if chr(code) in "\\]^-[" else _coded(code)


def _coded(code: int) -> str:
    return {10: "\\n", 9: "\\t", 13: "\\r", 12: "\\f"}.get(code) or chr(code)


def _sized(node: Node) -> int:
    """Instructions of a program: repeats are written out."""
    inside = sum(map(_sized, node.parts)) + len(node.parts) + 1
    return inside * max(1, node.least + (1 if node.most is None else node.most - node.least)) if node.kind == "repeat" else inside


def read_pattern(pattern: str, *, fold: bool = False) -> Node:
    """The tree of a pattern, of a bounded size; or a refusal."""
    if len(pattern) > _LONGEST:
        raise _refused(f"has more than {_LONGEST} characters")
    tree = _Reader(pattern, fold).whole()
    if _sized(tree) > _MOST:
        raise _refused(f"repeats too much: more than {_MOST} steps")
    return tree


def canonical(pattern: str, *, fold: bool = False, group: int | None = None) -> str:
    """A pattern as engines get it: without case where ``fold``, with one ``group`` that is extracted; or a refusal."""
    tree = read_pattern(pattern, fold=fold)
    seen = [0]
    text = _written(_kept(tree, group, seen))
    if group is not None and group > seen[0]:
        raise _refused(f"has no group {group}")
    return f"({text})" if group == 0 else text


def canonical_similar(pattern: str) -> str:
    """SQL's SIMILAR TO as such a pattern, of the whole text: ``%`` is any text, ``_`` any character, ``. ^ $`` are themselves."""
    found, inside = "", False
    for i, sign in enumerate(pattern):
        if sign in "[]" and (i == 0 or pattern[i - 1] != "\\"):
            inside = sign == "["
        plain = inside or sign not in "%_.^$"
        found += sign if plain else {"%": "[\\s\\S]*", "_": "[\\s\\S]"}.get(sign) or f"\\{sign}"
    return canonical(f"^(?:{found})$")


def canonical_like(pattern: str, escape: str) -> str:
    """SQL's LIKE with an escape as such a pattern."""
    found, i = "", 0
    while i < len(pattern):
        sign = pattern[i]
        if sign == escape:
            i += 1
            if i == len(pattern):
                raise ParameterError("This LIKE ends with its ESCAPE character; write the character that it protects after it.")
            sign = pattern[i]
        elif sign in "%_":
            found, i = found + ("[\\s\\S]*" if sign == "%" else "[\\s\\S]"), i + 1
            continue
        found, i = found + (f"\\{sign}" if sign in _META else sign), i + 1
    return canonical(f"^(?:{found})$")
