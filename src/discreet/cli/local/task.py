"""`discreet local task`: what is asked, and how it is protected, as a file for clients and collectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.files import create
from discreet.cli.local.kinds import make, read_kind


def run(
    kind: Annotated[
        str,
        typer.Argument(
            callback=read_kind,
            help="frequencies: how common each answer is; bit: the share of yes; mean and distribution: of a number between "
            "bounds; heavy-hitters: the most common words, when nobody has a list; repeated: frequencies asked of the same "
            "people again and again; attributes: several tasks, of which each person answers one.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[float | None, typer.Option(help="What one report costs its sender.")] = None,
    domain: Annotated[
        str | None, typer.Option(help="frequencies, repeated: the answers, as dark,blond or 0..99 or @FILE with one a line.")
    ] = None,
    any_text: Annotated[
        bool, typer.Option("--any-text", help="frequencies: any text is an answer; collect with --candidates.")
    ] = False,
    max_bits: Annotated[int | None, typer.Option(help="frequencies: the longest report (1024 unless told).")] = None,
    lower: Annotated[float | None, typer.Option(help="mean, distribution: the least number.")] = None,
    upper: Annotated[float | None, typer.Option(help="mean, distribution: the largest number.")] = None,
    step: Annotated[float | None, typer.Option(help="mean: the finest difference that matters.")] = None,
    bins: Annotated[int | None, typer.Option(help="distribution: into how many parts (256 unless told).")] = None,
    length: Annotated[int | None, typer.Option(help="heavy-hitters: words are cut to so many symbols (8 unless told).")] = None,
    alphabet: Annotated[str | None, typer.Option(help="heavy-hitters: the characters of words (any bytes unless told).")] = None,
    most: Annotated[int | None, typer.Option(help="heavy-hitters: follow so many prefixes (100 unless told).")] = None,
    permanent: Annotated[float | None, typer.Option(help="repeated: what all reports about one value cost together.")] = None,
    values: Annotated[
        int | None, typer.Option(help="repeated: answer for so many different values of a person; all cost permanent each.")
    ] = None,
    of: Annotated[list[str] | None, typer.Option(help="attributes: a name and its task, as hair=hair.task.json.")] = None,
    missing: Annotated[
        str | None, typer.Option(help="The fate of other answers: refuse, random, or an answer of the task (refuse unless told).")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="frequencies, mean: a protocol by name; the best one unless told.")] = None,
    option: Annotated[list[str] | None, typer.Option(help="Any other option of a kind of task, as name=value.")] = None,
    question: Annotated[str, typer.Option(help="The question, in words.", show_default=False)] = "",
    period: Annotated[str, typer.Option(help="When it is asked, such as 2026-03.", show_default=False)] = "",
    people: Annotated[int | None, typer.Option(help="Say what to expect when so many people report.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file, which must be new.")] = None,
) -> None:
    """Write a task: the question, the answers, the protocol and its epsilon, for clients and collectors to share.

    Its hash is in every report, and a collector refuses reports of any other task; so a task is never changed, only replaced.

    Examples:

      discreet local task frequencies --domain dark,blond,brown,red --epsilon 1 -o hair.task.json

      discreet local task frequencies --domain 0..9999 --epsilon 2 --missing random --people 100000 -o postcode.task.json

      discreet local task bit --epsilon 1 --question "Did you ever take illegal drugs?" -o drugs.task.json

      discreet local task mean --lower 0 --upper 15 --step 1 --epsilon 1 -o skipped.task.json

      discreet local task heavy-hitters --epsilon 4 --length 6 -o emoji.task.json

      discreet local task repeated --domain good,bad --epsilon 0.5 --permanent 2 --values 2 -o mood.task.json

      discreet local task attributes --of hair=hair.task.json --of skipped=skipped.task.json -o both.task.json
    """
    own = {"domain": domain, "any_text": any_text or None, "max_bits": max_bits, "missing": missing, "protocol": protocol}
    numbers = {"lower": lower, "upper": upper, "step": step, "bins": bins}
    words = {"length": length, "alphabet": alphabet, "most": most}
    several = {"epsilon": epsilon, "permanent": permanent, "values": values, "of": of or None}
    made = make(kind, question, period, {**own, **numbers, **words, **several}, option or [])
    text, expected = made.to_json() + "\n", None if people is None else str(made.plan(people))
    if output is None or output == Path("-"):
        typer.echo(text, nl=False)
    else:
        create(output, text, ", and a task that may be in use is not overwritten")
        typer.echo(f"Wrote {output}: {made.protocol.name}, epsilon {float(made.epsilon):.6g} a report.", err=True)
    if expected is not None:
        typer.echo(expected, err=True)
