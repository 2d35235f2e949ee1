"""Promises that all plans and estimates keep: they print, render, export and draw; and nobody's report is a batch too."""

from __future__ import annotations

import math

import pytest

from discreet.local import (
    Attributes,
    Batch,
    Bit,
    Distribution,
    Frequencies,
    HeavyHitters,
    Mean,
    Repeated,
)
from discreet.local.results import Estimates, Result
from discreet.local.task import Task

TASKS: dict[str, tuple[Task, object]] = {
    "frequencies": (Frequencies(["<b>", "$x$"], 2), "<b>"),
    "bit": (Bit(2), True),
    "repeated": (Repeated(["good", "bad"], 1, permanent=2, values=1), "good"),
    "mean": (Mean(0, 15, 2), 3),
    "distribution": (Distribution(0, 15, 2, bins=16), 3),
    "heavy hitters": (HeavyHitters(4, length=1, alphabet="ab"), "a"),
}
every_task = pytest.mark.parametrize("name", list(TASKS))


def estimated(task: Task, value: object, people: int = 500) -> object:
    collector = task.collector()
    collector.add(task.randomize([value] * people))
    return collector.estimate()


@every_task
def test_an_estimate_shows_itself(name: str) -> None:
    found = estimated(*TASKS[name])
    assert isinstance(found, Result)
    frame, columns = found.to_pandas(), found.columns()
    assert frame.to_dict("list") == columns
    assert len({len(column) for column in columns.values()}) == 1
    assert {"standard_error", "lower", "upper"} <= set(columns)
    assert "500 people who reported" in str(found)
    page = found._repr_html_()
    assert page.startswith("<div><table")
    assert "<b>" not in page
    axes = found.plot()
    assert axes.get_title(loc="left").endswith("500 randomised reports")
    assert found.plot(axes) is axes


def extreme(epsilon: float) -> dict[str, tuple[Task, object]]:
    names = ("k-ary", "subset", "projective", "affine", "unary", "hashing")
    shares = {name: (Frequencies(range(5), epsilon, protocol=name), 1) for name in names}
    means = {name: (Mean(0, 1, epsilon, protocol=name), 1) for name in ("duchi", "hybrid")}
    return {
        **shares,
        **means,
        "two": (Frequencies(["a", "b"], epsilon), "a"),
        "mean": (Mean(0, 1, epsilon), 0.3),
        "distribution": (Distribution(0, 1, epsilon, bins=16), 0.5),
        "heavy hitters": (HeavyHitters(epsilon, length=1, alphabet="ab"), "a"),
        "repeated": (Repeated(range(3), min(epsilon, 999), permanent=min(2 * epsilon, 1000), values=2), 2),
    }


@pytest.mark.spread(3)
@pytest.mark.parametrize("epsilon", [1e-100, 1e-30, 700, 1000])
def test_extreme_epsilons_give_numbers(epsilon: float) -> None:
    for name, (task, value) in extreme(epsilon).items():
        found = estimated(task, value, 20)
        assert isinstance(found, Result)
        columns = found.columns()
        numbers = [cell for column in columns for cell in columns[column] if column != "item"]
        assert all(isinstance(cell, float) and math.isfinite(cell) for cell in numbers), name
        if len(columns.get("consistent", ())) > 1:
            assert sum(columns["consistent"]) == pytest.approx(1), name  # type: ignore[arg-type]
        assert str(found)
        assert "standard error" in str(task.plan(20))
        if isinstance(task, Repeated):
            assert 0 < task.lifetime(reports=3).any_history < math.inf


@every_task
def test_a_plan_shows_itself(name: str) -> None:
    plan = TASKS[name][0].plan(1000)
    assert {"protocol", "privacy", "reports", "standard error", "server", "1 % hostile"} <= {
        line[:15].strip() for line in str(plan).splitlines()
    }
    assert "standard error" in plan._repr_html_()


@every_task
def test_nobody_makes_an_empty_batch(name: str) -> None:
    task = TASKS[name][0]
    both = Attributes({"one": task, "two": Bit(1)})
    for asked, nothing in ((task, []), (both, {"one": [], "two": []})):
        batch, collector = asked.randomize(nothing), asked.collector()
        assert isinstance(batch, Batch)
        collector.add(batch)
        collector.add(batch.to_arrow())
        assert (len(batch), collector.count, collector.refused) == (0, 0, {})


def test_attributes_show_one_below_the_other() -> None:
    tasks = {f"<{name}>": task for name, (task, _) in TASKS.items()}
    both, values = Attributes(tasks), {f"<{name}>": [value] * 600 for name, (_, value) in TASKS.items()}
    collector = both.collector()
    collector.add(both.randomize(values))
    found = collector.estimate()
    assert isinstance(found, Estimates)
    assert [line for line in str(found).splitlines() if line.startswith("<") and line in tasks] == sorted(tasks)
    assert "<h4>&lt;mean&gt;</h4>" in found._repr_html_()
    axes = found.plot()
    assert [ax.get_title(loc="left").split(":")[0] for ax in axes] == sorted(tasks)
    assert len({ax.figure for ax in axes}) == 1
    plans = both.plan(600)
    assert str(plans).count("standard error") == len(tasks)
    assert plans._repr_html_().count("<h4>") == len(tasks)
