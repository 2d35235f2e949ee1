"""A secret refuses everything but a mechanism, and nobody else opens one."""

from __future__ import annotations

import ast
import copy
import json
import math
import operator
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import Exponential, Gaussian, Laplace, Threshold
from discreet.errors import ValueRefused
from discreet.mechanisms.secret import Secret, open_secret

SOURCE = Path(discreet.__file__).parent
MAY_OPEN = {"mechanisms", "auditor"}

ATTEMPTS: dict[str, Callable[[Secret[int]], object]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "len": len,
    "list": list,
    "sum": lambda secret: sum([secret, 1]),  # type: ignore[list-item]
    "index": operator.index,
    "round": round,
    "abs": abs,
    "neg": operator.neg,
    "add": lambda secret: secret + 1,  # type: ignore[operator]
    "radd": lambda secret: 1 + secret,  # type: ignore[operator]
    "sub": lambda secret: secret - 1,  # type: ignore[operator]
    "rsub": lambda secret: 1 - secret,  # type: ignore[operator]
    "mul": lambda secret: secret * 2,  # type: ignore[operator]
    "rmul": lambda secret: 2 * secret,  # type: ignore[operator]
    "div": lambda secret: secret / 2,  # type: ignore[operator]
    "rdiv": lambda secret: 2 / secret,  # type: ignore[operator]
    "equal": lambda secret: secret == 42,
    "unequal": lambda secret: secret != 42,
    "less": lambda secret: secret < 42,  # type: ignore[operator]
    "greater": lambda secret: secret >= 42,  # type: ignore[operator]
    "in": lambda secret: 42 in secret,  # type: ignore[operator]
    "item": lambda secret: secret[0],  # type: ignore[index]
    "format": lambda secret: f"{secret}",
    "hash": hash,
    "set": lambda secret: {secret},
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "array": np.asarray,
    "numpy sum": lambda secret: np.add(secret, 1),
    "maximum": lambda secret: max(secret, 1),  # type: ignore[call-overload]
    "sqrt": math.sqrt,
    "floor": math.floor,
    "mod": lambda secret: secret % 2,  # type: ignore[operator]
    "power": lambda secret: secret**2,  # type: ignore[operator]
    "shift": lambda secret: secret << 1,  # type: ignore[operator]
    "invert": operator.invert,
    "json": json.dumps,
    "vars": vars,
    "value": lambda secret: secret.value,  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_a_secret_refuses(attempt: Callable[[Secret[int]], object]) -> None:
    """With a refusal of ours, or with Python's own; never with a number, and never quoting it."""
    with pytest.raises((ValueRefused, TypeError, AttributeError)) as refusal:
        attempt(Secret(424242))
    assert "424242" not in str(refusal.value)


def test_it_does_not_show_itself() -> None:
    assert repr(Secret(424242)) == str(Secret(424242)) == "<secret>"
    assert "424242" not in repr([Secret(424242), {"a": Secret("424242")}])


def test_mechanisms_take_secrets() -> None:
    counts = np.array([10**6, 0, 5])
    assert abs(int(Laplace(sensitivity=1, epsilon=10).release(Secret(counts))[0]) - 10**6) < 100
    assert abs(int(Gaussian(sensitivity=1, rho=10).release(Secret(counts))[0]) - 10**6) < 100
    assert Exponential(sensitivity=1, epsilon=10).release(Secret(counts)) == 0
    assert Threshold(epsilon=1, delta=1e-6).select(Secret({"a": 10**6})) == ["a"]
    assert open_secret(Secret(5)) == open_secret(5) == 5


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_nothing_else_opens_a_secret(file: Path) -> None:
    """Neither by ``open_secret``, nor by the name the value has inside."""
    if file.relative_to(SOURCE).parts[0] in MAY_OPEN or file == SOURCE / "curator" / "inspection.py":  # an owner's look
        return
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet.mechanisms"):
            assert "open_secret" not in {alias.name for alias in node.names}
        assert not (isinstance(node, ast.Attribute) and node.attr in ("open_secret", "_Secret__value"))
        assert not (isinstance(node, ast.Constant) and node.value == "_Secret__value")
