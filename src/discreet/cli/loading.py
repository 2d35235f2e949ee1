"""A name in somebody's Python file, such as count.py::noisy_count."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from discreet.errors import ParameterError


def split(target: str) -> tuple[Path, str]:
    """The file and the name in it."""
    file, colons, name = target.rpartition("::")
    if not colons or not file or not name.isidentifier():
        raise ParameterError(f"{target} does not name something in a file; write count.py::noisy_count.")
    return Path(file), name


def load(file: Path) -> ModuleType:
    """Run a file as a module; what it prints goes to standard error. Modules beside it can be imported, as for a script."""
    if not file.is_file():
        raise ParameterError(f"There is no file {file}; check its name.")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ParameterError(f"{file} is not a Python file; give one that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.resolve().parent))
    sys.modules[spec.name], before = module, sys.modules.get(spec.name)  # dataclasses and pickle look there
    try:
        with guard(f"{file} cannot be loaded"):
            spec.loader.exec_module(module)
    finally:
        if before is not None:
            sys.modules[spec.name] = before
    return module


@contextlib.contextmanager
def guard(trouble: str) -> Iterator[None]:
    """Somebody's code inside: what it prints goes to standard error, what it raises becomes a sentence."""
    from discreet.auditor.isolation import redirect
    from discreet.auditor.texts import describe_exception

    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if sys.__stderr__ is not None:
            stack.enter_context(redirect(sys.__stderr__, 1))
        try:
            yield
        except (Exception, SystemExit) as problem:
            raise ParameterError(f"{trouble}: {describe_exception(problem)}") from None


def find_named(module: ModuleType, file: Path, name: str) -> object:
    """What has this name in the file."""
    if not hasattr(module, name):
        raise ParameterError(f"{file} has nothing called {name}; check the name after the colons.")
    return getattr(module, name)


def script_for(function: tuple[Path, str], *others: Path) -> str:
    """Python lines that define ``function`` in a script of its own; files beside it, and beside others, can be imported."""
    file, name = function
    folders = dict.fromkeys(str(each.resolve().parent) for each in (file, *others))
    lines = ["import runpy, sys", *(f"sys.path.insert(0, {folder!r})" for folder in reversed(folders))]
    return "\n".join([*lines, f"space = runpy.run_path({str(file)!r})", f"function = space[{name!r}]"])


def code_for(file: Path, name: str, beside: Path) -> str:
    """A Python expression for something in a file, after the lines of ``script_for`` something ``beside`` it."""
    return f"space[{name!r}]" if file == beside else f"runpy.run_path({str(file)!r})[{name!r}]"
