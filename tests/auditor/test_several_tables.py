"""discreet audits questions about several private tables: replayed on made-up neighbours, whose rows change in all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from auditor.test_curators import stored

import discreet as dp
from discreet.auditor.curators import replay_curator
from discreet.auditor.neighbours import split
from discreet.engine.sql import joining
from discreet.schema.table import Schema

pytestmark = pytest.mark.usefixtures("replayed")

COLUMNS: dict[str, Any] = {
    "patients": {"x": dp.integer(-300, 300), "g": dp.category("a", "b", "c")},
    "visits": {"y": dp.number(0, 10, step=0.5, missing=1), "t": dp.text(length=20), "b": dp.boolean()},
}
QUESTIONS = {
    "join": "SELECT g, b, count(*) AS n, sum(x) AS s, avg(y) AS m FROM patients JOIN visits USING (id) GROUP BY g, b",
    "left": "SELECT g, count(y) AS n, sum(y) AS s, median(x) AS q FROM patients LEFT JOIN visits USING (id) GROUP BY g",
    "in": "SELECT sum(x) AS s, count(DISTINCT id) AS p FROM patients WHERE id NOT IN (SELECT id FROM visits WHERE y > 3)",
    "people": "SELECT avg(n) AS m, median(s) AS q FROM "
    "(SELECT id, count(*) AS n, sum(x) AS s FROM patients JOIN visits USING (id) GROUP BY id) AS t",
}
OPEN = "SELECT t, count(*) AS n FROM visits JOIN patients USING (id) GROUP BY t"


def schema_of(neighbours: Any, most: int = 3) -> Schema:
    return Schema.of_tables(COLUMNS, dp.person("id", rows=2, groups=2, neighbours=neighbours), at_most={"visits": most})


def clinic(schema: Schema) -> Any:
    def make(tables: dict[str, pa.Table], ledger: Path) -> dp.Curator:
        budget = dp.Budget(epsilon=8, delta=1e-6)
        return dp.Curator(tables, unit=schema.unit, columns=COLUMNS, budget=budget, ledger=ledger, at_most=schema.tables)

    return make


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_pair_of_neighbours_refutes_it(neighbours: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All questions of one curator, one after the other; open keys are chosen under one kind of neighbours alone."""
    stored(monkeypatch, "declared")
    schema = schema_of(neighbours)
    texts = [*QUESTIONS.values(), *([OPEN] if neighbours == "add-remove" else [])]
    found = replay_curator(clinic(schema), lambda curator: [curator.sql(text, epsilon=1) for text in texts], schema)
    assert not found.violated, str(found)
    assert found.releases >= 9 * found.pairs


def test_a_join_by_anything_else_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of different persons together: one person's rows change what others add."""
    stored(monkeypatch, "declared", every=2)
    real = joining.joined_rows
    monkeypatch.setattr(
        "discreet.engine.sql.statement.joined_rows", lambda *given: real(*given).replace("ON t0.person = t1.person", "ON TRUE")
    )
    schema = schema_of("add-remove", 100)
    question = "SELECT count(*) AS n FROM patients JOIN visits USING (id) WHERE t = 'Zorblax'"  # as one person's visits say
    assert replay_curator(clinic(schema), question, schema, epsilon=1).violated


def test_made_up_tables_have_persons_on_one_side_only() -> None:
    schema = schema_of("add-remove")
    made = pa.table({"patients.x": [1, None], "patients.g": ["a", None], "visits.y": [None, 2.0], "visits.t": [None, "t"],
                     "visits.b": [None, True], "id": ["p", "q"]})  # fmt: skip
    found = {name: table["id"].to_pylist() for name, table in split(made, schema.tables, "id").items()}
    assert found == {"patients": ["p"], "visits": ["q"]}
