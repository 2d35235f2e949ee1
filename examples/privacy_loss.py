"""The privacy loss L = ln P[M(D) = t] / P[M(D') = t], for t drawn from M(D), is a random variable: its law, its mean, its ends.

Real Laplace noise: half of the time all of epsilon is lost, with probability e^-epsilon / 2 nothing but -epsilon, else
something between. Discrete Laplace noise on a count: only the two ends, as for randomized response. Gaussian noise: there is no
end.
"""

import discreet as dp

mechanisms = {
    "Laplace": dp.Laplace(sensitivity=1.0, epsilon=1),
    "discrete Laplace": dp.Laplace(sensitivity=1, epsilon=1),
    "randomized response": dp.RandomizedResponse(epsilon=1, options=("yes", "no")),
    "Gaussian": dp.Gaussian(sensitivity=1.0, rho=0.5),
}
for name, mechanism in mechanisms.items():
    loss = mechanism.privacy.loss
    low, high = loss.support
    atoms = ", ".join(f"{at:g} with probability {chance:.4f}" for at, chance in loss.atoms) or "none"
    print(f"{name}: from {low:g} to {high:g}, mean {loss.mean:.4f}; atoms: {atoms}")
    print(f"  P[L > 1] = {loss.tail(1):.4f}")

# The mean is the Kullback-Leibler divergence: for Laplace noise e^-epsilon - 1 + epsilon, for Gaussian noise rho.
