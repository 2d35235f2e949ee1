"""Many questions: basic composition adds up, advanced composition grows like a square root, and the truth is smaller than both.

k epsilon; epsilon sqrt(2 k ln(1/delta')) + k epsilon (e^epsilon - 1); the best possible for k pure mechanisms (Kairouz, Oh,
Viswanath 2015); and what k Laplace mechanisms really cost. What is done with the answers afterwards is free.
"""

import discreet as dp

epsilon, slack = 0.1, 1e-6
laplace = dp.Laplace(sensitivity=1.0, epsilon=epsilon)

for k in (1, 10, 100, 1000):
    basic, _ = dp.formulas.basic_composition([epsilon] * k)
    advanced, _ = dp.formulas.advanced_composition(epsilon, 0, k, slack)
    optimal = dp.formulas.optimal_composition(epsilon, k, slack)
    exact = (k * laplace.privacy).epsilon(slack)
    print(f"k = {k}: basic {basic:g}, advanced {advanced:.2f}, optimal {optimal:.2f}, Laplace noise itself {exact:.2f}")

# Advanced composition is worse than basic for few questions: take the smaller one, or the truth, which is below both.
answers = [laplace.release(count) for count in (120.0, 80.0, 33.0)]
shown = [max(0, round(answer)) for answer in answers]  # post-processing: rounding and clamping cost nothing
print(f"three answers, rounded and clamped at no cost: {shown}, epsilon = {(3 * laplace.privacy).epsilon():g}")
