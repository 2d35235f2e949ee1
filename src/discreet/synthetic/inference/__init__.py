"""Exact inference: distributions that are products of small tables, and the one that fits noisy marginals best."""
