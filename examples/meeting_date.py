"""Which day suits most people? Noise on a date is no date, and the day after the best one may suit nobody.

The score of a day is how many people can come. Somebody who can come on every day changes every score, but each by 1 only: the
sensitivity of a score is the largest change of one candidate, not the sum of all changes.
"""

import discreet as dp

days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
free = {"Alice": {"Monday", "Wednesday"}, "Bob": {"Wednesday", "Friday"}, "Charlie": {"Wednesday"}, "Xander": set(days)}
scores = [sum(day in can for can in free.values()) for day in days]

for times in (1, 25):  # four people, and a hundred
    many = [times * score for score in scores]
    choice = dp.PermuteAndFlip(sensitivity=1, epsilon=1, monotonic=True)
    chances = dp.Exponential(sensitivity=1, epsilon=1, monotonic=True).probabilities(many)
    print(f"{4 * times} people: {choice.choose(days, many)}")
    for day, score, chance in zip(days, many, chances, strict=True):
        print(f"  {day:10} suits {score:3}, chosen with probability {chance:6.1%} by the exponential mechanism")
