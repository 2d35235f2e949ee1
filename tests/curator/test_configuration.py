"""The owner's file: exact numbers, paths beside it, and a sentence with the key's name for every mistake."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet import engine
from discreet.curator.configuration import read, skeleton
from discreet.errors import ParameterError
from discreet.privacy.budget import Budget
from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.units import person, rows

HOSPITAL = """\
version = 1
source = "hospital.parquet"
ledger = "books/hospital.ledger"
people = "patients of the clinic"
data_version = "2026-11"
[unit]
person = "patient_id"
rows = 8
groups = 3
[budget]
epsilon = 3
delta = 1e-6
[columns]
age = { type = "integer", lower = 0, upper = 120 }
debt = { type = "number", lower = 0, upper = 10_000_000, step = 0.01 }
drug_use = { type = "category", values = ["yes", "no"], missing = "no" }
grade = { type = "category", values = [1, 2, 3] }
admitted = { type = "date", lower = 2020-01-01, upper = 2026-12-31 }
note = { type = "text", missing = "" }
smoker = { type = "boolean" }
"blood group" = { type = "text" }
ordered = { type = "date", lower = 2020-01-01, upper = 2026-12-31, format = "%d.%m.%Y" }
amount = { type = "number", lower = 0, upper = 50, step = 0.5, decimal = "," }
pieces = { type = "integer", lower = 0, upper = 5000, decimal = "," }
[public.regions]
source = "regions.csv"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "hospital.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_everything_it_can_say(tmp_path: Path) -> None:
    facts = read(written(tmp_path, HOSPITAL))
    assert facts == {
        "source": str(tmp_path / "hospital.parquet"),
        "table": None,
        "ledger": str(tmp_path / "books/hospital.ledger"),
        "people": "patients of the clinic",
        "version": "2026-11",
        "unit": person("patient_id", rows=8, groups=3),
        "budget": Budget(epsilon=3, delta=Fraction(1, 10**6)),
        "columns": {
            "age": integer(0, 120),
            "debt": number(0, 10_000_000, step=Fraction(1, 100)),
            "drug_use": category("yes", "no", missing="no"),
            "grade": category(1, 2, 3),
            "admitted": date(datetime.date(2020, 1, 1), datetime.date(2026, 12, 31)),
            "note": text(missing=""),
            "smoker": boolean(),
            "blood group": text(),
            "ordered": date("2020-01-01", "2026-12-31", format="%d.%m.%Y"),
            "amount": number(0, 50, step=Fraction(1, 2), decimal=","),
            "pieces": integer(0, 5000, decimal=","),
        },
        "public": {"regions": str(tmp_path / "regions.csv")},
    }


def test_the_little_it_must_say(tmp_path: Path) -> None:
    lines = ["\ufeffversion = 1", 'source = "/data/visits/*.parquet"', 'table = "visits"']
    lines += ["[unit]", "rows = true", 'neighbours = "replace"', "size = 1000", "[budget]", "rho = 0.1"]
    lines += ["[columns]", "x = { type = 'number', lower = -0.3, upper = 0.3 }"]
    file = written(tmp_path, "\n".join(lines))
    facts = read(file)
    assert (facts["source"], facts["table"], facts["ledger"]) == ("/data/visits/*.parquet", "visits", None)
    assert facts["unit"] == rows(neighbours="replace", size=1000)
    assert facts["budget"] == Budget(rho=Fraction(1, 10))
    assert facts["columns"]["x"] == number(Fraction(-3, 10), Fraction(3, 10))
    assert facts["public"] == {}


@given(st.decimals(min_value=0, max_value=10**6, allow_nan=False, allow_infinity=False, places=9).filter(bool))
@settings(deadline=None, max_examples=examples(50))
def test_numbers_mean_their_decimals(tmp_path_factory: pytest.TempPathFactory, epsilon: object) -> None:
    folder = tmp_path_factory.mktemp("facts")
    file = written(folder, HOSPITAL.replace("epsilon = 3\ndelta = 1e-6", f"epsilon = {epsilon:f}"))
    assert read(file)["budget"].epsilon == Fraction(str(epsilon))


MISTAKES = {
    "version": ("version = 1", "version = 2", "write version = 1"),
    "no version": ("version = 1\n", "", "write version = 1"),
    "a true version": ("version = 1", "version = true", "write version = 1"),
    "top key": ("ledger =", "leger =", "unknown key leger (did you mean ledger?)"),
    "no source": ('source = "hospital.parquet"\n', "", 'write source = "hospital.parquet"'),
    "a number for a source": ('"hospital.parquet"', "7", 'write source = "hospital.parquet"'),
    "a number for a ledger": ('"books/hospital.ledger"', "7", 'write ledger = "hospital.ledger"'),
    "a number for people": ('"patients of the clinic"', "7", 'write people = "patients of the clinic"'),
    "a number for a version": ('"2026-11"', "11", 'write data_version = "2026-11"'),
    "no unit": ('[unit]\nperson = "patient_id"\nrows = 8\ngroups = 3\n', "", "there is no [unit]; say who is protected"),
    "unit key": ("groups = 3", "group = 3", "[unit] has an unknown key group (did you mean groups?)"),
    "no groups": ("groups = 3\n", "", "does not say groups"),
    "no person": ('person = "patient_id"\n', "", "[unit] without a person has an unknown key groups"),
    "neither": ('person = "patient_id"\nrows = 8\ngroups = 3', "rows = 8", "rows = true where every row is somebody"),
    "true rows of a person": ("rows = 8", "rows = true", "[unit]: rows must be a whole number"),
    "a person of no name": ('"patient_id"', "7", 'write person = "patient_id"'),
    "neighbours": ("groups = 3", 'groups = 3\nneighbours = "friends"', '[unit]: neighbours must be "add-remove"'),
    "unit is no table": ('[unit]\nperson = "patient_id"\nrows = 8\ngroups = 3\n', "unit = 7\n", "[unit] must hold keys"),
    "budget key": ("epsilon = 3", "epsilom = 3", "(did you mean epsilon?)"),
    "budget": ("epsilon = 3", "epsilon = -3", "[budget]: epsilon must be above 0"),
    "infinite budget": ("epsilon = 3", "epsilon = inf", "[budget]: epsilon must be finite"),
    "text for a budget": ("epsilon = 3", 'epsilon = "3"', "[budget]: epsilon must be a number"),
    "a number of a thousand digits": ("delta = 1e-6", "delta = 1e-999999999", "too large or too small"),
    "no type": ('type = "integer", ', "", "[columns] age has no type"),
    "a bare type": ('{ type = "boolean" }', '"boolean"', "[columns] smoker has no type"),
    "type": ('"integer"', '"integr"', "no type integr (did you mean integer?)"),
    "a number for a type": ('"integer"', "7", "no type 7"),
    "column key": ("upper = 120", "uper = 120", "[columns] age, which is integer, has an unknown key uper (did you mean upper?)"),
    "no bound": (", upper = 120", "", "[columns] age, which is integer, does not say upper"),
    "bounds": ("upper = 120", "upper = -1", "[columns] age: The lower bound"),
    "half an integer": ("upper = 120", "upper = 120.5", "[columns] age: The upper bound"),
    "step": ("step = 0.01", "step = 0", "[columns] debt: step must be above 0"),
    "no list": ('values = ["yes", "no"]', 'values = "yes"', "[columns] drug_use: values must be a list"),
    "empty list": ('values = ["yes", "no"], missing = "no"', "values = []", "[columns] drug_use: A category is a list"),
    "mixed list": ("[1, 2, 3]", "[1, 2.5]", "[columns] grade: A category is a list"),
    "nested list": ("[1, 2, 3]", "[[1], [2]]", "[columns] grade: A category is a list"),
    "day": ("lower = 2020-01-01", "lower = 2020", "[columns] admitted: lower must be a day"),
    "moment": ("lower = 2020-01-01", "lower = 2020-01-01T10:00:00", "[columns] admitted: lower must be a day"),
    "format": ('"%d.%m.%Y"', '"%d.%m.%y"', "[columns] ordered: format=%d.%m.%y has years of two digits"),
    "a number for a format": ('"%d.%m.%Y"', "7", "[columns] ordered: format=7 is no text"),
    "decimal": ('step = 0.5, decimal = ","', 'step = 0.5, decimal = ";"', "[columns] amount: decimal=; must be"),
    "missing": ('missing = ""', "missing = 7", "[columns] note: What a missing text becomes"),
    "public key": ('source = "regions.csv"', 'sorce = "regions.csv"', "[public.regions] has an unknown key sorce"),
    "public is no table": ('[public.regions]\nsource = "regions.csv"', '[public]\nregions = "regions.csv"', "[public] regions"),
    "empty public": ('[public.regions]\nsource = "regions.csv"', "[public]", "[public] must hold keys"),
    "no TOML": ("rows = 8", "rows = ", "is not TOML"),
    "a key twice": ("rows = 8", "rows = 8\nrows = 9", "is not TOML"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_a_sentence_with_its_key(mistake: str, tmp_path: Path) -> None:
    before, after, sentence = MISTAKES[mistake]
    assert HOSPITAL.count(before) >= 1
    file = written(tmp_path, HOSPITAL.replace(before, after, 1))
    with pytest.raises(ParameterError, match=re.escape(sentence)) as refusal:
        read(file)
    assert str(refusal.value).startswith("hospital.toml")
    assert str(refusal.value).endswith(".")
    assert refusal.value.__cause__ is None


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="cannot be read"):
        read(tmp_path / "missing.toml")
    with pytest.raises(ParameterError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ParameterError, match="not a text in UTF-8"):
        read(tmp_path / "bytes.toml")


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=4))
@settings(deadline=None)
def test_a_skeleton_is_toml_whatever_the_names(tmp_path_factory: pytest.TempPathFactory, source: str, names: list[str]) -> None:
    """Only version and source are decided; a hostile name cannot decide more."""
    import tomllib

    text = skeleton(source, names, table="t")
    assert tomllib.loads(text) == {
        "version": 1,
        "source": source.encode("utf-8", "replace").decode(),
        "table": "t",
        "unit": {},
        "budget": {},
        "columns": {},
    }
    with pytest.raises(ParameterError):
        read(written(tmp_path_factory.mktemp("facts"), text))


@given(st.lists(st.text(min_size=1, max_size=12).filter(str.isprintable), min_size=1, max_size=4, unique=True))
@settings(deadline=None)
def test_a_skeleton_s_columns_can_be_filled_in(names: list[str]) -> None:
    import tomllib

    text = skeleton("people.csv", names)
    filled = re.sub(r'^# (.*) = \{ type = "" \}.*$', r'\1 = { type = "text" }', text, flags=re.MULTILINE)
    assert list(tomllib.loads(filled)["columns"]) == names


def test_the_register_of_engines_says_what_each_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new engine is known to the owner's file by its own line."""
    monkeypatch.setattr(engine, "_ENGINES", {"toy": (lambda given: given == "toy:x", "toy:table"), **engine._ENGINES})
    file = written(tmp_path, 'version = 1\nengine = "duckdb"\nsource = "toy:x"\n')
    with pytest.raises(ParameterError, match=r"which toy does; .* duckdb reads files, .*, toy reads toy:table\."):
        read(file)
