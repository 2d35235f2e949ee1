"""`discreet demo`: a made-up hospital is asked a few questions, from the owner's file to a spent budget."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import BudgetExceeded, ParameterError

if TYPE_CHECKING:
    from discreet.curator.answer import Answer

__all__ = ["run"]

DRUGS = "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use"
WARDS = "SELECT ward, avg(debt) AS debt, median(length_of_stay) AS days FROM data GROUP BY ward"
DIAGNOSES = "SELECT diagnosis, count(*) AS n FROM data GROUP BY diagnosis ORDER BY n DESC LIMIT 5"


def run(
    lectures: Annotated[bool, typer.Option("--lectures", help="The lectures' worked examples instead.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the chart goes, as .png or .svg.")] = Path(
        "discreet-demo.png"
    ),
) -> None:
    """Ask a made-up hospital a few questions: preview, pay, repeat for free, run out of budget.

    Everything happens in a temporary folder; only a chart is left behind.
    """
    if lectures:
        from discreet.cli.demo.lectures import run as run_lectures

        run_lectures()
        return
    from discreet.canvas import check_ending
    from discreet.cli.files import check_place

    check_place(check_ending(output))
    with _own_folder() as folder:
        _tell(folder, output)


def _tell(folder: Path, output: Path) -> None:
    from discreet.cli.asking import open_curator
    from discreet.cli.demo.hospital import CONFIGURATION, PATIENTS, build

    file = build(folder)
    _say(f"A made-up hospital with about 20,000 visits of {PATIENTS:,} patients. Its owner wrote down what is public:")
    typer.echo("".join(f"  {line}\n" for line in CONFIGURATION.splitlines() if line.startswith(_SHOWN)).rstrip())
    with open_curator(file) as hospital:
        _ask("What would a count by drug use cost? A preview is free", DRUGS, "0.5")
        typer.echo(str(hospital.preview(DRUGS, epsilon=0.5)))
        _say("Ask it:")
        counts = hospital.sql(DRUGS, epsilon=0.5)
        typer.echo(_short(counts))
        again = hospital.sql(DRUGS, epsilon=0.5)
        same = "the same numbers" if again.rows() == counts.rows() else "other numbers"
        typer.echo(f"Asked again: {same}, {'free' if again.repeated else 'paid'}. Noise cannot be averaged away.")
        _ask("Means and medians of patients who may have many visits", WARDS, "1.2")
        wards = hospital.sql(WARDS, epsilon=1.2)
        typer.echo(_short(wards))
        _ask("Groups that nobody listed: a diagnosis is shown only if enough patients share it", DIAGNOSES, "0.8")
        typer.echo(_short(hospital.sql(DIAGNOSES, epsilon=0.8)))
        _ask("One question too many", "SELECT count(*) AS n FROM data", "3")
        try:
            hospital.sql("SELECT count(*) AS n FROM data", epsilon=3)
        except BudgetExceeded as refusal:
            typer.echo(f"Refused. {refusal}")
    _draw(wards, output)


_SHOWN = ("person", "rows", "groups", "epsilon", "delta", "ward", "diagnosis", "drug_use", "length_of_stay", "debt")


def _draw(answer: Answer, output: Path) -> None:
    from discreet.cli.output import draw

    try:
        draw(answer.plot, output)
    except ParameterError as missing:
        _say(str(missing))
    else:
        _say(f"Wrote a chart of debts and days to {output}. Now your own table: discreet init people.csv")


def _say(text: str) -> None:
    typer.secho(f"\n{text}", bold=True)


def _ask(text: str, sql: str, epsilon: str) -> None:
    _say(f"{text}:")
    typer.secho(f"  {sql}   -- epsilon {epsilon}", dim=True)


def _short(answer: Answer) -> str:
    """The table and what is left; how the noise was made is said by the preview."""
    from discreet.curator.rendering import left_of

    table = str(answer).split("\n\n")[0]
    return f"{table}\n{left_of(answer)}"


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; the ledger's witness stays inside it."""
    before = {name: os.environ.get(name) for name in ("XDG_STATE_HOME", "LOCALAPPDATA")}
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as folder:
        os.environ.update(dict.fromkeys(before, folder))
        try:
            yield Path(folder)
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
