"""The tasks that the command line can write: all kinds that are registered, the parameters of their constructors as options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.local.files import read_list, read_task_file
from discreet.cli.local.values import TRUTHS
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.local.task import Task

_RANGE = re.compile(r"(-?[0-9]{1,15})\.\.(-?[0-9]{1,15})")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}")
_BOUNDS = "Between which bounds? Write discreet local task {kind} --lower 0 --upper 15."
_NEEDED = {  # what is said where one is missing, the first of them first
    "epsilon": "What may one report cost its sender? Write --epsilon 1.",
    "permanent": "What may all reports about one value cost together? Write --permanent 2, above --epsilon.",
    "values": "How many different values may a person have? Write --values 2; each costs --permanent.",
    "domain": "Which answers? Write --domain dark,blond,brown,red, or --any-text.",
    "lower": _BOUNDS,
    "upper": _BOUNDS,
}


def read_kind(text: str) -> str:
    """The name of a registered kind of task, with hyphens."""
    from discreet.local.task import KINDS

    names = [kind.replace(" ", "-") for kind in KINDS]
    if text not in names:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, names))}.")
    return text


def make(kind: str, question: str, period: str, options: dict[str, Any], more: list[str]) -> Task:
    """The task of these options; None stands for one that was not written. ``more`` are others, as name=value."""
    from discreet.local.task import KINDS
    from discreet.schema import text

    task = KINDS[kind.replace("-", " ")]
    parameters = inspect.signature(task).parameters
    given = {name: value for name, value in options.items() if value is not None}
    given |= {name: value for name, _, value in (one.partition("=") for one in more)}
    own = {"of" if name == "tasks" else name for name in parameters} | ({"any_text"} if "domain" in parameters else set())
    for name in given:
        if name not in own:
            raise ParameterError(f"--{name.replace('_', '-')} does not belong to discreet local task {kind}; leave it out.")
    if given.pop("any_text", None):
        given["domain"] = None if "domain" in given else text()
    if "tasks" in parameters:
        given["tasks"] = _members(given.pop("of", []))
    for name in [*_NEEDED, *parameters]:
        if name in parameters and parameters[name].default is inspect.Parameter.empty and given.get(name) is None:
            raise ParameterError(_NEEDED.get(name, f"{{kind}} needs {name}; write --option {name}=...").format(kind=kind))
    if isinstance(given.get("domain"), str):
        given["domain"] = _domain(given["domain"])
    for name, value in given.items():
        if isinstance(value, str):
            given[name] = _read(value, str(parameters[name].annotation), given.get("domain"))
    made: Callable[..., Task] = task
    return made(**{"question": question, "period": period, **given})


def _members(named: list[str]) -> dict[str, Task]:
    """The tasks of attributes, from their files."""
    pairs = [text.partition("=") for text in named]
    if len({name for name, _, _ in pairs}) < max(2, len(pairs)) or not all(file for _, _, file in pairs):
        raise ParameterError(
            "Attributes are two or more tasks by different names; write --of hair=hair.task.json --of age=age.task.json."
        )
    return {name.strip(): read_task_file(Path(file)) for name, _, file in pairs}


def _read(text: str, annotation: str, domain: object) -> object:
    """The value of a parameter of this type that a text spells (an ``Item`` is an answer), or the text where it spells none."""
    types = set(re.findall(r"\w+", annotation))
    whole = isinstance(domain, range) or (isinstance(domain, list) and isinstance(domain[0], int))
    if "bool" in types:
        return TRUTHS.get(text.lower(), text)
    if "Item" in types:
        return int(text) if whole and _WHOLE.fullmatch(text) else text
    try:
        return int(text) if "int" in types else float(text) if "Number" in types else text
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
