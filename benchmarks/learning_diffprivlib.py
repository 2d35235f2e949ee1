"""diffprivlib's models in an environment of their own: ``python learning_diffprivlib.py SPLITS`` prints one JSON line.

All are pure epsilon, for rows that are replaced. They are given the same bounds; rows are scaled to them first for logistic
regression, whose norm is then known.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import GaussianNB, KMeans, LinearRegression, LogisticRegression
from learning_data import split, table

CLUSTERS = {"wine": 3, "digits": 10}


def scaled(rows: np.ndarray, bounds: object) -> np.ndarray:
    """Every column from -1 to 1."""
    pairs = np.broadcast_to(np.array(bounds, dtype=float), (rows.shape[1], 2))
    return np.clip((rows - pairs[:, 0]) / (pairs[:, 1] - pairs[:, 0]) * 2 - 1, -1, 1)


def summed(scores: list[float], start: float) -> list[float]:
    """Mean, its standard error, and CPU seconds of one."""
    error = float(np.std(scores) / max(len(scores) - 1, 1) ** 0.5)
    return [float(np.mean(scores)), error, (time.process_time() - start) / len(scores)]


def main() -> None:
    warnings.simplefilter("ignore")
    found: dict[str, list[float]] = {}
    splits = int(sys.argv[1])
    for name in ("breast_cancer", "wine", "digits"):
        rows, labels, bounds = table(name)
        rows = scaled(rows, bounds)
        for epsilon in (1, 10):
            for kind in ("LogisticRegression", "GaussianNB"):
                scores, start = [], time.process_time()
                for seed in range(splits):
                    seen, unseen = split(len(labels), seed, 0.3)
                    if kind == "LogisticRegression":
                        model = LogisticRegression(epsilon=epsilon, data_norm=math.sqrt(rows.shape[1]), max_iter=300)
                    else:
                        model = GaussianNB(epsilon=epsilon, bounds=(-1, 1))
                    scores.append(float(model.fit(rows[seen], labels[seen]).score(rows[unseen], labels[unseen])))
                found[f"{name} {kind} {epsilon}"] = summed(scores, start)
    for name, many in CLUSTERS.items():
        rows, _, bounds = table(name)
        rows = scaled(rows, bounds)
        for epsilon in (0.1, 1, 10):
            scores, start = [], time.process_time()
            for _ in range(min(splits, 5)):
                centres = KMeans(n_clusters=many, epsilon=epsilon, bounds=(-1, 1)).fit(rows).cluster_centers_
                scores.append(float(((rows[:, None] - centres[None]) ** 2).sum(axis=2).min(axis=1).sum()))
            found[f"{name} KMeans {epsilon}"] = summed(scores, start)
    rows, target, bounds = table("diabetes")
    for epsilon in (1, 10):
        scores, start = [], time.process_time()
        for seed in range(splits):
            seen, unseen = split(len(target), seed, 0.3)
            model = LinearRegression(epsilon=epsilon, bounds_X=bounds, bounds_y=(50, 300))
            scores.append(float(model.fit(rows[seen], target[seen]).score(rows[unseen], target[unseen])))
        found[f"diabetes LinearRegression {epsilon}"] = summed(scores, start)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
