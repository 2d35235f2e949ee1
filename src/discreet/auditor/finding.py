"""What an audit finds: a verdict with its numbers. It never says that a function is private."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.errors import ParameterError


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
                f"violated: the claim {self.claim} is refuted by {_count(self.draws)} (error probability {self.error:g}){least}"
            )
        return f"not refuted by {_count(self.draws)} on these inputs: the claim {self.claim}{least}"

    def __str__(self) -> str:
        said = [self.verdict, self.event, self.hint, "It was stopped by hand." if self.stopped else ""]
        return "\n".join(filter(None, said))


def _count(draws: int) -> str:
    return f"{draws:,} draw{'' if draws == 1 else 's'}"


def _down(epsilon: float) -> str:
    """At most the number, in a few digits: a certificate is not rounded up."""
    for digits in range(3, 18):
        text = f"{epsilon:.{digits}g}"
        if float(text) <= epsilon:
            return text
    return repr(epsilon)
