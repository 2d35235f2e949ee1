"""Which city is in the middle? The exponential mechanism chooses from a public list by a private score.

The lecture scores a city by 1 / distance, whose sensitivity is unbounded. Minus the members' total distance, each clamped to the
diameter of a public box, moves by at most that diameter when a member joins or leaves, and always the same way.
"""

import math

import discreet as dp

members = {"Alice": (34, -118), "Bob": (40, -74), "Charlie": (38, -77), "Xander": (43, -79)}
cities = {
    "Ottawa": (45, -75),
    "Toronto": (43, -79),
    "New York": (40, -74),
    "Washington": (38, -77),
    "Memphis": (35, -90),
    "Los Angeles": (34, -118),
    "La Habana": (23, -82),
}
latitude, longitude = (sum(where) / len(members) for where in zip(*members.values(), strict=True))
print(f"mean {latitude:.2f}, {longitude:.2f}: without privacy the nearest city would be the answer, and tell about everybody")
diameter = math.dist((20, -125), (50, -65))


def score(city: tuple[int, int], homes: list[tuple[int, int]]) -> float:
    return -sum(min(math.dist(home, city), diameter) for home in homes)


choice = dp.Exponential(sensitivity=diameter, epsilon=2, monotonic=True)
for size in (1, 25):  # four members, and a hundred
    scores = [score(place, list(members.values()) * size) for place in cities.values()]
    print(f"{4 * size} members meet in {choice.choose(list(cities), scores)}")
    for city, chance in zip(cities, choice.probabilities(scores), strict=True):
        print(f"  {city:12} {chance:6.1%}")
