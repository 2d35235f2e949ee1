"""Pictures: every one returns its axes, is labelled, shows what it says, and can be written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from support.refusals import refused

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy, plots
from discreet.privacy.losses import BoundedRange, Laplace

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes

LAPLACE = Privacy.of(Laplace(Fraction(1)))
GUARANTEES = {
    "Laplace": LAPLACE,
    "10 Laplace": 10 * LAPLACE,
    "pure": dp.pure(1),
    "100 pure": 100 * dp.pure(0.1),
    "leak": dp.approximate(0, 1e-6),
    "approximate": 3 * dp.approximate(1, 1e-6),
    "Gaussian": dp.gdp(1),
    "sampled": 100 * dp.gdp(1).sampled(0.01),
    "bounded range": Privacy.of(BoundedRange(Fraction(1))),
    "nothing": Privacy(),
}
MOMENTS = {"zcdp": dp.zcdp(0.5), "renyi": dp.renyi({2: 0.1, 8: 0.5})}
PICTURES: dict[str, Callable[..., Axes]] = {
    **{f"loss of {name}": lambda p=p, **o: p.plot("loss", **o) for name, p in GUARANTEES.items()},
    **{f"delta of {name}": lambda p=p, **o: p.plot("delta", **o) for name, p in (GUARANTEES | MOMENTS).items()},
    **{f"trade-off of {name}": lambda p=p, **o: p.plot("tradeoff", **o) for name, p in (GUARANTEES | MOMENTS).items()},
    "loss with a mark": lambda **o: dp.gdp(1).plot("loss", epsilon=2, **o),
    "two Laplace": lambda **o: plots.plot_two_laplace(1, **o),
    "composition of pure": lambda **o: plots.plot_composition(0.1, 1000, **o),
    "composition of Gaussians": lambda **o: plots.plot_composition(dp.gdp(0.1), [1, 10, 100], 1e-5, **o),
    "composition of leaks": lambda **o: plots.plot_composition(dp.approximate(0.1, 1e-9), 50, **o),
    "composition of zcdp": lambda **o: plots.plot_composition(dp.zcdp(0.01), 50, **o),
}


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    pyplot.close("all")


def panels(ax: Axes) -> list[Axes]:
    return [*ax.child_axes] or [ax]


def line(ax: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)


@pytest.mark.spread(28)
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())
def test_every_picture(draw: Callable[..., Axes], tmp_path: Path) -> None:
    """Axes, a title, labels, something drawn inside; and no warning on the way, layout and fonts included."""
    ax = draw()
    assert isinstance(ax, Axes)
    assert ax.get_title(loc="left")
    for panel in panels(ax):
        assert panel.get_ylabel()
        assert panel.lines or panel.collections
    assert panels(ax)[-1].get_xlabel()
    file = plots.save(ax, tmp_path / "picture.png")
    assert file.read_bytes().startswith(b"\x89PNG")


def test_the_caller_s_axes_are_used() -> None:
    figure, all_axes = pyplot.subplots(2, 2, layout="constrained")
    for ax, draw in zip(
        all_axes.ravel(),
        [PICTURES["loss of Laplace"], PICTURES["two Laplace"], PICTURES["trade-off of pure"], PICTURES["composition of pure"]],
        strict=True,
    ):
        assert draw(ax=ax) is ax
    assert len(pyplot.get_fignums()) == 1
    figure.draw_without_rendering()


def test_the_delta_curve_is_the_certified_one() -> None:
    x, y = line(dp.gdp(1).plot(), "discreet, certified")
    for epsilon, delta in list(zip(x.tolist(), y.tolist(), strict=True))[::8]:
        assert delta == dp.gdp(1).delta(epsilon)
    _, crude = line(dp.gdp(1).plot(), "through zCDP")
    assert np.all(crude >= y)


def test_the_tradeoff_curve_is_a_lower_bound() -> None:
    """Never above the truth, 1 - mu is exact for the Gaussian, and not far below."""
    from scipy.stats import norm

    x, y = line(dp.gdp(1).plot("tradeoff"), "best possible attacker")
    truth = norm.cdf(norm.ppf(1 - x) - 1)
    assert np.all(y <= truth + 1e-12)
    assert np.all(y >= truth - 0.01)


def test_the_lecture_s_composition() -> None:
    """basic k epsilon, advanced epsilon sqrt(2 k ln(1/delta)) + k epsilon (e^epsilon - 1), and ours below both."""
    ax = plots.plot_composition(0.1, [10, 100, 1000], 1e-6)
    k, basic = line(ax, "basic composition")
    _, advanced = line(ax, "advanced composition")
    _, ours = line(ax, "discreet, certified")
    assert basic == pytest.approx(0.1 * k)
    assert advanced == pytest.approx(0.1 * np.sqrt(2 * k * np.log(1e6)) + k * 0.1 * np.expm1(0.1))
    assert np.all(ours <= np.minimum(basic, advanced) * (1 + 1e-9))
    assert ours[1] == (100 * dp.pure(0.1)).epsilon(1e-6)


def test_the_lecture_s_loss_picture() -> None:
    """Atoms at both ends with their probabilities written beside them, and the mean 1/e."""
    ax = LAPLACE.plot("loss")
    stems = next(other for other in ax.figure.axes if other is not ax)
    assert [text.get_text() for text in stems.texts] == ["0.184", "0.5"]
    assert "mean 0.368" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_both_readings_in_one_picture() -> None:
    legend = [text.get_text() for text in dp.gdp(1).plot("loss", epsilon=1).get_legend().get_texts()]
    assert "ε = 1: P[L > ε] = 0.31, δ(ε) = 0.13" in legend


def test_svg_names_no_host_and_is_reproducible(tmp_path: Path) -> None:
    files = [plots.save(LAPLACE.plot("loss"), tmp_path / f"{name}.svg") for name in "ab"]
    text = files[0].read_text()
    assert text == files[1].read_text()
    assert "<svg" in text
    for place in ("https://", "matplotlib.org", "purl.org", "creativecommons"):
        assert place not in text
    assert text.count("http://") == text.count("http://www.w3.org/")


def test_the_picture_of_the_readme_is_small_and_names_no_host() -> None:
    file = Path(__file__).parents[2] / "docs" / "pictures" / "loss.svg"
    text = file.read_text()
    assert file.stat().st_size <= 150_000
    assert text.count("http://") == text.count("http://www.w3.org/")
    assert "https://" not in text


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(lambda: dp.gdp(1).plot(), ParameterError, 'pip install "discreet[plot]"')


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: dp.gdp(1).plot("pie"), "no plot of kind 'pie'"),
        (lambda: dp.zcdp(1).plot("loss"), "names no loss distribution"),
        (lambda: plots.plot_composition(0.1, 0), "number of uses"),
        (lambda: plots.plot_composition(0.1, []), "counts"),
        (lambda: plots.plot_composition(-1, 10), "epsilon"),
        (lambda: plots.plot_composition(0.1, 10, 0), "delta"),
        (lambda: plots.plot_two_laplace(0), "epsilon"),
        (lambda: plots.check_ending("picture.bmp"), "does not end in .png or .svg"),
    ],
)
def test_refusals(draw: Callable[[], Any], words: str) -> None:
    refused(draw, ParameterError, words)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    refused(lambda: plots.save(dp.gdp(1).plot(), tmp_path / "nowhere" / "a.png"), ParameterError, "cannot be written")
