"""Pictures of a guarantee: its loss, its delta curve, its trade-off curve, its composition. One call each; the axes come back.

Every curve is a certified upper bound on what is lost; a band shows how far below it the truth may lie. The law of the loss
(``plot_loss``) is a picture only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.calls import called_as
from discreet.canvas import BLUE, GREEN, GREY, ORANGE, RED, check_ending, finish, new_axes, save
from discreet.errors import ParameterError
from discreet.exact import positive, probability, rational, shown, up, whole
from discreet.privacy.accountant import composition
from discreet.privacy.guarantee import Privacy, pure, zcdp
from discreet.privacy.losses import Concentrated
from discreet.privacy.losses.base import title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy.loss_variable import LossVariable

__all__ = ["check_ending", "plot", "plot_composition", "plot_delta", "plot_loss", "plot_tradeoff", "plot_two_laplace", "save"]

_POINTS = 25  # evaluations of a curve
_FLOOR = 1e-10  # where a delta curve ends


@called_as("gdp(1)")
def plot(privacy: Privacy, kind: str = "delta", **options: object) -> Axes:
    """The picture of this kind: "delta", "loss" or "tradeoff"."""
    kinds: dict[str, Callable[..., Axes]] = {"delta": plot_delta, "loss": plot_loss, "tradeoff": plot_tradeoff}
    if not isinstance(kind, str) or kind not in kinds:
        raise ParameterError(f'There is no plot of kind {shown(repr(kind))}; write "delta", "loss" or "tradeoff".')
    return kinds[kind](privacy, **options)


def _check_guarantee(privacy: object) -> None:
    """Refuse to draw what is no guarantee."""
    if not hasattr(privacy, "epsilon_bounds"):
        raise ParameterError(f"A guarantee is drawn, not {type(privacy).__name__}; write gdp(1), or a mechanism's .privacy.")


@called_as("gdp(1)")
def plot_delta(privacy: Privacy, *, ax: Axes | None = None) -> Axes:
    """delta(epsilon), the smallest delta that holds with each epsilon, beside what cruder accounting would promise."""
    _check_guarantee(privacy)
    ax = new_axes(ax)
    leak = up(composition.disclosure(privacy.parts))
    lowest = max(_FLOOR, leak)
    most = composition.supremum(privacy.parts)
    top = min(privacy.epsilon(min(lowest * 1.0001, 0.999)), math.inf if most is None else up(most)) or 1.0
    # Curves with a largest loss fall off a cliff at their end: look closely there.
    epsilons = np.unique([*np.linspace(0, top, _POINTS), *(top * (1 - 3.0 ** -np.arange(4, 13)) if most else ()), top])
    epsilons = np.append(epsilons, 1.15 * top) if leak > _FLOOR else epsilons
    low, high = np.maximum([_deltas(privacy, epsilon) for epsilon in epsilons.tolist()], lowest / 10).T
    ax.set(yscale="log", xlim=(0, epsilons[-1]), ylim=(lowest / 2, 1), xlabel="ε", ylabel="δ")
    for label, other, colour in _cruder(privacy):
        crude = np.array([_deltas(other, epsilon)[1] for epsilon in epsilons.tolist()])
        if crude.min() < 0.5:
            ax.plot(epsilons, np.maximum(crude, lowest / 10), color=colour, linewidth=1.2, linestyle="--", label=label)
    if np.any(high > 1.02 * low):
        ax.fill_between(epsilons, low, high, color=BLUE, alpha=0.2, linewidth=0, label="where the smallest δ may lie")
    ax.plot(epsilons, high, color=BLUE, linewidth=2.2, label="discreet, certified")
    return finish(ax, f"δ(ε): {title_of(privacy.parts)}", legend="best")


def _deltas(privacy: Privacy, epsilon: float) -> tuple[float, float]:
    """Bounds on delta, as fine as a picture shows."""
    return composition.delta_bounds(privacy.parts, rational("epsilon", epsilon), rough=True)


def _cruder(privacy: Privacy) -> list[tuple[str, Privacy, str]]:
    """Other ways to a delta curve, where they exist and differ."""
    others = []
    uses = sum(count for _, count in privacy.parts)
    if math.isfinite(privacy.rho) and not all(isinstance(loss, Concentrated) for loss, _ in privacy.parts):
        others.append(("through zCDP", zcdp(Fraction(privacy.rho)), GREEN))
    most = composition.supremum(privacy.parts)
    if most and uses > 1 and not composition.disclosure(privacy.parts):
        others.append(("sum of the epsilons", pure(most), ORANGE))
    return others


@called_as("gdp(1)")
def plot_tradeoff(privacy: Privacy, *, ax: Axes | None = None) -> Axes:
    """The errors an attacker must make: no test for one person has error rates below the curve."""
    _check_guarantee(privacy)
    ax = new_axes(ax, square=True)
    top = privacy.epsilon(min(max(1e-6, 2 * up(composition.disclosure(privacy.parts))), 0.999))
    epsilons = min(top, 60.0) * np.linspace(0, 1, _POINTS) ** 1.5  # closer where the curve bends most
    deltas = np.array([_deltas(privacy, epsilon)[1] for epsilon in epsilons.tolist()])
    fpr = np.append(np.geomspace(1e-5, 0.02, 60), np.linspace(0.02, 1, 200))
    factors, rest = np.exp(epsilons)[:, None], 1 - deltas[:, None]
    fnr = np.maximum(rest - factors * fpr, (rest - fpr) / factors).max(axis=0).clip(0, 1)
    ax.fill_between(fpr, 0, fnr, color=BLUE, alpha=0.12, linewidth=0)
    ax.plot(fpr, fnr, color=BLUE, linewidth=2.2, label="best possible attacker")
    ax.plot([0, 1], [1, 0], color=GREY, linewidth=1.2, linestyle="--", label="blind guessing")
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="false-positive rate", ylabel="false-negative rate", aspect="equal")
    return finish(ax, f"Trade-off: {title_of(privacy.parts)}", legend="upper right")


@called_as("pure(0.1), 100")
def plot_composition(
    each: Privacy | object, counts: int | Sequence[int], delta: object = 1e-6, *, ax: Axes | None = None
) -> Axes:
    """epsilon of many uses at this delta: basic and advanced composition, zCDP, and the tight number.

    ``each`` is a guarantee, or an epsilon for pure differential privacy; ``counts`` the numbers of uses, or the largest one.
    The lectures' theorems: k epsilon, and epsilon sqrt(2 k ln(1/delta)) + k epsilon (e^epsilon - 1). For a guarantee that is not
    pure they are applied to its (epsilon_i, delta_i) with the deltas shared out evenly.
    """
    ax = new_axes(ax)
    one = each if isinstance(each, Privacy) else pure(each)
    chance = probability("delta", delta, zero=False, hint="a small chance such as 1e-6")
    ks = _counts(counts)
    curves = {
        "basic composition": ([_basic(one, k, chance) for k in ks], GREY, ":"),
        "advanced composition": ([_advanced(one, k, chance) for k in ks], ORANGE, "-."),
        "zCDP": ([zcdp(k * Fraction(one.rho)).epsilon(chance) for k in ks] if math.isfinite(one.rho) else [], GREEN, "--"),
        "discreet, certified": ([(k * one).epsilon(chance) for k in ks], BLUE, "-"),
    }
    for label, (values, colour, line) in curves.items():
        if values and math.isfinite(max(values)):
            ax.plot(ks, values, color=colour, linestyle=line, linewidth=2.2 if line == "-" else 1.6, label=label)
    ours = max(curves["discreet, certified"][0])
    highest = max(ours, *(value for values, *_ in curves.values() for value in values[-1:] if math.isfinite(value)))
    ax.set(xlim=(0, ks[-1]), ylim=(0, min(highest, 6 * ours) * 1.05), xlabel="uses", ylabel=f"ε at δ = {float(chance):g}")
    return finish(ax, f"Composition: {title_of(one.parts)} each", legend="best")


def _basic(one: Privacy, k: int, delta: Fraction) -> float:
    return k * (one.epsilon(0) if math.isfinite(one.epsilon(0)) else one.epsilon(delta / k))


def _advanced(one: Privacy, k: int, delta: Fraction) -> float:
    known = math.isfinite(one.epsilon(0))
    e, slack = one.epsilon(0 if known else delta / (2 * k)), delta if known else delta / 2
    return e * math.sqrt(2 * k * -math.log(slack)) + k * e * math.expm1(e) if e < 700 else math.inf


def _counts(counts: int | Sequence[int]) -> list[int]:
    if isinstance(counts, Sequence):
        found = sorted({whole("A number of uses", count) for count in counts})
        if not found:
            raise ParameterError("There is nothing to draw without counts; write counts=1000 or counts=[1, 10, 100].")
        return found
    most = whole("The number of uses", counts)
    return sorted({max(1, round(most * (step / 15) ** 2)) for step in range(16)})


_FEW = 8  # atoms that can each carry a number
_SEEN = 1e-3  # atoms that weigh less, all together, are not drawn


@called_as("gdp(1)")
def plot_loss(privacy: Privacy, *, epsilon: object = None, ax: Axes | None = None) -> Axes:
    """The law of the privacy loss: atoms as stems, the density as a filled curve, the mean as a dashed line.

    With ``epsilon`` the losses beyond it are marked, their probability P[L > epsilon] beside the definition's delta(epsilon).
    """
    _check_guarantee(privacy)
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
