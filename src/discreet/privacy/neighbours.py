"""Neighbour relations: which two data sets a guarantee compares.

``"add-remove"``: one has a record (or a person's records) that the other has not. ``"replace"``: one record has another value,
and the number of records is public. ``"local"``: a database of one person, whose own value is replaced before anything leaves
them. A number means nothing without its relation: replacing a record is removing one and adding one, so the same noise can cost
twice as much.

Facts about one mechanism hold for the relation under which its sensitivity was computed, which a mechanism cannot know unless it
is told. Such a guarantee is *unstated*; it takes the relation of what it is added to, and the sum says that it was assumed.
"""

from __future__ import annotations

from typing import Literal

from discreet.errors import ParameterError

Neighbours = Literal["add-remove", "replace", "local"]

MEANINGS: dict[Neighbours, str] = {
    "add-remove": "one record is added or removed",
    "replace": "one record is replaced by another, their number being public",
    "local": "one person's own value is replaced by another, before anything leaves that person",
}


def read_neighbours(given: object) -> Neighbours | None:
    """A relation by its name; None stays unstated."""
    if given is None or (isinstance(given, str) and given in MEANINGS):
        return given
    raise ParameterError('neighbours must be "add-remove", "replace" or "local"; leave it out where the relation is not known.')


def share_neighbours(left: Neighbours | None, right: Neighbours | None) -> Neighbours | None:
    """The relation of two guarantees together: the one that is stated. Two different ones have no sum."""
    if left is None or right is None or left == right:
        return left or right
    raise ParameterError(
        f'One guarantee is for neighbours "{left}", the other for "{right}": their sum is a guarantee for neither. State both '
        'for the same ones; where a record is added or removed, privacy.under("replace") also holds when one is replaced.'
    )
