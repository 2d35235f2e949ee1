"""`discreet plot`: pictures of a guarantee, written as PNG or SVG. No data is involved."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import discreet as dp
from discreet.cli.files import protect, read_text
from discreet.cli.output import no_window
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Kind(StrEnum):
    """Which picture."""

    loss = "loss"
    delta = "delta"
    tradeoff = "tradeoff"
    composition = "composition"
    two_laplace = "two-laplace"


def run(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="loss: the law of the privacy loss; delta: δ(ε); tradeoff: an attacker's errors; composition: ε against the "
            "number of uses; two-laplace: a noisy count with and without one person.",
            show_default=False,
        ),
    ],
    pure: Annotated[float | None, typer.Option("--pure", "--epsilon", help="Pure differential privacy with this ε.")] = None,
    laplace: Annotated[float | None, typer.Option(help="Real-valued Laplace noise with this ε.")] = None,
    gaussian: Annotated[
        float | None, typer.Option("--gaussian", "--gaussian-mu", help="Gaussian noise with μ = sensitivity / σ.")
    ] = None,
    zcdp: Annotated[float | None, typer.Option(help="Zero-concentrated privacy with this ρ.")] = None,
    leak: Annotated[
        float | None, typer.Option(help="Total disclosure with this probability; together with --pure it is (ε, δ).")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="A guarantee that Privacy.to_json() wrote.")] = None,
    sampled: Annotated[float | None, typer.Option(help="Every use sees a fresh random sample of this rate.")] = None,
    times: Annotated[int, typer.Option(help="So many uses.")] = 1,
    counts: Annotated[int | None, typer.Option(help="composition: up to so many uses (1000 unless told).")] = None,
    delta: Annotated[float | None, typer.Option(help="composition: the δ at which ε is drawn (1e-6 unless told).")] = None,
    mark: Annotated[float | None, typer.Option(help="loss: mark the losses above this ε.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file, ending in .png or .svg (KIND.png unless told).")
    ] = None,
) -> None:
    """Draw a guarantee and write the picture to a file.

    A guarantee is one of --pure, --laplace, --gaussian, --zcdp, --leak or --json; --sampled and --times make a composition of it.

    Examples:

      discreet plot loss --laplace 1 -o loss.png

      discreet plot loss --gaussian 1 --mark 2

      discreet plot two-laplace --laplace 1 -o laplace.svg

      discreet plot delta --gaussian 1 --sampled 0.01 --times 1000

      discreet plot tradeoff --pure 0.1 --times 100

      discreet plot composition --pure 0.1 --counts 1000 --delta 1e-6
    """
    for option, value, owner in (
        ("--counts", counts, Kind.composition),
        ("--delta", delta, Kind.composition),
        ("--mark", mark, Kind.loss),
    ):
        if value is not None and kind is not owner:
            raise ParameterError(f"{option} belongs to discreet plot {owner}, not to {kind}; leave it out.")
    if kind is Kind.two_laplace and (laplace is None or sampled is not None or times != 1):
        raise ParameterError("Two Laplace distributions need an ε and nothing else; write discreet plot two-laplace --laplace 1.")
    one = _guarantee(pure, laplace, gaussian, zcdp, leak, json)
    one = one if sampled is None else one.sampled(sampled)
    file = output or Path(f"{kind}.png")
    from discreet.privacy import plots

    protect(plots.check_ending(file), *([] if json is None else [json]))
    no_window()
    if kind is Kind.composition:
        ax: Axes = plots.plot_composition(
            times * one, counts if counts is not None else 1000, delta if delta is not None else 1e-6
        )
    elif kind is Kind.two_laplace:
        ax = plots.plot_two_laplace(laplace)
    elif kind is Kind.loss:
        ax = plots.plot_loss(times * one, epsilon=mark)
    else:
        ax = plots.plot(times * one, kind)
    plots.save(ax, file)
    Console().print(f"Wrote {file}.", highlight=False, markup=False, soft_wrap=True)


def _guarantee(
    pure: float | None, laplace: float | None, gaussian: float | None, zcdp: float | None, leak: float | None, json: Path | None
) -> dp.Privacy:
    """The one guarantee that was asked for."""
    named = [value for value in (pure, laplace, gaussian, zcdp, json) if value is not None]
    if len(named) > 1 or (leak is not None and named and pure is None):
        raise ParameterError("Give one guarantee only (--leak may join --pure); write for example --gaussian 1.")
    if leak is not None:
        return dp.approximate(0 if pure is None else pure, leak)
    if pure is not None:
        return dp.pure(pure)
    if laplace is not None:
        return dp.Laplace(sensitivity=1.0, epsilon=laplace).privacy
    if gaussian is not None:
        return dp.gdp(gaussian)
    if zcdp is not None:
        return dp.zcdp(zcdp)
    if json is None:
        raise ParameterError(
            "Which guarantee? Write --pure 0.1, --laplace 1, --gaussian 1, --zcdp 0.5, --leak 1e-6 or --json FILE."
        )
    return dp.Privacy.from_json(read_text(json))
