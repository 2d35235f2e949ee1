"""Local privacy: people randomise their own answers, so nobody has to be trusted, and a collector learns about all of them."""

from discreet.local.attributes import Attributes
from discreet.local.bit import Bit
from discreet.local.client import Client
from discreet.local.collector import Collector
from discreet.local.distribution import Distribution
from discreet.local.estimate import Estimate
from discreet.local.frequencies import Frequencies
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.mean import Mean
from discreet.local.reading import read_collector, read_task
from discreet.local.repeated import Repeated
from discreet.local.report import Batch, Report
from discreet.local.shuffle import Amplified, amplified

__all__ = ["Amplified", "Attributes", "Batch", "Bit", "Client", "Collector", "Distribution", "Estimate", "Frequencies"]
__all__ += ["HeavyHitters", "Mean", "Repeated", "Report", "amplified", "read_collector", "read_task"]
