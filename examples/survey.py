"""What share of students takes illegal drugs, and how many lectures do they skip? Nobody is trusted; the whole way to error bars.

The lecture's two questions as tasks: a task is public, a report is private on its own, a collector sees nothing but reports.
"""

import discreet as dp

drugs = dp.local.Bit(epsilon=1, question="Did you ever take illegal drugs?")
rates = drugs.protocol.rates
print(f"the truth is told with theta = {rates.truth:.4f}: each report fits one answer {rates.truth / rates.lie:.4f} times better")
print(drugs.plan(10_000))  # before anybody is asked

students = [True] * 2_000 + [False] * 8_000  # what the students know and nobody else ever sees
monday, tuesday = drugs.collector(), drugs.collector()
monday.add(drugs.randomize(students[::2]))
tuesday.add(drugs.randomize(students[1::2]))
tuesday.add('{"v":1,"task":"of somebody else","r":1}')
both = monday + tuesday
estimate = both.estimate()
low, high = estimate.interval(0.95)
print(f"{both.count:,} reports counted, {sum(both.refused.values())} refused")
print(f"drugs: {estimate[True]:.1%} (95 %: {low[0]:.1%} to {high[0]:.1%}); the truth is 20 %")

skipped = [min(15, i % 7) for i in range(10_000)]
for task in (
    dp.local.Mean(0, 15, epsilon=1, step=1, protocol="laplace"),  # the lecture's
    dp.local.Mean(0, 15, epsilon=1, step=1),  # the best one
):
    collector = task.collector()
    collector.add(task.randomize(skipped))
    mean = collector.estimate()
    print(f"skipped lectures, {task.protocol.name}: {mean.value:.2f} +- {1.96 * mean.standard_error:.2f}; the truth is 3.00")
