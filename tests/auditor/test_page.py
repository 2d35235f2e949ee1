"""The page: complete in itself, well formed, and everything that it quotes is escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from support.depth import spread

import discreet as dp
from discreet.auditor.cases import read_pairs
from discreet.auditor.finding import Finding
from discreet.auditor.page import draw_tradeoff, render_page
from discreet.auditor.report import Report

EVIL = "<script>alert('&')</script>"
SEEN = Finding(True, 1.5, 0.0, "epsilon=1", 300, 0.05, f"output is {EVIL}", (90, 10), (150, 150))
CASE = read_pairs([([EVIL], [])])[0]
REPORT = Report(f"{EVIL}.py::f", "function = len", "epsilon=1", "epsilon=1", dp.pure(1), 1, 0.05, 0, 300, 1.0, CASE, SEEN)
VOID = {"meta"}


class Balanced(HTMLParser):
    """Keeps the open tags, and fails where one is closed that is not the last."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        for name, value in attrs:
            assert name not in ("src", "href", "onload"), (tag, name, value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_everything_is_escaped_and_nothing_is_fetched() -> None:
    text = render_page(REPORT)
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert "script" not in parser.seen
    assert EVIL not in text
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)


def test_it_says_what_was_found() -> None:
    text = render_page(REPORT)
    for words in (
        "Violated: the claim epsilon=1 is refuted by 300 draws",
        "epsilon is at least 1.5",
        "error probability",
        "witness",
    ):
        assert words in text
    assert "is private" not in text


@pytest.mark.parametrize("claim", [dp.pure(1), dp.approximate(1, 1e-3), dp.zcdp(0.5), dp.gdp(1)], ids=repr)
def test_the_picture_has_the_claim_the_certified_curve_and_the_event(claim: dp.Privacy) -> None:
    root = ElementTree.fromstring(draw_tradeoff(claim, SEEN))
    classes = [node.get("class") for node in root.iter()]
    for name in ("claimed", "certified", "beyond", "seen", "guessing"):
        assert name in classes
    drawn = next(n for n in root.iter() if n.get("class") == "claimed" and len(n.get("points", "").split()) > 10)
    points = [tuple(map(float, point.split(","))) for point in drawn.get("points", "").split()]
    for x, y in spread(points, 20):  # back to rates: the curve is the guarantee's own
        fpr, fnr = (x - 58) / 400, 1 - (y - 14) / 400
        assert fnr == pytest.approx(claim.tradeoff(min(max(round(fpr, 6), 0), 1)), abs=0.01)


def test_a_replay_has_no_curve_to_show() -> None:
    text = render_page(replace(REPORT, finding=None, difference="release 1 moved by 5"))
    assert "<svg" not in text
    assert "release 1 moved by 5" in text


def test_the_event_is_a_point_below_guessing() -> None:
    dot = next(n for n in ElementTree.fromstring(draw_tradeoff(dp.pure(1), SEEN)).iter() if n.get("class") == "seen")
    assert float(dot.get("cx", "")) == pytest.approx(58 + 400 * 10 / 150, abs=0.1)
    assert float(dot.get("cy", "")) == pytest.approx(14 + 400 * 90 / 150, abs=0.1)
    other = replace(SEEN, hits=(10, 90))
    assert draw_tradeoff(dp.pure(1), other) == draw_tradeoff(dp.pure(1), SEEN)
