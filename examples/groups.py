"""Group privacy: k people who are in the table together, such as a family, and what happens to their guarantee.

(epsilon, delta) for one is (k epsilon, k e^((k-1) epsilon) delta) for k. It is not the whole budget that grows exponentially:
epsilon grows linearly, delta alone explodes, and for the noise itself both formulas are far from the truth.
"""

import discreet as dp

epsilon, delta = 0.5, 1e-6
noise = dp.Gaussian(sensitivity=1.0, epsilon=epsilon, delta=delta).privacy

for k in (2, 5, 10, 20):
    together, lecture = dp.formulas.group_privacy(epsilon, delta, k)
    geometric = dp.formulas.group_privacy_geometric(epsilon, delta, k)[1]
    exact = noise.group(k).delta(together)
    print(f"{k} people, epsilon = {together:g}: delta {lecture:.1e} (lecture), {geometric:.1e} (sum), {exact:.1e} (exact)")

family = dp.Laplace(sensitivity=1, epsilon=epsilon).privacy.group(4)
print(f"Laplace noise on a count, a family of 4: epsilon = {family.epsilon()}, no delta")
