"""(epsilon, delta)-privacy does not say "the loss exceeds epsilon with probability at most delta". That is enough, but too much.

The definition asks for E[max(0, 1 - e^(epsilon - L))] <= delta: a loss just above epsilon hardly counts. For Gaussian noise the
lectures' reading demands a delta that is several times too large, or more noise than is needed.
"""

import discreet as dp

gaussian = dp.Gaussian(sensitivity=1.0, sigma=4).privacy
for epsilon in (0.25, 0.5, 1.0, 1.5):
    tail, delta = gaussian.loss.tail(epsilon), gaussian.delta(epsilon)
    print(f"epsilon = {epsilon}: P[L > epsilon] = {tail:.2e}, delta = {delta:.2e}, {tail / delta:.1f} times smaller")

# What a delta of 1e-6 needs, by either reading.
exact = dp.Gaussian(sensitivity=1.0, epsilon=1, delta=1e-6).sigma
by_tail = next(s / 100 for s in range(400, 600) if dp.Gaussian(sensitivity=1.0, sigma=s / 100).privacy.loss.tail(1) <= 1e-6)
print(f"epsilon = 1, delta = 1e-6: sigma {exact:.2f} by the definition, {by_tail:.2f} by the tail")
