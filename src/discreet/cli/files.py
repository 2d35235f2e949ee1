"""Files of the command line: texts are read whole, and results are written whole or not at all."""

from __future__ import annotations

import fnmatch
import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import ParameterError


def read_text(file: Path) -> str:
    """A text in UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ParameterError(f"{file} is not a text in UTF-8; give another file.") from None
    except OSError as problem:
        raise ParameterError(f"{file} cannot be read ({problem.strerror}); check its name.") from None


def check_place(file: Path) -> Path:
    """Refuse a place that cannot be written to before anything is paid."""
    if str(file) == "-":
        raise ParameterError("- is standard output, to which this cannot be written; name a file.")
    if file.is_dir() or not file.parent.is_dir():
        raise ParameterError(f"{file} is not a file in a folder that exists; choose another place.")
    return file


def protect(file: Path, *read: str | Path) -> None:
    """Refuse to write over what is read; a pattern stands for all files that match it, today or later."""
    for one in read:
        if _is_one_of(file, str(one)):
            raise ParameterError(f"{file} belongs to what is read ({one}) and would be overwritten; choose another place.")


def _is_one_of(file: Path, path: str) -> bool:
    known = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
    if file.exists() and any(
        os.path.samefile(file, each) for each in known if os.path.exists(each)
    ):  # through links, in any case
        return True
    place, pattern = Path(os.path.realpath(file)), Path(os.path.realpath(path))
    if place == pattern:
        return True
    if "**" in pattern.parts:
        return fnmatch.fnmatch(str(place), str(pattern).replace(f"**{os.sep}", "*"))
    pairs = zip(place.parts, pattern.parts, strict=False)
    return len(place.parts) == len(pattern.parts) and all(fnmatch.fnmatch(part, sign) for part, sign in pairs)


def create(file: Path, text: str, why: str) -> None:
    """Write a file that must be new; ``why`` says why one that exists is kept."""
    check_place(file)
    try:
        with file.open("x", encoding="utf-8", newline="") as target:
            target.write(text)
    except FileExistsError:
        raise ParameterError(f"{file} exists{why}; write to another place with -o.") from None
    except OSError as problem:
        raise refuse_writing(file, problem) from None


@contextmanager
def replace_file(file: Path, comfort: str = "") -> Iterator[Path]:
    """A new file to write to; it takes the place of ``file`` if the block succeeds, else nothing is changed.

    What is no file, such as a pipe, is written to as it is. ``comfort`` says what is not lost where writing fails.
    """
    try:
        if file.exists() and not file.is_file():
            yield file
            return
        target = file.resolve()  # a link stays one
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        new = Path(name)
        try:
            yield new
            new.chmod(0o666 & ~_umask())
            new.replace(target)
        finally:
            new.unlink(missing_ok=True)
    except OSError as problem:
        raise refuse_writing(file, problem, comfort) from None


def refuse_writing(file: Path, problem: OSError, comfort: str = "") -> ParameterError:
    """What is said where a file cannot be written."""
    return ParameterError(f"{file} cannot be written ({problem.strerror}); choose another place{comfort}.")


def _umask() -> int:
    """The mask that new files have; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
