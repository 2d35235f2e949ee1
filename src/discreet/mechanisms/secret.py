"""A statistic that has no noise yet.

What an engine computes is wrapped at once and can be neither shown, compared, calculated with, copied nor stored; it leaves only
through a mechanism, which opens it (``open_secret``) and adds noise. A test reads the source: nothing outside this room and the
auditor calls ``open_secret``. This guards against mistakes, not against code that wants to look: whoever runs Python beside the
data has the data.
"""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar, cast, overload

from discreet.errors import ValueRefused

T = TypeVar("T")


class Secret(Generic[T]):
    """A value that only a mechanism may open.

    >>> Secret(42)
    <secret>
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def __repr__(self) -> str:
        return "<secret>"

    def __refuse(self, *_: object) -> NoReturn:
        raise ValueRefused(
            "A statistic without noise can be neither shown, compared, calculated with nor stored; give it to a mechanism."
        )

    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = __refuse
    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __refuse
    __int__ = __float__ = __index__ = __complex__ = __round__ = __array__ = __format__ = __refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = __refuse
    __hash__ = None  # type: ignore[assignment]


@overload
def open_secret(secret: Secret[T]) -> T: ...
@overload
def open_secret(secret: T) -> T: ...
def open_secret(secret: Secret[T] | T) -> T:
    """What is inside; for mechanisms."""
    if isinstance(secret, Secret):
        return cast(T, getattr(secret, "_Secret__value"))  # noqa: B009
    return secret
