"""Private models that fit scikit-learn: bounds and classes are public, noise is exact, and every fit says what it cost."""

from discreet.learn.naive_bayes import GaussianNB

__all__ = ["GaussianNB"]
