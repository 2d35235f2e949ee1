"""Synthetic data: a model of a whole table, made of noisy marginals that are paid for once, and rows drawn from it."""
