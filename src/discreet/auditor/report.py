"""The report of an audit of one function on many pairs: a verdict in words, JSON, and a script that shows it again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from discreet.auditor.cases import Case
from discreet.auditor.finding import Finding
from discreet.privacy import Privacy

REPORT_VERSION = 1


@dataclass(frozen=True, eq=False)
class Report:
    """``finding`` is the violation, or where most was certified; ``difference`` is what a replay saw; both are about ``case``.

    ``error`` bounds the chance that a true claim is refuted on any of the pairs, and the chance that ``epsilon`` is too large.
    A difference in a replay was watched, not estimated: it is certain if discreet's noise is all the randomness there is (other
    randomness that is rare enough to escape twenty repetitions could be mistaken for one).
    """

    function: str
    source: str  # Python lines that define ``function``
    claim: str
    terms: str  # the claim as arguments of dp.audit
    curve: Privacy
    pairs: int
    error: float
    replayed: int = 0
    draws: int = 0
    seconds: float = 0.0
    case: Case | None = None
    finding: Finding | None = None
    difference: str = ""
    remarks: tuple[str, ...] = ()
    stopped: bool = False  # by hand, before it was through

    @property
    def violated(self) -> bool:
        return bool(self.difference) or (self.finding is not None and self.finding.violated)

    @property
    def obstacle(self) -> str:
        """Why nothing can be said; empty where something can."""
        return "" if self.finding is None or self.difference else self.finding.obstacle

    @property
    def epsilon(self) -> float:
        """The certified lower bound of the sampling half; 0 if there is none."""
        return 0.0 if self.finding is None or self.obstacle else self.finding.epsilon

    @property
    def outcome(self) -> str:
        """Violated, cannot be audited, stopped, or not refuted."""
        if self.violated or self.obstacle:
            return "violated" if self.violated else "cannot be audited"
        return "stopped" if self.stopped else "not refuted"

    @property
    def verdict(self) -> str:
        """One sentence. It never says that a function is private: other pairs, or more draws, may refute it yet."""
        if self.difference:
            return f"violated: the function breaks what it declares: {self.difference}"
        if self.obstacle:
            return f"cannot be audited: {self.obstacle}"
        at = f" at delta {self.finding.delta:.3g}" if self.finding is not None and self.finding.delta else ""
        least = f"; epsilon is at least {math.floor(1000 * self.epsilon) / 1000:g}{at}" if self.epsilon >= 0.001 else ""
        if self.finding is not None and self.violated:
            many = f"{self.finding.draws:,} draws"
            return f"violated: the claim {self.claim} is refuted by {many} (error probability {self.error:g}){least}"
        these = "this pair" if self.pairs == 1 else f"these {self.pairs:,} pairs"
        some = "" if self.replayed == self.pairs else f" {self.replayed:,} of"
        again = f", nor by replaying{some} {'it' if self.pairs == 1 else 'them'}" if self.replayed else ""
        result = "stopped by hand, and not refuted" if self.stopped else "not refuted"
        return f"{result} by {self.draws:,} draws on {these}{again}: the claim {self.claim}{least}"

    @property
    def script(self) -> str:
        """A few lines that show the violation again, or repeat the audit of the pair that came closest."""
        if self.case is None:
            return ""
        if self.difference:
            import_line, call = "from discreet.auditor.replay import replay", "print(replay(function, a, b))"
        else:
            import_line = "import discreet as dp"
            call = f"print(dp.audit(function, a, b, {self.terms}, error={self.error:g}))"
        return "\n".join([import_line, self.source, self.case.code, call]) + "\n"

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.case is not None and (self.violated or self.obstacle):
            lines.append(f"On {self.case.words}")
        if self.finding is not None and self.finding.event and not self.difference:
            lines.append(f"Seen: {self.finding.event}")
        return "\n".join([*lines, *self.remarks])

    def to_json(self) -> str:
        """Everything, for a program to read; numbers that JSON does not have do not occur."""
        seen = self.finding
        facts = {
            "discreet": "audit",
            "version": REPORT_VERSION,
            "function": self.function,
            "claim": self.claim,
            "outcome": self.outcome,
            "verdict": self.verdict,
            "epsilon": self.epsilon,
            "delta": 0.0 if seen is None else seen.delta,
            "error": self.error,
            "pairs": self.pairs,
            "replayed": self.replayed,
            "draws": self.draws,
            "seconds": round(self.seconds, 3),
            "pair": None if self.case is None else self.case.words,
            "difference": self.difference or None,
            "event": None if seen is None or not seen.event else {"text": seen.event, "hits": seen.hits, "runs": seen.runs},
            "remarks": list(self.remarks),
            "script": self.script or None,
        }
        return json.dumps(facts, allow_nan=False, ensure_ascii=True)
