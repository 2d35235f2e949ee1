"""Where a result goes: to the terminal or a file, as a table, CSV, JSON or Parquet, and as a picture."""

from __future__ import annotations

import csv
import datetime
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.canvas import check_ending, check_installed, save
from discreet.cli.files import check_place, replace_file
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow
    from matplotlib.axes import Axes


class Format(StrEnum):
    """How a result is written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


_ENDINGS = {"": Format.table, "txt": Format.table, "csv": Format.csv, "json": Format.json, "parquet": Format.parquet}

FormatOption = Annotated[Format | None, typer.Option(help="How to write it; by the ending of --output unless told.")]
FileOption = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file; - is standard output.")]
PlotOption = Annotated[Path | None, typer.Option(help="Also draw it, as .png or .svg.")]
TitleOption = Annotated[str | None, typer.Option(help="What the picture is called.")]


@dataclass(frozen=True)
class Output:
    """The places of a result, checked before anything is paid for it."""

    format: Format
    file: Path | None
    plot: Path | None

    @classmethod
    def checked(cls, format: Format | None, file: Path | None, plot: Path | None) -> Output:
        """The format that was asked for, or the one of the file's ending; - is standard output."""
        file = None if file == Path("-") else file
        if format is None:
            ending = "" if file is None else file.suffix.lower().removeprefix(".")
            if ending not in _ENDINGS:
                raise ParameterError(f"{file} ends in none of {', '.join(_ENDINGS)[2:]}; rename it, or say --format.")
            format = _ENDINGS[ending]
        if format is Format.parquet and file is None:
            raise ParameterError("Parquet needs a file; add -o result.parquet.")
        for place in (file, plot):
            if place is not None:
                check_place(place)
        if plot is not None:
            check_ending(plot)
            check_installed()
        return cls(format, file, plot)

    def places(self, of: int = 1) -> list[Path]:
        """All files that are written for so many results."""
        return name_files(self.file, of if self.apart(of) else 1) + self.pictures(of)

    def pictures(self, of: int = 1) -> list[Path]:
        """The pictures among them."""
        return name_files(self.plot, of)

    def apart(self, of: int) -> bool:
        """Whether so many results need a file each."""
        return of > 1 and self.format in (Format.csv, Format.parquet)

    def write(
        self, texts: Mapping[Format, Callable[[], str]], table: Callable[[], pyarrow.Table], *, done: str = "", comfort: str = ""
    ) -> None:
        """Write the one form that was asked for; ``done`` is said after it, ``comfort`` where that fails."""
        if self.file is None:
            typer.echo(texts[self.format](), nl=False)
            return
        if self.format is Format.parquet:
            from pyarrow import parquet

            with replace_file(self.file, comfort) as new:
                parquet.write_table(table(), new)
        else:
            with replace_file(self.file, comfort) as new:
                new.write_text(texts[self.format](), encoding="utf-8", errors="replace", newline="")
        typer.echo(f"Wrote {self.file}.{done}", err=True)


def name_files(file: Path | None, of: int) -> list[Path]:
    """The files of so many results; none without a place.

    >>> print(*name_files(Path("ages.csv"), 2), *name_files(Path("ages.csv"), 1), *name_files(None, 3))
    ages-1.csv ages-2.csv ages.csv
    """
    if file is None or of == 1:
        return [] if file is None else [file]
    return [file.with_name(f"{file.stem}-{number}{file.suffix}") for number in range(1, of + 1)]


def as_csv(columns: Mapping[str, Sequence[object]]) -> str:
    """A header and a line for every row; missing values are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*([_spell(cell) for cell in column] for column in columns.values()), strict=True))
    return text.getvalue()


def in_json(columns: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """A dictionary for every row; days are texts, and what JSON has no number for is null."""
    return [{name: _plain(cell) for name, cell in zip(columns, row, strict=True)} for row in zip(*columns.values(), strict=True)]


def draw(picture: Callable[[], Axes], file: Path) -> None:
    """Draw where there need be no screen, and write it."""
    no_window()
    save(picture(), file)


def no_window() -> None:
    """Pictures go to files, also where there is no screen."""
    try:
        import matplotlib as mpl
    except ImportError:
        return  # the picture itself says what to install
    mpl.use("Agg")


def _spell(cell: object) -> object:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if isinstance(cell, datetime.date) else cell


def _plain(cell: object) -> object:
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
