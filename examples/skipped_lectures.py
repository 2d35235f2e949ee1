"""How many lectures were skipped, on average? Nobody is trusted: every student adds noise to their own number, 0 to 15.

A database of one person, whose value may be replaced by any other: sensitivity 15.
"""

import discreet as dp

skipped = [min(15, i % 7) for i in range(5_000)]  # what the students know and nobody else ever sees

student = dp.Laplace(sensitivity=dp.sensitivity.sum(lower=0, upper=15, neighbours="replace").l1, epsilon=1)
reports = student.release(skipped)  # one independent noise a student

average = sum(reports.tolist()) / len(skipped)
spread = (student.variance / len(skipped)) ** 0.5
print(f"one report is off by up to {student.error()} lectures (95 %): it says next to nothing about one student")
print(
    f"the average of {len(skipped)} reports is {average:.2f} +- {1.96 * spread:.2f}; "
    f"the truth is {sum(skipped) / len(skipped):.2f}"
)
