"""What percentage takes illegal drugs? Everybody flips their own answer now and then: randomized response.

theta = (epsilon + 1)/(epsilon + 2) is private but loose: it costs only ln(1 + epsilon). theta = e^epsilon/(1 + e^epsilon) is
tight.
"""

import discreet as dp

truth = ["yes"] * 2_000 + ["no"] * 8_000

for name, response in {
    "loose": dp.RandomizedResponse.loose(epsilon=1, options=("yes", "no")),
    "tight": dp.RandomizedResponse(epsilon=1, options=("yes", "no")),
}.items():
    estimate = response.estimate(response.release(truth))
    low, high = estimate.interval(0.95)
    print(
        f"{name}: theta = {response.theta:.4f}, costs epsilon = {response.privacy.epsilon():.4f}; "
        f"yes: {estimate.values[0]:.1%} (95 %: {low[0]:.1%} to {high[0]:.1%}); the truth is 20 %"
    )
