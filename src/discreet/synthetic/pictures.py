"""Pictures of a model: a column as it was measured and as it is drawn, and which columns hang together."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from discreet.canvas import BLUE, GREY, ORANGE, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.synthetic.model import Synthetic

_NAMES = 20


def draw_column(model: Synthetic, column: str, ax: Axes | None) -> Axes:
    """Noisy counts of a column's cells with their noise, and what the model makes of them."""
    (place,) = model.domain.places([column])
    coding, own = model.domain.columns[place], model.measured.own[place]
    ax = new_axes(ax)
    cells = np.arange(coding.count)
    counts = own.real([coding.count])
    ax.errorbar(
        cells, counts, yerr=1.96 * own.deviation, fmt="o", markersize=3, color=GREY, elinewidth=0.7, label="measured, with noise"
    )
    ax.bar(cells, model.total * model.project((place,)), 0.9, color=BLUE, alpha=0.75, label="model")
    step = -(-coding.count // _NAMES)
    ax.set_xticks(cells[::step], [coding.label(int(cell)) for cell in cells[::step]], rotation=60, fontsize=8)
    ax.set_ylabel("rows")
    return finish(ax, f"{coding.name}: what was measured, and the model", legend="best")


def draw_tree(model: Synthetic, ax: Axes | None) -> Axes:
    """Columns in a circle: lines between those that were measured together, wider the more often."""
    ax = new_axes(ax, square=True)
    names = model.domain.names
    spots = [(math.cos(2 * math.pi * i / len(names)), math.sin(2 * math.pi * i / len(names))) for i in range(len(names))]
    often: dict[tuple[int, ...], int] = {}
    for one in model.measured.later:
        for pair in combinations(one.columns, 2):
            often[pair] = often.get(pair, 0) + 1
    for (a, b), times in often.items():
        ax.plot(*zip(spots[a], spots[b], strict=True), color=ORANGE, linewidth=0.8 + times, zorder=1)
    for (x, y), name in zip(spots, names, strict=True):
        ax.plot([x], [y], "o", color=BLUE, zorder=2)
        ax.annotate(name, (1.12 * x, 1.12 * y), ha="left" if x >= 0 else "right", va="center", fontsize=8)
    ax.set_xlim(-1.9, 1.9)
    ax.set_ylim(-1.4, 1.4)
    finish(ax, "What was measured together")
    ax.grid(visible=False)
    ax.set_axis_off()
    return ax
