"""The tables of ``learning``: their rows, their bounds, which are round numbers written here, and how they are split.

No bound is read off the rows that are protected. Those of breast cancer, wine and diabetes are what such measurements may be,
to one or two digits; digits have 17 levels; Adult's are those of its documentation.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.synthetic import ADULT, WORDS

SMS = Path(__file__).parents[1] / "examples" / "sms" / "sms_spam.tsv.gz"
NUMBERS = {
    "age": (17, 90),
    "fnlwgt": (10_000, 1_500_000),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}
SCHOOLS = "Preschool|1st-4th|5th-6th|7th-8th|9th|10th|11th|12th|HS-grad|Some-college|Assoc-voc|Assoc-acdm|Bachelors|Masters|"
SCHOOLS += "Prof-school|Doctorate"
CANCER = [(0, 40), (0, 50), (0, 250), (0, 2500), (0, 0.2), (0, 0.5), (0, 0.5), (0, 0.25), (0, 0.4), (0, 0.1)]
CANCER += [(0, 3), (0, 5), (0, 25), (0, 500), (0, 0.05), (0, 0.2), (0, 0.5), (0, 0.1), (0, 0.1), (0, 0.05)]
CANCER += [(0, 50), (0, 60), (0, 300), (0, 5000), (0, 0.3), (0, 1.5), (0, 1.5), (0, 0.4), (0, 1), (0, 0.25)]
WINE = [(10, 16), (0, 6), (1, 4), (10, 30), (60, 170), (0, 5), (0, 6), (0, 1), (0, 4), (0, 15), (0, 2), (1, 5), (200, 2000)]


def adult() -> tuple[Any, Any, dict[str, Any]]:
    """All 48,842 rows of 14 columns, whether income is above 50K, and what is declared of every column."""
    import pandas as pd

    frame = pd.read_csv(ADULT, keep_default_na=False)
    labels = (frame.pop("income") == ">50K").to_numpy().astype(int)
    frame = frame.drop(columns="split")
    lists = {**{name: words.split("|") for name, words in WORDS.items()}, "education": SCHOOLS.split("|")}
    return (
        frame,
        labels,
        {name: NUMBERS[name] if name in NUMBERS else [one for one in lists[name] if one] for name in frame.columns},
    )


def table(name: str) -> tuple[Any, Any, Any]:
    """A table of scikit-learn, its target and its bounds."""
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")()
    bounds = {"breast_cancer": CANCER, "wine": WINE, "digits": (0, 16), "diabetes": (-0.075, 0.075)}[name]
    return loaded.data, loaded.target, bounds


def messages() -> tuple[list[str], Any]:
    """Texts, and whether each is spam."""
    lines = [line.split("\t", 1) for line in gzip.decompress(SMS.read_bytes()).decode().split("\n")]
    known = [line for line in lines if len(line) == 2 and line[0] in ("ham", "spam")]
    return [text for _, text in known], np.array([label == "spam" for label, _ in known]).astype(int)


def hashed(texts: list[str]) -> Any:
    """Counts of words in 1,024 buckets, by a public hash: no vocabulary is read off the texts."""
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=1024, alternate_sign=False, norm=None).transform(texts)


def split(height: int, seed: int, tested: float) -> tuple[Any, Any]:
    """Rows to learn from, and rows to try on."""
    order = np.random.default_rng(1000 + seed).permutation(height)
    return order[int(height * tested) :], order[: int(height * tested)]
