"""Every private model, with what it takes to make one: the register that the contract of models runs over."""

from __future__ import annotations

from typing import Any

from discreet import learn

CLASSES = [0, 1, 2]

MODELS: dict[str, dict[str, Any]] = {
    "AdditiveClassifier": {"classes": CLASSES},
    "AdditiveRegressor": {"target": (0, 2), "rounds": 2},
    "CountNB": {"classes": CLASSES},
    "KMeans": {"clusters": 3},
    "Scaler": {},
    "GaussianNB": {"classes": CLASSES},
    "LogisticRegression": {"classes": CLASSES},
    "LinearRegression": {"target": (0, 2)},
    "Ridge": {"target": (0, 2), "alpha": 2},
    "PCA": {"n_components": 2},
}
"""By name, what a model needs beside its cost, its bounds and its unit: for targets of three classes, or from 0 to 2."""


def bare(name: str, **given: Any) -> Any:
    """A model without what a curator knows: columns, classes, bounds, and who is protected."""
    own = {key: value for key, value in MODELS[name].items() if key not in ("classes", "target")}
    return getattr(learn, name)(**{**own, **given})


def outputs(model: Any, table: Any) -> Any:
    """What a fitted model says of rows."""
    return model.predict(table) if hasattr(model, "predict") else model.transform(table)


def make(name: str, **given: Any) -> Any:
    """A model with bounds from -3 to 3 for all columns, at (1, 1e-5) unless told."""
    return getattr(learn, name)(**{"epsilon": 1, "delta": 1e-5, "bounds": (-3, 3), **MODELS[name], **given})
