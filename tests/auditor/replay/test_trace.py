"""A watched run: what is written down, what another run is told, and that nothing of it remains."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditor.replay.compare import replay
from discreet.auditor.replay.trace import Committed, Opened, Released, Reserved, _find_shape, watch
from discreet.errors import ValueRefused
from discreet.ledger import ledger as ledgers
from discreet.mechanisms.values import Histograms


def laplace() -> dp.Laplace:
    return dp.Laplace(sensitivity=1, epsilon=1)


def curated(folder: str, rows: list[int]) -> dp.Curator:
    """One person a number, each in all of eight groups."""
    facts: Any = {"unit": dp.person("id", rows=1, groups=1), "columns": {"g": dp.category(*"abcdefgh")}}
    table = pa.table({"g": list("abcdefgh") * len(rows), "id": np.repeat(np.array(rows, dtype=np.int64), 8)})
    return dp.Curator(table, **facts, budget=dp.Budget(epsilon=1), ledger=f"{folder}/own.ledger")


def asking(rows: list[int]) -> object:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.dict(os.environ, XDG_STATE_HOME=folder, LOCALAPPDATA=folder),
        curated(folder, rows) as curator,
    ):
        return curator.sql("SELECT g, count(DISTINCT id) AS n FROM data GROUP BY g", epsilon=1)


def test_all_steps_of_a_curator_are_written_down_in_order() -> None:
    trace = watch(asking, [1, 2])
    assert [type(step) for step in trace.steps] == [Opened, Reserved, Released, Committed]
    assert trace.steps[1].privacy.epsilon() == 1  # type: ignore[union-attr]
    assert sum(trace.steps[2].release.value) == 2  # type: ignore[union-attr]
    assert trace.raised is None


def test_a_ledger_keeps_its_salt_in_a_run_that_follows() -> None:
    """Which of a person's groups count depends on it."""
    for _ in range(2):
        found = replay(asking, list(range(20)), list(range(19)))
        assert not found.differences, str(found)
        assert found.privacy.epsilon() == 1  # one person moved one group
    assert watch(asking, [1]).steps[0] != watch(asking, [1]).steps[0]  # unless it follows, a salt is its own


def test_what_a_run_says_and_raises_goes_no_further(capsys: pytest.CaptureFixture[str]) -> None:
    def loud(rows: list[int]) -> None:
        print("hello")
        warnings.warn("careful", stacklevel=1)
        raise KeyError(rows[0])

    trace = watch(loud, [7])
    assert trace.printed == ("hello\n", "UserWarning: careful")
    assert trace.raised == "KeyError: 7"
    assert capsys.readouterr().out == ""


def test_ledgers_are_as_before_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = ledgers.opening, ledgers.Ledger.reserve, ledgers.Ledger.commit  # type: ignore[attr-defined]
    watch(asking, [1])
    watch(lambda _: 1 / 0, [1])
    assert before == (ledgers.opening, ledgers.Ledger.reserve, ledgers.Ledger.commit)  # type: ignore[attr-defined]


def test_a_run_that_follows_gets_answers_as_they_were_even_where_somebody_changed_the_array() -> None:
    def run(rows: list[int]) -> list[int]:
        noisy: Any = dp.Gaussian(sensitivity=1, rho=1).release(1000 + np.bincount(rows, minlength=4))
        noisy *= 2
        return [int(x) for x in noisy]

    assert not replay(run, [1, 2], [1]).differences


def test_recording_stays_in_its_thread_and_ends_with_the_run() -> None:
    seen: list[int] = []

    def run(rows: list[int]) -> object:
        other = threading.Thread(target=lambda: seen.append(laplace().release(len(rows))))  # type: ignore[arg-type]
        other.start()
        other.join()
        return laplace().release(0)

    assert replay(run, [1], [1]).releases == 1
    assert len(seen) == 2
    with pytest.raises(ValueRefused):
        laplace().release("a")  # type: ignore[arg-type]


def test_a_replay_inside_a_replay() -> None:
    inner = lambda rows: replay(lambda r: laplace().release(sum(r)), rows, []).violated  # noqa: E731
    assert replay(inner, [0], [5]).differences[0].kind == "returned"


def test_shapes() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert [_find_shape(value) for value in (1, 2.5, "text", [], [1, 2], [[1, 2]], np.zeros((2, 0)), pd.Series([1, 2]))] == [
        (),
        (),
        (),
        (0,),
        (2,),
        (1, 2),
        (2, 0),
        (2,),
    ]
    assert _find_shape(Histograms(2, 3, none, none, none)) == (2, 3)
    assert _find_shape({"a": 1}) is None
