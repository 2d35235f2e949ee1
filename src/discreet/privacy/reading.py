"""Losses to and from plain facts, so that a stored guarantee keeps its meaning. Kinds are never renamed or re-used."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import losses as kinds
from discreet.privacy.losses import Loss

__all__ = ["read_loss", "write_loss"]

Facts = dict[str, Any]


def write_loss(loss: Loss) -> Facts:
    """What ``read_loss`` needs to make the same loss again."""
    if isinstance(loss, kinds.Family):
        return {"kind": "family", "name": loss.name, "worst": write_loss(loss.worst), "attained": write_loss(loss.attained)}
    if isinstance(loss, kinds.SampledLattice):
        return {"kind": "sampled", "base": write_loss(loss.base), "rate": str(loss.rate), "adding": loss.adding}
    if isinstance(loss, kinds.SampledGaussian):
        return {"kind": loss.kind, "squared_mu": str(loss.squared_mu), "rate": str(loss.rate), "adding": loss.adding}
    if isinstance(loss, kinds.Renyi):
        return {"kind": loss.kind, "divergences": loss.facts()}
    return {"kind": loss.kind, **loss.facts()}


def read_loss(facts: Facts) -> Loss:
    """The loss that these facts describe."""
    if facts["kind"] not in _READERS:
        raise ParameterError(f"This version of discreet knows no loss of kind {facts['kind']!r}; update discreet.")
    return _READERS[facts["kind"]](facts)


def _exact(facts: Facts, name: str) -> Fraction:
    value = Fraction(facts[name])
    if value < 0 or (name == "delta" and value > 1) or (name == "rate" and not 0 < value < 1):
        raise ParameterError(f"A stored guarantee has an impossible {name}; give what Privacy.to_json() wrote.")
    return value


_READERS: dict[str, Callable[[Facts], Loss]] = {
    "approximate": lambda f: kinds.Box(_exact(f, "epsilon"), _exact(f, "delta")),
    "leak": lambda f: kinds.Leak(_exact(f, "epsilon"), _exact(f, "delta")),
    "randomized response": lambda f: kinds.Response(_exact(f, "epsilon"), int(f["options"])),
    "Laplace": lambda f: kinds.Laplace(_exact(f, "epsilon")),
    "discrete Laplace": lambda f: kinds.DiscreteLaplace(int(f["sensitivity"]), _exact(f, "scale")),
    "Gaussian": lambda f: kinds.Gaussian(_exact(f, "squared_mu")),
    "discrete Gaussian": lambda f: kinds.DiscreteGaussian(_exact(f, "squared_sigma")),
    "bounded range": lambda f: kinds.BoundedRange(_exact(f, "epsilon")),
    "zCDP": lambda f: kinds.Concentrated(_exact(f, "cost")),
    "Renyi": lambda f: kinds.Renyi(tuple((Fraction(order), Fraction(value)) for order, value in f["divergences"].items())),
    "sampled Gaussian": lambda f: kinds.SampledGaussian(_exact(f, "squared_mu"), _exact(f, "rate"), bool(f["adding"])),
    "sampled": lambda f: kinds.SampledLattice(read_loss(f["base"]), _exact(f, "rate"), bool(f["adding"])),
    "family": lambda f: kinds.Family(str(f["name"]), read_loss(f["worst"]), read_loss(f["attained"])),
}
