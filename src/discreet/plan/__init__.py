"""Questions as frozen values, from SQL text or Python; what they cost and how far off they will be, before any data is seen."""

from discreet.plan.aggregates import count, mean, median, most_common, persons, quantile, ratio, stddev, sum, total, variance

__all__ = ["count", "mean", "median", "most_common", "persons", "quantile", "ratio", "stddev", "sum", "total", "variance"]
