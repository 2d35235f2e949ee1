"""What is the total debt? The sensitivity is the bank's public limit, not the largest debt in the table.

Scaling the noise by Alice's 2,800,798 EUR would protect Alice and betray the next customer, who may owe up to 10,000,000.
"""

import discreet as dp

debts = {"Alice": 2_800_798.00, "Bob": 7_000.00, "Charlie": 1.56, "Xander": 0.00}
limit = 10_000_000.0

for words, scale in {"noise of a count": 1.0, "noise scaled by Alice's debt": debts["Alice"]}.items():
    alice, anybody = (dp.Laplace(sensitivity=moved, scale=scale).privacy.epsilon() for moved in (debts["Alice"], limit))
    print(f"{words}: Alice loses epsilon = {alice:,.2f}, whoever owes 10,000,000 loses {anybody:,.2f}")

total = dp.Laplace(sensitivity=dp.sensitivity.sum(lower=0.0, upper=limit).l1, epsilon=1)

print(f"scale b = 10,000,000 / epsilon = {float(total.scale):,.0f} EUR; releases are multiples of {total.grid} EUR")
print(f"released: {total.release(sum(debts.values())):,.0f} EUR, within {total.error():,.0f} EUR 95 % of the time")
