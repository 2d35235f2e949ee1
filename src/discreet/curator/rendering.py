"""An answer as people see it: a table for a terminal or a notebook, and a picture.

Tables have headers, rounded cells, and a few lines below. A picture has bars with 95 % intervals, one panel for every output; two
keys make groups of bars, a colour for every value of one of them. Where a number or a day has many values there are lines with
bands instead; bins make a histogram, and two keys of many values, or the ends of many ranges, a heat map.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.canvas import BLUE, GREEN, GREY, ORANGE, RED, draw_histogram, draw_map, finish, new_axes, stacked_axes
from discreet.display import clean, decimals, figure, html_table, label, text_table
from discreet.errors import ParameterError
from discreet.ledger.chain import Entry
from discreet.plan.expressions import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.curator.answer import Answer, Column

_MOST, _FIRST, _LAST = 30, 20, 5  # rows of a table; of a longer one, so many at its ends
_PARTS = 6


def choose_rows(count: int) -> tuple[list[int], int, int]:
    """The rows to show, before which of them some are left out, and how many.

    >>> choose_rows(3), choose_rows(1000)[1:]
    (([0, 1, 2], 3, 0), (20, 975))
    """
    if count <= _MOST:
        return list(range(count)), count, 0
    return [*range(_FIRST), *range(count - _LAST, count)], _FIRST, count - _FIRST - _LAST


def cells(answer: Answer, rows: list[int]) -> tuple[list[str], list[list[str]], str]:
    """Headers, texts of these rows, and how columns are aligned."""
    headers, align = [], ""
    columns: list[list[str]] = []
    for name, values in answer.keys.items():
        headers.append(name)
        columns.append(["all" if answer.margins and values[i] is None else label(values[i]) for i in rows])
        align += ">" if values and all(isinstance(values[i], (int, float, Fraction)) for i in rows) else "<"
    for name, column in answer.outputs.items():
        headers.append(name)
        columns.append([_value(column, i) for i in rows])
        align += "<" if column.lower is None and any(isinstance(value, str) for value in column.values) else ">"
        if column.lower is not None:
            headers.append("± (95 %)")
            columns.append([_interval(column, i) for i in rows])
            align += "<"
    return headers, [list(row) for row in zip(*columns, strict=True)], align


def notes(answer: Answer) -> list[str]:
    """How it was made, what it cost, what is left."""
    parts = [f"{what}: {how}" for what, how in answer.parts[:_PARTS]]
    more = len(answer.parts) - len(parts)
    lines = ["; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."] if parts else []
    price = f"Cost {answer.cost}" if not answer.repeated else f"Asked before ({answer.cost}): this repeat was free"
    left = left_of(answer)
    lines.append(f"{price}; {left}." if left else f"{price}.")
    if any(column.lower is not None for column in answer.outputs.values()):
        lines.append("Intervals cover the statistic after clamping and bounding, 95 % of the time.")
    return list(dict.fromkeys([*lines, *answer.remarks]))


def left_of(answer: Answer) -> str:
    """What is left of the budget, in a few words."""
    return answer.left if isinstance(answer.left, str) else answer.left.brief


def _half(column: Column, i: int) -> float | None:
    """Half of an interval, or about as much from the standard error."""
    if column.lower is not None and column.upper is not None:
        return (column.upper[i] - column.lower[i]) / 2
    return None if column.errors is None else 2 * column.errors[i]


def _value(column: Column, i: int) -> str:
    value, half = column.values[i], _half(column, i)
    if half is None or isinstance(value, (bool, str)) or not isinstance(value, (int, float)):
        return label(value)
    return figure(value, _places(column, i, half))


def _interval(column: Column, i: int) -> str:
    """± half of it where the value is in the middle; else both ends."""
    assert column.lower is not None
    assert column.upper is not None
    value, lower, upper = column.values[i], column.lower[i], column.upper[i]
    half = (upper - lower) / 2
    places = _places(column, i, half)
    numeric = isinstance(value, (int, float)) and math.isfinite(half)
    if numeric and abs((lower + upper) / 2 - value) <= 0.02 * half:  # type: ignore[operator]
        return f"± {figure(_up(half, places), places)}"
    return f"{figure(lower, places)} … {figure(upper, places)}"


def _places(column: Column, i: int, half: float) -> int | None:
    """Decimals that mean something; none where the value and its interval are whole, as medians of whole numbers are."""
    ends = () if column.lower is None or column.upper is None else (column.lower[i], column.upper[i])
    whole = bool(ends) and all(isinstance(x, (int, float)) and float(x).is_integer() for x in (column.values[i], *ends))
    return 0 if whole else decimals(half)


def _up(half: float, places: int | None) -> float:
    """Rounded so that what is shown covers no less than what is meant."""
    if places is None:
        return half
    scale = 10.0**places
    return math.ceil(half * scale * (1 - 1e-9)) / scale


class History(tuple[Entry, ...]):
    """Questions that were paid for, one entry each; printed as a table."""

    __slots__ = ()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[str(one.number), one.time[:19].replace("T", " "), one.state, one.asked, one.question] for one in self]
        return ["", "time (UTC)", "state", "cost", "question"], rows

    def __str__(self) -> str:
        return text_table(*self._table(), "><<<<") if self else "No question was paid for yet."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._table()) if self else "<p>No question was paid for yet.</p>"


def render_text(answer: Answer) -> str:
    """An aligned table, then a few lines; long tables are cut in the middle."""
    rows, cut, hidden = choose_rows(len(answer))
    lines = text_table(*cells(answer, rows)).split("\n")
    if hidden:
        lines.insert(2 + cut, f"... {hidden:,} more rows")
    if not len(answer):
        lines.append("(no rows)")
    return "\n".join([*lines, "", *map(clean, notes(answer))])


def render_html(answer: Answer) -> str:
    """One piece of HTML; long tables are cut in the middle."""
    rows, cut, hidden = choose_rows(len(answer))
    headers, body, align = cells(answer, rows)
    if hidden:
        body.insert(cut, [f"... {hidden:,} more rows", *[""] * (len(headers) - 1)])
    return html_table(headers, body, align, notes=notes(answer))


_DARK = "#222222"
_COLOURS = (BLUE, ORANGE, GREEN, RED, "#CC79A7", GREY)
_MOST_BARS = 40
_MOST_PANELS = 12
_UPRIGHT = (12, 20, 60)  # more bars, longer labels, or more letters together lie down
_LONGEST = 40
_UNEVEN, _EPOCH = 1.2, date(1970, 1, 1)  # widths of bins that differ by more are drawn as areas; months differ by less
_BIN = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)[\])]")

Place = Value | tuple[Value, ...]  # several keys together


@dataclass(frozen=True)
class Series:
    """Numbers of one colour: their places on the key's axis, and how far their intervals reach below and above."""

    name: str
    places: list[Place]
    values: list[float]
    below: list[float]
    above: list[float]


def plot(answer: Answer, output: str | None, ax: Axes | None, title: str | None) -> Axes:
    """Draw one output, or all that have numbers, in a panel each; on the caller's axes the first. The first panel's axes."""
    names = _chosen(answer, output)[: 1 if ax is not None else None]
    if len(names) > _MOST_PANELS:
        raise ParameterError(f"{len(names):,} outputs are too many for one picture: draw some with plot(output=...).")
    several = ax is None and len(answer.tables) * len(names) <= _MOST_PANELS
    shown = [(_without_margins(one), name) for one in (several and answer.tables) or [answer] for name in names]
    maps = [_mapped(one, name) for one, name in shown]
    drawn = [_series(one, name, mapped=mapped) for (one, name), mapped in zip(shown, maps, strict=True)]
    for (_, name), mapped, (_, _, series) in zip(shown, maps, drawn, strict=True):  # refused before there is a picture
        _check_readable(name, series, mapped=mapped)
    axes = [new_axes(ax)] if len(shown) == 1 else stacked_axes(len(shown))
    for (one, name), mapped, (key, other, series), panel in zip(shown, maps, drawn, axes, strict=True):
        own = name if mapped or one.outputs[name].lower is None else f"{name}, with 95 % intervals"
        if mapped:
            _map(panel, one, name, series[0])
        else:
            _panel(panel, name, key, series)
        finish(panel, _plain(title if title is not None and len(shown) == 1 else own))
        if mapped:
            panel.grid(visible=False)
        if other:  # beside the picture, where it hides nothing
            panel.legend(
                title=_plain(other), loc="upper left", bbox_to_anchor=(1, 1), fontsize=9, title_fontsize=9, frameon=False
            )
    if title is not None and len(shown) > 1:
        axes[0].figure.figure.suptitle(_plain(title), fontsize=12)
    return axes[0]


def _without_margins(answer: Answer) -> Answer:
    """The cells alone."""
    if not answer.margins:
        return answer
    cells = [i for i, key in enumerate(zip(*answer.keys.values(), strict=True)) if None not in key]
    return answer.picked(cells or range(len(answer)))


def _mapped(answer: Answer, name: str) -> bool:
    """Whether there are two keys, each pair of them once: all pairs of many values, or at least half of more than are readable as
    bars, such as the ends of ranges; but for numbers and days in few colours, which are lines."""
    pairs = list(zip(*answer.keys.values(), strict=True))
    sizes = [len({*values}) for values in answer.keys.values()]
    if len(sizes) != 2 or len({*pairs}) < len(pairs) or min(sizes) < 2:
        return False
    if min(sizes) > len(_COLOURS) and len(pairs) == math.prod(sizes):
        return True
    lines = all(_ordered(one.places) for one in _series(answer, name, mapped=False)[2])
    return not lines and len(pairs) > _MOST_BARS and 2 * len(pairs) >= math.prod(sizes)


def _map(ax: Axes, answer: Answer, name: str, one: Series) -> None:
    across, up = ([*dict.fromkeys(values)] for values in answer.keys.values())
    found = dict(zip(one.places, one.values, strict=True))
    numbers = [[found.get((x, y), math.nan) for x in across] for y in up]
    draw_map(ax, numbers, [_short(label(x)) for x in across], [_short(label(y)) for y in up], _plain(name))
    _titles(ax, *answer.keys)


def _bins(places: list[Place]) -> list[tuple[float, float]] | None:
    """The edges of bins that follow one another, days as their numbers; None for what is no bin."""
    found = []
    for place in places:
        parts = _BIN.fullmatch(place) if isinstance(place, str) else None
        if parts is None:
            return None
        try:
            first, last = (float(x) if "-" not in x[1:] else float((date.fromisoformat(x) - _EPOCH).days) for x in parts.groups())
        except ValueError:
            return None
        found.append((first, last))
    joined = all(a[1] == b[0] for a, b in itertools.pairwise(found)) and all(a < b for a, b in found)
    return found if len(found) > 1 and joined else None


def _histogram(ax: Axes, key: str, name: str, one: Series, bins: list[tuple[float, float]]) -> None:
    """Bars of true widths that touch; where widths differ their areas are the numbers."""
    widths = [last - first for first, last in bins]
    days = "-" in str(one.places[0])[2:]
    uneven = max(widths) > _UNEVEN * min(widths)
    each = widths if uneven else [1.0] * len(widths)
    numbers = ([x / width for x, width in zip(part, each, strict=True)] for part in (one.values, one.below, one.above))
    draw_histogram(ax, bins, *numbers, days=days)
    _titles(ax, key, f"{name} per {'day' if days else 'unit of ' + key}" if uneven else name)


def _series(answer: Answer, name: str, *, mapped: bool) -> tuple[str, str, list[Series]]:
    """The key on the axis, the one of the colours ("" where there are none), and the numbers to draw."""
    column = answer.outputs[name]
    numbers = [(i, float(value)) for i, value in enumerate(column.values) if isinstance(value, (int, float))]
    numbers = [(i, value) for i, value in numbers if math.isfinite(value)]
    if not numbers:
        raise ParameterError("This answer has no rows to draw; ask again with other groups.")
    keys = list(zip(*answer.keys.values(), strict=True)) if answer.keys else [()] * len(answer)
    two = None if mapped else _two(answer, [keys[i] for i, _ in numbers])
    if two is None:
        axis, colour, groups = ", ".join(answer.keys), "", {"": numbers}
        places: dict[int, Place] = {i: keys[i][0] if len(keys[i]) == 1 else keys[i] for i, _ in numbers}
    else:
        at, by = two
        axis, colour = (list(answer.keys)[j] for j in two)
        values = dict.fromkeys(keys[i][by] for i, _ in numbers)
        groups = {label(value): [(i, x) for i, x in numbers if keys[i][by] == value] for value in values}
        places = {i: keys[i][at] for i, _ in numbers}
    found = (
        (name, [places[i] for i, _ in group], [x for _, x in group], *_arms(column, group)) for name, group in groups.items()
    )
    return axis, colour, [Series(*one) for one in found]


def _check_readable(name: str, series: list[Series], *, mapped: bool) -> None:
    clear = mapped or all(_ordered(one.places) for one in series) or (len(series) == 1 and _bins(series[0].places))
    count = sum(len(one.values) for one in series)
    if count > _MOST_BARS and not clear:
        raise ParameterError(
            f"{count:,} bars are too many to read: to a SELECT add ORDER BY {name} DESC LIMIT {_MOST_BARS} (free); of tables and "
            "workloads ask for fewer keys or questions, or draw some rows of to_pandas()."
        )


def _two(answer: Answer, keys: list[tuple[Value, ...]]) -> tuple[int, int] | None:
    """Of two keys, the one on the axis and the one of few values that colours tell; None where most combinations are missing."""
    if len(answer.keys) != 2:
        return None
    first, second = (dict.fromkeys(key[j] for key in keys) for j in (0, 1))
    if min(len(first), len(second)) < 2 or 2 * len(keys) <= len(first) * len(second) or len(set(keys)) < len(keys):
        return None
    if len(second) <= len(_COLOURS):
        return 0, 1
    return (1, 0) if len(first) <= len(_COLOURS) else None


def _panel(ax: Axes, name: str, key: str, series: list[Series]) -> None:
    bins = _bins(series[0].places) if len(series) == 1 else None
    if bins is not None:
        _histogram(ax, key, name, series[0], bins)
        return
    if sum(len(one.values) for one in series) > _MOST_BARS:
        for one, colour in zip(series, _COLOURS, strict=False):
            _line(ax, one, colour)
        _titles(ax, key, name)
        return
    places = list(dict.fromkeys(place for one in series for place in one.places))
    parts = [place if isinstance(place, tuple) else (place,) for place in places]
    labels = [_short(", ".join(map(label, part))) for part in parts]
    lengths = [len(text) for text in labels]
    lying = any(size > most for size, most in zip((len(labels), max(lengths), sum(lengths)), _UPRIGHT, strict=True))
    _bars(ax, places, labels, series, lying=lying)
    _titles(ax, *((name, key) if lying else (key, name)))


def _chosen(answer: Answer, output: str | None) -> list[str]:
    drawable = [name for name, column in answer.outputs.items() if column.lower is not None or column.errors is not None]
    if output is not None and output not in answer.outputs:
        raise ParameterError(f"There is no output {clean(str(output))} in this answer; there are {', '.join(answer.outputs)}.")
    if not drawable or (output is not None and output not in drawable):
        raise ParameterError("A choice has no size to draw; draw an output that is a number, such as count(*) AS n.")
    return drawable if output is None else [output]


def _arms(column: Column, numbers: list[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """How far intervals reach below and above; the ends of an unbounded one are left away."""
    if column.lower is None or column.upper is None:
        errors = column.errors or ()
        return [1.96 * errors[i] for i, _ in numbers], [1.96 * errors[i] for i, _ in numbers]
    below = [max(value - column.lower[i], 0.0) for i, value in numbers]
    above = [max(column.upper[i] - value, 0.0) for i, value in numbers]
    return [arm if math.isfinite(arm) else 0.0 for arm in below], [arm if math.isfinite(arm) else 0.0 for arm in above]


def _ordered(places: list[Place]) -> bool:
    """Whether these are numbers or days in rising order."""
    if not all(isinstance(value, (int, float, date)) and not isinstance(value, bool) for value in places):
        return False
    return all(a < b for a, b in itertools.pairwise(places))  # type: ignore[operator]


def _bars(ax: Axes, places: list[Place], labels: list[str], series: list[Series], *, lying: bool) -> None:
    """Bars beside each other, those of one place together."""
    width, middles = 0.8 / len(series), {place: i for i, place in enumerate(places)}
    for j, (one, colour) in enumerate(zip(series, _COLOURS, strict=False)):
        at = [middles[place] + width * (j - (len(series) - 1) / 2) for place in one.places]
        arms = (one.below, one.above)
        look: dict[str, Any] = {"color": colour, "ecolor": _DARK, "capsize": 3 if len(series) == 1 else 2}
        if lying:
            ax.barh(at, one.values, width, xerr=arms, label=_short(one.name), **look)
        else:
            ax.bar(at, one.values, width, yerr=arms, label=_short(one.name), **look)
    if lying:
        ax.set_yticks(range(len(places)), labels, fontsize=8)
        ax.invert_yaxis()
    else:
        ax.set_xticks(range(len(places)), labels)
    (ax.xaxis if lying else ax.yaxis).set_major_formatter(
        lambda value, _: f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.3g}"
    )


def _line(ax: Axes, one: Series, colour: str) -> None:
    low = [value - arm for value, arm in zip(one.values, one.below, strict=True)]
    high = [value + arm for value, arm in zip(one.values, one.above, strict=True)]
    ax.fill_between(one.places, low, high, color=colour, alpha=0.25, linewidth=0)  # type: ignore[arg-type]
    ax.plot(one.places, one.values, color=colour, linewidth=1.2, label=_short(one.name))  # type: ignore[arg-type]


def _titles(ax: Axes, across: str, up: str) -> None:
    ax.set_xlabel(_plain(across))
    ax.set_ylabel(_plain(up))


def _short(text: str) -> str:
    return _plain(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _plain(text: str) -> str:
    """A dollar would start a formula."""
    return clean(text).replace("$", r"\$")
