"""The command line with a ledger on a server: the owner's file names it, and every command takes its address."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from support.postgres import server

from discreet.ledger.place import resolve

Run = Callable[..., int]
COUNT = "SELECT count(*) AS n FROM data"
_numbers = count()


@pytest.fixture
def address() -> str:
    return server().url(password="hushhush") + f"&ledger=k{os.getpid()}_{next(_numbers)}"  # which a socket does not ask for


def test_commands_take_an_address(discreet: Run, people: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    file, said = Path(people), str(resolve(address))
    file.write_text(file.read_text().replace("version = 1\n", f'version = 1\nledger = "{address}"\n'))
    assert discreet("ledger", "adopt", address) == 2
    assert discreet("ledger", "create", address) == 0
    assert discreet("ledger", "create", address) == 2
    assert discreet("budget", people) == discreet("preview", people, COUNT, "--epsilon", "1") == 0
    assert discreet("query", people, COUNT, "--epsilon", "0.5") == 0
    assert discreet("query", people, COUNT, "--epsilon", "0.5", "-o", "n.csv") == 0
    assert discreet("ledger", "people", address, "patients of the clinic") == 0
    assert discreet("ledger", "adopt", address) == 0
    assert discreet("ledger", "forget", address) == 2
    texts = capsys.readouterr()
    assert f"Made an empty ledger at {said}: the first question begins it." in texts.out
    assert f"{said} is the budget of patients of the clinic." in texts.out
    assert f"Adopted {said}: " in texts.out
    assert f"The ledger {said} is there" in texts.err
    assert discreet("budget", people, "--history", "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["ledger"], facts["people"], len(facts["history"])) == (said, "patients of the clinic", 1)
    assert discreet("ledger", "move", address, "here.ledger") == 0
    moved = capsys.readouterr()
    assert "Moved to here.ledger: " in moved.out
    assert discreet("query", people, COUNT, "--epsilon", "0.5") == 2
    late = capsys.readouterr()
    assert 'was moved, and nothing is paid here; write ledger="' in late.err
    file.write_text(file.read_text().replace(address, "here.ledger"))
    assert discreet("query", people, COUNT, "--epsilon", "0.5") == 0
    for text in (*texts, *moved, *late, *capsys.readouterr()):
        assert "hush" not in text


@pytest.mark.parametrize(
    "ledger", ["postgresql://ann:hush/hush@db.clinic/x", "mysql://ann:hush@db.clinic/x", "postgresql://db.clinic"]
)
def test_a_wrong_address_is_a_sentence(discreet: Run, people: str, ledger: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(people)
    file.write_text(file.read_text().replace("version = 1\n", f'version = 1\nledger = "{ledger}"\n'))
    for words in (
        ("query", people, COUNT, "--epsilon", "0.5"),
        ("budget", people),
        ("ledger", "adopt", ledger),
        ("ledger", "create", ledger),
    ):
        assert discreet(*words) == 2
        said = capsys.readouterr().err
        assert "postgresql://" in said
        assert "hush" not in said
        assert "Traceback" not in said
