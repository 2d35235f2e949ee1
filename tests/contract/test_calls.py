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
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot
from support.depth import deep
from support.refusals import refused

import discreet as dp
from discreet.errors import DiscreetError, ParameterError

# What tasks, curators and other functions make, and nobody calls: their parts are not plain values.
RESULTS = {
    "Amplified",
    "Attack",
    "Batch",
    "Bigrams",
    "Collector",
    "Estimate",
    "Filter",
    "Neighbours",
    "Report",
    "Sensitivity",
    "Substituted",
    "Terms",
    "WordEstimate",
}


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    rooms = [dp.local, dp.texts, dp.filters, dp.formulas, dp.calibrate, dp.sensitivity, dp.plots]
    names = [(dp, name) for name in dir(dp)] + [(room, name) for room in rooms for name in room.__all__]
    for room, name in names:
        found = getattr(room, name)
        if callable(found) and name not in RESULTS:
            yield f"{room.__name__.removeprefix('discreet.')}.{name}", found


PUBLIC = dict(public())
WITHOUT_ARGUMENTS = {"Budget", "Tokenizer", "category", "count", "persons", "rows", "boolean", "text", "Privacy", "histogram"}
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
@settings(max_examples=deep(15, 3), deadline=None)
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


def hospital(tmp_path: Path, **more: Any) -> dp.Curator:
    columns, place = {"age": dp.integer(0, 120)}, tmp_path / "l.ledger"
    return dp.Curator(pa.table({"age": [1]}), unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=1), ledger=place, **more)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda curator: curator.check(0.5), "write check(epsilon=0.1)"),
        (lambda curator: curator.check(epsilon=1, delta=1e-6), "check() knows no delta"),
        (lambda curator: curator.history(5), "write history()"),
        (lambda curator: curator.agg(n=dp.count()).release(0.5), "write release(epsilon=0.5)"),
        (lambda curator: curator.agg(n=dp.count()).preview(0.5), "write preview(epsilon=0.5)"),
        (lambda curator: curator.agg(n=dp.count()).having(), "having() needs condition"),
        (lambda curator: curator.agg(n=dp.count()).limit(), "limit() needs rows"),
        (lambda curator: curator.agg(n=dp.count()).order_by(), "order_by() needs of"),
        (lambda curator: curator.batch(5, epsilon=1), "A batch is a list"),
        (lambda curator: curator.batch(iter([]), epsilon=1), "A batch is a list"),
        (lambda curator: curator.preview_batch(None, epsilon=1), "A batch is a list"),
        (lambda curator: curator.batch([5], epsilon=1), "SELECT"),
    ],
)
def test_wrong_calls_of_a_curator(call: Callable[[dp.Curator], object], sentence: str, tmp_path: Path) -> None:
    curator = hospital(tmp_path)
    refused(lambda: call(curator), ParameterError, sentence)
    assert not curator.ledger.exists()


@pytest.mark.parametrize("public", [[1], 5, "regions.csv", {1: pa.table({"a": [1]})}])
def test_public_tables_have_names(public: object, tmp_path: Path) -> None:
    refused(lambda: hospital(tmp_path, public=public), ParameterError, "public={")


@pytest.mark.parametrize("memory", [5, "lots", "", "2", "0GB", "-1", "80%", "2GB; DROP", b"2GB", "٢GB"])
def test_memory_is_a_size(memory: object, tmp_path: Path) -> None:
    refused(lambda: hospital(tmp_path, memory=memory), ParameterError, 'memory="2GB"')


@pytest.mark.parametrize("memory", ["2GB", "500MB", "1.5 GiB", "0.5gb", "300000KB", "1TB"])
def test_sizes_that_the_engine_knows(memory: str, tmp_path: Path) -> None:
    assert len(hospital(tmp_path, memory=memory).sql("SELECT count(*) AS n FROM data", epsilon=0.1)) == 1


@pytest.mark.parametrize("parts", [1, "x", [1], [(1, 2)], [(dp.pure(1), 1)], ((dp.pure(1).parts[0][0], "1"),), {1: 2}])
def test_a_guarantee_is_made_of_losses(parts: Any) -> None:
    refused(lambda: dp.Privacy(parts=parts), ParameterError, "write pure(1)")
    assert dp.Privacy(parts=list(dp.pure(1).parts)) == dp.pure(1)
