"""What a fit lets out, watched: every sum as it was before noise, answered by numbers that are the same in every run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.learn.payment import Payment
from discreet.mechanisms.rows.sums import Total
from discreet.mechanisms.secret import open_secret
from discreet.mechanisms.values import Integers


class Watched:
    """The sums of one fit, in units, with the radius of what one unit adds to each, and the shares that were paid for them."""

    def __init__(self) -> None:
        self.sums: list[Integers] = []
        self.radii: list[int] = []
        self.orders: list[int] = []
        self.shares: list[Fraction] = []


def watch(monkeypatch: pytest.MonkeyPatch, fit: Any, rows: float = 40.0) -> Watched:
    """Run a fit whose noisy numbers are made up, so that on neighbouring rows it goes the same way."""
    found, draw = Watched(), np.random.default_rng(3)

    def release(self: Payment, total: Total, share: Fraction) -> Any:
        secret = open_secret(total.value)
        found.sums.append(secret)
        found.radii.append(total.ball.radius)
        found.orders.append(total.ball.order)
        found.shares.append(share)
        self.left -= share
        return draw.normal(size=len(secret)) * rows / 4 + rows

    with monkeypatch.context() as patch:
        patch.setattr(Payment, "release", release)
        fit()
    return found


def far(one: Watched, other: Watched) -> list[float]:
    """How far each sum of two runs lies from the other's, as a share of the radius."""
    assert [len(some) for some in one.sums] == [len(some) for some in other.sums]
    assert one.radii == other.radii
    assert one.shares == other.shares
    moved = []
    for a, b, radius, order in zip(one.sums, other.sums, one.radii, one.orders, strict=True):
        change = (a - b).astype(object)
        size = sum(abs(int(x)) for x in change) if order == 1 else float(sum(int(x) ** 2 for x in change)) ** 0.5
        moved.append(float(size) / radius)
    return moved
