"""The kinds of tasks that the command line can write, and which options belong to each."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.local.files import read_list, read_task_file
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.task import Task

_RANGE = re.compile(r"(-?[0-9]{1,15})\.\.(-?[0-9]{1,15})")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}")


class Kind(StrEnum):
    """What is asked."""

    frequencies = "frequencies"
    bit = "bit"
    mean = "mean"
    distribution = "distribution"
    heavy_hitters = "heavy-hitters"
    repeated = "repeated"
    attributes = "attributes"


_OPTIONS = {
    Kind.frequencies: {"epsilon", "domain", "any_text", "missing", "protocol", "max_bits"},
    Kind.bit: {"epsilon", "missing"},
    Kind.mean: {"epsilon", "lower", "upper", "step", "missing", "protocol"},
    Kind.distribution: {"epsilon", "lower", "upper", "bins", "missing"},
    Kind.heavy_hitters: {"epsilon", "length", "alphabet", "most", "missing"},
    Kind.repeated: {"epsilon", "permanent", "values", "domain", "missing"},
    Kind.attributes: {"of"},
}


def make(kind: Kind, question: str, period: str, options: dict[str, Any]) -> Task:
    """The task of these options; None stands for one that was not written."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in _OPTIONS[kind]:
            raise ParameterError(f"--{name.replace('_', '-')} does not belong to discreet local task {kind}; leave it out.")
    given |= {"question": question, "period": period}
    if kind is Kind.attributes:
        from discreet.local.tasks.attributes import Attributes

        return Attributes(_members(given.pop("of", [])), **given)
    if "epsilon" not in given:
        raise ParameterError("What may one report cost its sender? Write --epsilon 1.")
    if kind is Kind.repeated:
        from discreet.local.tasks.repeated import Repeated

        if "permanent" not in given:
            raise ParameterError("What may all reports about one value cost together? Write --permanent 2, above --epsilon.")
        if "values" not in given:
            raise ParameterError("How many different values may a person have? Write --values 2; each costs --permanent.")
        return Repeated(**_with_domain(given))
    if kind is Kind.frequencies:
        from discreet.local.tasks.frequencies import Frequencies

        return Frequencies(**_with_domain(given))
    if kind is Kind.bit:
        from discreet.cli.local.values import TRUTHS
        from discreet.local.tasks.frequencies import Bit

        return Bit(**_with_fate(given, lambda text: TRUTHS.get(text.lower(), text)))
    if kind is Kind.heavy_hitters:
        from discreet.local.tasks.heavy_hitters import HeavyHitters

        return HeavyHitters(**given)
    if not {"lower", "upper"} <= set(given):
        raise ParameterError(f"Between which bounds? Write discreet local task {kind} --lower 0 --upper 15.")
    from discreet.local.tasks.distribution import Distribution
    from discreet.local.tasks.mean import Mean

    return Mean(**_with_fate(given, _number)) if kind is Kind.mean else Distribution(**_with_fate(given, _number))


def _members(named: list[str]) -> dict[str, Task]:
    """The tasks of attributes, from their files."""
    pairs = [text.partition("=") for text in named]
    if len({name for name, _, _ in pairs}) < max(2, len(pairs)) or not all(file for _, _, file in pairs):
        raise ParameterError(
            "Attributes are two or more tasks by different names; write --of hair=hair.task.json --of age=age.task.json."
        )
    return {name.strip(): read_task_file(Path(file)) for name, _, file in pairs}


def _with_domain(given: dict[str, Any]) -> dict[str, Any]:
    from discreet.schema import text

    if ("domain" in given) == ("any_text" in given):
        raise ParameterError("Which answers? Write --domain dark,blond,brown,red, or --any-text.")
    domain = _domain(given["domain"]) if "domain" in given else text()
    numbers = isinstance(domain, range) or (isinstance(domain, list) and isinstance(domain[0], int))
    kept = {name: value for name, value in given.items() if name != "any_text"} | {"domain": domain}
    return _with_fate(kept, lambda fate: int(fate) if numbers and _WHOLE.fullmatch(fate) else fate)


def _with_fate(given: dict[str, Any], meaning: Callable[[str], object]) -> dict[str, Any]:
    return given | {"missing": meaning(given["missing"])} if "missing" in given else given


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _domain(text: str) -> list[str] | list[int] | range:
    """Whole numbers where all answers are such, else words."""
    between = _RANGE.fullmatch(text.strip())
    if between:
        return range(int(between[1]), int(between[2]) + 1)
    words = read_list(text)
    if not words:
        raise ParameterError("There are no answers in --domain; write --domain dark,blond,brown,red.")
    return [int(word) for word in words] if all(_WHOLE.fullmatch(word) for word in words) else words
