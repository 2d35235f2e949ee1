"""An estimate as a picture: bars with 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.canvas import BLUE, finish, new_axes
from discreet.tables import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.local.tasks.estimate import Estimate
    from discreet.local.tasks.hitters import Hitters

__all__ = ["plot"]

_MOST_BARS = 30
_LONGEST = 40


def plot(estimate: Estimate | Hitters, ax: Axes | None) -> Axes:
    """The largest shares, the largest on top."""
    order = np.argsort(-estimate.values, kind="stable")[:_MOST_BARS]
    low, high = estimate.interval()
    values = 100 * estimate.values[order]
    arms = [values - 100 * low[order], 100 * high[order] - values]
    ax = new_axes(ax)
    ax.barh(range(order.size), values, xerr=np.maximum(arms, 0.0), color=BLUE, ecolor="#222222", capsize=3)
    ax.set_yticks(range(order.size), [_label(str(estimate.items[i])) for i in order], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("percent, with 95 % intervals")
    kept = "" if order.size == len(estimate.items) else f", the largest {order.size} of {len(estimate.items):,}"
    return finish(ax, f"Shares from {estimate.count:,} randomised reports{kept}")


def _label(text: str) -> str:
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return clean(short).replace("$", r"\$")  # a dollar would start a formula
