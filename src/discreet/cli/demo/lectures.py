"""`discreet demo --lectures`: the lectures' worked examples, released for real.

The data are the lectures' and made up, so the true answers may stand beside the released ones; with real data they never would.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import discreet as dp

PATIENTS = ["yes", "no", "no", *["no"] * 96, "yes"]  # Alice and Xander take illegal drugs; n = 100
DEBTS = [2_800_798.00, 7_000.00, 1.56, 0.00]  # Alice, Bob, Charlie, Xander, in EUR
LARGEST_DEBT = 10_000_000.0  # what the bank lends at most: public, unlike anybody's debt
MEMBERS = [(34, -118), (40, -74), (38, -77), (43, -79)]  # where the secret society lives
CITIES = {
    "Ottawa": (45, -75),
    "Toronto": (43, -79),
    "New York": (40, -74),
    "Washington": (38, -77),
    "Memphis": (35, -90),
    "Los Angeles": (34, -118),
    "La Habana": (23, -82),
}
DIAMETER = math.dist((20, -125), (50, -65))  # of a public box around all cities: no distance counts for more
OFFERS = [3.00, 4.00]  # Alice, Bob
PRICES = [3.00, 3.01, 4.00, 4.01]
HAIR = {"dark": 500, "brown": 399, "blond": 60, "red": 41}

Row = tuple[str, str, str, str, str]


def rows() -> Iterator[Row]:
    """Question, mechanism, truth, release, and how far off the release may be."""
    count = dp.Laplace(sensitivity=dp.sensitivity.count().l1, epsilon=0.5)
    takers = PATIENTS.count("yes")
    yield "drug users", "Laplace ε=0.5", str(takers), str(count.release(takers)), f"± {count.error()}"

    debt = dp.Laplace(sensitivity=dp.sensitivity.sum(lower=0.0, upper=LARGEST_DEBT).l1, epsilon=0.5)
    total = sum(DEBTS)
    yield "total debt, EUR", "Laplace ε=0.5", f"{total:,.0f}", f"{debt.release(total):,.0f}", f"± {debt.error():,.0f}"

    # A new member lowers every city's score, by at most the diameter: bounded, and monotonic.
    society = dp.Exponential(sensitivity=DIAMETER, epsilon=2, monotonic=True)
    scores = [-sum(min(math.dist(home, city), DIAMETER) for home in MEMBERS) for city in CITIES.values()]
    closest = max(zip(scores, CITIES, strict=True))[1]
    reach = society.error(candidates=len(CITIES))
    yield "meeting place", "exponential ε=2", closest, society.choose(list(CITIES), scores), f"{reach:.0f}° further"

    # One item is sold: it brings its price if anybody offers as much. A buyer more never lowers that.
    market = dp.PermuteAndFlip(sensitivity=max(PRICES), epsilon=2, monotonic=True)
    profits = [price if max(OFFERS) >= price else 0.0 for price in PRICES]
    price = max(zip(profits, PRICES, strict=True))[1]
    reach = market.error(candidates=len(PRICES))
    yield (
        "best price, EUR",
        "permute-flip ε=2",
        f"{price:.2f}",
        f"{market.choose(PRICES, profits):.2f}",
        f"{reach:.2f} EUR less",
    )

    hair = dp.Exponential(sensitivity=1, epsilon=0.1)
    reach = hair.error(candidates=len(HAIR))
    yield (
        "common hair",
        "exponential ε=0.1",
        "dark",
        hair.choose(list(HAIR), list(HAIR.values())),
        f"{reach:.0f} fewer",
    )


def run() -> None:
    """Release the lectures' worked examples: a count, a sum, a city, a price and a hair colour."""
    table = Table(title="The lectures' examples, with exact noise", box=SIMPLE)
    table.add_column("question")
    table.add_column("mechanism")
    for name in ("truth*", "released", "off at most**"):
        table.add_column(name, justify="right")
    for row in rows():
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(" *  The data are made up, so the truth may be shown.\n ** 95 % of the time. Run it again: the noise is new.")
