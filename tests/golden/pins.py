"""Pinned facts: JSON files beside this one that say what a user sees; ``DISCREET_PIN=1`` writes them anew, to be reviewed."""

from __future__ import annotations

import json
import os
from pathlib import Path

__all__ = ["HERE", "pin"]

HERE = Path(__file__).parent


def pin(name: str, found: object) -> None:
    """Compare facts with those that were written down."""
    path = HERE / f"{name}.json"
    if os.environ.get("DISCREET_PIN"):
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(path.read_text(encoding="utf-8"))
    found = json.loads(json.dumps(found))  # tuples are lists, keys are texts
    if isinstance(found, dict) and isinstance(expected, dict):
        assert sorted(found) == sorted(expected)
        for key, value in found.items():
            assert value == expected[key], f"{name}: {key}"
    assert found == expected
