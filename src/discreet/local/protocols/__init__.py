"""Protocols: how one coded value becomes a private report, and what a collector counts of it."""
