"""Exact replays of one pair after another, within a time limit, until a difference is found."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TypeVar

from discreet.auditor.cases import Case
from discreet.auditor.isolation import Hand, Overdue, Stopped
from discreet.auditor.neighbours import Pair
from discreet.auditor.replay.compare import Difference, Replay, replay
from discreet.auditor.replay.shrink import smallest
from discreet.privacy import Privacy
from discreet.schema.table import Schema

__all__ = ["Replays"]

S = TypeVar("S")
T = TypeVar("T")

_ONE = 5.0  # seconds for replaying one pair
_AGAIN = 20  # runs that must do the same before a difference counts


class Replays:
    """Replays one pair after another, until a difference is found or time is up."""

    def __init__(self, function: Callable[[object], object], deadline: float, tell: Callable[[str], None], hand: Hand) -> None:
        self._function, self._deadline, self._tell, self._hand = function, deadline, tell, hand
        self.count = 0  # pairs on which something was released and compared
        self.differences: tuple[Difference, ...] = ()
        self.costs: list[Privacy] = []

    def first(self, cases: Sequence[Case]) -> Case | None:
        """The first pair on which the function breaks what it declares, every time."""
        for case in cases:
            self._tell(f"Replaying {case.name}")
            found = self._in_time(self._replay, case)
            if found is None or not found.steady or (found.violated and not found.releases):
                return None  # it does not return, or has randomness of its own: sampling has to tell
            if found.violated:
                if not self._in_time(self._same, case):
                    return None
                self.differences = found.differences
                return case
            self.count += found.releases > 0
            self.costs.append(found.privacy)
        return None

    def shrunk(self, case: Case, schema: Schema) -> Case:
        """The smallest pair of neighbours that still shows a difference of the same kind; the same pair if time is up."""
        kinds = {difference.kind for difference in self.differences}

        def fails(pair: Pair) -> bool:
            found = self._replay(Case.of(pair))
            return found.violated and bool(kinds & {difference.kind for difference in found.differences})

        def search(pair: Pair) -> tuple[Case, Replay]:
            least = Case.of(smallest(pair, schema, fails))
            return least, self._replay(least)

        self._deadline = time.monotonic() + 2 * _ONE
        found = None if case.pair is None else self._in_time(search, case.pair, 2 * _ONE)
        if found is None or not found[1].differences:
            return case
        self.differences = found[1].differences
        return found[0]

    def dearer(self, claimed: Privacy, delta: object) -> tuple[str, ...]:
        """A remark where the releases cost a pair more than was claimed: by their theorems, which bound from above."""
        most = max((cost.epsilon(delta) for cost in self.costs), default=0.0)
        if most <= claimed.epsilon(delta) * (1 + 1e-9):
            return ()
        return (f"The releases themselves promise no more than epsilon {most:.3g}, which is not what is claimed.",)

    def _replay(self, case: Case) -> Replay:
        return replay(self._function, case.a, case.b)

    def _same(self, case: Case) -> bool:
        """Whether the function does the same again and again, on either side."""
        return not any(replay(self._function, given, given).differences for given in (case.a, case.b) for _ in range(_AGAIN // 2))

    def _in_time(self, run: Callable[[S], T], given: S, most: float = _ONE) -> T | None:
        left = min(most, self._deadline - time.monotonic())
        if left <= 0 or self._hand.pressed:
            return None
        try:
            with _alarm(left):
                return run(given)
        except (Overdue, Stopped):
            return None


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """An exception after so many seconds, where the system can send one."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Overdue

    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
