"""The gate: pays first, answers last, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from curator.hospital import COLUMNS, curator, table

import discreet as dp
from discreet.curator import plans
from discreet.engine.sql.engine import SqlEngine
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, ParameterError
from discreet.ledger.ledger import Ledger

COUNT = "SELECT count(*) AS n FROM data"


def test_the_order_is_pay_count_keep_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for owner, verb in ((Ledger, "reserve"), (SqlEngine, "count"), (Ledger, "commit")):
        real = getattr(owner, verb)

        def spy(*args: object, _real: object = real, _verb: str = verb, **named: object) -> object:
            seen.append(_verb)
            return _real(*args, **named)  # type: ignore[operator]

        monkeypatch.setattr(owner, verb, spy)
    hospital = curator(tmp_path)
    hospital.sql(COUNT, epsilon=0.5)
    assert seen == ["reserve", "count", "commit"]
    hospital.sql(COUNT, epsilon=0.5)
    assert seen == ["reserve", "count", "commit"]  # a repeat touches nothing


def test_what_another_result_holds_is_found_in_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is counted and nothing paid, also by who opens the ledger later; for more it is paid for."""
    asked = "debt ~ age"
    curator(tmp_path).moments(["age", "debt"], epsilon=1)  # type: ignore[attr-defined]
    with monkeypatch.context() as still:
        for owner, verb in ((Ledger, "reserve"), (SqlEngine, "count"), (Ledger, "commit")):
            still.delattr(owner, verb)
        later = curator(tmp_path)
        assert later.regress(asked, epsilon=1).paid.repeated  # type: ignore[attr-defined]
        assert later.budget.spent.epsilon == 1
        with pytest.raises(AttributeError):
            later.regress(asked, epsilon=1.5)  # type: ignore[attr-defined]


@pytest.mark.parametrize("step", ["reserve", "commit"])
def test_without_a_ledger_there_is_no_answer(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise DiscreetError("disk full")

    hospital = curator(tmp_path)
    monkeypatch.setattr(Ledger, step, full)
    with pytest.raises(DiscreetError, match="disk full"):
        hospital.sql(COUNT, epsilon=0.5)


def test_what_goes_wrong_between_data_and_noise_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(*_: object) -> None:
        raise ValueError("the cell is Oslo")

    hospital = curator(tmp_path)
    monkeypatch.setattr(plans, "let_out", leaky)
    with pytest.raises(EngineError) as caught:
        hospital.sql(COUNT, epsilon=0.5)
    assert "Oslo" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert hospital.budget.spent.epsilon == 0.5


def test_a_refusal_brings_nothing_along_of_what_came_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        try:
            raise ValueError("the cell is Oslo")
        except ValueError as problem:
            raise ParameterError("This cannot be.") from problem

    monkeypatch.setattr(plans, "let_out", refuse)
    with pytest.raises(ParameterError) as caught:
        curator(tmp_path).sql(COUNT, epsilon=0.5)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


DRAIN = """
    import sys, threading
    sys.path.insert(0, {tests!r})
    import discreet as dp
    from curator.hospital import COLUMNS
    hospital = dp.Curator({file!r}, unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=1), ledger={ledger!r})
    def drain(me):
        for i in range(3):
            try:
                hospital.sql(f"SELECT count(*) AS n FROM data WHERE age < {{1000 * int(sys.argv[1]) + 10 * me + i}}", epsilon=0.1)
                print("answered", flush=True)
            except dp.errors.BudgetExceeded:
                pass
    threads = [threading.Thread(target=drain, args=(me,)) for me in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
"""


def script(text: str, tmp_path: Path, *arguments: str, **facts: object) -> subprocess.Popen[str]:
    program = textwrap.dedent(text).format(tests=str(Path(__file__).parents[1]), **facts)
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )


def test_threads_and_processes_get_exactly_what_the_budget_allows(tmp_path: Path) -> None:
    """Two processes with four threads each, and four threads here, ask 36 different questions; ten fit."""
    file, ledger = str(tmp_path / "hospital.parquet"), str(tmp_path / "l.ledger")
    pq.write_table(table(200), file)
    hospital = dp.Curator(file, unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=1), ledger=ledger)
    others = [script(DRAIN, tmp_path, str(i), file=file, ledger=ledger) for i in range(2)]
    answered: list[int] = []

    def drain(me: int) -> None:
        for i in range(3):
            try:
                hospital.sql(f"SELECT count(*) AS n FROM data WHERE age < {9000 + 10 * me + i}", epsilon=0.1)
                answered.append(1)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=drain, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        out, problems = other.communicate(timeout=600)
        assert other.returncode == 0, problems
        answered += [1] * out.count("answered")
    assert len(answered) == 10
    assert hospital.budget.remaining.epsilon == 0
    assert [entry.state for entry in hospital.history()] == ["answered"] * 10


def test_two_threads_with_one_question_pay_once(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(hospital.sql(COUNT, epsilon=0.5).value)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert hospital.budget.spent.epsilon == 0.5


KILLED = """
    import os, signal, sys
    sys.path.insert(0, {tests!r})
    import discreet as dp
    from curator.hospital import COLUMNS
    from discreet.curator import plans
    from discreet.engine.sql.engine import SqlEngine
    from discreet.ledger.ledger import Ledger
    steps = {{
        "before reserve": (Ledger, "reserve", 0), "after reserve": (Ledger, "reserve", 1),
        "before count": (SqlEngine, "count", 0), "after count": (SqlEngine, "count", 1),
        "after noise": (plans, "let_out", 1), "before commit": (Ledger, "commit", 0), "after commit": (Ledger, "commit", 1),
    }}
    for step, (owner, verb, when) in steps.items():
        child = os.fork()
        if child:
            print(step, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sep=": ", flush=True)
            continue
        real = getattr(owner, verb)
        def deadly(*args, **named):
            if when == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            found = real(*args, **named)
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(owner, verb, deadly)
        given = dict(unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=1), ledger=step + ".ledger")
        print(dp.Curator(step + ".parquet", **given).sql("SELECT count(*) AS n FROM data", epsilon=0.5).value, flush=True)
        os._exit(0)
"""
SPENT = {"before reserve": 0, "after reserve": 0.5, "before count": 0.5, "after count": 0.5, "after noise": 0.5}
SPENT |= {"before commit": 0.5, "after commit": 0.5}


def test_a_kill_at_any_step_loses_no_accounting_and_leaks_no_answer(tmp_path: Path) -> None:
    """One process, which has opened nothing, begets those that are killed."""
    for step in SPENT:
        pq.write_table(table(200), tmp_path / f"{step}.parquet")
    killing = script(KILLED, tmp_path)
    out, problems = killing.communicate(timeout=600)
    assert out.splitlines() == [f"{step}: {-signal.SIGKILL}" for step in SPENT], problems
    for step, spent in SPENT.items():
        free, place = step == "after commit", tmp_path / step
        given = {"unit": dp.rows(), "columns": COLUMNS, "budget": dp.Budget(epsilon=1), "ledger": place.with_suffix(".ledger")}
        hospital = dp.Curator(place.with_suffix(".parquet"), **given)  # type: ignore[arg-type]
        assert hospital.budget.spent.epsilon == spent, step
        assert hospital.sql(COUNT, epsilon=0.5).repeated is free, step
        assert hospital.budget.spent.epsilon == (spent if free else spent + 0.5), step


def test_a_forked_child_is_refused_before_it_pays(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    hospital.sql(COUNT, epsilon=0.5)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing here may raise: the child must not run on as pytest
        try:
            hospital.sql("SELECT avg(age) AS a FROM data", epsilon=0.5)
            said = b"answered"
        except DiscreetError as refusal:
            said = str(refusal).encode()
        except BaseException as problem:
            said = repr(problem).encode()
        os.write(writer, said)
        os._exit(0)
    os.waitpid(child, 0)
    assert b"forked" in os.read(reader, 1000)
    assert hospital.budget.spent.epsilon == 0.5


ENDS = """
import os, sys, pyarrow
import discreet as dp
facts = dict(unit=dp.rows(), columns={"age": dp.integer(0, 9)}, budget=dp.Budget(epsilon=1))
hospital = dp.Curator(pyarrow.table({"age": [1, 2]}), **facts, ledger="a.ledger")
for state in ("opened", "asked"):
    if state == "asked":
        hospital.sql("SELECT count(*) AS n FROM data", epsilon=0.5)
    child = os.fork()
    if not child:
        sys.exit(0)  # through all that Python does at its end
    print(state, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_a_forked_child_ends_like_any_process(tmp_path: Path) -> None:
    """A database whose threads stayed with the parent must not be closed by the child, which would wait for them, or crash."""
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert done.stdout.splitlines() == ["opened 0", "asked 0"], done.stderr
