"""A name in somebody's Python file, such as count.py::noisy_count."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from discreet.errors import ParameterError

__all__ = ["code_for", "load", "named", "split"]


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
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as problem:
        raise ParameterError(f"{file} cannot be loaded: {type(problem).__name__}: {problem}") from None
    finally:
        if before is not None:
            sys.modules[spec.name] = before
    return module


def named(module: ModuleType, file: Path, name: str) -> object:
    """What has this name in the file."""
    if not hasattr(module, name):
        raise ParameterError(f"{file} has nothing called {name}; check the name after the colons.")
    return getattr(module, name)


def code_for(file: Path, name: str) -> str:
    """A Python expression for the same thing, after ``import runpy``."""
    return f"runpy.run_path({str(file)!r})[{name!r}]"
