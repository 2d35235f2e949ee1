"""Zero-concentrated privacy: the loss has the tails of a Gaussian. Its tail bound, and the ways to and from other definitions.

rho-zCDP bounds every Renyi divergence by rho alpha, and P[L > lambda + rho] by e^(-lambda^2 / (4 rho)). As alpha grows, rho
alpha grows without end: no zCDP is pure. Pure epsilon-privacy is epsilon tanh(epsilon / 2)-zCDP, a little less than epsilon^2 /
2.
"""

import discreet as dp

rho = 0.1
noise = dp.Gaussian(sensitivity=1.0, rho=rho).privacy

for alpha in (2, 8, 32):
    print(f"Renyi divergence of order {alpha}: {noise.renyi(alpha):.4g} = rho alpha")
for margin in (0.5, 1.0, 2.0):
    bound, truth = dp.formulas.zcdp_tail(rho, margin), noise.loss.tail(margin + rho)
    print(f"P[L > {margin} + rho]: bound {bound:.2e}, truth {truth:.2e}")

textbook, best = (f(rho, 1e-6) for f in (dp.formulas.zcdp_to_approximate_textbook, dp.formulas.zcdp_to_approximate_best_order))
print(f"epsilon at delta = 1e-6: textbook {textbook:.4f}, best order {best:.4f}, Gaussian noise itself {noise.epsilon(1e-6):.4f}")
print(f"epsilon at delta = 0: {noise.epsilon()}")

for epsilon in (0.1, 1, 4):
    loose, tight = dp.formulas.pure_to_zcdp_loose(epsilon), dp.formulas.pure_to_zcdp_tight(epsilon)
    print(f"pure epsilon = {epsilon}: rho {loose:.4f} (epsilon^2 / 2), {tight:.4f} (epsilon tanh(epsilon / 2))")
