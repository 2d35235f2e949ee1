"""Every public name stands on a page, in full, and every page is linked from the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet as dp

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
PLACES = [ROOT / "src" / "discreet", *(ROOT / "src" / "discreet").glob("*/")]
TEXT = "\n".join(page.read_text() for page in PAGES)
ROOMS = ("calibrate", "errors", "filters", "formulas", "learn", "local", "needed", "plots", "sensitivity", "texts")
NAMES = [f"dp.{name}" for name in dir(dp)] + [f"dp.{room}.{name}" for room in ROOMS for name in getattr(dp, room).__all__]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_stands_on_a_page(name: str) -> None:
    assert re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", TEXT), f"{name} is on no page of docs/"


def test_no_page_speaks_of_names_that_there_are_not() -> None:
    spoken = set(re.findall(r"(?<![\w.])dp\.(\w+)", TEXT + (ROOT / "README.md").read_text()))
    assert spoken <= set(dir(dp))
    for room in ROOMS:
        assert set(re.findall(rf"(?<![\w.])dp\.{room}\.(\w+)", TEXT)) <= set(getattr(dp, room).__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_linked_from_the_readme(page: Path) -> None:
    assert f"docs/{page.name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_every_command_stands_on_a_page() -> None:
    from discreet.cli import app

    commands = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    text = TEXT + (ROOT / "README.md").read_text()
    for name in commands:
        assert re.search(rf"discreet {name}\b", text), f"discreet {name} is on no page"


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"], ids=lambda page: page.name)
def test_the_map_names_files_that_there_are(page: Path) -> None:
    for name in re.findall(r"`([\w./-]+(?:/|\.py|\.js))`", page.read_text()):
        assert any((place / name).exists() for place in (ROOT, ROOT / "src", *PLACES)), name
