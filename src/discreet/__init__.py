"""discreet: differential privacy that is exact, tight, fast and pleasant.

>>> import discreet as dp
>>> answer = dp.Laplace(sensitivity=1, epsilon=0.5).release(42)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Every public name and the module it comes from, which is loaded when the name is first used.
_HOMES = {
    name: module
    for module, names in {
        "discreet.analysis.counting.items": "marginal prefixes ranges",
        "discreet.auditor": "audit",
        "discreet.curator": "Curator open",
        "discreet.errors": "errors",
        "discreet.learn": "learn",
        "discreet.local": "local",
        "discreet.mechanisms": "DiscreteGaussian Exponential Gaussian Laplace Linear NoisyMax PermuteAndFlip "
        "RandomizedResponse RunningSums SetUnion SparseVector Threshold",
        "discreet.plan": "count mean median most_common persons quantile ratio stddev sum total variance",
        "discreet.plan.needed": "needed",
        "discreet.privacy": "Budget Privacy approximate gdp pure renyi zcdp",
        "discreet.privacy.calibrate": "calibrate",
        "discreet.privacy.filters": "filters",
        "discreet.privacy.formulas": "formulas",
        "discreet.privacy.plots": "plots",
        "discreet.schema": "boolean category date integer number person rows text",
        "discreet.schema.sensitivity": "sensitivity",
        "discreet.synthetic.model": "Synthetic",
        "discreet.texts": "texts",
    }.items()
    for name in names.split()
}

if TYPE_CHECKING:  # the same names for type checkers: each module's __all__, and modules
    from discreet import errors as errors
    from discreet import learn as learn
    from discreet import local as local
    from discreet import texts as texts
    from discreet.analysis.counting.items import *  # noqa: F403
    from discreet.auditor import *  # noqa: F403
    from discreet.curator import *  # noqa: F403
    from discreet.mechanisms import *  # noqa: F403
    from discreet.plan import *  # noqa: F403
    from discreet.plan import needed as needed
    from discreet.privacy import *  # noqa: F403
    from discreet.privacy import calibrate as calibrate
    from discreet.privacy import filters as filters
    from discreet.privacy import formulas as formulas
    from discreet.privacy import plots as plots
    from discreet.schema import *  # noqa: F403
    from discreet.schema import sensitivity as sensitivity
    from discreet.synthetic.model import *  # noqa: F403
else:
    __all__ = [*_HOMES]

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise _unknown(name)
        module = import_module(_HOMES[name])
        return module if module.__name__.endswith(f".{name}") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])


def _unknown(name: str) -> AttributeError:
    """The refusal of a name that is not public, with the public one it is most like. It loads nothing of discreet."""
    from difflib import get_close_matches

    said = f"discreet has no public name {name!r}"
    by_lower = {public.lower(): public for public in _HOMES}
    near = [] if name.startswith("_") else get_close_matches(name.lower(), by_lower, n=1)
    # A name of its own keeps Python from adding its own guess behind ours.
    return AttributeError(f"{said}; did you mean {by_lower[near[0]]!r}?" if near else said, name=name)
