"""Requests of every kind go through the one gate: paid once, run adaptively within what was reserved, kept once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from curator.hospital import COLUMNS, curator, table
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp
from discreet.curator import desk
from discreet.curator.gate import Outcome, Price, Reservation
from discreet.curator.plans import Plans, Select
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, ParameterError
from discreet.ledger.ledger import Ledger
from discreet.plan.cost import Cost, Terms
from discreet.plan.preview import price_within
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema

SCHEMA, BUDGET = Schema(COLUMNS, dp.rows()), dp.Budget(rho=1)
COARSE = "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use"
FINE = "SELECT count(*) AS n FROM data WHERE drug_use = '{}'"


def plans(text: str, rho: Fraction) -> Plans:
    return Plans(*price_within(Terms(rho=rho), [Select(parse_query(text, SCHEMA), SCHEMA)], BUDGET))


@dataclass(frozen=True)
class Toy:
    """A request of a room to come: what it does after payment is its own, and its result is any JSON."""

    does: Callable[[Any, Reservation], object]
    rho: Fraction = Fraction(1, 10)
    rehearsed: list[object] = field(default_factory=list)
    question: str = "A toy."
    former: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.question.encode()).hexdigest()

    @property
    def price(self) -> Price:
        return Price(dp.zcdp(self.rho).under("add-remove"), Cost("rho", self.rho))

    def rehearse(self, engine: Any) -> None:
        self.rehearsed.append(engine)

    def run(self, engine: Any, reserved: Reservation) -> object:
        return self.does(engine, reserved)

    def write(self, result: object, remarks: tuple[str, ...]) -> list[str]:
        return [json.dumps([result, *remarks])]

    def read(self, texts: list[str]) -> object:
        return json.loads(texts[0])[0]


def biggest(engine: Any, reserved: Reservation) -> list[object]:
    """Measure coarsely, look at what came out, and spend the rest on the largest group."""
    first = plans(COARSE, Fraction(1, 40)).run(engine, reserved)[0]
    drug = max(first.rows(), key=lambda row: row["n"])["drug_use"]
    second = plans(FINE.format(drug), Fraction(3, 40)).run(engine, reserved)[0]
    return [first["n"], drug, second.value]


def spied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    for verb in ("reserve", "commit"):
        real = getattr(Ledger, verb)

        def spy(*args: object, _real: Any = real, _verb: str = verb, **named: object) -> object:
            seen.append(_verb)
            return _real(*args, **named)

        monkeypatch.setattr(Ledger, verb, spy)
    return seen


def test_an_adaptive_request_is_reserved_once_and_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hospital, seen, toy = curator(tmp_path, budget=BUDGET), spied(monkeypatch), Toy(biggest)
    outcome: Outcome[Any] = hospital._desk.ask(toy)
    coarse, drug, fine = outcome.result
    assert drug in ("yes", "no")
    assert isinstance(fine, int | float)
    assert seen == ["reserve", "commit"]
    assert len(toy.rehearsed) == 1
    assert hospital.budget.spent.rho == 0.1
    assert outcome.left == hospital.budget
    (entry,) = hospital.history()
    assert (entry.question, entry.asked, entry.state) == ("A toy.", "rho=0.1", "answered")
    again: Outcome[Any] = hospital._desk.ask(Toy(lambda *_: pytest.fail("asked again, it runs again")))
    assert (again.repeated, again.result) == (True, [list(coarse), drug, fine])
    assert seen == ["reserve", "commit"]


def test_nothing_is_released_beyond_what_was_reserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hospital, seen, released = curator(tmp_path, budget=BUDGET), spied(monkeypatch), list[object]()

    def greedy(engine: Any, reserved: Reservation) -> object:
        nonlocal released
        for _ in range(5):  # four fit
            released += plans(COARSE, Fraction(1, 40)).run(engine, reserved)
        return "more than was paid for"

    with pytest.raises(ParameterError, match="more than was reserved for it"):
        hospital._desk.ask(Toy(greedy))
    assert len(released) == 4
    assert seen == ["reserve"]
    assert hospital.budget.spent.rho == 0.1
    assert [entry.state for entry in hospital.history()] == ["reserved"]


def test_a_release_that_does_not_fit_never_sees_its_secret() -> None:
    @dataclass(frozen=True)
    class Release:
        privacy: dp.Privacy | None

        def let_out(self, secret: str, more: str) -> str:
            return secret + more

    reserved = Reservation(dp.zcdp(Fraction(1, 10)))
    assert reserved.release(Release(dp.zcdp(Fraction(1, 20))), "sec", "ret") == "secret"
    for privacy in (dp.zcdp(Fraction(1, 19)), dp.renyi({2: 1}), dp.approximate(0.1, 1e-9)):
        with pytest.raises(ParameterError, match="reserve the sum of all its releases"):
            reserved.release(Release(privacy), pytest.fail)
    assert reserved.release(Release(None), "pub", "lic") == "public"
    assert reserved.release(Release(dp.zcdp(Fraction(1, 20))), "", "the rest") == "the rest"
    with pytest.raises(ParameterError, match="more than was reserved"):
        Reservation(dp.Privacy()).spend(dp.pure(Fraction(1, 10**9)))


def test_what_fails_between_data_and_noise_is_not_told_and_stays_spent(tmp_path: Path) -> None:
    def fails(engine: Any, reserved: Reservation) -> object:
        biggest(engine, reserved)
        raise ValueError("the cell is Oslo")

    hospital = curator(tmp_path, budget=BUDGET)
    with pytest.raises(EngineError) as caught:
        hospital._desk.ask(Toy(fails))
    assert "Oslo" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert hospital.budget.spent.rho == 0.1
    assert not hospital._desk.ask(Toy(biggest)).repeated
    assert hospital.budget.spent.rho == 0.2


def test_what_is_refused_before_payment_costs_nothing(tmp_path: Path) -> None:
    class Refused(Toy):
        def rehearse(self, _: Any) -> None:
            raise ParameterError("This cannot be counted.")

    hospital = curator(tmp_path, budget=BUDGET)
    with pytest.raises(ParameterError, match="cannot be counted"):
        hospital._desk.ask(Refused(biggest))
    with pytest.raises(BudgetExceeded):
        hospital._desk.ask(Toy(biggest, Fraction(2)))
    assert hospital.budget.spent.rho == 0


KILLED = """
    import os, signal, sys
    sys.path.insert(0, {tests!r})
    import discreet as dp
    from curator.hospital import COLUMNS
    from curator.test_requests import BUDGET, COARSE, Toy, plans
    from fractions import Fraction

    def dies(engine, reserved):
        plans(COARSE, Fraction(1, 40)).run(engine, reserved)
        os.kill(os.getpid(), signal.SIGKILL)

    hospital = dp.Curator({file!r}, unit=dp.rows(), columns=COLUMNS, budget=BUDGET, ledger={ledger!r})
    print(hospital._desk.ask(Toy(dies)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_kill_between_two_releases_leaves_the_reservation_spent(tmp_path: Path) -> None:
    file, ledger = str(tmp_path / "hospital.parquet"), str(tmp_path / "l.ledger")
    pq.write_table(table(200), file)
    program = textwrap.dedent(KILLED).format(tests=str(Path(__file__).parents[1]), file=file, ledger=ledger)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, ""), done.stderr
    hospital = dp.Curator(file, unit=dp.rows(), columns=COLUMNS, budget=BUDGET, ledger=ledger)
    assert hospital.budget.spent.rho == 0.1
    assert not hospital._desk.ask(Toy(biggest)).repeated


def test_every_verb_of_a_curator_is_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    real = desk.ask
    monkeypatch.setattr(desk, "ask", lambda request, *rest: asked.append(request) or real(request, *rest))
    hospital = curator(tmp_path)
    hospital.sql("SELECT drug_use, age // 40 AS a, count(*) AS n FROM data GROUP BY drug_use, a", epsilon=0.1)  # a marginal
    hospital.choose([10, 20], score="CASE WHEN age >= candidate THEN 1 ELSE 0 END").release(epsilon=0.1)
    hospital.where("age > 3").agg(n=dp.count()).release(epsilon=0.1)
    hospital.batch(["SELECT count(*) AS n FROM data", "SELECT avg(age) AS a FROM data"], epsilon=0.1)
    hospital.check(epsilon=0.1)
    assert [type(request) for request in asked] == [Plans] * 5
    assert len(hospital.history()) == 5


# The sum of what is released is never more than what was charged.

_rational = st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=50)
_guarantees = st.one_of(
    _rational.map(dp.pure),
    _rational.map(dp.zcdp),
    _rational.map(lambda mu: dp.gdp(float(mu))),
    _rational.map(lambda e: dp.Laplace(sensitivity=1, epsilon=e).privacy),
    _rational.map(lambda e: dp.Exponential(sensitivity=1, epsilon=e).privacy),
    _rational.map(lambda e: dp.Threshold(epsilon=e, delta=Fraction(1, 10**7)).privacy),
)
_BUDGETS = (dp.Budget(epsilon=3), dp.Budget(rho=3, delta=1e-5), dp.Budget(epsilon=9, delta=1e-4))


@given(st.lists(_guarantees, min_size=1, max_size=4), st.lists(_guarantees, max_size=8))
@settings(max_examples=examples(100), deadline=None)
def test_whatever_a_reservation_lets_out_was_charged_to_the_account(reserved: list[dp.Privacy], wanted: list[dp.Privacy]) -> None:
    """For every kind of budget: an account that took the reservation would have taken all its releases, one by one."""
    price, accepted = sum(reserved[1:], reserved[0]), []
    reservation = Reservation(price)
    for one in [*wanted, *reserved]:
        try:
            reservation.spend(one)
        except DiscreetError:
            continue
        accepted.append(one)
    for budget in _BUDGETS:
        account = budget.open()
        if not account.fits(price):
            continue
        charged = account.spend(price)
        for one in accepted:
            account = account.spend(one)
        for mine, most in zip(account.filters, charged.filters, strict=True):
            if most is not None:
                assert mine is not None
                assert all(mine.spent[name] <= amount for name, amount in most.spent.items())


@given(st.lists(_guarantees, min_size=1, max_size=8))
@settings(max_examples=examples(50), deadline=None)
def test_what_was_planned_fits_exactly(planned: list[dp.Privacy]) -> None:
    reservation = Reservation(sum(planned[1:], planned[0]))
    for one in reversed(planned):
        reservation.spend(one)
    with pytest.raises(ParameterError):
        reservation.spend(dp.pure(Fraction(1, 10**12)))


def test_neighbours_are_those_of_the_reservation() -> None:
    reserved = Reservation(dp.pure(1, neighbours="replace"))
    reserved.spend(dp.pure(Fraction(1, 2), neighbours="add-remove"))  # a record replaced is two: all of it
    with pytest.raises(ParameterError, match="more than was reserved"):
        reserved.spend(dp.pure(Fraction(1, 100)))
    with pytest.raises(DiscreetError):
        Reservation(dp.pure(1, neighbours="add-remove")).spend(dp.pure(Fraction(1, 2), neighbours="replace"))
