"""Vectors that the JavaScript client must give for texts: tasks, texts, the random words used, and the report.

Run ``python -m texts.make_vectors`` in ``tests`` to write them anew; a change of old ones changes what clients in the field send.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from local.make_vectors import _hex, _life, _stream
from support.recorded import replay
from texts.laws import DAYS, WORDS, matrix, scattered
from texts.test_substitution import on_boundaries

from discreet.errors import ValueRefused
from discreet.local.task import Task
from discreet.texts import Phrases, Substitute, Tokenizer, Topics, Tree, Vocabulary, WordShares

FILE = Path(__file__).parent / "vectors.json"
_ONES = 2**64 - 1

TEXTS: list[object] = [
    "",
    "It’s 12:30 on Monday, call 4U",
    "London! PARIS_rome 'tis rock'n'roll '",
    "mail (me@x.org), <a.b+c@d.co.uk>; a@b @c red",
    "see https://x.org/?q=1, WWW.X.ORG! http:// www. www.🧑🧑🧑🧑 blue",
    "3 3.14 1,000 99999 0171-123456 3rd 1.a 1:2:3x",
    "１２３ ﬁne Straße ٣ हिन्दी में cafe\u0301 CAFÉ İstanbul ὈΔΥΣΣΕΎΣ ǅ 日本語 😀 \x00 \x85 \x1c \ufeff \u2028 x",
    "\ud800abc \udfff",
    "monday " * 9,
    5,
    None,
]


def tasks() -> list[Task]:
    keep = Vocabulary(["Monday", "London", "3rd", "99999"], tokenizer=Tokenizer("NFC", "keep", ("email",)), unknown="drop")
    tree = Tree(WORDS, DAYS)
    topics = {"place": ["london", "paris", "rome"], "time": ["monday", "friday"], "both": ["monday", "rome"]}
    return [
        WordShares(WORDS, 1),
        WordShares(keep, 4, protocol="subset", question="日本"),
        WordShares(Vocabulary(["a", "b"], unknown="b"), Fraction(1, 3)),
        Phrases(4),
        Phrases(2, words=2, length=6, alphabet=None, tokenizer=Tokenizer(classes=())),
        Topics(topics, 1),
        Topics(topics, 3, otherwise="none", protocol="subset", tokenizer=Tokenizer(case="lower", classes=("url",))),
        Substitute(WORDS, 2, length=4),
        Substitute(keep, 9, length=2, period="2026-03"),
        Substitute(WORDS, 2, length=3, tree=tree),
        Substitute(WORDS, Fraction(1, 10**30), length=1, tree=tree),
        Substitute(WORDS, 60, length=2, tree=Tree(WORDS, DAYS, steps=(0, 1, 3))),
        Substitute(WORDS, 3, length=3, distance=tree),
        Substitute(WORDS, 5, length=3, distance=scattered(WORDS, 3, 1)),
        Substitute(WORDS, 400, length=3, distance=scattered(WORDS, 7, 2, grid=30)),
        Substitute(WORDS, Fraction(7, 3), length=3, distance=matrix(WORDS, 4)),
    ]


def build() -> dict[str, object]:
    """All vectors."""
    listed = [
        {"task": task.to_json(), "hash": task.hash, "cases": [case for text in TEXTS for case in _cases(task, text)]}
        for task in tasks()
    ]
    bit, talk, about = tasks()[0], tasks()[9], tasks()[5]
    steps: list[tuple[Task, object]] = [(bit, "red"), (talk, "Monday in Rome"), (about, ""), (talk, "x"), (bit, "blue"), (bit, 3)]
    return {"vectors": listed, "hashes": [], "lives": [_life("texts", Fraction(13), steps)]}


def _cases(task: Task, text: object) -> Iterator[dict[str, object]]:
    for number, tape in enumerate(_tapes(task, text)):
        nonce = number == 0
        try:
            done = replay(lambda nonce=nonce: task.randomize(text, nonce=nonce), tape)
        except ValueRefused:
            yield {"value": text, "refused": True}
            return
        used = tape[: len(tape) - done.words_left]
        yield {"value": text, "nonce": nonce, "words": _hex(used), "report": done.value.to_json()}


def _tapes(task: Task, text: object) -> Iterator[list[int]]:
    """Random words as they come, and on the boundaries of the first word's law."""
    plain = _stream(f"{task.hash} {text!r}")
    yield plain
    yield [*plain[:1], _ONES, _ONES, *plain[1:]]
    if isinstance(task, Substitute) and isinstance(text, str):
        yield [0, *plain]
        first = int(np.asarray(task.codes([text]))[0, 0])
        for one, other, *_ in on_boundaries(task.protocol, first)[:4]:
            yield [one, *plain[: task.length - 1], other, *plain]


if __name__ == "__main__":
    FILE.write_text(json.dumps(build(), separators=(",", ":")).replace('{"task"', '\n{"task"') + "\n")
