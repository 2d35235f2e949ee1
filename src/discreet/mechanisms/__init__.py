"""One file a mechanism; its import and its name here make it public. What few ask for is loaded when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.threshold import Threshold

if TYPE_CHECKING:
    from discreet.mechanisms.matrix.linear import Linear
    from discreet.mechanisms.matrix.running_sums import RunningSums
    from discreet.mechanisms.set_union import SetUnion

__all__ = ["DiscreteGaussian", "Exponential", "Gaussian", "Laplace", "Linear", "NoisyMax", "PermuteAndFlip"]
__all__ += ["RandomizedResponse", "RunningSums", "SetUnion", "SparseVector", "Threshold"]

_LATER = {"Linear": "matrix.linear", "RunningSums": "matrix.running_sums", "SetUnion": "set_union"}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
