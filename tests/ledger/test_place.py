"""Places: what an address is, which of two are the same ledger, and that no text of ours has its password."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.refusals import refused

from discreet.errors import ParameterError
from discreet.ledger.place import Address, key_of, recall, resolve, typed
from discreet.ledger.store import store_of

SAME = [
    "postgresql://db.clinic/research?ledger=patients",
    "postgresql://DB.Clinic/research?ledger=discreet.patients",
    "postgresql://ann@db.clinic/research?ledger=patients",
    "postgresql://ann:secret@db.clinic/research?sslmode=require&ledger=patients",
    "postgresql://db.clinic/research?user=bob&password=secret&ledger=patients",
    "postgresql:///research?host=db.clinic&ledger=patients",
    "postgresql://db.clinic/?dbname=research&ledger=patients",
]
OTHER = [
    "postgresql://db.clinic/research",
    "postgresql://db.clinic/research?ledger=staff",
    "postgresql://db.clinic/research?ledger=secret.patients",
    "postgresql://db.clinic/Research?ledger=patients",
    "postgresql://db.clinic:5433/research?ledger=patients",
    "postgresql:///research?service=clinic&ledger=patients",
    "postgresql:///?service=clinic&ledger=patients",
    "postgresql:///research?host=/run/Server&port=5433&ledger=patients",
    "postgresql://%2Frun%2Fserver/research?ledger=patients",
    "postgresql://[::1]:5432/research?ledger=patients",
    "postgresql:///research?host=one,two&port=5432,5433&ledger=patients",
    "postgresql://db.clinic/a%2Fb%40c?ledger=patients",
]


@pytest.mark.parametrize("url", [*SAME, *OTHER])
def test_an_address_is_known_again(url: str) -> None:
    place = resolve(url)
    assert isinstance(place, Address)
    assert (place == resolve(SAME[0]), hash(place) == hash(resolve(SAME[0]))) == (url in SAME, url in SAME)
    assert recall(key_of(place)) == resolve(str(place)) == resolve(place) == place
    assert str(resolve(str(place))) == str(place)
    assert key_of(recall(key_of(place))) == key_of(place)
    assert typed(place) == f'"{place}"'
    assert "ann" not in key_of(place)


def test_parts_are_what_was_written() -> None:
    place = Address.parse("postgresql://ann%40home:p%2F%3F%23%25+w@[::1]:5432/re%20search?sslmode=require&ledger=its.patients")
    assert (place.host, place.port, place.database, place.schema, place.name) == ("::1", "5432", "re search", "its", "patients")
    assert (place.user, place.options, place.secrets.reveal()) == ("ann@home", (("sslmode", "require"),), {"password": "p/?#%+w"})
    assert str(place) == "postgresql://ann%40home@[::1]:5432/re%20search?sslmode=require&ledger=its.patients"
    asked = Address.parse("postgresql://h/d?password=a+b&sslpassword=c")
    assert asked.secrets.reveal() == {"password": "a+b", "sslpassword": "c"}
    assert (asked.name, asked.options) == ("ledger", ())
    odd = Address.parse("postgresql://ann:p@ss@h/d")  # the last @ ends a password
    assert (odd.user, odd.secrets.reveal()["password"]) == ("ann", "p@ss")


@pytest.mark.parametrize("url", ["postgresql://ann:hushhush@h/d", "postgresql://ann@h/d?password=hushhush&sslpassword=hushhush2"])
def test_nothing_shows_a_password(url: str) -> None:
    place = resolve(url)
    assert isinstance(place, Address)
    for text in (
        str(place),
        repr(place),
        f"{place}",
        f"{place!r}",
        key_of(place),
        typed(place),
        str([place]),
        repr(place.secrets),
    ):
        assert "hush" not in text


WRONG = [
    "postgresql://ann:hush/x@db.clinic/research",  # a password with signs that were not written as %2F
    "postgresql://ann:12/x@db.clinic/research",
    "postgresql://ann:hush?x@db.clinic/research",
    "postgresql://ann:1?x=y@db.clinic/research",
    "postgresql://ann:hush#x@db.clinic/research",
    "postgresql://ann:hush%zz%ff@db.clinic/research",
    "postgresql://db.clinic",
    "postgresql://db.clinic/",
    "postgresql://",
    "postgresql:/db.clinic/research?ledger=patients",  # what pathlib makes of one
    "postgresql://db.clinic/research/patients",
    "postgresql://db.clinic:hush/research",
    "postgresql://[db.clinic/research",
    "postgresql://db.clinic/research?ledger=Patients",
    "postgresql://db.clinic/research?ledger=" + "x" * 41,
    "postgresql://db.clinic/research?ledger=a.b.c",
    "postgresql://db.clinic/research?ledger=a;drop",
    "postgresql://db.clinic/research?ledger",
    "postgresql://db.clinic/research?port=hush",
    "postgresql://db.clinic/re\nsearch",
]


@pytest.mark.parametrize("url", WRONG)
def test_what_is_no_address_is_refused_without_a_word_of_it(url: str) -> None:
    refused(lambda: resolve(url), ParameterError, "postgresql://user@host/database?ledger=patients", "%40", never="hush")


def test_other_schemes_are_refused() -> None:
    for url in ("mysql://h/d", "postgres://h/d", "https://h/d"):
        refused(lambda url=url: store_of(resolve(url)), ParameterError, "postgresql://", f"not at {url.partition('/')[0]}//")


def test_paths_stay_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve("x.ledger") == resolve(Path("x.ledger")) == Path(os.path.realpath("x.ledger"))
    assert recall(key_of(resolve("x.ledger"))) == resolve("x.ledger")
    assert isinstance(resolve("c:/x.ledger"), Path)  # a disk
    for odd in (7, None, b"\0", object()):
        refused(lambda odd=odd: resolve(odd), ParameterError, "named by a path")  # type: ignore[arg-type]
