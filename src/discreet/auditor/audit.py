"""The black-box audit of one function on one pair of neighbouring inputs, or in one run with canaries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from discreet.auditor.claims import read_claim, read_error, read_floats
from discreet.auditor.finding import Finding
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


@called_as("function, a, b, epsilon=1")
def audit(
    function: Callable[..., object],
    a: object = ...,
    b: object = ...,
    *,
    canaries: int | None = None,
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

    With ``canaries`` instead of a pair, one run must do: the function gets an array of so many truth values, which canaries take
    part, and gives a number for each that is larger where it seems to (``discreet.auditor.canaries``).

    >>> import discreet as dp
    >>> finding = dp.audit(lambda rows: len(rows), [1, 2], [1], epsilon=1, draws=1000)
    >>> finding.violated, finding.claim
    (True, 'epsilon=1')
    """
    claim, most, limit = read_claim(epsilon, delta, privacy), whole("draws", draws), read_error(error)
    if not callable(function):
        raise ParameterError("An audit runs a function of one input; write audit(lambda rows: ..., a, b, epsilon=1).")
    if canaries is not None and a is b is ...:
        from discreet.auditor.canaries import audit_in_one_run

        return audit_in_one_run(function, canaries, claim, limit)
    if canaries is not None or a is ... or b is ...:
        raise ParameterError(
            "An audit compares two inputs, or guesses which canaries took part in one run; write audit(function, a, b, "
            "epsilon=1) or audit(function, canaries=5_000, epsilon=4, delta=1e-5)."
        )
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
