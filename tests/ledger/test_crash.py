"""Crashes: a process killed at any step of paying and answering leaves a ledger that opens and has not forgotten anything.

One driver process kills a child of its own at every step; we look at what is left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from contract.stores import MEMBERS, Member

from discreet.ledger import Ledger, adopt, witness
from discreet.privacy import pure
from discreet.privacy.budget import Budget

DRIVER = """
import json, os, signal, sys
from pathlib import Path
from discreet.ledger import Ledger, witness
from discreet.ledger.place import resolve
from discreet.ledger.store import store_of
from discreet.privacy import pure
from discreet.privacy.budget import Budget

places, dying = {name: resolve(place) for name, place in json.loads(sys.argv[1]).items()}, sys.argv[2]
store = store_of(next(iter(places.values())))
die = lambda: os.kill(os.getpid(), signal.SIGKILL)

def before(module, name):
    def patched(*arguments):
        die()
    return lambda: setattr(module, name, patched)

def after(module, name):
    true = getattr(module, name)
    def patched(*arguments):
        true(*arguments)
        die()
    return lambda: setattr(module, name, patched)

def between():  # inserted, not committed
    exec(dying, {"store": store, "die": die})

def torn(size):  # of what is written, so much
    def patch():
        true = os.write
        def patched(handle, content):
            true(handle, content[:size])
            die()
        os.write = patched
    return patch

def after_all(module, name):  # whatever it was called with
    true = getattr(module, name)
    def patched(*arguments, **named):
        true(*arguments, **named)
        die()
    return lambda: setattr(module, name, patched)

def before_all(module, name):
    return lambda: setattr(module, name, lambda *_, **__: die())

STEPS = {
    "before add": before(store.Transaction, "add"), "inserted": between, "after add": after(store.Transaction, "add"),
    "before witness": before_all(witness, "write"), "before write": before(os, "write"),
    **{f"torn {size}": torn(size) for size in (1, 60, 200, 270, 2000)},
    "before sync": before(witness, "sync_file"), "after sync": after(witness, "sync_file"),
    "after witness": after_all(witness, "write"),
}
BEGINNING = {
    "before rename": before(os, "replace"), "after rename": after(os, "replace"), "before folder": before(witness, "sync_folder"),
}
VERBS = ("open", "reserve", "keep", "commit")

for verb in VERBS:
    for step, patch in (STEPS | BEGINNING if verb == "open" else STEPS).items():
        path = places[f"{verb} {step}"]
        if verb != "open":
            ledger = Ledger.open(path, Budget(epsilon=1))
            first = ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="")
            ledger.commit(first, "1")
        if verb in ("keep", "commit"):
            second = ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.2), asked="")
        child = os.fork()
        if not child:
            patch()
            if verb == "open":
                Ledger.open(path, Budget(epsilon=1))
            elif verb == "reserve":
                ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.2), asked="")
            elif verb == "keep":
                ledger.keep(second, 0, "step")
            else:
                ledger.commit(second, "2")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, (verb, step, status)
assert len(places) == len(VERBS) * len(STEPS) + len(BEGINNING)
"""
VERBS = ("open", "reserve", "keep", "commit")
STEPS = ("before add", "inserted", "after add", "before witness", "before write", "torn 1", "torn 60", "torn 200", "torn 270")
STEPS += ("torn 2000", "before sync", "after sync", "after witness")
BEGINNING = ("before rename", "after rename", "before folder")  # of the first witness alone, which is written aside
KILLED = [(verb, step) for verb in VERBS for step in STEPS + (BEGINNING if verb == "open" else ())]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_nothing_is_forgotten_wherever_a_process_dies(member: Member, tmp_path: Path) -> None:
    places = {f"{verb} {step}": member.place(tmp_path, f"{verb} {step}") for verb, step in KILLED}
    told = json.dumps({name: str(place) for name, place in places.items()})
    done = subprocess.run([sys.executable, "-c", DRIVER, told, member.dying], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for verb, step in KILLED:
        path, lost = places[f"{verb} {step}"], step in ("before add", "inserted")
        seen = witness.read(path)
        if verb == "open":
            ledger, expected = Ledger.open(path, Budget(epsilon=1)), 0.0
        else:
            assert seen is not None
            ledger, expected = Ledger.open(path), 0.1 if verb == "reserve" and lost else 0.3
        assert ledger.account.spent.epsilon == expected, (verb, step)
        answers = [entry.answer for entry in ledger.history()]
        if verb == "reserve":
            assert answers == (["1"] if lost else ["1", None]), step
        if verb == "keep":
            assert answers == ["1", None], step
            assert [steps for _, steps in ledger.begun("p", "d")] == ([] if lost else [("step",)])
        if verb == "commit":
            assert answers == ["1", None if lost else "2"], step
            assert len(ledger.find("p", "d")) == (1 if lost else 2)
        # It goes on as if nothing had happened, and its chain is whole.
        number = ledger.reserve(question="?", plan="q", data="d", privacy=pure(0.4), asked="")
        ledger.commit(number, "3")
        assert Ledger.open(path).history() == adopt(path).history() == ledger.history()
        found = witness.read(path)
        assert found is not None
        assert found.number > (seen.number if seen else -1)
    assert not [*tmp_path.glob("*-journal")]


# Media that cannot be written.

LIMITED = """
import os, resource, signal, sys
from fractions import Fraction
from discreet.errors import LedgerRefused
from discreet.ledger import Ledger
from discreet.privacy import pure
from discreet.privacy.budget import Budget

ledger = Ledger.open(sys.argv[1], Budget(epsilon=1000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
answered = 0
try:
    while True:
        number = ledger.reserve(question="?" * 500, plan="p", data="d", privacy=pure(1), asked="")
        ledger.commit(number, "1")
        answered += 1
except LedgerRefused as problem:
    print(answered, problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX")
def test_a_full_disk_stops_answers(tmp_path: Path) -> None:
    """The largest file that may be written stands for the disk."""
    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path / "x")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answered, message = done.stdout.strip().split(" ", 1)
    assert message.startswith("The ")
    assert "nothing was answered" in message
    ledger = Ledger.open(tmp_path / "x")
    assert int(answered) > 3
    assert len([entry for entry in ledger.history() if entry.answer]) == int(answered)
    assert int(answered) <= float(ledger.account.spent) <= int(answered) + 1
    ledger.reserve(question="?", plan="p", data="d", privacy=pure(1), asked="")


READ_ONLY = """
import os, sys
from pathlib import Path
from discreet.errors import LedgerRefused
from discreet.ledger import Ledger, adopt
from discreet.privacy import pure
from discreet.privacy.budget import Budget

folder = Path(sys.argv[1])
if os.geteuid() == 0:  # whom no mode stops
    folder.chmod(0o777)
    os.setuid(65534)
home = folder / "mine"
home.mkdir()
os.environ["XDG_STATE_HOME"] = str(home / "state")
path = home / "x"
ledger = Ledger.open(path, Budget(epsilon=1))

def refused(call):
    try:
        call()
    except LedgerRefused as problem:
        print(problem)
    else:
        print("accepted")

ask = lambda: ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="")
path.chmod(0o400)
refused(lambda: Ledger.open(path)), refused(ask), refused(lambda: adopt(path))
path.chmod(0o600)
home.chmod(0o500)
refused(lambda: Ledger.open(path)), refused(ask), refused(lambda: Ledger.open(home / "new", Budget(epsilon=1)))
home.chmod(0o700)
(seen,) = (home / "state" / "discreet" / "witness").iterdir()
seen.chmod(0o400)
refused(ask)
seen.chmod(0o600)
print(float(ledger.account.spent), len(ledger.history()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_what_cannot_be_written_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others
        done = subprocess.run([sys.executable, "-c", READ_ONLY, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *messages, last = done.stdout.splitlines()
    assert len(messages) == 7
    for message in messages[:5] + messages[6:]:
        assert "nothing is answered" in message, message
    assert "cannot be written" in messages[5]
    assert last == "0.1 1"  # paid for, when only the witness could not be written
