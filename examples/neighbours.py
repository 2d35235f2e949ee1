"""How far can one person move a statistic? By the theorem, and by trying all small tables there are.

Neighbours differ by a record that is added or removed, or by one that is replaced. A database of one person whose value is
replaced is the setting of local privacy.
"""

from itertools import product

import discreet as dp

VALUES = (-2, -1, 0, 1, 2)  # the public domain of one record
tables = [list(table) for size in (2, 3) for table in product(VALUES, repeat=size)]
statistics = {
    "count of 2s": lambda table: [table.count(2)],
    "sum": lambda table: [sum(table)],
    "histogram": lambda table: [table.count(value) for value in VALUES],
}


def tried(statistic, neighbours):
    """The largest L1 distance between neighbours."""
    if neighbours == "add-remove":
        pairs = ((table, table[1:]) for table in tables)
    else:
        pairs = ((table, [value, *table[1:]]) for table in tables for value in VALUES)
    return max(sum(abs(x - y) for x, y in zip(statistic(a), statistic(b), strict=True)) for a, b in pairs)


for neighbours in ("add-remove", "replace"):
    theorems = {
        "count of 2s": dp.sensitivity.count(neighbours=neighbours),
        "sum": dp.sensitivity.sum(lower=-2, upper=2, neighbours=neighbours),
        "histogram": dp.sensitivity.histogram(neighbours=neighbours),
    }
    for name, theorem in theorems.items():
        found = tried(statistics[name], neighbours)
        assert found == theorem.l1
        print(f"{neighbours}: {name} moves by {found} (L1), {float(theorem.l2):.3f} (L2)")

mean = dp.sensitivity.mean(lower=-2, upper=2, size=4)
print(f"replace: mean of 4 moves by {float(mean.l1)}; where the number of records is private, release a sum and a count")
local = dp.sensitivity.sum(lower=0, upper=15, neighbours="replace")
print(f"a database of one person, 0 to 15 lectures skipped: moves by {local.l1}")
