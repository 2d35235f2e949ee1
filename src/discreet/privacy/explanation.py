"""A guarantee in plain words: what an attacker can gain from a release, for the people who own the data.

Every number is derived from the guarantee and from what the caller declares; no data is looked at. Numbers that promise
something are rounded against ourselves. The sentences rest on these facts about an (epsilon, delta)-DP release:

* up to an error of delta in any probability, it behaves like one whose outputs are never more than e^epsilon times as likely
  with a person as without (Dwork and Roth 2014, lemma 3.17), which multiplies anybody's odds by at most e^epsilon (Bayes);
* a test with false-positive rate a detects a person with probability at most 1 - tradeoff(a) (Wasserman and Zhou 2010);
* delta(epsilon) = E[(1 - e^(epsilon - L))+] is the definition's delta; P[L > epsilon] is never smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from textwrap import fill
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import probability, up, whole
from discreet.privacy.accountant import composition
from discreet.privacy.neighbours import MEANINGS

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Privacy

_WIDTH = 96


def explain(privacy: Privacy, *, delta: object, people: int | None = None) -> str:
    """A few short paragraphs on what this guarantee means at this delta, for so many people if their number is declared.

    >>> from discreet.privacy import gdp
    >>> print(explain(gdp(1), delta=1e-6).splitlines()[0])
    At delta = 1e-06 the cost is epsilon = 4.89 (certified; the smallest that holds lies between
    """
    chance = probability("delta", delta, zero=True, hint="a small chance such as 1e-6")
    members = None if people is None else whole("people", people)
    return "\n\n".join(fill(paragraph, _WIDTH) for paragraph in _paragraphs(privacy, chance, members))


def _paragraphs(privacy: Privacy, delta: Fraction, people: int | None) -> Iterator[str]:
    if not privacy.parts:
        yield "This costs nothing: the release does not depend on anybody's data."
        return
    low, epsilon = privacy.epsilon_bounds(delta)
    yield f"{_cost(privacy, delta, low, epsilon)} {_between(privacy)}"
    if math.isfinite(epsilon):
        yield _odds(epsilon, delta)
    yield _detection(privacy)
    yield _disclosure(privacy)
    if math.isfinite(epsilon) and delta:
        yield _readings(privacy, epsilon)
    if people is not None:
        yield _crowd(delta, people)


def _cost(privacy: Privacy, delta: Fraction, low: float, epsilon: float) -> str:
    at = f"delta = {float(delta):g}"
    leak = _leak(privacy)
    if math.isinf(epsilon) and delta < leak:
        least = _up(up(leak))
        return f"At {at} no epsilon holds: with a chance of {least} everything may be disclosed. Ask at delta = {least} or above."
    if math.isinf(epsilon):
        return f"At {at} no epsilon holds: the privacy loss has no upper limit. Ask at a small positive delta, such as 1e-6."
    lowest, highest = _down(max(low, 0.0) + 0.0, 6), _up(epsilon, 6)
    proof = "no smaller one holds" if lowest == highest else f"the smallest that holds lies between {lowest} and {highest}"
    text = f"At {at} the cost is epsilon = {_up(epsilon)} (certified; {proof})."
    most = composition.supremum(privacy.parts)
    if most is not None and delta and not leak:
        text += f" It is at most {_up(up(most))} even at delta = 0: this is pure differential privacy."
    return text


def _between(privacy: Privacy) -> str:
    if privacy.neighbours is None:
        return "Its neighbours are not stated: they are those under which the sensitivities hold."
    text = f"It is for data sets that are neighbours because {MEANINGS[privacy.neighbours]}"
    return f"{text}, which is assumed of the parts that state nothing." if privacy.assumed else f"{text}."


def _odds(epsilon: float, delta: Fraction) -> str:
    text = "the release says nothing about any one person"
    if epsilon > 0:
        factor = _up(math.exp(epsilon)) if epsilon < 15 else f"10^{_up(epsilon / math.log(10))}"
        text = (
            "whatever an attacker sees, their odds between two neighbouring data sets (say, with and without one person) change "
            f"by at most a factor of {factor}: a suspicion of 50% can grow to {_percent(_posterior(0.5, epsilon))} and "
            f"one of 1% to {_percent(_posterior(0.01, epsilon))}, no further"
        )
    if delta:
        return f"Apart from an error of {float(delta):g} (delta) in any probability, {text}."
    return f"{text[0].upper()}{text[1:]}."


def _detection(privacy: Privacy) -> str:
    often, rarely = (_percent(1 - privacy.tradeoff(rate)) for rate in (Fraction(1, 100), Fraction(1, 1000)))
    return (
        "An attacker who tests for a person, and raises a false alarm for 1% of those who are not there, recognises at most "
        f"{often} of those who are; with 0.1% false alarms, at most {rarely}. Blind guessing would recognise 1% and 0.1%."
    )


def _disclosure(privacy: Privacy) -> str:
    leak = _leak(privacy)
    if not leak:
        return "Total disclosure, an output that only one of two neighbouring data sets can give, cannot happen."
    return f"With a chance of up to {_up(up(leak))} everything about a person may be disclosed outright: the guarantee allows it."


def _readings(privacy: Privacy, epsilon: float) -> str:
    text = "Delta is often read as the chance that the privacy loss exceeds epsilon."
    try:
        variable = privacy.loss
    except ParameterError:
        return (
            f"{text} This guarantee names no loss distribution, so that chance is not known here; the definition, delta = "
            "E[(1 - e^(epsilon - loss))+], holds for every mechanism under it."
        )
    tail = max(variable.tail(epsilon), variable.reverse.tail(epsilon))
    return (
        f"{text} Over the worst pair of neighbours that chance is {tail:.3g}, while delta(epsilon) = "
        f"E[(1 - e^(epsilon - loss))+] is {_up(privacy.delta(epsilon))}. The second is the definition; the first is never "
        "smaller, so a bound on it is sufficient, but not necessary."
    )


def _crowd(delta: Fraction, people: int) -> str:
    if not delta:
        return f"With delta = 0 none of {people:,} people is left to chance."
    exposed = -math.expm1(people * math.log1p(-float(delta)))
    text = (
        f"Delta alone would allow a release that shows each person's record with a chance of {float(delta):g}. Among {people:,} "
        f"people that exposes somebody with a chance of {_percent(exposed)}."
    )
    if delta * people < 1:
        return text
    return f"WARNING: delta = {float(delta):g} is not below 1/{people:,}. {text} Choose a delta far below {_down(1 / people, 2)}."


def _leak(privacy: Privacy) -> Fraction:
    """The chance of total disclosure, without the 2^-1000 that the discrete Gaussian sets aside for values left out."""
    leak = composition.disclosure(privacy.parts)
    return leak if leak > Fraction(1, 2**900) else Fraction(0)


def _posterior(prior: float, epsilon: float) -> float:
    """Bayes: prior odds times e^epsilon, as a probability."""
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def _percent(value: float) -> str:
    return f"{_up(100 * value)}%"


def _up(value: float, digits: int = 3) -> str:
    """Rounded up to so many digits; an excess in the thirteenth does not count."""
    return _round(value * (1 - 1e-13), digits, ROUND_CEILING)


def _down(value: float, digits: int = 3) -> str:
    return _round(value * (1 + 1e-13), digits, ROUND_FLOOR)


def _round(value: float, digits: int, direction: str) -> str:
    return f"{float(Context(prec=digits, rounding=direction).create_decimal(Decimal(value))):.{digits}g}"
