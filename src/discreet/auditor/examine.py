"""The audit of one function on many pairs: all are replayed exactly, then samples are drawn for the time that is left.

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
from typing import TypeVar

from discreet.auditor.audit import audit
from discreet.auditor.cases import Case
from discreet.auditor.claims import read_claim, read_floats
from discreet.auditor.finding import Finding
from discreet.auditor.isolation import Interrupted, InterruptFlag, TimedOut, time_limit
from discreet.auditor.neighbours import Pair
from discreet.auditor.replay.compare import Difference, Replay, replay
from discreet.auditor.replay.shrink import shrink_pair
from discreet.auditor.report import Report
from discreet.auditor.sampling.memory import Memory
from discreet.errors import ParameterError
from discreet.exact import positive, probability, whole
from discreet.privacy import Privacy, approximate
from discreet.privacy.losses.base import title_of
from discreet.schema.table import Schema

S = TypeVar("S")
T = TypeVar("T")
Function = Callable[[object], object]
Tell = Callable[[str], None]
Test = Callable[[Case, Fraction, float], Finding]

_DRAWS = 1_000_000  # on each side, for one audit
_LEAST = 0.01  # seconds, for a pair when time is up already
_ONE = 5.0  # seconds for replaying one pair
_AGAIN = 20  # runs that must do the same before a difference counts


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
    >>> from discreet.auditor.cases import read_pairs
    >>> noisy_sum = lambda rows: Laplace(sensitivity=1, epsilon=1).release(sum(rows))
    >>> report = examine(noisy_sum, read_pairs([([1, 5], [1])]), epsilon=1)
    >>> print(report.verdict)
    violated: the function breaks what it declares: release 1 (Laplace) moved by 5, declared 1 (L1): 6 and 1
    """
    claim = read_claim(epsilon, delta, privacy)
    chance = probability("error", error, zero=False, hint="a small chance such as 0.05")
    started, patience = time.monotonic(), float(positive("seconds", seconds, "how long to try, such as 60"))
    whole("draws", draws)
    read_floats(floats)
    if not cases:
        raise ParameterError("There is no pair to audit; write pairs = [([1, 2], [1])].")
    curve = approximate(epsilon, delta) if privacy is None else privacy
    said = claim.text if privacy is None else title_of(curve.parts)
    terms = f"privacy=dp.Privacy.from_json({curve.to_json()!r})" if privacy is not None else claim.text
    terms += "" if floats == "check" else f", floats={floats!r}"
    report = Report(name, source, said, terms, curve, len(cases), float(chance))
    with InterruptFlag() as flag:
        memory = Memory(function)
        search = _ReplaySearch(function, started + patience / 2, tell, flag)
        case = search.find(cases)
        report = replace(report, replayed=search.count, stopped=flag.interrupted)
        if case is not None:
            case = case if schema is None else search.shrink(case, schema)
            report = replace(report, case=case, difference="; ".join(map(str, search.differences)))
        elif not flag.interrupted:
            remarks = () if privacy is not None else search.compare_cost(curve, delta)

            def test(case: Case, share: Fraction, most: float) -> Finding:
                memory.restore()
                return audit(
                    function,
                    case.a,
                    case.b,
                    epsilon=epsilon,
                    delta=delta,
                    privacy=privacy,
                    floats=floats,
                    draws=draws,
                    error=share,
                    seconds=most,
                )

            report = _run_tournament(replace(report, remarks=remarks), cases, chance, started + patience, tell, test)
            hint = report.finding.hint if report.finding is not None and schema is None else ""  # a schema knows its neighbours
            report = replace(report, stopped=report.stopped or flag.interrupted, remarks=(*report.remarks, *filter(None, [hint])))
    return replace(report, seconds=time.monotonic() - started)


class _ReplaySearch:
    """Replays one pair after another, until a difference is found or time is up."""

    def __init__(
        self, function: Callable[[object], object], deadline: float, tell: Callable[[str], None], flag: InterruptFlag
    ) -> None:
        self._function, self._deadline, self._tell, self._flag = function, deadline, tell, flag
        self.count = 0  # pairs on which something was released and compared
        self.differences: tuple[Difference, ...] = ()
        self.costs: list[Privacy] = []

    def find(self, cases: Sequence[Case]) -> Case | None:
        """The first pair on which the function breaks what it declares, every time."""
        for case in cases:
            self._tell(f"Replaying {case.name}")
            found = self._run_within(self._replay, case)
            if found is None or not found.steady or (found.violated and not found.releases):
                return None  # it does not return, or has randomness of its own: sampling has to tell
            if found.violated:
                if not self._run_within(self._is_steady, case):
                    return None
                self.differences = found.differences
                return case
            self.count += found.releases > 0
            self.costs.append(found.privacy)
        return None

    def shrink(self, case: Case, schema: Schema) -> Case:
        """The smallest pair of neighbours that still shows a difference of the same kind; the same pair if time is up."""
        kinds = {difference.kind for difference in self.differences}

        def least_of(pair: Pair) -> tuple[Case, Replay]:
            least = Case.of(
                shrink_pair(pair, schema, lambda fewer: bool(kinds & self._replay(Case.of(fewer, schema)).kinds)), schema
            )
            return least, self._replay(least)

        self._deadline = time.monotonic() + 2 * _ONE
        found = None if case.pair is None else self._run_within(least_of, case.pair, 2 * _ONE)
        if found is None or not found[1].differences:
            return case
        self.differences = found[1].differences
        return found[0]

    def compare_cost(self, claimed: Privacy, delta: object) -> tuple[str, ...]:
        """A remark where the releases cost a pair more than was claimed: by their theorems, which bound from above."""
        most = max((cost.epsilon(delta) for cost in self.costs), default=0.0)
        if most <= claimed.epsilon(delta) * (1 + 1e-9):
            return ()
        return (f"The releases themselves promise no more than epsilon {most:.3g}, which is not what is claimed.",)

    def _replay(self, case: Case) -> Replay:
        return replay(self._function, case.a, case.b)

    def _is_steady(self, case: Case) -> bool:
        """Whether the function does the same again and again, on either side."""
        return not any(replay(self._function, given, given).differences for given in (case.a, case.b) for _ in range(_AGAIN // 2))

    def _run_within(self, run: Callable[[S], T], given: S, most: float = _ONE) -> T | None:
        left = min(most, self._deadline - time.monotonic())
        if left <= 0 or self._flag.interrupted:
            return None
        try:
            with time_limit(left):
                return run(given)
        except (TimedOut, Interrupted):
            return None


def _run_tournament(report: Report, cases: Sequence[Case], chance: Fraction, deadline: float, tell: Tell, test: Test) -> Report:
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
            if finding.violated or (finding.obstacle and not finding.uninformative):
                return replace(report, draws=draws, finding=finding, case=case, stopped=finding.stopped)
            if finding.stopped:
                break
        everything += seen
        if seen[-1][0].stopped:
            break
        alive = [case for _, case in sorted(seen, key=lambda entry: -entry[0].epsilon)]
    finding, case = max(everything, key=lambda entry: (not entry[0].obstacle, entry[0].epsilon))
    return replace(report, draws=draws, finding=finding, case=case, stopped=everything[-1][0].stopped)
