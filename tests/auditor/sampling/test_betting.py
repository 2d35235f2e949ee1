"""True claims stand. By Ville's inequality an audit at error 1e-7 refutes a true one with probability at most 1e-7, so that a
test of three fails by chance with probability below 1e-6; ``benchmarks/audit_calibration.py`` counts alarms at 1e-3."""

from __future__ import annotations

import numpy as np
import pytest
from support.correct import CORRECT
from support.depth import deep

import discreet as dp
from discreet.auditor.sampling.betting import log_growth
from discreet.auditor.sampling.features import Sample
from discreet.auditor.sampling.learning import Learner
from discreet.auditor.sampling.outputs import read_output


@pytest.mark.parametrize("name", CORRECT)
def test_a_tight_mechanism_stands(name: str) -> None:
    case = CORRECT[name]
    for _ in range(deep(3, 1)):
        finding = dp.audit(case.function, case.a, case.b, draws=500, error=1e-7, **case.claim)
        assert not finding.violated
        assert finding.verdict.startswith("not refuted by 500 draws on these inputs")
        assert "private" not in finding.verdict


def test_alarms_are_as_rare_as_promised() -> None:
    """At error 1/2 half of all audits of a true claim may raise an alarm: 49 of 60 would have probability below 1e-6. Once twelve
    are silent, no more are tried."""
    case, alarms, silent = CORRECT["randomized response"], 0, 0
    while alarms < 49 and silent < 12:
        found = dp.audit(case.function, case.a, case.b, draws=200, error=0.5, **case.claim)
        alarms, silent = alarms + found.violated, silent + (not found.violated)
    assert alarms < 49


@pytest.mark.diagonal
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
def test_no_bet_is_favourable_while_the_claim_holds(epsilon: float, delta: float) -> None:
    """The theorem itself, on laws over four outputs: E[F] <= 1 for any guess, whatever was seen before."""
    generator = np.random.default_rng(7)
    for _ in range(60):
        q = generator.dirichlet(np.ones(4) * 0.5)
        p = _neighbour(q, epsilon, delta, generator)
        past = generator.integers(0, 200, 4).astype(float)
        chance = generator.beta(0.5, 0.5, 4).clip(1e-3, 1 - 1e-3)
        expected = 0.0
        for side, law in enumerate((p, q)):
            for cell in range(4):
                seen = np.zeros((2, 4))
                seen[side, cell] = 1
                gain = log_growth(chance, past, seen, np.array([epsilon]), np.array([delta]))
                expected += 0.5 * law[cell] * float(np.exp(gain[0]))
        assert expected <= 1 + 1e-9


def _neighbour(q: np.ndarray, epsilon: float, delta: float, generator: np.random.Generator) -> np.ndarray:
    """A law that keeps the claim with q, as far from it as a random direction allows."""
    p, near, far = generator.dirichlet(np.ones(4) * 0.5), 0.0, 1.0
    for _ in range(40):
        middle = (near + far) / 2
        mixed = middle * p + (1 - middle) * q
        excess = max(np.maximum(0, mixed - np.exp(epsilon) * q).sum(), np.maximum(0, q - np.exp(epsilon) * mixed).sum())
        near, far = (middle, far) if excess <= delta else (near, middle)
    return near * p + (1 - near) * q


def test_nobody_hopes_where_there_is_nothing_to_learn() -> None:
    """Four hundred outputs that do not depend on the side: what a guess earns on draws that it was not learned from is above
    log(1e8) with probability at most 1e-8, and there are below fifty guesses. On its own draws one of them earns hundreds."""
    generator = np.random.default_rng()
    sample, learner = Sample(), Learner()
    sample.add([read_output(int(x)) for x in generator.integers(400, size=4_000)], list(generator.random(4_000) < 0.5))
    learner.learn(sample)
    tried = learner.try_out(sample)
    assert 5 < len(tried) < 50
    assert {"smooth", "mean", "shrunk"} == {name.split()[-1] for name in tried}
    for _, one, two in tried.values():
        for trial in (one, two):
            assert log_growth(*trial, np.zeros(1), np.zeros(1))[0] < np.log(1e8)
    assert max(log_growth(*now, np.zeros(1), np.zeros(1))[0] for now, _, _ in tried.values()) > np.log(1e8)


def test_the_certificate_is_tight() -> None:
    """5,000 draws certify 0.8 of the true epsilon: expected log-wealth is above 30 there, 6 suffices (failure below 1e-6)."""
    mechanism = dp.RandomizedResponse(epsilon=1, options=("yes", "no"))
    finding = dp.audit(mechanism.release, "yes", "no", epsilon=1, draws=5_000)
    assert finding.epsilon >= 0.8 or finding.violated
    assert finding.draws <= 5_000
