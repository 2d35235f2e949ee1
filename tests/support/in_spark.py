"""Checks that need Spark, all in one process of their own: to start one costs as much as a hundred questions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

__all__ = ["check"]

TESTS = Path(__file__).parents[1]


def check(*modules: str) -> None:
    """Run the tests of these modules, such as ``spark.check_cells``; none may fail, be skipped, or be missing."""
    files = [str(TESTS / f"{module.replace('.', '/')}.py") for module in modules]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *files, "-x", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
    assert re.search(r"\b\d+ passed\b", ran.stdout)
    assert "skipped" not in ran.stdout
