"""Tables and numbers as people read them."""

from __future__ import annotations

import datetime
import math
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.display import clean, decimals, figure, html_table, label, text_table


def test_columns_are_aligned_also_with_wide_signs() -> None:
    shown = text_table(["region", "n"], [["日本", "1"], ["u\u0308ber", "23"]], "<>")
    assert shown.splitlines() == ["region   n", "------  --", "日本     1", "u\u0308ber    23"]


def test_long_cells_are_cut() -> None:
    shown = text_table(["a", "b"], [["x" * 1000, "y"], ["日" * 1000, "z"]])
    assert shown.splitlines()[2] == "x" * 59 + "…  y"
    assert shown.splitlines()[3] == "日" * 29 + "…   z"


@given(st.lists(st.lists(st.text(max_size=80), min_size=3, max_size=3), max_size=4))
@settings(deadline=None)
def test_no_cell_adds_a_line_or_a_tag(rows: list[list[str]]) -> None:
    assert len(text_table(["a", "b", "c"], rows, ">").split("\n")) == 2 + len(rows)
    page = html_table(["a", "b", "c"], rows, notes=["d"])
    assert page.count("<") == page.count("</") * 2 == 2 * (1 + 1 + 1 + 1 + 3 + 1 + 4 * len(rows) + 1)


@given(st.text(st.characters()))
def test_clean_texts_steer_no_terminal(text: str) -> None:
    shown = clean(text)
    assert len(shown) == len(text)
    assert not {unicodedata.category(sign) for sign in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert all(a == b for a, b in zip(text, shown, strict=True) if a.isprintable())


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e9))
def test_figures_are_as_good_as_their_error(value: float, error: float) -> None:
    """What is shown is off by at most a twentieth of the error, or half a unit where nothing below a unit is shown."""
    places = decimals(error)
    assert places is not None
    shown = float(figure(value, places).replace(",", ""))
    assert abs(shown - value) <= max(0.06 * error, 0.5 if not places else 0) + 1e-15 * abs(value)


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (1234567, 2, "1,234,567"),
        (-1234.5, 0, "-1,234"),
        (-0.01, 1, "0.0"),
        (math.inf, 2, "inf"),
        (-math.inf, None, "-inf"),
        (1e300, 2, "1.000000e+300"),
        (10**5000, None, "1.000000e+5000"),
        (Fraction(1, 3), 3, "0.333"),
        (1234567.8, None, "1,234,568"),
    ],
    ids=["whole", "half to even", "no minus zero", "inf", "minus inf", "large", "endless", "fraction", "plain"],
)
def test_figures(value: float, places: int | None, text: str) -> None:
    assert figure(value, places) == text


def test_errors_without_size_say_nothing_about_digits() -> None:
    assert decimals(0.0) is None
    assert decimals(math.inf) is None
    assert decimals(math.nan) is None
    assert decimals(1e-300) == 12


def test_labels() -> None:
    assert label(datetime.date(2026, 1, 31)) == "2026-01-31"
    assert label("a\nb") == "a\N{REPLACEMENT CHARACTER}b"
    assert label(10**5000) == "1" + "0" * 5000
    assert label(0.1) == "0.1"
    assert label(False) == "false"
