"""What a function remembers: answers that it stored make its audit impossible, and nothing else does."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable

import numpy as np
import pytest
from support.depth import deep

import discreet as dp
from discreet.auditor.cases import read_pairs
from discreet.auditor.examine import examine
from discreet.auditor.sampling import state
from discreet.auditor.sampling.memory import Memory

_random = np.random.default_rng()
_release = dp.Laplace(sensitivity=1, epsilon=1).release
_real = dp.Laplace(sensitivity=1.0, epsilon=1).release

Function = Callable[[list[int]], object]


def coin() -> int:
    return int(_random.integers(2))


def remembers_and_adds_a_coin() -> Function:
    memo: dict[int, object] = {}

    def answer(rows: list[int]) -> object:
        if len(rows) not in memo:
            memo[len(rows)] = _release(len(rows))
        return [memo[len(rows)], coin()]

    return answer


def pool_in_a_cache() -> Function:
    @functools.lru_cache(None)
    def noisy(n: int, _slot: int) -> object:
        return _release(n)

    return lambda rows: noisy(len(rows), int(_random.integers(5)))


def pool_of_three() -> Function:
    store: dict[tuple[int, int], object] = {}

    def answer(rows: list[int]) -> object:
        key = len(rows), int(_random.integers(3))
        return store.setdefault(key, _real(float(len(rows))))

    return answer


def attribute() -> Function:
    def answer(rows: list[int]) -> object:
        if not hasattr(answer, "kept"):
            answer.kept = _real(float(len(rows)))  # type: ignore[attr-defined]
        return [answer.kept, coin()]  # type: ignore[attr-defined]

    return answer


class Stored:
    """Keeps its answers in an object, in a list inside a dictionary, and is called like a function."""

    def __init__(self) -> None:
        self.kept: dict[str, list[object]] = {"answers": [None, None, None]}

    def __call__(self, rows: list[int]) -> object:
        answers = self.kept["answers"]
        answers[len(rows)] = answers[len(rows)] or _real(float(len(rows)))
        return [answers[len(rows)], coin()]

    @functools.lru_cache(None)  # noqa: B019
    def cached(self, n: int) -> object:
        return _real(float(n))

    def method(self, rows: list[int]) -> object:
        return [self.cached(len(rows)), coin()]


class Busy:
    """Counts its runs beside what it keeps, so that its memory changes every time."""

    def __init__(self) -> None:
        self.runs, self.kept, self.both = 0, 0.0, [0, 0.0]

    def __call__(self, rows: list[int]) -> object:
        self.runs += 1
        self.kept = self.kept or _real(float(len(rows)))
        return [self.kept, coin()]

    def listed(self, rows: list[int]) -> object:
        self.both[0] += 1
        self.both[1] = self.both[1] or _real(float(len(rows)))
        return [self.both[1], coin()]


def salted() -> Function:
    """One random number for all runs."""
    salt = None

    def answer(rows: list[int]) -> object:
        nonlocal salt
        salt = salt or float(_random.random())
        return (salt * 1000 + len(rows)) % 7 + coin()

    return answer


STATE: dict[str, Callable[[], Function]] = {
    "memo and a coin": remembers_and_adds_a_coin,
    "pool in a cache": pool_in_a_cache,
    "pool of three": pool_of_three,
    "attribute of a function": attribute,
    "object": Stored,
    "cached method": lambda: Stored().method,
    "busy object": Busy,
    "busy list": lambda: Busy().listed,
    "salt": salted,
    "partial": lambda: functools.partial(lambda f, rows: f(rows), remembers_and_adds_a_coin()),
}


@pytest.mark.parametrize("name", STATE)
def test_stored_answers_are_reported_and_never_certified(name: str) -> None:
    """What is stored twelve times over is the same each time with probability below 1e-6: both sides draw noise of scale 1."""
    finding = dp.audit(STATE[name](), [1, 2], [1], epsilon=1, draws=deep(2_000, 500), error=1e-6)
    assert finding.verdict.startswith("cannot be audited: the function keeps state"), finding
    assert "random" in finding.verdict
    assert (finding.violated, finding.epsilon) == (False, 0)


@pytest.mark.parametrize("name", STATE)
def test_outputs_alone_do_not_show_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why memory is looked at: given what is stored, runs are independent, and the test of their order (1e-7) is silent."""
    monkeypatch.setattr(state, "find_stored_randomness", lambda *_: "")
    finding = dp.audit(STATE[name](), [1, 2], [1], epsilon=1, draws=300, error=1e-6)
    assert "keeps state" not in finding.verdict, finding


def counts() -> Function:
    calls, seen, log = [0], list[object](), dict[int, object]()
    last = 0

    def answer(rows: list[int]) -> object:
        nonlocal last
        calls[0] += 1
        last += 1
        seen.append(noisy := _release(len(rows)))
        log[last] = noisy
        logging.getLogger("audited").debug("an answer")
        return noisy

    return answer


_public: dict[str, list[int]] = {}


def loads_public_facts(rows: list[int]) -> object:
    if not _public:
        _public["bounds"] = [0, 1]
    low, high = _public["bounds"]
    return _release(sum(min(max(low, row), high) for row in rows))


@functools.lru_cache(None)
def bounds() -> tuple[int, int]:
    return 0, 1


def caches_public_facts(rows: list[int]) -> object:
    return _release(sum(min(max(bounds()[0], row), bounds()[1]) for row in rows))


def imports_late(rows: list[int]) -> object:
    global colorsys
    import colorsys

    return _release(len(rows))


@pytest.mark.parametrize("make", [counts, lambda: loads_public_facts, lambda: caches_public_facts, lambda: imports_late])
def test_harmless_memory_is_no_obstacle(make: Callable[[], Function]) -> None:
    finding = dp.audit(make(), [1, 2], [1], epsilon=1, draws=500, error=1e-6)
    assert finding.verdict.startswith("not refuted"), finding


def test_no_noise_and_a_counter_is_a_violation() -> None:
    calls = [0]

    def count(rows: list[int]) -> int:
        calls[0] += 1
        return len(rows)

    assert dp.audit(count, [1, 2], [1], epsilon=1, draws=500).violated


def test_what_replays_stored_does_not_feed_the_samples() -> None:
    """Replays give both sides the same answers; if they were remembered, an epsilon of 50 could be sold as one of 1."""
    memo: dict[int, int] = {}

    def weak(rows: list[int]) -> int:
        if len(rows) not in memo:
            memo[len(rows)] = dp.Laplace(sensitivity=1, epsilon=50).release(len(rows))
        return memo[len(rows)] + coin()

    assert examine(weak, read_pairs([([1, 2], [1])]), epsilon=1, draws=5_000).outcome == "violated"
    report = examine(remembers_and_adds_a_coin(), read_pairs([([1, 2], [1]), ([1], [])]), epsilon=1, draws=2_000)
    assert report.outcome == "cannot be audited"
    assert "keeps state" in report.verdict


def test_everything_is_put_back() -> None:
    numbers, names, table = [1, [2]], {"a"}, np.zeros(2)
    total = 0

    @functools.lru_cache
    def cached(x: int) -> int:
        return x

    def function(x: int) -> None:
        nonlocal total
        global _late
        _late, total = x, x
        numbers.append(x)
        numbers[1].append(x)  # type: ignore[attr-defined]
        names.add("b")
        table[0] = x
        function.seen = x  # type: ignore[attr-defined]
        cached(x), cached(x)

    memory = Memory(function)
    assert not memory.changed
    function(7)
    assert sum(bool(place.changed()) for place in memory.places) >= 6
    assert memory.changed
    memory.restore()
    assert not memory.changed
    assert (numbers, names, table.tolist(), total, "_late" in globals()) == ([1, [2]], {"a"}, [0, 0], 0, False)
    assert not hasattr(function, "seen")
    assert cached.cache_info().currsize == 0
