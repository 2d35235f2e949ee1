"""Texts that a function gives out, made comparable: without addresses of memory, short, with the numbers that stand in them.

>>> strip_addresses("<Box object at 0x7f3a2c1b4d60>")
'<Box object>'
>>> split_numbers('{"n": -3.25, "k2": [1e3]}')
('{"n": #, "k#": [#]}', [-3.25, 2.0, 1000.0])
"""

from __future__ import annotations

import math
import re
from hashlib import blake2b

from discreet.display import clean

_LONGEST = 200
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,16}\b")
_NUMERAL = re.compile(r"(?:(?<![\w.])[-+])?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def strip_addresses(text: str) -> str:
    """The text without addresses of objects, which tell nothing about the data."""
    return _ADDRESS.sub("", text) if "0x" in text else text


def shorten(text: str) -> str:
    """The beginning of a long text and a fingerprint, by which two of them are still told apart."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}... ({blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()})"


def split_numbers(text: str) -> tuple[str, list[float]]:
    """The text with a sign in the place of every number, and the numbers."""
    found: list[float] = []

    def one(match: re.Match[str]) -> str:
        number = float(match[0])
        if not math.isfinite(number):
            return match[0]
        found.append(number)
        return "#"

    return _NUMERAL.sub(one, text), found


def exception_text(raised: BaseException) -> str:
    """What an exception says; a message that cannot be printed is still the same message."""
    try:
        return strip_addresses(str(raised))
    except Exception:
        return "(without text)"


def describe_exception(raised: BaseException) -> str:
    """An exception in one line, for the reader: its words are the function's, so they are cut and cleaned."""
    said = exception_text(raised)
    return clean(f"{type(raised).__name__}: {said}" if said else type(raised).__name__)[:_LONGEST]
