"""Laws of substitution: enumerated from the code, drawn bit by bit as stated, quick because alike words are looked up once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import statistics
from support.depth import examples
from support.recorded import replay
from support.refusals import refused
from texts.laws import DISTANCES, LAWS, TREES, WORDS, draw_plainly, label, order, scattered

from discreet.arrays import Integers
from discreet.balls import arb, ball, floor, precision, upper
from discreet.errors import ParameterError
from discreet.texts import Tree, Vocabulary
from discreet.texts.distances import Distance
from discreet.texts.tasks.substitution import Substitution

every = pytest.mark.parametrize("law", LAWS, ids=label)


def masses(law: Substitution) -> list[list[arb]]:
    """P(y | x) for all x and y, as the code states it."""
    size = law.distance.size
    return [[law.word_likelihood(out, code) for out in range(size)] for code in range(size)]


@pytest.mark.spread(26)
@every
def test_the_largest_ratio_is_at_most_the_claim(law: Substitution) -> None:
    """Equal for k-ary; for the metric law at most epsilon d for every pair, and the probabilities add up to 1."""
    with precision(200):
        logs = [[mass.log() for mass in row] for row in masses(law)]
        for row in logs:
            assert abs(upper(sum((log.exp() for log in row), arb(0))) - 1) < 1e-12
        worst = -math.inf
        for x, own in enumerate(logs):
            levels = law.distance.rows(np.array([x]))[0]
            for y, other in enumerate(logs):
                ratio = max((a - b for a, b in zip(own, other, strict=True)), key=upper)
                steps = int(law.distance.steps[levels[y]])
                claim = law.each * law.distance.unit * steps if law.law == "metric" else law.each
                assert ratio <= ball(claim) + ball(Fraction(1, 2**150)), (x, y)
                worst = max(worst, upper(ratio))
    assert worst * law.length <= float(law.epsilon) + 1e-12
    if law.law == "k-ary":
        assert worst == pytest.approx(float(law.each), abs=1e-12)
    if law.law == "tree":
        assert worst > 0.5 * float(law.each)  # the plain exponential mechanism would not do better than this


@pytest.mark.spread(17)
@every
def test_words_are_drawn_as_the_law_says_bit_by_bit(law: Substitution) -> None:
    """Against a second way, with random words and with those on every boundary, which take 64 more digits."""
    chance = np.random.default_rng(7)
    for code in {0, 3, law.distance.size - 1}:
        plain = [[int(word), 5, 6, 7] for word in chance.integers(0, 2**64, 12, dtype=np.uint64)]
        for tape in [*plain, *on_boundaries(law, code), [0, 1, 1], [2**64 - 1, 2**64 - 2, 0]]:
            done = replay(lambda code=code: law.draw(np.array([code])), tape)
            assert (int(done.value[0]), len(tape) - done.words_left) == draw_plainly(law, code, tape)


def on_boundaries(law: Substitution, code: int) -> list[list[int]]:
    with precision(400):
        weights = [(-ball(law.rate * steps)).exp() for steps in law.distance.steps.tolist()]
        lengths = [weights[level] for level, _ in order(law, code)]
        total, before, tapes = sum(lengths, arb(0)), arb(0), []
        for length in lengths[:4]:
            before += length
            digits = floor(before / total * ball(2**128))  # None where it is next to 1
            first, second = divmod(digits or 0, 2**64)
            if digits is not None and first < 2**64 - 1:
                tapes += [[first, max(second - 1, 0), 9], [first, min(second + 1, 2**64 - 1), 9]]
    return tapes


@pytest.mark.parametrize("law", [law for law in LAWS if law.each == 2][::3], ids=label)
def test_fresh_words_have_the_stated_law(law: Substitution) -> None:
    """Six comparisons, each with a false alarm in less than one of 1e7 runs."""
    codes = np.full(20_000, law.distance.size - 2)
    seen = np.bincount(law.draw(codes), minlength=law.distance.size)
    with precision(100):
        hoped = np.array([float(law.word_likelihood(out, int(codes[0]))) for out in range(law.distance.size)])
    assert statistics.chi_square(seen, hoped * codes.size) > statistics.ALARM


@pytest.mark.spread(26)
@every
def test_what_is_kept_and_what_is_guessed_are_those_of_the_law(law: Substitution) -> None:
    """Against all probabilities written out; without a prior, e^epsilon / (e^epsilon + k - 1) is the most."""
    with precision(100):
        written = np.array([[float(mass) for mass in row] for row in masses(law)])
    assert np.allclose(law.kept, written.diagonal(), rtol=1e-12)
    size = law.distance.size
    for prior in (np.full(size, 1 / size), np.arange(size) / (size * (size - 1) / 2)):
        assert law.guessed(prior) == pytest.approx((prior[:, None] * written).max(axis=0).sum(), rel=1e-12)
    worst = float(law.each if law.law != "metric" else law.each * law.distance.diameter)
    assert law.guessed(np.full(size, 1 / size)) <= 1 / (1 + (size - 1) * math.exp(-worst)) + 1e-12


def test_trees_are_calibrated_above_the_plain_exponential_mechanism() -> None:
    for law in LAWS:
        if law.law == "tree":
            plain = law.each / (2 * int(law.distance.steps[-1]))
            assert plain * Fraction(999, 1000) <= law.rate <= 2 * plain
    regular = Tree(Vocabulary(["a", "b"], unknown="a", tokenizer=None), {"a": "x", "b": "x"})
    assert Substitution.of("tree", regular, Fraction(1), 1).epsilon == 1


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda one: f"{one.kind}-{one.size}")
def test_levels_counts_and_picks_agree(distance: Distance) -> None:
    """What stands on a level, by the quick way and by looking at all items; all of it, each once."""
    codes = np.arange(distance.size)
    rows, near = distance.rows(codes), distance.near(codes)
    for code in codes.tolist():
        for level in range(distance.steps.size):
            there = np.flatnonzero(rows[code] == level)
            assert near.counts[code, level] == there.size
            places = np.full(there.size, code)
            assert sorted(near.pick(places, np.full(there.size, level), np.arange(there.size)).tolist()) == there.tolist()


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda one: f"{one.kind}-{one.size}")
def test_distances_are_metrics(distance: Distance) -> None:
    """Zero at home, the same both ways, and no way round is shorter: in whole steps, for every three items."""
    steps = distance.steps[distance.rows(np.arange(distance.size))]
    assert not steps.diagonal().any()
    assert (steps == steps.T).all()
    for middle in steps:
        assert (steps <= middle[:, None] + middle).all()
    assert distance.unit * int(steps.max()) <= distance.diameter


def looked_up(law: Substitution, codes: Integers, monkeypatch: pytest.MonkeyPatch) -> int:
    """For how many words rows are written out."""
    count, rows = 0, type(law.distance).rows

    def counting(self: Distance, some: Integers) -> object:
        nonlocal count
        count += some.size
        return rows(self, some)

    monkeypatch.setattr(type(law.distance), "rows", counting)
    law.draw(codes)
    monkeypatch.undo()
    return count


def test_alike_words_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors need a row for every different word, and trees none at all: that is what makes a million words quick."""
    vectors = Substitution.of("metric", scattered(Vocabulary.english(300), 10, 1), Fraction(9), 5)
    codes = np.arange(20_000) % 250
    assert looked_up(vectors, codes, monkeypatch) == 250
    tree = Substitution.of("metric", Tree.brown(Vocabulary.english(300)), Fraction(9), 5)
    assert looked_up(tree, codes, monkeypatch) == 0


@given(st.lists(st.integers(0, 11), max_size=60), st.sampled_from(LAWS[-60:]))
@settings(max_examples=examples(40), deadline=None)
def test_many_words_are_drawn_as_each_of_them(codes: list[int], law: Substitution) -> None:
    """Together or one by one, the same words give the same substitutes: a document's other words change nothing."""
    known = np.array([code % law.distance.size for code in codes], dtype=np.int64)
    tape = np.random.default_rng(len(codes)).integers(0, 2**64, known.size, dtype=np.uint64).tolist()
    together = replay(lambda: law.draw(known), [*tape, *[3] * 9]).value.tolist()
    single = [
        int(replay(lambda c=c: law.draw(np.array([c])), [word, 3, 3]).value[0]) for c, word in zip(known, tape, strict=True)
    ]
    assert together == single


def test_an_epsilon_beyond_all_sense_is_refused() -> None:
    refused(lambda: Substitution.of("metric", scattered(WORDS, 3, 1), Fraction(1001), 3), ParameterError, "take less")
    refused(lambda: Substitution.of("tree", scattered(WORDS, 3, 1), Fraction(1), 3), ParameterError, "needs a Tree")
    assert Substitution.of("tree", TREES[0], Fraction(1, 10**30), 3).rate == Fraction(1, 6 * 10**30)
