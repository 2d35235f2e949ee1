"""Every protocol, small enough that all of its reports can be listed, and what each of them promises.

A new protocol for frequencies has an entry in ``small``; ``PROMISES`` are then kept by it as by all others. Probabilities are
balls of 300 bits, as the protocols state them; that what is drawn has these probabilities is a chi-square with a false-alarm
rate below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from local.ratio import worst
from reference import statistics
from support.recorded import replay

from discreet.balls import arb, ball, precision
from discreet.local.protocols import make_protocol
from discreet.local.protocols.affine import Affine
from discreet.local.protocols.base import FrequencyProtocol, Rows
from discreet.local.protocols.hashing import Hashing
from discreet.local.protocols.k_ary import KAry, RandomizedResponse
from discreet.local.protocols.projective import Projective
from discreet.local.protocols.subset import Subset
from discreet.local.protocols.unary import Unary
from discreet.noise.bits import words

EPSILONS = [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(4)]
NAMES = ["randomized response", "k-ary", "subset", "projective", "unary", "hashing", "affine"]
SEED = 0x0123456789ABCDEF


def small(epsilon: Fraction) -> list[FrequencyProtocol]:
    """Members whose reports can be enumerated (for hashing: given a seed)."""
    return [
        RandomizedResponse(epsilon, 2),
        KAry(epsilon, 5),
        Subset(epsilon, 6, 1),
        Subset(epsilon, 7, 3),
        Subset(epsilon, 20, 2),
        Projective(epsilon, 6, 2, 3),
        Projective(epsilon, 13, 3, 3),
        Projective(epsilon, 9, 11, 2),
        Projective(epsilon, 20, 3, 4),
        Affine(epsilon, 8, 11, 1, 4),
        Affine(epsilon, 9, 3, 2, 1),
        Affine(epsilon, 20, 5, 2, 2),
        Affine(epsilon, 8, 2, 3, 1),
        Affine(epsilon, 27, 3, 3, 2),
        Unary(epsilon, 6),
        Hashing(epsilon, 12, 5),
    ]


def label(protocol: FrequencyProtocol) -> str:
    numbers = "-".join(str(number) for number in (protocol.size, *protocol.parameters.values()))
    return f"{protocol.name}-{numbers}-epsilon-{float(protocol.epsilon):g}"


SMALL = [protocol for epsilon in EPSILONS for protocol in small(epsilon)]


def every_report(protocol: FrequencyProtocol) -> Iterator[Rows]:
    """All reports, by listing what the form allows."""
    if isinstance(protocol, Hashing):
        yield from (np.array([SEED, bucket], dtype=np.uint64) for bucket in range(protocol.buckets))
    elif isinstance(protocol, Subset) and protocol.listed:
        yield from (np.array(s, dtype=np.uint32) for s in itertools.combinations(range(protocol.size), protocol.weight))
    elif isinstance(protocol, (Subset, Unary)):
        for number in range(2**protocol.size):
            bits = np.array([number >> place & 1 for place in range(protocol.size)], dtype=np.uint8)
            if isinstance(protocol, Unary) or bits.sum() == protocol.weight:
                yield np.packbits(bits, bitorder="little")
    else:
        yield from (np.array(number) for number in range(getattr(protocol, "reports", protocol.cells)))


def large(name: str, epsilon: Fraction) -> FrequencyProtocol:
    """The member for 64 values that a task would name (two for randomized response)."""
    return make_protocol(name, epsilon, 2 if name == "randomized response" else 64)


def laws(protocol: FrequencyProtocol) -> list[list[arb]]:
    """P(y | x): one list of reports for every value."""
    reports = list(every_report(protocol))
    return [[protocol.likelihood(report, code) for report in reports] for code in range(protocol.size)]


def check_ratio(ratio: arb, epsilon: Fraction) -> None:
    target = ball(epsilon).exp()
    assert not ratio > target  # a proof of more would be a violation
    assert ratio < target * (1 + ball(Fraction(1, 10**60)))  # and the ball leaves no room for one
    assert ratio > target * (1 - ball(Fraction(1, 10**12)))


def keep_ratio(protocol: FrequencyProtocol) -> None:
    """The largest ratio between two values over all reports is e^epsilon, and probabilities add up to 1."""
    with precision(300):
        probabilities = laws(protocol)
        check_ratio(worst(probabilities), protocol.epsilon)
        for law in probabilities:
            assert abs(sum(law, ball(0)) - 1) < ball(Fraction(1, 10**60))


def keep_law(protocol: FrequencyProtocol) -> None:
    """What is drawn has the stated likelihood. (Hashing draws a seed for every report; see ``test_hashing.py``.)"""
    if isinstance(protocol, Hashing):
        return
    draws = 10_000
    reports = {report.tobytes(): place for place, report in enumerate(every_report(protocol))}
    for code in (0, protocol.size - 1):
        rows = protocol.randomize(np.full(draws, code))
        assert protocol.valid(rows).all()
        seen = np.bincount([reports[row.tobytes()] for row in rows], minlength=len(reports))
        law = [draws * float(protocol.likelihood(report, code)) for report in every_report(protocol)]
        assert statistics.chi_square(seen, law) > statistics.ALARM


def keep_support(protocol: FrequencyProtocol) -> None:
    """E[supporting v | x] over all reports is p for x = v and q otherwise, so the estimate is exactly unbiased."""
    if isinstance(protocol, Hashing):  # over all seeds only
        return
    reports = list(every_report(protocol))
    supports = np.array([protocol.support(protocol.tally(report[None])) for report in reports])
    with precision(300):
        truth, lie = protocol.supporting()
        for x, law in enumerate(laws(protocol)):
            for v in range(protocol.size):
                chance = sum((p for p, supported in zip(law, supports[:, v], strict=True) if supported), ball(0))
                assert abs(chance - (truth if v == x else lie)) < ball(Fraction(1, 10**60))


def keep_coins(protocol: FrequencyProtocol) -> None:
    """On one tape of random words, every value uses up as many of them, and every report has the same form."""
    tape = [int(word) for word in words(3000)]
    runs = [replay(lambda code=code: protocol.randomize(np.full(3, code)), tape) for code in range(protocol.size)]  # type: ignore[misc]
    assert len({run.words_left for run in runs}) == 1
    assert {(run.value.shape, run.value.dtype) for run in runs} == {(runs[0].value.shape, runs[0].value.dtype)}
    assert runs[0].value.dtype == np.dtype(protocol.form.dtype)


def keep_text(protocol: FrequencyProtocol) -> None:
    """A report is the same after JSON, and what is no report is None or not valid; tallies are those that reports can leave."""
    rows = protocol.randomize(np.arange(20) % protocol.size)
    for row in rows:
        again = protocol.row(protocol.plain(row))
        assert again is not None
        assert np.array_equal(again, row)
    for junk in (None, -1, 2**70, 1.5, "!", [], [None], {}, True):
        row = protocol.row(junk)
        assert row is None or not protocol.valid(np.asarray(row)[None]).any()
    assert protocol.possible(protocol.tally(rows), 20)
    assert not protocol.possible(protocol.tally(rows) + 10**6, 20)


PROMISES: list[Callable[[FrequencyProtocol], None]] = [keep_ratio, keep_law, keep_support, keep_coins, keep_text]
