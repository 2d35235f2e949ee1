"""Draw the pictures of the README: ``python docs/pictures/make.py``. The same code gives the same file."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot

import discreet as dp
from discreet.privacy import plots

HERE = Path(__file__).parent


def loss() -> Path:
    """A noisy count with and without one person, and the privacy loss that comes of it."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
    plots.plot_two_laplace(1, ax=left)
    dp.Laplace(sensitivity=1.0, epsilon=1).privacy.plot("loss", ax=right)
    file = plots.save(left, HERE / "loss.svg")
    pyplot.close(figure)
    return file


if __name__ == "__main__":
    print(f"wrote {loss()}")
