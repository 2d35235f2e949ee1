"""Private models that fit scikit-learn: bounds and classes are public, noise is exact, and every fit says what it cost."""

from discreet.learn.descent import private_descent
from discreet.learn.linear import PCA, LinearRegression, Ridge
from discreet.learn.logistic import LogisticRegression
from discreet.learn.naive_bayes import GaussianNB
from discreet.mechanisms.rows.sums import Sparse

__all__ = ["PCA", "GaussianNB", "LinearRegression", "LogisticRegression", "Ridge", "Sparse", "private_descent"]
