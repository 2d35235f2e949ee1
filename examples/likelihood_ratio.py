"""Was the answer drawn with Alice or without her? How much more likely one is than the other, for growing noise.

Laplace noise of scale b on a count: no answer is more than e^(1/b) times as likely with Alice as without, so b = 1/epsilon.
"""

import math

import discreet as dp

with_alice, without = 51, 50  # the lecture's two true counts

for scale in (0.5, 1, 2, 4):
    noise = dp.Laplace(sensitivity=1, scale=scale)
    worst = math.exp(noise.privacy.epsilon())
    print(f"b = {scale}: released {noise.release(with_alice)} or {noise.release(without)}, at most {worst:.3f} times as likely")

# The ratio of the two laws at some answers, b = 1: it reaches e and 1/e, and never passes them.
for answer in (40, 50, 50.5, 51, 60):
    ratio = math.exp(-abs(answer - with_alice)) / math.exp(-abs(answer - without))
    print(f"answer {answer}: ratio {ratio:.3f}")
