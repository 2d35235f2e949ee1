"""Audit one function on many pairs: replay them all exactly, then draw samples for the time that is left.

**Replay** is tried first, for at most half of the time. It speaks only about functions that release through discreet's mechanisms
and have no other randomness: a difference counts if the function did the same thing every time on the same input. What it
remembers of them is forgotten before sampling, which would otherwise be fed answers that both sides were given.

**Sampling** is a tournament (successive halving): in each round every pair that is left is audited for an equal share of the
round's time, and the half on which most epsilon was certified goes on. The number of audits is known beforehand,
N = K + K/2 + ... + 1, and each has error probability error / N; so a true claim is refuted on any pair with probability at most
``error`` (union bound, whichever pairs go on).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.auditor.audit import audit
from discreet.auditor.cases import Case
from discreet.auditor.claims import low_bits, read_claim
from discreet.auditor.finding import Finding
from discreet.auditor.isolation import Hand
from discreet.auditor.replay.replays import Replays
from discreet.auditor.report import Report
from discreet.auditor.sampling.memory import Memory
from discreet.errors import ParameterError
from discreet.exact import positive, probability, whole
from discreet.privacy import Privacy, approximate
from discreet.privacy.names import name_of
from discreet.schema.table import Schema

__all__ = ["examine"]

Function = Callable[[object], object]
Tell = Callable[[str], None]
Test = Callable[[Case, Fraction, float], Finding]

_DRAWS = 1_000_000  # on each side, for one audit
_LEAST = 0.01  # seconds, for a pair when time is up already


def examine(
    function: Function,
    cases: Sequence[Case],
    *,
    epsilon: object = None,
    delta: object = 0,
    privacy: Privacy | None = None,
    draws: int = _DRAWS,
    seconds: object = 60,
    error: object = 0.05,
    floats: object = "check",
    schema: Schema | None = None,
    name: str = "function",
    source: str = "",
    tell: Tell = lambda _: None,
) -> Report:
    """Try to refute a claim about ``function`` on neighbours. ``schema`` is what made them, if one did: a witness is then shrunk.

    It ends after ``seconds``, or when each audit has had ``draws`` on each side: then the same work is done on any machine.

    >>> from discreet import Laplace
    >>> from discreet.auditor.cases import listed
    >>> report = examine(lambda rows: Laplace(sensitivity=1, epsilon=1).release(sum(rows)), listed([([1, 5], [1])]), epsilon=1)
    >>> print(report.verdict)
    violated: the function breaks what it declares: release 1 (Laplace) moved by 5, declared 1 (L1): 6 and 1
    """
    claim = read_claim(epsilon, delta, privacy)
    chance = probability("error", error, zero=False, hint="a small chance such as 0.05")
    started, patience = time.monotonic(), float(positive("seconds", seconds, "how long to try, such as 60"))
    whole("draws", draws)
    low_bits(floats)
    if not cases:
        raise ParameterError("There is no pair to audit; write pairs = [([1, 2], [1])].")
    curve = approximate(epsilon, delta) if privacy is None else privacy
    said = claim.text if privacy is None else name_of(curve.parts)
    terms = f"privacy=dp.Privacy.from_json({curve.to_json()!r})" if privacy is not None else claim.text
    terms += "" if floats == "check" else f", floats={floats!r}"
    report = Report(name, source, said, terms, curve, len(cases), float(chance))
    with Hand() as hand:
        memory = Memory(function)
        found = Replays(function, started + patience / 2, tell, hand)
        case = found.first(cases)
        report = replace(report, replayed=found.count, stopped=hand.pressed)
        if case is not None:
            case = case if schema is None else found.shrunk(case, schema)
            report = replace(report, case=case, difference="; ".join(map(str, found.differences)))
        elif not hand.pressed:
            remarks = () if privacy is not None else found.dearer(curve, delta)

            def test(case: Case, share: Fraction, most: float) -> Finding:
                memory.restore()
                claimed = {"epsilon": epsilon, "delta": delta, "privacy": privacy, "floats": floats}
                return audit(function, case.a, case.b, **claimed, draws=draws, error=share, seconds=most)

            report = _sampled(replace(report, remarks=remarks), cases, chance, started + patience, tell, test)
            hint = report.finding.hint if report.finding is not None and schema is None else ""  # a schema knows its neighbours
            report = replace(report, stopped=report.stopped or hand.pressed, remarks=(*report.remarks, *filter(None, [hint])))
    return replace(report, seconds=time.monotonic() - started)


def _sampled(report: Report, cases: Sequence[Case], chance: Fraction, deadline: float, tell: Tell, test: Test) -> Report:
    sizes = [len(cases)]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    share = chance / sum(sizes)
    everything: list[tuple[Finding, Case]] = []
    alive, draws = list(cases), 0
    for i, size in enumerate(sizes):
        end = time.monotonic() + (deadline - time.monotonic()) / (len(sizes) - i)
        seen = []
        for j, case in enumerate(alive[:size]):
            tell(f"Sampling {case.name} (round {i + 1} of {len(sizes)})")
            finding = test(case, share, max(_LEAST, (end - time.monotonic()) / (size - j)))
            draws += finding.draws
            seen.append((finding, case))
            if finding.violated or (finding.obstacle and not _idle(finding)):
                return replace(report, draws=draws, finding=finding, case=case, stopped=finding.stopped)
            if finding.stopped:
                break
        everything += seen
        if seen[-1][0].stopped:
            break
        alive = [case for _, case in sorted(seen, key=lambda entry: -entry[0].epsilon)]
    finding, case = _best(everything)
    return replace(report, draws=draws, finding=finding, case=case, stopped=everything[-1][0].stopped)


def _idle(finding: Finding) -> bool:
    """Nothing was learned about this pair, which says nothing about the others."""
    return not finding.draws or finding.obstacle.startswith(("every run", "the function returned"))


def _best(everything: list[tuple[Finding, Case]]) -> tuple[Finding, Case]:
    return max(everything, key=lambda entry: (not entry[0].obstacle, entry[0].epsilon))
