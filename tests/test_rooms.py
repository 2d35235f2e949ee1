"""The shape of the package: who may import whom, what is public, and that importing costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from traceback import format_exception_only

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent

# A room may import itself and these; nothing else of discreet.
MAY_IMPORT = {
    "errors": set(),
    "calls": {"errors"},
    "exact": {"errors"},
    "arrays": set(),
    "balls": set(),
    "canvas": {"calls", "errors"},
    "tables": set(),
    "schema": {"calls", "errors", "exact"},
    "noise": {"arrays", "errors", "exact", "balls"},
    "privacy": {"arrays", "canvas", "calls", "errors", "exact", "balls"},
    "mechanisms": {"arrays", "calls", "errors", "exact", "balls", "schema", "noise", "privacy"},
    "plan": {"arrays", "calls", "errors", "exact", "tables", "schema", "privacy", "mechanisms"},
    "engine": {"arrays", "errors", "exact", "schema", "mechanisms", "plan"},
    "ledger": {"errors", "exact", "privacy"},
    "curator": {"arrays", "calls", "canvas", "errors", "exact", "schema", "privacy", "mechanisms", "plan", "engine", "ledger"},
    "local": {"arrays", "calls", "canvas", "errors", "exact", "balls", "tables", "schema", "noise", "privacy", "mechanisms"},
    "auditor": {
        "arrays",
        "calls",
        "errors",
        "exact",
        "tables",
        "schema",
        "noise",
        "privacy",
        "mechanisms",
        "plan",
        "engine",
        "ledger",
        "curator",
    },
    "cli": {"auditor", "canvas", "errors", "schema", "privacy", "mechanisms", "plan", "ledger", "local", "curator", "(top)"},
    "pytest_plugin": {"auditor", "errors"},
    "__main__": {"cli"},
    "(top)": {"auditor", "errors", "schema", "privacy", "mechanisms", "plan", "curator", "local"},
}

PUBLIC = {
    "Budget",
    "Curator",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Laplace",
    "NoisyMax",
    "PermuteAndFlip",
    "Privacy",
    "RandomizedResponse",
    "SparseVector",
    "Threshold",
    "__version__",
    "approximate",
    "audit",
    "boolean",
    "calibrate",
    "category",
    "count",
    "date",
    "errors",
    "filters",
    "formulas",
    "gdp",
    "integer",
    "local",
    "mean",
    "median",
    "most_common",
    "number",
    "open",
    "person",
    "persons",
    "plots",
    "pure",
    "quantile",
    "renyi",
    "rows",
    "sensitivity",
    "stddev",
    "sum",
    "text",
    "variance",
    "zcdp",
}


def room_of(parts: tuple[str, ...]) -> str:
    return parts[0] if parts else "(top)"


def imported_rooms(file: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "discreet":
            inside = node.module.split(".")[1:]
            names = [inside] if inside else [[alias.name] if (SOURCE / alias.name).exists() else [] for alias in node.names]
            rooms |= {room_of(tuple(name)) for name in names}
        elif isinstance(node, ast.Import):
            rooms |= {room_of(tuple(a.name.split(".")[1:])) for a in node.names if a.name.split(".")[0] == "discreet"}
    return rooms


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_one_way(file: Path) -> None:
    path = file.relative_to(SOURCE).with_suffix("").parts
    room = "(top)" if path == ("__init__",) else path[0]
    assert imported_rooms(file) <= MAY_IMPORT[room] | {room}


def test_public_names_are_these_and_no_others() -> None:
    assert set(dir(discreet)) == PUBLIC
    assert {*discreet.__all__, "__version__"} == PUBLIC
    for name in PUBLIC:
        getattr(discreet, name)


def test_type_checkers_see_the_public_names() -> None:
    """What ``if TYPE_CHECKING`` imports, read as a type checker reads it: the names of the table, and no others."""
    block = next(node for node in ast.parse((SOURCE / "__init__.py").read_text()).body if isinstance(node, ast.If))
    seen: dict[str, str] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        module = str(node.module)
        for alias in node.names:
            if alias.name == "*":
                seen |= dict.fromkeys(import_module(module).__all__, module)
            else:
                assert alias.asname == alias.name  # else it is not exported
                seen[alias.name] = f"{module}.{alias.name}"
    assert seen == discreet._HOMES


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Laplac", "Laplace"), ("laplace", "Laplace"), ("DiscreteGausian", "DiscreteGaussian"), ("audti", "audit"), ("words", None)],
)
def test_a_misspelt_name_suggests_the_nearest(name: str, meant: str | None) -> None:
    with pytest.raises(AttributeError) as refused:
        getattr(discreet, name)
    guess = f"; did you mean {meant!r}?" if meant else ""
    assert "".join(format_exception_only(refused.value)) == f"AttributeError: discreet has no public name {name!r}{guess}\n"


def modules_loaded_by(program: str) -> set[str]:
    """The modules that a fresh Python has after a program and had not before it."""
    program = f"import sys; before = set(sys.modules)\n{program}\nprint(*(set(sys.modules) - before))"
    return set(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split())


def test_import_is_quick_and_loads_nothing_heavy() -> None:
    """It loads itself, nothing of ours besides, and a few small parts of Python: no other package, no file, no network."""
    loaded = modules_loaded_by("import discreet")
    assert {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names} == {"discreet"}
    assert len(loaded) < 60  # about 30
    assert not {"asyncio", "decimal", "http", "inspect", "json", "socket", "sqlite3", "subprocess", "tempfile"} & loaded


def test_a_misspelt_name_loads_nothing() -> None:
    loaded = modules_loaded_by("import discreet\ntry: discreet.Laplac\nexcept AttributeError: dir(discreet)")
    assert {name for name in loaded if name.startswith("discreet")} == {"discreet"}


@pytest.mark.parametrize(
    ("name", "rooms"),
    [
        ("audit", {"auditor", "privacy"}),
        ("Laplace", {"mechanisms", "noise", "privacy", "schema"}),
        ("integer", {"schema"}),
        ("pure", {"privacy"}),
        ("count", {"mechanisms", "noise", "plan", "privacy", "schema"}),
        ("local", {"local", "mechanisms", "noise", "privacy", "schema"}),
    ],
)
def test_a_public_name_loads_what_it_needs_and_no_more(name: str, rooms: set[str]) -> None:
    """Only the curator needs DuckDB and sqlglot; an audit needs no curator."""
    loaded = modules_loaded_by(f"import discreet; discreet.{name}")
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {module.split(".")[1] for module in loaded if module.startswith("discreet.")} & folders <= rooms
    assert not {"duckdb", "hypothesis", "matplotlib", "pandas", "pyarrow", "rich", "sqlglot", "typer"} & loaded


def test_no_test_depends_on_a_clock() -> None:
    """A busy machine makes such a test fail: ``contract.patience`` counts work, ``support.clock`` is a clock that tests move."""
    clocks = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}
    read = {
        str(file)
        for file in Path(__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in clocks and ast.unparse(node.value) == "time"
    }
    assert read == set()


def test_every_file_is_short_enough_to_read() -> None:
    assert {str(f): n for f in SOURCE.rglob("*.py") if (n := len(f.read_text().splitlines())) > 400} == {}
