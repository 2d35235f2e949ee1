"""Texts without anybody trusted: what surveys of words find, and how quickly words are substituted.

``python benchmarks/texts.py [surveys]`` prints three tables. The exit code is 1 if surveys find fewer than 95 % of the words of a
share of 0.005 or more, if the number of surveys that name a word below 0.001 refutes the promised 5 % (at 1e-3), if standard
errors are more than 5 % above the best protocol's, if intervals cover less than 94 %, or if a million words take more than 20 s
or 500 MB.

Surveys are drawn report by report, with the secure generator; the words of the 100,000 people are drawn from a Zipf law.
"""

from __future__ import annotations

import gzip
import math
import os
import resource
import sys
import time
from fractions import Fraction
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core is measured, and it counts only before numpy is loaded

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet.texts.distances import Distance, Tree, Vectors
from discreet.texts.tasks.substitution import Substitution

PEOPLE, EPSILON = 100_000, 4


def zipf(size: int) -> np.ndarray:
    """Shares like 1, 1/2, 1/3, ..."""
    shares = 1 / np.arange(1, size + 1)
    return shares / shares.sum()


def best_error(size: int) -> float:
    """The least that any protocol's standard error of a rare word can be: subset selection with the best weight."""

    def variance(weight: int) -> float:
        truth = weight * math.exp(EPSILON) / (weight * math.exp(EPSILON) + size - weight)
        lie = (truth * (weight - 1) + (1 - truth) * weight) / (size - 1)
        return lie * (1 - lie) / (truth - lie) ** 2

    return math.sqrt(min(variance(weight) for weight in range(1, size // 4)) / PEOPLE)


def at_least(count: int, draws: int, chance: float) -> float:
    """The chance of so many successes or more."""
    return sum(math.comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(count, draws + 1))


def measure_surveys(surveys: int) -> bool:
    """Whether every promise about shares of words held."""
    vocabulary = dp.texts.Vocabulary.english(20_000)
    task = dp.texts.WordShares(vocabulary, EPSILON)
    marks = vocabulary.size - len(vocabulary.words)
    rng, shares = np.random.default_rng(17), zipf(len(vocabulary.words))
    found, wanted, wrong, inside, ratios, took = 0, 0, 0, 0.0, [], 0.0
    for _ in range(surveys):
        codes = marks + rng.choice(len(shares), PEOPLE, p=shares)
        start = time.process_time()
        tally = task.protocol.tally(task.protocol.randomize(codes))
        estimate = task.collector().conclude(tally, PEOPLE)
        took += time.process_time() - start
        true = np.bincount(codes, minlength=vocabulary.size) / PEOPLE
        named = {vocabulary.codes[word] for word in estimate.common()}
        common = set(np.flatnonzero(true >= 0.005).tolist())
        found, wanted = found + len(common & named), wanted + len(common)
        wrong += any(true[code] < 0.001 for code in named)
        low, high = estimate.interval()
        inside += float(((low <= true) & (true <= high)).mean())
        ratios.append(float(np.median(estimate.standard_error)) / best_error(vocabulary.size))
    table = Table(
        title=f"{surveys} surveys of {PEOPLE:,} people, {vocabulary.size:,} items, epsilon {EPSILON}: {task.protocol.name}"
    )
    for name in ("words >= 0.005 found", "surveys with a word < 0.001", "error / best", "95 % intervals cover", "CPU s a survey"):
        table.add_column(name, justify="right")
    row = [f"{100 * found / wanted:.1f} %", f"{wrong} of {surveys}", f"{np.mean(ratios):.4f}", f"{100 * inside / surveys:.2f} %"]
    table.add_row(*row, f"{took / surveys:.2f}")
    Console(width=120).print(table)
    most = next(count for count in range(surveys + 1) if at_least(count + 1, surveys, 0.05) < 1e-3)
    return found >= 0.95 * wanted and wrong <= most and max(ratios) <= 1.05 and inside / surveys >= 0.94


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def made_up(size: int) -> dp.texts.Vocabulary:
    return dp.texts.Vocabulary([f"w{number}x" for number in range(size)])


def measure_substitution() -> bool:
    """Whether a million words were quick enough, by every law; words are uniform, so that nearly all are looked up."""
    table = Table(title="a million words substituted, on one core")
    for name in ("law", "distance", "vocabulary", "CPU s", "us a word", "peak MB", "kept"):
        table.add_column(name, justify="right")
    held, rng = True, np.random.default_rng(3)
    for size in (20_000, 50_000):
        vocabulary = made_up(size)
        classes = {word: (str(place % 30), str(place % 900)) for place, word in enumerate(vocabulary.words)}
        tree = Tree(vocabulary, classes)
        vectors = Vectors(vocabulary, dict(zip(vocabulary.words, rng.normal(size=(size, 50)), strict=True)))
        laws: list[tuple[str, Distance, int]] = [
            ("k-ary", Tree.flat(vocabulary), 8),
            ("tree", tree, 8),
            ("metric", tree, 5),
            ("metric", vectors, 16),
        ]
        for law, distance, epsilon in laws:
            made = Substitution.of(law, distance, Fraction(epsilon), 20)
            for kind, codes in (
                ("uniform", rng.integers(0, vocabulary.size, 10**6)),
                ("Zipf", rng.choice(size, 10**6, p=zipf(size))),
            ):
                start = time.process_time()
                drawn = made.draw(codes)
                took = time.process_time() - start
                kept = f"{100 * float((drawn == codes).mean()):.2f} %"
                table.add_row(
                    law, f"{distance.kind}, {kind}", f"{size:,}", f"{took:.2f}", f"{took:.2f}", f"{megabytes():.0f}", kept
                )
                held = held and took <= 20 and (size > 20_000 or megabytes() <= 500)
    Console(width=120).print(table)
    return held


def area(score: np.ndarray, truth: np.ndarray) -> float:
    """The area under the curve."""
    bad, ham = score[truth], np.sort(score[~truth])
    above = np.searchsorted(ham, bad, side="left") + np.searchsorted(ham, bad, side="right")
    return float(above.sum() / (2 * bad.size * ham.size))


def measure_spam(runs: int) -> None:
    """What a spam filter learns from substituted messages, trained as in examples/spam.py; docs/pictures/texts.svg draws it."""
    folder = Path(__file__).parents[1] / "examples" / "sms"
    rows = [line.split("\t") for line in gzip.decompress((folder / "sms_spam.tsv.gz").read_bytes()).decode().splitlines()[1:]]
    spam, words = np.array([row[0] == "spam" for row in rows]), dp.texts.Vocabulary.english(1000)
    messages, learn = words.documents([row[1] for row in rows], 20), np.arange(len(rows)) % 2 == 0
    tree, epsilons = Tree.brown(words), (1, 2, 4, 6, 8, 10, 12)

    def learned(documents: np.ndarray) -> float:
        counts = [np.bincount(documents[spam[learn] == label].ravel(), minlength=words.size) + 1.0 for label in (True, False)]
        bad, ham = (count / count.sum() for count in counts)
        return area((np.log(bad) - np.log(ham))[messages[~learn]].sum(axis=1), spam[~learn])

    table = Table(
        title=f"a spam filter: area under the curve, mean of {runs} runs (messages as they are: {learned(messages[learn]):.3f})"
    )
    for name in ("law", *(f"epsilon {epsilon}" for epsilon in epsilons)):
        table.add_column(name, justify="right")
    for name, law, distance, part in (
        ("k-ary", "k-ary", Tree.flat(words), 1),
        ("tree", "tree", tree, 1),
        ("metric", "metric", tree, 4),
    ):
        made = [Substitution.of(law, distance, Fraction(epsilon, part), 20) for epsilon in epsilons]  # metric: by its worst word
        areas = [np.mean([learned(one.randomize(messages[learn]).astype(np.int64)) for _ in range(runs)]) for one in made]
        table.add_row(name, *(f"{one:.3f}" for one in areas))
    Console(width=120).print(table)


def main(surveys: int) -> int:
    quick = measure_substitution()  # first: the peak of memory is the process's
    measure_spam(10)
    return 0 if measure_surveys(surveys) and quick else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
