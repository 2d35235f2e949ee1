"""The lectures' pictures of the privacy loss: its law, and the two Laplace distributions it comes from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.calls import called_as
from discreet.canvas import BLUE, GREY, ORANGE, RED, check_guarantee, finish, new_axes
from discreet.errors import ParameterError
from discreet.exact import positive, rational, shown
from discreet.privacy.losses.base import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy.guarantee import Privacy
    from discreet.privacy.loss_variable import LossVariable

__all__ = ["plot_loss", "plot_two_laplace"]

_FEW = 8  # atoms that can each carry a number
_SEEN = 1e-3  # atoms that weigh less, all together, are not drawn


@called_as("gdp(1)")
def plot_loss(privacy: Privacy, *, epsilon: object = None, ax: Axes | None = None) -> Axes:
    """The law of the privacy loss: atoms as stems, the density as a filled curve, the mean as a dashed line.

    With ``epsilon`` the losses beyond it are marked, their probability P[L > epsilon] beside the definition's delta(epsilon).
    """
    check_guarantee(privacy)
    ax = new_axes(ax)
    loss = privacy.loss
    low, high = _window(loss)
    dotted = float(loss.law.masses.sum()) > _SEEN
    both = dotted and loss.law.spread is not None
    stems = ax.twinx() if both else ax
    edge = None if epsilon is None else float(rational("epsilon", epsilon))
    if loss.law.spread is not None:
        _draw_density(ax, loss, low, high, edge)
    if dotted:
        _draw_atoms(stems, loss, low, high, edge)
    if both:
        stems.set_ylabel("probability of an atom", color=ORANGE)
        stems.tick_params(axis="y", colors=ORANGE)
        stems.spines[["top", "left"]].set_visible(False)
    ax.axvline(loss.law.mean, color=GREY, linestyle="--", linewidth=1.2, label=f"mean {loss.law.mean:.3g}")
    if edge is not None:
        tail, delta = loss.tail(edge), privacy.delta(edge)
        ax.axvline(edge, color=RED, linewidth=1.4, label=f"ε = {edge:g}: P[L > ε] = {tail:.2g}, δ(ε) = {delta:.2g}")
    if loss.law.infinity:
        ax.plot([], [], " ", label=f"P[L = ∞] = {loss.law.infinity:.2g}")
    ax.set(xlim=(low, high), xlabel="privacy loss  ln P/Q", ylabel="density" if loss.law.spread else "probability")
    return finish(ax, f"Privacy loss: {title_of(privacy.parts)}", legend="upper left")


def _window(loss: LossVariable) -> tuple[float, float]:
    """From the least to the largest loss that can be seen."""
    mean, sd = loss.law.mean, math.sqrt(loss.law.variance) or 1.0
    low, high = max(loss.law.support[0], mean - 5 * sd), min(loss.law.support[1], mean + 5 * sd)
    margin = 0.08 * ((high - low) or 2.0)
    return low - margin, high + margin


def _draw_density(ax: Axes, loss: LossVariable, low: float, high: float, edge: float | None) -> None:
    x = np.linspace(low, high, 601)
    y = loss.density(x)
    ax.fill_between(x, y, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(x, y, color=BLUE, linewidth=1.8)
    if edge is not None:
        ax.fill_between(x, y, where=(x > edge).tolist(), color=RED, alpha=0.5, linewidth=0)
    ax.set_ylim(0, 1.25 * float(y.max()) or 1.0)


def _draw_atoms(ax: Axes, loss: LossVariable, low: float, high: float, edge: float | None) -> None:
    losses, masses = loss.law.losses, loss.law.masses
    seen = (losses >= low) & (losses <= high) & (masses > 1e-6 * masses.max())
    losses, masses = losses[seen], masses[seen]
    colours = [RED if edge is not None and at > edge else ORANGE for at in losses.tolist()]
    few = losses.size <= _FEW
    ax.vlines(losses, 0, masses, colors=colours, linewidth=2.2 if few else max(0.6, min(2.0, 150 / losses.size)))
    if losses.size <= 60:
        ax.scatter(losses, masses, c=colours, s=36 if few else 12, zorder=3)
    for at, mass in zip(losses.tolist(), masses.tolist(), strict=True) if few else ():
        ax.annotate(f"{mass:.3g}", (at, mass), (0, 6), textcoords="offset points", ha="center", fontsize=9)
    ax.set_ylim(0, 1.25 * float(masses.max()))


@called_as("1")
def plot_two_laplace(epsilon: object, *, ax: Axes | None = None) -> Axes:
    """A count with Laplace noise on two neighbouring data sets: both densities, and below them the loss of every output."""
    exact = positive("epsilon", epsilon)
    if exact > 1000:
        raise ParameterError(f"With epsilon = {shown(epsilon)} there is nothing to see; write a number such as 1.")
    ax, e = new_axes(ax), float(exact)
    x = np.unique([*np.linspace(-5 / e, 1 + 5 / e, 241), 0.0, 1.0])
    with_one, without = (e / 2 * np.exp(-e * np.abs(x - centre)) for centre in (1, 0))
    # Two panels inside the caller's axes, which keeps the title.
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    above, below = ax.inset_axes((0, 0.45, 1, 0.55)), ax.inset_axes((0, 0, 1, 0.37))
    for density, colour, label in ((without, BLUE, "without Alice"), (with_one, ORANGE, "with Alice")):
        above.fill_between(x, density, color=colour, alpha=0.22, linewidth=0)
        above.plot(x, density, color=colour, linewidth=1.8, label=label)
    above.set(xlim=(x[0], x[-1]), ylim=(0, 0.56 * e), ylabel="density")
    above.tick_params(labelbottom=False)
    below.plot(x, np.log(with_one / without), color=RED, linewidth=1.8)
    below.set(xlim=(x[0], x[-1]), ylim=(-1.3 * e, 1.3 * e), yticks=[-e, 0, e], yticklabels=["−ε", "0", "ε"])
    below.set(xlabel="noisy count minus the true count without Alice", ylabel="privacy loss")
    for panel in (finish(above, "", legend="upper right"), finish(below, "")):
        panel.yaxis.set_label_coords(-0.1, 0.5)
    ax.set_title(f"Laplace noise, ε = {e:g}: the loss stays between −ε and ε", loc="left", fontsize=11)
    return ax
