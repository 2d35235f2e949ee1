"""Results as a ledger keeps them: what was paid for each, and its texts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.ledger.chain import BEGIN, Entry

_AMOUNT = re.compile(r'\{"version": 1, "amount": "([0-9]+(?:/[0-9]+)?)", "answers": ')


def write_result(amount: Fraction, texts: Sequence[str]) -> str:
    """The text of a result. What was paid comes first, so that most need not be read to their end."""
    return json.dumps({"version": 1, "amount": str(amount), "answers": texts})


@lru_cache(maxsize=4096)
def amount_at_start(text: str) -> Fraction | None:
    """What was paid for a result, by its first characters; None for one that was written otherwise."""
    return None if (begun := _AMOUNT.match(text)) is None else Fraction(begun[1])


def amount_paid(entry: Entry) -> Fraction:
    """What was paid for a result that can be read; less than nothing for others."""
    paid = amount_at_start((entry.answer or "")[:BEGIN])
    if paid is not None:
        return paid
    facts = json.loads(entry.answer or "{}")
    return Fraction(facts["amount"]) if facts.get("version") == 1 else Fraction(-1)


def texts_of(entry: Entry) -> list[str]:
    """The texts of a result that can be read."""
    return [str(text) for text in json.loads(entry.answer or "{}")["answers"]]
