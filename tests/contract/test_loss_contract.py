"""What every family of losses promises, checked on all of them alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from contract.losses import MEMBERS, PROMISES

from discreet.privacy.losses import Loss
from discreet.privacy.losses.base import KINDS


def test_every_family_is_registered() -> None:
    assert {loss.kind for loss in MEMBERS.values()} == set(KINDS)


@pytest.mark.parametrize("loss", MEMBERS.values(), ids=MEMBERS.keys())
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_family_of_losses(promise: Callable[[Loss], None], loss: Loss) -> None:
    promise(loss)
