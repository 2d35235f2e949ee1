"""Every public function and constructor answers a wrong call with a sentence: missing, unknown, or arguments of any kind."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from contract.refusals import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot

import discreet as dp
from discreet.errors import DiscreetError, ParameterError

# What tasks, curators and other functions make, and nobody calls: their parts are not plain values.
RESULTS = {"Amplified", "Batch", "Collector", "Estimate", "Filter", "Neighbours", "Report", "Sensitivity"}


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    rooms = [dp.local, dp.filters, dp.formulas, dp.calibrate, dp.sensitivity, dp.plots]
    names = [(dp, name) for name in dir(dp)] + [(room, name) for room in rooms for name in room.__all__]
    for room, name in names:
        found = getattr(room, name)
        if callable(found) and name not in RESULTS:
            yield f"{room.__name__.removeprefix('discreet.')}.{name}", found


PUBLIC = dict(public())
WITHOUT_ARGUMENTS = {"Budget", "category", "count", "persons", "rows", "boolean", "text", "Privacy", "histogram"}
every = pytest.mark.parametrize("name", PUBLIC)

JUNK: list[Any] = [None, 0, -1, 1.5, float("nan"), float("inf"), True, "x", "", b"x", [], {}, [1, 2], {"a": 1}, object(), int]
JUNK += [Fraction(1, 3), 10**400, 1e-320, np.float32(0.1), np.array([1, 2]), 2 + 1j, ("a",), {1}, "2020-01-01"]


@every
def test_an_argument_that_there_is_not(name: str) -> None:
    message = refused(lambda: PUBLIC[name](surely_unknown=1), ParameterError, "write ")
    short = name.split(".")[-1]
    assert message.startswith(f"{short}() knows no surely_unknown") or name.endswith(".plot")
    assert f"write {short}(" in message or name.endswith(".plot")


@every
def test_no_arguments(name: str) -> None:
    short = name.split(".")[-1]
    if any(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in inspect.signature(PUBLIC[name]).parameters.values()):
        message = refused(PUBLIC[name], ParameterError, f"{short}() needs ", f"write {short}(")
        example = message.split("; write ")[1].removeprefix(short).rstrip(".")
        assert example.startswith("(")
        assert example.endswith(")")
    else:
        assert short in WITHOUT_ARGUMENTS


@every
def test_more_arguments_than_there_are(name: str) -> None:
    refused(lambda: PUBLIC[name](*[object()] * 14), DiscreetError)


@every
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_arguments_of_any_kind(name: str, data: st.DataObject) -> None:
    """They are taken, or refused by discreet; nothing else is raised."""
    if name == "discreet.audit":  # runs its function in processes of its own
        return
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    named = {p.name: data.draw(st.sampled_from(JUNK)) for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    given_ = data.draw(st.sets(st.sampled_from(sorted(named)))) if named else set()
    named = {key: value for key, value in named.items() if key in given_}
    more = data.draw(st.lists(st.sampled_from(JUNK), max_size=2)) if any(p.kind is p.VAR_POSITIONAL for p in parameters) else []
    with contextlib.suppress(DiscreetError):
        PUBLIC[name](*more, **named)
    pyplot.close("all")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


def test_a_type_error_of_somebody_elses_stays_one() -> None:
    with pytest.raises(TypeError, match="mine"):
        dp.calibrate.noise(_broken, epsilon=1)


def _broken(_: float) -> Any:
    raise TypeError("mine")


@pytest.mark.parametrize("verb", ["sql", "preview", "batch", "preview_batch", "where", "choose"])
def test_questions_without_a_question(verb: str, tmp_path: Path) -> None:
    hospital = dp.Curator(
        pa.table({"age": [1, 2]}),
        unit=dp.rows(),
        columns={"age": dp.integer(0, 120)},
        budget=dp.Budget(epsilon=1),
        ledger=tmp_path / "l.ledger",
    )
    refused(getattr(hospital, verb), ParameterError, f"{verb}() needs ", f"write {verb}(")
    if verb not in ("where", "choose"):
        refused(
            lambda: getattr(hospital, verb)("SELECT count(*) AS n FROM data", 0.5), ParameterError, "name them", "epsilon=0.5"
        )
