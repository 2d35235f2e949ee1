"""What a guarantee is: losses, bounds, conversions."""

from discreet.privacy.guarantee import Privacy, approximate, gdp, pure, zcdp

__all__ = [
    "Privacy",
    "approximate",
    "gdp",
    "pure",
    "zcdp",
]
