"""The lectures' worked examples and the README's code run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# What each example must say, whatever the noise.
SAYS = {
    "best_price.py": "price 4.00: profit 4.00",
    "drug_use.py": "scale b = 1/epsilon = 2",
    "gaussian_mean.py": "sigma = 0.010000",
    "hair_colour.py": "so P(dark) >= 0.973",
    "secret_bit.py": "loose: theta = 0.6667, costs epsilon = 0.6931",
    "secret_society.py": "Washington",
    "skipped_lectures.py": "one report is off by up to 45 lectures",
    "survey.py": "the truth is told with theta = 0.7311: each report fits one answer 2.7183 times better",
    "total_debt.py": "10,000,000 EUR",
}


def test_every_example_is_known() -> None:
    assert {example.name for example in EXAMPLES} == set(SAYS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert SAYS[example.name] in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), space)
