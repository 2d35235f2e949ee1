"""Blocks that are kept: the same numbers again, read once, in a file that nobody else can open."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import EngineError
from discreet.mechanisms.rows import held
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.secret import Secret, open_secret

EDGES = [0, 1, -1, 127, 128, -127, -128, 2**15 - 1, -(2**15), 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**62, MISSING]
REALS = [0.0, -0.0, 1.5, -3.0, 2.0**31 - 1, 2.0**31, -(2.0**31), 1e300, 5e-324, np.inf, -np.inf, np.nan]


def blocks(seed: int) -> list[Block]:
    """Random heights, kinds and edges, alone and together; some with persons, some without rows."""
    random = np.random.default_rng(seed)
    found = []
    for height in (0, 1, 7, 300):
        some = int(random.integers(1, len(EDGES) + 1))
        columns: dict[str, Any] = {
            "edges": random.choice(np.array(EDGES)[:some], height),
            "reals": random.choice(np.array(REALS)[: int(random.integers(1, len(REALS) + 1))], height),
            "whole": random.integers(-(2**20), 2**20, (height, 3)).astype(np.float64),
            "codes": random.integers(0, 5, (height, 2)).astype(np.int32),
            "truth": random.random(height) < 0.5,
        }
        found.append(Block(columns, height, None if seed % 2 else np.arange(0, height, 2)))
    return found


def same(one: Block, other: Block) -> None:
    assert (one.height, one.columns.keys()) == (other.height, other.columns.keys())
    assert (one.starts is None) == (other.starts is None)
    for name, column in one.columns.items():
        assert (column.dtype, column.shape) == (other[name].dtype, other[name].shape)
        assert column.tobytes() == np.asarray(other[name]).tobytes(), name


@pytest.mark.parametrize("most", [0, 500, 2**30])
def test_what_comes_out_is_what_went_in(most: int) -> None:
    for seed in range(12):
        given, times = blocks(seed), 0

        def read(given: list[Block] = given) -> Iterator[Secret[Block]]:
            nonlocal times
            times += 1
            yield from map(Secret, given)

        again = held.hold(read, most)
        for _ in range(3):
            for one, other in zip(given, again(), strict=True):
                same(one, open_secret(other))
        assert times == 1


def test_a_reading_that_was_left_is_begun_anew() -> None:
    given = blocks(1)
    again = held.hold(lambda: map(Secret, given), 100)
    next(iter(again()))
    assert [open_secret(one).height for one in again()] == [one.height for one in given]


def test_the_file_has_no_name_and_is_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened = []
    made = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **given: opened.append(made(**given)) or opened[-1])
    again = held.hold(lambda: map(Secret, blocks(2)), 0)
    list(again())
    facts = os.fstat(opened[0].fileno())
    assert (facts.st_mode & 0o777, facts.st_nlink) == (0o600, 0)
    assert list(tmp_path.iterdir()) == []
    whole = sum(column.nbytes for block in blocks(2) for column in block.columns.values())
    assert 0 < facts.st_size < 0.7 * whole  # whole numbers take few bytes


@pytest.mark.parametrize("always", [False, True])
def test_where_nothing_can_be_written_it_is_read_again_or_refused(always: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    given = blocks(3)
    again = held.hold(lambda: map(Secret, given), 0, always=always)
    if always:
        with pytest.raises(EngineError, match="TMPDIR"):
            list(again())
        return
    for _ in range(2):
        assert len(list(again())) == len(given)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_reads_what_was_kept_and_keeps_nothing_in_the_same_place() -> None:
    """Forked in the middle of a reading, parent and child go on, and each reads its own rows again."""
    given = [Block({"x": np.arange(4) + 1000 * k + 0.5}, 4) for k in range(6)]

    def read() -> Iterator[Secret[Block]]:
        for k, block in enumerate(given):
            yield Secret(Block({"x": block["x"] + (0 if k < 3 else 10**6 * (os.getpid() != parent))}, 4))

    parent = os.getpid()
    whole, half = held.hold(read, 0), held.hold(read, 0)
    list(whole())
    begun = iter(half())
    next(begun)
    pid = os.fork()
    list(begun)
    found = [float(open_secret(one)["x"][0]) for again in (whole, half) for one in again()]
    mine = [0.5 + 1000 * k for k in range(6)]
    if not pid:
        right = found == mine + [x + (10**6 if k > 2 else 0) for k, x in enumerate(mine)]
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert found == mine + mine


def test_texts_are_read_again() -> None:
    texts = Block({"t": np.array(["a", None], dtype=object)}, 2)
    again = held.hold(lambda: [Secret(texts)])
    assert all(open_secret(one)["t"].tolist() == ["a", None] for _ in range(2) for one in again())


@pytest.mark.parametrize("most", [0, 2**24])
def test_a_unit_has_one_coin_even_where_a_reading_is_left_or_another_begun(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that is learnt from in one run and scored on in the next would be paid for once and used twice. That 600 fresh coins
    fall as they did before has a chance of 2^-600."""
    monkeypatch.setattr(held.hold, "__defaults__", (most,))
    given = [Block({"x": np.arange(300) + 300 * k}, 300) for k in range(2)]
    one, other = held.divide(lambda: map(Secret, given), Fraction(1, 2))
    first = iter(one())
    begun = set(open_secret(next(first))["x"].tolist())  # and left there
    beside = [open_secret(block)["x"].tolist() for block in other()]
    again = [open_secret(block)["x"].tolist() for block in one()]
    assert begun == {*again[0]}
    assert sorted(x for some in again + beside for x in some) == list(range(600))
    assert [open_secret(block)["x"].tolist() for block in first] == again[1:]
