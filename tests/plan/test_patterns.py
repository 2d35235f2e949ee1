"""Patterns mean what Python and RE2 understand, whatever the pattern and text; work is bounded; the rest is refused."""

from __future__ import annotations

import random
import re

import duckdb
import pytest

from discreet.errors import ParameterError
from discreet.plan.expressions import automata
from discreet.plan.expressions.automata import replace_all, search
from discreet.plan.expressions.patterns import canonical, canonical_like, canonical_similar, read_pattern, shortest

SIGNS = "ab01 _-\n.é\\[^"


def draw(chance: random.Random, depth: int = 3) -> str:
    """A random pattern of the dialect."""
    kind = chance.choice(["sign", "sign", "sign", "class", "any", "chain", "choice", "group", "repeat", "anchor"])
    if depth == 0 or kind == "sign":
        return re.escape(chance.choice("ab01 _-é.\\["))
    if kind == "class":
        return chance.choice(
            ["[ab]", "[^ab]", "[0-9a-c]", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "[^\\d_]", "[a\\-z]", "[]a]"]
        )
    if kind == "any":
        return "."
    if kind == "anchor":
        return chance.choice(["^", "$", "\\b", "\\B"])
    if kind == "chain":
        return "".join(draw(chance, depth - 1) for _ in range(chance.randrange(1, 4)))
    if kind == "choice":
        return f"(?:{'|'.join(draw(chance, depth - 1) for _ in range(2))})"
    if kind == "group":
        return f"({draw(chance, depth - 1)})"
    return f"(?:{draw(chance, depth - 1)}){chance.choice(['*', '+', '?', '{2}', '{1,3}', '{0,2}', '{2,}'])}"


def drawn(count: int, seed: str) -> list[str]:
    """Patterns that are answered."""
    chance, found = random.Random(seed), list[str]()
    while len(found) < count:
        pattern = draw(chance)
        try:
            canonical(pattern)
        except ParameterError:
            continue
        found.append(pattern)
    return found


TEXTS = ["", "a", "ab", "aab01", "é a_b", "a\nb", "\\[^", "0-1.0", "ba ab ba", "aaaa", "b" * 40, "\n", " _ "]


def python(pattern: str) -> re.Pattern[str]:
    """The same for Python: ``$`` is the end and not what comes before a last newline; its \\s has one more character."""
    ended = re.sub(r"(\\.|\[(?:\\.|[^\]])+\])|\$", lambda found: found[1] or r"\Z", pattern)
    return re.compile(ended, re.ASCII)


@pytest.mark.parametrize("seed", range(4))
def test_python_finds_the_same(seed: int) -> None:
    for pattern in drawn(250, f"python {seed}"):
        for text in TEXTS[1:] if "\\B" in pattern else TEXTS:  # an empty text has no edge, but to Python no place either
            found = python(pattern).search(text)
            assert search(text, canonical(pattern)) == (None if found is None else found[0]), (pattern, text)


@pytest.mark.parametrize("seed", range(4))
def test_re2_finds_the_same(seed: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS x", [TEXTS])
        patterns = drawn(60, f"re2 {seed}")
        for pattern in patterns:
            groups = pattern.count("(") - pattern.count("(?:") - pattern.count("\\(")
            for group in (0, 1) if groups > 0 and "[" not in pattern else (0,):
                whole = canonical(pattern, group=group)
                rows = connection.execute("SELECT regexp_matches(x, $1), regexp_extract(x, $1, 1) FROM t", [whole]).fetchall()
                for text, (matched, extracted) in zip(TEXTS, rows, strict=True):
                    found = search(text, whole, group=True)
                    assert (found is not None) == matched, (pattern, text)
                    assert (found or "") == extracted, (pattern, group, text)


@pytest.mark.parametrize("seed", range(3))
def test_python_and_re2_replace_the_same(seed: int) -> None:
    """Every pattern that always matches something; others are refused."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS x", [TEXTS])
        for pattern in [one for one in drawn(200, f"replace {seed}") if shortest(read_pattern(one))]:
            whole = canonical(pattern)
            rows = connection.execute("SELECT regexp_replace(x, $1, '<$1>', 'g') FROM t", [whole]).fetchall()
            for text, (replaced,) in zip(TEXTS, rows, strict=True):
                assert replace_all(text, whole, "<$1>") == replaced, (pattern, text)
                if text or "\\B" not in pattern:
                    assert python(pattern).sub("<$1>", text) == replaced, (pattern, text)


def test_the_shortest_match_is_the_shortest() -> None:
    for pattern in drawn(300, "shortest"):
        found = [len(one) for text in TEXTS if (one := search(text, canonical(pattern))) is not None]
        assert all(length >= shortest(read_pattern(pattern)) for length in found)


def test_the_canonical_pattern_is_its_own() -> None:
    for pattern in drawn(500, "canonical"):
        once = canonical(pattern)
        assert canonical(once) == once
        for text in TEXTS:
            assert search(text, once) == search(text, canonical(once))


def test_work_is_bounded_by_pattern_and_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns on which backtracking takes forever: every instruction is tried at most once at every place."""
    counted: list[int] = []
    run = automata._run

    def counting(program: automata._Program, text: str, start: int, seen: set[tuple[int, int]]) -> object:
        found = run(program, text, start, seen)
        counted.append(len(seen))
        return found

    monkeypatch.setattr(automata, "_run", counting)
    for pattern in ("(a+)+$", "(a|aa)+$", "(a+)+(b+)+$", "a*a*a*a*a*a*b", "(?:a{1,9}){1,9}b", "(x+x+)+y"):
        text = ("a" if "x" not in pattern else "x") * 2000 + "!"
        assert search(text, canonical(pattern)) is None
        assert counted[-1] <= len(automata._program(canonical(pattern))) * (len(text) + 1)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(a)\\1", "every engine"),
        ("(?=a)", "looks ahead"),
        ("(?P<x>a)", "named group"),
        ("a*+", "possessive"),
        ("a**", "doubled"),
        ("\\", "ends with"),
        ("\\u0041", "every engine"),
        ("[[:word:]]", "class"),
        ("[^\\s\\S]", "without characters"),
        ("a{101}", "beyond"),
        ("a{x}", "repeat that is no"),
        ("(" * 40 + "a" + ")" * 40, "nested"),
        ("a" * 501, "500"),
        ("(?:a{100}){100}", "too much"),
        ("(|a)+", "empty"),
        ("^*", "empty"),
        ("a]", "not opened"),
        ("x}", "not opened"),
    ],
)
def test_what_engines_do_not_share_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says) as refusal:
        read_pattern(pattern)
    assert "write LIKE" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("abc", "a%", True),
        ("abc", "b%", False),
        ("abc", "(a|x)_c", True),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("a\nc", "a_c", True),
        ("aab", "a+b", True),
        ("a%", "[a-z][%]", True),
        ("ab", "[a-z][%]", False),
        ("xabc", "(ab|c)*", False),
    ],
)
def test_similar_to(text: str, pattern: str, expected: bool) -> None:
    assert (search(text, canonical_similar(pattern)) is not None) is expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("10%", "10!%", True),
        ("100", "10!%", False),
        ("a!b", "a!!b", True),
        ("a_b", "a!_%", True),
        ("axb", "a!_%", False),
        ("a.c\n", "a.c_", True),
    ],
)
def test_like_with_an_escape(text: str, pattern: str, expected: bool) -> None:
    assert (search(text, canonical_like(pattern, "!")) is not None) is expected


def test_case_is_that_of_ascii() -> None:
    assert canonical("a[b-d]1", fold=True) == "[Aa][B-Db-d]1"
    assert search("kK", canonical("^k+$", fold=True)) == "kK"
    assert search("\u212a", canonical("k", fold=True)) is None  # the Kelvin sign is k to some engines
