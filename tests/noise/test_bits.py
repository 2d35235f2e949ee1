"""Randomness comes from the system and is used once: by no other call, thread or process; a broken source is noticed."""

from __future__ import annotations

import ast
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from reference import statistics
from support.recorded import replay

import discreet
from discreet.balls import precision
from discreet.errors import EntropyError
from discreet.noise import bits, coins, gaussian, laplace
from discreet.noise.selection import Noise, noisy_argmax

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def test_words() -> None:
    drawn = bits.words(200_000)
    assert drawn.dtype == np.uint64
    assert drawn.shape == (200_000,)
    assert np.unique(drawn).size == 200_000  # a repetition has probability below 2e-9
    assert bits.words(0).size == 0
    for shift in range(0, 64, 8):  # eight comparisons: a false alarm below 8e-7
        counts = np.bincount((drawn >> np.uint64(shift) & np.uint64(255)).astype(int), minlength=256)
        assert statistics.chi_square(counts, np.full(256, drawn.size / 256)) > statistics.ALARM


def test_nothing_is_kept_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(bits, "_generator", lambda count: asked.append(count) or os.urandom(count))
    for size in (1, 5, 1000):
        bits.words(size)
        coins.uniform(2**20, size)
    assert asked == [8, 8, 40, 40, 8000, 8000]
    asked.clear()
    laplace.discrete(Fraction(1), 1)
    assert asked[0] == 8
    assert all(count == 8 for count in asked)


def in_child(work: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    """Fork now; the result is read when the returned function is called. A child that hangs is killed by its alarm."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(20)
            os.close(readable)
            os.write(writable, work().tobytes())
        finally:
            os._exit(0)
    os.close(writable)

    def collect() -> np.ndarray:
        with os.fdopen(readable, "rb") as pipe:
            data = pipe.read()
        os.waitpid(child, 0)
        return np.frombuffer(data, dtype=np.uint64)

    return collect


def all_different(samples: list[np.ndarray], each: int) -> bool:
    """Some hundred 64-bit words: a coincidence has probability below 1e-13."""
    return all(s.size == each for s in samples) and np.unique(np.concatenate(samples)).size == each * len(samples)


@needs_fork
def test_forked_children_have_noise_of_their_own() -> None:
    bits.words(10)
    children = [in_child(lambda: bits.words(8)) for _ in range(5)]
    grandchild = in_child(lambda: in_child(lambda: bits.words(8))())
    mine = bits.words(8)
    assert all_different([mine, grandchild(), *(collect() for collect in children)], 8)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_children_of_a_threaded_process() -> None:
    """Several threads have drawn and one works with balls when the children are forked: no repetition, no inherited lock."""
    all_drawn, holding, finish = threading.Barrier(4), threading.Event(), threading.Event()
    drawn: list[np.ndarray] = []

    def thread(holds: bool) -> None:
        drawn.append(with_balls())
        all_drawn.wait(600)
        with precision(64) if holds else nullcontext():
            if holds:
                holding.set()
            finish.wait(600)

    threads = [threading.Thread(target=thread, args=(holds,)) for holds in (False, False, True)]
    for each in threads:
        each.start()
    all_drawn.wait(600)
    assert holding.wait(600)
    try:
        children = [in_child(with_balls) for _ in range(4)]
        samples = [collect() for collect in children]
    finally:
        finish.set()
        for each in threads:
            each.join()
    assert all_different([with_balls(), *drawn, *samples], 8)


def with_balls() -> np.ndarray:
    """Draws at a scale where floats decide nothing."""
    return gaussian.rounded(Fraction(2**100), 8).view(np.uint64)


def test_threads_have_noise_of_their_own() -> None:
    samples: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: samples.append(bits.words(500))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all_different(samples, 500)


COUNT_URANDOM = """
import os, ssl, sys
calls, real = [], os.urandom
os.urandom = lambda count: calls.append(count) or real(count)
{before}
from discreet.noise import laplace
from fractions import Fraction
calls.clear()
laplace.discrete(Fraction(3), 1000)
print(sum(calls))
"""


@pytest.mark.parametrize(
    ("setting", "before", "kernel"),
    [
        ("1", "", True),
        ("yes", "", True),
        ("0", "", False),
        ("", "", False),
        ("", "sys.modules['ssl'] = None", True),
        ("", "ssl.OPENSSL_VERSION_INFO = (1, 1, 1, 3, 15)", True),
        ("", "ssl.OPENSSL_VERSION_INFO = (1, 1, 1, 4, 15)", False),
    ],
)
def test_where_the_words_come_from(setting: str, before: str, kernel: bool) -> None:
    environment = {**os.environ, "DISCREET_STRICT_ENTROPY": setting}
    code = COUNT_URANDOM.format(before=before)
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert int(run.stdout) >= 8000 if kernel else int(run.stdout) == 0


@pytest.mark.parametrize("failure", [ssl.SSLError("no entropy"), OverflowError("too many")])
def test_a_failing_openssl_is_replaced_by_the_kernel(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: int) -> bytes:
        raise failure

    asked: list[int] = []
    kernel = os.urandom
    monkeypatch.setattr(ssl, "RAND_bytes", broken)
    monkeypatch.setattr(os, "urandom", lambda count: asked.append(count) or kernel(count))
    assert np.frombuffer(bits._openssl(800), dtype=np.uint64).size == 100
    assert asked == [800]


AMBIGUOUS: dict[str, Callable[[], object]] = {
    "geometric": lambda: laplace.geometric(Fraction(3), 2),
    "discrete Laplace": lambda: laplace.discrete(Fraction(3), 2),
    "discrete Laplace of two words": lambda: laplace.discrete(Fraction(2**40), 2),
    "rounded Laplace": lambda: laplace.rounded(Fraction(3), np.zeros(2), lambda _: Fraction(0)),
    "rounded Gaussian": lambda: gaussian.rounded(Fraction(9), 2),
    "discrete Gaussian": lambda: gaussian.discrete(Fraction(9), 2),
    "coin": lambda: coins.bernoulli(coins.exponential_chance(Fraction(10**6)), 1),
    "accept": lambda: coins.accept(np.array([1e6]), lambda _: Fraction(10**6)),
    **{
        noise.value: lambda noise=noise: noisy_argmax(np.zeros(3), Fraction(1), noise, lambda _: Fraction(0))  # type: ignore[misc]
        for noise in Noise
    },
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_a_stuck_generator_is_reported(name: str) -> None:
    """Nothing but zeros: refused after two thousand digits, long before this tape ends."""
    with pytest.raises(EntropyError, match="cannot be working"):
        replay(AMBIGUOUS[name], [0] * 500)


AFTERWARDS = {
    "cli/demo/hospital.py",  # draws a made-up hospital, from a fixed seed
    "local/tasks/distribution.py",  # simulates for a plan, before there are any reports; bootstraps what was already released
}


def test_no_other_generator_is_imported() -> None:
    source = Path(discreet.__file__).parent
    for path in source.rglob("*.py"):
        if path.relative_to(source).as_posix() in AFTERWARDS:
            continue
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "random" in text else ():
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = [f"{node.value.id}.{node.attr}"]
            for name in names:
                generator = name == "random" or name.startswith(("random.", "np.random", "numpy.random"))
                assert not generator, f"{path}: {name}"
