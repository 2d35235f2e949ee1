"""A person's ledger: paid first, counted exactly, never reset."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import re
import stat
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, LedgerRefused, ParameterError, ValueRefused
from discreet.local import Attributes, Bit, Client, Frequencies, Mean, Repeated, Report
from discreet.local.protocols import memoised

BIT = Bit(0.1)
MOODS = ["good", "bad", "so so"]
MOOD = Repeated(MOODS, 0.5, permanent=1, values=2)
MOOD_ONCE = Repeated(MOODS, 0.5, permanent=1, values=1)


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
    assert sorted(file.name for file in tmp_path.iterdir()) == ["me.json"]


def test_a_repeated_task_is_paid_once_and_never_refuses_afterwards(tmp_path: Path) -> None:
    client = Client(tmp_path / "me.json", epsilon=2)
    assert client.lifetime(MOOD) is None
    for value in ["good"] * 20 + ["bad"] * 20 + ["so so"] * 20 + ["good"]:
        client.randomize(MOOD, value)
        assert client.spent == 2
    cost = client.lifetime(MOOD)
    assert cost is not None
    assert (cost.reports, cost.values, cost.same_pattern) == (61, 2, 2)
    with pytest.raises(BudgetExceeded):
        client.randomize(Repeated(MOODS, 0.5, permanent=1, values=2, period="next"), "good")  # another task, another price


@pytest.mark.parametrize("values", [1, 2, 3])
def test_silence_tells_nothing(tmp_path: Path, values: int) -> None:
    """Whatever a person's values, all reports leave where the first one does, and none where it does not."""
    task = Repeated(MOODS, 0.5, permanent=1, values=values)
    for number, history in enumerate(product(MOODS, repeat=3)):
        rich, poor = (Client(tmp_path / f"{number} {total}.json", epsilon=total) for total in (values, values - 0.5))
        for value in history:
            assert isinstance(rich.randomize(task, value), Report)
            with pytest.raises(BudgetExceeded) as refusal:
                poor.randomize(task, value)
            assert refusal.value.requested == {"epsilon": values}
        assert (rich.left, poor.spent) == (0, 0)


def test_the_auditor_cannot_tell_lives_apart_at_their_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """False alarm 1e-6 each. Two reports to a constant mood against a changed one: another pattern, the price of fresh steps."""
    mood, numbers = Repeated(["good", "bad"], 0.5, permanent=2, values=1), itertools.count()

    def life(values: list[str]) -> list[object]:
        me = Client(tmp_path / f"{next(numbers)}.json", epsilon=2)
        return [me.randomize(mood, value).r for value in values]

    monkeypatch.setattr("discreet.local.client.os.fsync", lambda _: None)  # hundreds of files that nobody has to find again
    fresh = mood.lifetime(reports=2).any_history
    for one, other, epsilon in ((["good", "good"], ["good", "bad"], fresh), (["good", "bad"], ["bad", "good"], 2)):
        assert not dp.audit(life, one, other, epsilon=epsilon, draws=200, error=1e-6).violated


def test_the_work_is_the_same_for_all_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, keyed = itertools.count(), memoised._hash_keyed
    monkeypatch.setattr(memoised, "_hash_keyed", lambda secret, message: (next(calls), keyed(secret, message))[1])
    begun, work = 0, set()
    for number, history in enumerate(product(MOODS, repeat=3)):
        client = Client(tmp_path / f"{number}.json", epsilon=2)
        for value in history:
            client.randomize(MOOD, value)
            now = next(calls)
            work.add(now - begun)
            begun = now + 1
    assert work == {3 + 2}  # a mark for every value, and the permanent response


def test_memory_is_permanent_and_noise_is_fresh(tmp_path: Path) -> None:
    """At a fresh epsilon near 9 the response is repeated in all but 3 in 10,000 reports: the most frequent one of 30 is it."""
    sure = Repeated(range(4), 1.9, permanent=2, values=4)
    client = Client(tmp_path / "me.json", epsilon=100)

    def usual(value: int, task: Repeated = sure) -> int:
        return Counter(client.randomize(task, value).r for _ in range(30)).most_common(1)[0][0]  # type: ignore[return-value]

    first = [usual(value) for value in range(4)]
    assert [usual(value) for value in range(4)] == first
    secret = bytes.fromhex(json.loads(client.path.read_text())["secret"])
    assert first == [sure.protocol.respond_permanently(secret, sure.hash, value) for value in range(4)]
    loud = Repeated(range(4), 0.1, permanent=2, values=1)
    assert len({client.randomize(loud, 1).r for _ in range(60)}) > 1  # all 60 alike: below 1e-25
    few = Repeated(range(4), 1.9, permanent=2, values=2)
    usual_two = [usual(value, few) for value in (3, 1)]
    marks = json.loads(client.path.read_text())["seen"][few.hash]
    assert len(marks) == 2
    first = min((3, 1), key=lambda code: mark(secret, few, code))
    assert [usual(value, few) for value in (3, 1)] == usual_two
    assert {usual(value, few) for value in (0, 2)} == {few.protocol.respond_permanently(secret, few.hash, first)}
    assert json.loads(client.path.read_text())["seen"][few.hash] == marks == sorted(mark(secret, few, code) for code in (3, 1))


def mark(secret: bytes, task: Repeated, code: int) -> str:
    return hmac.new(secret, f"discreet seen|{task.hash}|{code}".encode(), hashlib.sha256).hexdigest()[:32]


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
        good.replace('"total":"1"', '"total":Infinity'),
        good.replace('"total":"1"', '"total":1e400'),
        good.replace('"total":"1"', '"total":"inf"'),
        good.replace('"total":"1"', '"total":"1e-9000000"'),
        good.replace('"total":"1"', f'"total":"{"9" * 5000}"'),
        good.replace('"total":"1"', '"total":"1/0"'),
        good.replace('"total"', '"extra":1,"total"'),
        good.replace('"spent":{}', f'"spent":{{"{BIT.hash}":NaN}}'),
        good.replace('"spent":{}', f'"spent":{{"{BIT.hash}":"-1"}}'),
        good.replace('"spent":{}', f'"spent":{{"{BIT.hash}":"1/2"}}'),
        good.replace('"reports":{}', f'"reports":{{"{BIT.hash}":Infinity}}'),
        good.replace('"seen":{}', f'"seen":{{"{BIT.hash}":5}}'),
        good.replace('"seen":{}', '"seen":{"\\ud800":[]}'),
        re.sub('"secret":"..', '"secret":"zz', good),
    ):
        assert bad != good
        path.write_text(bad)
        with pytest.raises(LedgerRefused, match="nothing is reported"):
            client.randomize(BIT, True)
    path.write_text(good)
    client.randomize(MOOD_ONCE, "good")
    path.write_text(re.sub(r'\["[0-9a-f]{32}"\]', f'["{"0" * 32}"]', path.read_text()))  # no value has this mark
    with pytest.raises(LedgerRefused, match="not of this task"):
        client.randomize(MOOD_ONCE, "good")
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
    assert sorted(file.name for file in tmp_path.iterdir()) == ["me.json"]


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
    assert sum(int(spender.communicate(timeout=600)[0]) for spender in spenders) == 10
    assert Client(path).left == 0
