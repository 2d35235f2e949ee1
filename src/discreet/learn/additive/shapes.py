"""Pictures of an additive model: the shape of every feature, with what noise may have done to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.canvas import BLUE, GREEN, GREY, ORANGE, RED, finish, stacked_axes
from discreet.errors import ParameterError
from discreet.exact import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 12  # panels, unless told which
_NAMES = 24


def draw(model: Any, features: Sequence[str] | None = None) -> list[Axes]:
    """A panel for every feature, those that vary most first: numbers as steps, lists as points, both with bars of two standard
    deviations of noise."""
    names = [one.name for one in model.features_]
    if features is None:
        order = np.argsort(-model.feature_importances_, kind="stable")[:_MOST].tolist()
    else:
        asked = [features] if isinstance(features, str) else list(features)
        strange = [one for one in asked if one not in names]
        if strange or not asked:
            raise ParameterError(f"{shown(strange[0] if strange else asked)} is no feature; there are {', '.join(names[:20])}.")
        order = [names.index(one) for one in asked]
    panels = stacked_axes(len(order))
    for ax, place in zip(panels, order, strict=True):
        _draw_feature(ax, model, place)
        finish(ax, f"{names[place]}: what it adds to {_what(model)}", legend="best" if len(model.intercept_) > 1 else None)
    return panels


def _what(model: Any) -> str:
    if not hasattr(model, "classes_"):
        return "the target"
    return f"the log-odds of {model.classes_[-1]}" if len(model.classes_) == 2 else "the score of a class"


def _draw_feature(ax: Axes, model: Any, place: int) -> None:
    feature, shape = model.features_[place], model.shapes_[place] * _scale(model)
    spread = 2 * model.deviations_[place] * _scale(model)
    colours = (BLUE, ORANGE, GREEN, RED, GREY)
    runs = model.bins_.runs(feature)
    for i, (line, noise) in enumerate(zip(shape, spread, strict=True)):
        colour, name = colours[i % len(colours)], str(model.classes_[i]) if len(shape) > 1 else None
        if feature.values is None:
            edges = model.bins_.edges(place)
            ax.stairs(line[:runs], edges, baseline=None, color=colour, linewidth=1.6, label=name)
            ax.stairs((line + noise)[:runs], edges, baseline=(line - noise)[:runs], fill=True, color=colour, alpha=0.18)
        else:
            ax.errorbar(np.arange(len(line)), line, yerr=noise, fmt="o", markersize=4, color=colour, capsize=2, label=name)
    if feature.values is not None:
        cells = model.bins_.names(place)
        step = -(-len(cells) // _NAMES)
        ax.set_xticks(range(0, len(cells), step), cells[::step], rotation=60, fontsize=8)
    ax.axhline(0, color=GREY, linewidth=0.8)


def _scale(model: Any) -> float:
    """Effects on a target, in its own units."""
    if hasattr(model, "classes_"):
        return 1.0
    return float(model.target_.upper - model.target_.lower) / 2
