"""One file a mechanism; its import and its name here make it public."""

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.threshold import Threshold

__all__ = [
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "RandomizedResponse",
    "SparseVector",
    "Threshold",
]
