"""discreet: differential privacy that is exact, tight, fast and pleasant.

>>> import discreet as dp
>>> answer = dp.Laplace(sensitivity=1, epsilon=0.5).release(42)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import errors as errors
    from discreet import local as local
    from discreet.auditor import *  # noqa: F403
    from discreet.curator import *  # noqa: F403
    from discreet.mechanisms import *  # noqa: F403
    from discreet.plan import *  # noqa: F403
    from discreet.privacy import *  # noqa: F403
    from discreet.privacy import calibrate as calibrate
    from discreet.privacy import filters as filters
    from discreet.privacy import formulas as formulas
    from discreet.privacy import plots as plots
    from discreet.schema import *  # noqa: F403
    from discreet.schema import sensitivity as sensitivity

__version__ = "0.1.0"

# Rooms are opened when first needed, so that `import discreet` costs nothing.
_ROOMS = ("discreet.privacy", "discreet.mechanisms", "discreet.schema", "discreet.plan", "discreet.curator", "discreet.auditor")
_MODULES = {
    "calibrate": "discreet.privacy.calibrate",
    "errors": "discreet.errors",
    "filters": "discreet.privacy.filters",
    "formulas": "discreet.privacy.formulas",
    "local": "discreet.local",
    "plots": "discreet.privacy.plots",
    "sensitivity": "discreet.schema.sensitivity",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if not name.startswith("_"):
        for room in _ROOMS:
            module = import_module(room)
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"discreet has no public name {name!r}")


def __dir__() -> list[str]:
    public = [name for room in _ROOMS for name in import_module(room).__all__]
    return sorted([*public, *_MODULES, "__version__"])
