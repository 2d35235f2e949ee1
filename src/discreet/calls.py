"""Calls with missing, unknown or too many arguments: refused in a sentence that shows how the call is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from discreet.errors import ParameterError

F = TypeVar("F", bound=Callable[..., Any])


def called_as(example: str) -> Callable[[F], F]:
    """A function, method or class whose wrong calls are answered with this example of its arguments.

    >>> @called_as("0, 120")
    ... def integer(lower: int, upper: int) -> range:
    ...     return range(lower, upper)
    >>> integer()
    Traceback (most recent call last):
    discreet.errors.ParameterError: integer() needs lower and upper; write integer(0, 120).
    """

    def decorate(target: F) -> F:
        if not isinstance(target, type):
            return cast(F, _answer(target, example))
        target.__init__ = _answer(target.__init__, example)  # type: ignore[misc]
        return target

    return decorate


def _answer(function: Callable[..., Any], example: str) -> Callable[..., Any]:
    """The same function. Python finds out itself whether a call fits; only where it does not, we look again and say why."""

    @wraps(function)
    def call(*given: object, **named: object) -> object:
        try:
            return function(*given, **named)
        except TypeError:
            signature = inspect.signature(function)
            trouble = _trouble(signature, given, named)
            if trouble is None:
                raise
        name = type(given[0]).__name__ if function.__name__ == "__init__" else function.__name__
        raise ParameterError(f"{name}() {trouble}; write {name}({example}).")

    return call


def _trouble(signature: inspect.Signature, given: tuple[object, ...], named: dict[str, object]) -> str | None:
    """What is wrong with a call; None where nothing is."""
    try:
        signature.bind(*given, **named)
    except TypeError:
        pass
    else:
        return None
    known = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    places = [p for p in known if p.kind is not p.KEYWORD_ONLY]
    here = {p.name for p in places[: len(given)]} | {*named}
    missing = [p.name for p in known if p.default is p.empty and p.name not in here]
    unknown = [name for name in named if name not in signature.parameters]
    if unknown:
        return f"knows no {' and no '.join(unknown)}"
    if missing:
        return f"needs {' and '.join(missing)}"
    return "was given an argument twice, or more of them than have a place; name them"
