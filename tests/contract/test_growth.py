"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from contract import losses, test_mechanism_contract
from contract.members import Member, outside, pure
from contract.stores import PROMISES
from curator.hospital import curator, table
from local import protocols, tasks
from reference import laws
from support.share_true import ShareTrue
from support.toy_loss import Abstaining
from support.toy_mechanism import Twice
from support.toy_protocol import Backwards
from support.toy_task import Grades

import discreet as dp
from discreet.cli import main
from discreet.curator.curator import VERBS
from discreet.ledger.place import Address, Place
from discreet.ledger.store import STORES
from discreet.local import task as local_tasks
from discreet.local.protocols import PROTOCOLS
from discreet.local.protocols.base import FrequencyProtocol
from discreet.mechanisms.base import recorded
from discreet.plan import aggregates
from discreet.plan.aggregates import Asked
from discreet.plan.release import Release
from discreet.plan.statistics import Persons
from discreet.privacy import Privacy
from discreet.privacy.losses import Response
from discreet.privacy.losses.base import KINDS, Loss, register


@pytest.mark.parametrize("promise", protocols.PROMISES, ids=lambda promise: promise.__name__)
def test_a_local_protocol(promise: Callable[[FrequencyProtocol], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/toy_protocol.py``, and one line; then tasks name it, and their collectors estimate from its reports."""
    promise(Backwards(Fraction(1), 5))
    monkeypatch.setitem(PROTOCOLS, "backwards", Backwards)
    task = dp.local.Frequencies(range(5), 20, protocol="backwards")
    collector = dp.local.read_task(task.to_json()).collector()
    collector.add(task.randomize([3] * 50))
    assert collector.estimate()[3] > 0.9  # type: ignore[index]


@pytest.mark.parametrize("promise", tasks.PROMISES, ids=lambda promise: promise.__name__)
def test_a_local_task(promise: Callable[[local_tasks.Task, object], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/toy_task.py``, and one line."""
    monkeypatch.setitem(local_tasks.KINDS, "grades", Grades)
    promise(Grades(1, question="How was it?"), [1, 2, 6] * 10)


def test_the_command_line_knows_a_new_local_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(local_tasks.KINDS, "grades", Grades)
    monkeypatch.chdir(tmp_path)
    Path("answers.txt").write_text("1\n2\n2\n")
    for command in (
        ["task", "grades", "--epsilon", "20", "--option", "question=How was it?", "-o", "grades.task.json"],
        ["randomize", "grades.task.json", "answers.txt", "-o", "reports.jsonl"],
        ["collect", "grades.task.json", "reports.jsonl", "-o", "state.json"],
        ["estimate", "state.json", "-o", "grades.csv"],
    ):
        monkeypatch.setattr(sys, "argv", ["discreet", "local", *command])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    assert Path("grades.csv").read_text().splitlines()[2].startswith("2,0.66")


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_ledger_store(promise: Callable[[Place], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/memory_store.py``, and one line."""
    monkeypatch.setitem(STORES, "memory", "support.memory_store")
    promise(Address.parse(f"memory://here/{tmp_path.name}?ledger=patients"))


@pytest.mark.parametrize("promise", losses.PROMISES, ids=lambda promise: promise.__name__)
def test_a_loss(promise: Callable[[Loss], None]) -> None:
    """One class, ``support/toy_loss.py``, and one line; its curve lies where its pair says."""
    toy, half = Abstaining(Fraction(1), Fraction(3, 5)), Fraction(1, 2)
    with patch.dict(KINDS):
        register(Abstaining)
        promise(toy)
    response = Privacy.of(Response(Fraction(1), 2))
    for privacy, whole in ((Privacy.of(toy), response), (40 * Privacy.of(toy), 40 * response)):
        low, high = privacy.delta_bounds(half)
        assert 0 < low <= high <= whole.delta(half)
        assert high - low <= 1e-6 * high
    one = Privacy.of(toy).delta(half)
    assert one == pytest.approx(0.4 * response.delta(half), rel=1e-9)
    assert Privacy.of(toy).sampled(0.1).delta(0) == pytest.approx(0.1 * Privacy.of(toy).delta(0), rel=1e-6)
    assert dp.filters.PureFilter(epsilon=3).spend(2 * Privacy.of(toy)).left == {"epsilon": 1}


MECHANISM_PROMISES = [
    promise
    for name, promise in vars(test_mechanism_contract).items()
    if name.startswith("test_") and list(inspect.signature(promise).parameters) == ["member"]
]


@pytest.mark.parametrize("promise", MECHANISM_PROMISES, ids=lambda promise: promise.__name__)
def test_a_mechanism(promise: Callable[[Member], None]) -> None:
    """One class, ``support/toy_mechanism.py``, and one entry in the contract; audits and answers get their words from it."""

    def beyond(mechanism: Twice, confidence: float, part: float) -> float:
        half = Fraction(part * mechanism.error(confidence)) / 2
        return 2 * outside(lambda x: laws.discrete_laplace_cdf(mechanism.scale, x), half)

    toy = Member(lambda s, e: Twice(sensitivity=s, epsilon=e), pure, lambda m: m.scale, beyond, (0, 7, -3))
    promise(toy)
    mechanism = toy.make(2, 1)
    with recorded() as record:
        for value in ([1, 2], [2, 5]):
            mechanism.release(value)
    moved = mechanism.moved(*record)
    assert moved.cost == dp.pure(2)
    assert moved.far == "moved by 4, declared 2 (L1): [1, 2] and [2, 5]"
    assert Release(Persons(), mechanism, bits=1).description[1] == "Laplace noise, twice, of scale 1"


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("patient", rows=3, groups=1)], ids=["rows", "persons"])
def test_a_room_above_the_curator(unit: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/toy_room.py``, and one line: its verb is a curator's, and what it releases goes through the gate."""
    hospital = curator(tmp_path, unit=unit, budget=dp.Budget(rho=10**7))
    with pytest.raises(AttributeError, match="'Curator' object has no attribute 'marginal'"):
        hospital.marginal  # noqa: B018
    monkeypatch.setitem(VERBS, "marginal", "support.toy_room")
    assert "marginal" in dir(hospital)
    found = hospital.marginal("drug_use", "ward", rho=10**6)
    assert hospital.budget.spent.rho == 10**6
    assert [(entry.question, entry.state) for entry in hospital.history()] == [("6 cells of drug_use, ward", "answered")]
    assert hospital.marginal("drug_use", "ward", rho=10**6) == found
    assert hospital.budget.spent.rho == 10**6
    rows = table().select(["drug_use", "ward"]).to_pylist()
    wanted = [rows.count({"drug_use": a, "ward": b}) for a in ("yes", "no") for b in ("eye", "heart", "bone")]
    if unit == dp.rows():
        assert found == [pytest.approx(n, abs=0.5) for n in wanted]  # noise of standard deviation 1/1,414
    else:  # persons count for three of their rows, and weigh as much as they do
        assert sum(found) < sum(wanted)


def test_an_aggregate(tmp_path: Path) -> None:
    """One class, ``support/share_true.py``, and one line: SQL and Python know it; it is priced, previewed and explained."""
    people = pa.table({"age": [20, 30, 40, 50] * 500, "smokes": [True, False, False, False] * 500})
    columns = {"age": dp.integer(0, 120), "smokes": dp.boolean()}
    clinic = dp.Curator(people, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=100), ledger=tmp_path / "clinic.ledger")
    with patch.dict(aggregates.SQL), patch.dict(aggregates.PYTHON):
        aggregates.register(ShareTrue)
        asked = "SELECT share_true(age < 35) AS young, share_true(smokes) FROM data WHERE age > 0"
        preview = clinic.preview(asked, epsilon=30)
        assert [line.output for line in preview.lines] == ["young", "share_true_smokes"]
        assert "of the share, for 1,000 rows" in str(preview)
        assert [what for what, _ in preview.parts][-1] == "count(CASE WHEN smokes THEN 1 ELSE NULL END)"
        answer = clinic.sql(asked, epsilon=30)
        assert answer["young"][0] == pytest.approx(0.5, abs=0.05)  # noise of scale 1/7 on counts: 50 rows never (e^-350)
        assert answer["share_true_smokes"][0] == pytest.approx(0.25, abs=0.05)
        assert clinic.budget.spent.epsilon == 30
        named = {"young": Asked("share_true", "age < 35"), "share_true_smokes": Asked("share_true", "smokes")}
        again = clinic.where("age > 0").agg(**named).release(epsilon=30)
        assert again.repeated
        assert again["young"] == answer["young"]
        grouped = clinic.preview("SELECT age, share_true(smokes) FILTER (WHERE age > 25) AS s FROM data GROUP BY age", epsilon=1)
        assert grouped.groups == 121
        with pytest.raises(dp.errors.ParameterError, match=r"write share_true\(age >= 18\)"):
            clinic.sql("SELECT share_true(age) FROM data", epsilon=1)
    with pytest.raises(dp.errors.ParameterError, match="share_true"):
        clinic.sql("SELECT share_true(smokes) AS smokers FROM data", epsilon=1)
