"""Plans and estimates of several attributes: a dictionary that reads well."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, TypeVar

from discreet.local.outlook import Outlook
from discreet.local.result import Result
from discreet.tables import clean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ByName", "Estimates"]


Part = TypeVar("Part", Result, Outlook)


class ByName(dict[str, Part]):
    """One part for every attribute, by its name. Print it."""

    def __str__(self) -> str:
        return "\n\n".join(f"{clean(name)}\n{part}" for name, part in self.items())

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{html.escape(clean(name))}</h4>{part._repr_html_()}" for name, part in self.items())


class Estimates(ByName[Result]):
    """The estimate of every attribute that anybody has reported."""

    def plot(self) -> list[Axes]:
        """A picture of every attribute, one below the other."""
        from discreet.canvas import stacked_axes

        axes = stacked_axes(len(self))
        for ax, (name, part) in zip(axes, self.items(), strict=True):
            title = part.plot(ax).get_title(loc="left")
            ax.set_title(f"{clean(name)}: {title}".replace("$", r"\$"), loc="left", fontsize=11)
        return axes
