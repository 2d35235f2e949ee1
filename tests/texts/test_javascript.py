"""The JavaScript client on texts: equal to Python word for word, by the same rules for every character, and hard to fool."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from local.test_javascript import CLIENT, HERE, PAGE, asked, browser, checked_in_node, node
from reference import statistics
from support.depth import deep
from texts import make_vectors

from discreet.balls import precision
from discreet.local import read_task
from discreet.texts import Substitute, Tokenizer, Tree

CHECKS = HERE / "check_vectors.js"


def test_python_still_makes_the_vectors() -> None:
    """A change that fails here changes what clients in the field send: it needs a new version of tasks, not new vectors."""
    assert json.loads(json.dumps(make_vectors.build())) == json.loads(make_vectors.FILE.read_text())


def test_node_makes_the_same_reports_of_the_same_words(tmp_path: Path) -> None:
    vectors = json.loads(make_vectors.FILE.read_text())
    result = checked_in_node(tmp_path, vectors)
    assert result["failures"] == []
    cases = sum(2 + len(one["cases"]) for one in vectors["vectors"])
    assert result["checked"] == cases + sum(1 + len(one["steps"]) for one in vectors["lives"])


def test_fresh_substitutes_have_the_law_that_python_states() -> None:
    """Two comparisons, each with a false alarm in less than one of 1e7 runs."""
    draws, tasks = 4_000, [make_vectors.tasks()[9], make_vectors.tasks()[13]]
    answers = asked([{"task": task.to_json(), "value": "rome", "draws": draws} for task in tasks])
    for task, reports in zip(tasks, answers, strict=True):
        assert isinstance(task, Substitute)
        law, code = task.protocol, int(task.codes(["rome"])[0, 0])
        seen = np.bincount([json.loads(report)["r"][0] for report in reports], minlength=law.distance.size)
        with precision(100):
            hoped = np.array([float(law.word_likelihood(out, code)) for out in range(law.distance.size)])
        assert statistics.chi_square(seen, hoped * draws) > statistics.ALARM


def test_words_are_the_same_for_every_character(tmp_path: Path) -> None:
    """All of Unicode that this Python knows, alone and beside letters, digits and an apostrophe: the same tokens in Node. Usually
    those of most scripts, and of the rest every eighth.

    (Characters that one side knows and the other does not yet are no words on that side; a task's words are public, so nobody is
    exposed by that.)
    """
    known = [chr(place) for place in range(0x110000) if unicodedata.category(chr(place)) not in ("Cn", "Cs")]
    scripts = sum(sign < "\u3000" for sign in known)
    known = [*known[:scripts], *known[scripts :: deep(1, 8)]]
    lines = ["".join(f"{sign} a{sign}1'{sign} " for sign in known[start : start + 500]) for start in range(0, len(known), 500)]
    rules = Tokenizer()
    script = f"""
    const client = require({json.dumps(str(CLIENT))});
    const words = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
    process.stdout.write(JSON.stringify(words.map((line) => client.tokens(line, {json.dumps(rules.facts)}))));"""
    (tmp_path / "tokens.js").write_text(script)
    (tmp_path / "lines.json").write_text(json.dumps(lines))
    told = json.loads(node(tmp_path / "tokens.js", str(tmp_path / "lines.json")))
    wrong = [line for line, theirs in zip(lines, told, strict=True) if theirs != rules.tokens(line)]
    assert len(wrong) == 0


def changed(task: Substitute, **changes: dict[str, object]) -> str:
    facts = json.loads(task.to_json())
    for place, change in changes.items():
        facts[place] = {**facts[place], **change} if isinstance(change, dict) else change
    return json.dumps(facts)


TREE, METRIC, KARY = (make_vectors.tasks()[place] for place in (9, 13, 7))
DEARER = str(2 * TREE.protocol.rate)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        changed(TREE, protocol={"rate": DEARER}),  # type: ignore[arg-type]
        changed(TREE, protocol={"rate": "0"}),  # type: ignore[arg-type]
        changed(TREE, protocol={"law": "k-ary"}),  # type: ignore[arg-type]
        changed(TREE, protocol={"length": 0}),  # type: ignore[arg-type]
        changed(TREE, epsilon="1"),  # type: ignore[arg-type]
        changed(TREE, distance={"steps": [1, 1, 0]}),  # type: ignore[arg-type]
        changed(TREE, distance={"classes": ["AAAA", "AAAA"]}),  # type: ignore[arg-type]
        changed(TREE, distance={"kind": "circle"}),  # type: ignore[arg-type]
        changed(TREE, vocabulary={"unknown": "elsewhere"}),  # type: ignore[arg-type]
        changed(TREE, vocabulary={"words": ["no words", "x"]}),  # type: ignore[arg-type]
        changed(METRIC, protocol={"rate": "1/2"}),  # type: ignore[arg-type]
        changed(METRIC, distance={"grid": 1}),  # type: ignore[arg-type]
        changed(METRIC, distance={"numbers": 2}),  # type: ignore[arg-type]
        changed(KARY, protocol={"each": "3"}),  # type: ignore[arg-type]
        changed(KARY, protocol={"law": "metric"}),  # type: ignore[arg-type]
    ],
)
def test_a_task_that_was_tampered_with_is_refused_in_both(text: str) -> None:
    (said,) = asked([{"task": text, "value": "rome"}])
    assert isinstance(said, str)
    assert said.startswith("TaskRefused")
    with pytest.raises(ValueError, match=r"."):
        read_task(text)


def test_the_page_may_show_the_substituted_text(tmp_path: Path) -> None:
    task = Substitute(make_vectors.WORDS, 1000, length=5, tree=Tree(make_vectors.WORDS, make_vectors.DAYS))
    lines = f"""
    const task = require({json.dumps(str(CLIENT))}).readTask({json.dumps(task.to_json())});
    const said = [task.text(task.randomize("London, Monday"))];
    for (const value of [5, null, undefined, "x".repeat(2 ** 21 + 1), ["rome"]]) {{
      try {{ said.push(task.randomize(value)); }} catch (error) {{ said.push(error.name); }}
    }}
    process.stdout.write(JSON.stringify(said));"""
    (tmp_path / "shown.js").write_text(lines)
    assert json.loads(node(tmp_path / "shown.js")) == ["london monday", *["ValueRefused"] * 5]


def test_a_browser_makes_the_same_reports_of_texts(tmp_path: Path) -> None:
    """As a classic script and as a module, by the browser's own tables of Unicode."""
    files = {path.name: path.read_text() for path in (CHECKS, make_vectors.FILE)}
    with browser(tmp_path, {"index.html": PAGE, **files}, ["index.html"]) as ear:
        said = ear.get(timeout=600)
    results: list[dict[str, object]] = said["results"]  # type: ignore[assignment]
    assert [result["failures"] for result in results] == [[], []]
    assert all(result["checked"] > 500 for result in results)  # type: ignore[operator]
