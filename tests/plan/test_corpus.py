"""Questions as analysts write them: what can be answered is, and rightly; hopeless ones get the sentence that helps."""

from __future__ import annotations

import datetime
import importlib
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from plan.corpus.base import Asked, Between, Hopeless, Line
from plan.corpus.worlds import EPSILON, WORLDS
from support.depth import spread

import discreet as dp
from discreet.errors import DiscreetError

FILES = [file.stem for file in sorted(Path(__file__).parent.glob("corpus/*.py")) if file.stem not in ("base", "worlds")]
MODULES = [importlib.import_module(f"plan.corpus.{name}") for name in FILES]
ASKED: list[Asked] = [one for module in MODULES for one in module.ASKED]
HOPELESS: list[Hopeless] = [one for module in MODULES for one in module.HOPELESS]

Open = Callable[[str], dp.Curator]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


@pytest.fixture(autouse=True)
def state_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for all tests of this file, as their ledgers are."""
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder / "state"))


@pytest.fixture(scope="module")
def ask(folder: Path) -> Open:
    """The curator of a world, made once."""
    known: dict[str, dp.Curator] = {}

    def find(world: str) -> dp.Curator:
        if world not in known:
            known[world] = WORLDS[world].open(folder / f"{world}.ledger")
        return known[world]

    return find


PREVIEWED = spread(ASKED, len(ASKED) // 4)  # a preview takes longer than an answer


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked.world}: {asked.sql}")
def test_an_analysts_question_is_answered(asked: Asked, ask: Open) -> None:
    """Off by no more than a thousandth and eight standard errors, which are below 0.1 rows: false alarms below 1e-14 each."""
    world = ask(asked.world)
    preview = world.preview(asked.sql, epsilon=EPSILON) if asked in PREVIEWED else None
    answer = world.sql(asked.sql, epsilon=EPSILON)
    if preview is not None and answer.outputs:
        assert [line.output for line in preview.lines][-len(answer.outputs) :] == list(answer.outputs)
    columns = [*answer.keys.values(), *(column.values for column in answer.outputs.values())]
    found: list[Line] = list(zip(*columns, strict=True))
    none = [0.0] * len(answer)
    errors = [*(none for _ in answer.keys), *(column.errors or none for column in answer.outputs.values())]
    worst = [8 * max((error for error in column if math.isfinite(error)), default=0.0) for column in errors]
    expected = asked.answer(WORLDS[asked.world].rows)
    lines = expected if isinstance(expected, list) else [expected if isinstance(expected, tuple) else (expected,)]
    if not asked.ordered:
        found, lines = sorted(found, key=_key), sorted(lines, key=_key)
    assert len(found) == len(lines), (found, lines)
    for line, wanted in zip(found, lines, strict=True):
        assert len(line) == len(wanted)
        for cell, right, error in zip(line, wanted, worst, strict=True):
            assert _same(cell, right, asked.tolerance, error), (line, wanted)


@pytest.mark.parametrize("hopeless", HOPELESS, ids=lambda hopeless: f"{hopeless.world}: {hopeless.sql}")
def test_a_hopeless_question_gets_the_sentence_that_helps(hopeless: Hopeless, ask: Open) -> None:
    with pytest.raises(DiscreetError) as refusal:
        ask(hopeless.world).sql(hopeless.sql, epsilon=1)
    assert hopeless.says in str(refusal.value)


def test_no_question_is_there_twice() -> None:
    texts = [(one.world, one.sql) for one in (*ASKED, *HOPELESS)]
    assert len(texts) == len(set(texts))


def _key(line: Line) -> tuple[Any, ...]:
    return tuple((cell is None, type(cell).__name__ if isinstance(cell, str | datetime.date) else "", cell or 0) for cell in line)


def _same(cell: Any, right: Any, tolerance: float, error: float) -> bool:
    if isinstance(right, Between):
        return right.low - tolerance - error <= cell <= right.high + tolerance + error
    number = isinstance(right, int | float | Fraction) and not isinstance(right, bool)
    if not number or cell is None:
        return bool(cell == right)
    return abs(float(cell) - float(right)) <= tolerance * max(1.0, abs(float(right))) + error
