"""One file a mechanism; its import and its name here make it public."""

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.matrix.linear import Linear
from discreet.mechanisms.matrix.running_sums import RunningSums
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip
from discreet.mechanisms.set_union import SetUnion
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.threshold import Threshold

__all__ = ["DiscreteGaussian", "Exponential", "Gaussian", "Laplace", "Linear", "NoisyMax", "PermuteAndFlip"]
__all__ += ["RandomizedResponse", "RunningSums", "SetUnion", "SparseVector", "Threshold"]
