"""The trade-off curve of a claim beside what an audit certified, as SVG drawn by hand: no library, no font, no script."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from discreet.auditor.finding import Finding
from discreet.privacy import Privacy, approximate

__all__ = ["tradeoff_svg"]

_SIZE, _LEFT, _TOP, _BOTTOM = 400, 58, 14, 52
_FPR = sorted({i / 100 for i in range(101)} | {10 ** (-i / 4) for i in range(4, 17)})  # finer where curves are steep


def tradeoff_svg(claim: Privacy, finding: Finding | None) -> str:
    """Error rates an attacker may reach: the claim forbids everything below its curve.

    The dashed curve is certified: somewhere some attacker comes down to it. The dot is the event that was seen, an estimate.
    """
    claimed = [(fpr, claim.tradeoff(fpr)) for fpr in _FPR]
    parts = [_path([(0, 0), *claimed, (1, 0)], "claimed-area"), _line([(0, 1), (1, 0)], "guessing")]
    keys = [("claimed", "the claim: no attacker below this curve"), ("guessing", "blind guessing")]
    if finding is not None and finding.epsilon > 0:
        bound = approximate(finding.epsilon, finding.delta)
        certified = [(fpr, bound.tradeoff(fpr)) for fpr in _FPR]
        if finding.violated:
            parts.append(_path([*claimed, *reversed([(x, min(y, claim.tradeoff(x))) for x, y in certified])], "beyond"))
        parts.append(_line(certified, "certified"))
        keys.append(("certified", f"certified: reached somewhere (ε ≥ {math.floor(1000 * finding.epsilon) / 1000:g})"))
    parts.append(_line(claimed, "claimed"))
    seen = None if finding is None else _rates(finding)
    if seen is not None:
        parts.append(f'<circle class="seen" cx="{_x(seen[0]):.1f}" cy="{_y(seen[1]):.1f}" r="5"/>')
        keys.append(("seen", "the event that was seen (estimate)"))
    width, height = _LEFT + _SIZE + 14, _TOP + _SIZE + _BOTTOM + 18 * len(keys)
    label = "Trade-off between false positives and false negatives: the claim and what was certified"
    inside = "\n".join([*_axes(), *parts, *_legend(keys)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(label)}">\n{inside}\n</svg>'
    )


def _rates(finding: Finding) -> tuple[float, float] | None:
    """The event as a test between the two inputs: how often it is wrong on either."""
    if not min(finding.runs) or not finding.event:
        return None
    a, b = (hits / runs for hits, runs in zip(finding.hits, finding.runs, strict=True))
    return (b, 1 - a) if a >= b else (a, 1 - b)


def _x(fpr: float) -> float:
    return _LEFT + _SIZE * fpr


def _y(fnr: float) -> float:
    return _TOP + _SIZE * (1 - fnr)


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)


def _line(points: Iterable[tuple[float, float]], name: str) -> str:
    return f'<polyline class="{name}" points="{_points(points)}"/>'


def _path(points: Iterable[tuple[float, float]], name: str) -> str:
    return f'<polygon class="{name}" points="{_points(points)}"/>'


def _axes() -> list[str]:
    found = [f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_SIZE}" height="{_SIZE}"/>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        found.append(f'<text x="{_x(tick):.0f}" y="{_TOP + _SIZE + 18}" text-anchor="middle">{tick:g}</text>')
        found.append(f'<text x="{_LEFT - 8}" y="{_y(tick) + 4:.0f}" text-anchor="end">{tick:g}</text>')
    middle, low = _LEFT + _SIZE / 2, _TOP + _SIZE + 38
    found.append(f'<text x="{middle:.0f}" y="{low}" text-anchor="middle">false-positive rate</text>')
    place = _TOP + _SIZE / 2
    turned = f'transform="rotate(-90 14 {place:.0f})"'
    found.append(f'<text x="14" y="{place:.0f}" text-anchor="middle" {turned}>false-negative rate</text>')
    return found


def _legend(keys: list[tuple[str, str]]) -> list[str]:
    found = []
    for i, (name, text) in enumerate(keys):
        y = _TOP + _SIZE + _BOTTOM + 10 + 18 * i
        mark = (
            f'<circle class="seen" cx="{_LEFT + 14}" cy="{y - 4}" r="5"/>'
            if name == "seen"
            else f'<polyline class="{name}" points="{_LEFT},{y - 4} {_LEFT + 28},{y - 4}"/>'
        )
        found += [mark, f'<text x="{_LEFT + 36}" y="{y}">{escape(text)}</text>']
    return found
