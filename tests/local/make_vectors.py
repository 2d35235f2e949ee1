"""What the Python client reports for given random words: the vectors by which other clients are held to it.

``python tests/local/make_vectors.py`` writes them to vectors.json, beside this file. Some words agree with a coin's
probability in its first 64 or 128 binary digits, and some must be refused by a uniform draw; chance would never show those.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

from support.recorded import replay

import discreet as dp
from discreet.balls import arb, ball
from discreet.errors import BudgetExceeded, ValueRefused
from discreet.local.protocols.affine import Affine
from discreet.local.protocols.base import FrequencyProtocol, chance_inside
from discreet.local.protocols.hashing import Hashing
from discreet.local.protocols.memoised import Memoised
from discreet.local.protocols.numbers.duchi import Duchi
from discreet.local.protocols.numbers.hybrid import Hybrid
from discreet.local.protocols.numbers.laplace import Laplace
from discreet.local.protocols.numbers.square_wave import SquareWave
from discreet.local.protocols.prefixes import Prefixes
from discreet.local.protocols.projective import Projective
from discreet.local.protocols.subset import Subset
from discreet.local.protocols.unary import Unary
from discreet.local.task import Task
from discreet.local.tasks.frequencies import Frequencies
from discreet.noise.coins import Chance
from discreet.noise.laplace import _split

FILE = Path(__file__).with_name("vectors.json")

_LONG = 2000
_ONES = 2**64 - 1
_ODD = 'Quotes " and \\, controls \n\x01\x7f, 日本, 🧑‍⚕️, \u2028?'


def tasks() -> list[tuple[Task, list[object]]]:
    """Tasks, and answers to each: some inside the domain, some not."""
    return [*frequencies(), *numbers(), *noisy(), *again(), *words(), *several()]


def frequencies() -> list[tuple[Task, list[object]]]:
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
        (f(range(1000), epsilon=1), [0, 1, 999]),
        (f(range(300), epsilon=4, protocol="affine"), [0, 299]),
        (f(range(10**6), epsilon=8), [0, 2388, 2389, 999_999]),
        (f(range(2**24), epsilon=1, missing="random"), [0, 2**24 - 1, -1]),
        (f(range(2**24), epsilon=12), [2**24 - 1]),  # the largest reports
        (f(range(21), epsilon=1, protocol="unary"), [0, 7, 8, 20]),
        (f(range(8), epsilon=0.001, protocol="unary", missing="random"), [0, 7, 9]),
        (f(range(9), epsilon=8, protocol="unary"), [8]),
        (f(hair, epsilon=1, protocol="hashing"), ["dark", "red"]),
        (f(dp.text(), epsilon=3), ["", "word", "日本", "🧑‍⚕️", "\ud800", 5]),
        (f(dp.text(), epsilon=0.3, missing="random"), ["word", None]),
        (f(dp.text(), epsilon=9, missing="other"), ["word", False]),
    ]


def numbers() -> list[tuple[Task, list[object]]]:
    mean, shape = dp.local.Mean, dp.local.Distribution
    thirds = (Fraction(1, 3), Fraction(22, 7))
    return [
        (mean(0, 15, epsilon=0.5, step=1), [0, 0.5, 1.5, 2.5, 15, 99, -1e300, True, "7", None]),  # halves go to the even one
        (mean(-1, 1, epsilon=0.1, missing="random"), [-1, 0.1, 1, None]),
        (mean(*thirds, epsilon=1e-100, protocol="duchi", missing=1), [0.5, 3.1, "x"]),
        (mean(0, 1, epsilon=1000, step=1, protocol="duchi"), [0, 1]),
        (mean(0, 15, epsilon=1, step=1), [0, 0.5, 7, 15, 2**70, "7"]),
        (mean(-0.1, 0.7, epsilon=4, missing=0.3, period="2026-03"), [-0.1, 0.123456789, 0.7, False, None]),
        (mean(0, 1, epsilon=2, protocol="hybrid", step=Fraction(1, 2**40), missing="random"), [0.1, 0.999, "x"]),
        (mean(*thirds, epsilon=1e-100, protocol="hybrid"), [2]),
        (mean(0, 9, epsilon=1000, protocol="hybrid"), [0, 4, 9]),
        (shape(0, 100, epsilon=1), [0, 33.3, 99.999, 100, 101, "1"]),
        (shape(*thirds, epsilon=3, bins=7, missing="random"), [0.4, 1, 3, None]),
        (shape(-(2**60), Fraction(1, 10), epsilon=0.1, bins=2, missing=0), [-(2**59), 5, None]),
        (shape(0, 1, epsilon=1000, bins=2**14), [0.3]),
    ]


def noisy() -> list[tuple[Task, list[object]]]:
    """Laplace noise of all scales: one word a draw up to 2^26 steps, and two above."""

    def mean(steps: int, epsilon: object, **more: object) -> dp.local.Mean:
        return dp.local.Mean(0, 1, epsilon=epsilon, step=Fraction(1, steps), protocol="laplace", **more)  # type: ignore[arg-type]

    return [
        (dp.local.Mean(0, 15, epsilon=1, step=1, protocol="laplace"), [0, 0.5, 7, 15, "7"]),
        (mean(1, 1000), [0, 1]),
        (mean(3, Fraction(355, 113), missing="random", question=_ODD), [0.4, None]),
        (mean(10**6, 0.1, missing=1), [0.123456789, None]),
        (mean(2**26, 1), [0.5]),
        (mean(2**26, Fraction(99, 100), missing="random"), [0.5, "x"]),
        (mean(2**40, 1), [0, 0.3]),
        (mean(2**40, Fraction(1, 80)), [1]),  # just below 2^53 reports
    ]


def again() -> list[tuple[Task, list[object]]]:
    repeated = dp.local.Repeated
    return [
        (repeated(["good", "bad"], 0.5, permanent=2, values=1, question=_ODD), ["good", "bad", "else"]),
        (repeated(range(20), 1, permanent=Fraction(355, 113), values=7, missing="random", period="2026-03"), [0, 19, 20]),
        (repeated(["a", "b", "c"], 1e-100, permanent=1.5, values=3, missing="b"), ["a", None]),
        (repeated([True, False], 1e-100, permanent=2e-100, values=2), [True]),  # whose permanent coin is fair to 256 digits
        (repeated(range(3), 999, permanent=1000, values=1), [1]),
    ]


def words() -> list[tuple[Task, list[object]]]:
    hitters, letters = dp.local.HeavyHitters, "abcdefghijklmnopqrstuvwxyz"
    return [
        (hitters(epsilon=4), ["word", "longer than eight", "日本語", "🧑‍⚕️", "", "a\0b", "\ud800", 5]),
        (hitters(epsilon=1, length=2, missing="random"), ["é", "日", None]),
        (hitters(epsilon=8, length=5, alphabet=letters, missing="random"), ["cab", "abcdef", "Cab"]),
        (hitters(epsilon=2, length=3, alphabet="ab🧑é", missing="ba"), ["🧑é🧑é", "bab!", "!", "a"]),
        (hitters(epsilon=0.5, length=64), ["x" * 64, "é" * 33]),
    ]


def several() -> list[tuple[Task, list[object]]]:
    members = {
        "\ufb01": dp.local.Bit(epsilon=1),
        "🧑": dp.local.Mean(0, 15, epsilon=1, missing="random"),  # behind the one before, though not by halves of pairs
        "age, in years": dp.local.Distribution(0, 100, epsilon=0.5, bins=10),
        "10": Frequencies(range(20), epsilon=0.5, protocol="subset"),
        "9": dp.local.HeavyHitters(epsilon=1, length=2),
        "__proto__": Frequencies(range(9), epsilon=1, protocol="hashing"),
    }
    good = {"\ufb01": True, "🧑": 7, "age, in years": 50, "10": 3, "9": "go", "__proto__": 8}
    both = {"a": dp.local.Bit(epsilon=0.1), "b": dp.local.Mean(0, 1, epsilon=2, missing=1)}
    mood = dp.local.Repeated(["good", "bad"], 0.5, permanent=2, values=1)
    loud = {"mood": mood, "noise": dp.local.Mean(0, 15, epsilon=1, step=1, protocol="laplace")}
    return [
        (dp.local.Attributes(members, question=_ODD), [good, {**good, "🧑": None}, {**good, "9": "日本"}]),
        (dp.local.Attributes(both), [{"a": True, "b": 0.5}, {"b": None, "a": False}, {"a": True}, {"a": 2, "b": 1}, {}, None]),
        (dp.local.Attributes(loud), [{"mood": "bad", "noise": 7}, {"mood": "else", "noise": 7}]),
    ]


def build() -> dict[str, object]:
    """All vectors, and the hashes of tasks whose texts have every length modulo 64."""
    listed: list[dict[str, object]] = []
    for task, values in tasks():
        cases = [case for value in values for case in _cases(task, value)]
        listed.append({"task": task.to_json(), "hash": task.hash, "cases": cases})
    lengths = [dp.local.Bit(epsilon=1, period="x" * length) for length in range(64)]
    return {"vectors": listed, "hashes": [[task.to_json(), task.hash] for task in lengths], "lives": [*lives()]}


def lives() -> Iterator[dict[str, object]]:
    """What people's clients report, and their ledgers after it."""
    repeated, moods = dp.local.Repeated, ["good", "bad", "so so"]
    mood, later = (repeated(moods, 0.5, permanent=Fraction(3, 4), values=2, period=period) for period in ("", "later"))
    bit, hair = dp.local.Bit(epsilon=0.1), Frequencies(["dark", "red"], Fraction(1, 3), missing="random")
    steps: list[tuple[Task, object]] = [(bit, True), (mood, "good"), (hair, "green"), (mood, "good"), (bit, 5), (mood, "else")]
    steps += [
        (mood, "bad"),
        (dp.local.Mean(0, 1, epsilon=0.2, protocol="laplace"), 0.7),
        (mood, "so so"),
        (later, "good"),
        (mood, "bad"),
        (bit, True),
    ]
    yield _life("a day", Fraction(31, 10), steps)
    for values in (20, 5, 1):  # every value has a response of its own; then most have one of a few others
        many = repeated(range(20), 0.3, permanent=2, values=values)
        yield _life(f"{values} of twenty", Fraction(40), [(many, value) for value in [*range(20), 3, 0]], honest=True)
    tiny, near = repeated([True, False], 1e-100, permanent=2e-100, values=2), repeated(range(2), 7.5, permanent=8, values=1)
    both = dp.local.Attributes({"a": mood, "b": bit})
    yield _life("odd ones", Fraction(10), [(tiny, True), (near, 1), (near, 0), (both, {"a": "bad", "b": True}), (tiny, False)])


def _life(name: str, epsilon: Fraction, steps: list[tuple[Task, object]], *, honest: bool = False) -> dict[str, object]:
    """``honest`` words make every fresh response the permanent one, which so is in the vectors."""
    with tempfile.TemporaryDirectory() as folder:
        path, stream = Path(folder) / "me.json", _stream(name)
        client, words = _used(lambda: dp.local.Client(path, epsilon=epsilon), stream)
        told: list[dict[str, object]] = []
        begun = path.read_text()
        for number, (task, value) in enumerate(steps):
            nonce, tape = number % 3 == 1, [0, 0, *stream] if honest else _stream(f"{name} {number}")
            step: dict[str, object] = {"task": task.to_json(), "value": value, "nonce": nonce}
            try:
                report, used = _used(lambda task=task, value=value, nonce=nonce: client.randomize(task, value, nonce=nonce), tape)
                step |= {"words": used, "report": report.to_json()}
            except (BudgetExceeded, ValueRefused) as refusal:
                budget = isinstance(refusal, BudgetExceeded)
                step |= {"refused": type(refusal).__name__, "says": str(refusal) if budget else "", "words": _hex(tape[:9])}
            cost = client.lifetime(task)  # type: ignore[arg-type]
            exact = cost and [cost.reports, cost.values, str(cost.one_report), str(cost.same_pattern), cost.any_history]
            amounts = [str(client.total), str(client.spent), str(client.left)]
            told.append({**step, "ledger": path.read_text(), "lifetime": exact, "amounts": amounts})
        return {"name": name, "epsilon": str(epsilon), "words": words, "ledger": begun, "steps": told}


def _used(run: Callable[[], object], words: list[int]) -> tuple[object, list[str]]:
    """What it returns, and the words it used but for the last one, with which Python names a file."""
    done = replay(run, words)
    return done.value, _hex(words[: len(words) - done.words_left - 1])


def _hex(words: list[int]) -> list[str]:
    return [f"{word:x}" for word in words]


def _cases(task: Task, value: object) -> Iterator[dict[str, object]]:
    for number, words in enumerate(_tapes(task, value)):
        nonce = number == 0
        try:
            done = replay(lambda nonce=nonce: task.randomize(value, nonce=nonce), words)
        except ValueRefused:
            yield {"value": value, "refused": True}
            return
        used = words[: len(words) - done.words_left]
        yield {"value": value, "nonce": nonce, "words": _hex(used), "report": done.value.to_json()}


def _tapes(task: Task, value: object) -> Iterator[list[int]]:
    """Random words as they come, and the ones that chance would not show."""
    plain = _stream(f"{task.hash} {value!r}")
    yield plain
    yield from ([*plain[:place], _ONES, _ONES, *plain[place:]] for place in (1, 2))
    fate = _fate(task)
    if isinstance(task.protocol, Unary):
        yield from ([*fate, *tape, *plain] for tape in _byte_ties(task.protocol))
        return
    if isinstance(task.protocol, Laplace):
        yield from ([*fate, *tape, *plain] for tape in _noise_ties(task.protocol, plain[0]))
        return
    for between, chance in _coins(task, plain[0]):
        before = [*fate, *between]
        first, second, third = (chance.digits(count)[0] & _ONES for count in (64, 128, 192))
        yield [*before, first, max(second - 1, 0), *plain]
        yield [*before, first, min(second + 1, _ONES), *plain]
        yield [*before, first, second, max(third - 1, 0), *plain]


def _fate(task: Task) -> list[int]:
    """Words for the fate of answers outside, where it is drawn."""
    if isinstance(task, dp.local.HeavyHitters):
        return [0] * task.spelling.length if task.spelling.missing == "random" else []
    described = task.scale if isinstance(task, dp.local.Mean | dp.local.Distribution) else getattr(task, "domain", None)
    return [0] if described is not None and described.missing == "random" else []


def _coins(task: Task, seed: int) -> Iterator[tuple[list[int], Chance]]:
    """The protocol's coins, each with words for all that is drawn before it."""
    protocol = task.protocol
    if isinstance(protocol, Prefixes):
        yield [0, 0], _coin(protocol.inner)
    elif isinstance(protocol, Duchi):
        yield [0], Chance(chance_inside(1, 1, protocol.epsilon))
    elif isinstance(protocol, Hybrid):
        yield [], Chance(protocol._piecewise)
        yield [0, 0], Chance(protocol._window.near)  # a piecewise report
        yield [_ONES, 0, 0, 0, 0, 0], Chance(chance_inside(1, 1, protocol.epsilon))  # Duchi's bit
    elif isinstance(protocol, SquareWave):
        yield [], Chance(protocol._window.near)
    elif isinstance(protocol, Memoised):
        yield [], Chance(protocol.keep_chance)
        yield [0, 0], Chance(protocol.fresh_chance)
    elif isinstance(protocol, Affine):
        yield [0], Chance(chance_inside(protocol.weight, protocol.prime - protocol.weight, protocol.epsilon))
    elif isinstance(protocol, FrequencyProtocol):
        yield [seed] if isinstance(protocol, Hashing) else [], _coin(protocol)


def _coin(protocol: FrequencyProtocol) -> Chance:
    """The only coin of a protocol for frequencies."""
    inside, all_of_them = 1, protocol.size
    if isinstance(protocol, Subset):
        inside = protocol.weight
    elif isinstance(protocol, Projective):
        inside, all_of_them = protocol.geometry.on_a_hyperplane, protocol.geometry.points
    elif isinstance(protocol, Hashing):
        all_of_them = protocol.buckets
    return Chance(chance_inside(inside, all_of_them - inside, protocol.epsilon))


def _noise_ties(protocol: Laplace, seed: int) -> Iterator[list[int]]:
    """The smallest and the largest uniforms, and those that agree with a chance of the noise in 63, 127 or 191 digits."""
    scale = protocol.scale
    yield from ([0], [1, 0], [2], [3], [_ONES], [_ONES - 1])
    if scale <= 2**26:
        for m in (1, 2, 7 + int(3 * scale)):
            yield from _ties(lambda m=m: 2 / _tail(scale, m))
        return
    unit, _ = _split(scale)
    for h in (1, 2**20):
        yield from _ties(lambda h=h: (-ball(h * unit / scale)).exp())
    for m in (1, 2, unit // 2, unit):
        yield from ([seed, *tape] for tape in _ties(lambda m=m: (1 - 2 / _tail(scale, m)) / -(-ball(unit / scale)).expm1()))
    yield from ([seed, *tape] for tape in ([0], [1], [_ONES]))


def _tail(scale: Fraction, m: int) -> arb:
    return ball(m / scale).exp() + ball((m - 1) / scale).exp()


def _ties(chance: Callable[[], arb]) -> Iterator[list[int]]:
    """Words of a uniform that is on one side of a chance by its last one; the first word has 63 digits and a sign."""
    counts = [count for count in range(63, 2000, 64) if Chance(chance).digits(count)[0]][:3]
    if len(counts) < 3:
        return  # two thousand digits are never drawn
    zeros = [0] * (counts[0] // 64)
    first, second, third = (Chance(chance).digits(count)[0] & _ONES for count in counts)
    for before in ([*zeros, first] if zeros else [2 * first], [1, *zeros[1:], first] if zeros else [2 * first + 1]):
        yield [*before, max(second - 1, 0)]
        yield [*before, min(second + 1, _ONES)]
        yield [*before, second, max(third - 1, 0)]


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
