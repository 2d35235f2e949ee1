"""A report as one HTML page that needs nothing else: no network, no script, no font. Everything it quotes is escaped."""

from __future__ import annotations

from html import escape

from discreet.auditor.report import Report
from discreet.auditor.tradeoff_picture import tradeoff_svg

__all__ = ["page"]

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


def page(report: Report) -> str:
    """The page. It says what was tried and seen, and never that a function is private."""
    body = [
        f"<h1>Audit of <code>{escape(report.function)}</code></h1>",
        f'<p class="verdict {"violated" if report.violated else ""}">{_sentence(report.verdict)}</p>',
        _facts(report),
    ]
    if report.finding is not None and not report.obstacle:
        body += [
            "<h2>The claim and what was certified</h2>",
            tradeoff_svg(report.curve, report.finding),
            f"<p>{escape(_EXPLAINED)}</p>",
        ]
    if report.script:
        body += ["<h2>See it again</h2>", f"<pre>{escape(report.script)}</pre>"]
    limits = "It speaks about the pairs that were tried and nothing else: an audit can refute a claim, and cannot prove one."
    inside = "\n".join([*body, f"<p><small>{escape(limits)}</small></p>"])
    return _PAGE.format(title=f"Audit of {escape(report.function)}", style=_STYLE, inside=inside)


def _facts(report: Report) -> str:
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


def _sentence(text: str) -> str:
    return escape(text[:1].upper() + text[1:] + ".")
