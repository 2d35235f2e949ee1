"""The largest ratio between two values' probabilities of one report: what local privacy is about."""

from __future__ import annotations

from discreet.balls import arb, ball


def worst(laws: list[list[arb]]) -> arb:
    """Over all reports and all pairs of laws, each a list of probabilities of the same reports."""
    found = ball(0)
    for column in zip(*laws, strict=True):
        high, low = column[0], column[0]
        for chance in column[1:]:
            high, low = high if high > chance else chance, low if low < chance else chance
        found = found if found > high / low else high / low
    return found
