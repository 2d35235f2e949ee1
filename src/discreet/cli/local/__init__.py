"""`discreet local`: people randomise their own answers, and a collector learns about all of them."""

from __future__ import annotations

import typer

from discreet.cli.local import collect, estimate, randomize, task

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)
app.command("task")(task.run)
app.command("randomize")(randomize.run)
app.command("collect")(collect.run)
app.command("estimate")(estimate.run)


@app.callback()
def _about() -> None:
    """Ask people who trust nobody: everybody randomises their own answer before it is sent.

    A survey in four steps:

      discreet local task frequencies --domain dark,blond,brown,red --epsilon 1 -o hair.task.json

      discreet local randomize hair.task.json answers.txt -o reports.jsonl

      discreet local collect hair.task.json reports.jsonl -o hair.state.json

      discreet local estimate hair.state.json
    """
