"""How a refusal must look: early, a sentence or two, and silent about the value."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DiscreetError, EntropyError
from support.recorded import replay

NOT_NUMBERS = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "decimal nan": Decimal("NaN"),
    "string": "123456.789",
    "bool": True,
    "numpy bool": np.True_,
    "complex": 1 + 2j,
    "list": [1],
    "array": np.ones(2),
    "dict": {},
    "object": object(),
    "numpy nan": np.float32("nan"),
}
NOT_POSITIVE = {"zero": 0, "minus": -1, "zero float": -0.0, "minus fraction": Fraction(-1, 3), "subnormal": 5e-324, **NOT_NUMBERS}


def refused(call: Callable[[], object], kind: type[DiscreetError], *words: str, never: str | None = None) -> str:
    """``call`` is refused with this kind of error, before any random word is asked for; its message."""
    with pytest.raises(DiscreetError) as caught:
        replay(call, [])
    error = caught.value
    assert not isinstance(error, EntropyError), "noise was drawn before the refusal"
    assert isinstance(error, kind)
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__, "the traceback shows where the value was met"
    message = str(error)
    assert message.endswith(".")
    assert len(re.findall(r"[.!?](?= [A-Z])", message)) <= 1, "more than two sentences"
    assert len(message) < 400
    for word in words:
        assert word in message
    if never is not None:
        assert never not in message
    return message
