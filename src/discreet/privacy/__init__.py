"""What a guarantee is: curves, composition, conversion, amplification, filters, plots of a loss."""

from discreet.privacy.budget import Budget
from discreet.privacy.guarantee import Privacy, approximate, gdp, pure, renyi, zcdp

__all__ = ["Budget", "Privacy", "approximate", "gdp", "pure", "renyi", "zcdp"]
