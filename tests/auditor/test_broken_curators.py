"""Engines and plans that are broken on purpose: each is caught, with a witness as small as its mistake."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditor import curators
from discreet.auditor.curators import Search, replay_curator
from discreet.auditor.neighbours import extreme_pairs
from discreet.curator import plans
from discreet.engine.duckdb import cleaning
from discreet.engine.sql import counting
from discreet.engine.sql.counting import Counting
from discreet.engine.sql.engine import SqlEngine
from discreet.errors import ParameterError
from discreet.ledger.ledger import Ledger
from discreet.plan import release
from discreet.plan.measures import Norms
from discreet.plan.statistics import Histogram, Sums
from discreet.schema.table import Schema
from discreet.schema.units import Unit

pytestmark = pytest.mark.usefixtures("replayed")

COLUMNS: dict[str, Any] = {"x": dp.integer(0, 10), "g": dp.category("a", "b", "c")}
ROWS, PERSONS = dp.rows(), dp.person("id", rows=2, groups=1)
TOTAL, GROUPED = "SELECT sum(x) AS s FROM data", "SELECT g, sum(x) AS s FROM data GROUP BY g"
Patch = Callable[[pytest.MonkeyPatch], None]


def make(unit: Unit, columns: Callable[[pa.Table], Any] = lambda _: COLUMNS, budget: Any = None) -> Any:
    def opened(table: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(table, unit=unit, columns=columns(table), budget=budget or dp.Budget(epsilon=9), ledger=ledger)

    return opened


def audited(unit: Unit, question: Any, budget: Any = None, **cost: Any) -> Search:
    return replay_curator(make(unit, budget=budget), question, Schema(COLUMNS, unit), **(cost or {"epsilon": 1}))


def rows_of(found: Search) -> int:
    assert found.witness is not None
    pair = found.witness.pair
    return len(pair.rest) + len(pair.out) + len(pair.into)


def no_clamping(patch: pytest.MonkeyPatch) -> None:
    whole, cells = cleaning.CELLS.whole, vars(cleaning.CELLS)
    patch.setitem(cells, "whole", lambda raw, kind, low, high, **more: whole(raw, kind, low, 10**9 * high, **more))


def no_row_bound(patch: pytest.MonkeyPatch) -> None:
    contribution = counting.contribution
    patch.setattr(counting, "contribution", lambda total, _, bits, **more: contribution(total, 2**19, bits, **more))


def no_group_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Counting, "_factor", lambda *_: False)


def half_the_noise(patch: pytest.MonkeyPatch) -> None:
    class Halved(dp.Laplace):
        def __init__(self, *, sensitivity: int, epsilon: Fraction) -> None:
            super().__init__(sensitivity=sensitivity // 2, epsilon=epsilon)

    patch.setattr(release, "Laplace", Halved)


def forgotten_bits(patch: pytest.MonkeyPatch) -> None:
    norms = Sums.norms
    patch.setattr(Sums, "norms", lambda *of: (n := norms(*of)) and Norms(n.l1 >> n.bits, n.l2 >> n.bits, n.bits))


def unpaid_groups(patch: pytest.MonkeyPatch) -> None:
    """Every contest is right by itself; that one person takes part in two is forgotten."""
    contest = Histogram.contest
    patch.setattr(Histogram, "contest", lambda *of, **more: dataclasses.replace(contest(*of, **more), times=1))


def failing(patch: pytest.MonkeyPatch) -> None:
    count = SqlEngine.count

    def fails(self: Any, *of: Any) -> Any:
        if self._session._sources[""].frame.num_rows > 6:
            raise RuntimeError("too many rows")
        return count(self, *of)

    patch.setattr(SqlEngine, "count", fails)


def talking(patch: pytest.MonkeyPatch) -> None:
    """The number of rows stands beside the noisy answer."""
    keep, count, lines = plans.Selected.keep, SqlEngine.count, list[int]()

    def counts(self: Any, *of: Any) -> Any:
        lines.append(self._session._sources[""].frame.num_rows)
        return count(self, *of)

    def leaks(self: Any, measured: Any, cost: str) -> Any:
        return dataclasses.replace(keep(self, measured, cost), remarks=(f"{lines[-1]} rows",))

    patch.setattr(SqlEngine, "count", counts)
    patch.setattr(plans.Selected, "keep", leaks)


def late(patch: pytest.MonkeyPatch) -> None:
    """Noise first, payment afterwards."""
    reserve = Ledger.reserve

    def releases(self: Ledger, **facts: Any) -> int:
        dp.Laplace(sensitivity=1, epsilon=1).release(0)
        return reserve(self, **facts)

    patch.setattr(Ledger, "reserve", releases)


PAIRED = dp.person("id", rows=1, groups=2)
BROKEN: dict[str, tuple[Patch, Unit, str, str, str, int]] = {
    "clamping": (no_clamping, ROWS, TOTAL, "moved", "declared 10", 1),
    "rows of a person": (no_row_bound, PERSONS, TOTAL, "moved", "Laplace", 3),
    "groups of a person": (no_group_bound, PERSONS, GROUPED, "moved", "Laplace", 4),
    "half the noise": (half_the_noise, ROWS, TOTAL, "moved", "moved by 10, declared 5", 1),
    "parts of units": (forgotten_bits, PERSONS, TOTAL, "moved", "Laplace", 1),
    "price of many modes": (unpaid_groups, PAIRED, "SELECT g, mode(x) AS m FROM data GROUP BY g", "payment", "was paid", 2),
    "an error": (failing, ROWS, TOTAL, "raised", "EngineError", 7),
    "a leak": (talking, ROWS, TOTAL, "stored", "the same noisy answers are stored", 1),
    "late payment": (late, ROWS, TOTAL, "payment", "before it is paid for", 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_engines_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks, unit, question, kind, words, most = BROKEN[name]
    breaks(monkeypatch)
    found = audited(unit, question)
    assert found.witness is not None
    assert found.witness.replay.differences[0].kind == kind, str(found)
    assert words in str(found)
    assert rows_of(found) <= most, str(found)


@pytest.mark.parametrize("noise", ["l1", "l2"])
def test_a_norm_that_is_not_applied(noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "heavy", lambda *_: "heavy AS (SELECT person, 1e0 AS f FROM cells WHERE false)")
    budget = dp.Budget(epsilon=9, delta=1e-6) if noise == "l2" else dp.Budget(epsilon=9)
    found = audited(PERSONS, "SELECT g, count(*) AS n FROM data GROUP BY g", budget)
    assert found.witness is not None
    assert found.witness.replay.differences[0].kind == "moved"
    assert rows_of(found) <= 5  # two groups, and just more than both may hold


def peeking(columns: Callable[[pa.Table], Any], question: Any = TOTAL) -> Search:
    return replay_curator(make(ROWS, columns), question, Schema(COLUMNS, ROWS), epsilon=1)


def numbers(table: pa.Table) -> list[int]:
    return [x for x in table["x"].to_pylist() if isinstance(x, int)]


def test_bounds_read_off_the_data() -> None:
    found = peeking(lambda table: {"x": dp.integer(0, max([1, *numbers(table)])), "g": COLUMNS["g"]})
    assert found.witness is not None
    assert "declaration" in {difference.kind for difference in found.witness.replay.differences}
    assert rows_of(found) == 1


def test_keys_read_off_the_data() -> None:
    found = peeking(
        lambda table: {"x": COLUMNS["x"], "g": dp.category("a", *({*table["g"].to_pylist()} - {"a", None, "", " "}))}, GROUPED
    )
    assert found.witness is not None
    assert "shape" in {difference.kind for difference in found.witness.replay.differences}
    assert rows_of(found) == 1


def on_table(ask: Callable[[dp.Curator, pa.Table], object], **more: Any) -> Search:
    """A question that has looked at the table before it is asked."""
    held: list[pa.Table] = []

    def opened(table: pa.Table, ledger: Path) -> dp.Curator:
        held[:] = [table]
        return make(ROWS)(table, ledger)

    return replay_curator(opened, lambda curator: ask(curator, held[0]), Schema(COLUMNS, ROWS), **more)


def test_a_price_that_depends_on_the_data() -> None:
    found = on_table(lambda curator, table: curator.sql(TOTAL, epsilon=Fraction(1, 1 + table.num_rows)))
    assert found.witness is not None
    assert [difference.kind for difference in found.witness.replay.differences][:2] == ["payment", "declaration"]
    assert rows_of(found) == 1


def test_a_branch_on_the_data() -> None:
    found = on_table(lambda curator, table: curator.sql(TOTAL if table.num_rows % 2 else GROUPED, epsilon=1))
    assert found.witness is not None
    assert "payment" in {difference.kind for difference in found.witness.replay.differences}
    assert rows_of(found) == 1


def test_random_neighbours_find_what_extreme_ones_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of two or three rows are treated differently. No extreme pair has one; of random pairs, one in five or so."""

    def ask(curator: dp.Curator, table: pa.Table) -> object:
        return curator.sql(TOTAL, epsilon=2 if table.num_rows in (2, 3) else 1)

    assert all({pair.before.num_rows, pair.after.num_rows}.isdisjoint({2, 3}) for pair in extreme_pairs(Schema(COLUMNS, ROWS)))
    monkeypatch.setattr(curators, "extreme_pairs", lambda _: [])
    found = on_table(ask, examples=150)
    assert found.witness is not None
    assert found.witness.pair.name == "made up"
    assert rows_of(found) in (2, 4)


def test_a_question_that_is_always_refused_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curators, "extreme_pairs", lambda schema: extreme_pairs(schema)[:3])
    with pytest.raises(ParameterError, match="Nothing was released"):
        audited(ROWS, "SELECT max(x) AS m FROM data")
