"""`discreet preview`: what a question would cost and how far off its answer would be. Free; no data is read."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from discreet.cli.asking import Accuracy, Configuration, Delta, Epsilon, Questions, Rho, accuracy_of, opened, texts_of

__all__ = ["Format", "run"]


class Format(StrEnum):
    """How it is shown."""

    table = "table"
    json = "json"


def run(
    configuration: Configuration,
    questions: Questions,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    accuracy: Accuracy = None,
    format: Annotated[Format, typer.Option(help="A table to read, or JSON.")] = Format.table,
) -> None:
    """Show what questions would cost and how far off their answers would be.

    It is free and looks at no data.

    Examples:

      discreet preview hospital.toml "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use" --epsilon 0.5

      discreet preview hospital.toml @question.sql --accuracy n=20
    """
    texts, goal = texts_of(questions), accuracy_of(accuracy)
    with opened(configuration) as curator:
        preview = curator.preview_batch(texts, epsilon=epsilon, rho=rho, delta=delta, accuracy=goal)
    if format is Format.json:
        typer.echo(json.dumps({"discreet": "preview", "version": 1, **asdict(preview)}))
    else:
        typer.echo(str(preview))
