"""Texts at a curator: what one unit moves, what is paid, what any cell does, and what comes out."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some

import discreet as dp
from discreet.auditor.curators import replay_curator
from discreet.errors import DiscreetError, ParameterError
from discreet.mechanisms.base import recorded
from discreet.mechanisms.rows import sets
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.rows.sets import count_items, count_pairs, pair_places
from discreet.mechanisms.secret import Secret, open_secret
from discreet.schema.table import Schema

LISTED = ["a", "b", "c", "d"]
documents = some.lists(some.lists(some.sampled_from("abcdex"), max_size=6).map(" ".join), max_size=5)
COLUMNS = {"text": dp.text(), "label": dp.category("ham", "spam")}
COSTS: dict[str, dict[str, Any]] = {"pure": {"epsilon": 3}, "approximate": {"epsilon": 3, "delta": 1e-6}, "rho": {"rho": 2}}


def _curator(folder: Path, rows: pd.DataFrame, unit: Any = None, **budget: Any) -> dp.Curator:
    unit = dp.rows() if unit is None else unit
    return dp.Curator(rows, unit=unit, columns=COLUMNS, budget=dp.Budget(**budget), ledger=str(folder / "l.ledger"), people="us")


def _blocks(texts: list[str], starts: list[int] | None = None) -> list[Secret[Block]]:
    column = np.array(texts, dtype=object)
    return [Secret(Block({"t": column}, len(texts), None if starts is None else np.array(starts, dtype=np.int64)))]


def _owned(block: Block) -> tuple[list[str], np.ndarray]:
    words = [(word, row) for row, text in enumerate(block["t"]) for word in text.split()]
    return [word for word, _ in words], np.array([row for _, row in words], dtype=np.int64)


@given(documents, some.lists(some.sampled_from("abcdex"), max_size=6).map(" ".join), some.integers(1, 4))
def test_one_unit_moves_counts_by_no_more_than_its_words(others: list[str], one: str, most: int) -> None:
    for count, places in ((count_items, most), (count_pairs, most * (most - 1) // 2)):
        before, after = (open_secret(count(_blocks(each), _owned, LISTED, most, b"k")) for each in (others, [*others, one]))
        moved = after - before
        if count is count_items:
            assert moved[-1] == 1
            moved = moved[:-1]
        assert set(moved.tolist()) <= {0, 1}
        mine = len({*one.split()} & {*LISTED})
        chosen = min(mine, most)
        assert moved.sum() == (chosen if count is count_items else chosen * (chosen - 1) // 2) <= places


def test_rows_of_a_person_are_one_unit_and_pairs_have_their_places() -> None:
    persons = _blocks(["a b", "b c", "d"], [0, 2])
    assert open_secret(count_items(persons, _owned, LISTED, 9, b"k")).tolist() == [1, 1, 1, 1, 2]
    pairs = open_secret(count_pairs(persons, _owned, LISTED, 9, b"k"))
    assert pairs.tolist() == [1, 1, 0, 1, 0, 0]  # ab ac ad bc bd cd
    first, second = np.array([*itertools.combinations(range(7), 2)]).T
    assert pair_places(first, second, 7).tolist() == [*range(21)]


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("unit", [None, dp.rows(neighbours="replace", size=300), dp.person("pid", rows=3, groups=1)])
def test_what_is_spent_is_what_was_asked_and_never_more(tmp_path: Path, cost: str, unit: Any) -> None:
    rows = pd.DataFrame({"pid": range(300), "text": ["free call now", "see you at home"] * 150, "label": ["spam", "ham"] * 150})
    table = _curator(tmp_path, rows, unit, **COSTS[cost])
    asked = {"rho": 0.5} if cost == "rho" else {"epsilon": 1}
    words = ["free", "call", "home", "you"]
    questions = [
        lambda **c: table.word_counts("text", words, **c),
        lambda **c: table.cooccurrences("text", words, **c),
        lambda **c: table.classify("text", "label", words, **c),
    ]
    if cost == "approximate":
        questions.append(lambda **c: table.vocabulary("text", ngrams=2, **c))
    for question in questions:
        before = table.budget.spent
        preview = str(question().preview(**asked))
        assert "No data was read" in preview
        with recorded() as record:
            result = question(**asked)
        spent = sum((one.mechanism.privacy for one in record), dp.Privacy())
        assert spent.neighbours in (None, "replace" if unit is not None and unit.neighbours == "replace" else "add-remove")
        assert result.paid.privacy.epsilon(1e-3) >= spent.epsilon(1e-3) * (1 - 1e-9)
        after = table.budget.spent
        assert question(**asked).paid.repeated
        assert float(table.budget.spent) == float(after) > float(before)


ODD = [None, "", " ", "\x00", "é" * 50, "a" * 4000, "💥 free", "free\nfree", "<number>", "12 12 1,2", "a@b.c", "\ud7ff\u0301"]


@pytest.mark.parametrize("odd", ODD)
def test_no_text_decides_whether_an_answer_comes(tmp_path: Path, odd: str | None) -> None:
    rows = pd.DataFrame({"text": ["free call", odd, "call me"], "label": ["spam", None, "ham"]})
    table = _curator(tmp_path, rows, epsilon=9, delta=1e-6)
    assert len(table.word_counts("text", ["free", "call"], epsilon=1).counts) == 2
    assert table.cooccurrences("text", ["free", "call"], epsilon=1).counts.shape == (2, 2)
    assert table.classify("text", "label", ["free", "call"], epsilon=1).weights.shape == (2, 2)
    assert isinstance(table.vocabulary("text", epsilon=1).words, tuple)


def test_no_rows_and_one_class_are_answered_alike(tmp_path: Path) -> None:
    empty = _curator(
        tmp_path, pd.DataFrame({"text": pd.Series([], dtype=str), "label": pd.Series([], dtype=str)}), epsilon=9, delta=1e-6
    )
    assert empty.vocabulary("text", epsilon=1).words == ()
    with pytest.raises(ParameterError, match="Fewer than two words"):
        empty.vocabulary("text", epsilon=1).vocabulary()
    assert empty.classify("text", "label", ["a", "b"], epsilon=1).predict(["a", ""])[0] in ("ham", "spam")
    assert np.isfinite(empty.word_counts("text", ["a", "b"], epsilon=1).idf).all()
    assert np.isfinite(empty.cooccurrences("text", ["a", "b"], epsilon=1).vectors(2)).all()


def test_common_words_are_found_counted_and_told_apart(tmp_path: Path) -> None:
    """4,000 rows: noise of at most 60 on counts of 2,000 and more."""
    texts = [f"win a prize call {i}x" if i % 2 else f"see you at home my {i}y" for i in range(4000)]
    rows = pd.DataFrame({"text": texts, "label": ["spam" if i % 2 else "ham" for i in range(4000)]})
    table = _curator(tmp_path, rows, epsilon=20, delta=1e-6)
    found = table.vocabulary("text", epsilon=2, ngrams=3)
    assert {"win", "prize", "home"} <= set(found.words)
    assert {"win a", "see you at"} <= set(found.phrases)
    assert not [word for word in found.words if word[0].isdigit()]
    words = found.vocabulary()
    counts = table.word_counts("text", words, epsilon=2)
    phrased = table.word_counts("text", ["win", "home"], phrases=found.phrases, epsilon=2)
    assert abs(phrased["see you at"] - 2000) < 8 * phrased.standard_error
    assert len(phrased.counts) == len(phrased.to_pandas()) == 2 + len(found.phrases)
    assert phrased.weights(["win"]).shape == (1, 2)
    assert abs(counts["prize"] - 2000) < 8 * counts.standard_error
    assert abs(counts.total - 4000) < 8 * counts.standard_error
    low, high = counts.interval()
    assert ((low <= counts.counts) & (counts.counts <= high)).all()
    together = table.cooccurrences("text", words, epsilon=2)
    i, j, k = (words.words.index(word) for word in ("win", "prize", "home"))
    assert together.counts[i, j] == together.counts[j, i] > 1500 > together.counts[i, k]
    assert "prize" in together.nearest("win", 3, dimensions=4)
    model = table.where("label is not null").classify("text", "label", words, epsilon=2)
    assert model.predict(["call and win a prize", "home"]) == ["spam", "ham"]
    assert model.predict_proba(["", "home"]).sum(axis=1) == pytest.approx(1)
    assert "win" in model.speaking("spam", 4)
    assert counts.weights(["win prize", "", "nothing known"]).shape == (3, len(words.words))
    assert list(counts.to_pandas().columns) == ["word", "n", "n_lower", "n_upper"]


def _audited(verb: str, unit: Any) -> Any:
    """An audit of one verb on made-up neighbours."""

    def table(rows: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(
            rows, unit=unit, columns=COLUMNS, budget=dp.Budget(epsilon=9, delta=1e-3), ledger=ledger, people="made up"
        )

    def ask(curator: Any) -> str:
        if verb == "vocabulary":
            return str(curator.vocabulary("text", epsilon=1, ngrams=2).words)
        more = ("label",) if verb == "classify" else ()
        return str(getattr(curator, verb)("text", *more, ["a", "b", "text"], epsilon=1))

    return replay_curator(table, ask, Schema(COLUMNS, unit))


@pytest.mark.parametrize("verb", ["vocabulary", "word_counts", "cooccurrences", "classify"])
@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it_on_neighbours(verb: str) -> None:
    found = _audited(verb, dp.person("pid", rows=2, groups=1) if verb == "word_counts" else dp.rows())
    assert found.releases >= found.pairs > 5
    assert not found.violated, str(found)


def test_the_audit_finds_words_that_are_not_bounded(monkeypatch: pytest.MonkeyPatch, unrehearsed: None) -> None:  # noqa: ARG001
    """Every row would count twice."""
    whole = sets.count_items
    monkeypatch.setattr(
        "discreet.texts.curated.counts.count_items", lambda *given: Secret(2 * open_secret(whole(*given))), raising=True
    )
    assert _audited("word_counts", dp.rows()).violated


def test_what_is_refused_costs_nothing(tmp_path: Path) -> None:
    rows = pd.DataFrame({"text": ["a b"], "label": ["ham"]})
    table = _curator(tmp_path, rows, epsilon=1)
    words = ["a", "b"]
    wrong = [
        lambda: table.vocabulary("text", epsilon=0.1),  # no delta
        lambda: table.word_counts("nothing", words, epsilon=0.1),
        lambda: table.word_counts("length(text)", words, epsilon=0.1),
        lambda: table.word_counts("text", "words", epsilon=0.1),
        lambda: table.word_counts("text", words, epsilon=0.1, words=0),
        lambda: table.word_counts("text", words, epsilon=0.1, words=10**6),
        lambda: table.word_counts("text", words, rho=0.1),
        lambda: table.word_counts("text", words, phrases="a b", epsilon=0.1),
        lambda: table.word_counts("text", words, phrases=["a"], epsilon=0.1),
        lambda: table.word_counts("text", words, phrases=["x y", "x y"], epsilon=0.1),
        lambda: table.word_counts("text", words, epsilon=2),
        lambda: table.cooccurrences("text", [f"w{i}" for i in range(5000)], epsilon=0.1),
        lambda: table.classify("text", "text", words, epsilon=0.1),
        lambda: table.classify("text", words, epsilon=0.1),
        lambda: table.word_counts(epsilon=0.1),
    ]
    for ask in wrong:
        with pytest.raises(DiscreetError) as refusal:
            ask()
        assert "a b" not in str(refusal.value)
    assert float(table.budget.spent) == 0


def test_what_is_given_again_says_what_it_cost_and_another_delta_is_another_question(tmp_path: Path) -> None:
    clinic = _curator(tmp_path, pd.DataFrame({"text": ["fever cough"] * 60, "label": ["ham"] * 60}), epsilon=3, delta=1e-6)
    dear, cheap = (clinic.word_counts("text", ["fever", "cough"], epsilon=epsilon) for epsilon in (0.5, 0.1))
    assert cheap.paid.repeated
    assert (cheap.paid.privacy, cheap.paid.cost) == (dear.paid.privacy, dear.paid.cost)
    loose, tight = (clinic.vocabulary("text", epsilon=0.3, delta=delta) for delta in (1e-8, 1e-11))
    assert not tight.paid.repeated
    assert tight.paid.privacy != loose.paid.privacy


def test_so_much_noise_that_no_64_bits_hold_it_is_an_answer_too(tmp_path: Path) -> None:
    """Whatever goes wrong after payment is paid for."""
    clinic = _curator(tmp_path, pd.DataFrame({"text": ["fever cough"] * 60, "label": ["ham"] * 60}), epsilon=1)
    clinic.classify("text", "label", ["fever", "cough"], epsilon=1e-14)
    clinic.word_counts("text", ["fever", "cough"], epsilon=1e-25)
