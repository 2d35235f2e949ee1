"""The map of a package, read from its source: modules, imports, cycles of imports, docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Import", "Kind", "cycles", "first_sentences", "imports", "modules", "parsed"]


class Kind(Enum):
    """When an import is carried out."""

    AT_ONCE = "when the module is loaded"
    LATE = "when a function is called"
    TYPES = "by type checkers only"


class Import(NamedTuple):
    """One module of a package imports another."""

    user: str
    used: str
    kind: Kind


def modules(source: Path) -> dict[str, Path]:
    """The modules of a package and their files."""
    names = {file: (source.name, *file.relative_to(source).with_suffix("").parts) for file in sorted(source.rglob("*.py"))}
    return {".".join(parts).removesuffix(".__init__"): file for file, parts in names.items()}


@cache
def parsed(file: Path) -> ast.Module:
    """A file's syntax, which several questions are about."""
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(modules: Mapping[str, Path]) -> list[Import]:
    """All imports of modules of a package by each other."""
    return [one for name, file in modules.items() for one in _imports(name, parsed(file), modules)]


def _imports(user: str, tree: ast.Module, modules: Mapping[str, Path]) -> Iterator[Import]:
    for node, kind in _imports_below(tree.body, Kind.AT_ONCE):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            used = [name if name in modules else str(node.module) for name in names]
        else:
            used = [alias.name for alias in node.names]
        yield from (Import(user, name, kind) for name in used if name in modules and name != user)


def _imports_below(nodes: Iterable[ast.AST], kind: Kind) -> Iterator[tuple[ast.Import | ast.ImportFrom, Kind]]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, kind
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _imports_below(node.body, Kind.TYPES)
            yield from _imports_below(node.orelse, kind)
        elif not isinstance(node, ast.expr):
            yield from _imports_below(ast.iter_child_nodes(node), Kind.LATE if isinstance(node, ast.FunctionDef) else kind)


def cycles(imports: Iterable[Import]) -> set[frozenset[str]]:
    """The largest sets of modules of which each leads to each."""
    leads: dict[str, set[str]] = {}
    for one in imports:
        leads.setdefault(one.user, set()).add(one.used)
    reached = {start: _reached(start, leads) for start in leads}
    return {frozenset(there for there in reached[one] if one in reached.get(there, ())) for one in leads if one in reached[one]}


def _reached(start: str, leads: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*leads[start]]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += leads.get(one, ())
    return found


def first_sentences(modules: Mapping[str, Path]) -> Iterator[tuple[str, str | None]]:
    """The first sentence of the docstring of every module and everything public in it; None where there is none."""
    for name, file in modules.items():
        tree = parsed(file)
        yield name, _sentence(tree)
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if "overload" not in map(ast.unparse, node.decorator_list):
                yield f"{name}.{node.name}", _sentence(node)


def _sentence(node: ast.Module | ast.FunctionDef | ast.ClassDef) -> str | None:
    opening = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].splitlines()[:3])
    found = re.match(r"\S.*?[.:!?](?=\s|$)", opening)
    return found.group() if found else None
