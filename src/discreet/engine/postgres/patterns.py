r"""Patterns and formats as PostgreSQL writes them, with the same meaning.

Its regular expressions find the longest match at the leftmost place; elsewhere the first alternative that leads to one is taken,
and a repeat takes as much as it can from the left. For whether there is a match that makes no difference. For what it is, it
makes none where the next character always says which way to go, or where the end is fixed and there is nothing to choose but how
often single characters are repeated: from the left, as often as they can be. Other patterns are refused.

>>> written_pattern(r"^a\b"), written_format("%Y week %V")
('^a\\y', 'YYYY" week "IW')
"""

from __future__ import annotations

import re
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.plan.expressions.patterns import EDGES, Node, Ranges, read_pattern

_LETTERS = {"Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "j": "DDD", "B": "FMMonth", "b": "Mon", "A": "FMDay", "a": "Dy"}
_LETTERS |= {"u": "ID", "V": "IW", "G": "IYYY"}
_TOKENS = re.compile(r"\\.|\[\\s\\S\]", re.DOTALL)


def written_format(format: str) -> str:
    """A format of days in the letters of ``to_char``; everything else stands in quotes."""
    found = []
    for plain, code in re.findall(r"([^%]+)|%(.)", format.replace("%%", "%\0"), re.DOTALL):
        text = plain or "%"
        found.append(_LETTERS[code] if code in _LETTERS else '"' + re.sub(r'(["\\])', r"\\\1", text) + '"')
    return "".join(found)


def written_pattern(pattern: str) -> str:
    """A canonical pattern: edges of words have other letters, and a point is any character."""
    others = {"\\b": "\\y", "\\B": "\\Y", "[\\s\\S]": "."}
    return _TOKENS.sub(lambda found: others.get(found[0], found[0]), pattern)


def written_unambiguous(pattern: str) -> str:
    """The same of a pattern of which the longest match is the first; or a refusal."""
    tree = read_pattern(pattern)
    if not (_is_determined(tree) or _is_plain(tree)):
        raise ParameterError(
            "PostgreSQL would find another match of this pattern than other engines do; write one in which the next character "
            "says where to go on, such as '([0-9]+)-', or one of single characters that ends with $, such as '^(.*)@(.*)$'."
        )
    return written_pattern(pattern)


def _is_plain(tree: Node) -> bool:
    """Whether it is a chain of single characters, repeated or not, up to the end of the text."""
    parts = _flat(tree)
    return parts[-1:] == [Node("end")] and all(
        part.kind in ("set", "start", "end", *EDGES) or (part.kind == "repeat" and part.parts[0].kind == "set") for part in parts
    )


def _flat(node: Node) -> list[Node]:
    if node.kind in ("chain", "group"):
        return [one for part in node.parts for one in _flat(part)]
    return [node]


class _Ambiguous(Exception):
    """Two ways to go on."""


def _is_determined(tree: Node) -> bool:
    """Whether no character leads to two places (a one-unambiguous expression, Brueggemann-Klein and Wood 1998)."""
    try:
        _walk(tree, _Follow())
    except _Ambiguous:
        return False
    return True


class _Follow:
    """The sets of characters that lie behind every place."""

    def __init__(self) -> None:
        self.sets: list[Ranges] = []
        self.next: list[list[int]] = []

    def place(self, ranges: Ranges) -> int:
        self.sets.append(ranges)
        self.next.append([])
        return len(self.sets) - 1

    def join(self, before: list[int], after: list[int]) -> None:
        for one in before:
            self.next[one] = self.apart([*self.next[one], *after])

    def apart(self, places: list[int]) -> list[int]:
        """Places of which no two share a character."""
        found = sorted(span for one in dict.fromkeys(places) for span in self.sets[one])
        if any(a[1] >= b[0] for a, b in pairwise(found)):
            raise _Ambiguous
        return list(dict.fromkeys(places))


def _walk(node: Node, follow: _Follow) -> tuple[list[int], list[int], bool]:
    """Where a part can begin and end, and whether it may be empty."""
    if node.kind == "set":
        place = follow.place(node.ranges)
        return [place], [place], False
    if node.kind in ("start", "end", *EDGES):
        return [], [], True
    if node.kind in ("chain", "group"):
        return _chained([_walk(part, follow) for part in node.parts], follow)
    if node.kind == "choice":
        parts = [_walk(part, follow) for part in node.parts]
        if any(empty for _, _, empty in parts[:-1]):
            raise _Ambiguous
        firsts = follow.apart([one for first, _, _ in parts for one in first])
        return firsts, [one for _, last, _ in parts for one in last], parts[-1][2]
    count = node.least if node.most is None else node.most
    copies = [_walk(node.parts[0], follow) for _ in range(max(count, 1))]
    if node.most is None:
        follow.join(copies[-1][1], copies[-1][0])
    optional = [(first, last, empty or i >= node.least) for i, (first, last, empty) in enumerate(copies)]
    return _chained(optional, follow)


def _chained(parts: list[tuple[list[int], list[int], bool]], follow: _Follow) -> tuple[list[int], list[int], bool]:
    firsts: list[int] = []
    lasts: list[int] = []
    empty = True
    for first, last, may_be_empty in parts:
        follow.join(lasts, first)
        if empty:
            firsts = follow.apart([*firsts, *first])
        lasts = [*lasts, *last] if may_be_empty else last
        empty = empty and may_be_empty
    return firsts, lasts, empty
