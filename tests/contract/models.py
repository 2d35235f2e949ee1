"""Every private model, with what it takes to make one: the register that the contract of models runs over."""

from __future__ import annotations

from typing import Any

from discreet import learn

CLASSES = [0, 1, 2]

MODELS: dict[str, dict[str, Any]] = {
    "AdditiveClassifier": {"classes": CLASSES},
    "CountNB": {"classes": CLASSES},
    "GaussianNB": {"classes": CLASSES},
    "LogisticRegression": {"classes": CLASSES},
}
"""By name, what a model needs beside its cost, its bounds and its unit: for targets of three classes, or from 0 to 10."""


def make(name: str, **given: Any) -> Any:
    """A model with bounds from -3 to 3 for all columns, at (1, 1e-5) unless told."""
    return getattr(learn, name)(**{"epsilon": 1, "delta": 1e-5, "bounds": (-3, 3), **MODELS[name], **given})
