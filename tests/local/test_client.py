"""A person's ledger: paid first, counted exactly, never reset."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, LedgerRefused, ParameterError, ValueRefused
from discreet.local import Attributes, Bit, Client, Frequencies, Mean, Repeated, Report

BIT = Bit(0.1)
MOOD = Repeated(["good", "bad", "so so"], 0.5, permanent=1)


def test_costs_add_exactly_over_tasks_and_openings(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    client = Client(path, epsilon=1)
    for _ in range(3):
        assert isinstance(client.randomize(BIT, True), Report)
    client.randomize(Mean(0, 1, 0.2), 0.7)
    client.randomize(Attributes({"a": Bit(0.3), "b": Mean(0, 1, 0.2)}), {"a": True, "b": 1})
    again = Client(path)
    assert (again.spent, again.left, again.total) == (Fraction(4, 5), Fraction(1, 5), 1)
    with pytest.raises(BudgetExceeded) as refusal:
        again.randomize(Bit(0.21), True)
    assert refusal.value.left == {"epsilon": Fraction(1, 5)}
    again.randomize(Bit(0.2), False)  # to the last bit
    assert again.left == 0
    with pytest.raises(BudgetExceeded):
        again.randomize(Bit(Fraction(1, 10**30)), True)
    assert str(again) == "epsilon 1 spent of 1 in 6 reports to 4 tasks"


def test_the_file_is_private_and_holds_no_value(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    client = Client(path, epsilon=9)
    client.randomize(MOOD, "so so")
    client.randomize(Frequencies(["secretly", "openly"], 1), "secretly")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert not any(word in text for word in ("so so", "secretly", "good"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["me.json", "me.json.lock"]


def test_repeated_reports_pay_once_for_every_value(tmp_path: Path) -> None:
    client = Client(tmp_path / "me.json", epsilon=2)
    assert client.lifetime(MOOD) is None
    for value in ["good"] * 20 + ["bad"] * 20 + ["good"] * 20:
        client.randomize(MOOD, value)
    assert client.spent == 2
    with pytest.raises(BudgetExceeded):
        client.randomize(MOOD, "so so")
    client.randomize(MOOD, "bad", nonce=True)  # still free
    cost = client.lifetime(MOOD)
    assert cost is not None
    assert (cost.reports, cost.values, cost.same_changes) == (61, 2, 2)
    with pytest.raises(BudgetExceeded):
        client.randomize(Repeated(["good", "bad"], 0.5, permanent=1, period="next"), "good")  # another task, another price


def test_memory_is_permanent_and_noise_is_fresh(tmp_path: Path) -> None:
    """At a fresh epsilon near 9 the response is repeated in all but 3 in 10,000 reports: the most frequent one of 30 is it."""
    sure = Repeated(range(4), 1.9, permanent=2)
    client = Client(tmp_path / "me.json", epsilon=100)

    def usual(value: int) -> int:
        return Counter(client.randomize(sure, value).r for _ in range(30)).most_common(1)[0][0]  # type: ignore[return-value]

    first = [usual(value) for value in range(4)]
    assert [usual(value) for value in range(4)] == first
    secret = bytes.fromhex(json.loads(client.path.read_text())["secret"])
    assert first == [sure.protocol.permanent_code(secret, sure.hash, value) for value in range(4)]
    loud = Repeated(range(4), 0.1, permanent=2)
    assert len({client.randomize(loud, 1).r for _ in range(60)}) > 1  # all 60 alike: below 1e-25


def test_what_is_refused_costs_nothing(tmp_path: Path) -> None:
    client = Client(tmp_path / "me.json", epsilon=1)
    with pytest.raises(ValueRefused):
        client.randomize(Mean(0, 1, 0.5), float("nan"))
    with pytest.raises(ValueRefused, match="one person"):
        client.randomize(BIT, [True, False])
    with pytest.raises(ValueRefused):
        client.randomize(MOOD, "else")
    assert client.spent == 0


def test_a_total_is_fixed_and_a_damaged_ledger_refuses(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    with pytest.raises(ParameterError, match="epsilon=4"):
        Client(path)
    client = Client(path, epsilon=1)
    Client(path, epsilon=1)
    with pytest.raises(ParameterError, match="fixed"):
        Client(path, epsilon=2)
    good = path.read_text()
    for bad in (
        "",
        "{",
        "[]",
        good[:-20],
        good.replace('"total":"1"', '"total":"-1"'),
        good.replace('"version":1', '"version":2'),
    ):
        path.write_text(bad)
        with pytest.raises(LedgerRefused, match="nothing is reported"):
            client.randomize(BIT, True)
    path.unlink()
    with pytest.raises(LedgerRefused):
        client.randomize(BIT, True)
    with pytest.raises(LedgerRefused, match="another place"):
        Client(tmp_path / "no folder" / "me.json", epsilon=1)


def test_nothing_leaves_when_the_ledger_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(tmp_path / "me.json", epsilon=1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.local.client.os.replace", full)
    with pytest.raises(LedgerRefused, match="No space left"):
        client.randomize(BIT, True)
    monkeypatch.undo()
    assert client.spent == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["me.json", "me.json.lock"]


SPENDER = """
import sys
from discreet.errors import BudgetExceeded
from discreet.local import Bit, Client

sent, client = 0, Client(sys.argv[1])
try:
    for _ in range(20):
        client.randomize(Bit(0.1), True)
        sent += 1
except BudgetExceeded:
    pass
print(sent)
"""


def test_processes_share_one_budget(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    Client(path, epsilon=1)
    spenders = [subprocess.Popen([sys.executable, "-c", SPENDER, str(path)], stdout=subprocess.PIPE) for _ in range(2)]
    assert sum(int(spender.communicate(timeout=60)[0]) for spender in spenders) == 10
    assert Client(path).left == 0
