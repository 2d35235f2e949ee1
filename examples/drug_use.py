"""How many patients take illegal drugs? (The lectures' first question to the trusted curator.)

One patient more or less changes a count by 1, so Laplace noise of scale b = 1/epsilon gives epsilon-differential privacy.
"""

import discreet as dp

patients = {"Alice": "yes", "Bob": "no", "Charlie": "no", **{f"patient {i}": "no" for i in range(96)}, "Xander": "yes"}

count = dp.Laplace(sensitivity=dp.sensitivity.count().l1, epsilon=0.5)
truth = sum(answer == "yes" for answer in patients.values())

print(f"scale b = 1/epsilon = {count.scale}")
print(f"released: {count.release(truth)}, within {count.error(confidence=0.95)} of the truth 95 % of the time")
print(f"cost: epsilon = {count.privacy.epsilon()}")
