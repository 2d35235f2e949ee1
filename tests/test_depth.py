"""Two depths: thorough means all, and usually every value is among what is tried."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import depth

TESTS = Path(__file__).parent


def test_thorough_means_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "THOROUGH", True)
    assert [depth.deep(1_000_000, 7), depth.examples(100), depth.examples(3)] == [1_000_000, 100, 3]
    assert depth.spread(range(50), 3) == [*range(50)]


def test_usually_it_is_a_part_with_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "THOROUGH", False)
    assert depth.deep(1_000_000, 7) == 7
    assert [depth.examples(many) for many in (1, 5, 8, 20, 100)] == [1, 5, 5, 5, 25]
    assert depth.spread("abcdefghi", 3) == ["a", "e", "i"]
    assert depth.spread("abc", 5) == ["a", "b", "c"]
    for many in range(2, 60):
        for usual in range(2, many + 1):
            found = depth.spread(range(many), usual)
            assert (found[0], found[-1], len({*found})) == (0, many - 1, usual)


def test_turns_together_try_all(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {name: name.upper() for name in "abcdefgh"}
    monkeypatch.setattr(depth, "THOROUGH", False)
    found = [depth.turns(cases, turn, always="ae") for turn in range(4)]
    assert found[0] == found[3] == {"a": "A", "b": "B", "e": "E", "f": "F"}
    assert {name for one in found for name in one} == {*cases}
    assert sum(map(len, found[:3])) == 3 * 2 + 6
    monkeypatch.setattr(depth, "THOROUGH", True)
    assert depth.turns(cases, 1, always="ae") == cases


GRID = """
import pytest
from hypothesis import given, settings, strategies
from support.depth import deep

@pytest.mark.diagonal
@pytest.mark.parametrize("letter", "abcde")
@pytest.mark.parametrize(("number", "half"), [(n, n / 2) for n in range(3)])
def test_grid(letter, number, half): pass

@pytest.mark.diagonal(2)
@pytest.mark.parametrize("letter", "abcde")
@pytest.mark.parametrize("one", [object()])
@pytest.mark.parametrize("sign", [-1, 1])
def test_twice(letter, one, sign): pass

@pytest.mark.spread(3)
@pytest.mark.parametrize("letter", "abcde")
def test_list(letter): pass

@pytest.mark.parametrize("letter", "abcde")
@pytest.mark.parametrize("number", range(3))
def test_whole(letter, number): pass

@given(strategies.integers())
def test_depth(x): assert (deep(9, 2), settings().max_examples) == {depth}
"""


def names(folder: Path, *more: str, thorough: str) -> list[str]:
    """Which tests are run, as this suite's own configuration has them."""
    options = ["-c", str(TESTS.parent / "pyproject.toml"), "--rootdir", str(TESTS.parent), "-p", "no:xdist", "-vv", *more]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", *options, str(folder / "test_grid.py")],
        cwd=TESTS.parent,
        env={**os.environ, "DISCREET_THOROUGH": thorough, "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return [line.split("::")[1].split(" ")[0] for line in ran.stdout.splitlines() if "PASSED" in line]


def test_of_a_grid_every_value_is_tried_and_thoroughly_all_together(tmp_path: Path) -> None:
    for thorough, found in (("0", "(2, 25)"), ("1", "(9, 100)")):
        (tmp_path / "test_grid.py").write_text(GRID.replace("{depth}", found))
        ran = names(tmp_path, thorough=thorough)
        many = {name: len([one for one in ran if one.startswith(name)]) for name in ("test_grid", "test_twice", "test_whole")}
        listed = [one for one in ran if one.startswith("test_list")]
        assert listed == [f"test_list[{one}]" for one in ("abcde" if thorough == "1" else "ace")]
        if thorough == "1":
            assert many == {"test_grid": 15, "test_twice": 10, "test_whole": 15}
            continue
        assert many == {"test_grid": 5, "test_twice": 10, "test_whole": 15}
        grid = [one for one in ran if one.startswith("test_grid")]
        assert {grid[0], grid[-1]} == {"test_grid[0-0.0-a]", "test_grid[2-1.0-e]"}
        assert {one[-2] for one in grid} == {*"abcde"}
        assert {one[10] for one in grid} == {*"012"}
    assert names(tmp_path, "-k", "test_grid and 1-0.5-c", thorough="1") == ["test_grid[1-0.5-c]"]
