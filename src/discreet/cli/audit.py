"""`discreet audit`: try to refute what a function claims about its privacy."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from discreet.cli.files import check_place, protect, replace_file
from discreet.cli.loading import code_for, find_named, guard, load, script_for, split
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.auditor.cases import Case
    from discreet.privacy import Privacy
    from discreet.schema.table import Schema

VIOLATED, UNDECIDED = 1, 2

_SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}


class Format(StrEnum):
    """How the report is shown."""

    text = "text"
    json = "json"


def run(
    target: Annotated[str, typer.Argument(help="A function of one input, such as count.py::noisy_count.", show_default=False)],
    claim: Annotated[str, typer.Option(help="What is claimed: epsilon=1, epsilon=1,delta=1e-6, rho=0.5 or mu=1.")],
    time: Annotated[str, typer.Option(help="How long to try, such as 60s, 5m or 1h.")] = "60s",
    draws: Annotated[
        int, typer.Option(help="How many draws an audit of one pair takes on each side at most: the same work on any machine.")
    ] = 1_000_000,
    pairs: Annotated[
        str | None,
        typer.Option(
            help="Neighbouring inputs: a list of (a, b), or a function that returns it; `pairs` of the file unless told."
        ),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="An owner's file, such as hospital.toml: neighbours are made from its columns and unit.")
    ] = None,
    error: Annotated[float, typer.Option(help="The chance to refute a claim that is true.")] = 0.05,
    floats: Annotated[
        str, typer.Option(help="check the low bits of floating-point numbers, in which naive noise leaks, or ignore them.")
    ] = "check",
    format: Annotated[Format, typer.Option(help="A text to read, or JSON.")] = Format.text,
    html: Annotated[Path | None, typer.Option(help="Also write a page with the trade-off curve and a script.")] = None,
) -> None:
    """Try to refute what a function claims: replay it exactly on neighbours, then draw samples for the rest of the time.

    With --schema the function is given Arrow tables, otherwise whatever the pairs hold. All of them should be made up: they
    are shown. The function is run many thousand times, so it must pay from no real budget.

    Examples:

      discreet audit count.py::noisy_count --claim epsilon=1

      discreet audit count.py::noisy_count --claim epsilon=1,delta=1e-6 --pairs cases.py::neighbours --time 5m --html audit.html

      discreet audit report.py::release --claim rho=0.5 --schema hospital.toml --format json

      discreet audit count.py::noisy_mean --claim epsilon=1 --floats ignore

    Exit codes: 0 not refuted, 1 violated, 2 refused, cannot be audited, or stopped by hand before it was through.
    """
    from discreet.auditor.examine import examine

    terms, seconds = _claim(claim), _seconds(time)
    if html is not None:
        check_place(html)
    file, name = split(target)
    if pairs is not None and pairs.isidentifier():
        pairs = f"{file}::{pairs}"  # a name alone is one of the same file
    if html is not None:
        protect(html, file, *([] if schema is None else [schema]), *([] if pairs is None else [split(pairs)[0]]))
    module = load(file)
    function = find_named(module, file, name)
    if not callable(function):
        raise ParameterError(f"{target} is not a function; name a function of one input.")
    facts, cases = _cases(file, module, pairs, schema)
    with _progress(float(seconds)) as tell:
        report = examine(
            function,
            cases,
            **terms,  # type: ignore[arg-type]
            draws=draws,
            seconds=seconds,
            error=error,
            floats=floats,
            schema=facts,
            name=target,
            source=script_for((file, name), *([] if pairs is None else [split(pairs)[0]])),
            tell=tell,
        )
    typer.echo(report.to_json() if format is Format.json else str(report))
    if html is not None:
        from discreet.auditor.page import render_page

        with replace_file(html) as new:
            new.write_text(render_page(report), encoding="utf-8")
        typer.echo(f"Wrote {html}.", err=True)
    if report.outcome != "not refuted":
        raise typer.Exit(VIOLATED if report.violated else UNDECIDED)


def _claim(text: str) -> dict[str, Decimal | Privacy]:
    """The arguments of an audit."""
    from discreet.privacy import gdp, zcdp

    terms: dict[str, Decimal] = {}
    for part in text.split(","):
        name, _, number = (word.strip() for word in part.partition("="))
        if name in terms:
            raise ParameterError(f"{text} says {name} twice; leave one of them out.")
        try:
            terms[name] = Decimal(number)
        except InvalidOperation:
            terms[""] = Decimal(0)
    if set(terms) in ({"epsilon"}, {"epsilon", "delta"}):
        return dict(terms)
    if set(terms) == {"rho"}:
        return {"privacy": zcdp(terms["rho"])}
    if set(terms) == {"mu"}:
        return {"privacy": gdp(terms["mu"])}
    raise ParameterError(f"{text} is no claim; write epsilon=1, epsilon=1,delta=1e-6, rho=0.5 or mu=1.")


def _seconds(text: str) -> Decimal:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", text.strip())
    if not found or not Decimal(found[1]):
        raise ParameterError(f"{text} is no time; write 60s, 5m or 1h.")
    return Decimal(found[1]) * _SECONDS[found[2] or "s"]


def _cases(file: Path, module: ModuleType, pairs: str | None, schema: Path | None) -> tuple[Schema | None, list[Case]]:
    from discreet.auditor.cases import make_cases, read_pairs, read_schema

    if schema is not None:
        if pairs is not None:
            raise ParameterError("Neighbours come from --schema or from --pairs; leave one of them out.")
        facts = read_schema(schema)
        return facts, make_cases(facts)
    if pairs is None and not hasattr(module, "pairs"):
        raise ParameterError(
            f"An audit compares neighbouring inputs, and {file} has none; write pairs = [([1, 2], [1])] in it, "
            "or add --pairs cases.py::pairs or --schema hospital.toml."
        )
    place, name = (file, "pairs") if pairs is None else split(pairs)
    found = find_named(module if place == file else load(place), place, name)
    code = code_for(place, name, beside=file)
    with guard(f"{name} of {place} cannot be used"):
        if callable(found):
            found, code = found(), f"{code}()"
        found = list(found) if isinstance(found, Iterator) else found
    return None, read_pairs(found, code)


@contextlib.contextmanager
def _progress(seconds: float) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal; nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    done, started = threading.Event(), time.monotonic()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with (
        _own_stderr() as screen,
        Progress(*columns, console=Console(file=screen), transient=True, redirect_stdout=False, redirect_stderr=False) as bar,
    ):
        task = bar.add_task("Auditing", total=seconds)

        def watch() -> None:
            while not done.wait(0.1):
                bar.update(task, completed=min(seconds, time.monotonic() - started))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield lambda text: bar.update(task, description=text)
        finally:
            done.set()
            watcher.join()


@contextlib.contextmanager
def _own_stderr() -> Iterator[TextIO]:
    """The terminal, also while the audited function's output is swallowed: descriptor 2 then leads nowhere."""
    try:
        copy = os.dup(sys.stderr.fileno())
    except (OSError, io.UnsupportedOperation, AttributeError):
        yield sys.stderr
        return
    with os.fdopen(copy, "w", encoding=sys.stderr.encoding, errors="replace") as screen:
        yield screen
