"""Privacy losses: one file a family of pairs."""

from discreet.privacy.losses.atoms import Atomic, Atoms
from discreet.privacy.losses.base import Family, Loss, register
from discreet.privacy.losses.batch import Batch
from discreet.privacy.losses.bounded_range import BoundedRange
from discreet.privacy.losses.boxes import Box, Leak, Response, response
from discreet.privacy.losses.gaussian import DiscreteGaussian, Gaussian
from discreet.privacy.losses.laplace import DiscreteLaplace, Laplace
from discreet.privacy.losses.moments import Concentrated, Moments, Renyi
from discreet.privacy.losses.sampled import SampledLattice, SampledMoments
from discreet.privacy.losses.sampled_gaussian import SampledGaussian

__all__ = ["Atomic", "Atoms", "Batch", "BoundedRange", "Box", "Concentrated", "DiscreteGaussian", "DiscreteLaplace", "Family"]
__all__ += ["Gaussian", "Laplace", "Leak", "Loss", "Moments", "Renyi", "Response", "SampledGaussian", "SampledLattice"]
__all__ += ["SampledMoments", "response"]

# A family's one line: stored guarantees may name these.
register(Box, Leak, Response, Laplace, DiscreteLaplace, Gaussian, DiscreteGaussian, BoundedRange)
register(Concentrated, Renyi, Family, SampledGaussian, SampledLattice, SampledMoments, Batch)
