"""What attackers get: by the law itself, in context against every document written out, and the area of a membership test."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from support.refusals import refused

from discreet.errors import ParameterError
from discreet.texts import Attack, Bigrams, Substitute, Tree, Vocabulary, attack, plot_attacks
from discreet.texts.attack import _Emissions, _posteriors
from discreet.texts.priors import read_prior

TINY = Vocabulary(["see", "you", "home"], unknown="drop", tokenizer=None)


def test_context_is_bayes_over_whole_documents() -> None:
    """Forward and backward give what the sum over all documents of three words gives."""
    model = Bigrams.of(["see you", "you home", "see you home", "home"], TINY)
    task = Substitute(TINY, 2, length=3)
    likely, size = _Emissions(task), TINY.size
    following = np.array([model.follow(np.eye(size)[word]) for word in range(size)])
    assert np.allclose(following.sum(axis=1), 1)
    back = np.array([model.precede(np.eye(size)[word]) for word in range(size)]).T
    assert np.allclose(back, following)
    for seen in ([5, 6, 7], [7, 7, 5]):
        masses = [likely.of(code) for code in seen]
        by_hand = np.zeros((3, size))
        for words in itertools.product(range(size), repeat=3):
            chance = model.prior[words[0]] * following[words[0], words[1]] * following[words[1], words[2]]
            for place, word in enumerate(words):
                chance *= masses[place][word]
            for place, word in enumerate(words):
                by_hand[place, word] += chance
        for mine, theirs in zip(_posteriors(masses, model), by_hand, strict=True):
            assert np.allclose(mine / mine.sum(), theirs / theirs.sum())


def test_attackers_are_as_good_as_epsilon_lets_them() -> None:
    """At an epsilon near 0 a coin, at a large one certain; context helps in between. Margins of eight standard errors."""
    vocabulary = Vocabulary.english(40)
    texts = ["the time of the day", "to be or not to be", "you and i", "it is what it is"] * 25
    model = Bigrams.of(texts, vocabulary)
    prior = dict(zip(vocabulary.items, model.prior.tolist(), strict=True))
    found = [attack(Substitute(vocabulary, epsilon, length=6), texts, prior=prior, bigrams=model) for epsilon in (0.01, 4, 30)]
    blind, some, sure = found
    assert blind.word == pytest.approx(blind.blind, abs=0.01)
    assert abs((blind.membership or 0) - 0.5) < 0.35
    assert (sure.context, sure.alone, sure.membership) == (1, 1, pytest.approx(1, abs=0.2))  # documents repeat
    assert (some.context or 0) > (some.alone or 0) + 0.05 > some.blind
    assert abs((some.alone or 0) - some.word) < 0.2
    assert "and in context (pairs)" in str(some)
    assert "<table" in some._repr_html_()


def test_related_words_hide_each_other_in_a_tree() -> None:
    vocabulary = Vocabulary.english(200)
    tree = Substitute(vocabulary, 4, length=5, tree=Tree.brown(vocabulary))
    assert attack(tree).word == pytest.approx(tree.terms.guessed)
    assert attack(tree).kept == pytest.approx(tree.terms.kept)


def test_priors() -> None:
    english = read_prior(Vocabulary.english(100))
    assert english.sum() == pytest.approx(1)
    assert english[0] == 0
    assert (np.diff(english[6:]) <= 0).all()
    assert read_prior(TINY, {"see": 2, "you": 2}).tolist()[-3:] == [0.5, 0.5, 0]
    for wrong in ({"see": -1}, {"see": "x"}, {"see": 0}, [1.0], "x", {"see": float("nan")}, {"see": float("inf")}):
        refused(lambda wrong=wrong: read_prior(TINY, wrong), ParameterError, "prior=")


def test_pairs_of_files(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("see you 30\nsee home 10\nwho knows 5\n")
    model = Bigrams.load(tmp_path / "pairs.txt", TINY)
    assert model.chance.tolist() == [0.75, 0.25]
    (tmp_path / "wrong.txt").write_text("see you\n")
    refused(lambda: Bigrams.load(tmp_path / "wrong.txt", TINY), ParameterError, "cannot be read")


def test_the_picture_has_a_line_for_each_series() -> None:
    series = [attack(Substitute(TINY, epsilon, length=2)) for epsilon in (1, 2, 4)]
    ax = plot_attacks({"k-ary": series})
    assert [line.get_label() for line in ax.get_lines()] == ["k-ary", "without any report"]
    assert np.allclose(ax.get_lines()[0].get_ydata(), [100 * one.word for one in series])
    for wrong in ({}, [series], {"k-ary": [1]}, {"k-ary": []}):
        refused(lambda wrong=wrong: plot_attacks(wrong), ParameterError)
    refused(lambda: attack(TINY), ParameterError, "attack(Substitute(")  # type: ignore[arg-type]
    refused(
        lambda: attack(Substitute(TINY, 1, length=1), bigrams=Bigrams.of(["a"], ["a", "b"])), ParameterError, "same vocabulary"
    )
    assert isinstance(series[0], Attack)
