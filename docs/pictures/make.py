"""Draw the pictures of the README and of the gallery: ``python docs/pictures/make.py``. The same code gives the same files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes

import discreet as dp
from discreet.canvas import BLUE, GREEN, GREY, ORANGE, RED, finish

HERE = Path(__file__).parent


def loss(left: Axes, right: Axes) -> None:
    """A noisy count with and without one person, and the privacy loss that comes of it."""
    dp.plots.plot_two_laplace(1, ax=left)
    dp.Laplace(sensitivity=1.0, epsilon=1).privacy.plot("loss", ax=right)


def scales(left: Axes, right: Axes) -> None:
    """Laplace noise of three scales around the counts 50 and 51, and the ratio of the two."""
    x = np.linspace(43, 58, 601)
    for b, colour in ((1, BLUE), (2, ORANGE), (4, GREEN)):
        with_alice, without = (np.exp(-np.abs(x - at) / b) / (2 * b) for at in (51, 50))
        left.plot(x, with_alice, color=colour, linewidth=2, label=f"b = {b}, with Alice")
        left.plot(x, without, color=colour, linewidth=1.2, linestyle="--", label=f"b = {b}, without")
        right.plot(x, with_alice / without, color=colour, linewidth=2, label=f"b = {b}: at most {math.exp(1 / b):.3f}")
    left.set(xlabel="noisy count", ylabel="density", ylim=(0, 0.62))
    right.set(xlabel="noisy count", ylabel="times as likely with Alice", ylim=(0, 3.3))
    finish(left, "Larger scales b hide Alice better", legend="upper left")
    finish(right, "No answer is more than exp(1/b) times as likely", legend="upper left")


def cities(left: Axes, right: Axes) -> None:
    """The secret society: where its members live, and where four and a hundred of them meet."""
    members = {"Alice": (34, -118), "Bob": (40, -74), "Charlie": (38, -77), "Xander": (43, -79)}
    places = {
        "Ottawa": (45, -75),
        "Toronto": (43, -79),
        "New York": (40, -74),
        "Washington": (38, -77),
        "Memphis": (35, -90),
        "Los Angeles": (34, -118),
        "La Habana": (23, -82),
    }
    diameter = math.dist((20, -125), (50, -65))
    choice = dp.Exponential(sensitivity=diameter, epsilon=2, monotonic=True)
    for ax, times in ((left, 1), (right, 25)):
        homes = [*members.values()] * times
        scores = [-sum(min(math.dist(home, place), diameter) for home in homes) for place in places.values()]
        for (name, (north, east)), chance in zip(places.items(), choice.probabilities(scores).tolist(), strict=True):
            ax.scatter(east, north, s=1500 * chance, color=BLUE, alpha=0.35, linewidth=0)
            ax.scatter(east, north, s=14, color=BLUE)
            near = {"Washington": (8, -14), "Toronto": (-46, 12), "Memphis": (-10, -16)}.get(name, (6, 6))
            ax.annotate(f"{name} {chance:.0%}", (east, north), near, textcoords="offset points", fontsize=9)
        ax.scatter(-87, 38.75, marker="x", s=60, color=RED, label="mean of the members, 38.75, −87")
        ax.set(xlim=(-125, -65), ylim=(20, 50), xlabel="longitude", ylabel="latitude")
        finish(ax, f"Where {4 * times} members meet, ε = 2", legend="upper left")


def losses(left: Axes, right: Axes) -> None:
    """The loss of discrete Laplace noise, which has two atoms, and of Gaussian noise, which has no end."""
    dp.Laplace(sensitivity=1, epsilon=1).privacy.plot("loss", ax=left)
    dp.Gaussian(sensitivity=1.0, sigma=1.5).privacy.plot("loss", epsilon=1, ax=right)
    left.set_ylim(0, 1)


def gaussians(left: Axes, right: Axes) -> None:
    """sigma by the classic formula, through zCDP, and exactly; and what the classic one would leak beyond its range."""
    epsilons = np.geomspace(0.1, 20, 60)
    classic = np.sqrt(2 * math.log(1.25 / 1e-6)) / epsilons
    through = [dp.calibrate.noise(lambda s: dp.zcdp(1 / (2 * s * s)), epsilon=float(e), delta=1e-6) for e in epsilons]
    exact = np.array([dp.Gaussian(sensitivity=1.0, epsilon=float(e), delta=1e-6).sigma for e in epsilons])
    proved = epsilons < 1
    left.plot(epsilons[proved], classic[proved] / exact[proved], color=ORANGE, linewidth=2, label="classic, proved for ε < 1")
    left.plot(epsilons[~proved], classic[~proved] / exact[~proved], color=ORANGE, linestyle=":", label="classic, not proved")
    left.plot(epsilons, through / exact, color=GREEN, linestyle="--", linewidth=1.6, label="through zCDP")
    left.axhline(1, color=BLUE, linewidth=2.2, label="exact")
    left.set(xscale="log", xlabel="ε", ylabel="σ, as a multiple of the exact one", ylim=(0.8, 1.6))
    leaked = [
        dp.Gaussian(sensitivity=1.0, sigma=float(s)).privacy.delta(float(e)) for s, e in zip(classic, epsilons, strict=True)
    ]
    right.plot(epsilons, leaked, color=ORANGE, linewidth=2, label="δ of the classic σ")
    right.axhline(1e-6, color=GREY, linestyle="--", linewidth=1.2, label="δ that was promised")
    right.set(xscale="log", yscale="log", xlabel="ε", ylabel="δ", ylim=(1e-10, 1e-4))
    finish(left, "Three formulas for Gaussian noise, δ = 10⁻⁶", legend="upper right")
    finish(right, "Far beyond ε = 1 the classic formula leaks too much", legend="upper left")


def composition(left: Axes, right: Axes) -> None:
    """Many questions, and many people."""
    dp.plots.plot_composition(dp.Laplace(sensitivity=1.0, epsilon=0.1).privacy, 300, ax=left)
    noise = dp.Gaussian(sensitivity=1.0, epsilon=0.5, delta=1e-6).privacy
    sizes = range(1, 21)
    right.plot(
        sizes, [dp.formulas.group_privacy(0.5, 1e-6, k)[1] for k in sizes], color=GREY, linestyle=":", label="the lecture's"
    )
    geometric = [dp.formulas.group_privacy_geometric(0.5, 1e-6, k)[1] for k in sizes]
    right.plot(sizes, geometric, color=ORANGE, linestyle="-.", label="the geometric sum")
    exact = [noise.group(k).delta(k * 0.5) for k in sizes]
    right.plot(sizes, exact, color=BLUE, linewidth=2.2, label="Gaussian noise itself")
    right.set(yscale="log", xlabel="people in the group, k", ylabel="δ at kε", xticks=[1, 5, 10, 15, 20])
    finish(right, "Group privacy: ε = 0.5, δ = 10⁻⁶ for one", legend="upper left")


def needed(left: Axes, right: Axes) -> None:
    """The error of a mean with noise on the mean and with noise on every value, and the rows that an error takes."""
    n = np.geomspace(10, 1e6, 60)
    sigma = 5 * math.sqrt(2 / 0.5)  # b = 5, rho = 0.5
    left.plot(n, 1.96 * sigma / np.sqrt(n), color=ORANGE, linewidth=2, label="noise on every value")
    left.plot(n, 1.96 * sigma / n, color=BLUE, linewidth=2.2, label="noise on the mean")
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel="error, 95 % of the time")
    errors = np.geomspace(0.01, 1, 13)
    found = [dp.needed.mean(lower=-5, upper=5, accuracy=float(error), rho=0.5) for error in errors]
    right.plot(errors, [one.local for one in found], color=ORANGE, linewidth=2, label="noise on every value")
    right.plot(errors, [one.rows for one in found], color=BLUE, linewidth=2.2, label="noise on the mean")
    right.set(xscale="log", yscale="log", xlabel="error that is wanted", ylabel="rows that are needed")
    finish(left, "A mean of values in [−5, 5], ρ = 0.5", legend="upper right")
    finish(right, "dp.needed.mean", legend="upper right")


def queries(left: Axes, right: Axes) -> None:
    """Counting queries one by one and from a histogram; and what clamping does to a total."""
    size, epsilon = 64, 1
    ks = np.unique(np.geomspace(1, 10_000, 40).astype(int)).tolist()
    misses = [0.05 / k for k in ks]
    pure = [dp.Laplace(sensitivity=k, epsilon=epsilon).error(1 - miss) for k, miss in zip(ks, misses, strict=True)]
    gauss = [dp.Gaussian(sensitivity=math.sqrt(k), epsilon=1, delta=1e-6).error(1 - m) for k, m in zip(ks, misses, strict=True)]
    variance = dp.Laplace(sensitivity=1, epsilon=epsilon).variance
    from_bins = [math.sqrt(2 * size * variance * math.log(2 / miss)) for miss in misses]
    left.plot(ks, pure, color=GREY, linestyle=":", linewidth=2, label="one by one, Laplace")
    left.plot(ks, gauss, color=ORANGE, linestyle="-.", linewidth=2, label="one by one, Gaussian, δ = 10⁻⁶")
    left.plot(ks, from_bins, color=BLUE, linewidth=2.2, label="from one histogram of 64 bins")
    left.set(xscale="log", yscale="log", xlabel="queries k", ylabel="error of the worst, in people (95 %)")
    epsilons = np.geomspace(0.05, 2, 60)
    q = np.exp(-epsilons)
    right.plot(epsilons, 10_000 * q / (1 - q**2), color=RED, linewidth=2.2, label="bias after clamping")
    spread = [1.96 * math.sqrt(10_000 * dp.Laplace(sensitivity=1, epsilon=float(e)).variance) for e in epsilons]
    right.plot(epsilons, spread, color=BLUE, linewidth=2, label="noise without clamping, 95 %")
    right.set(xscale="log", yscale="log", xlabel="ε", ylabel="people in the total of 10,000 empty bins")
    finish(left, "Counting queries, ε = 1", legend="upper left")
    finish(right, "Clamping negative counts at zero", legend="upper right")


def synthetic(left: Axes, right: Axes) -> None:
    """Synthetic data of the Adult table, as ``benchmarks/synthetic.py`` measures it."""
    tables = {
        "discreet\nε = 0.1": (0.104, 0.173, 0.855, BLUE),
        "discreet\nε = 1": (0.033, 0.078, 0.907, BLUE),
        "discreet\nε = 10": (0.021, 0.062, 0.917, BLUE),
        "OpenDP\nMST, ε = 1": (0.054, 0.118, 0.891, ORANGE),
        "smartnoise\nMST, ε = 1": (0.137, 0.294, 0.828, ORANGE),
        "other real\nrows": (0.039, 0.091, 0.923, GREY),
    }
    for i, (name, (pairs, triples, _, colour)) in enumerate(tables.items()):
        left.bar([i - 0.2, i + 0.2], [pairs, triples], 0.36, color=[colour, colour], alpha=0.9, edgecolor="white")
        left.annotate(f"{pairs:.3f}  {triples:.3f}", (i, triples), ha="center", va="bottom", fontsize=8)
        right.bar([i], [tables[name][2]], 0.6, color=colour, alpha=0.9)
        right.annotate(f"{tables[name][2]:.3f}", (i, tables[name][2]), ha="center", va="bottom", fontsize=8)
    for ax, what in ((left, "mean total variation"), (right, "area under the curve")):
        ax.set_xticks(range(len(tables)), [*tables], fontsize=8)
        ax.set_ylabel(what)
    right.set_ylim(0.7, 0.96)
    finish(left, "All marginals of two and of three columns")
    finish(right, "Gradient boosting, tried on real rows")


def learning(left: Axes, right: Axes) -> None:
    """Adult by epsilon, and k-means, as ``benchmarks/learning.py`` found them (learning.json)."""
    lines = json.loads((HERE / "learning.json").read_text())

    def found(what: str, model: str) -> tuple[list[float], list[float]]:
        """Epsilons, and means."""
        own = [(cost, said) for said_of, name, cost, said, *_ in lines if (said_of, name) == (what, model) and "<>" not in cost]
        return [float(cost.split(",")[0]) for cost, _ in own if cost[0].isdigit()], [float(said.split(" ")[0]) for _, said in own]

    _, (plain,) = found("Adult, AUC", "scikit-learn's logistic")
    left.axhline(plain, color=GREY, linestyle="--", linewidth=1.2, label="logistic regression, no privacy")
    left.plot(*found("Adult, AUC", "AdditiveClassifier"), "o-", color=BLUE, linewidth=2.2, label="AdditiveClassifier")
    left.plot(*found("Adult, AUC", "interpret's DP-EBM"), "s-", color=ORANGE, linewidth=2, label="interpret's DP-EBM")
    left.set(xscale="log", xlabel="ε, with δ = 10⁻⁶", ylabel="area under the curve", ylim=(0.84, 0.93))
    for name, colour in (("wine", BLUE), ("digits", GREEN)):
        what = f"{name}, inertia / best"
        right.plot(*found(what, "KMeans"), "o-", color=colour, linewidth=2, label=name)
        _, (alone,) = found(what, "the mean itself")
        right.axhline(alone, color=colour, linestyle="--", linewidth=1.2, label=f"{name}, one centre at the mean itself")
    right.set(xscale="log", xlabel="ε, with δ = 10⁻⁵", ylabel="inertia, as a multiple of the best")
    finish(left, "Adult, rows that were left out", legend="best")
    finish(right, "K-means", legend="upper right")


def texts(left: Axes, right: Axes) -> None:
    """What an attacker gets of substituted words, and what a spam filter learns from them."""
    words = dp.texts.Vocabulary.english(5000)
    tree, epsilons = dp.texts.Tree.brown(words), [1, 2, 4, 6, 8, 10, 12, 14, 16, 20]
    series = {
        "k-ary": [dp.texts.Substitute(words, epsilon, length=20) for epsilon in epsilons],
        "tree": [dp.texts.Substitute(words, epsilon, length=20, tree=tree) for epsilon in epsilons],
        "metric, by its worst word": [dp.texts.Substitute(words, epsilon / 4, length=20, distance=tree) for epsilon in epsilons],
    }
    for (name, tasks), colour in zip(series.items(), (BLUE, ORANGE, GREEN), strict=True):
        left.plot(epsilons, [100 * task.terms.guessed for task in tasks], color=colour, marker="o", label=name)
    left.axhline(100 * series["k-ary"][0].terms.blind, color=GREY, linewidth=1, label="without any report")
    left.set(xlabel="epsilon of a word", ylabel="words guessed right, %", ylim=(0, 102))
    learned = {  # as benchmarks/texts.py measured it, mean of ten runs
        "k-ary": [0.739, 0.861, 0.919, 0.945, 0.958, 0.965, 0.967],
        "tree": [0.521, 0.772, 0.870, 0.913, 0.939, 0.951, 0.956],
        "metric, by its worst word": [0.489, 0.556, 0.833, 0.859, 0.881, 0.913, 0.934],
    }
    for (name, areas), colour in zip(learned.items(), (BLUE, ORANGE, GREEN), strict=True):
        right.plot([1, 2, 4, 6, 8, 10, 12], areas, color=colour, marker="o", label=name)
    right.axhline(0.967, color=GREY, linewidth=1, label="messages as they are")
    right.set(xlabel="epsilon of a word; a message costs twenty times as much", ylabel="area under the curve", ylim=(0.45, 1.0))
    finish(left, "What an attacker gets", legend="upper left")
    finish(right, "A spam filter that learns from substituted messages", legend="best")


PICTURES: tuple[Callable[[Axes, Axes], None], ...] = (
    loss,
    scales,
    cities,
    losses,
    gaussians,
    composition,
    needed,
    queries,
    synthetic,
    learning,
    texts,
)


def draw(picture: Callable[[Axes, Axes], None]) -> Path:
    """Two panels side by side, in a file named as their function."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    picture(left, right)
    file = dp.plots.save(left, HERE / f"{picture.__name__}.svg")
    pyplot.close(figure)
    return file


if __name__ == "__main__":
    for one in PICTURES:
        print(f"wrote {draw(one)}")
