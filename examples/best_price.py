"""Which price brings the most profit? Nearly equal prices can bring very different profits: noise on the price is no answer.

Alice offers 3 EUR and Bob 4 EUR for one item. At 3.00 it brings 3.00, at 3.01 it brings 3.01, at 4.00 it brings 4.00, at 4.01
nothing.
The candidate prices are public: taking them from the bids would give the bids away.
"""

import discreet as dp

offers = {"Alice": 3.00, "Bob": 4.00}
prices = [3.00, 3.01, 4.00, 4.01]
profits = [price if max(offers.values()) >= price else 0.0 for price in prices]
assert profits == [3.00, 3.01, 4.00, 0.0]

# One buyer more or less changes a profit by at most the highest price, and never lowers it by joining.
exponential = dp.Exponential(sensitivity=max(prices), epsilon=4, monotonic=True)
flip = dp.PermuteAndFlip(sensitivity=max(prices), epsilon=4, monotonic=True)

for price, profit, chance in zip(prices, profits, exponential.probabilities(profits), strict=True):
    print(f"price {price:.2f}: profit {profit:.2f}, chosen by the exponential mechanism with probability {chance:.1%}")
print(f"chosen by the exponential mechanism: {exponential.choose(prices, profits):.2f}")
print(f"chosen by permute-and-flip, never worse: {flip.choose(prices, profits):.2f}")
