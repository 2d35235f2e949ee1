"""The register of losses, a member of every family, and what each of them promises.

A new family joins the contract with one entry here. Everything else that composition needs of a loss is checked in
``tests/privacy``, over these same families.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy
from discreet.privacy import losses as families
from discreet.privacy.filters import as_approximate, as_concentrated
from discreet.privacy.losses import Loss

F = Fraction

MEMBERS: dict[str, Loss] = {
    "pure": families.Box(F(1, 2)),
    "approximate": families.Box(F(1, 2), F(1, 10**6)),
    "leak": families.Leak(F(0), F(1, 10**6)),
    "randomized response": families.Response(F(1), 5),
    "Laplace": families.Laplace(F(1)),
    "discrete Laplace": families.DiscreteLaplace(3, F(2)),
    "Gaussian": families.Gaussian(F(1, 4)),
    "discrete Gaussian": families.DiscreteGaussian(F(9)),
    "bounded range": families.BoundedRange(F(1)),
    "zCDP": families.Concentrated(F(1, 8)),
    "Renyi": families.Renyi(((F(2), F(1, 10)), (F(8), F(1)))),
    "family": families.Family("something", families.Box(F(1)), families.Box(F(1, 2))),
    "sampled Gaussian": families.SampledGaussian(F(1), F(1, 10)),
    "sampled": families.SampledLattice(families.Laplace(F(1)), F(1, 10)),
    "sampled moments": families.SampledMoments(families.Concentrated(F(1, 8)), F(1, 10)),
    "batch": families.Batch(families.Gaussian(F(1)), F(1, 10)),
}


def it_keeps_its_meaning_through_json(loss: Loss) -> None:
    privacy = 3 * Privacy.of(loss) + Privacy.of(families.Response(F(1), 7))
    again = Privacy.from_json(privacy.to_json())
    assert again == privacy
    assert again.to_json() == privacy.to_json()
    facts = json.loads(privacy.to_json())
    assert loss.kind in [part["kind"] for part in facts["parts"]]


def its_title_says_what_it_is(loss: Loss) -> None:
    privacy = Privacy.of(loss)
    assert repr(privacy) == f"Privacy({loss.title})"
    assert loss.title
    assert not any(character in loss.title for character in "<>{}")


def one_use_costs_no_more_than_two(loss: Loss) -> None:
    one, two = Privacy.of(loss), 2 * Privacy.of(loss)
    for delta in (F(1, 10**3), F(1, 10**5)):
        low, high = one.epsilon_bounds(delta)
        assert 0 <= low <= high <= two.epsilon_bounds(delta)[1]
    assert one.delta(F(1, 5)) <= one.delta(0) <= 1


def its_moments_bound_its_curve(loss: Loss) -> None:
    """Renyi divergences grow with the order, and the largest loss bounds them all."""
    privacy = Privacy.of(loss)
    if loss.infinity:
        return
    divergences = [privacy.renyi(order) for order in (F(3, 2), 2, 4)]
    assert all(less <= more * (1 + 1e-9) for less, more in pairwise(divergences))  # each is rounded up by itself
    if loss.pure is not None and loss.reverse.pure is not None:
        assert divergences[-1] <= max(loss.pure, loss.reverse.pure) * (1 + F(1, 10**12))


def its_law_is_that_of_its_moments(loss: Loss) -> None:
    """Mean and variance agree; a guarantee that names no law refuses in a sentence."""
    if isinstance(loss, families.Moments):
        with pytest.raises(ParameterError, match="names no loss distribution"):
            loss.distribution()
        return
    variable, (mean, variance) = Privacy.of(loss).loss, loss.mean_variance()
    assert variable.law.mean == pytest.approx(mean, rel=1e-3, abs=1e-12)
    assert variable.law.variance == pytest.approx(variance, rel=1e-2, abs=1e-12)
    assert float(variable.cdf(np.array([1e6]))[0]) == pytest.approx(1 - variable.law.infinity)


def it_has_a_price_or_says_that_it_has_none(loss: Loss) -> None:
    pair, rho = as_approximate(loss), as_concentrated(loss)
    for budget, price in ((dp.Budget(epsilon=10, delta=0.5), pair or rho), (dp.Budget(rho=10, delta=0.5), rho)):
        if price is None:
            with pytest.raises(ParameterError, match=r"price|add up"):
                budget.open().spend(Privacy.of(loss))
        else:
            assert budget.open().spend(Privacy.of(loss)).used >= 0


def it_is_explained_in_words(loss: Loss) -> None:
    words = Privacy.of(loss).explain(delta=1e-3)
    assert "epsilon" in words
    assert "nan" not in words.split()
    assert math.isfinite(Privacy.of(loss).tradeoff(0.01))


PROMISES: tuple[Callable[[Loss], None], ...] = (
    it_keeps_its_meaning_through_json,
    its_title_says_what_it_is,
    one_use_costs_no_more_than_two,
    its_moments_bound_its_curve,
    its_law_is_that_of_its_moments,
    it_has_a_price_or_says_that_it_has_none,
    it_is_explained_in_words,
)
