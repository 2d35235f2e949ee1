"""Local hashing: the hash spreads any two keys independently, and what is drawn follows it.

Chi-squares raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference import statistics

from discreet.errors import ParameterError
from discreet.local.domains.categorical import hash_text
from discreet.local.protocols.hashing import Hashing, choose_buckets, hash_by_seed, hash_to_bucket
from discreet.noise.bits import words

KEYS = [0, 1, 2, 63, 2**32, -1, -(2**63), hash_text("dark"), hash_text("blond")]


@pytest.mark.parametrize("buckets", [2, 4, 7])
@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (0, 2**32), (-1, -(2**63)), (hash_text("dark"), hash_text("blond"))])
def test_two_keys_fall_into_buckets_independently(pair: tuple[int, int], buckets: int) -> None:
    seeds = words(40_000)
    first, second = (hash_to_bucket(seeds, np.full(seeds.size, key), buckets) for key in pair)
    both = np.bincount(first * buckets + second, minlength=buckets**2)
    assert statistics.chi_square(both, np.full(buckets**2, seeds.size / buckets**2)) > statistics.ALARM


def test_the_hash_in_whole_numbers() -> None:
    """The same hash, written with Python's integers from its description."""

    def split_mix(seed: int, step: int) -> int:
        mixed = (seed + step * 0x9E3779B97F4A7C15) % 2**64
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        return mixed ^ mixed >> 31

    for seed in (0, 1, 2**64 - 1, 0x0123456789ABCDEF):
        a, b, c = (split_mix(seed, step) for step in (1, 2, 3))
        for key in KEYS:
            high, low = divmod(key % 2**64, 2**32)
            mixed = (a * high + b * low + c) % 2**64 >> 32
            assert hash_to_bucket(np.array([seed], dtype=np.uint64), np.array([key]), 5)[0] == mixed * 5 >> 32
    assert split_mix(0, 1) == 0xE220A8397B1DCDAF  # SplitMix64's published first number


def test_reports_follow_the_likelihood_given_their_seed() -> None:
    protocol, draws = Hashing(Fraction(1), 10, 4), 40_000
    rows = protocol.randomize(np.full(draws, 3))
    own = hash_to_bucket(np.ascontiguousarray(rows[:, 0]), np.full(draws, 3), 4)
    distance = (rows[:, 1].astype(np.int64) - own) % 4
    truth = protocol.rates.truth
    expected = draws * np.array([truth, *[(1 - truth) / 3] * 3])
    assert statistics.chi_square(np.bincount(distance, minlength=4), expected) > statistics.ALARM
    assert protocol.valid(rows).all()
    assert len(set(rows[:, 0].tolist())) == draws  # a fresh seed for everybody


def test_a_tally_counts_the_reports_that_support_each_candidate() -> None:
    protocol = Hashing(Fraction(1), 0, 4).among(np.array(KEYS))
    rows = protocol.randomize(np.full(500, KEYS[3]))
    seeds = np.ascontiguousarray(rows[:, 0])
    expected = [int((hash_to_bucket(seeds, np.full(500, key), 4) == rows[:, 1]).sum()) for key in KEYS]
    assert protocol.tally(rows).tolist() == expected
    assert protocol.cells == len(KEYS)


def test_buckets() -> None:
    assert [choose_buckets(Fraction(e)) for e in (1, 2, 4, 999)] == [4, 8, 56, 1_318_815_735]
    for wrong in (1, 2**31 + 1):
        with pytest.raises(ParameterError, match="buckets"):
            Hashing(Fraction(1), 10, wrong)


@pytest.mark.parametrize(
    "plain", [None, [], ["00", 1], ["0" * 16, 4], ["0" * 16, -1], ["0" * 16, True], ["G" * 16, 0], [0, 0], ["0" * 16, 1.0]]
)
def test_what_is_no_report(plain: object) -> None:
    assert Hashing(Fraction(1), 10, 4).row(plain) is None


def test_hashes_are_the_same_seed_by_seed() -> None:
    seeds, keys = words(20), words(30).view(np.int64)
    for seed, found in zip(seeds, hash_by_seed(seeds, keys, 56), strict=True):
        assert found.tolist() == hash_to_bucket(np.full(30, seed), keys, 56).tolist()
