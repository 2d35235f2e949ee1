"""What a violation may be due to, other than a leak: said beside a finding, and never instead of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from discreet.auditor.claims import Claim
from discreet.auditor.sampling.events import FLOATS

__all__ = ["hints", "replaced"]

_MOST = 100_000  # elements that are compared


def hints(a: object, b: object, claim: Claim, least: float, event: str) -> Iterator[str]:
    """Sentences for the reader of a violation; ``least`` is the certified epsilon.

    A claim for adding or removing one promises twice its epsilon for replacing one: beyond that it is broken all the same.
    """
    if event.startswith(FLOATS):
        yield 'Noise on a public grid mends that; write floats="ignore" to see whether anything else is wrong.'
    pure = len(claim.points) == 1 and not claim.delta
    if replaced(a, b) and not (pure and least > 2 * claim.points[0][0]):
        yield (
            "The inputs are of the same length and differ in one element: if the claim is for adding or removing one, this pair "
            "is two steps apart, which may cost twice as much; leave the element out of one of them."
        )


def replaced(a: object, b: object) -> bool:
    """Whether one element was exchanged for another.

    >>> replaced([1, 2], [1, 3]), replaced([1, 2], [1]), replaced([1, 2], [2, 1]), replaced(0, 1)
    (True, False, False, False)
    """
    one, other = _elements(a), _elements(b)
    if one is None or other is None or len(one) != len(other) or len(one) > _MOST:
        return False
    return sum((Counter(map(repr, one)) - Counter(map(repr, other))).values()) == 1


def _elements(given: object) -> list[object] | None:
    """The elements of a list, or the rows of a table; None for what has neither."""
    if isinstance(given, (list, tuple)):
        return list(given)
    if isinstance(given, np.ndarray):
        return list(given.tolist()) if given.ndim else None
    rows = getattr(given, "to_pylist", None) or getattr(getattr(given, "values", None), "tolist", None)
    try:
        return None if rows is None else list(rows())
    except Exception:  # whatever an input of somebody's own is made of
        return None
