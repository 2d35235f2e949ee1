"""A report as one HTML page that needs nothing else: no network, no script, no font.

Everything it quotes is escaped. The trade-off curve of the claim beside what was certified is SVG, drawn by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from discreet.auditor.finding import Finding
from discreet.auditor.report import Report
from discreet.privacy import Privacy, approximate

_SIZE, _LEFT, _TOP, _BOTTOM = 400, 58, 14, 52
_FPR = sorted({i / 100 for i in range(101)} | {10 ** (-i / 4) for i in range(4, 17)})  # finer where curves are steep

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --paper: #fff; --faint: #6b7785; --line: #d5dbe2;
  --blue: #1f6fb4; --red: #c8452c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --paper: #161b22; --faint: #93a0ad; --line: #38424d; --blue: #62a8e5; --red: #ee7f68; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.verdict { border-left: 5px solid var(--blue); padding: .4rem .9rem; font-size: 1.1rem; overflow-wrap: anywhere; }
.verdict.violated { border-color: var(--red); }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; overflow-wrap: anywhere; }
th { color: var(--faint); font-weight: normal; white-space: nowrap; }
pre { border: 1px solid var(--line); border-radius: 6px; padding: .8rem; overflow-x: auto; font-size: .85rem; }
svg { max-width: 100%; height: auto; } svg text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.frame { fill: none; stroke: var(--line); } polyline { fill: none; stroke-width: 2; }
.claimed { stroke: var(--blue); stroke-width: 2.5; } .claimed-area { fill: var(--blue); opacity: .12; }
.guessing { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 2 3; }
.certified { stroke: var(--red); stroke-dasharray: 6 4; } .beyond { fill: var(--red); opacity: .3; } .seen { fill: var(--red); }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{inside}
</body>
</html>
"""

_EXPLAINED = (
    "An attacker who must say which of two neighbouring inputs was used makes two kinds of error. The claim forbids all rates "
    "below its curve. The dashed curve is certified by the draws: some attacker gets down to it somewhere."
)


def render_page(report: Report) -> str:
    """The page. It says what was tried and seen, and never that a function is private."""
    verdict, tone = escape(report.verdict[:1].upper() + report.verdict[1:]), "violated" if report.violated else ""
    body = [
        f"<h1>Audit of <code>{escape(report.function)}</code></h1>",
        f'<p class="verdict {tone}">{verdict}.</p>',
        _render_facts(report),
    ]
    if report.finding is not None and not report.obstacle:
        body += [
            "<h2>The claim and what was certified</h2>",
            draw_tradeoff(report.curve, report.finding),
            f"<p>{escape(_EXPLAINED)}</p>",
        ]
    if report.script:
        body += ["<h2>See it again</h2>", f"<pre>{escape(report.script)}</pre>"]
    limits = "It speaks about the pairs that were tried and nothing else: an audit can refute a claim, and cannot prove one."
    inside = "\n".join([*body, f"<p><small>{escape(limits)}</small></p>"])
    return _PAGE.format(title=f"Audit of {escape(report.function)}", style=_STYLE, inside=inside)


def _render_facts(report: Report) -> str:
    seen = report.finding
    rows = [
        ("claim", report.claim),
        ("pairs tried", f"{report.pairs:,}, of which {report.replayed:,} were replayed exactly"),
        ("draws on each side", f"{report.draws:,}"),
        ("error probability", f"{report.error:g}"),
        ("time", f"{report.seconds:.1f} s"),
    ]
    if report.case is not None:
        rows.append(("witness" if report.violated else "closest pair", report.case.words))
    if seen is not None and seen.event and not report.difference:
        rows.append(("event", seen.event))
    rows += [("remark", remark) for remark in report.remarks]
    cells = "\n".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
    return f"<table>\n{cells}\n</table>"


def draw_tradeoff(claim: Privacy, finding: Finding | None) -> str:
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
