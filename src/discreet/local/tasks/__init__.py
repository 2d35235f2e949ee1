"""The kinds of tasks, each in its own file with its estimate, and registered here."""

from discreet.local.task import KINDS
from discreet.local.tasks.attributes import Attributes
from discreet.local.tasks.distribution import Distribution
from discreet.local.tasks.frequencies import Bit, Frequencies
from discreet.local.tasks.heavy_hitters import HeavyHitters
from discreet.local.tasks.mean import Mean
from discreet.local.tasks.repeated import Repeated

__all__ = ["Attributes", "Bit", "Distribution", "Frequencies", "HeavyHitters", "Mean", "Repeated"]

KINDS.update({task.kind: task for task in (Frequencies, Bit, Mean, Distribution, HeavyHitters, Attributes, Repeated)})
