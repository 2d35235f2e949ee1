"""What commands that ask questions share: the file, the SQL, the cost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import read_text
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator import Curator

Configuration = Annotated[Path, typer.Argument(help="The owner's file, such as hospital.toml.", show_default=False)]
Questions = Annotated[
    list[str],
    typer.Argument(
        help="One SELECT over the table data, or @FILE that holds it. Several share one cost evenly.", show_default=False
    ),
]
Epsilon = Annotated[float | None, typer.Option(help="What to spend, of a budget with an epsilon.")]
Rho = Annotated[float | None, typer.Option(help="What to spend, of a budget with a rho.")]
Delta = Annotated[float | None, typer.Option(help="What private selection of open keys may spend of the budget's delta.")]
AtLeast = Annotated[float | None, typer.Option("--at-least", help="With --accuracy: how many rows every group surely has.")]
Accuracy = Annotated[
    list[str] | None,
    typer.Option(help="Instead of a cost: how far off an answer may be, 95 % of the time. A number, or for some outputs n=6."),
]


@contextmanager
def open_curator(configuration: Path) -> Iterator[Curator]:
    """The curator of a file; its warnings are sentences too."""
    from discreet.curator.configuration import open as open_file

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        curator = open_file(configuration)
    for warning in said:
        typer.echo(f"Warning: {warning.message}", err=True)
    with curator:
        yield curator


def read_questions(questions: list[str]) -> list[str]:
    """The questions themselves, or what is in the files after the @."""
    return [read_text(Path(text[1:])) if text.startswith("@") else text for text in questions]


def list_read(configuration: Path, questions: list[str], curator: Curator) -> list[str]:
    """All that a command reads, and must never write over: the owner's file, what it names, the ledger, files of questions."""
    from discreet.curator.configuration import read
    from discreet.curator.held import is_file

    facts, ledger = read(configuration), str(curator.ledger)
    given = facts["source"].values() if isinstance(facts["source"], dict) else [facts["source"]]
    sources = [source for source in given if is_file(source)]
    tables = [*sources, *(f"{source}.wal" for source in sources), *facts["public"].values()]  # a database has its log beside it
    ledgers = [ledger, f"{ledger}-wal", f"{ledger}-shm", f"{ledger}-journal"]
    return [str(configuration), *tables, *ledgers, *(text[1:] for text in questions if text.startswith("@"))]


def read_accuracy(given: list[str] | None) -> float | dict[str, float] | None:
    """A number for all outputs, or one by name."""
    if not given:
        return None
    pairs = [one.rpartition("=") for one in given]
    try:
        if len(pairs) == 1 and not pairs[0][1]:
            return float(pairs[0][2])
        if all(equal for _, equal, _ in pairs):
            return {name.strip(): float(number) for name, _, number in pairs}
    except ValueError:
        pass
    raise ParameterError(
        "An accuracy is a number, or a number for an output; write --accuracy 6, or --accuracy n=6 --accuracy debt=500."
    )
