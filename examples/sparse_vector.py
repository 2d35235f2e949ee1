"""The sparse vector technique: a long stream of questions "is it above the threshold?", paid for only where the answer is yes.

How many patients with each of a thousand rare diseases? Only the few that are common matter. Noise on every count would cost a
thousand times epsilon, or be a thousand times larger; here the price depends on how many are found, not on how many are asked
about.
"""

import discreet as dp

counts = [3] * 1_000
counts[137], counts[729] = 400, 520  # two diseases are common

finder = dp.SparseVector(sensitivity=1, epsilon=1, cutoff=2, monotonic=True)
answers = finder.release(counts, threshold=200)
print(f"above the threshold: {[place for place, above in enumerate(answers) if above]}, after {len(answers)} questions")
print(f"cost: epsilon = {finder.privacy.epsilon():g}, whatever the number of questions")
print(f"all answers are right if no count is within {finder.error(queries=1_000):.0f} of the threshold (95 %)")
print(f"one by one at the same cost: noise of scale {dp.Laplace(sensitivity=1_000, epsilon=1).scale} on every count")

# A stream says no for ever, and stops for good after it has said yes as often as was paid for.
stream = finder.start(threshold=200)
print([stream.ask(count) for count in (3, 400, 3, 520)], f"yes left: {stream.left}")
try:
    stream.ask(3)
except dp.errors.Exhausted as refusal:
    print(refusal)
