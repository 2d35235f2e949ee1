"""Local privacy: people randomise their own answers, so nobody has to be trusted, and a collector learns about all of them."""

from discreet.local.client import Client
from discreet.local.collector import Collector
from discreet.local.report import Batch, Report
from discreet.local.shuffle import Amplified, amplified
from discreet.local.tasks.attributes import Attributes
from discreet.local.tasks.bit import Bit
from discreet.local.tasks.distribution import Distribution
from discreet.local.tasks.estimate import Estimate
from discreet.local.tasks.frequencies import Frequencies
from discreet.local.tasks.heavy_hitters import HeavyHitters
from discreet.local.tasks.mean import Mean
from discreet.local.tasks.reading import read_collector, read_task
from discreet.local.tasks.repeated import Repeated

__all__ = ["Amplified", "Attributes", "Batch", "Bit", "Client", "Collector", "Distribution", "Estimate", "Frequencies"]
__all__ += ["HeavyHitters", "Mean", "Repeated", "Report", "amplified", "read_collector", "read_task"]
