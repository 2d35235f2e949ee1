"""What a user sees, pinned: names and signatures, JSON of every kind, previews, engine statements, refusals, stored ledgers."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import duckdb
import pytest
from contract.members import MEMBERS
from golden.pins import HERE, pin
from golden.worlds import OPEN, WORLDS, built, open_world, questions, write_table
from local.tasks import LABELS, TASKS
from plan.test_sql_refusals import SCHEMA, STATEMENTS

import discreet as dp
from discreet.engine.sources import source
from discreet.ledger import adopt

F = Fraction
SALT = re.compile(r"^[0-9a-f]{64}$")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path)
    return tmp_path


def _signature(of: object) -> list[str]:
    try:
        parameters = inspect.signature(of).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    empty = inspect.Parameter.empty
    return [f"{p.kind.name.lower()} {p.name}" + ("" if p.default is empty else f" = {p.default!r}") for p in parameters]


def _described(value: object) -> object:
    if isinstance(value, ModuleType):
        return {name: _described(getattr(value, name)) for name in sorted(getattr(value, "__all__", dir(value)))}
    if isinstance(value, type):
        verbs = {name: _signature(getattr(value, name)) for name in dir(value) if not name.startswith("_")}
        return {"": _signature(value), **verbs}
    return _signature(value)


def test_public_names_and_signatures() -> None:
    pin("names", {name: _described(getattr(dp, name)) for name in dir(dp) if name not in ("errors", "__version__")})
    refusals = [name for name in dir(dp.errors) if isinstance(getattr(dp.errors, name), type) and name.endswith(("Error", "ed"))]
    pin("errors", {name: [base.__name__ for base in getattr(dp.errors, name).__mro__] for name in refusals})


GUARANTEES: dict[str, Callable[[], dp.Privacy]] = {
    "pure": lambda: dp.pure(0.7),
    "approximate": lambda: dp.approximate(F(1, 3), 1e-9),
    "gdp": lambda: dp.gdp(1.5),
    "zcdp": lambda: dp.zcdp(F(1, 1000)),
    "renyi": lambda: dp.renyi({F(3, 2): F(1, 20), 2: F(1, 10), 32: 3}),
    "laplace": lambda: dp.Laplace(sensitivity=1.0, epsilon=0.3).privacy,
    "discrete laplace": lambda: dp.Laplace(sensitivity=3, epsilon=2).privacy,
    "discrete gaussian": lambda: dp.DiscreteGaussian(sensitivity=2, sigma=5).privacy,
    "gaussian": lambda: dp.Gaussian(sensitivity=1.0, rho=0.1).privacy,
    "response": lambda: dp.RandomizedResponse(epsilon=1, options=range(5)).privacy,
    "exponential": lambda: dp.Exponential(sensitivity=1, epsilon=1).privacy,
    "threshold": lambda: dp.Threshold(epsilon=1, delta=1e-9).privacy,
    "sparse": lambda: dp.SparseVector(sensitivity=1, epsilon=1, cutoff=3).privacy,
    "sampled": lambda: dp.gdp(1).sampled(F(1, 100)),
    "sampled laplace": lambda: dp.Laplace(sensitivity=1.0, epsilon=1).privacy.sampled(0.1),
    "group": lambda: dp.pure(0.5).group(3),
    "composed": lambda: 1000 * dp.gdp(0.1).sampled(0.01) + dp.pure(1) + 7 * dp.approximate(1, 1e-6),
    "replace": lambda: dp.pure(1, neighbours="replace") + dp.gdp(1),
    "under": lambda: (dp.pure(1, neighbours="add-remove") + 2 * dp.gdp(1)).under("replace"),
    "nothing": lambda: dp.Privacy(),
}


def test_json_of_guarantees() -> None:
    pin("guarantees", {name: json.loads(make().to_json()) for name, make in GUARANTEES.items()})


def test_guarantees_that_were_written_down_are_read() -> None:
    for name, facts in json.loads((HERE / "guarantees.json").read_text(encoding="utf-8")).items():
        assert dp.Privacy.from_json(json.dumps(facts)) == GUARANTEES[name]()


def test_json_of_filters() -> None:
    pure, both, rho = (
        dp.filters.PureFilter(epsilon=3),
        dp.filters.ApproximateFilter(epsilon=3, delta=1e-6),
        dp.filters.ConcentratedFilter(rho=1),
    )
    renyi, gaussian = dp.filters.RenyiFilter({2: 1, 16: 6}), dp.filters.GaussianFilter(mu=3)
    pure.spend(dp.pure(0.5))
    renyi.spend(dp.gdp(0.5))
    gaussian.spend(dp.gdp(1))
    both.spend(dp.approximate(0.1, 1e-8))
    rho.spend(dp.zcdp(F(1, 7)))
    pin("filters", {type(one).__name__: json.loads(one.to_json()) for one in (pure, both, rho, renyi, gaussian)})


def test_json_of_tasks() -> None:
    pin("tasks", {label: json.loads(task.to_json()) for label, task in zip(LABELS, TASKS, strict=True)})


def test_words_of_mechanisms() -> None:
    pin("mechanisms", {name: repr(member.make(2, F(1, 2))) for name, member in MEMBERS.items()})


@pytest.mark.parametrize("world", WORLDS)
def test_previews(world: str, folder: Path) -> None:
    with open_world(world, folder) as hospital:
        found = {text: str(hospital.preview(text, **cost)) for text, cost in questions(world)}
        cost = WORLDS[world][2]
        found |= {f"built {i}": str(question.preview(**cost)) for i, question in enumerate(built(hospital))}
        pin(f"previews_{world}", found)


class _Recording:
    """A DuckDB connection that writes down what it is asked to run."""

    def __init__(self, inner: duckdb.DuckDBPyConnection, said: list[object]) -> None:
        self._inner, self._said = inner, said

    def execute(self, sql: str | duckdb.Statement, parameters: object = None) -> object:
        text = sql if isinstance(sql, str) else sql.query.strip()
        self._said.append([text, ["salt" if isinstance(p, str) and SALT.match(p) else str(p) for p in parameters or ()]])  # type: ignore[attr-defined]
        return self._inner.execute(sql, parameters)

    def cursor(self) -> _Recording:
        return _Recording(self._inner.cursor(), self._said)

    def __enter__(self) -> _Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    said: list[object] = []
    connect = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: _Recording(connect(*a, **k), said))
    monkeypatch.setattr(source, "_describer", lambda: duckdb.connect())  # a database of an earlier test records nothing
    return said


@pytest.mark.parametrize("world", ["persons", "rows"])
def test_statements_for_the_engine(world: str, folder: Path, statements: list[object]) -> None:
    found = {}
    with open_world(world, folder) as hospital:
        hospital.sql("SELECT count(*) AS warm FROM data", **WORLDS[world][2])
        for i, (text, cost) in enumerate(questions(world), 1):
            if text == OPEN:
                continue  # which keys are chosen is noise
            statements.clear()
            more = {name: Fraction(str(amount)) * (10_000 + i) / 10_000 for name, amount in cost.items()}
            hospital.sql(text, **more)  # for more than before: what is only spelled in another way would be free
            found[text] = [one for one in statements if "SELECT" in one[0] and "DESCRIBE" not in one[0]]  # type: ignore[index]
    pin(f"statements_{world}", found)


def test_refusals() -> None:
    columns, unit = SCHEMA.columns, SCHEMA.unit
    held = __import__("pyarrow").table({name: [] for name in ("id", *columns)})
    found = {}
    budget = dp.Budget(epsilon=1, delta=1e-6)
    with dp.Curator(held, unit=unit, columns=columns, budget=budget, ledger="none.ledger") as hospital:
        for text, _ in STATEMENTS:
            with pytest.raises(dp.errors.DiscreetError) as refused:
                hospital.preview(text, epsilon=0.5)
            found[text] = [type(refused.value).__name__, str(refused.value)]
    pin("refusals", found)


@pytest.mark.parametrize("world", WORLDS)
def test_stored_ledgers_open_and_repeat_for_free(world: str, folder: Path) -> None:
    """Ledgers that an earlier version began: their spending is intact, and what they answered is answered again, unpaid."""
    shutil.copy(HERE / f"{world}.ledger", folder / f"{world}.ledger")
    adopt(folder / f"{world}.ledger")
    with open_world(world, folder) as hospital:
        before, entries = hospital.budget, len(hospital.history())
        found = {}
        for text, cost in questions(world):
            answer = hospital.sql(text, **cost)
            assert answer.repeated, text
            found[text] = json.loads(answer.to_json())
        for i, question in enumerate(built(hospital)):
            answer = question.release(**WORLDS[world][2])
            assert answer.repeated
            found[f"built {i}"] = json.loads(answer.to_json())
        batch = hospital.batch([text for text, _ in questions(world)][:3], **WORLDS[world][2])
        assert all(answer.repeated for answer in batch)
        assert hospital.budget == before
        assert len(hospital.history()) == entries
        pin(f"budget_{world}", {"budget": str(before), "entries": entries, "answers": found})
