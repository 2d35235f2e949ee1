"""The JavaScript client: equal to Python word for word, lawful with its own generator, hard to fool; in Node and in a browser."""

from __future__ import annotations

import functools
import http.client
import http.server
import itertools
import json
import queue
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from local import make_vectors
from local.protocols import every_report
from reference import statistics
from support.depth import deep

import discreet as dp
from discreet.balls import precision
from discreet.errors import BudgetExceeded, LedgerRefused, ParameterError
from discreet.local.protocols.hashing import Hashing, hash_to_bucket
from discreet.local.protocols.prefixes import Prefixes
from discreet.local.task import Task, canonical

CLIENT = Path(str(resources.files("discreet.local") / "discreet-client.js"))
HERE = Path(__file__).parent
DRAWS = deep(6_000, 3_000)
ONES = "0xffffffffffffffff"


def program(*names: str) -> str:
    """Where the first of these programs is; a missing one is a failure, because then nothing here was tested."""
    found = [path for name in names if (path := shutil.which(name))]
    assert found, (
        f"The JavaScript client is tested in Node and in Chromium: install {names[0]} (apt-get install nodejs chromium)."
    )
    return found[0]


def node(script: Path, *words: str, text: str = "") -> str:
    command = [program("node", "nodejs"), str(script), *words]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=600).stdout


def asked(jobs: list[dict[str, object]]) -> list[list[str] | str]:
    """What the client says to each job, in one run of Node."""
    answers: list[list[str] | str] = json.loads(node(HERE / "draw_reports.js", str(CLIENT), text=json.dumps(jobs)))
    return answers


def lived(jobs: list[dict[str, object]]) -> list[tuple[list[str], str | None]]:
    """What a person's client says to the steps of each job, and the ledger after them."""
    return [(answer["said"], answer["ledger"]) for answer in asked(jobs)]  # type: ignore[call-overload, index]


def step(task: Task, value: object, **more: object) -> dict[str, object]:
    return {"task": task.to_json(), "value": value, **more}


# ---- Equal to Python -------------------------------------------------------------------------------------------------------


def test_python_still_makes_the_vectors() -> None:
    """A change that fails here changes what clients in the field send: it needs a new version of tasks, not new vectors."""
    assert json.loads(json.dumps(make_vectors.build())) == json.loads(make_vectors.FILE.read_text())


CHECK = """
const client = require(process.argv[2]);
require(process.argv[3]);
const vectors = JSON.parse(require("fs").readFileSync(process.argv[4], "utf8"));
globalThis.checkVectors(client, vectors).then((result) => process.stdout.write(JSON.stringify(result)));
"""


def checked_in_node(tmp_path: Path, vectors: object) -> dict[str, object]:
    (tmp_path / "check.js").write_text(CHECK)
    (tmp_path / "vectors.json").write_text(json.dumps(vectors))
    words = (str(CLIENT), str(HERE / "check_vectors.js"), str(tmp_path / "vectors.json"))
    result: dict[str, object] = json.loads(node(tmp_path / "check.js", *words))
    return result


def test_node_makes_the_same_reports_of_the_same_words(tmp_path: Path) -> None:
    vectors = json.loads(make_vectors.FILE.read_text())
    result = checked_in_node(tmp_path, vectors)
    assert result["failures"] == []
    cases = sum(2 + len(one["cases"]) for one in vectors["vectors"]) + 2 * len(vectors["hashes"])
    assert result["checked"] == cases + sum(1 + len(one["steps"]) for one in vectors["lives"])


def test_a_wrong_vector_is_noticed(tmp_path: Path) -> None:
    """The check itself can fail: another report, a word too many, a word too few, a refusal that is none."""
    vectors = json.loads(make_vectors.FILE.read_text())
    one = vectors["vectors"][2]
    good, refused = one["cases"][0], one["cases"][-1]
    wrong = [
        {**good, "report": good["report"].replace('"r":', '"r":1')},
        {**good, "words": [*good["words"], "0"]},
        {**good, "words": good["words"][:-1]},
        {**refused, "value": "red"},
    ]
    life = vectors["lives"][0]
    first = life["steps"][1]  # of a repeated task
    spoilt = [
        {"report": first["report"].replace('"r":', '"r":1')},
        {"ledger": first["ledger"].replace('"version":1', '"version":2')},
        {"lifetime": [1, 1, "1/2", "1", 0.5]},
        {"amounts": ["31/10", "0", "0"]},
    ]
    lives = [{**life, "steps": [life["steps"][0], {**first, **change}]} for change in spoilt]
    told = {"vectors": [{**one, "cases": wrong}], "hashes": [[one["task"], "0" * 64]]}
    result = checked_in_node(tmp_path, {**told, "lives": [*lives, {**life, "ledger": "", "steps": []}]})
    assert len(result["failures"]) == len(wrong) + 2 + len(lives) + 1  # type: ignore[arg-type]


def test_the_guide_runs(tmp_path: Path) -> None:
    """The lines of docs/local.md make reports that Python counts, and a ledger that it reads."""
    guide = (HERE.parents[1] / "docs" / "local.md").read_text()
    lines = re.findall(r"```js\n(.*?)```", guide, flags=re.DOTALL)
    assert len(lines) == 2
    hair = dp.local.Frequencies(["dark", "red"], epsilon=1)
    mood = dp.local.Repeated(["good", "bad"], epsilon=0.5, permanent=2, values=1)
    before = f"const discreet = require({json.dumps(str(CLIENT))}); const text = {json.dumps(hair.to_json())};"
    before += f"const moodText = {json.dumps(mood.to_json())}; const kept = new Map();"
    before += "const localStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => kept.set(name, text) };"
    after = "process.stdout.write(JSON.stringify([body, JSON.stringify(good), kept.get('discreet')]));"
    (tmp_path / "guide.js").write_text(f"{before}\n(async () => {{\n{''.join(lines)}\n{after}\n}})();")
    body, good, ledger = json.loads(node(tmp_path / "guide.js").splitlines()[-1])
    for task, report in ((hair, body), (mood, good)):
        collector = task.collector()
        collector.add(report)
        assert (collector.count, collector.refused) == (1, {})
    (tmp_path / "me.json").write_text(ledger)
    assert dp.local.Client(tmp_path / "me.json").spent == 3


# ---- Its own generator -----------------------------------------------------------------------------------------------------

LAWFUL = [
    (dp.local.Bit(epsilon=1), True),
    (dp.local.Frequencies(range(5), epsilon=1, protocol="k-ary"), 3),
    (dp.local.Frequencies(range(7), epsilon=1, protocol="subset"), 2),
    (dp.local.Frequencies(range(13), epsilon=1, protocol="projective"), 11),
    (dp.local.Frequencies(range(5), epsilon=1, protocol="unary"), 4),
    (dp.local.Frequencies(range(5), epsilon=1, protocol="hashing"), 4),
    (dp.local.Repeated(range(4), epsilon=1, permanent=2, values=4), 3),
]


def test_reports_have_the_law_that_python_states() -> None:
    """Seven comparisons, each with a false alarm in less than one of 1e7 runs: together below 1e-6."""
    answers = asked([{"task": task.to_json(), "value": value, "draws": DRAWS} for task, value in LAWFUL])
    for (task, value), reports in zip(LAWFUL, answers, strict=True):
        assert isinstance(reports, list), reports
        collector = task.collector()
        collector.add(reports)
        assert (collector.count, collector.refused) == (DRAWS, {})
        plain = [json.loads(report)["r"] for report in reports]
        code = task.domain.code(value)
        assert code is not None
        if isinstance(task.protocol, Hashing):
            seen, hoped = _buckets(task.protocol, plain, code)
        else:
            rows = list(every_report(task.protocol))
            counts = Counter(json.dumps(report) for report in plain)
            seen = np.array([counts[json.dumps(task.protocol.plain(row))] for row in rows], dtype=float)
            with precision(100):
                hoped = np.array([float(task.protocol.likelihood(row, code)) for row in rows])
        assert statistics.chi_square(seen, hoped * DRAWS) > statistics.ALARM, task


def with_protocol(task: Task, **parameters: int) -> Task:
    facts = json.loads(task.to_json())
    return dp.local.read_task(json.dumps({**facts, "protocol": {**facts["protocol"], **parameters}}))


NUMBERED = [
    (dp.local.Mean(0, 15, epsilon=1, step=1, protocol="duchi"), 4),
    (with_protocol(dp.local.Mean(0, 15, epsilon=2, step=1, protocol="hybrid"), grid=12, width=4), 4),
    (dp.local.Distribution(0, 15, epsilon=1, bins=8), 4),
    (dp.local.Mean(0, 15, epsilon=4, step=1, protocol="laplace"), 4),
]


def test_reports_about_numbers_and_words_have_the_law_that_python_states() -> None:
    """Five comparisons, each with a false alarm in less than one of 1e7 runs: together below 1e-6."""
    words = with_protocol(dp.local.HeavyHitters(epsilon=2, length=3), hashes=2, buckets=4)
    jobs = [*NUMBERED, (words, "cab")]
    answers = asked([{"task": task.to_json(), "value": value, "draws": DRAWS} for task, value in jobs])
    for (task, value), reports in zip(jobs, answers, strict=True):
        assert isinstance(reports, list), reports
        collector = task.collector()
        collector.add(reports)
        assert (collector.count, collector.refused) == (DRAWS, {})
        cells = getattr(task.protocol, "reports", task.protocol.cells)
        code = task.codes([value])[0]
        seen = np.bincount([json.loads(report)["r"] for report in reports], minlength=cells)
        with precision(100):
            hoped = [task.protocol.likelihood(np.array(row), _code_for(task, row, code)) for row in range(cells)]
            assert statistics.chi_square(seen, np.array([float(chance) for chance in hoped]) * DRAWS) > statistics.ALARM, task


def _code_for(task: Task, row: int, code: np.ndarray) -> int:
    """The code that a report is about: of a word, the key of the prefix that was drawn."""
    words = isinstance(task.protocol, Prefixes)
    return int(code[row // (task.protocol.hashes * task.protocol.buckets)] if words else code)


def test_noise_of_two_words_has_its_law() -> None:
    """A scale above 2^26 steps. Two comparisons, each with a false alarm in less than one of 1e7 runs."""
    task = dp.local.Mean(0, 1, epsilon=Fraction(99, 100), step=Fraction(1, 2**26), protocol="laplace")
    (reports,) = asked([{"task": task.to_json(), "value": 0, "draws": DRAWS}])
    noise = np.array([json.loads(report)["r"] for report in reports]) - task.protocol.margin
    scale = float(task.protocol.scale)

    def below(x: int) -> float:  # P(noise <= x); steps are so fine that the real law is the same to 1e-8
        return float(np.exp(x / scale) / 2 if x < 0 else 1 - np.exp(-x / scale) / 2)

    wide = [int(x * scale) for x in np.linspace(-4, 4, 41)]
    assert statistics.fit_bins(noise, below, wide) > statistics.ALARM
    unit = 2**17  # the second word decides what is left of it
    assert (
        statistics.chi_square(np.bincount((np.abs(noise) % unit) * 64 // unit, minlength=64), _cut(scale, unit, 64))
        > statistics.ALARM
    )


def _cut(scale: float, unit: int, bins: int) -> np.ndarray:
    """How many draws are hoped for in each part of an exponential that is cut off at ``unit``."""
    edges = -np.expm1(-np.arange(bins + 1) * (unit / bins / scale)) / -np.expm1(-unit / scale)
    return np.diff(edges) * DRAWS


def test_first_reports_of_many_clients_have_the_law_that_python_states() -> None:
    """Each with a secret of its own. One comparison, with a false alarm in less than one of 1e7 runs."""
    task, people = dp.local.Repeated(range(4), epsilon=1, permanent=1.5, values=1), 1500
    ((said, _),) = lived([{"epsilon": 2, "steps": [step(task, 2)], "lives": people}])
    seen = np.bincount([json.loads(report)["r"] for report in said], minlength=4)
    truth, lie = task.protocol.rates.truth, task.protocol.rates.lie
    assert statistics.chi_square(seen, np.array([lie, lie, truth, lie]) * people) > statistics.ALARM


def test_a_report_at_a_vast_epsilon_is_the_code_that_python_gives() -> None:
    """So the places of numbers and the hashes of words are compared at many bounds; a lie has a chance below 1e-400."""
    numbers = [-1e308, -7, -0.0, 1e-320, 0.1, 1 / 3, 2.5, 1000.7, 2**53 + 2, 1e22, 1e308]
    tie = Fraction(2**53 + 1) + Fraction(1, 2**40)  # between two doubles, a little nearer to the upper one
    bounds = [
        (0, 1),
        ("1/3", "22/7"),
        (-0.1, 0.7),
        (-(10**30), 10**22 + 1),
        ("-1/7", f"1/{10**25 + 1}"),
        (5e-200, 9),
        (tie, tie + 9),
    ]
    scales = [(Fraction(low), Fraction(high), fate) for low, high in bounds for fate in ("random", Fraction(1, 3))]
    shapes = [
        dp.local.Distribution(low, high, epsilon=1000, bins=9973, missing=fate if fate == "random" else low + (high - low) * fate)
        for low, high, fate in scales
    ]
    jobs = [(task, value) for task in shapes for value in numbers]
    jobs += [(task, None) for task in shapes if task.scale.missing != "random"]
    answers = asked([{"task": task.to_json(), "value": value} for task, value in jobs])
    assert [json.loads(answer[0])["r"] for answer in answers] == [int(task.codes([value])[0]) for task, value in jobs]
    hitters = with_protocol(dp.local.HeavyHitters(epsilon=1000, length=6), hashes=3, buckets=2**19)
    texts = ["a", "ab", "a" * 9, "日本語", "é🧑", "\x7f"]
    for text, reports in zip(
        texts, asked([{"task": hitters.to_json(), "value": text, "draws": 40} for text in texts]), strict=True
    ):
        (keys,) = hitters.codes([text])
        pairs = list(itertools.product(range(hitters.protocol.levels), range(3)))
        own = hash_to_bucket(
            np.array([j for _, j in pairs], dtype=np.uint64), np.array([keys[level] for level, _ in pairs]), 2**19
        )
        honest = {(level * 3 + j) * 2**19 + int(cell) for (level, j), cell in zip(pairs, own, strict=True)}
        assert {json.loads(report)["r"] for report in reports} <= honest


def test_numbers_that_json_cannot_hold(tmp_path: Path) -> None:
    """Infinity is clamped, a large integer is a number, and NaN is none."""
    task = dp.local.Mean(-1, 1, epsilon=1000, protocol="duchi")
    lines = f"""
    const task = require({json.dumps(str(CLIENT))}).readTask({json.dumps(task.to_json())});
    const said = [Infinity, 10n ** 400n, -Infinity, -(10n ** 400n)].map((value) => task.randomize(value).r);
    for (const value of [NaN, undefined, Symbol("x"), () => 1, new Number(1)]) {{
      try {{ said.push(task.randomize(value)); }} catch (error) {{ said.push(error.name); }}
    }}
    process.stdout.write(JSON.stringify(said));"""
    (tmp_path / "numbers.js").write_text(lines)
    assert json.loads(node(tmp_path / "numbers.js")) == [1, 1, 0, 0, *["ValueRefused"] * 5]


def _buckets(protocol: Hashing, plain: list[tuple[str, int]], code: int) -> tuple[np.ndarray, np.ndarray]:
    """How often the own bucket was told, and each of the others, counted from the own one."""
    seeds = np.array([int(seed, 16) for seed, _ in plain], dtype=np.uint64)
    assert len(set(seeds.tolist())) == len(plain)
    own = hash_to_bucket(seeds, np.full(len(plain), code), protocol.buckets)
    after = (np.array([told for _, told in plain]) - own) % protocol.buckets
    truth = protocol.rates.truth
    rest = (1 - truth) / (protocol.buckets - 1)
    return np.bincount(after, minlength=protocol.buckets), np.array([truth, *[rest] * (protocol.buckets - 1)])


def test_no_generator_or_a_broken_one_is_refused() -> None:
    task = dp.local.Frequencies(range(4), epsilon=1)
    answers = asked([{"task": task.to_json(), "value": 1, "generator": word} for word in (None, ONES)])
    assert all(isinstance(answer, str) and answer.startswith("EntropyError: ") for answer in answers), answers
    assert "Math.random" not in CLIENT.read_text()


# ---- Tasks and answers of strangers ------------------------------------------------------------------------------------------

GOOD = json.loads(dp.local.Frequencies(["a", "b", "c"], epsilon=1, protocol="subset").to_json())


def changed(**facts: object) -> str:
    return json.dumps({**GOOD, **facts})


def domain(**facts: object) -> str:
    return changed(domain={"missing": "refuse", **facts})


def protocol(name: object, **parameters: object) -> str:
    return changed(protocol={"name": name, **parameters})


MEAN = json.loads(dp.local.Mean(0, 15, epsilon=1, protocol="hybrid").to_json())
SHAPE = json.loads(dp.local.Distribution(0, 15, epsilon=1).to_json())
WORDS = json.loads(dp.local.HeavyHitters(epsilon=1, length=4, alphabet="abc").to_json())
NOISY = json.loads(dp.local.Mean(0, 15, epsilon=1, step=1, protocol="laplace").to_json())
AGAIN = json.loads(dp.local.Repeated(["a", "b"], epsilon=1, permanent=2, values=1).to_json())
BOTH = json.loads(dp.local.Attributes({"a": dp.local.Bit(epsilon=1), "b": dp.local.Mean(0, 1, epsilon=2)}).to_json())
OPEN = json.loads(dp.local.Frequencies(dp.text(), epsilon=2).to_json())


def within(facts: dict[str, object], field: str, **changes: object) -> str:
    """The task with some facts of one of its fields changed."""
    return json.dumps({**facts, field: {**facts[field], **changes}})  # type: ignore[dict-item]


def scale(**changes: object) -> str:
    return within(MEAN, "scale", **changes)


HOSTILE = {
    "nothing": "",
    "null": "null",
    "a list": "[]",
    "half of it": json.dumps(GOOD)[:-9],
    "deep": "[" * 100_000,
    "another thing": changed(discreet="privacy"),
    "a newer version": changed(version=2),
    "a version as text": changed(version="1"),
    "another kind": changed(kind="fortune"),
    "one field more": changed(extra=1),
    "one field less": json.dumps({name: fact for name, fact in GOOD.items() if name != "period"}),
    "no text": changed(question=5),
    "half a sign": changed(question="\ud800"),
    **{
        f"epsilon {text!r}": changed(epsilon=text)
        for text in (1, "0", "-1", "2/2", "1/1", "1001", "1e3", "0.5", " 1", "1/0", "", "nan")
    },
    "an unknown protocol": protocol("honest"),
    "a protocol of prototypes": protocol("__proto__"),
    "a protocol of constructors": protocol("constructor"),
    "no protocol": changed(protocol=None),
    "an unnamed protocol": changed(protocol={}),
    "a parameter more": protocol("k-ary", weight=1),
    "a parameter less": protocol("subset"),
    "a parameter as text": protocol("subset", weight="1"),
    "a parameter as truth": protocol("subset", weight=True),
    "three values for a bit": protocol("randomized response"),
    "an empty subset": protocol("subset", weight=0),
    "a full subset": protocol("subset", weight=3),
    "a field that is none": protocol("projective", prime=4, dimension=3),
    "a field of one": protocol("projective", prime=1, dimension=3),
    "a large geometry": protocol("projective", prime=2, dimension=25),
    "a small geometry": protocol("projective", prime=2, dimension=1),
    "an affine field that is none": protocol("affine", prime=9, dimension=2, weight=1),
    "a field of minus three": protocol("affine", prime=-3, dimension=2, weight=1),
    "no dimension": protocol("affine", prime=3, dimension=0, weight=1),
    "too few points": protocol("affine", prime=2, dimension=1, weight=1),
    "too many points": protocol("affine", prime=2, dimension=26, weight=1),
    "no hyperplane": protocol("affine", prime=5, dimension=2, weight=0),
    "all hyperplanes": protocol("affine", prime=5, dimension=2, weight=5),
    "too many hyperplanes": protocol("affine", prime=10007, dimension=1, weight=4097),
    "one bucket": protocol("hashing", buckets=1),
    "too many buckets": protocol("hashing", buckets=2**31 + 1),
    "no domain": changed(domain=None),
    "one value": domain(values=["a"]),
    "a value twice": domain(values=["a", "b", "a"]),
    "a truth that is a number": domain(values=[1, True, "c"]),
    "no value": domain(values=["a", "b", None]),
    "half a value": domain(values=["a", "b", 0.5]),
    "half a sign as value": domain(values=["a", "b", "\ud800"]),
    "a list as value": domain(values=["a", "b", ["c"]]),
    "text for values": domain(values="abc"),
    "a range of two": domain(range=[0, 3]),
    "a range that stands": domain(range=[0, 3, 0]),
    "a range that is empty": domain(range=[3, 0, 1]),
    "a range that is huge": domain(range=[0, 2**40, 1]),
    "a range of halves": domain(range=[0, 1.5, 1]),
    "a range that is far": domain(range=[2**60, 2**60 + 3, 1]),
    "a range with far ends": domain(range=[0, 2**60, 2**58]),
    "two domains": domain(values=["a", "b", "c"], range=[0, 3, 1]),
    "any text by subsets": domain(text=True),
    "another fate": domain(values=["a", "b", "c"], missing="keep"),
    "no fate": domain(values=["a", "b", "c"], missing=None),
    "a fate outside": domain(values=["a", "b", "c"], missing={"value": "d"}),
    "a fate in disguise": domain(values=["a", "b", "c"], missing={"value": "random"}),
    "an epsilon that tells nothing": changed(epsilon=f"1/{10**101}"),
    "a domain for a mean": json.dumps({**MEAN, "domain": GOOD["domain"]}),
    "no scale": json.dumps({**MEAN, "scale": None}),
    **{f"a bound {text!r}": scale(lower=text) for text in (0, "-0", "0/1", "2/4", "1.5", "", "nan", "15", "16", None)},
    "a bound that is far": scale(upper=str(2**900)),
    "a bound that is near": scale(upper=f"1/{2**900}"),
    "one bound": json.dumps({**MEAN, "scale": {"lower": "0", "missing": "refuse"}}),
    "a third bound": scale(middle="7"),
    **{f"a fate {fate!r} of numbers": scale(missing=fate) for fate in ("keep", None, 5, {"value": 5}, {"value": "16"}, {})},
    **{f"{steps} steps": within(MEAN, "protocol", steps=steps) for steps in (0, 2**40 + 1, "15", 1.5, True)},
    "one cell": within(MEAN, "protocol", grid=1, width=1),
    "too many cells": within(MEAN, "protocol", grid=2**15 + 1),
    "no window": within(MEAN, "protocol", width=0),
    "a window of all": within(MEAN, "protocol", width=MEAN["protocol"]["grid"]),
    "a mean by subsets": json.dumps({**MEAN, "protocol": GOOD["protocol"]}),
    "a shape by bits": json.dumps({**SHAPE, "protocol": {"name": "duchi", "steps": 15}}),
    **{f"{bins} bins": within(SHAPE, "protocol", bins=bins, arm=1) for bins in (1, 2**14 + 1, "8")},
    **{f"an arm of {arm}": within(SHAPE, "protocol", arm=arm) for arm in (-1, 257, None)},
    **{f"words of {length}": within(WORDS, "words", length=length) for length in (0, 65, "4", None)},
    **{
        f"the alphabet {alphabet!r}": within(WORDS, "words", alphabet=alphabet)
        for alphabet in ("", "a", "aa", "ab\0", "ab\ud800", 5, ["a", "b"])
    },
    "a long alphabet": within(WORDS, "words", alphabet="".join(map(chr, range(256, 1257)))),
    **{f"a fate {fate!r} of words": within(WORDS, "words", missing=fate) for fate in ("d", "", None, 5, ["a"])},
    "words of the first version": json.dumps({**WORDS, "version": 1}),
    **{
        f"the prefixes {bits!r}": json.dumps({**WORDS, "prefixes": bits})
        for bits in ([], [7], [9], [4, 4, 8], [8, 4], [0, 8], [True, 8], [4.5, 8], ["4", 8], 8, None, {"0": 8})
    },
    "too many candidates": json.dumps({**WORDS, "most": 9999, "words": {**WORDS["words"], "length": 8}, "prefixes": [2, 16]}),
    "a long step": json.dumps({**json.loads(within(WORDS, "words", length=64)), "prefixes": [21, 41, 61, 81, 101, 121, 128]}),
    **{f"{hashes!r} hashes": within(WORDS, "protocol", hashes=hashes) for hashes in (0, -1, 1.5, "8", 2**26)},
    **{f"{buckets!r} buckets of words": within(WORDS, "protocol", buckets=buckets) for buckets in (0, 1, "8", 2**26)},
    **{f"{most} words": json.dumps({**WORDS, "most": most}) for most in (0, 10_001, "5", True)},
    "words by subsets": json.dumps({**WORDS, "protocol": {"name": "subset", "weight": 2}}),
    "words by hashing": json.dumps({**WORDS, "protocol": {"name": "hashing", "buckets": 2}}),
    "one attribute": json.dumps({**BOTH, "epsilon": "1", "tasks": {"a": BOTH["tasks"]["a"]}}),
    "attributes in a list": json.dumps({**BOTH, "tasks": list(BOTH["tasks"].values())}),
    "attributes of attributes": within(BOTH, "tasks", c=BOTH),
    "an attribute of any text": within(BOTH, "tasks", c=OPEN),
    "an attribute that is none": within(BOTH, "tasks", a=None),
    "half a sign as attribute": within(BOTH, "tasks", **{"\ud800": BOTH["tasks"]["a"]}),
    "a cheap epsilon": json.dumps({**BOTH, "epsilon": "1"}),
    "a dear epsilon": json.dumps({**BOTH, "epsilon": "3"}),
    **{f"{steps} steps of noise": within(NOISY, "protocol", steps=steps) for steps in (0, -1, 2**40 + 1, "15", 1.5, True, None)},
    "noise with a window": within(NOISY, "protocol", width=3),
    "noise beyond all bounds": json.dumps({**NOISY, "epsilon": f"1/{2**50}"}),
    **{
        f"permanent {text!r}": within(AGAIN, "protocol", permanent=text)
        for text in (2, "1", "1/2", "0", "-2", "4/2", "1001", "2.5", "", None, "1/0", f"1/{10**101}")
    },
    "a repeated question by k-ary": json.dumps({**AGAIN, "protocol": {"name": "k-ary"}}),
    "a repeated question by nothing": json.dumps({**AGAIN, "protocol": None}),
    "no permanent epsilon": json.dumps({**AGAIN, "protocol": {"name": "memoised", "values": 1}}),
    "no values": json.dumps({**AGAIN, "protocol": {"name": "memoised", "permanent": "2"}}),
    **{f"{values!r} values": within(AGAIN, "protocol", values=values) for values in (0, 3, -1, 1.5, "1", True, None, [1])},
    "a repeated question of too many": within(AGAIN, "domain", values=list(range(2**16 + 1))),
    "a memory of more": within(AGAIN, "protocol", rounds=5),
    "a repeated question of any text": json.dumps({**AGAIN, "domain": OPEN["domain"]}),
    "frequencies that remember": json.dumps({**GOOD, "protocol": AGAIN["protocol"]}),
}


def test_hostile_tasks_are_refused_in_a_sentence() -> None:
    answers = asked([{"task": text, "value": "a"} for text in HOSTILE.values()])
    allowed = {name: said for name, said in zip(HOSTILE, answers, strict=True) if not str(said).startswith("TaskRefused: ")}
    assert allowed == {}


def test_noise_that_javascript_cannot_count_is_refused() -> None:
    """Python's reports go up to 2^58. The client makes them up to 2^53, where doubles are exact, and says so of others."""
    most, more = (
        dp.local.Mean(0, 1, epsilon=epsilon, step=Fraction(1, 2**40), protocol="laplace")
        for epsilon in (Fraction(88, 8190), Fraction(88, 8191))
    )
    assert (most.protocol.reports, more.protocol.reports) == (2**53 - 2**40 + 1, 2**53 + 1)
    several = dp.local.Attributes({"bit": dp.local.Bit(epsilon=1), "other": more})
    fine, *refused = asked([{"task": task.to_json(), "value": 1} for task in (most, more, several)])
    collector = most.collector()
    collector.add(fine)
    assert (collector.count, collector.refused) == (1, {})
    for said in refused:
        assert str(said).startswith("TaskRefused: ")
        assert "more than 2^53 reports" in said


@pytest.mark.parametrize("name", HOSTILE)
def test_python_refuses_the_same_tasks(name: str) -> None:
    with pytest.raises(ParameterError):
        dp.local.read_task(HOSTILE[name])


def test_any_value_has_a_report_or_a_refusal() -> None:
    """A value that no list can hold is outside the domain, never an error of JavaScript's own."""
    strangers: list[object] = [None, [], {}, [1], {"a": 1}, "", "\ud800", -1, 1.5, 1e300, "a\0", "A", True]
    fates = {missing: dp.local.Frequencies(["a", "b", "c"], epsilon=1, missing=missing) for missing in ("refuse", "random", "b")}
    for missing, task in fates.items():
        answers = asked([{"task": task.to_json(), "value": value} for value in strangers])
        if missing == "refuse":
            assert all(str(answer).startswith("ValueRefused: ") for answer in answers), answers
        else:
            assert all(isinstance(answer, list) and json.loads(answer[0])["r"] in (0, 1, 2) for answer in answers), answers


# ---- A person's ledger -------------------------------------------------------------------------------------------------------

BIT = dp.local.Bit(epsilon=0.1)
MOODS = ["good", "bad", "so so"]
MOOD = dp.local.Repeated(MOODS, 0.5, permanent=1, values=2)


def test_a_ledger_of_python_goes_on_in_javascript_and_back(tmp_path: Path) -> None:
    """What was spent, what was remembered and the secret are the same on both sides; nothing is paid for twice."""
    path = tmp_path / "me.json"
    python = dp.local.Client(path, epsilon=3)
    python.randomize(MOOD, "good")
    python.randomize(BIT, True)
    steps = [step(MOOD, "good"), step(MOOD, "bad", nonce=True), step(BIT, False)]
    ((said, ledger),) = lived([{"ledger": path.read_text(), "steps": steps}])
    for task, reports in ((MOOD, said[:2]), (BIT, said[2:])):
        collector = task.collector()
        collector.add(reports)
        assert (collector.count, collector.refused) == (len(reports), {})
    assert ledger is not None
    path.write_text(ledger)
    assert (python.spent, python.left) == (Fraction(22, 10), Fraction(8, 10))
    cost = python.lifetime(MOOD)
    assert cost is not None
    assert (cost.reports, cost.values) == (3, 2)
    python.randomize(MOOD, "bad")
    python.randomize(MOOD, "so so")  # for whom one of the others stands in
    assert python.spent == Fraction(22, 10)
    later = dp.local.Repeated(MOODS, 0.5, permanent=1, values=1, period="later")
    with pytest.raises(BudgetExceeded) as refusal:
        python.randomize(later, "so so")
    steps = [step(later, "so so"), step(later, "good"), step(MOOD, "so so"), step(BIT, 1)]
    ((said, after),) = lived([{"ledger": path.read_text(), "epsilon": "3", "steps": steps}])
    assert said[:2] == [f"BudgetExceeded: {refusal.value}"] * 2
    assert after is not None
    path.write_text(after)
    assert python.spent == Fraction(23, 10)
    assert json.loads(after)["seen"] == json.loads(ledger)["seen"]


def test_what_is_refused_costs_nothing_and_calls_at_once_wait_for_each_other() -> None:
    refused = [step(BIT, "yes"), step(BIT, [True, False]), step(MOOD, "else"), step(MOOD, None)]
    refused += [{"task": {"hash": BIT.hash, "epsilon": "0"}, "value": True}]
    job = {"epsilon": 1, "together": True, "steps": [*refused, *[step(BIT, True)] * 15]}
    ((said, ledger),) = lived([job])
    assert [text.split(":")[0] for text in said[:5]] == [*["ValueRefused"] * 4, "TaskRefused"]
    assert "one person" in said[1]
    assert [text.startswith("BudgetExceeded: ") for text in said[5:]] == [False] * 10 + [True] * 5
    assert ledger is not None
    assert json.loads(ledger)["spent"] == {BIT.hash: "1"}


def test_a_total_is_read_as_it_was_written() -> None:
    good: dict[object, str] = {
        1: "1",
        0.1: "1/10",
        2.5: "5/2",
        "1/3": "1/3",
        "4/2": "2",
        "0.25": "1/4",
        1e-7: "1/10000000",
        1e21: str(10**21),
    }
    for (_, ledger), total in zip(lived([{"epsilon": one, "steps": []} for one in good]), good.values(), strict=True):
        assert json.loads(ledger or "")["total"] == total
    for said, ledger in lived(
        [{"epsilon": one, "steps": []} for one in (0, -1, "", "nan", "1/0", "0/5", None, True, [1], "1e9999", "x")]
    ):
        assert ledger is None
        assert said[0].startswith("ParameterError: epsilon must be a number above 0")


def test_a_ledger_is_begun_once_and_its_total_is_fixed(tmp_path: Path) -> None:
    dp.local.Client(tmp_path / "me.json", epsilon=2)
    ledger = (tmp_path / "me.json").read_text()
    jobs: list[dict[str, object]] = [
        {"epsilon": 2},
        {},
        {"epsilon": 3},
        {"name": "other"},
        {"name": 5},
        {"name": "\ud800"},
        {"fault": "none"},
    ]
    said = [said for said, _ in lived([{"ledger": ledger, "steps": [], **job} for job in jobs])]
    assert said[:2] == [[], []]
    assert all(text.startswith("ParameterError: ") for (text,) in said[2:])
    assert ["fixed" in text for (text,) in said[2:]] == [True, False, False, False, False]
    assert "epsilon: 4" in said[3][0]


def test_a_damaged_or_foreign_ledger_is_refused_and_never_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "me.json"
    client = dp.local.Client(path, epsilon=3)
    client.randomize(MOOD, "good")
    client.randomize(BIT, True)
    good = path.read_text()
    facts, other = json.loads(good), "0" * 64

    def damaged(**changes: object) -> str:
        return canonical({**facts, **changes})

    (marks,) = facts["seen"].values()
    bad = {
        "nothing": "",
        "half": good[:-20],
        "a list": "[]",
        "deep": "[" * 100_000,
        "other spaces": json.dumps(facts),
        "a field twice": good[:-1] + ',"version":1}',
        "a task": BIT.to_json(),
        **{f"version {version!r}": damaged(version=version) for version in (0, 2, "1", True, None)},
        "another thing": damaged(discreet="ledger"),
        **{f"a total of {total!r}": damaged(total=total) for total in ("0", "-1", 2, "2.0", "2/1", "", None)},
        **{f"the secret {secret!r}": damaged(secret=secret) for secret in ("", "ab", "g" * 64, [other], "A" * 64, None)},
        **{f"spent {spent!r}": damaged(spent={**facts["spent"], BIT.hash: spent}) for spent in ("-1", "", 0, "0.1", None)},
        "spent on no task": damaged(spent={**facts["spent"], "x": "1"}, reports={**facts["reports"], "x": 1}),
        "spent on nothing": damaged(spent={}),
        "spent in a list": damaged(spent=[]),
        **{
            f"{count!r} reports": damaged(reports={**facts["reports"], BIT.hash: count})
            for count in (0, -1, 1.5, "1", 2**60, None)
        },
        "reports of a task more": damaged(reports={**facts["reports"], other: 1}),
        "marks of a task more": damaged(seen={**facts["seen"], other: marks}),
        "marks of nothing": damaged(seen=None),
        **{
            f"marks {said!r}": damaged(seen={MOOD.hash: said})
            for said in (marks * 2, ["x"], [marks], "x", [1], ["f" * 32, "0" * 32])
        },
        "a field more": damaged(extra=1),
        "a field less": canonical({name: fact for name, fact in facts.items() if name != "seen"}),
    }
    jobs = [{"ledger": text, "epsilon": 3, "steps": [step(BIT, True)]} for text in bad.values()]
    ((fine, _), *answers) = lived([{"ledger": good, "epsilon": 3, "steps": [step(BIT, True)]}, *jobs])
    assert fine[0].startswith('{"v":1,')
    for (name, text), (said, left) in zip(bad.items(), answers, strict=True):
        assert said == ["LedgerRefused: The client's ledger is missing or damaged; nothing is reported without it."], name
        assert left == text
        path.write_text(text)
        with pytest.raises(LedgerRefused, match="missing or damaged"):
            client.randomize(BIT, True)
    for foreign in (["0" * 32], sorted([*marks, *(f"{number:032x}" for number in range(2))])):
        text = damaged(seen={MOOD.hash: foreign})
        ((said, left),) = lived([{"ledger": text, "epsilon": 3, "steps": [step(MOOD, "good"), step(MOOD, "bad")]}])
        assert (
            said
            == ["LedgerRefused: The client's ledger has marks that are not of this task; nothing is reported without it."] * 2
        )
        assert left == text


def test_nothing_leaves_when_the_storage_fails(tmp_path: Path) -> None:
    dp.local.Client(tmp_path / "me.json", epsilon=2)
    ledger = (tmp_path / "me.json").read_text()
    for fault in ("full", "closed", "forgetful", "late"):
        ((said, left),) = lived([{"ledger": ledger, "fault": fault, "steps": [step(BIT, True)]}])
        assert len(said) == 1
        assert said[0].startswith("LedgerRefused: The client's ledger ")
        assert left == ledger
    assert "QuotaExceededError" in lived([{"ledger": ledger, "fault": "full", "steps": [step(BIT, True)]}])[0][0][0]


# ---- A real browser ----------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html><meta charset="utf-8"><title>vectors</title>
<script src="discreet-client.js"></script>
<script>const classic = discreet; delete globalThis.discreet;</script>
<script src="check_vectors.js"></script>
<script type="module">
import "./discreet-client.js";
const vectors = await (await fetch("vectors.json")).json();
const results = [await checkVectors(classic, vectors), await checkVectors(globalThis.discreet, vectors)];
const task = globalThis.discreet.readTask(vectors.vectors[2].task);
const drawn = new Set(Array.from({ length: 500 }, () => task.randomize("red").r));
const different = classic !== globalThis.discreet;
await fetch("/said", { method: "POST", body: JSON.stringify({ results, drawn: [...drawn].sort(), different }) });
</script>
"""

TAB = """<!doctype html><meta charset="utf-8"><title>a person's tab</title>
<script src="discreet-client.js"></script>
<script type="module">
const [bit, mood] = (await (await fetch("tasks.json")).json()).map((text) => discreet.readTask(text));
const say = (facts) => fetch("/said", { method: "POST", body: JSON.stringify({ tab: location.search, ...facts }) });
if (location.hash) {
  const me = await discreet.openClient({ storage: localStorage });
  await me.randomize(mood, "good");
  await say({ left: `${me.left}`, values: me.lifetime(mood).values, ledger: localStorage.getItem("discreet") });
} else {
  await fetch("/together", { method: "POST", body: "" });
  const me = await discreet.openClient({ storage: localStorage, epsilon: "4" });
  await me.randomize(mood, "good");
  let sent = 0;
  try {
    for (; sent < 60; sent += 1) await me.randomize(bit, true);
  } catch (error) {
    if (error.name !== "BudgetExceeded") await say({ error: `${error}` });
  }
  await say({ sent, left: `${me.left}` });
  if (location.search === "?first") {
    location.hash = "again";
    location.reload();
  }
}
</script>
"""
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0"),
)


class Site(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, and an ear for what the pages say."""

    said: queue.Queue[dict[str, object]]
    together: threading.Barrier

    def log_message(self, format: str, *words: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/together":
            self.together.wait(timeout=500)
        else:
            self.said.put(json.loads(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextmanager
def browser(tmp_path: Path, files: dict[str, str], pages: list[str]) -> Iterator[queue.Queue[dict[str, object]]]:
    """A browser with these pages open, each in a tab of its own."""
    chromium = program("chromium", "chromium-browser", "google-chrome")
    site, profile = tmp_path / "site", tmp_path / "profile"
    site.mkdir()
    shutil.copy(CLIENT, site)
    for name, text in files.items():
        (site / name).write_text(text)
    ear: queue.Queue[dict[str, object]] = queue.Queue()
    handler = type("Handler", (Site,), {"said": ear, "together": threading.Barrier(2)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [chromium, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            try:
                for page in pages:
                    opened = http.client.HTTPConnection("127.0.0.1", _port(profile / "DevToolsActivePort"), timeout=600)
                    opened.request("PUT", f"/json/new?http://127.0.0.1:{server.server_port}/{page}")
                    assert opened.getresponse().status == 200
                    opened.close()
                yield ear
            finally:
                running.terminate()
                running.wait(timeout=600)
                server.shutdown()


def _port(file: Path) -> int:
    """Where the browser listens, once it does."""
    for _ in range(12_000):
        if file.exists() and (lines := file.read_text().split()):
            return int(lines[0])
        time.sleep(0.05)
    raise AssertionError("Chromium did not start.")


def test_a_browser_makes_the_same_reports(tmp_path: Path) -> None:
    """As a classic script and as a module; and with the browser's own generator, every report of four (each is missing from
    500 draws with a probability below 1e-30)."""
    files = {path.name: path.read_text() for path in (HERE / "check_vectors.js", make_vectors.FILE)}
    with browser(tmp_path, {"index.html": PAGE, **files}, ["index.html"]) as ear:
        said = ear.get(timeout=600)
    results: list[dict[str, object]] = said["results"]  # type: ignore[assignment]
    assert [result["failures"] for result in results] == [[], []]
    assert all(result["checked"] > 1800 for result in results)  # type: ignore[operator]
    assert said["drawn"] == [0, 1, 2, 3]
    assert said["different"]


def test_tabs_of_a_browser_share_one_ledger_that_lasts(tmp_path: Path) -> None:
    """Two tabs spend as fast as they can: 60 reports of epsilon 1/20 fit after the mood's 1, and not one more leaves. A page that
    is loaded again finds the ledger, and its memory; Python reads it."""
    mood = dp.local.Repeated(MOODS, 0.5, permanent=1, values=1)
    tasks = [dp.local.Bit(epsilon=0.05), mood]
    files = {"tab.html": TAB, "tasks.json": json.dumps([task.to_json() for task in tasks])}
    with browser(tmp_path, files, ["tab.html?first", "tab.html?second"]) as ear:
        one, two, again = sorted((ear.get(timeout=600) for _ in range(3)), key=lambda said: "ledger" in said)
    assert one["sent"] + two["sent"] == 60, (one, two)  # type: ignore[operator]
    assert {one["tab"], two["tab"]} == {"?first", "?second"}
    assert (again["left"], again["values"]) == ("0", 1)
    (tmp_path / "me.json").write_text(str(again["ledger"]))
    client = dp.local.Client(tmp_path / "me.json")
    assert client.left == 0
    cost = client.lifetime(mood)
    assert cost is not None
    assert cost.reports == 3
