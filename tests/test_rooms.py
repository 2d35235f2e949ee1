"""The shape of the package: who may import whom, how large things are, what is public, and that importing costs nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from traceback import format_exception_only

import pytest
from support.house import Import, Kind, cycles, first_sentences, imports, modules, parsed

import discreet

SOURCE = Path(discreet.__file__).parent

# A room may import itself and these; nothing else of discreet.
MAY_IMPORT = {
    "arrays": "",
    "balls": "",
    "calls": "errors",
    "canvas": "calls errors",
    "errors": "",
    "exact": "errors",
    "display": "",
    "schema": "calls errors exact",
    "noise": "arrays balls errors exact",
    "privacy": "arrays balls calls canvas errors exact",
    "mechanisms": "arrays balls calls errors exact noise privacy schema",
    "plan": "arrays calls display errors exact mechanisms privacy schema",
    "engine": "arrays errors exact mechanisms plan schema",
    "ledger": "errors exact privacy",
    "curator": "arrays calls canvas display engine errors exact ledger mechanisms plan privacy schema",
    "analysis": "arrays calls canvas curator display engine errors exact mechanisms plan privacy schema",
    "synthetic": "arrays calls canvas curator display engine errors exact mechanisms noise plan privacy schema",
    "learn": "analysis arrays calls canvas curator display engine errors exact mechanisms noise plan privacy schema synthetic",
    "local": "arrays balls calls canvas display errors exact mechanisms noise privacy schema",
    "texts": "analysis arrays balls calls canvas curator display engine errors exact learn local mechanisms noise plan privacy "
    "schema",
    "auditor": "arrays calls curator display engine errors exact ledger mechanisms noise plan privacy schema",
    "cli": "auditor canvas curator display errors ledger local mechanisms plan privacy schema texts (top)",
    "pytest_plugin": "auditor errors",
    "__main__": "cli",
    "(top)": "analysis auditor curator errors learn local mechanisms plan privacy schema synthetic texts",
}

# Nouns whose verbs stand in files of their own and name the noun for type checkers, or are loaded when first called.
CYCLES = {
    "curator.answer curator.exports curator.rendering",
    "engine.sql.people engine.sql.statement",
    "local.collector local.task",
    "privacy.account privacy.budget",
    "privacy.explanation privacy.guarantee privacy.plots",
    "privacy.losses.atoms privacy.losses.base",
    "privacy.losses.gaussian privacy.losses.moments",
    "synthetic.files synthetic.model synthetic.pictures",
}

PUBLIC = {
    "Budget",
    "Curator",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Linear",
    "NoisyMax",
    "PermuteAndFlip",
    "Privacy",
    "RandomizedResponse",
    "RunningSums",
    "SetUnion",
    "SparseVector",
    "Synthetic",
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
    "learn",
    "local",
    "marginal",
    "mean",
    "median",
    "most_common",
    "needed",
    "number",
    "open",
    "person",
    "persons",
    "plots",
    "prefixes",
    "pure",
    "quantile",
    "ranges",
    "ratio",
    "renyi",
    "rows",
    "sensitivity",
    "stddev",
    "sum",
    "text",
    "texts",
    "total",
    "variance",
    "zcdp",
}


MODULES = modules(SOURCE)


@cache
def all_imports() -> list[Import]:
    """Read when the first test asks: collecting tests is done by every process."""
    return imports(MODULES)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "(top)"


def test_imports_point_one_way() -> None:
    wrong = {
        f"{one.user} imports {one.used}"
        for one in all_imports()
        if room_of(one.used) not in {*MAY_IMPORT[room_of(one.user)].split(), room_of(one.user)}
    }
    assert wrong == set()


def test_only_known_nouns_stand_in_cycles() -> None:
    assert cycles(one for one in all_imports() if one.kind is Kind.AT_ONCE) == set()
    found = {" ".join(sorted(module.removeprefix("discreet.") for module in cycle)) for cycle in cycles(all_imports())}
    assert found == CYCLES
    assert max(len(cycle.split()) for cycle in CYCLES) <= 3


def test_folders_and_files_are_small_enough_to_read() -> None:
    folders = {str(folder): len([*folder.glob("*.py")]) - 1 for folder in SOURCE.rglob("*") if folder.is_dir()}
    assert {folder: files for folder, files in folders.items() if files > 14} == {}
    assert {str(f): n for f in MODULES.values() if (n := len(f.read_text().splitlines())) > 400} == {}


def test_few_files_serve_one_other_only() -> None:
    """Such a file is part of another noun, or has a reason. What a room's ``__init__`` lists is served to everybody."""
    users = {module: {one.user for one in all_imports() if one.used == module} for module in MODULES}
    registers = {module for module, file in MODULES.items() if file.name == "__init__.py"}
    alone = {module for module, by in users.items() if len(by) == 1 and not by <= registers}
    assert len(alone) <= len(MODULES) / 4, sorted(alone)


def test_docstrings_say_first_what_a_thing_is() -> None:
    """In one sentence, with a full stop or a colon at its end, that needs no more than two lines."""
    assert [place for place, sentence in first_sentences(MODULES) if sentence is None] == []


# What is common to engines knows none of them, nor any mechanism; and a curator knows what is common only.
SEAM = {
    "engine.base": r"mechanisms\.(secret|values|rows\.block)",
    "engine.sql": r"engine\.(base|sql\..*)|mechanisms\.(secret|values|rows\.block)",
    "engine.sources": r"engine\.(base|sources\..*|sql\.dialect)",
    "curator": r"engine(\.base)?|mechanisms.*",
}


@pytest.mark.parametrize("room", SEAM)
def test_an_engine_is_known_by_its_seam(room: str) -> None:
    here = [one for one in all_imports() if f"{one.user}.".startswith(f"discreet.{room}.")]
    near = [one for one in here if room_of(one.used) in ("engine", "mechanisms")]
    assert near
    assert [one for one in near if not re.fullmatch(SEAM[room], one.used.removeprefix("discreet."))] == []


def test_what_begins_with_an_underscore_stays_in_its_file() -> None:
    """A room's ``__init__`` and a module that users see list their names; elsewhere the underscore says what is private."""
    trees = {module: parsed(file) for module, file in MODULES.items()}
    taken = [
        f"{module} imports {alias.name} of {node.module}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("discreet")
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert taken == []


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
        ("texts", {"local", "mechanisms", "noise", "privacy", "schema", "texts"}),
    ],
)
def test_a_public_name_loads_what_it_needs_and_no_more(name: str, rooms: set[str]) -> None:
    """Only the curator needs DuckDB and sqlglot; an audit needs no curator."""
    loaded = modules_loaded_by(f"import discreet; discreet.{name}")
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {module.split(".")[1] for module in loaded if module.startswith("discreet.")} & folders <= rooms
    assert not {"duckdb", "hypothesis", "matplotlib", "pandas", "pyarrow", "rich", "sqlglot", "typer"} & loaded


def test_no_test_depends_on_a_clock() -> None:
    """A busy machine makes such a test fail: ``support.patience`` counts work, ``support.clock`` is a clock that tests move."""
    clocks = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"}
    named = re.compile(rf"\btime\s*\.\s*({'|'.join(clocks)})\b")
    read = {
        str(file)
        for file in Path(__file__).parent.rglob("*.py")
        if named.search(file.read_text(encoding="utf-8"))  # a comment may name one
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Attribute) and node.attr in clocks and ast.unparse(node.value) == "time"
    }
    assert read == set()
