"""Three formulas for Gaussian noise: the classic one (epsilon below 1 only), through zCDP, and the exact one, for any epsilon.

sigma^2 > 2 ln(1.25 / delta) / epsilon^2, and sigma^2 = 1 / (2 rho) with the best rho that zCDP turns into (epsilon, delta);
both are sufficient. The exact calibration (Balle and Wang 2018) is the least there is.
"""

import math

import discreet as dp

delta = 1e-6
for epsilon in (0.1, 0.5, 0.9, 1, 4, 10):
    try:
        classic = f"{dp.Gaussian.classic(sensitivity=1.0, epsilon=epsilon, delta=delta).sigma:7.3f}"
    except dp.errors.ParameterError:
        classic = "refused"
    through = dp.calibrate.noise(lambda sigma: dp.zcdp(1 / (2 * sigma**2)), epsilon=epsilon, delta=delta)
    exact = dp.Gaussian(sensitivity=1.0, epsilon=epsilon, delta=delta).sigma
    print(f"epsilon = {epsilon:4}: classic {classic}, through zCDP {through:7.3f}, exact {exact:7.3f}")

# What is wrong with the classic formula beyond its range: at epsilon = 10 its sigma is too small.
short = dp.Gaussian(sensitivity=1.0, sigma=math.sqrt(2 * math.log(1.25 / delta)) / 10)
print(f"the classic formula at epsilon = 10 would give delta = {short.privacy.delta(10):.1e} instead of 1e-06")
