"""`discreet text`: tasks about texts, substituted documents and attacks, from files to files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as dp

Run = Callable[..., int]
Said = pytest.CaptureFixture[str]


@pytest.fixture
def texts() -> str:
    Path("texts.txt").write_text("Call me at HOME\n\nfree free call now\n" * 300)
    return "texts.txt"


def refused(run: Callable[[], int], capsys: Said, sentence: str) -> None:
    """Exit code 2, one sentence, nothing on standard output."""
    capsys.readouterr()
    assert run() == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert said.out == ""


def test_a_survey_of_words_from_list_to_table(discreet: Run, capsys: Said, texts: str) -> None:
    """The share of nothing is a third; off by more than 0.2 in less than one of 1e20 runs."""
    Path("words.txt").write_text("call\nfree\nhome\nnow\n")
    assert (
        discreet("text", "task", "shares", "--words", "words.txt", "--epsilon", "8", "--people", "900", "-o", "w.task.json") == 0
    )
    said = capsys.readouterr().err
    assert "Wrote w.task.json: word shares, epsilon 8 a report." in said
    assert "standard error" in said
    assert discreet("local", "randomize", "w.task.json", texts, "-o", "r.jsonl") == 0
    assert discreet("local", "collect", "w.task.json", "r.jsonl", "-o", "w.state.json") == 0
    assert discreet("local", "estimate", "w.state.json", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert isinstance(rows, dict | list)
    collector = dp.local.read_collector(Path("w.state.json").read_text())
    assert abs(collector.estimate()["<nothing>"] - 1 / 3) < 0.2  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("phrases", "--run-of", "2", "--length", "6", "--epsilon", "4"), "phrases"),
        (("topics", "--topics", "topics.json", "--epsilon", "1"), "topics"),
        (("shares", "--english", "50", "--epsilon", "4"), "word shares"),
        (("substitute", "--english", "50", "--length", "4", "--epsilon", "4"), "substitution"),
        (("substitute", "--english", "50", "--length", "4", "--epsilon", "4", "--tree", "brown"), "substitution"),
        (("substitute", "--english", "50", "--length", "4", "--epsilon", "4", "--distance", "brown"), "substitution"),
        (("substitute", "--words", "two.txt", "--length", "4", "--epsilon", "4", "--tree", "classes.json"), "substitution"),
        (("substitute", "--words", "two.txt", "--length", "4", "--epsilon", "4", "--distance", "glove.txt"), "substitution"),
    ],
)
def test_tasks_are_those_of_python(words: tuple[str, ...], kind: str, discreet: Run, capsys: Said, texts: str) -> None:
    """Every kind is written, read back, and randomises texts."""
    Path("topics.json").write_text('{"call": ["call"], "free": ["free"]}')
    Path("two.txt").write_text("call\nfree\n")
    Path("classes.json").write_text('{"call": ["x"], "free": ["x"]}')
    Path("glove.txt").write_text("call 1 0\nfree 0 1\n")
    assert discreet("text", "task", *words) == 0
    said = capsys.readouterr()
    made = dp.local.read_task(said.out)
    assert (made.kind, made.to_json() + "\n") == (kind, said.out)
    assert ("a document" in said.err) == (kind == "substitution")
    Path("t.task.json").write_text(said.out)
    assert discreet("local", "randomize", "t.task.json", texts, "-o", "r.jsonl") == 0
    assert len(Path("r.jsonl").read_text().splitlines()) == 900


def test_documents_are_substituted_and_attacked(discreet: Run, capsys: Said, texts: str) -> None:
    assert discreet("text", "vocabulary", "--english", "300", "-o", "words.txt") == 0
    task = ("text", "task", "substitute", "--words", "words.txt", "--tree", "brown", "--epsilon", "6", "--length", "4")
    assert discreet(*task, "-o", "chat.task.json") == 0
    capsys.readouterr()
    assert discreet("text", "substitute", "chat.task.json", texts, "-o", "released.txt") == 0
    said = capsys.readouterr().err
    assert "900 documents; each cost epsilon 24" in said
    assert "of 4 words: epsilon 24, the sum over its words" in said
    assert len(Path("released.txt").read_text().splitlines()) == 900
    assert discreet("text", "substitute", "chat.task.json", texts, "--json", "-o", "-") == 0
    assert json.loads(capsys.readouterr().out)["terms"]["document"] == 24
    Path("few.txt").write_text("call me\nnow at home\n" * 4)
    attack = ("text", "attack", "chat.task.json", "--texts", "few.txt", "--epsilons", "1,8", "--plot", "attack.svg")
    assert discreet(*attack) == 0
    out = capsys.readouterr().out
    assert out.count("and in context (pairs)") == 2
    assert "tree, epsilon 8 a word, 32 a document" in out
    assert "<svg" in Path("attack.svg").read_text()


def test_wrong_words_are_refused_in_a_sentence(discreet: Run, capsys: Said, texts: str) -> None:
    task = ("text", "task", "substitute", "--epsilon", "4")
    refused(lambda: discreet(*task, "--length", "5"), capsys, "Which vocabulary?")
    refused(lambda: discreet(*task, "--english", "50"), capsys, "How long is a document?")
    refused(lambda: discreet(*task, "--english", "50", "--length", "3", "--run-of", "2"), capsys, "--run-of does not belong")
    refused(lambda: discreet("text", "task", "topics", "--epsilon", "4"), capsys, "Which topics?")
    refused(lambda: discreet("text", "vocabulary"), capsys, "Which words?")
    Path("bad.json").write_text("{")
    refused(lambda: discreet("text", "task", "topics", "--epsilon", "4", "--topics", "bad.json"), capsys, "is not JSON")
    assert discreet("text", "task", "shares", "--english", "50", "--epsilon", "4", "-o", "w.task.json") == 0
    refused(lambda: discreet("text", "task", "shares", "--english", "9", "--epsilon", "4", "-o", "w.task.json"), capsys, "exists")
    refused(lambda: discreet("text", "substitute", "w.task.json", texts), capsys, "another kind")
    assert discreet(*task, "--english", "50", "--length", "3", "-o", "c.task.json") == 0
    refused(lambda: discreet("text", "attack", "c.task.json", "--epsilons", "one"), capsys, "numbers between commas")
    refused(lambda: discreet("text", "substitute", "c.task.json", texts, "-o", texts), capsys, "would be overwritten")
