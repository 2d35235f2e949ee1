"""K-means on tables that its settings were not chosen on: its inertia against that of one centre that the same cost buys.

Drawn tables of many shapes (blobs, one blob, uniform, heavy tails, corners, many columns, few rows, one single point) and two of
scikit-learn with bounds that are round numbers. One centre at the mean itself is not private: what k centres are held to is the
one that is bought at the same cost. Where noise leaves k centres no chance, both are the same algorithm, and differ by chance
alone; of a hundred comparisons two or three are beyond two standard errors then.

``python benchmarks/learning_clusters.py [runs] [pure] [replace]`` prints a line for each table: inertia of both against that
of the mean, and by how many standard errors they differ. The exit code is 1 if k centres are worse somewhere by more than 3.5
of them, which chance does to one in forty runs of this script.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.learning_data import CANCER
from discreet import learn

EPSILONS = (0.03, 0.1, 0.3, 1, 3)
IRIS = [(4, 8), (2, 5), (1, 7), (0, 3)]


def scaled(rows: Any, bounds: Any) -> Any:
    low, high = np.array(bounds, dtype=float).T
    return np.clip((rows - low) / (high - low) * 2 - 1, -1, 1)


def tables() -> dict[str, tuple[Any, int]]:
    """Rows from -1 to 1, and how many centres are asked for."""
    from sklearn import datasets

    draw = np.random.default_rng(20261118)

    def blobs(size: int, width: int, many: int, spread: float, far: float = 0.7, shares: Any = None) -> Any:
        centres = draw.uniform(-far, far, (many, width))
        return np.clip(centres[draw.choice(many, size, p=shares)] + spread * draw.normal(size=(size, width)), -1, 1)

    return {
        "5 blobs, 2,000 x 5": (blobs(2000, 5, 5, 0.1), 5),
        "3 blobs, 100 x 4": (blobs(100, 4, 3, 0.1), 3),
        "one blob, 500 x 5": (blobs(500, 5, 1, 0.1), 4),
        "one wide blob in a corner, 300 x 8": (np.clip(0.8 + 0.3 * draw.normal(size=(300, 8)), -1, 1), 3),
        "uniform, 500 x 2": (draw.uniform(-1, 1, (500, 2)), 6),
        "uniform, 300 x 20": (draw.uniform(-1, 1, (300, 20)), 4),
        "heavy tails, 1,000 x 6": (np.clip(0.05 * draw.standard_t(1.5, (1000, 6)), -1, 1), 5),
        "exponential in a corner, 800 x 10": (np.clip(-1 + draw.exponential(0.1, (800, 10)), -1, 1), 4),
        "4 blobs, 300 x 100": (blobs(300, 100, 4, 0.2), 4),
        "8 blobs, 3,000 x 200": (blobs(3000, 200, 8, 0.15, 0.3), 8),
        "2 blobs, 30 x 3": (blobs(30, 3, 2, 0.1), 2),
        "3 blobs, 12 x 10": (blobs(12, 10, 3, 0.2), 3),
        "2 blobs far apart, 200 x 2": (
            np.clip(np.repeat([[-0.9], [0.9]], 100, axis=0) + 0.05 * draw.normal(size=(200, 2)), -1, 1),
            2,
        ),
        "uneven blobs, 1,000 x 4": (blobs(1000, 4, 3, 0.08, 0.8, [0.95, 0.04, 0.01]), 3),
        "one point, 400 x 6": (np.full((400, 6), 0.37), 3),
        "sparse bits, 600 x 40": (2.0 * (draw.random((600, 40)) < 0.05) - 1, 5),
        "outliers, 500 x 5": (np.vstack([0.05 * draw.normal(size=(490, 5)), draw.choice([-1.0, 1.0], (10, 5))]).clip(-1, 1), 3),
        "iris, 150 x 4": (scaled(datasets.load_iris().data, IRIS), 3),
        "breast cancer, 569 x 30": (scaled(datasets.load_breast_cancer().data, CANCER), 2),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    runs = next((int(one) for one in sys.argv[1:] if one.isdigit()), 50)
    delta, unit = None if "pure" in sys.argv else 1e-5, "replace" if "replace" in sys.argv else "add-remove"
    right = True
    for name, (rows, many) in tables().items():
        least = max(float(((rows - rows.mean(axis=0)) ** 2).sum()), 1e-3 * len(rows))
        said = []
        for epsilon in EPSILONS:
            costs = [
                np.array(
                    [
                        -learn.KMeans(clusters=k, epsilon=epsilon, delta=delta, bounds=(-1, 1), unit=unit).fit(rows).score(rows)
                        / least
                        for _ in range(runs)
                    ]
                )
                for k in (many, 1)
            ]
            means, error = [cost.mean() for cost in costs], np.hypot(*(cost.std(ddof=1) for cost in costs)) / runs**0.5
            apart = (means[0] - means[1]) / max(error, 1e-12)
            right = right and bool(apart <= 3.5)
            said.append(f"{epsilon:g}: {means[0]:.3g} / {means[1]:.3g} ({apart:+.1f})")
        print(f"{name:36} k = {many}", *said, sep=" | ", flush=True)
    sys.exit(not right)


if __name__ == "__main__":
    main()
