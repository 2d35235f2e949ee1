"""Local privacy: people randomise their own answers, so nobody has to be trusted, and a collector learns about all of them."""

from discreet.local.client import Client
from discreet.local.collector import Collector, read_collector
from discreet.local.report import Batch, Report
from discreet.local.shuffle import Amplified, amplified
from discreet.local.task import read_task
from discreet.local.tasks import Attributes, Bit, Distribution, Frequencies, HeavyHitters, Mean, Repeated
from discreet.local.tasks.frequencies import Estimate

__all__ = ["Amplified", "Attributes", "Batch", "Bit", "Client", "Collector", "Distribution", "Estimate", "Frequencies"]
__all__ += ["HeavyHitters", "Mean", "Repeated", "Report", "amplified", "read_collector", "read_task"]
