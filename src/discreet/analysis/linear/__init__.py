"""Moments, correlations, principal components and linear models: all from one noisy matrix of sums of products."""
