"""Whether the errors that models of the Adult table state are honest: how often their intervals hold the private table.

Twelve models of 39,073 rows and 14 columns, on four splits at epsilon 0.3, 1 and 4 each, delta 1e-9. Every model is asked for all
marginals of two columns, of which it measured a few, and for made-up questions of one to three columns, others for every split:
counts, means and medians of groups. What is compared is the same question answered by the protected rows themselves. Printed is
how often intervals of 95 % and of 50 % held, and how wide they are; the exit code is 1 if one of the four kinds of 95 % intervals
held less than 0.92 or more than 0.98 of the time, over all models. At the end: whether clamping biases a mean.

``python benchmarks/synthetic_errors.py [epsilon ...]``; ``--splits=1,2`` takes others than 11 to 14.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from typing import Any

import numpy as np
from synthetic import DELTA, NUMBERS, split

QUESTIONS = 40
SPLITS, EPSILONS = (11, 12, 13, 14), (0.3, 1.0, 4.0)  # how errors are found was chosen on splits 42 to 45
MODELS = 20  # of a skewed count
CLEAR = 5  # rows of a cell, in the table or by the model, that is counted
NORMAL, STUDENT = (1.960, 0.674), (2.228, 0.700)  # of 95 % and of 50 %, by which errors are multiplied
KINDS = ("questions of measured columns", "questions of others", "pairs that were measured", "pairs that were not")


def truth(rows: dict[str, np.ndarray], what: str, of: str, key: str | None, where: str | None) -> dict[object, float]:
    chosen = np.ones(len(rows[of]), dtype=bool) if where is None else rows[where] >= 2
    keys = np.zeros(len(chosen), dtype=int) if key is None else rows[key]
    found = {}
    for value in np.unique(keys[chosen]):
        some = rows[of][chosen & (keys == value)]
        if len(some) >= 30:
            found[None if key is None else int(value)] = {"count": len(some), "avg": some.mean(), "median": np.median(some)}[what]
    return found


def clamping() -> None:
    """The mean of a skewed count, which noise on a thousand empty cells would pull up if negative counts were cut off: how far
    the mean of drawn rows is from that of the noisy counts, which have no bias, in standard errors of the latter."""
    import pyarrow as pa

    import discreet as dp

    draw, away = np.random.default_rng(8), []
    for _ in range(MODELS):
        values = np.minimum(draw.geometric(0.2, 5000) - 1, 1000)
        os.environ["XDG_STATE_HOME"] = folder = tempfile.mkdtemp()
        curator = dp.Curator(
            pa.table({"n": values, "g": draw.choice(["a", "b"], 5000)}),
            unit=dp.rows(),
            columns={"n": dp.integer(0, 1000, missing=0), "g": dp.category("a", "b", missing="a")},
            budget=dp.Budget(epsilon=1, delta=1e-9),
            ledger=f"{folder}/l",
        )
        model = curator.synthesize(epsilon=1, seconds=0.2)
        own, cells = model.measured.own[0], np.arange(1001.0)
        noisy = float(own.real([1001]) @ cells) / model.total
        error = own.deviation * float(np.sqrt((cells**2).sum())) / model.total
        mean = float(np.mean(model.sample(20_000).to_arrow()["n"].to_numpy()))
        away.append((mean - noisy, mean - values.mean(), error))
    noisy_, true_, errors = np.array(away).T
    print(
        f"a skewed count, {MODELS} models: {np.mean(np.abs(noisy_) <= 2 * errors):.2f} of means within two standard errors "
        f"({errors.mean():.2f}) of the noisy truth, which is off by {np.std(noisy_ - true_):.2f}; "
        f"the bias against the table is {true_.mean():+.2f}, spread {true_.std():.2f}"
    )


Errors = dict[str, list[tuple[float, float]]]  # of every kind: how many errors an answer is off, and half its width, as a share


def fitted(number: int, epsilon: float) -> tuple[dict[str, int], np.ndarray, Any]:
    import pyarrow as pa

    import discreet as dp

    sizes, data, _ = split(number)
    os.environ["XDG_STATE_HOME"] = folder = tempfile.mkdtemp()
    columns = {
        name: dp.integer(0, size - 1, missing=0) if name in NUMBERS else dp.category(*range(size), missing=0)
        for name, size in sizes.items()
    }
    rows = pa.table({name: data[:, i] for i, name in enumerate(sizes)})
    budget = dp.Budget(epsilon=epsilon, delta=DELTA)
    curator = dp.Curator(rows, unit=dp.rows(), columns=columns, budget=budget, ledger=f"{folder}/l")
    return sizes, data, curator.synthesize(epsilon=epsilon, targets="income")


def pairs(sizes: dict[str, int], data: np.ndarray, model: Any, found: Errors) -> None:
    """All cells of all marginals of two columns that have rows, in the table or by the model."""
    names, measured = list(sizes), [frozenset(one.columns) for one in model.measured.later]
    for a, b in itertools.combinations(range(len(names)), 2):
        counts = np.zeros((sizes[names[a]], sizes[names[b]]))
        np.add.at(counts, (data[:, a], data[:, b]), 1)
        column = model.marginal(names[a], names[b]).outputs["rows"]
        values, errors = np.array(column.values), np.array(column.errors)
        clear = (counts.ravel() >= CLEAR) | (values >= CLEAR)
        away, share = np.abs(values - counts.ravel()) / np.maximum(errors, 1e-9), NORMAL[0] * errors / np.maximum(values, 1)
        found[KINDS[2 if any({a, b} <= one for one in measured) else 3]] += zip(away[clear], share[clear], strict=True)


def questions(number: int, sizes: dict[str, int], data: np.ndarray, model: Any, found: Errors) -> None:
    names, measured = list(sizes), [frozenset(one.columns) for one in model.measured.later]
    rows = {name: data[:, i] for i, name in enumerate(names)}
    draw, numbers = np.random.default_rng(number), [name for name in names if name in NUMBERS]
    for _ in range(QUESTIONS):
        what = str(draw.choice(["count", "avg", "median"]))
        of, key, where = str(draw.choice(numbers)), str(draw.choice(names)), str(draw.choice(names))
        key_, where_ = (
            (None if draw.random() < 0.3 or key == of else key),
            (None if draw.random() < 0.5 or where == of else where),
        )
        asked = "count(*)" if what == "count" else f"{what}({of})"
        text = f"SELECT {'' if key_ is None else f'{key_} AS k, '}{asked} AS x FROM data"
        if where_ is not None:
            listed = ", ".join(str(i) for i in range(2, sizes[where_]))
            text += f" WHERE {where_} >= 2" if where_ in NUMBERS or not listed else f" WHERE {where_} IN ({listed})"
            if where_ not in NUMBERS and not listed:
                continue
        text += "" if key_ is None else f" GROUP BY {key_}"
        right = truth(rows, what, of, key_, where_)
        used = {names.index(name) for name in (of if what != "count" else key_, key_, where_) if name is not None}
        kind = KINDS[0 if len(used) < 2 or any(used <= one for one in measured) else 1]
        for row in model.sql(text).rows():
            value, half = right.get(row.get("k")), row["x_upper"] - row["x"]
            if value is not None:
                away = abs(row["x"] - value) / max(half / STUDENT[0], 1e-9)
                found[kind].append((away, half / max(abs(row["x"]), 1)))


def told(what: str, found: Errors) -> bool:
    """Whether all kinds of 95 % intervals held about as often as they say."""
    right = True
    for kind in KINDS:
        away, halves = (np.array([one[i] for one in found[kind]]) for i in (0, 1))
        many, some = STUDENT if kind.startswith("questions") else NORMAL
        held = float(np.mean(away <= many))
        right = right and 0.92 <= held <= 0.98
        print(
            f"{what}, {kind}: of {len(away):,} intervals of 95 % {held:.3f} held, of 50 % {np.mean(away <= some):.3f}; half of "
            f"one of 95 % is {np.median(halves):.2f} of its answer (median; mean {np.mean(np.minimum(halves, 5)):.2f})",
            flush=True,
        )
    return right


def main() -> bool:
    given = [word for word in sys.argv[1:] if word.startswith("--splits=")]
    splits = [int(word) for word in given[0].removeprefix("--splits=").split(",")] if given else SPLITS
    epsilons = [float(word) for word in sys.argv[1:] if not word.startswith("--")] or EPSILONS
    every: Errors = {kind: [] for kind in KINDS}
    for epsilon in epsilons:
        found: Errors = {kind: [] for kind in KINDS}
        for number in splits:
            sizes, data, model = fitted(number, epsilon)
            pairs(sizes, data, model, found)
            questions(number, sizes, data, model, found)
        told(f"epsilon {epsilon:g}", found)
        every = {kind: every[kind] + found[kind] for kind in KINDS}
    return told(f"all {len(epsilons) * len(splits)} models", every)


if __name__ == "__main__":
    right = main()
    clamping()
    sys.exit(not right)
