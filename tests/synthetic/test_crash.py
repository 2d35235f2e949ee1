"""Crashes: a process killed at any step of measuring leaves what it kept, and whoever asks again goes on from there, unpaid.

One driver process kills a child of its own at many steps; we ask again, and look at what is drawn anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.depth import deep
from synthetic.clinic import clinic, table

import discreet as dp
from discreet.ledger import Ledger
from discreet.mechanisms.base import recorded
from discreet.synthetic.rounds.measuring import price_of

ASKED: dict[str, Any] = {"columns": ["age", "sex", "smokes", "city"], "bins": {"age": 8}, "bought": ["city"], "seconds": 0.05}
BUDGET, EPSILON = dp.Budget(epsilon=3, delta=1e-6), 2

DRIVER = """
import json, os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from synthetic.test_crash import ASKED, BUDGET, EPSILON, clinic, table
from discreet.ledger import Ledger
import discreet.curator, discreet.engine.duckdb.session  # once, not by every child
import discreet.synthetic.request, discreet.synthetic.synthesize, pandas

true = Ledger.keep
for folder, place, when in json.loads(sys.argv[2]):
    child = os.fork()
    if not child:
        def keep(self, number, at, text):
            if at == place and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            true(self, number, at, text)
            if at == place:
                os.kill(os.getpid(), signal.SIGKILL)
        Ledger.keep = keep
        Path(folder).mkdir()
        clinic(Path(folder), table(500), budget=BUDGET).synthesize(epsilon=EPSILON, **ASKED)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (place, when, status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")
def test_whoever_dies_goes_on_at_the_price_that_was_reserved(tmp_path: Path) -> None:
    """The first step is about the text's keys, the next two have them; then come four columns, a choice, and marginals."""
    cases = [(0, "before"), (0, "after"), (1, "before"), (1, "after"), (4, "before"), (4, "after")]
    cases += [(place, when) for place in (7, 8, 9)[:: deep(1, 3)] for when in ("before", "after")]
    folders = {case: tmp_path / f"{case[1]}-{case[0]}" for case in cases}
    told = json.dumps([[str(folders[case]), *case] for case in cases])
    tests = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", DRIVER, tests, told], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for (place, when), folder in folders.items():
        ledger = Ledger.open(folder / "clinic.ledger")
        (entry,) = ledger.history()
        assert (entry.state, entry.asked) == ("reserved", "epsilon=2")
        before = [json.loads(text) for _, texts in ledger.begun(entry.plan, entry.data) for text in texts]
        assert len(before) == (place if when == "before" else place + 1)
        kept, lost = sum("result" in one for one in before), bool(before) and "about" in before[-1]
        with recorded() as record:
            curator = clinic(folder, table(500), budget=BUDGET)
            model = curator.synthesize(epsilon=EPSILON, **ASKED)
        case = f"{when} {place}"
        measured = model.measured
        again = [one for one in curator.history() if one.state != "looked"]
        if not before:  # nothing was let out, nor about to be: nobody can tell that from a reservation of another kind
            assert [one.state for one in again] == ["reserved", "answered"], case
            continue
        assert [one.state for one in again] == ["answered"], case  # nothing more was paid
        assert len(measured.lost) == lost - (place == 0 or (place, when) == (1, "before")), case
        assert measured.complete == (not measured.lost), case
        drawn = [int(n) for one in (*measured.own, *measured.later) for n in one.counts]
        results = [n for one in before if "result" in one for n in one["result"] if not isinstance(n, str)]
        assert {*results} <= {*drawn, *range(20)}, case  # what was kept is in the model; small numbers are choices
        releases = 1 + len(measured.own) + len(measured.later) + len(measured.choices)
        assert len(record) == releases - kept - (lost and not measured.lost), case
        assert measured.spent == measured.cost.amount, case  # with what was lost, to the last unit
        (entry,) = again
        assert sum((price_of(one.mechanism.privacy) for one in record), Fraction(0)) <= price_of(entry.privacy), case
        assert curator.synthesize(epsilon=EPSILON, **ASKED).repeated
        assert len(model.sample(20)) == 20


def test_of_two_that_go_on_one_ends(tmp_path: Path) -> None:
    """Another process that goes on with the same question takes it over: the first ends before it lets out anything more."""
    curator = clinic(tmp_path, table(300), budget=BUDGET)
    other = clinic(tmp_path, table(300), budget=BUDGET)
    asked = {**ASKED, "bought": (), "columns": ["age", "sex", "smokes"], "bins": {"age": 50}}
    found: list[dp.Synthetic] = []

    def take_over(done: Any) -> None:
        if done.rounds == 2 and not found:
            found.append(other.synthesize(epsilon=1, **asked))

    with recorded() as record, pytest.raises(dp.errors.LedgerRefused, match="Another process went on with this question"):
        curator.synthesize(epsilon=1, watch=take_over, **asked)
    assert [entry.state for entry in curator.history()] == ["answered"]
    measured = found[0].measured
    assert measured.spent == measured.cost.amount
    assert len(record) == len(measured.own) + len(measured.later) + len(measured.choices)  # nothing was let out twice
    assert curator.synthesize(epsilon=1, **asked).repeated


def test_an_interrupt_before_all_columns_are_counted_goes_on(tmp_path: Path) -> None:
    curator = clinic(tmp_path, budget=dp.Budget(rho=1))

    def interrupt(done: Any) -> None:
        if done.columns == ("smokes",):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curator.synthesize(rho=0.5, seconds=0.05, watch=interrupt)
    with recorded() as record:
        model = curator.synthesize(rho=0.5, seconds=0.05)
    measured = model.measured
    assert len(record) == len(measured.own) + len(measured.later) + len(measured.choices) - 3
    assert [entry.state for entry in curator.history()] == ["answered"]
    assert curator.budget.spent.rho == 0.5
    assert len(measured.lost) == 1  # the column after it was about to be counted
    assert measured.spent == Fraction(1, 2)


def test_all_that_can_be_lost_is_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one column there is one release, and who dies in it has paid for nothing."""
    curator = clinic(tmp_path, table(50), budget=dp.Budget(rho=1))
    true = Ledger.keep

    def dies(self: Ledger, number: int, place: int, text: str) -> None:
        if place == 1:
            raise KeyboardInterrupt
        true(self, number, place, text)

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "keep", dies)
        with pytest.raises(KeyboardInterrupt):
            curator.synthesize(columns=["sex"], rho=0.5)
    with pytest.raises(dp.errors.ParameterError, match="lost when a process died"):
        curator.synthesize(columns=["sex"], rho=0.5)
    assert curator.budget.spent.rho == 0.5
    assert len(curator.synthesize(columns=["sex"], rho=0.4).sample(5)) == 5
