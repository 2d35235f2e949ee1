"""The lectures' worked examples and the README's code run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# What each example must say: whatever the noise, or but for a chance below 1e-6.
SAYS: dict[str, tuple[str, ...]] = {
    "asked_twice.py": (
        "the same answer three times: True; free: True, True",
        "spent: epsilon = 0.5",
        "another question: epsilon = 1",
    ),
    "best_price.py": ("price 4.00: profit 4.00",),
    "clamping.py": ("an empty bin, clamped: 4.992 people", "49,418 people who do not exist"),
    "composition.py": (
        "k = 100: basic 10, advanced 6.31, optimal 4.77, Laplace noise itself 4.69",
        "k = 1: basic 0.1, advanced 0.54, optimal 0.10, Laplace noise itself 0.10",
    ),
    "concentrated.py": (
        "order 32: 3.2 = rho alpha",
        "P[L > 2.0 + rho]: bound 4.54e-05, truth 3.87e-06",
        "textbook 2.4508, best order 2.1419, Gaussian noise itself 1.9945",
        "epsilon at delta = 0: inf",
        "pure epsilon = 4: rho 8.0000 (epsilon^2 / 2), 3.8561",
    ),
    "counting_queries.py": (
        "k = 1: off by 0.0003, 0.0008 (delta), 0.0029 (histogram): one by one",
        "k = 1,000: off by 0.9903, 0.0542 (delta), 0.0050 (histogram): from the histogram",
        "2,080 ranges from one histogram",
        "2,080 questions over 64 cells, answered from a tree of ever finer ranges: root mean squared error ",
    ),
    "drug_use.py": ("scale b = 1/epsilon = 2",),
    "gaussian_mean.py": ("sigma = 0.010000", "proved only for epsilon below 1", "sum of squares: sigma = 25.000"),
    "groups.py": (
        "20 people, epsilon = 10: delta 2.7e-01 (lecture), 3.4e-02 (sum), 1.2e-03 (exact)",
        "a family of 4: epsilon = 2.0, no delta",
    ),
    "hair_colour.py": ("so P(dark) >= 0.973",),
    "histogram.py": (
        "add-remove: scale 2 on every bin",
        "replace: scale 4 on every bin",
        "11 bins, n = 100: outer four at most 67, with noise 75",
        "1001 bins, n = 10,000: outer four at most 3332, with noise 3333; middle one 8.0",
    ),
    "hyper_parameters.py": ("best of 11 thresholds: 30,000; the truth is 30,000",),
    "likelihood_ratio.py": ("at most 2.718 times as likely", "answer 40: ratio 0.368", "answer 51: ratio 2.718"),
    "meeting_date.py": (
        "Wednesday  suits   4, chosen with probability  73.0%",
        "100 people: Wednesday\n",
    ),
    "needed_rows.py": (
        "alpha = 0.1: 196 rows with noise on the mean, 38,415 with noise on every value",
        "{'epsilon': 1}: 300 rows if their number is public, 297 if it is private",
    ),
    "neighbours.py": (
        "add-remove: sum moves by 2 (L1)",
        "replace: sum moves by 4 (L1)",
        "add-remove: histogram moves by 1 (L1), 1.000 (L2)",
        "replace: histogram moves by 2 (L1), 1.414 (L2)",
        "0 to 15 lectures skipped: moves by 15",
    ),
    "noisy_max.py": (
        "all 4 noisy counts, one by one: epsilon = 0.4; the winner alone: 0.1",
        "as if monotonic (scale 1): this person loses 1.307",
        "as it must be (scale 2): this person loses 0.595",
    ),
    "popular_site.py": ("a value with at most 44 rows fewer than the commonest", "most popular: wikipedia.org"),
    "privacy_loss.py": (
        "Laplace: from -1 to 1, mean 0.3679; atoms: -1 with probability 0.1839, 1 with probability 0.5000",
        "discrete Laplace: from -1 to 1, mean 0.4621; atoms: -1 with probability 0.2689, 1 with probability 0.7311",
        "Gaussian: from -inf to inf, mean 0.5000; atoms: none",
    ),
    "risk_minimisation.py": (
        "30 steps: Privacy(Gaussian μ = 0.2681, neighbours add-remove), epsilon 1.000 at delta 1e-5",
        "noise in a mean gradient: 0.0051",
        "slopes of different signs: True",
        "100 steps on samples of a tenth: epsilon at most 1: True",
        "nearly as good as the truth itself: True",
        "reads no bounds off the data; write bounds=(0, 1) for all columns",
    ),
    "second_moments.py": (
        "sigma^2 = 625 = b^4 / (2 rho)",
        "together: rho = 0.5",
        "sum of x^2: sigma^2 = 2500",
        "never a negative variance: True",
    ),
    "one_sentence.py": (
        "word 8, document 96",
        "at worst word 16, document 192",
        "topic                2  document 2                        71.1%   71.1%  about ",
        "k-ary                8  word 8, document 96               37.3%   37.3%  ",
        "without any report, the best guess at a word is right 4.3% of the time",
    ),
    "secret_bit.py": ("loose: theta = 0.6667, costs epsilon = 0.6931",),
    "secret_society.py": ("Washington", "mean 38.75, -87.00"),
    "skipped_lectures.py": ("one report is off by up to 45 lectures",),
    "spam.py": (
        "1,006 items, messages of 20 words; area under the curve on 2,788 messages",
        "as they are: 0.967",
        "substituted, epsilon 4 a word, 80 a message: 0.",
        "by a curator, epsilon 1 and delta 1e-5 for all messages: 0.9",
    ),
    "sparse_vector.py": (
        "above the threshold: [137, 729], after 730 questions",
        "cost: epsilon = 1, whatever the number of questions",
        "noise of scale 1000 on every count",
        "yes left: 0",
    ),
    "survey.py": ("the truth is told with theta = 0.7311: each report fits one answer 2.7183 times better",),
    "three_gaussians.py": (
        "epsilon =  0.9: classic   5.888, through zCDP   5.000, exact   4.659",
        "epsilon =   10: classic refused, through zCDP   0.570, exact   0.541",
        "would give delta = 1.9e-06 instead of 1e-06",
    ),
    "total_debt.py": ("10,000,000 EUR", "Alice loses epsilon = 1.00, whoever owes 10,000,000 loses 3.57"),
    "two_deltas.py": (
        "epsilon = 1.0: P[L > epsilon] = 5.33e-05, delta = 2.92e-06",
        "sigma 4.22 by the definition, 4.86 by the tail",
    ),
    "vectors.py": (
        "overlapping counts, Laplace: scale 3",
        "disjoint counts, Laplace: scale 1",
        "1000 overlapping counts: off by 2,996 with Laplace noise, by 262 with Gaussian noise",
    ),
    "whole_table.py": (
        "{'epsilon': 0, 'delta': 0.2}: refuted? False",
        "{'epsilon': 1}: refuted? True",
        "10,000 rows: somebody's leaks with probability (delta = 0.01: 1.0000, 0.0001: 0.6321, 1e-06: 0.0100)",
        "WARNING: delta = 0.0001 is not below 1/10,000.",
    ),
}


def test_every_example_is_known() -> None:
    assert {example.name for example in EXAMPLES} == set(SAYS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    said = capsys.readouterr().out
    assert [line for line in SAYS[example.name] if line not in said] == []


def test_the_gallery_shows_every_example_and_pages_every_picture() -> None:
    page = (ROOT / "docs" / "lectures.md").read_text()
    assert [example.name for example in EXAMPLES if f"(../examples/{example.name})" not in page] == []
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    pictures = (ROOT / "docs" / "pictures").glob("*.svg")
    assert [picture.name for picture in pictures if f"(pictures/{picture.name})" not in pages] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    space: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        exec(compile(block, str(page), "exec"), space)
