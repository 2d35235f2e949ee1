"""How often heavy hitters report a word that nobody has, and how many words they find: hundreds of simulated surveys.

Surveys are simulated by what a collector keeps: for every length and hash, how many people of each word drew it, how many of them
told their bucket, and where the rest fell, which is uniform. That is the law of the counters, without drawing reports one by one.
``python benchmarks/heavy_hitters.py [surveys]`` prints a table; the exit code is 1 if the number of surveys with a false word
refutes the promised rate of 5 % (at 1e-3) in any row.
"""

from __future__ import annotations

import math
import string
import sys
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet.local.protocols.hashing import hash_by_seed

Population = tuple[list[str], np.ndarray]
LETTERS = list(string.ascii_lowercase)


def uniform(rng: np.random.Generator, length: int) -> Population:
    """60 words with equal shares."""
    words = sorted({"".join(rng.choice(LETTERS, rng.integers(2, length + 1))) for _ in range(60)})
    return words, np.full(len(words), 1 / len(words))


def zipf(rng: np.random.Generator, length: int) -> Population:
    """1,000 words with shares like 1, 1/2, 1/3, ...: most of them are too rare to be found."""
    words = list(dict.fromkeys("".join(rng.choice(LETTERS, length)) for _ in range(1000)))
    shares = 1 / np.arange(1, len(words) + 1)
    return words, shares / shares.sum()


def near(rng: np.random.Generator, length: int) -> Population:
    """60 words on four stems that differ in their last letter alone; as many such words are nobody's."""
    stems = ["".join(rng.choice(LETTERS, length - 1)) for _ in range(4)]
    words = sorted({stem + letter for stem in stems for letter in rng.choice(LETTERS, 15, replace=False)})
    return words, np.full(len(words), 1 / len(words))


POPULATIONS: dict[str, Callable[[np.random.Generator, int], Population]] = {"uniform": uniform, "Zipf": zipf, "near": near}


def simulate(task: dp.local.HeavyHitters, words: list[str], counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The counters after so many people of each word have reported."""
    protocol, keys = task.protocol, task.codes(words)
    tickets = np.append(np.ones(protocol.levels - 1), 2.0) / (protocol.levels + 1)
    people = rng.multinomial(counts, tickets)
    seeds, even = np.arange(protocol.hashes), np.full(protocol.buckets, 1 / protocol.buckets)
    telling = protocol.rates.gain / (1 - 1 / protocol.buckets)  # the others' buckets are uniform, the own one among them
    found = []
    for level in range(protocol.levels):
        drawn = rng.multinomial(people[:, level], np.full(seeds.size, 1 / seeds.size))
        told = rng.binomial(drawn, telling)
        own = np.stack(list(hash_by_seed(seeds.astype(np.uint64), keys[:, level], protocol.buckets)), axis=1)
        where = (seeds * protocol.buckets + own).ravel()
        honest = np.bincount(where, weights=told.ravel(), minlength=seeds.size * protocol.buckets).astype(np.int64)
        found.append(honest + rng.multinomial((drawn - told).sum(axis=0), even).ravel())
    return np.concatenate(found)


def survey(task: dp.local.HeavyHitters, population: Population, people: int, rng: np.random.Generator) -> tuple[bool, int]:
    """Whether a word that nobody has is reported, and how many are."""
    words, shares = population
    counts = rng.multinomial(people, shares)
    tally = simulate(task, words, counts, rng)
    found = task.collector().conclude(tally, people)
    return not set(found.items) <= {word for word, count in zip(words, counts, strict=True) if count}, len(found.items)


def at_least(count: int, draws: int, chance: float) -> float:
    """The chance of so many successes or more."""
    return sum(math.comb(draws, k) * chance**k * (1 - chance) ** (draws - k) for k in range(count, draws + 1))


def main(surveys: int) -> int:
    table = Table(title=f"{surveys} surveys a row; words found on average, surveys with a word that nobody has")
    for name in ("people", "length", "epsilon", "words", "found", "false", "CPU s a survey"):
        table.add_column(name, justify="right")
    most = next(count for count in range(surveys + 1) if at_least(count + 1, surveys, 0.05) < 1e-3)
    missed, all_false, total = False, 0, 0
    for people in (100_000, 1_000_000):
        for length in (4, 8):
            for epsilon in (1, 4, 8):
                task = dp.local.HeavyHitters(epsilon, length=length)
                for name, make in POPULATIONS.items():
                    rng, start = np.random.default_rng([people, length, epsilon]), time.process_time()
                    results = [survey(task, make(rng, length), people, rng) for _ in range(surveys)]
                    false, took = sum(wrong for wrong, _ in results), (time.process_time() - start) / surveys
                    found = float(np.mean([count for _, count in results]))
                    table.add_row(f"{people:,}", str(length), str(epsilon), name, f"{found:.1f}", str(false), f"{took:.2f}")
                    missed, all_false, total = missed or false > most, all_false + false, total + surveys
    Console(width=110).print(table)
    rate = next(step / 10_000 for step in range(10_001) if 1 - at_least(all_false + 1, total, step / 10_000) < 0.05)
    print(f"{all_false} of {total} surveys report a word that nobody has: at most {100 * rate:.2f} % with confidence 95 %")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
