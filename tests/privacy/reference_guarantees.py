"""Random guarantees of every kind, their compositions, and the questions to ask them."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp
from discreet.privacy import Privacy

F = Fraction

EPSILONS = [F(n) for n in ("0.05", "0.1", "0.25", "0.5", "1", "2", "5")]
deltas = st.sampled_from([1e-100, 1e-50, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.99])
questions = st.sampled_from([1e-8, 1e-4, 0.01, 0.1, 0.7, 1, 3, 10, 40, 100])
counts = st.sampled_from([1, 2, 3, 5, 20, 100])
_epsilons = st.sampled_from(EPSILONS)
_mus = st.sampled_from([F(n) for n in ("0.01", "0.1", "0.3", "1", "2.5", "8")])
_rates = st.sampled_from([F(n) for n in ("0.001", "0.01", "0.1", "0.5", "0.9", "0.999")])

gaussians = st.builds(dp.gdp, _mus)
boxes = st.one_of(st.builds(dp.pure, _epsilons), st.builds(dp.approximate, _epsilons, st.sampled_from([1e-12, 1e-9, 1e-4])))
laplaces = st.builds(lambda e: dp.Laplace(sensitivity=1.0, epsilon=e).privacy, _epsilons)
discrete = st.one_of(
    st.builds(lambda d, e: dp.Laplace(sensitivity=d, epsilon=e).privacy, st.sampled_from([1, 2, 3, 10]), _epsilons),
    st.builds(lambda s: dp.DiscreteGaussian(sensitivity=1, sigma=s).privacy, st.sampled_from([F(1, 2), 1, 2, 10])),
    st.builds(lambda e, n: dp.RandomizedResponse(epsilon=e, options=range(n)).privacy, _epsilons, st.sampled_from([2, 3, 10])),
)
families = st.one_of(
    st.builds(dp.zcdp, st.sampled_from([F(1, 1000), F(1, 10), F(2)])),
    st.just(dp.renyi({F(3, 2): F(1, 20), 2: F(1, 10), 8: F(1, 2), 32: 3})),
    st.builds(lambda e: dp.Exponential(sensitivity=1, epsilon=e).privacy, _epsilons),
    st.builds(lambda e: dp.NoisyMax(sensitivity=1, epsilon=e).privacy, _epsilons),
    st.builds(lambda e: dp.PermuteAndFlip(sensitivity=1, epsilon=e).privacy, _epsilons),
    st.builds(lambda e, c: dp.SparseVector(sensitivity=1, epsilon=e, cutoff=c).privacy, _epsilons, st.sampled_from([1, 3])),
    st.builds(lambda e: dp.Threshold(epsilon=e, delta=1e-9).privacy, _epsilons),
)
sampled_gaussians = st.builds(lambda g, q: g.sampled(q), gaussians, _rates)
sampled = st.one_of(sampled_gaussians, st.builds(lambda g, q: g.sampled(q), st.one_of(boxes, laplaces, discrete), _rates))
single = st.one_of(gaussians, boxes, laplaces, discrete, families, sampled)
pairs = st.one_of(gaussians, boxes, laplaces, discrete)  # one pair of distributions each: upper and lower bounds meet


def steady(whole: int) -> settings:
    """The same examples every time, however long each takes."""
    return settings(max_examples=examples(whole), derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def total(parts: list[tuple[Privacy, int]]) -> Privacy:
    return reduce(lambda left, right: left + right, (count * one for one, count in parts), Privacy())


_mixes = st.one_of(
    st.lists(st.tuples(st.one_of(boxes, discrete), counts), min_size=2, max_size=2),
    st.tuples(st.tuples(gaussians, counts), st.tuples(st.one_of(pairs, families, sampled_gaussians), counts)).map(list),
)
compositions = st.one_of(st.tuples(single, counts).map(lambda part: part[1] * part[0]), _mixes.map(total))
