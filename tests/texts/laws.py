"""Small substitutions by every law and over every kind of distance, and a slow, plain second way to draw from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.balls import arb, ball, precision
from discreet.texts import Distances, Tree, Vectors, Vocabulary
from discreet.texts.distances import Distance
from discreet.texts.tasks.substitution import Substitution

WORDS = Vocabulary(["monday", "friday", "london", "paris", "rome", "red", "blue"])
BARE = Vocabulary(["a", "b", "c", "d", "e"], unknown="drop")
DAYS = {
    "monday": ("time", "day"),
    "friday": ("time", "day"),
    "london": ("place", "city"),
    "paris": ("place", "city"),
    "rome": ("place", "city"),
    "red": ("colour",),
    "blue": ("colour",),
}


def scattered(vocabulary: Vocabulary, numbers: int, seed: int, **more: int) -> Vectors:
    chance = np.random.default_rng(seed)
    return Vectors(vocabulary, {word: chance.normal(size=numbers) for word in vocabulary.words}, **more)


def matrix(vocabulary: Vocabulary, seed: int, unit: Fraction = Fraction(1, 3)) -> Distances:
    """Distances of points in the plane, which no grid knows."""
    points = np.random.default_rng(seed).normal(size=(len(vocabulary.words), 2))
    return Distances(vocabulary, np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)).tolist(), unit=unit)


TREES = [
    Tree(WORDS, DAYS),
    Tree(WORDS, DAYS, steps=(0, 1, 3), unit=Fraction(1, 2)),
    Tree(WORDS, dict.fromkeys(WORDS.words, "one")),
    Tree(BARE, {"a": "x", "b": "x", "c": "x", "d": "y", "e": "z"}),
    Tree.brown(Vocabulary.english(20), cuts=(1, 3, 6)),
]
DISTANCES: list[Distance] = [
    *TREES,
    scattered(WORDS, 3, 1),
    scattered(BARE, 2, 2, grid=5),
    scattered(Vocabulary.english(12), 20, 3, grid=150),
    matrix(WORDS, 4),
    matrix(BARE, 5, Fraction(1)),
]
EPSILONS = [Fraction(1, 10), Fraction(2), Fraction(20)]
LAWS = [
    *(Substitution.of("k-ary", Tree.flat(vocabulary), epsilon, 3) for vocabulary in (WORDS, BARE) for epsilon in EPSILONS),
    *(Substitution.of("tree", tree, epsilon, 3) for tree in TREES for epsilon in EPSILONS),
    *(Substitution.of("metric", distance, epsilon, 3) for distance in DISTANCES for epsilon in EPSILONS),
]


def label(law: Substitution) -> str:
    return f"{law.law}-{law.distance.kind}-{law.distance.size}-{law.each}"


def order(law: Substitution, code: int) -> list[tuple[int, int]]:
    """All items as (steps, item) in the order in which they lie on [0, Z): by level, then as the distance orders them."""
    levels = law.distance.rows(np.array([code]))[0].tolist()
    places = list(range(law.distance.size))
    if isinstance(law.distance, Tree):
        keys = [(*(level[item] for level in law.distance.classes[::-1]), item) for item in places]
        places.sort(key=lambda item: keys[item])
    return [(levels[item], item) for item in sorted(places, key=lambda item: levels[item])]


def draw_plainly(law: Substitution, code: int, tape: list[int]) -> tuple[int, int]:
    """The item that these words choose, and how many of them it took: one boundary after the other, in balls."""
    with precision(1024):
        weights = [(-ball(law.rate * steps)).exp() for steps in law.distance.steps.tolist()]
        laid = [(weights[level], item) for level, item in order(law, code)]
        total = sum((weight for weight, _ in laid), arb(0))
        cell = 0
        for known, word in enumerate(tape, start=1):
            cell = cell << 64 | word
            low, high = (ball(Fraction(end, 2 ** (64 * known))) * total for end in (cell, cell + 1))
            before = arb(0)
            for weight, item in laid:
                after = before + weight
                if low > before and high < after:  # strictly: at the very ends of [0, Z), more digits are looked at
                    return item, known
                before = after
    raise AssertionError("the tape is too short")
