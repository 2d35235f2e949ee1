"""What every store promises, of those that there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from contract.stores import MEMBERS, PROMISES, Member

from discreet.ledger.place import Place


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_store_keeps(promise: Callable[[Place], None], member: Member, tmp_path: Path) -> None:
    promise(member.place(tmp_path, "clinic"))
