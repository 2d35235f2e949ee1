"""A curator from the file that the data's owner wrote."""

from __future__ import annotations

import os

from discreet.calls import called_as
from discreet.curator.configuration import read
from discreet.curator.curator import Curator

__all__ = ["open"]


@called_as('"hospital.toml"')
def open(path: str | os.PathLike[str]) -> Curator:
    """The curator of the table that a file such as ``hospital.toml`` describes."""
    return Curator(**read(path))
