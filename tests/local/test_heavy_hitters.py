"""Words nobody listed: the guarantee of a report, the search, and what happens with too few people."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from support.depth import deep

import discreet as dp
from discreet.balls import ball, precision
from discreet.errors import ParameterError
from discreet.local import Batch, HeavyHitters, read_collector, read_task
from discreet.local.domains.spelling import Spelling
from discreet.local.protocols.hashing import hash_to_bucket
from discreet.local.protocols.prefixes import hash_prefixes
from discreet.local.tasks.heavy_hitters import HeavyHittersEstimate, expect_threshold

WORDS = ["the", "and", "café", "privacy", "zebra"]
SHARES = [0.3, 0.2, 0.15, 0.1, 0.05]


def with_protocol(task: HeavyHitters, **parameters: int) -> HeavyHitters:
    """The task with fewer hashes or buckets, as its JSON may say."""
    facts = json.loads(task.to_json())
    return read_task(json.dumps({**facts, "protocol": {**facts["protocol"], **parameters}}))  # type: ignore[return-value]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4)], ids=str)
def test_no_report_is_more_than_e_to_the_epsilon_times_likelier(epsilon: Fraction) -> None:
    """Over all reports, and many words by their keys."""
    protocol = with_protocol(HeavyHitters(epsilon, length=3), hashes=3, buckets=5).protocol
    with precision(300):
        target = ball(epsilon).exp()
        total = ball(0)
        for report in range(protocol.cells):
            chances = [protocol.likelihood(np.array(report), key) for key in range(40)]
            high, low = chances[0], chances[0]
            for chance in chances:
                high, low = high if high > chance else chance, low if low < chance else chance
            assert not high / low > target
            assert high / low < target * (1 + ball(Fraction(1, 10**60)))
            total += chances[7]
        assert abs(total - 1) < ball(Fraction(1, 10**60))


def test_neither_length_nor_hash_depends_on_the_word() -> None:
    """Counts over 40,000 reports: 8 standard deviations, a false alarm below 1e-12. Whole words have two of four tickets."""
    task = HeavyHitters(1, length=4)
    protocol = task.protocol
    assert task.prefixes == (16, 24, 32)
    for word in ("a", "zzzz"):
        rows = task.randomize([word] * 40_000).rows  # type: ignore[union-attr]
        levels = np.bincount(rows // (protocol.hashes * protocol.buckets), minlength=3)
        assert levels == pytest.approx([10_000, 10_000, 20_000], abs=8 * 100)
        numbers = np.bincount(rows // protocol.buckets % protocol.hashes, minlength=protocol.hashes)
        assert numbers == pytest.approx(np.full(512, 40_000 / 512), abs=8 * (40_000 / 512) ** 0.5)


def test_prefixes_that_agree_have_one_key_and_others_meet_seldom() -> None:
    """Two words are in one of 56 buckets for one hash of 56: of 512 hashes 9.1 +- 3, and 45 with a chance below 1e-14."""
    spelling, protocol = Spelling(4), HeavyHitters(4, length=4).protocol
    symbols = spelling.symbols(["abcd", "abce", "abca", "zbcd", "ab"])
    whole, short = hash_prefixes(symbols, 32), hash_prefixes(spelling.cut(symbols, 16), 16)
    assert len(set(whole.tolist())) == 5
    assert short[0] == short[1] == short[2] == short[4] != short[3]
    seeds = np.arange(protocol.hashes).astype(np.uint64)
    buckets = np.stack([hash_to_bucket(seeds, np.full(seeds.size, key), protocol.buckets) for key in whole])
    for one in range(5):
        for other in range(one):
            assert (buckets[one] == buckets[other]).sum() < 45


def surveyed(task: HeavyHitters, words: list[str], counts: list[int]) -> HeavyHittersEstimate:
    """What comes out when so many people have each word; spelled once."""
    rows = task.protocol.randomize(np.repeat(task.codes(words), counts, axis=0))
    collector = task.collector()
    collector.add(Batch(task.hash, rows, _protocol=task.protocol))
    return collector.estimate()


def test_words_that_nobody_has_are_not_reported() -> None:
    """60 words of four letters at epsilon 4, which one hash a length made 10 to 34 false ones of in every survey.

    At most 5 % of surveys may report any: all of five do so with a chance below 1e-6. One of each kind is made, and more
    while all report some.
    """
    rng, task = np.random.default_rng(11), HeavyHitters(4, length=4)
    false, shares = 0, 1 / np.arange(1, 61)
    for survey in range(5):
        if survey >= deep(5, 2) and false < survey:
            break
        words = sorted({"".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 4)) for _ in range(60)})
        weights = shares[: len(words)] if survey % 2 else np.ones(len(words))
        found = surveyed(task, words, rng.multinomial(100_000, weights / weights.sum()).tolist())
        false += not set(found.items) <= set(words)
        assert len(found.items) >= (20 if survey % 2 else 50)
        assert set(words[:5]) <= set(found.items)
    assert false < 5


def test_a_word_that_nobody_has_stays_out_beside_one_that_nearly_everybody_has() -> None:
    """What 90 % bring into the buckets of others is known and taken off: noise alone is left, and rarer words are found.

    Noise may still make a word in 5 % of surveys, and in all of five with a chance below 1e-6.
    """
    task, words = HeavyHitters(4, length=4), ("most", "some", "rare")
    false = 0
    while false < 5:
        found = surveyed(task, list(words), [135_000, 12_000, 3_000])
        assert {*words} <= {*found.items}
        assert found.threshold < 0.01
        if found.items == words:
            break
        false += 1
    assert false < 5


def test_few_who_agree_at_a_vast_epsilon_are_found() -> None:
    """Nothing is left when their word is taken off, and still it stays: a lie has a chance below 1e-200."""
    found = surveyed(HeavyHitters(500, length=2), ["ab"], [40])
    assert (found.items, found.values.round(6).tolist()) == (("ab",), [1.0])


@pytest.mark.parametrize(
    ("epsilon", "hashes", "buckets"), [(1, 512, 4), (4, 512, 56), (6, 512, 404), (8, 175, 2982), (20, 32, 2**14)]
)
def test_buckets_are_the_best_ones_as_far_as_memory_goes(epsilon: int, hashes: int, buckets: int) -> None:
    """e^epsilon + 1 of them, and fewer hashes where they are many; no length has more than 2^19 counters, all not above 2^26."""
    assert HeavyHitters(epsilon).protocol.parameters == {"hashes": hashes, "buckets": buckets}
    longest = HeavyHitters(epsilon, length=64, alphabet="".join(map(chr, range(1000, 2000))), most=10_000)
    assert longest.protocol.cells <= 2**26


@pytest.mark.parametrize(("people", "candidates"), [(1, 10), (100, 1), (2_500, 25_600), (10**6, 25_600)])
def test_a_plan_expects_the_threshold_of_an_exact_binomial_tail(people: int, candidates: int) -> None:
    """The exact binomial tail: at most 2 % over all candidates, and not much less."""
    protocol = HeavyHitters(4, length=4).protocol
    needed = round((expect_threshold(protocol, people, candidates) * protocol.rates.gain + protocol.rates.lie) * people + 0.5)
    assert binom.sf(needed - 1, people, protocol.rates.lie) <= 0.02 / candidates
    assert needed > people or binom.sf(needed - 3, people, protocol.rates.lie) > 0.01 / candidates


def test_common_words_are_found_and_measured() -> None:
    """60,000 people at epsilon 4: all five words 8 standard errors above 0 at every length; intervals of 6."""
    task = HeavyHitters(4)
    n = 60_000
    values = [word for word, share in zip(WORDS, SHARES, strict=True) for _ in range(round(n * share))]
    values += [f"rare{number}" for number in range(n - len(values))]  # "rare" is a common prefix, but no common word
    collector = task.collector()
    collector.add(task.randomize(values))
    found = collector.estimate()
    assert set(WORDS) <= set(found.items)
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
    task = with_protocol(HeavyHitters(3, length=2, alphabet="abcd"), hashes=64)
    errors = []
    for _ in range(30):
        found = surveyed(task, ["ab", "c"], [3000, 2000])
        errors.append((found["ab"] - 0.6) / found.standard_error[found.items.index("ab")])
    assert abs(np.mean(errors)) < 5.5 * 0.18
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


def test_tasks_and_collectors_survive_json_and_bad_reports() -> None:
    task = HeavyHitters(2, length=3, alphabet="abc", most=10, missing="random")
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
        ({"length": 0}, "at least 1"),
        ({"most": 10**6}, "10,000 prefixes"),
        ({"alphabet": "ab", "missing": "c"}, "alphabet"),
    ],
    ids=str,
)
def test_bad_parameters(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dp.local.HeavyHitters(1, **arguments)  # type: ignore[arg-type]


def test_tasks_of_the_first_version_are_refused_with_a_sentence() -> None:
    facts = json.loads(HeavyHitters(1, length=2).to_json())
    old = {**facts, "version": 1, "cells": 65536, "protocol": {"name": "k-ary"}}
    del old["prefixes"]
    with pytest.raises(ParameterError, match=r"version 2 of heavy hitters, not 1; make a new one with HeavyHitters"):
        read_task(json.dumps(old))
    for wrong in ({"prefixes": [15]}, {"prefixes": []}, {"prefixes": [8, 8, 16]}, {"prefixes": ["8", 16]}, {"prefixes": None}):
        with pytest.raises(ParameterError):
            read_task(json.dumps({**facts, **wrong}))


@pytest.mark.parametrize("length", [True, 2.0, 2.5, "2"], ids=str)
def test_lengths_are_whole_numbers(length: object) -> None:
    with pytest.raises(ParameterError):
        HeavyHitters(1, length=length)
    with pytest.raises(ParameterError, match="symbols"):
        Spelling(length)
