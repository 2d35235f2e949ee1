"""`discreet local estimate`: what the reports say about all who sent one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.files import protect
from discreet.cli.local.files import read_state
from discreet.cli.output import FileOption, Format, FormatOption, Output, PlotOption, as_csv, draw, in_json
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.axes import Axes

    from discreet.local import Collector


def run(
    states: Annotated[
        list[Path], typer.Argument(help="States that discreet local collect wrote, of one task.", show_default=False)
    ],
    format: FormatOption = None,
    output: FileOption = None,
    plot: PlotOption = None,
) -> None:
    """Estimate from what was collected. This is free, as often as you like.

    The table shows 95 % intervals. CSV, JSON and Parquet hold everything with all digits, shares as fractions of 1.

    Examples:

      discreet local estimate hair.state.json

      discreet local estimate berlin.state.json paris.state.json --format json

      discreet local estimate hair.state.json -o hair.csv --plot hair.png
    """
    place = Output.checked(format, output, plot)
    for written in place.places():
        protect(written, *states)
    collector = read_state(states[0])
    for file in states[1:]:
        collector.merge(read_state(file))
    found = collector.estimate()
    texts = {
        Format.table: lambda: f"{found}\n",
        Format.csv: lambda: as_csv(_columns(found)),
        Format.json: lambda: _json(collector, found),
    }
    place.write(texts, lambda: _table(found))
    if plot is not None:
        draw(lambda: _picture(found), plot)
        typer.echo(f"Wrote {plot}.", err=True)


def _columns(found: object) -> dict[str, list[object]]:
    from discreet.local.results import Result

    if not isinstance(found, Result):
        raise ParameterError("Estimates of several attributes are no one table; write --format json or --format table.")
    return found.columns()


def _json(collector: Collector[object], found: object) -> str:
    """Rows, with how many reports they come from."""
    from discreet.local.results import Estimates

    task = collector.task
    facts: dict[str, object] = {"discreet": "local estimate", "version": 1, "task": task.hash, "epsilon": float(task.epsilon)}
    facts |= {"reports": collector.count, "refused": collector.refused}
    if isinstance(found, Estimates):
        facts["attributes"] = {name: in_json(_columns(part)) for name, part in found.items()}
    else:
        facts["rows"] = in_json(_columns(found))
    return json.dumps(facts, allow_nan=False) + "\n"


def _table(found: object) -> pyarrow.Table:
    """Answers of several types become texts."""
    import pyarrow

    columns = _columns(found)
    if len({type(item) for item in columns.get("item", [])}) > 1:
        columns["item"] = [str(item).lower() if isinstance(item, bool) else str(item) for item in columns["item"]]
    return pyarrow.table(columns)


def _picture(found: object) -> Axes:
    from discreet.local.results import Estimates, Result

    assert isinstance(found, (Estimates, Result))
    return found.plot() if isinstance(found, Result) else found.plot()[0]
