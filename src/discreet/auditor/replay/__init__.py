"""Exact replay: a function run on two neighbouring inputs with the same noisy answers, and every step compared."""

from discreet.auditor.replay.compare import replay

__all__ = ["replay"]
