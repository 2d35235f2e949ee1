"""The table of scalar operations: everything an expression may call.

>>> from discreet.plan.facts import Facts
>>> OPERATIONS["year"].takes, OPERATIONS["%"].meaning(-7.0, 3.0)
(('date',), 2.0)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.plan.arithmetic import ARITHMETIC
from discreet.plan.logic import LOGIC
from discreet.plan.operation import Operation
from discreet.plan.words import WORDS

__all__ = ["OPERATIONS", "Operation"]

OPERATIONS: Mapping[str, Operation] = MappingProxyType({one.name: one for one in (*ARITHMETIC, *LOGIC, *WORDS)})
