"""Automata of patterns: what a regular expression finds in a text, each instruction tried at most once at each place.

RE2 works like this in DuckDB, and ``search`` here: it tries alternatives in order and remembers where it has been, so that both
find the same, the first alternative at the leftmost place, in work that is bounded by the lengths of pattern and text.

>>> search("xxab7", "(ab)[0-9]"), search("xxab7", "(ab)[0-9]", group=True), search("b", "a")
('ab7', 'ab', None)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.plan.expressions.facts import TRUTH, Facts, Operation
from discreet.plan.expressions.patterns import EDGES, Node, read_pattern, shortest

# Instructions: ("set", ranges), ("split", first, second), ("jump", to), ("start",), ("end",), ("edge",), ("inner",),
# ("save", which end), ("match",)
_MOST_REPLACED = 2**12  # characters: every match may look at all that are left
_Program = tuple[tuple[object, ...], ...]


@lru_cache(maxsize=64)
def _program(pattern: str) -> _Program:
    program: list[tuple[object, ...]] = []
    _compile(read_pattern(pattern), program)
    return (*program, ("match",))


def _compile(node: Node, program: list[tuple[object, ...]]) -> None:
    if node.kind == "set":
        program.append(("set", node.ranges))
    elif node.kind in ("start", "end", *EDGES):
        program.append((node.kind,))
    elif node.kind == "chain":
        for part in node.parts:
            _compile(part, program)
    elif node.kind == "group":
        program.append(("save", 0))
        _compile(node.parts[0], program)
        program.append(("save", 1))
    elif node.kind == "choice":
        ends: list[int] = []
        for part in node.parts[:-1]:
            split = len(program)
            program.append(())
            _compile(part, program)
            ends.append(len(program))
            program.append(())
            program[split] = ("split", split + 1, len(program))
        _compile(node.parts[-1], program)
        for end in ends:
            program[end] = ("jump", len(program))
    else:
        for _ in range(node.least):
            _compile(node.parts[0], program)
        for _ in range(1 if node.most is None else node.most - node.least):
            split = len(program)
            program.append(())
            _compile(node.parts[0], program)
            if node.most is None:
                program.append(("jump", split))
            program[split] = ("split", split + 1, len(program))


def _run(program: _Program, text: str, start: int, seen: set[tuple[int, int]]) -> tuple[int, int | None, int | None] | None:
    """The end of the first match from a place, and the ends of its group; each instruction is tried once at each place."""
    waiting: list[tuple[int, int, int | None, int | None]] = [(0, start, None, None)]
    while waiting:
        at, place, begin, end = waiting.pop()
        if (at, place) in seen:
            continue
        seen.add((at, place))
        name, *rest = program[at]
        if name == "match":
            return place, begin, end
        if name == "split":
            waiting += [(rest[1], place, begin, end), (rest[0], place, begin, end)]  # type: ignore[list-item]
        elif name == "jump":
            waiting.append((rest[0], place, begin, end))  # type: ignore[arg-type]
        elif name == "save":
            waiting.append((at + 1, place, place if rest[0] == 0 else begin, end if rest[0] == 0 else place))
        elif name == "set":
            if place < len(text) and any(low <= ord(text[place]) <= high for low, high in rest[0]):  # type: ignore[attr-defined]
                waiting.append((at + 1, place + 1, begin, end))
        elif _is_edge(text, place) == (name == "edge") if name in EDGES else place == (0 if name == "start" else len(text)):
            waiting.append((at + 1, place, begin, end))
    return None


def _is_edge(text: str, place: int) -> bool:
    """Whether one side of a place is a letter, digit or underscore of ASCII, and the other is not."""
    before, after = text[max(place - 1, 0) : place], text[place : place + 1]
    return _is_word(before) != _is_word(after)


def _is_word(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign == "_")


def search(text: str, pattern: str, group: bool = False) -> str | None:
    """What the first match of a canonical pattern is, or its group; None where there is none."""
    program, seen = _program(pattern), set[tuple[int, int]]()
    for start in range(len(text) + 1):
        found = _run(program, text, start, seen)
        if found is not None:
            end, first, last = found
            return text[start:end] if not group else "" if first is None or last is None else text[first:last]
    return None


def replace_all(text: str, pattern: str, replacement: str) -> str:
    """A text in which every match of a canonical pattern, none of which is empty, is replaced, from the left.

    >>> replace_all("ab12c345", "[0-9]+", "#")
    'ab#c#'
    """
    program, found, place = _program(pattern), "", 0
    while place < len(text):
        seen = set[tuple[int, int]]()
        for start in range(place, len(text)):
            match = _run(program, text, start, seen)
            if match is not None:
                found, place = found + text[place:start] + replacement, match[0]
                break
        else:
            break
    return found + text[place:]


def _matches_facts(arguments: Sequence[Facts]) -> Facts:
    _check(arguments)
    return TRUTH


def _extract_facts(arguments: Sequence[Facts]) -> Facts:
    _check(arguments)
    return Facts("text", True, length=arguments[0].length)


def _replace_facts(arguments: Sequence[Facts]) -> Facts:
    (pattern,), (replacement,) = arguments[1].values or ("",), arguments[2].values or ("",)
    least, length = shortest(read_pattern(str(pattern))), arguments[0].length or 0
    if least < 1:
        raise ParameterError(
            "This pattern may match nothing, and systems replace nothing differently; write one that always matches a character, "
            "such as [0-9]+ for [0-9]*."
        )
    if arguments[3].values != ("g",):
        raise ParameterError("All matches are replaced, which 'g' says; write regexp_replace(x, '[0-9]+', '#', 'g').")
    if length > _MOST_REPLACED:
        raise ParameterError(
            f"Matches are replaced in texts of at most {_MOST_REPLACED:,} characters, and these may have {length:,}; write "
            "left(x, 1000), or declare a smaller length: text(length=1000)."
        )
    if "\\" in str(replacement):
        raise ParameterError("What a match is replaced by is a plain text; write regexp_extract(x, 'a(b)', 1) for a group of it.")
    return Facts("text", arguments[0].nullable, length=length + length // least * max(0, len(str(replacement)) - least))


def _check(arguments: Sequence[Facts]) -> None:
    (pattern,) = arguments[1].values or ("",)
    read_pattern(str(pattern))


PATTERNS = (
    Operation(
        "regexp_matches",
        2,
        2,
        ("text", "text"),
        lambda text, pattern: search(text, pattern) is not None,
        _matches_facts,
        constant=1,
    ),
    Operation(
        "regexp_extract",
        2,
        2,
        ("text", "text"),
        lambda text, pattern: search(text, pattern, group=True),
        _extract_facts,
        constant=1,
        written=2,
    ),
    Operation("regexp_replace", 4, 4, ("text",), lambda *of: replace_all(*of[:3]), _replace_facts, constant=1),
)
