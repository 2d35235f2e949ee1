"""How days are written where they are texts: a few of the codes of ``strptime``, with signs between them.

Every code that is not listed is refused at birth: a format becomes part of the engine's own language.

>>> day_parts("%d.%m.%Y")
('%d', '.', '%m', '.', '%Y')
"""

from __future__ import annotations

import re

from discreet.errors import ParameterError
from discreet.exact import shown

__all__ = ["day_parts"]

_PARTS = re.compile(r"%[dmYbBHMS]|[-./,: T]")
_WRITE = (
    "write %d, %Y and one of %m, %b and %B (the month in English, short or in full), %H, %M and %S where there is a time, and "
    'between them signs out of . , / - : T and spaces: "%d.%m.%Y".'
)


def day_parts(format: object) -> tuple[str, ...]:
    """The codes and signs of a format, in order; it must name one day, in one way."""
    if not isinstance(format, str):
        raise ParameterError(f"format={shown(format)} is no text; {_WRITE}")
    if "%y" in format:
        raise ParameterError(f"format={shown(format)} has years of two digits, which do not say their century; {_WRITE}")
    parts = tuple(_PARTS.findall(format))
    if "".join(parts) != format or format != format.strip():
        raise ParameterError(f"format={shown(format)} has a code or a sign that is not read; {_WRITE}")
    codes = [part for part in parts if part[0] == "%"]
    months = [code for code in codes if code in ("%m", "%b", "%B")]
    if len(set(codes)) < len(codes) or len(months) != 1 or not {"%d", "%Y"} <= set(codes):
        raise ParameterError(f"format={shown(format)} does not name day, month and year once each; {_WRITE}")
    return parts
