"""Domains: which answers a task takes, their whole-number codes, and the fate of all other answers."""
