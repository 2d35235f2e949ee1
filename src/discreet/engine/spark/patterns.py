"""Regular expressions for Java: written anew from the tree that ``plan`` understood, with the same meaning and bounded work.

Java's engine goes back where it took the wrong turn. It tries alternatives in the same order as RE2, so it finds the same, but a
pattern in which one text can be read in two ways within a loop, such as ``(a|aa)+``, makes it try all readings: their number
doubles with every character. **Theorem** (Weideman et al. 2016, Allauzen et al. 2008). A backtracking matcher takes exponential
time on some texts only if the automaton of the pattern has a state from which two different paths lead back to it by the same
text. Such patterns are refused; for all others the work is at most a polynomial in the length of the text, which is declared.
Places of the automaton are those of Glushkov, one for every character class; every repeat is taken for an endless one.

An endless repeat of more than one class also costs Java a piece of its stack for every turn, and a long text would end the whole
engine. It costs none where the repeat never goes back (``++``). **Lemma.** Let no place of the automaton, nor its beginning, lead
by one character to two places. Then going back into such a repeat finds nothing: after fewer turns the next character begins
another turn, so it begins nothing that may follow, and the end of the text is not there either. Where that is not so, or the
edge of a word stands in the pattern, the repeat is refused.

What Java means otherwise is written out: ``$`` would also stand before a last line feed, and ``\\b`` look at Unicode's letters.

>>> java_pattern("^(?:a|b)+[0-9]$")
'^(?:a|b)++[0-9]\\\\z'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from discreet.errors import ParameterError
from discreet.plan.expressions.patterns import Node, Ranges, read_pattern

_WORD = "[0-9A-Za-z_]"
_EDGE = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_INNER = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_SIGNS = {"start": "^", "end": "\\z", "edge": _EDGE, "inner": _INNER}
_LAST = 0x10FFFF


@lru_cache(maxsize=64)
def java_pattern(pattern: str) -> str:
    """A pattern of ``plan`` as Java reads it; refused where its work could explode."""
    tree = read_pattern(pattern)
    _check(tree)
    return _written(tree)


def _is_loop(node: Node) -> bool:
    """Whether it is an endless repeat of more than one class."""
    return node.kind == "repeat" and node.most is None and node.parts[0].kind != "set"


def _any(node: Node, holds: Callable[[Node], bool]) -> bool:
    return holds(node) or any(_any(part, holds) for part in node.parts)


def _written(node: Node) -> str:
    if node.kind == "set":
        return _set(node.ranges)
    if node.kind in _SIGNS:
        return _SIGNS[node.kind]
    if node.kind == "choice":
        return "|".join(map(_written, node.parts))
    if node.kind == "chain":
        return "".join(_held(part, ("choice",)) for part in node.parts)
    if node.kind == "group":
        return f"({_written(node.parts[0])})"
    counts = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.least, node.most))
    if counts is None:
        counts = f"{{{node.least},{'' if node.most is None else node.most}}}"
    return _held(node.parts[0], ("choice", "chain", "repeat")) + counts + ("+" if _is_loop(node) else "")


def _held(node: Node, kinds: Sequence[str]) -> str:
    text = _written(node)
    return f"(?:{text})" if node.kind in kinds else text


def _set(ranges: Ranges) -> str:
    if ranges == ((0, _LAST),):
        return "[\\s\\S]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _sign(ranges[0][0])
    return f"[{''.join(_sign(low) if low == high else f'{_sign(low)}-{_sign(high)}' for low, high in ranges)}]"


def _sign(code: int) -> str:
    return chr(code) if code < 128 and chr(code).isalnum() else f"\\x{{{code:x}}}"


Place = int
Pair = tuple[Place, Place]


class _Places:
    """Glushkov's automaton: places with their characters, and which may follow which. Anchors are taken for empty, which adds
    paths and takes none away."""

    def __init__(self, tree: Node) -> None:
        self.ranges: list[Ranges] = []
        self.next: list[set[Place]] = []
        self.twice: set[Pair] = set()  # steps that can be made in two ways, as in (a+)+
        _, self.first, _ = self.walk(tree)

    def walk(self, node: Node) -> tuple[bool, set[Place], set[Place]]:
        """Whether it may be empty, and its first and last places."""
        if node.kind == "set":
            self.ranges.append(node.ranges)
            self.next.append(set())
            place = len(self.ranges) - 1
            return False, {place}, {place}
        if node.kind in _SIGNS:
            return True, set(), set()
        if node.kind == "group":
            return self.walk(node.parts[0])
        if node.kind == "choice":
            found = [self.walk(part) for part in node.parts]
            return any(one[0] for one in found), set().union(*(one[1] for one in found)), set().union(*(one[2] for one in found))
        if node.kind == "chain":
            return self.chained(self.walk(part) for part in node.parts)
        empty, first, last = self.walk(node.parts[0])
        if node.most is None or node.most > 1:
            self.link(last, first)
        return empty or node.least == 0, first, last

    def chained(self, parts: Iterable[tuple[bool, set[Place], set[Place]]]) -> tuple[bool, set[Place], set[Place]]:
        empty, first, last = True, set[Place](), set[Place]()
        for one_empty, one_first, one_last in parts:
            self.link(last, one_first)
            first = first | one_first if empty else first
            last = last | one_last if one_empty else one_last
            empty = empty and one_empty
        return empty, first, last

    def link(self, last: set[Place], first: set[Place]) -> None:
        for place in last:
            self.twice |= {(place, other) for other in self.next[place] & first}
            self.next[place] |= first


def _check(tree: Node) -> None:
    """Refuse a pattern that reads one text in two ways within a loop."""
    found = _Places(tree)
    meets: dict[Pair, bool] = {}

    def meet(a: Place, b: Place) -> bool:
        """Whether one character is in both classes."""
        pair = (min(a, b), max(a, b))
        if pair not in meets:
            meets[pair] = any(low <= end and start <= high for low, high in found.ranges[a] for start, end in found.ranges[b])
        return meets[pair]

    def pairs(a: Place, b: Place) -> Iterator[Pair]:
        return ((min(c, d), max(c, d)) for c in found.next[a] for d in found.next[b] if meet(c, d))

    # From a place with itself, through two that differ, back to it: all within one component of the graph of pairs.
    diagonal = [(place, place) for place in range(len(found.ranges))]
    component = _components(diagonal, pairs)
    looping = {component[pair] for pair in diagonal}
    repeated = any(component[a, a] == component[b, b] for a, b in found.twice)
    if repeated or any(a != b and number in looping for (a, b), number in component.items()):
        raise _refused("repeats something that one text can be in two ways, as in (a|ab|b)+")
    if _any(tree, _is_loop):
        branches = (found.first, *found.next)
        if _any(tree, lambda node: node.kind in ("edge", "inner")) or any(
            meet(a, b) for places in branches for a, b in combinations(places, 2)
        ):
            raise _refused("repeats a group without end, where one character could belong to it or to what follows")


def _refused(why: str) -> ParameterError:
    return ParameterError(
        f"This pattern {why}, which could cost Spark any amount of work; write it so that each text is read in one way, as [ab]+."
    )


def _components(begin: Sequence[Pair], onward: Callable[[Place, Place], Iterator[Pair]]) -> dict[Pair, int]:
    """Strongly connected components of all that can be reached, by number (Tarjan, without recursion)."""
    number: dict[Pair, int] = {}
    low: dict[Pair, int] = {}
    component: dict[Pair, int] = {}
    held: list[Pair] = []
    for root in begin:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        held.append(root)
        work = [(root, onward(*root))]
        while work:
            pair, others = work[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    held.append(other)
                    work.append((other, onward(*other)))
                    break
                if other not in component:
                    low[pair] = min(low[pair], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[pair])
                if low[pair] == number[pair]:
                    while True:
                        one = held.pop()
                        component[one] = number[pair]
                        if one == pair:
                            break
    return component
