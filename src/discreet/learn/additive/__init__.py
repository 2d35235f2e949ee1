"""Additive models: sums of shapes, one a feature, learnt from noisy histograms."""
