"""Names of columns, as questions and tables write them."""

from __future__ import annotations

import difflib

from discreet.errors import ParameterError


def find(name: str, names: tuple[str, ...]) -> str:
    """The name of a column as the table writes it: the same letters, or else the same letters in another case."""
    alike = [known for known in names if known == name] or [known for known in names if known.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise ParameterError(f"The table has several columns that could be {name}: {', '.join(alike)}; write one exactly.")
    near = difflib.get_close_matches(name, names, 3)  # not all names: the first line of a file without a header is data
    raise ParameterError(
        f"The table has no column {name}; {f'did you mean {near[0]}?' if near else 'write it as the table does.'}"
    )


def choose(wanted: tuple[str, ...] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that are asked for, or all, as the table writes them."""
    chosen = names if wanted is None else tuple(dict.fromkeys(find(name, names) for name in wanted))
    if not chosen or len({name.lower() for name in chosen}) < len(chosen):
        raise ParameterError("A table needs columns, and those that are asked for must differ in more than the case of letters.")
    return chosen


def check_names(names: tuple[str, ...]) -> None:
    """Refuse columns without a name of their own."""
    if len(set(names)) < len(names) or not all(names):
        raise ParameterError("Every column of the table needs a name of its own; rename those without, or with the same, name.")
