"""Private models that fit scikit-learn: bounds and classes are public, noise is exact, and every fit says what it cost."""

from discreet.learn.additive.models import AdditiveClassifier, AdditiveRegressor
from discreet.learn.around.from_synthetic import FromSynthetic
from discreet.learn.around.pictures import curve, plot_coefficients
from discreet.learn.around.scores import Score, private_score
from discreet.learn.around.search import PrivateSearch
from discreet.learn.counts import CountNB
from discreet.learn.descent import private_descent
from discreet.learn.linear import PCA, LinearRegression, Ridge
from discreet.learn.logistic import LogisticRegression
from discreet.learn.naive_bayes import GaussianNB
from discreet.learn.unlabelled.kmeans import KMeans
from discreet.learn.unlabelled.scaler import Scaler
from discreet.mechanisms.rows.sums import Sparse

__all__ = [
    "PCA",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "CountNB",
    "FromSynthetic",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "PrivateSearch",
    "Ridge",
    "Scaler",
    "Score",
    "Sparse",
    "curve",
    "plot_coefficients",
    "private_descent",
    "private_score",
]
