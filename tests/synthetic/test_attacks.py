"""What somebody could try to learn from a model beyond what was paid for, and tables that could make it fail."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from synthetic.clinic import clinic, table

import discreet as dp
from discreet.curator.gate import Letting, Reservation
from discreet.mechanisms.base import recorded
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.values import add_up, misfits
from discreet.synthetic.rounds import run
from discreet.synthetic.rounds.measuring import price_of

COLUMNS = ["age", "sex", "smokes", "visits"]


def test_a_watcher_that_fails_learns_nothing_more_and_nothing_is_drawn_twice(tmp_path: Path) -> None:
    """Whoever watches sees what is kept already. An error of theirs ends the run; asked again it goes on, round after round, and
    all that was ever let out is within the price."""
    curator = clinic(tmp_path, table(300), budget=dp.Budget(rho=1))
    seen = list[int]()

    def fails(done: Any) -> None:
        if done.rounds not in seen:
            seen.append(done.rounds)
            raise ValueError("I have seen enough")

    releases: list[Any] = []
    for _ in range(4):
        with recorded() as record, pytest.raises(dp.errors.EngineError, match="could not be finished"):
            curator.synthesize(rho=0.5, columns=COLUMNS, seconds=0.02, watch=fails)
        releases += record
    with recorded() as record:
        model = curator.synthesize(rho=0.5, columns=COLUMNS, seconds=0.02)
    releases += record
    assert len(seen) == 4
    measured = model.measured
    assert sum((price_of(one.mechanism.privacy) for one in releases), Fraction(0)) <= Fraction(1, 2)
    assert measured.spent == Fraction(1, 2)
    assert len(releases) == len(measured.own) + len(measured.later) + len(measured.choices)
    assert [entry.state for entry in curator.history()] == ["answered"]


def test_a_request_that_wants_more_than_it_reserved_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that gives out more than there is, by one unit of the last place, is stopped before noise is drawn."""
    curator = clinic(tmp_path, table(300), budget=dp.Budget(rho=1))
    true = run.Schedule.take

    def greedy(self: Any) -> Fraction | None:
        share = true(self)
        return share if share is None or self.left else share + Fraction(1, 10**30)

    monkeypatch.setattr(run.Schedule, "take", greedy)
    with recorded() as record, pytest.raises(dp.errors.ParameterError, match="more than was reserved"):
        curator.synthesize(rho=0.5, columns=COLUMNS, seconds=0.02)
    assert sum((price_of(one.mechanism.privacy) for one in record), Fraction(0)) < Fraction(1, 2)


@pytest.mark.parametrize("replaced", [False, True])
def test_scores_attain_the_sensitivity_that_choices_declare(
    replaced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a run itself: of all scores among which is chosen, one moves by exactly what the mechanism declares, none by more."""
    unit = dp.rows(neighbours="replace", size=40) if replaced else dp.rows()
    seen: list[tuple[Any, ...]] = []

    def remembered(*given: Any) -> Secret[Any]:
        seen.append(given)
        return misfits(*given)

    monkeypatch.setattr(run, "misfits", remembered)
    curator = clinic(tmp_path, table(40), unit=unit, budget=dp.Budget(rho=10))
    with recorded() as record:
        curator.synthesize(rho=1, columns=COLUMNS, bins={"age": 9}, seconds=0.02)
    declared = {one.mechanism.sensitivity for one in record if type(one.mechanism).__name__ == "Exponential"}
    marginals, guesses, weights, less, bits = seen[0]
    before = open_secret(misfits(marginals, guesses, weights, less, bits))
    most = 0
    for i, (marginal, guess) in enumerate(zip(marginals, guesses, strict=True)):
        counts = open_secret(marginal)
        for to, away in itertools.product(range(counts.size), range(counts.size) if replaced else [-1]):
            moved = counts.copy()
            moved[to] += 1
            if away >= 0:
                if not counts[away]:
                    continue
                moved[away] -= 1
            (after,) = open_secret(misfits([Secret(moved)], [guess], [weights[i]], [less[i]], bits))
            most = max(most, abs(int(after) - int(before[i])))
    assert declared == {most}


def test_the_order_of_rows_is_nowhere(tmp_path: Path) -> None:
    """The same rows in another order have the same numbers before noise, all of them."""
    rows, found = table(200), []
    for i, order in enumerate((range(200), reversed(range(200)), np.random.default_rng(1).permutation(200).tolist())):
        (tmp_path / str(i)).mkdir()
        with clinic(tmp_path / str(i), rows.take(pa.array([*order])), budget=dp.Budget(rho=10)) as curator, recorded() as record:
            curator.synthesize(rho=1, columns=["sex", "smokes"], seconds=0.02)
        found.append([np.ravel(one.value).tolist() for one in record])
    assert found[0] == found[1] == found[2]


def test_rows_that_break_declared_facts_are_counted_and_never_drawn(tmp_path: Path) -> None:
    """Facts are the owner's word. Rows that break them change neither price nor shape nor sentence, and none is drawn."""
    texts = []
    for i, visits in enumerate(([0, 1, 2] * 50, [9, 9, 9] * 50)):
        (tmp_path / str(i)).mkdir()
        source = pa.table({"visits": visits, "age": [5] * 150})
        with clinic(tmp_path / str(i), source, columns={"visits": dp.integer(0, 9), "age": dp.integer(0, 9)}) as curator:
            model = curator.synthesize(rho=100, seconds=0.02, facts="visits <= age", bins={})
        drawn = model.sample(500).to_arrow()
        assert all(
            a is None or b is None or a <= b for a, b in zip(drawn["visits"].to_pylist(), drawn["age"].to_pylist(), strict=True)
        )
        texts.append([*str(model).split("\n")[:2], *str(model).split("\n")[5:]])
        assert model.measured.complete
    assert texts[0] == texts[1]


ODD: dict[str, Any] = {
    "nothing but missing": pa.table({"a": pa.array([None] * 30, pa.int64()), "b": pa.array([None] * 30, pa.string())}),
    "not a number": pa.table(
        {"a": [float("nan"), float("inf"), -float("inf"), 1e308, -0.0] * 6, "b": ["x", "y", None, "\0", "é"] * 6}
    ),
    "one value": pa.table({"a": [3] * 30, "b": ["x"] * 30}),
    "beyond all bounds": pa.table({"a": [2**62, -(2**62), 5] * 10, "b": ["z" * 5000, "", "x"] * 10}),
    "far more rows of one": pa.table({"a": [1] * 29 + [9], "b": ["x"] * 29 + ["y"]}),
}


@pytest.mark.parametrize("kind", ODD)
def test_no_table_makes_a_model_fail_or_look_different(kind: str, tmp_path: Path) -> None:
    columns = {"a": dp.integer(0, 9), "b": dp.category("x", "y"), "c": dp.category("only", missing="only")}
    source = ODD[kind].append_column("c", pa.array(["only"] * 30))
    curator = clinic(tmp_path, source, columns=columns, budget=dp.Budget(epsilon=3, delta=1e-6))
    model = curator.synthesize(epsilon=1, seconds=0.02, bought="a", bins={"a": 4})
    assert model.measured.spent == model.measured.cost.amount
    assert [one.count for one in model.domain.columns][1:] == [3, 1]
    drawn = model.sample(40).to_arrow()
    assert {*drawn["b"].to_pylist()} <= {"x", "y", None}
    assert {*drawn["c"].to_pylist()} == {"only"}
    assert all(one is None or 0 <= one <= 9 for one in drawn["a"].to_pylist())
    assert model.sql("SELECT count(*) AS n FROM data").rows()[0]["n"] == pytest.approx(model.rows, abs=1)


@pytest.mark.usefixtures("replayed")
def test_an_audit_finds_a_step_that_keeps_what_has_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps in the ledger are compared as answers are: one that says a count without noise is found."""
    from discreet.auditor.curators import replay_curator
    from discreet.schema.table import Schema

    true, columns = Letting.let_out, {"g": dp.category("a", "b")}

    def leaks(self: Any, secret: Secret[Any]) -> list[Any]:
        return [*true(self, secret), int(np.sum(open_secret(secret)))]

    monkeypatch.setattr(Letting, "let_out", leaks)

    def make(source: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(source, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=8), ledger=ledger)

    found = replay_curator(
        make, lambda curator: str(curator.synthesize(epsilon=2, seconds=0.02).rows), Schema(columns, dp.rows())
    )
    assert found.violated
    assert "kept on the way" in str(found)


@pytest.mark.parametrize("first", [True, False])
def test_nobody_goes_on_where_something_was_let_out_that_is_not_kept(first: bool) -> None:
    """Whatever is released plainly, before or after what is kept, would be let out a second time by whoever goes on."""
    steps: list[str] = []
    reserved = Reservation(dp.pure(1), b"", lambda _, text: steps.append(text))
    kept, plain = Letting(dp.Laplace(sensitivity=1, epsilon=0.3)), dp.pure(0.4)
    for one in (plain, kept) if first else (kept, plain, kept):
        if one is kept:
            assert len(reserved.release_kept(kept, Secret(np.array([7, 8]))) or []) == 2
        else:
            reserved.spend(plain)
    assert [*map(json.loads, steps)][2:] == ([] if first else [{"ended": True}])
    assert len(steps) == (0 if first else 3)
    with pytest.raises(dp.errors.ParameterError, match="more than was reserved"):
        reserved.spend(plain)


def test_marginals_are_made_of_whole_numbers_however_large() -> None:
    """Sums of weights are exact, also where a cell holds more rows than anybody has."""
    from discreet.mechanisms.values import Histograms, read_records

    counts = np.array([2**40, 2**40, 3], dtype=np.int64)
    records = read_records(Secret(Histograms(1, 6, np.zeros(3, dtype=np.int64), np.array([0, 3, 5]), counts)), (2, 3))
    assert open_secret(add_up(records, (0,))).tolist() == [2**40, 2**40 + 3]
    assert open_secret(add_up(records, (1,), 8)).tolist() == [2**49, 0, 3 << 8]
