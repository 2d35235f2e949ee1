"""What the Python client reports for given random words: the vectors by which other clients are held to it.

``python tests/local/make_vectors.py`` writes them to vectors.json, beside this file. Some words agree with a coin's
probability in its first 64 or 128 binary digits, and some must be refused by a uniform draw; chance would never show those.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import discreet as dp
from discreet.errors import ValueRefused
from discreet.local.frequencies import Frequencies
from discreet.local.hashing import Hashing
from discreet.local.projective import Projective
from discreet.local.protocol import likely
from discreet.local.subset import Subset
from discreet.local.unary import Unary
from discreet.noise.coins import Chance
from discreet.noise.recorded import replay

FILE = Path(__file__).with_name("vectors.json")

_LONG = 2000
_ONES = 2**64 - 1
_ODD = 'Quotes " and \\, controls \n\x01\x7f, 日本, 🧑‍⚕️, \u2028?'


def tasks() -> list[tuple[Frequencies, list[object]]]:
    """Tasks, and answers to each: some inside the domain, some not."""
    f = Frequencies
    hair = ["dark", "blond", "brown", "red"]
    return [
        (dp.local.Bit(epsilon=1), [True, False, 1, "yes"]),
        (dp.local.Bit(epsilon=0.1, missing=False, question=_ODD, period="2026-03"), [True, False, None]),
        (f(hair, epsilon=1), ["dark", "red", "green", 0]),
        (f(hair, epsilon=1, missing="random"), ["dark", "red", "green"]),
        (f([True, "a", 0, -7, "é", "🧑‍⚕️"], epsilon=2, protocol="k-ary", missing="a"), [True, 0, -7, "🧑‍⚕️", "0", 3.5]),
        (f(range(100), epsilon=4, protocol="k-ary", missing="random"), [0, 99, 100, -1, 2.5]),
        (f(range(3), epsilon=1000), [2]),
        (f(range(3), epsilon=1e-100), [2]),
        (f(range(3), epsilon=Fraction(355, 113), protocol="subset"), [2]),
        (f(range(-5, 50, 7), epsilon=3, protocol="subset"), [-5, 44, 2]),
        (f(range(50, -5, -7), epsilon=0.5, protocol="subset", missing=1), [50, 1, 0]),
        (f(range(400), epsilon=4, protocol="subset"), [0, 255, 399]),
        (f(range(8), epsilon=1, protocol="subset"), [7]),  # the shortest list that is a list
        (f(range(16), epsilon=1, protocol="subset"), [7]),  # a list as long as the bits, which are sent
        (f(range(13), epsilon=0.5, protocol="projective"), list(range(13))),
        (f(range(150), epsilon=1), [149]),
        (f(range(1000), epsilon=1, protocol="projective"), [0, 1, 364, 999]),
        (f(range(5000), epsilon=4, protocol="projective", missing="random"), [0, 4999, 5000]),
        (f(range(21), epsilon=1, protocol="unary"), [0, 7, 8, 20]),
        (f(range(8), epsilon=0.001, protocol="unary", missing="random"), [0, 7, 9]),
        (f(range(9), epsilon=8, protocol="unary"), [8]),
        (f(hair, epsilon=1, protocol="hashing"), ["dark", "red"]),
        (f(dp.text(), epsilon=3), ["", "word", "日本", "🧑‍⚕️", "\ud800", 5]),
        (f(dp.text(), epsilon=0.3, missing="random"), ["word", None]),
        (f(dp.text(), epsilon=9, missing="other"), ["word", False]),
    ]


def build() -> dict[str, object]:
    """All vectors, and the hashes of tasks whose texts have every length modulo 64."""
    listed: list[dict[str, object]] = []
    for task, values in tasks():
        cases = [case for value in values for case in _cases(task, value)]
        listed.append({"task": task.to_json(), "hash": task.hash, "cases": cases})
    lengths = [dp.local.Bit(epsilon=1, period="x" * length) for length in range(64)]
    return {"vectors": listed, "hashes": [[task.to_json(), task.hash] for task in lengths]}


def _cases(task: Frequencies, value: object) -> Iterator[dict[str, object]]:
    for number, words in enumerate(_tapes(task, value)):
        nonce = number == 0
        try:
            done = replay(lambda nonce=nonce: task.randomize(value, nonce=nonce), words)
        except ValueRefused:
            yield {"value": value, "refused": True}
            return
        used = words[: len(words) - done.words_left]
        yield {"value": value, "nonce": nonce, "words": [f"{word:x}" for word in used], "report": done.value.to_json()}


def _tapes(task: Frequencies, value: object) -> Iterator[list[int]]:
    """Random words as they come, and the ones that chance would not show."""
    plain = _stream(f"{task.hash} {value!r}")
    yield plain
    yield from ([*plain[:place], _ONES, _ONES, *plain[place:]] for place in (1, 2))
    before = [0] if task.domain.missing == "random" else []
    if isinstance(task.protocol, Unary):
        yield from ([*before, *tape, *plain] for tape in _byte_ties(task.protocol))
        return
    if isinstance(task.protocol, Hashing):
        before.append(plain[0])
    chance = _coin(task)
    first, second, third = (chance.digits(count)[0] & _ONES for count in (64, 128, 192))
    yield [*before, first, max(second - 1, 0), *plain]
    yield [*before, first, min(second + 1, _ONES), *plain]
    yield [*before, first, second, max(third - 1, 0), *plain]


def _coin(task: Frequencies) -> Chance:
    """The protocol's only coin."""
    protocol = task.protocol
    inside, all_of_them = 1, protocol.size
    if isinstance(protocol, Subset):
        inside = protocol.weight
    elif isinstance(protocol, Projective):
        inside, all_of_them = protocol.geometry.on_a_hyperplane, protocol.geometry.points
    elif isinstance(protocol, Hashing):
        all_of_them = protocol.buckets
    return Chance(likely(inside, all_of_them - inside, protocol.epsilon))


def _byte_ties(protocol: Unary) -> Iterator[list[int]]:
    """Every bit's byte agrees with its probability; so do the 64 digits that follow, for some of the bits."""
    digits = Chance(protocol._lie).digits(136)[0]
    byte, first, second = digits >> 128, digits >> 64 & _ONES, digits & _ONES
    same = [int.from_bytes(bytes([byte] * 8), "little")] * -(-protocol.size // 8)
    yield same
    decided = ([first, 0, _ONES] * protocol.size)[: protocol.size]
    yield [*same, *decided, second - 1, second + 1, second]
    yield [*same, *[0] * protocol.size, 2**63]


def _stream(name: str) -> list[int]:
    """Words that look random and are the same everywhere."""
    blocks = (hashlib.sha256(f"{name} {block}".encode("utf-8", "backslashreplace")).digest() for block in range(_LONG // 4))
    return [int.from_bytes(block[start : start + 8], "little") for block in blocks for start in range(0, 32, 8)]


if __name__ == "__main__":
    FILE.write_text(json.dumps(build(), separators=(",", ":")).replace('{"task"', '\n{"task"') + "\n")
