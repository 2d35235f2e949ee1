"""The commands that ask a curator: `discreet preview`, `query`, `budget` and `check`."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import asking
from discreet.cli.asking import Accuracy, AtLeast, Configuration, Delta, Epsilon, Questions, Rho
from discreet.cli.files import protect
from discreet.cli.output import FileOption, Format, FormatOption, Output, PlotOption, TitleOption, as_csv, draw, in_json
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.curator import Curator
    from discreet.curator.answer import Answer
    from discreet.ledger import Entry
    from discreet.plan.expressions import Value
    from discreet.privacy.account import Account
    from discreet.privacy.budget import Amount

INTERRUPTED = 130
_PATIENCE = 0.5  # seconds before a bar appears
_KEPT = " and ask again: the answer is kept, and free"


class _Shown(StrEnum):
    """How a preview or a budget is shown."""

    table = "table"
    json = "json"


_ShownOption = Annotated[_Shown, typer.Option("--format", help="A table to read, or JSON.")]


def preview(
    configuration: Configuration,
    questions: Questions,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    accuracy: Accuracy = None,
    at_least: AtLeast = None,
    shown: _ShownOption = _Shown.table,
) -> None:
    """Show what questions would cost and how far off their answers would be.

    It is free and looks at no data.

    Examples:

      discreet preview hospital.toml "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use" --epsilon 0.5

      discreet preview hospital.toml @question.sql --accuracy n=20
    """
    texts, goal = asking.read_questions(questions), asking.read_accuracy(accuracy)
    with asking.open_curator(configuration) as curator:
        foreseen = curator.preview_batch(texts, epsilon=epsilon, rho=rho, delta=delta, accuracy=goal, at_least=at_least)
    if shown is _Shown.json:
        typer.echo(json.dumps({"discreet": "preview", "version": 1, **asdict(foreseen)}))
    else:
        typer.echo(str(foreseen))


def query(
    configuration: Configuration,
    questions: Questions,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    accuracy: Accuracy = None,
    at_least: AtLeast = None,
    format: FormatOption = None,
    output: FileOption = None,
    plot: PlotOption = None,
    title: TitleOption = None,
) -> None:
    """Ask a question: it is paid for first, then answered with noise. Asked again, it is free.

    Examples:

      discreet query hospital.toml "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use" --epsilon 0.5

      discreet query hospital.toml "SELECT ward, avg(debt) AS debt FROM data GROUP BY ward" --epsilon 1 -o debt.csv

      discreet query hospital.toml @question.sql --accuracy n=20 --plot chart.png

      discreet query hospital.toml @wards.sql @ages.sql --epsilon 1 --format json

    Several questions share one cost evenly. As JSON they are one line each; as CSV, Parquet and pictures one file each:
    ages-1.csv and ages-2.csv for -o ages.csv.

    Exit code 3: the budget does not hold the question, and nothing was spent.
    """
    place, texts, goal = Output.checked(format, output, plot), asking.read_questions(questions), asking.read_accuracy(accuracy)
    apart = place.apart(len(texts))
    if apart and place.file is None:
        raise ParameterError("Several answers are no one table; add -o ages.csv for a file each, or write --format json.")
    if title is not None and plot is None:
        raise ParameterError("A title is for a picture; add --plot chart.png.")
    try:
        with asking.open_curator(configuration) as curator, _progress(curator):
            for written in place.places(len(texts)):
                protect(written, *asking.list_read(configuration, questions, curator))
            answers = curator.batch(texts, epsilon=epsilon, rho=rho, delta=delta, accuracy=goal, at_least=at_least)
    except KeyboardInterrupt:
        typer.echo("Interrupted. If it was being counted, the question is paid for: discreet budget --history says so.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    from discreet.curator.rendering import left_of

    files: list[tuple[Output, list[Answer]]] = [(place, answers)]
    if apart:
        each = zip(place.places(len(answers)), answers, strict=False)  # the pictures come after the files
        files = [(replace(place, file=file), [answer]) for file, answer in each]
    for where, some in files:
        where.write(
            _forms(some), some[0].to_arrow, done=f" {left_of(some[0])}." if some[-1] is answers[-1] else "", comfort=_KEPT
        )
    for picture, answer in zip(place.pictures(len(answers)), answers, strict=False):
        draw(partial(answer.plot, title=title), picture)
        typer.echo(f"Wrote {picture}.", err=True)


def budget(
    configuration: Configuration,
    history: Annotated[bool, typer.Option("--history", help="Also list the questions that were paid for.")] = False,
    shown: _ShownOption = _Shown.table,
) -> None:
    """Show how much of a budget is used, and what still fits.

    Examples:

      discreet budget hospital.toml

      discreet budget hospital.toml --history --format json
    """
    with asking.open_curator(configuration) as curator:
        account, entries = curator.budget, curator.history() if history else ()
        place, people = curator.ledger, curator.people
    if shown is _Shown.json:
        typer.echo(_account_json(account, entries if history else None, {"ledger": str(place), "people": people}))
        return
    typer.echo(f"Ledger: {place}{'' if people is None else f', the budget of {people}'}\n")
    typer.echo(str(account))
    if history:
        typer.echo(f"\n{entries}")


def check(configuration: Configuration, epsilon: Epsilon = None, rho: Rho = None) -> None:
    """Show which share of every column is missing, unlisted or clamped.

    Without a cost this is NOT PRIVATE: for the eyes of the data's owner. It shows coarse shares and declared names, no cell, and
    is never written to a file; the ledger notes that somebody looked, and answers say so if declarations change afterwards.

    With a cost it is a question like any other: noisy shares with intervals, paid for from the budget. Bounds that do not fit are
    found, for a price, by discreet bounds and discreet contributions.

    Examples:

      discreet check hospital.toml

      discreet check hospital.toml --epsilon 0.1
    """
    with asking.open_curator(configuration) as curator:
        typer.echo(str(curator.check(epsilon=epsilon, rho=rho)))


def _forms(answers: list[Answer]) -> dict[Format, Callable[[], str]]:
    return {
        Format.table: lambda: "\n\n".join(map(str, answers)) + "\n",
        Format.csv: lambda: as_csv(_columns(answers[0])),
        Format.json: lambda: "".join(map(_answer_json, answers)),
    }


def _columns(answer: Answer) -> dict[str, list[Value]]:
    from discreet.curator.exports import columns

    return {column.name: column.values for column in columns(answer)}


def _answer_json(answer: Answer) -> str:
    facts = {
        "discreet": "rows",
        "version": 1,
        "question": answer.question,
        "cost": answer.cost,
        "budget": None if isinstance(answer.left, str) else _amounts(answer.left),
        "repeated": answer.repeated,
        "parts": [list(part) for part in answer.parts],
        "remarks": list(answer.remarks),
        "rows": in_json(_columns(answer)),
    }
    return json.dumps(facts, allow_nan=False) + "\n"


@contextmanager
def _progress(curator: Curator) -> Iterator[None]:
    """A bar on a terminal while a long scan runs; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(curator, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(curator: Curator, done: threading.Event) -> None:
    if done.wait(_PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("Counting"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        while not done.wait(0.1):
            share = curator.progress()
            if share is not None:
                bar.update(task, total=1.0, completed=share)


def _account_json(account: Account, entries: Sequence[Entry] | None, whose: dict[str, str | None]) -> str:
    facts: dict[str, object] = {"discreet": "spending", "version": 1, **whose, "used": float(account.used)}
    facts |= _amounts(account)
    if entries is not None:
        facts["history"] = [
            {"number": one.number, "time": one.time, "state": one.state, "cost": one.asked, "question": one.question}
            for one in entries
        ]
    return json.dumps(facts)


def _amounts(account: Account) -> dict[str, dict[str, float | None]]:
    """Total, spent and remaining as numbers."""
    return {"total": _amount(account.total), "spent": _amount(account.spent), "remaining": _amount(account.remaining)}


def _amount(amount: Amount) -> dict[str, float | None]:
    return {"epsilon": amount.epsilon, "delta": amount.delta, "rho": amount.rho}
