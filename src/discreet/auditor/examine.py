"""Audit one function on many pairs: replay them all exactly, then draw samples for the time that is left.

**Replay** is tried first, for at most half of the time. It speaks only about functions that release through discreet's mechanisms
and have no other randomness: a difference counts if the function did the same thing every time on the same input.

**Sampling** is a tournament (successive halving): in each round every pair that is left is audited for an equal share of the
round's time, and the half on which most epsilon was certified goes on. The number of audits is known beforehand,
N = K + K/2 + ... + 1, and each has error probability error / N; so a true claim is refuted on any pair with probability at most
``error`` (union bound, whichever pairs go on).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.auditor.black_box import audit
from discreet.auditor.cases import Case
from discreet.auditor.claims import read_claim
from discreet.auditor.finding import Finding
from discreet.auditor.outcomes import outcome
from discreet.auditor.replays import Replays
from discreet.auditor.report import Report
from discreet.auditor.state import memory
from discreet.errors import ParameterError
from discreet.exact import positive, probability
from discreet.privacy import Privacy, approximate
from discreet.privacy.names import name_of
from discreet.schema.table import Schema

__all__ = ["examine"]

Function = Callable[[object], object]
Tell = Callable[[str], None]
Test = Callable[[Case, Fraction, float], Finding]

_AGAIN = 20  # answers that would all be the same
_DRAWS = 1_000_000  # for one audit
_LEAST = 0.01  # seconds, for a pair when time is up already


def examine(
    function: Function,
    cases: Sequence[Case],
    *,
    epsilon: object = None,
    delta: object = 0,
    privacy: Privacy | None = None,
    seconds: object = 60,
    error: object = 0.05,
    schema: Schema | None = None,
    name: str = "function",
    source: str = "",
    tell: Tell = lambda _: None,
) -> Report:
    """Try to refute a claim about ``function`` on neighbours. ``schema`` is what made them, if one did: a witness is then shrunk.

    >>> from discreet import Laplace
    >>> from discreet.auditor.cases import listed
    >>> report = examine(lambda rows: Laplace(sensitivity=1, epsilon=1).release(sum(rows)), listed([([1, 5], [1])]), epsilon=1)
    >>> print(report.verdict)
    violated: the function breaks what it declares: release 1 (Laplace) moved by 5, declared 1 (L1): 6 and 1
    """
    claim = read_claim(epsilon, delta, privacy)
    chance = probability("error", error, zero=False, hint="a small chance such as 0.05")
    started, patience = time.monotonic(), float(positive("seconds", seconds, "how long to try, such as 60"))
    if not cases:
        raise ParameterError("There is no pair to audit; write pairs = [([1, 2], [1])].")
    curve = approximate(epsilon, delta) if privacy is None else privacy
    said = claim.text if privacy is None else name_of(curve.parts)
    terms = f"privacy=dp.Privacy.from_json({curve.to_json()!r})" if privacy is not None else claim.text
    report = Report(name, source, said, terms, curve, len(cases), float(chance))
    before = memory(function)
    found = Replays(function, started + patience / 2, tell)
    case = found.first(cases)
    report = replace(report, replayed=found.count)
    if case is not None:
        case = case if schema is None else found.shrunk(case, schema)
        report = replace(report, case=case, difference="; ".join(map(str, found.differences)))
    elif found.interrupted:
        report = replace(report, remarks=("It was stopped by hand.",))
    else:
        remarks = () if privacy is not None else found.dearer(curve, delta)

        def test(case: Case, share: Fraction, most: float) -> Finding:
            return audit(
                function,
                case.a,
                case.b,
                epsilon=epsilon,
                delta=delta,
                privacy=privacy,
                draws=_DRAWS,
                error=share,
                seconds=most,
            )

        remembers = memory(function) != before
        report = _sampled(replace(report, remarks=remarks), cases, chance, started + patience, tell, test)
        if remembers and report.finding is not None and report.case is not None and report.violated:
            report = replace(report, finding=_doubted(function, report.case, report.finding))
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
                return replace(report, draws=draws, finding=finding, case=case)
            if finding.remarks:
                break
        everything += seen
        if any(finding.remarks for finding, _ in seen):
            break
        alive = [case for _, case in sorted(seen, key=lambda entry: -entry[0].epsilon)]
    finding, case = _best(everything)
    return replace(report, draws=draws, finding=finding, case=case, remarks=report.remarks + everything[-1][0].remarks)


def _idle(finding: Finding) -> bool:
    """Nothing was learned about this pair, which says nothing about the others."""
    return not finding.draws or finding.obstacle.startswith("every run gave the same")


def _doubted(function: Function, case: Case, finding: Finding) -> Finding:
    """The replays filled the function's memory before sampling could see it change: does it answer from there?"""
    with contextlib.suppress(Exception):
        if all(len({outcome(function(given)) for _ in range(_AGAIN)}) == 1 for given in (case.a, case.b)):
            text = "the function keeps state: it gives the same answer to the same input again and again, from its memory"
            return replace(finding, violated=False, epsilon=0.0, obstacle=text)
    return finding


def _best(everything: list[tuple[Finding, Case]]) -> tuple[Finding, Case]:
    return max(everything, key=lambda entry: (not entry[0].obstacle, entry[0].epsilon))
