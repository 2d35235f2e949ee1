"""Words nobody listed: the guarantee of a report, the search, and what happens with too few people."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.balls import ball, precision
from discreet.errors import ParameterError, ValueRefused
from discreet.local import HeavyHitters, read_collector, read_task
from discreet.local.prefixes import hashed
from discreet.local.spelling import Spelling

WORDS = ["the", "and", "café", "privacy", "zebra"]
SHARES = [0.3, 0.2, 0.15, 0.1, 0.05]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4)], ids=str)
def test_no_report_is_more_than_e_to_the_epsilon_times_likelier(epsilon: Fraction) -> None:
    """Over all reports and all pairs of hashed cells of the level that a report is about."""
    protocol = HeavyHitters(epsilon, length=3, cells=40).protocol
    with precision(300):
        target = ball(epsilon).exp()
        total = ball(0)
        for report in range(protocol.cells):
            chances = [protocol.likelihood(np.array(report), code) for code in range(40)]
            high, low = chances[0], chances[0]
            for chance in chances:
                high, low = high if high > chance else chance, low if low < chance else chance
            assert not high / low > target
            assert high / low < target * (1 + ball(Fraction(1, 10**60)))
            total += chances[7]
        assert abs(total - 1) < ball(Fraction(1, 10**60))


def test_the_level_does_not_depend_on_the_word() -> None:
    """Counts of levels over 40,000 reports: 8 standard deviations, a false alarm below 1e-14."""
    task = HeavyHitters(1, length=4, cells=64)
    for word in ("a", "zzzz"):
        rows = task.randomize([word] * 40_000).rows  # type: ignore[union-attr]
        levels = np.bincount(rows // task.protocol.inner.cells, minlength=4)
        assert levels == pytest.approx([10_000] * 4, abs=8 * (40_000 * 3 / 16) ** 0.5)


def test_prefixes_that_agree_hash_alike_and_others_seldom() -> None:
    """Two different prefixes meet with a chance of 1 / 1000: of 10,000 pairs about 10, and 60 with a chance below 1e-20."""
    rng = np.random.default_rng(3)
    symbols = rng.integers(0, 256, (10_000, 5))
    changed = symbols.copy()
    changed[:, 3] = (changed[:, 3] + rng.integers(1, 256, 10_000)) % 256
    assert (hashed(symbols[:, :3], 3, 1000) == hashed(changed[:, :3], 3, 1000)).all()
    assert (hashed(symbols, 5, 1000) == hashed(changed, 5, 1000)).sum() < 60
    counts = np.bincount(hashed(symbols, 5, 10), minlength=10)
    assert counts == pytest.approx([1000] * 10, abs=300)


def test_common_words_are_found_and_measured() -> None:
    """60,000 people at epsilon 4: a standard error of 0.3 points a level, all five words 16 of them above 0; intervals of 6."""
    task = HeavyHitters(4, cells=2**13)
    n = 60_000
    values = [word for word, share in zip(WORDS, SHARES, strict=True) for _ in range(round(n * share))]
    values += [f"rare{number}" for number in range(n - len(values))]  # "rare" is a common prefix, but no common word
    collector = task.collector()
    collector.add(task.randomize(values))
    found = collector.estimate()
    assert set(WORDS) <= set(found.items)
    assert not any(word.startswith("rare") for word in found.items)
    for word, share in zip(WORDS, SHARES, strict=True):
        place = found.items.index(word)
        assert abs(found[word] - share) < 6 * found.standard_error[place]
    assert found.values.tolist() == sorted(found.values, reverse=True)
    assert found.threshold < 0.05
    frame = found.to_pandas()
    assert list(frame.columns) == ["item", "share", "standard_error", "lower", "upper"]
    assert "privacy" in str(found)
    with pytest.raises(KeyError, match="not found"):
        found["absent"]


def test_shares_are_unbiased_with_the_told_standard_error() -> None:
    """30 repetitions: the mean of their errors, in standard errors, deviates by 0.18, its spread by 13 %; 5.5 of each."""
    task = HeavyHitters(3, length=2, alphabet="abcd", cells=2**14)
    errors = []
    for _ in range(30):
        collector = task.collector()
        collector.add(task.randomize(["ab"] * 3000 + ["c"] * 2000))
        found = collector.estimate()
        errors.append((found["ab"] - 0.6) / found.standard_error[found.items.index("ab")])
    assert abs(np.mean(errors)) < 5.5 * 0.18 + 0.3  # collisions of "c" with the word's cells, the same in all repetitions
    assert 0.25 < np.std(errors) < 1.75


def test_too_few_people_find_nothing_and_are_told() -> None:
    task = HeavyHitters(1, length=4)
    collector = task.collector()
    collector.add(task.randomize(["hi"] * 50))
    found = collector.estimate()
    assert found.items == ()
    assert "too few reports" in str(found)
    assert "noise" in str(task.plan(50))
    assert not task.plan(10**8).warnings
    one = task.collector()
    one.add(task.randomize("hi"))  # most levels have nobody
    assert one.estimate().items == ()


def test_spelling_and_fates() -> None:
    plain = Spelling(4)
    assert plain.text(plain.symbols(["añb"])[0]) == "añb"
    assert plain.text(plain.symbols(["abcñ"])[0]) == "abc"  # cut between characters, never inside one
    for bad in (None, 7, "", "a\0b", "\ud800", float("nan"), ["a"]):
        with pytest.raises(ValueRefused, match="spelled"):
            plain.symbols(["ok", bad])
        assert Spelling(4, missing="none").symbols([bad]).tolist() == Spelling(4).symbols(["none"]).tolist()
        assert Spelling(4, missing="random").symbols([bad]).all()
    with pytest.raises(ValueRefused):
        Spelling(4, "abc").symbols(["abd"])
    letters = Spelling(2, "ab")
    assert letters.extended(np.zeros((1, 0), dtype=np.int64)).tolist() == [[1], [2]]
    assert letters.extended(np.array([[1], [0]])).tolist() == [[0, 0], [1, 0], [1, 1], [1, 2]]


def test_tasks_and_collectors_survive_json_and_bad_reports() -> None:
    task = HeavyHitters(2, length=3, alphabet="abc", most=10, cells=32, missing="random")
    assert read_task(task.to_json()) == task
    collector = task.collector()
    collector.add([report.to_json() for report in task.randomize(["abc", "ab", "?"])])  # type: ignore[union-attr]
    for r in (-1, task.protocol.cells, None, "3", 2**80, [1, 2]):
        collector.add({"v": 1, "task": task.hash, "r": r})
    assert (collector.count, collector.refused) == (3, {"malformed": 6})
    assert read_collector(collector.to_json()).count == 3
    assert collector._state.tally.size == task.protocol.cells  # whatever was added
    assert task.privacy.epsilon(delta=0) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 65}, "1 to 64 symbols"),
        ({"alphabet": "aa"}, "each once"),
        ({"missing": ""}, "missing="),
        ({"cells": 8}, "at least 16"),
        ({"most": 10**6}, "10,000 prefixes"),
        ({"alphabet": "ab", "missing": "c"}, "alphabet"),
    ],
    ids=str,
)
def test_bad_parameters(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dp.local.HeavyHitters(1, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [True, 2.0, 2.5, "2"], ids=str)
def test_lengths_are_whole_numbers(length: object) -> None:
    with pytest.raises(ParameterError):
        HeavyHitters(1, length=length)
    with pytest.raises(ParameterError, match="symbols"):
        Spelling(length)
