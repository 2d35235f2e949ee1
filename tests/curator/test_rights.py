"""Who may do what with a ledger: looking needs no right to write; colleagues of a group pay from one, each with a witness."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="users and modes are POSIX")

PROLOGUE = """
import json, os, shutil, sys, tempfile
from pathlib import Path
import discreet as dp
from discreet.errors import LedgerRefused
from discreet.ledger import adopt, forget

folder = Path(sys.argv[1])
FACTS = dict(unit=dp.person("id", rows=1, groups=1), columns={"age": dp.integer(0, 120)}, budget=dp.Budget(epsilon=1))
COUNT, MEAN = "SELECT count(*) AS n FROM data", "SELECT avg(age) AS a FROM data"

# Everything is loaded now: the others may not be allowed to read Python's own files.
with tempfile.TemporaryDirectory() as warm:
    shutil.copy(folder / "visits.csv", warm)
    with dp.Curator(Path(warm, "visits.csv"), **FACTS) as one:
        one.preview(COUNT, epsilon=0.1)
        for text in (COUNT, COUNT, MEAN, "SELECT sum(age) AS s FROM data"):
            one.sql(text, epsilon=0.1)
        one.preview(COUNT, epsilon=0.1), one.history(), str(one.budget), adopt(one.ledger)
shutil.rmtree(os.environ["XDG_STATE_HOME"])

def curator(**more):
    return dp.Curator(folder / "visits.csv", **{**FACTS, **more})

def refused(call):
    try:
        call()
    except LedgerRefused as problem:
        return str(problem)
    return "accepted"

def become(uid, gid=65534):
    '''Another user, whom modes stop; with a state folder of their own.'''
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.environ["XDG_STATE_HOME"] = str(folder / f"state {uid}")

def as_another(uid, call, gid=65534):
    '''What a child process of that user finds.'''
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            become(uid, gid)
            said = call()
        except BaseException as problem:
            said = repr(problem)
        os.write(writer, json.dumps(said).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as found:
        return json.loads(found.read())
"""


def run(program: str) -> list[str]:
    """What the program prints, in a folder that others may enter (pytest's own are closed to them)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        Path(folder, "visits.csv").write_text("id,age\n" + "".join(f"p{i},{i % 90}\n" for i in range(200)))
        environment = os.environ | {"XDG_STATE_HOME": f"{folder}/state root"}
        done = subprocess.run(
            [sys.executable, "-c", PROLOGUE + program, folder], capture_output=True, text=True, check=False, env=environment
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


LOOKING = """
if os.geteuid() == 0:
    os.chown(folder, 65534, 65534)
become(65534)
curator().sql(COUNT, epsilon=0.25)
ledger = folder / "people-by-id.ledger"
ledger.chmod(0o400)

def looks():
    one = curator()
    remark = one.preview(COUNT, epsilon=0.25).remarks[0]
    return [float(one.budget.spent), len(one.history()), remark, refused(lambda: one.sql(MEAN, epsilon=0.1))]

print(json.dumps(looks()))
folder.chmod(0o500)
print(json.dumps(looks()))
ledger.chmod(0o600)
print(json.dumps(looks()))
folder.chmod(0o700)
ledger.chmod(0o000)
print(refused(curator))
ledger.chmod(0o600)
print(curator().sql(MEAN, epsilon=0.1).cost)
"""


def test_looking_needs_no_right_to_write() -> None:
    *looks, unreadable, paid = run(LOOKING)
    assert len(looks) == 3  # a file, both, and a folder that cannot be written
    for line in looks:
        assert line.startswith('[0.25, 1, "Asked before: free, unless the table changed since it was last opened.", "The ledger ')
        assert "cannot be written, so nothing is answered" in line
    assert "may not be read by this user" in unreadable
    assert paid == "epsilon=0.1"


OTHER = """
def begin():
    curator(ledger=folder / "x.ledger").sql(COUNT, epsilon=0.25)
    (folder / "x.ledger").chmod(0o644)

def looks():
    one = curator(ledger=folder / "x.ledger")
    remark = one.preview(COUNT, epsilon=0.25).remarks[0]
    paying = refused(lambda: one.sql(COUNT, epsilon=0.25))
    return [float(one.budget.spent), remark, paying, len(list(folder.glob("state 2*/**/*.json")))]

print(json.dumps(as_another(10001, begin)))
print(json.dumps(as_another(20001, looks)))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become others")
def test_another_users_ledger_can_be_looked_at() -> None:
    begun, seen = run(OTHER)
    assert begun == "null"
    assert seen.startswith('[0.25, "Asked before: free, unless the table changed since it was last opened.", "The ledger ')
    assert "cannot be written, so nothing is answered" in seen
    assert seen.endswith(", 0]")  # nothing was written anywhere


GROUP = """
team = folder / "team"
team.mkdir()
os.chown(team, 10001, 30000)
team.chmod(0o2770)
place = team / "clinic.ledger"

def declare():  # the owner says who may pay, before or after the ledger is begun
    place.touch()
    place.chmod(0o660)
    curator(ledger=place).sql(COUNT, epsilon=0.25)

def pay(*questions):
    one = curator(ledger=place)
    return [[one.sql(text, epsilon=0.25).repeated for text in questions], float(one.budget.spent)]

print(json.dumps(as_another(10001, declare, 30000)))
print(json.dumps(as_another(10002, lambda: refused(lambda: pay(COUNT)), 30000)))
print(json.dumps(as_another(10002, lambda: [float(adopt(place).account.spent), *pay(COUNT, MEAN)], 30000)))
print(json.dumps(as_another(10001, lambda: pay(COUNT, MEAN), 30000)))
print(json.dumps(as_another(10003, lambda: refused(lambda: pay(COUNT)), 40000)))
print(oct(place.stat().st_mode & 0o777), place.stat().st_uid, place.stat().st_gid)
shutil.copy(place, folder / "old")
print(json.dumps(as_another(10002, lambda: pay("SELECT sum(age) AS s FROM data"), 30000)))
place.write_bytes((folder / "old").read_bytes())  # one of them rolls it back
print(json.dumps(as_another(10002, lambda: refused(lambda: pay(COUNT)), 30000)))
print(sorted(str(one.relative_to(folder)).split("/")[0] for one in folder.glob("state */**/witness/*.json")))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become others")
def test_colleagues_of_a_group_share_a_ledger() -> None:
    begun, stranger, adopted, first_again, outsider, modes, more, rolled_back, witnesses = run(GROUP)
    assert begun == "null"
    assert "never saw it" in stranger
    assert "discreet ledger adopt" in stranger
    assert adopted == "[0.25, [true, false], 0.5]"  # free for the second too, and both pay from one budget
    assert first_again == "[[true, true], 0.5]"
    assert "reach" in outsider or "cannot be" in outsider
    assert modes == "0o660 10001 30000"  # as the owner declared it
    assert more == "[[false], 0.75]"
    assert "discreet ledger adopt" in rolled_back  # the colleague's own witness saw more
    assert witnesses == "['state 10001', 'state 10002']"


HOT = """
import signal, sqlite3
place = folder / "people-by-id.ledger"

def die():
    curator().sql(COUNT, epsilon=0.25)
    place.chmod(0o644)
    raw = sqlite3.connect(place, isolation_level=None)
    raw.execute("PRAGMA cache_size = 1")
    raw.execute("BEGIN IMMEDIATE")
    for number in range(3, 300):
        raw.execute("INSERT INTO records VALUES (?, ?, x'00')", (number, "y" * 5000))
    os.kill(os.getpid(), signal.SIGKILL)  # in the middle of a transaction that is on disk already

child = os.fork()
if not child:
    become(10001)
    die()
os.waitpid(child, 0)
print(Path(f"{place}-journal").stat().st_size > 0)
print(as_another(20001, lambda: refused(curator)))
print(as_another(10001, lambda: float(curator().budget.spent)))
print(as_another(20001, lambda: float(curator().budget.spent)))
folder.chmod(0o700)
print(as_another(20001, lambda: refused(curator)))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become others")
def test_what_a_crashed_writer_left_is_for_writers_to_clean_up() -> None:
    hot, waiting, cleaned, looked, closed = run(HOT)
    assert hot == "True"
    assert "in the middle of a payment" in waiting
    assert (cleaned, looked) == ("0.25", "0.25")
    assert "out of this user's reach" in closed


def test_a_new_ledger_is_for_its_owner_only_and_keeps_what_it_is_given(tmp_path: Path) -> None:
    import discreet as dp

    (tmp_path / "visits.csv").write_text("id,age\n1,2\n")
    facts = {"unit": dp.rows(), "columns": {"age": dp.integer(0, 120)}, "budget": dp.Budget(epsilon=1)}
    place = tmp_path / "visits.ledger"
    dp.Curator(tmp_path / "visits.csv", **facts).sql("SELECT count(*) AS n FROM data", epsilon=0.1)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    place.chmod(0o640)
    dp.Curator(tmp_path / "visits.csv", **facts).sql("SELECT count(*) AS n FROM data", epsilon=0.2)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
