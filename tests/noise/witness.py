"""Look over a sampler's shoulder: which draws it settled with balls, and the floats it would have floored.

The witness replaces the module's ``np`` by a stand-in that keeps a copy of everything handed to ``np.floor``, the number on
which the float path decides, and wraps the function that settles a draw with balls. The sampler's own code runs unchanged.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest


class Witness:
    """``floored[i]`` is the i-th array handed to floor; ``settled`` the positions that went to balls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType, settle: str, position: int) -> None:
        self.floored: list[np.ndarray] = []
        self.settled: set[int] = set()
        original = getattr(module, settle)

        def wrapped(*arguments: object) -> object:
            self.settled.add(arguments[position])  # type: ignore[arg-type]
            return original(*arguments)

        monkeypatch.setattr(module, settle, wrapped)
        monkeypatch.setattr(module, "np", _Numpy(self.floored))


class _Numpy:
    def __init__(self, floored: list[np.ndarray]) -> None:
        self._floored = floored

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)

    def floor(self, value: np.ndarray) -> np.ndarray:
        self._floored.append(value.copy())
        return np.floor(value)
