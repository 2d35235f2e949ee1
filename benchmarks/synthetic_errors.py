"""Whether the errors that a model of the Adult table states are honest: how often its 95 % intervals hold the private table.

One model of 39,073 rows and 14 columns, at epsilon 1 and delta 1e-9. Asked are all marginals of two columns, of which a model
measures a few, and some made-up questions of one to three columns: counts, means and medians of groups. What is
compared is the same question answered by the protected rows themselves. At the end: whether clamping biases a mean.

``python benchmarks/synthetic_errors.py [epsilon]``
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections import defaultdict

import numpy as np
from synthetic import DELTA, NUMBERS, split

QUESTIONS = 40
MODELS = 20  # of a skewed count
CLEAR = 5  # rows of a cell, in the table or by the model, that is counted


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


def main() -> None:
    import pyarrow as pa

    import discreet as dp

    epsilon = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    sizes, data, _ = split(1)
    names = list(sizes)
    os.environ["XDG_STATE_HOME"] = folder = tempfile.mkdtemp()
    columns = {
        name: dp.integer(0, size - 1, missing=0) if name in NUMBERS else dp.category(*range(size), missing=0)
        for name, size in sizes.items()
    }
    rows = {name: data[:, i] for i, name in enumerate(names)}
    curator = dp.Curator(
        pa.table(rows), unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=epsilon, delta=DELTA), ledger=f"{folder}/l"
    )
    model = curator.synthesize(epsilon=epsilon, targets="income") if len(sys.argv) < 3 else dp.Synthetic.load(sys.argv[2])
    measured = [frozenset(one.columns) for one in model.measured.later]
    print(f"epsilon {epsilon:g}: {len(measured)} marginals measured, strangeness {model.replicas.strangeness:.2f}")
    held: dict[str, list[bool]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    for a, b in itertools.combinations(range(len(names)), 2):
        counts = np.zeros((sizes[names[a]], sizes[names[b]]))
        np.add.at(counts, (data[:, a], data[:, b]), 1)
        column = model.marginal(names[a], names[b]).outputs["rows"]
        found, errors = np.array(column.values), np.array(column.errors)
        clear = (counts.ravel() >= CLEAR) | (found >= CLEAR)
        kind = "pairs that were measured" if any({a, b} <= one for one in measured) else "pairs that were not"
        held[kind] += (np.abs(found - counts.ravel()) <= 1.96 * errors)[clear].tolist()
        widths[kind] += (1.96 * errors / np.maximum(found, 1))[clear].tolist()
    draw = np.random.default_rng(7)
    numbers = [name for name in names if name in NUMBERS]
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
        together = len(used) < 2 or any(used <= one for one in measured)
        kind = "questions of measured columns" if together else "questions of others"
        for row in model.sql(text).rows():
            value = right.get(row.get("k"))
            if value is not None:
                held[kind].append(bool(row["x_lower"] <= value <= row["x_upper"]))
                widths[kind].append((row["x_upper"] - row["x"]) / max(abs(row["x"]), 1))
    for kind in held:
        print(f"{kind}: {np.mean(held[kind]):.3f} of {len(held[kind]):,} held; median half-width {np.median(widths[kind]):.1%}")


if __name__ == "__main__":
    main()
    clamping()
