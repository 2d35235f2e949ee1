"""Distances between the words of a vocabulary: trees of classes, vectors on a grid, matrices. A kind is registered here."""

from discreet.texts.distances.base import Distance
from discreet.texts.distances.matrix import Distances
from discreet.texts.distances.trees import Tree
from discreet.texts.distances.vectors import Vectors

__all__ = ["DISTANCES", "Distance", "Distances", "Tree", "Vectors"]

DISTANCES: dict[str, type[Distance]] = {kind.kind: kind for kind in (Tree, Vectors, Distances)}
