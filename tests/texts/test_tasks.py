"""Tasks about texts: what every task promises, person by person and document by document; estimates, budgets, refusals."""

from __future__ import annotations

import json
import logging
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from local.ratio import worst
from local.tasks import PROMISES, keep_json
from support.refusals import refused
from texts.laws import DAYS, WORDS, matrix, scattered

import discreet as dp
from discreet.balls import ball, precision
from discreet.errors import BudgetExceeded, ParameterError, ValueRefused
from discreet.local.protocols.base import Protocol
from discreet.local.task import Task
from discreet.texts import Distances, Phrases, Substitute, Tokenizer, Topics, Tree, Vectors, Vocabulary, WordShares

TOPICS = {"place": ["london", "paris", "rome"], "time": ["monday", "friday"]}
COUNTED: list[Task] = [
    WordShares(WORDS, 1),
    WordShares(Vocabulary.english(300), 2),
    WordShares(WORDS, 1, protocol="subset"),
    Phrases(2, length=2),
    Phrases(2, words=2, length=3, alphabet=None),
    Topics(TOPICS, 1),
]
SUBSTITUTED = [
    Substitute(WORDS, 2, length=3),
    Substitute(WORDS, 2, length=3, tree=Tree(WORDS, DAYS)),
    Substitute(WORDS, 2, length=3, distance=Tree(WORDS, DAYS)),
    Substitute(WORDS, 2, length=3, distance=scattered(WORDS, 3, 1)),
    Substitute(WORDS, 2, length=3, distance=matrix(WORDS, 4)),
]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
@pytest.mark.parametrize("task", COUNTED, ids=lambda task: f"{task.kind} {task.protocol.name}")
def test_promises_of_all_tasks(task: Task, promise: object) -> None:
    promise(task, ["london monday"] * 30)  # type: ignore[operator]


@pytest.mark.parametrize("task", SUBSTITUTED, ids=lambda task: f"{task.protocol.law} {task.protocol.distance.kind}")
def test_substitutions_are_tasks(task: Substitute) -> None:
    """Read back with the same hash; one report a document, as JSON or as a table; nothing is counted from them."""
    keep_json(task, [])
    batch = task.randomize(["london monday", "", "x " * 99])
    assert [len(report.r) for report in batch] == [3, 3, 3]  # type: ignore[union-attr, arg-type]
    assert batch.to_arrow().num_rows == 3  # type: ignore[union-attr]
    assert task.protocol.valid(batch.rows).all()  # type: ignore[union-attr]
    assert task.protocol.row(batch[0].r).tolist() == batch[0].r  # type: ignore[union-attr, index]
    assert task.protocol.row([1, 2]) is None
    assert task.protocol.row(["x"] * 3) is None
    refused(task.collector, ParameterError, "WordShares")
    refused(lambda: task.plan(10), ParameterError, "terms")


def mixed(protocol: Protocol, texts: list[list[int]]) -> list[list[object]]:
    """The law of a report of each text: the mean of the laws of its words."""
    rows = [np.array(row) for row in range(protocol.reports)]
    return [[sum((protocol.likelihood(row, code) for code in codes), ball(0)) / len(codes) for row in rows] for codes in texts]


def test_any_two_texts_of_a_person_are_alike_up_to_epsilon() -> None:
    """Enumerated: long and short texts, without words, of one word and of all; k-ary, where every report is listed."""
    task = WordShares(WORDS, Fraction(3, 2), protocol="k-ary")
    texts = [[0], [7], [7, 8], list(range(WORDS.size)), [9] * 50, [0, 0, 12]]
    with precision(200):
        ratio = worst(mixed(task.protocol, texts))  # type: ignore[arg-type]
        assert ratio.log() <= ball(Fraction(3, 2)) + ball(Fraction(1, 2**100))


def test_one_word_of_a_text_is_drawn_uniformly() -> None:
    """False alarm: a share of 1/3 is off by 0.05 among 10,000 with probability 1e-25."""
    task = WordShares(WORDS, 1)
    drawn = task.codes(["london, paris rome"] * 10_000)
    for word in ("london", "paris", "rome"):
        assert abs((drawn == WORDS.codes[word]).mean() - 1 / 3) < 0.05
    assert set(task.codes(["", "!!!", "bob"] * 20).tolist()) == {0, WORDS.codes["<other>"]}
    assert set(Phrases(1, words=2).phrases("a b c")) == {"a b", "b c"}


def test_words_are_found_and_others_are_not() -> None:
    """20,000 people, 2,000 words, epsilon 4: errors are 0.002, the threshold 0.01; shares are off by 6 errors once in 1e8."""
    vocabulary = Vocabulary.english(2000)
    people, common = 20_000, {"free": 0.2, "call": 0.1, "home": 0.05, "love": 0.03}
    texts = [word for word, share in common.items() for _ in range(int(share * people))]
    texts += [vocabulary.words[100 + place % 1900] for place in range(people - len(texts))]
    task = WordShares(vocabulary, 4)
    collector = task.collector()
    collector.add(task.randomize(texts))
    estimate = collector.estimate()
    assert estimate.standard_error.max() < 1.05 * np.sqrt(best_variance(vocabulary.size, 4) / people) * 2.2
    for word, share in common.items():
        assert abs(estimate[word] - share) < 6.5 * estimate.standard_error[vocabulary.codes[word]] + 0.001
        assert word in estimate.common()
    assert len(estimate.common()) <= 8  # names a word below 0.001 in one survey of twenty, and nine of them in one of 1e12
    assert "more common than 0.1 % for sure" in str(estimate)
    assert task.plan(people).standard_error == pytest.approx(np.sqrt(best_variance(vocabulary.size, 4) / people), rel=0.05)


def best_variance(size: int, epsilon: float) -> float:
    """Of one report about a value that nobody has, by subset selection with the best weight, which is the least there is."""

    def variance(weight: int) -> float:
        truth = weight * np.exp(epsilon) / (weight * np.exp(epsilon) + size - weight)
        lie = (truth * (weight - 1) + (1 - truth) * weight) / (size - 1)
        return float(lie * (1 - lie) / (truth - lie) ** 2)

    return min(variance(weight) for weight in range(1, size // 2))


def test_phrases_that_nobody_listed_are_found() -> None:
    """Three pairs of words among 30,000 people at epsilon 6; each misses its threshold with a chance below 1e-9."""
    task = Phrases(6, words=2, length=6, alphabet="abcdefgh ")
    texts = ["Bad bed, bad bed!"] * 12_000 + ["cab fad"] * 9_000 + ["dad had"] * 9_000
    collector = task.collector()
    collector.add(task.randomize(texts))
    found = collector.estimate().items
    assert {"cab fa", "dad ha"} <= set(found)
    assert found[0] in ("bad be", "cab fa", "dad ha")


def test_topics_of_documents() -> None:
    task = Topics(TOPICS, 3, otherwise="none")
    said = {"Monday in Rome, Paris": "place", "friday, monday, rome": "time", "": "none", "monday rome": "place", "x": "none"}
    assert {text: task.topic(text) for text in said} == said
    assert task.codes(list(said)).tolist() == [0, 1, 2, 0, 2]
    assert Topics({str(n): [f"w{n}"] for n in range(60)}, 1, protocol="subset").protocol.name == "subset"
    collector = task.collector()
    collector.add(task.randomize(["rome"] * 3000 + [""] * 1000))
    estimate = collector.estimate()
    assert abs(estimate["place"] - 0.75) < 0.08  # seven standard errors
    assert estimate.items == ("place", "time", "none")


# ---- Substituted documents --------------------------------------------------------------------------------------------------


def test_the_guarantee_of_a_document_is_the_sum_over_its_public_length() -> None:
    for task in SUBSTITUTED:
        worst_word = Fraction(2) * (task.protocol.distance.diameter if task.protocol.law == "metric" else 1)
        assert task.epsilon == 3 * worst_word
        assert task.privacy.epsilon(delta=0) == pytest.approx(float(task.epsilon))
        terms = task.terms
        assert (terms.document, terms.worst_word, terms.length) == pytest.approx((float(task.epsilon), float(worst_word), 3))
        local = terms.word.startswith("local privacy of epsilon 2:")
        assert local == (task.protocol.law != "metric")
        if not local:  # never called local privacy of epsilon
            assert terms.word.startswith("metric privacy of 2 a unit of distance (not local privacy of 2)")
            assert f"a pure epsilon of {float(worst_word):.6g}" in terms.word
        text = str(task)
        assert f"of 3 words: epsilon {float(task.epsilon):.6g}, the sum over its words" in text
        assert "a word stays with probability" in text
        assert "by the best attacker" in text
        assert "<table" in task._repr_html_()
        assert 0 < terms.kept_least <= terms.kept <= terms.kept_most < 1
        assert terms.blind <= terms.guessed <= 1


def test_released_documents_carry_their_terms() -> None:
    task = SUBSTITUTED[1]
    released = task.release(["monday in london", "", "rome " * 50])
    facts = json.loads(released.to_json())
    assert (facts["task"], facts["version"], len(facts["documents"])) == (task.hash, 1, 3)
    assert facts["terms"]["document"] == 6.0
    assert all(len(text.split()) <= 3 for text in released.documents)
    assert str(task.terms) in str(released)
    sure = Substitute(WORDS, 1000, length=4)  # keeps all but one in e^900
    assert sure.release("Rome, PARIS and monday; friday").documents == ("rome paris <other> monday",)


def test_a_client_pays_for_the_whole_document(tmp_path: Path) -> None:
    me = dp.local.Client(tmp_path / "me.json", epsilon=10)
    me.randomize(SUBSTITUTED[0], "monday")
    assert me.spent == 6
    with pytest.raises(BudgetExceeded):
        me.randomize(SUBSTITUTED[0], "x")


def test_a_short_document_is_as_long_as_a_long_one() -> None:
    """Filling up is substituted as any other word: at an epsilon near 0 nobody sees how long a text was."""
    task = Substitute(WORDS, Fraction(1, 100), length=50)
    empty, full = (np.count_nonzero(task.codes([text])) for text in ("", "monday " * 50))
    assert (empty, full) == (0, 50)
    lengths = [len(text.split()) for text in task.release([""] * 200).documents]
    assert np.mean(lengths) > 40  # of 50 times 12/13; off by so much once in 1e20


BAD = [b"secret word", None, 7, float("nan"), ["secret"], "secret " * 200_000]


@pytest.mark.parametrize("task", [*COUNTED, *SUBSTITUTED], ids=lambda task: f"{task.kind} {task.protocol.name}")
@pytest.mark.parametrize("document", BAD, ids=["bytes", "none", "number", "nan", "list", "10 MB"])
def test_bad_documents_are_refused_before_anything_is_drawn(
    task: Task, document: object, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sentence that holds nothing of the text; nothing in any log."""
    with caplog.at_level(logging.DEBUG):
        message = refused(lambda: task.randomize([document]), ValueRefused, never="secret")
    assert "document" in message.lower()
    assert "secret" not in caplog.text + "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Substitute(WORDS, 1, length=0), "length"),
        (lambda: Substitute(WORDS, 1, length=10_001), "at most 10,000 words"),
        (lambda: Substitute(WORDS, 0, length=1), "above 0"),
        (lambda: Substitute(WORDS, 1, length=1, tree=Tree(WORDS, DAYS), distance=Tree(WORDS, DAYS)), "one of them"),
        (lambda: Substitute(WORDS, 1, length=1, tree=scattered(WORDS, 3, 1)), "tree= is a Tree"),
        (lambda: Substitute(["a", "b"], 1, length=1, tree=Tree(WORDS, DAYS)), "another vocabulary"),
        (lambda: Substitute(WORDS, 1, length=1).terms_for({"unheard": 1}), "prior="),
        (lambda: Substitute(WORDS, 1, length=1).terms_for([0.5, float("nan")]), "prior="),
        (lambda: Topics({}, 1), "Topics have names"),
        (lambda: Topics({"a": ["Upper"]}, 1), "Every topic"),
        (lambda: Topics({"a": ["x"]}, 1, otherwise="a"), "otherwise="),
        (lambda: Phrases(1, words=9), "at most 8 words"),
        (lambda: Phrases(1, tokenizer="x"), "Tokenizer"),
        (lambda: WordShares(WORDS, 1).collector(["a"]), "candidates"),
        (lambda: Tree(WORDS, {"monday": "day"}), "6 of the 7 words are in no class, 'friday' among them"),
        (lambda: Tree(WORDS, {**DAYS, "red": ()}), "classes are names"),
        (lambda: Tree(WORDS, DAYS, steps=(1, 2)), "3 whole numbers"),
        (lambda: Tree(WORDS, DAYS, steps=(3, 2, 4)), "none below"),
        (lambda: Tree(WORDS, DAYS, unit=0), "unit"),
        (lambda: Tree.brown(WORDS, cuts=(8, 4)), "rising"),
        (lambda: Tree.brown(WORDS, language="fi"), "discreet[text]"),
        (lambda: Vectors(["a", "b"], {"a": [1, 2], "b": [1]}), "same length"),
        (lambda: Vectors(["a", "b"], {"a": [1, 2], "b": [1, float("nan")]}), "NaN"),
        (lambda: Vectors(["a", "b"], {"a": [1, 2], "b": ["x", "y"]}), "same length"),
        (lambda: Vectors(["a", "b"], {"a": [1, 2]}), "1 of the 2 words have no vector"),
        (lambda: Vectors(["a", "b"], {"a": [1], "b": [2]}, grid=0), "grid"),
        (lambda: Distances(["a", "b"], [[0, 1]]), "a row and a column"),
        (lambda: Distances(["a", "b"], [[0, 1], [2, 0]]), "no distance"),
        (lambda: Distances(["a", "b"], [[1, 1], [1, 0]]), "no distance"),
        (lambda: Distances(["a", "b"], [[0, -1], [-1, 0]]), "from 0 to"),
        (lambda: Distances(["a", "b"], [[0, float("nan")], [1, 0]]), "finite"),
        (lambda: Distances(["a", "b", "c"], [[0, 1, 9], [1, 0, 1], [9, 1, 0]]), "the way over a third one is shorter"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(make: object, says: str) -> None:
    refused(make, ParameterError, says)  # type: ignore[arg-type]


def test_vectors_of_files(tmp_path: Path) -> None:
    """GloVe's format and word2vec's; words that are none are passed over; wrong lines are named by their number."""
    lines = ["the 1 0 0.5", "Cat 9 9 9", "cat 0.5 1e-1 0", "dog 0.5 0.2 0", ", 0 0 1", "cat 7 7 7"]
    (tmp_path / "glove.txt").write_text("\n".join(lines))
    (tmp_path / "w2v.txt").write_text("\n".join(["6 3", *lines]))
    glove, w2v = (Vectors.load(tmp_path / name) for name in ("glove.txt", "w2v.txt"))
    assert glove == w2v
    assert hash(glove) == hash(w2v)
    assert glove.vocabulary.words == ("the", "cat", "dog")
    assert glove.distance("cat", "dog") < glove.distance("cat", "the")
    assert Vectors.load(tmp_path / "glove.txt", Vocabulary(["dog", "the"])).vocabulary.words == ("dog", "the")
    assert Vectors.load(tmp_path / "glove.txt", count=2).vocabulary.words == ("the", "cat")
    (tmp_path / "short.txt").write_text("the 1 0\ncat 1\n")
    refused(lambda: Vectors.load(tmp_path / "short.txt"), ParameterError, "Line 2 of", "2 numbers")
    (tmp_path / "text.txt").write_text("the 1 0\ncat one two\n")
    refused(lambda: Vectors.load(tmp_path / "text.txt"), ParameterError, "Line 2 of")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\xfe\x00\x01")
    refused(lambda: Vectors.load(tmp_path / "bytes.bin"), ParameterError, "UTF-8")
    refused(lambda: Vectors.load(tmp_path / "none.txt"), ParameterError, "cannot be read")
    refused(lambda: Vectors.load(tmp_path / "glove.txt", Vocabulary(["dog", "bird"])), ParameterError, "1 of the 2 words")


def test_steps_of_vectors_are_rounded_up_for_every_square_that_there_is() -> None:
    """In float32, and by whole numbers: the least k with k^2 g^2 >= S, for all S below 2^20."""
    from discreet.texts.distances.vectors import round_up

    squares = np.arange(2**20)
    for grid in (1, 2, 3, 7, 10, 33, 500, 511):
        steps = (squares - 0.5).astype(np.float32)
        round_up(steps, grid)
        k = steps.astype(np.int64)
        assert (k**2 * grid**2 >= squares).all()
        assert ((k - 1) ** 2 * grid**2 < squares)[k > 0].all()
        assert not k[0]


def test_long_and_equal_vectors_stay_on_the_grid() -> None:
    chance = np.random.default_rng(3)
    many = Vectors(
        Vocabulary.english(50),
        {word: chance.normal(size=300) * 10.0 ** chance.integers(-90, 90) for word in Vocabulary.english(50).words},
    )
    assert (many.entries.astype(np.int64) ** 2).sum(axis=1).max() <= 511**2
    same = Vectors(["a", "b", "c"], {"a": [1, 1], "b": [1, 1], "c": [0, 1]})
    assert same.distance("a", "b") == 0
    alike = Vectors(["a", "b"], {"a": [0.0], "b": [0.0]})
    assert alike.diameter > 0  # marks are apart from them


def test_tokenizers_and_kinds_are_in_the_hash() -> None:
    hashes = {
        WordShares(WORDS, 1).hash,
        WordShares(WORDS, 2).hash,
        WordShares(Vocabulary(WORDS.words, unknown="drop"), 1).hash,
        Phrases(1).hash,
        Phrases(1, tokenizer=Tokenizer(case="keep")).hash,
        Substitute(WORDS, 1, length=2).hash,
        Substitute(WORDS, 1, length=3).hash,
        Substitute(WORDS, 1, length=2, tree=Tree(WORDS, DAYS)).hash,
        Substitute(WORDS, 1, length=2, distance=Tree(WORDS, DAYS)).hash,
    }
    assert len(hashes) == 9
