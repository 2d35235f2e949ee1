"""Functions that crash, hang, print, change their mind about types, or keep state: reported in words, never certified."""

from __future__ import annotations

import functools
import itertools
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.broken import laplace
from support.clock import Clock
from support.depth import deep

import discreet as dp

_random = np.random.default_rng()


def geometric(x: int) -> int:
    return x + int(_random.geometric(0.5)) - int(_random.geometric(0.5))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"epsilon": -1},
        {"epsilon": "1"},
        {"epsilon": float("nan")},
        {"epsilon": 10**6},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -0.1},
        {"epsilon": 1, "privacy": dp.pure(1)},
        {"privacy": 1},
        {"epsilon": 1, "draws": 0},
        {"epsilon": 1, "draws": 1.5},
        {"epsilon": 1, "error": 0},
        {"epsilon": 1, "error": 1},
        {"epsilon": 1, "seconds": 0},
        {"epsilon": 1, "seconds": "soon"},
        {"epsilon": 1, "floats": "no"},
        {"epsilon": 1, "floats": False},
        {"epsilon": 1, "floats": np.array([1, 2])},
    ],
    ids=str,
)
def test_arguments_are_checked_before_anything_runs(arguments: dict[str, Any]) -> None:
    def never(_: object) -> None:
        raise AssertionError

    with pytest.raises(dp.errors.ParameterError, match=r"write|must|whole"):
        dp.audit(never, 0, 1, **arguments)


def test_what_is_audited_is_a_function() -> None:
    with pytest.raises(dp.errors.ParameterError, match="a function of one input"):
        dp.audit(3, 0, 1, epsilon=1)  # type: ignore[arg-type]


def test_prints_and_warnings_are_swallowed(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(x: int) -> int:
        print("a secret", x)
        warnings.warn("a secret", stacklevel=1)
        return geometric(x)

    assert not dp.audit(loud, 0, 1, epsilon=1, draws=500, error=1e-6).violated
    assert capsys.readouterr() == ("", "")


async def coroutine(_: object) -> int:
    return 3


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda _: 1 / 0, "every run raised ZeroDivisionError: division by zero"),
        (lambda _: sys.exit(3), "every run raised SystemExit: 3"),
        (lambda: 0, "every run raised TypeError: "),
        (lambda _: int("\x1b[2J" * 500), "every run raised ValueError: invalid literal"),
        (lambda x: {}[geometric(x)], "every run raised KeyError: "),
        (lambda _: None, "the function returned nothing; return the release"),
        (lambda x: (y for y in [x]), "the function returned a generator, which is not read; return a list"),
        (lambda x: [geometric(0), map(str, [x])], "the function returned a map, which is not read; return a list"),
        (coroutine, "the function returned a coroutine, which is not read; return a list"),
        (lambda _: 7, "every run gave the same output: the function is constant, or hands out stored answers"),
    ],
    ids=["raises", "exits", "arguments", "control characters", "texts", "nothing", "generator", "map", "coroutine", "constant"],
)
def test_a_function_that_says_nothing_cannot_be_audited(function: Any, words: str) -> None:
    finding = dp.audit(function, 0, 0, epsilon=1, draws=100)
    assert (finding.violated, finding.epsilon) == (False, 0)
    assert finding.verdict.startswith(f"cannot be audited: {words}")
    assert finding.verdict.isprintable()
    assert len(finding.verdict) < 260


def test_a_function_that_says_nothing_is_given_up_soon() -> None:
    assert dp.audit(lambda: 0, 0, 1, epsilon=1).draws < 3_000  # type: ignore[arg-type,misc]


def test_an_exception_text_with_data_in_it_is_found() -> None:
    def fail(rows: list[int]) -> float:
        if _random.random() < 0.5:
            raise ValueError(f"{len(rows)} rows are too few")
        return laplace(1)

    finding = dp.audit(fail, [1, 2], [1], epsilon=1, draws=5_000)
    assert finding.violated
    assert "rows are too few" in finding.event


def test_types_may_vary_if_they_vary_alike() -> None:
    outputs = [None, 1, 1.5, "text", b"bytes", [1, [2, None]], {"a": {"b": 2}}, {3, 4}, np.arange(3), np.float64(2), 2 + 3j]
    outputs += [float("nan"), float("inf"), -0.0, 10**400, ValueError("returned"), object(), np.array("x"), (), 1 << 70]
    assert not dp.audit(
        lambda _: outputs[_random.integers(len(outputs))], 0, 1, epsilon=0.5, draws=deep(1_000, 400), error=1e-7
    ).violated


def test_a_type_that_tells_is_found() -> None:
    finding = dp.audit(lambda x: np.float64(laplace(1)) if x else laplace(1), 0, 1, epsilon=1, draws=1_000)
    assert finding.violated
    assert "float64" in finding.event or "type float" in finding.event


def test_a_function_that_hangs_on_one_side_is_refuted(clock: Clock) -> None:
    def slow(x: int) -> int:
        while x == 1 and _random.random() < 2:
            clock.sleep(1)
        return geometric(x)

    before = signal.getsignal(signal.SIGALRM)
    finding = dp.audit(slow, 0, 1, epsilon=1, draws=10_000)
    assert finding.violated
    assert "return" in finding.event
    assert "in time" in finding.event
    assert signal.getsignal(signal.SIGALRM) == before


def test_a_function_that_never_returns_is_reported(clock: Clock) -> None:
    def never(_: object) -> None:
        while True:
            clock.sleep(1)

    finding = dp.audit(never, 0, 1, epsilon=1)
    assert finding.verdict.startswith("cannot be audited: the function did not return within")


def test_seconds_end_an_audit(clock: Clock) -> None:
    def takes_a_thousandth(x: int) -> int:
        clock.now += 0.001
        return geometric(x)

    finding = dp.audit(takes_a_thousandth, 0, 1, epsilon=1, draws=10**9, seconds=0.5005, error=1e-6)
    assert not finding.violated
    assert finding.draws == 251


def counter() -> Callable[[int], int]:
    runs = itertools.count()
    return lambda x: next(runs) + geometric(x)


def exhausted() -> Callable[[int], int]:
    runs = itertools.count()

    def answer(x: int) -> int:
        if next(runs) >= 5:
            raise RuntimeError("budget exceeded")
        return geometric(x)

    return answer


def remembered() -> Callable[[int], int]:
    answers: dict[int, int] = {}
    return lambda x: answers.setdefault(x, geometric(x) + 1000 * x)


def cached() -> Callable[[int], int]:
    return functools.lru_cache(lambda x: geometric(x) + 1000 * x)


def wandering() -> Callable[[int], float]:
    place = [0.0]

    def step(x: int) -> float:
        place[0] = 0.9 * place[0] + laplace(1)
        return place[0] + x

    return step


def alternating() -> Callable[[int], float]:
    signs = itertools.cycle([1, -1])
    return lambda x: next(signs) * abs(laplace(1)) + x / 100


@pytest.mark.parametrize("make", [counter, exhausted, remembered, cached, wandering, alternating])
def test_state_is_detected_and_never_certified(make: Callable[[], Callable[[int], float]]) -> None:
    finding = dp.audit(make(), 0, 1, epsilon=1, draws=5_000)
    assert not finding.violated
    assert finding.epsilon == 0
    assert finding.verdict.startswith("cannot be audited: the function keeps state")


def test_no_noise_at_all_is_a_violation_and_not_state() -> None:
    assert dp.audit(len, [1, 2], [1], epsilon=1, draws=1_000).violated


@pytest.mark.parametrize("shown", [lambda answer: answer, lambda answer: answer.value], ids=["answer", "value"])
def test_free_repeats_of_a_curator_are_not_draws(tmp_path: Any, shown: Callable[[Any], object]) -> None:
    import pandas as pd

    curators = {
        name: dp.Curator(
            pd.DataFrame({"age": ages}),
            unit=dp.rows(),
            columns={"age": dp.integer(0, 120)},
            budget=dp.Budget(epsilon=1),
            ledger=tmp_path / f"{name}.ledger",
        )
        for name, ages in (("a", [30] * 400), ("b", [30]))
    }
    finding = dp.audit(
        lambda name: shown(curators[name].sql("SELECT count(*) AS n FROM data", epsilon=0.5)), "a", "b", epsilon=1, draws=50
    )
    assert finding.verdict.startswith("cannot be audited: the function keeps state")


@pytest.mark.parametrize("draws", [1, 2, 3, 7])
@pytest.mark.parametrize("function", [len, lambda _: None, lambda rows: rows[5], lambda rows: [geometric(0)] * len(rows)])
def test_a_few_draws(draws: int, function: Callable[[list[int]], object]) -> None:
    """There may be draws of one side alone; nothing is concluded, and nothing warns."""
    for _ in range(5):
        finding = dp.audit(function, [1, 2], [1], epsilon=1, draws=draws)
        assert not finding.violated
        assert finding.draws == draws


def test_time_for_one_run_only(clock: Clock) -> None:
    """Then there are draws of one side alone, and nothing to compare."""

    def slow(rows: list[int]) -> int:
        clock.now += 0.05
        return len(rows)

    finding = dp.audit(slow, [1], [], epsilon=1, seconds=0.01)
    assert not finding.violated
    assert finding.draws == 1
    clock.tick = 1e-6
    assert dp.audit(len, [1], [], epsilon=1, seconds=1e-9).verdict == "cannot be audited: there was no time for a single run"
