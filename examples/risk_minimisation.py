"""Private empirical risk minimisation, which the lectures end with: a classifier whose training rows nobody can tell.

The risk is the mean logistic loss over rows. Its minimiser may say everything about one row; noisy gradients say what they
are paid for. A gradient is a sum over rows: clipped to norm C, one row moves it by at most C, and T of them with
Gaussian noise are together as private as one with T times its rho.
"""

import numpy as np

import discreet as dp

draw = np.random.default_rng(4)  # a made-up table: two measurements, and whether somebody is ill
x = draw.normal(size=(4000, 2))
ill = draw.random(4000) < 1 / (1 + np.exp(-(2 * x[:, 0] - x[:, 1])))

# Step by step: the gradient of the logistic loss of every row, a line each.


def gradients(weights, rows, labels):
    return (1 / (1 + np.exp(-rows @ weights)) - labels)[:, None] * rows


found = dp.learn.private_descent(
    gradients, np.zeros(2), x, ill.astype(float), epsilon=1, delta=1e-5, size=4000, steps=30, learning_rate=4.0, clip=1
)
assert found.privacy.epsilon(1e-5) <= 1
print(f"30 steps: {found.privacy}, epsilon {found.privacy.epsilon(1e-5):.3f} at delta 1e-5")
print(f"noise in a mean gradient: {found.noise:.4f}")
print(f"slopes of different signs: {found.parameters[0] > 0 > found.parameters[1]}")

# The same on samples of a tenth: noise for a hundred steps, calibrated before the first.
sampled = dp.learn.private_descent(
    gradients, np.zeros(2), x, ill.astype(float), epsilon=1, delta=1e-5, size=4000, steps=100, learning_rate=2.0, rate=0.1
)
print(f"100 steps on samples of a tenth: epsilon at most 1: {sampled.privacy.epsilon(1e-5) <= 1}")

# And all of it as a model of scikit-learn's kind: bounds and classes are public, never read off the rows.
model = dp.learn.LogisticRegression(epsilon=1, delta=1e-5, bounds=(-4, 4), classes=[False, True]).fit(x, ill)
ideal = ((2 * x[:, 0] - x[:, 1] > 0) == ill).mean()
print(f"nearly as good as the truth itself: {model.score(x, ill) > ideal - 0.05}")
try:
    dp.learn.LogisticRegression(epsilon=1, delta=1e-5, classes=[False, True]).fit(x, ill)
except dp.errors.ParameterError as refusal:
    print(refusal)
