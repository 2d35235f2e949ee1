"""The black-box audit of one function on one pair of neighbouring inputs, and what it finds: a verdict with its numbers.

A finding never says that a function is private.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from discreet.auditor.claims import read_claim, read_error, read_floats
from discreet.auditor.isolation import InterruptFlag
from discreet.auditor.sampling.betting import ClaimTest
from discreet.auditor.sampling.events import Event, explain, find_clearest
from discreet.auditor.sampling.features import Sample
from discreet.auditor.sampling.learning import Learner
from discreet.auditor.sampling.memory import Memory
from discreet.auditor.sampling.runs import Sampler
from discreet.auditor.sampling.state import find_obstacle, find_silence
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, whole

_FIRST = 100
_GROWTH = 0.15
_SILENCE = 4_000  # runs that say nothing, all of them: it is not worth while to go on


@dataclass(frozen=True)
class Finding:
    """The outcome of one audit of one function on one pair of inputs.

    ``epsilon`` is certified: with probability at least 1 - ``error`` the two inputs cannot be told apart by less than it at
    ``delta``. ``event`` describes the clearest difference that was seen, with ``hits`` (on a, on b) out of ``runs`` (on a, on b).
    ``obstacle`` says why the function cannot be audited (it keeps state, it does not return), and is empty otherwise.
    ``stopped``: somebody stopped it before it was through. ``hint``: what a violation may be due to, other than a leak.
    ``uninformative``: nothing was learned, for a reason that says nothing about other pairs.

    >>> seen = Finding(True, 1.2, 0.0, "epsilon=1", 300, 0.05, "the output is at most 0: 201 of 300 runs on a, 30 of 300 on b")
    >>> seen.verdict
    'violated: the claim epsilon=1 is refuted by 300 draws (error probability 0.05); epsilon is at least 1.2'
    """

    violated: bool
    epsilon: float
    delta: float
    claim: str
    draws: int
    error: float
    event: str
    hits: tuple[int, int] = (0, 0)
    runs: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    obstacle: str = ""
    stopped: bool = False
    hint: str = ""
    uninformative: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.violated and self.obstacle:
            raise ParameterError("A function that cannot be audited is not found to violate its claim; leave one of the two out.")

    @property
    def verdict(self) -> str:
        """One sentence: violated, not refuted, or why nothing can be said."""
        if self.obstacle:
            return f"cannot be audited: {self.obstacle}"
        at = f" at delta {self.delta:.3g}" if self.delta else ""
        least = f"; epsilon is at least {_down(self.epsilon)}{at}" if self.epsilon > 0 else ""
        if self.violated:
            return (
                f"violated: the claim {self.claim} is refuted by {self.draws:,} draws (error probability {self.error:g}){least}"
            )
        return f"not refuted by {self.draws:,} draws on these inputs: the claim {self.claim}{least}"

    def __str__(self) -> str:
        said = [self.verdict, self.event, self.hint, "It was stopped by hand." if self.stopped else ""]
        return "\n".join(filter(None, said))


def _down(epsilon: float) -> str:
    """At most the number, in a few digits: a certificate is not rounded up."""
    for digits in range(3, 18):
        text = f"{epsilon:.{digits}g}"
        if float(text) <= epsilon:
            return text
    return repr(epsilon)


@called_as("function, a, b, epsilon=1")
def audit(
    function: Callable[[object], object],
    a: object,
    b: object,
    *,
    epsilon: object = None,
    delta: object = 0,
    privacy: object = None,
    draws: int = 100_000,
    error: object = 0.05,
    seconds: object = None,
    floats: object = "check",
) -> Finding:
    """Try to refute that ``function`` is private on the two neighbouring inputs ``a`` and ``b``.

    The claim is ``epsilon`` (with ``delta``), or any curve ``privacy``. Every draw is a fresh run on a or b, about ``draws`` on
    each side at most, or for ``seconds``; it stops as soon as the claim is refuted. A true claim is refuted with probability at
    most ``error``, and ``Finding.epsilon`` exceeds the true epsilon at ``delta`` with probability at most ``error``; the proof
    is in ``discreet.auditor.sampling.betting``. ``floats="ignore"`` leaves out the low bits of floating-point numbers, in which
    naive noise gives its input away: what is still found is something else, such as a wrong sensitivity. Runs must be
    independent: a function that is seen to keep state is reported so.
    Whatever a run raises is its output; Ctrl-C stops the audit, and what is known by then is returned.

    >>> import discreet as dp
    >>> finding = dp.audit(lambda rows: len(rows), [1, 2], [1], epsilon=1, draws=1000)
    >>> finding.violated, finding.claim
    (True, 'epsilon=1')
    """
    claim, most, limit = read_claim(epsilon, delta, privacy), whole("draws", draws), read_error(error)
    if not callable(function):
        raise ParameterError("An audit runs a function of one input; write audit(lambda rows: ..., a, b, epsilon=1).")
    started, look_at_low_bits = time.monotonic(), read_floats(floats)
    patience = math.inf if seconds is None else float(positive("seconds", seconds, "how long to try, such as 60"))
    memory = Memory(function)
    with InterruptFlag() as flag:
        sampler = Sampler(function, a, b, started + patience, flag)
        sample, learner, test = Sample(low_bits=look_at_low_bits), Learner(), ClaimTest(claim, limit)
        size = _FIRST
        while sample.size < 2 * most and not sampler.finished and not test.refuted:
            batch = sampler.draw(min(size, 2 * most - sample.size))
            if not batch.outputs:
                break
            with np.errstate(all="ignore"):
                block = sample.add(batch.outputs, batch.on_a)
                test.settle(learner.try_out(block))
                if not test.refuted:
                    learner.learn(sample)
            if sample.size >= _SILENCE and find_silence(sample, sampler) is not None:
                break
            size = max(_FIRST // 2, int(_GROWTH * sample.size))
        with np.errstate(all="ignore"):
            obstacle = find_obstacle(sample, sampler, memory, refuted=test.refuted)
            event = find_clearest(sample, learner, claim) if sample.size else Event("")
    on_a, violated = int(sample.on_a.sum()), test.refuted and obstacle is None
    return Finding(
        violated=violated,
        epsilon=0.0 if obstacle is not None else test.lower_bound,
        delta=claim.delta,
        claim=claim.text,
        draws=(sample.size + 1) // 2,
        error=limit,
        event=event.text,
        hits=event.hits,
        runs=(on_a, sample.size - on_a),
        seconds=time.monotonic() - started,
        obstacle="" if obstacle is None else obstacle.text,
        stopped=sampler.interrupted,
        hint=" ".join(explain(a, b, claim, test.lower_bound, event)) if violated else "",
        uninformative=not sample.size or (obstacle is not None and obstacle.uninformative),
    )
