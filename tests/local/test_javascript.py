"""The JavaScript client: equal to Python word for word, lawful with its own generator, hard to fool; in Node and in a browser."""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from collections import Counter
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from local import make_vectors
from local.protocols import every_report
from reference import statistics

import discreet as dp
from discreet.balls import precision
from discreet.errors import ParameterError
from discreet.local.hashing import Hashing, bucket
from discreet.local.prefixes import Prefixes
from discreet.local.task import Task

CLIENT = Path(str(resources.files("discreet.local") / "discreet-client.js"))
HERE = Path(__file__).parent
DRAWS = 20_000
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
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout


def asked(jobs: list[dict[str, object]]) -> list[list[str] | str]:
    """What the client says to each job, in one run of Node."""
    answers: list[list[str] | str] = json.loads(node(HERE / "draw_reports.js", str(CLIENT), text=json.dumps(jobs)))
    return answers


# ---- Equal to Python -------------------------------------------------------------------------------------------------------


def test_python_still_makes_the_vectors() -> None:
    """A change that fails here changes what clients in the field send: it needs a new version of tasks, not new vectors."""
    assert json.loads(json.dumps(make_vectors.build())) == json.loads(make_vectors.FILE.read_text())


CHECK = """
const client = require(process.argv[2]);
require(process.argv[3]);
const vectors = JSON.parse(require("fs").readFileSync(process.argv[4], "utf8"));
process.stdout.write(JSON.stringify(globalThis.checkVectors(client, vectors)));
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
    assert result["checked"] == sum(2 + len(one["cases"]) for one in vectors["vectors"]) + 2 * len(vectors["hashes"])


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
    result = checked_in_node(tmp_path, {"vectors": [{**one, "cases": wrong}], "hashes": [[one["task"], "0" * 64]]})
    assert len(result["failures"]) == len(wrong) + 2  # type: ignore[arg-type]


def test_the_guide_runs(tmp_path: Path) -> None:
    """The lines of docs/local.md make a report that Python counts."""
    guide = (HERE.parents[1] / "docs" / "local.md").read_text()
    lines = re.findall(r"```js\n(.*?)```", guide, flags=re.DOTALL)
    assert len(lines) == 1
    hair = dp.local.Frequencies(["dark", "red"], epsilon=1)
    before = f"const discreet = require({json.dumps(str(CLIENT))}); const text = {json.dumps(hair.to_json())};"
    (tmp_path / "guide.js").write_text(f"{before}\n{lines[0]}\nprocess.stdout.write(body);")
    collector = hair.collector()
    collector.add(node(tmp_path / "guide.js"))
    assert (collector.count, collector.refused) == (1, {})


# ---- Its own generator -----------------------------------------------------------------------------------------------------

LAWFUL = [
    (dp.local.Bit(epsilon=1), True),
    (dp.local.Frequencies(range(5), epsilon=1, protocol="k-ary"), 3),
    (dp.local.Frequencies(range(7), epsilon=1, protocol="subset"), 2),
    (dp.local.Frequencies(range(13), epsilon=1, protocol="projective"), 11),
    (dp.local.Frequencies(range(5), epsilon=1, protocol="unary"), 4),
    (dp.local.Frequencies(range(5), epsilon=1, protocol="hashing"), 4),
]


def test_reports_have_the_law_that_python_states() -> None:
    """Six comparisons, each with a false alarm in less than one of 1e7 runs: together below 1e-6."""
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
]


def test_reports_about_numbers_and_words_have_the_law_that_python_states() -> None:
    """Four comparisons, each with a false alarm in less than one of 1e7 runs: together below 1e-6."""
    words = dp.local.HeavyHitters(epsilon=2, length=3, cells=16)
    jobs = [*NUMBERED, (words, "cab")]
    answers = asked([{"task": task.to_json(), "value": value, "draws": DRAWS} for task, value in jobs])
    for (task, value), reports in zip(jobs, answers, strict=True):
        assert isinstance(reports, list), reports
        collector = task.collector()
        collector.add(reports)
        assert (collector.count, collector.refused) == (DRAWS, {})
        cells, code = task.protocol.cells, task.codes([value])[0]
        seen = np.bincount([json.loads(report)["r"] for report in reports], minlength=cells)
        with precision(100):
            hoped = [task.protocol.likelihood(np.array(row), _code_for(task, row, code)) for row in range(cells)]
            assert statistics.chi_square(seen, np.array([float(chance) for chance in hoped]) * DRAWS) > statistics.ALARM, task


def _code_for(task: Task, row: int, code: np.ndarray) -> int:
    """The code that a report is about: of a word, the cell of the prefix that was drawn."""
    return int(code[row // task.protocol.inner.cells] if isinstance(task.protocol, Prefixes) else code)


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
    hitters = dp.local.HeavyHitters(epsilon=1000, length=6, cells=2**20)
    texts = ["a", "ab", "a" * 9, "日本語", "é🧑", "\x7f"]
    for text, reports in zip(
        texts, asked([{"task": hitters.to_json(), "value": text, "draws": 40} for text in texts]), strict=True
    ):
        (cells,) = hitters.codes([text]).tolist()
        assert {json.loads(report)["r"] for report in reports} <= {
            level * hitters.protocol.inner.cells + cell for level, cell in enumerate(cells)
        }


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
    own = bucket(seeds, np.full(len(plain), code), protocol.buckets)
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
    **{
        f"{cells} hashed cells": json.dumps({**WORDS, "cells": cells, "protocol": {"name": "k-ary"}})
        for cells in (15, 2**24 + 1, "16")
    },
    **{f"{most} words": json.dumps({**WORDS, "most": most}) for most in (0, 10_001, "5", True)},
    "words by subsets": json.dumps({**WORDS, "protocol": {"name": "subset", "weight": 2}}),
    "words by hashing": json.dumps({**WORDS, "protocol": {"name": "hashing", "buckets": 2}}),
    "too many prefixes": within(json.loads(within(WORDS, "words", length=64)), "protocol", prime=2, dimension=21),
    "one attribute": json.dumps({**BOTH, "epsilon": "1", "tasks": {"a": BOTH["tasks"]["a"]}}),
    "attributes in a list": json.dumps({**BOTH, "tasks": list(BOTH["tasks"].values())}),
    "attributes of attributes": within(BOTH, "tasks", c=BOTH),
    "an attribute of any text": within(BOTH, "tasks", c=OPEN),
    "an attribute that is none": within(BOTH, "tasks", a=None),
    "half a sign as attribute": within(BOTH, "tasks", **{"\ud800": BOTH["tasks"]["a"]}),
    "a cheap epsilon": json.dumps({**BOTH, "epsilon": "1"}),
    "a dear epsilon": json.dumps({**BOTH, "epsilon": "3"}),
}


def test_hostile_tasks_are_refused_in_a_sentence() -> None:
    answers = asked([{"task": text, "value": "a"} for text in HOSTILE.values()])
    allowed = {name: said for name, said in zip(HOSTILE, answers, strict=True) if not str(said).startswith("TaskRefused: ")}
    assert allowed == {}


def test_what_only_python_has_is_refused() -> None:
    """Memory, and Laplace noise: the client says so, and reports nothing; nor does it as one of several attributes."""
    again = dp.local.Repeated(["a", "b"], epsilon=1, permanent=2)
    noisy = dp.local.Mean(0, 15, epsilon=1, protocol="laplace")
    for task, word in ((again, "remembers nothing"), (noisy, "has no Laplace noise")):
        several = dp.local.Attributes({"bit": dp.local.Bit(epsilon=1), "other": task})
        for said in asked([{"task": one.to_json(), "value": 1} for one in (task, several)]):
            assert isinstance(said, str)
            assert said.startswith("TaskRefused: ")
            assert word in said


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


# ---- A real browser ----------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html><meta charset="utf-8"><title>vectors</title><p id="said">nothing</p>
<script src="discreet-client.js"></script>
<script>const classic = discreet; delete globalThis.discreet;</script>
<script src="check_vectors.js"></script>
<script type="module">
import "./discreet-client.js";
const vectors = JSON.parse(VECTORS);
const results = [classic, globalThis.discreet].map((client) => checkVectors(client, vectors));
const task = globalThis.discreet.readTask(vectors.vectors[2].task);
const drawn = new Set(Array.from({ length: 500 }, () => task.randomize("red").r));
const different = classic !== globalThis.discreet;
document.getElementById("said").textContent = JSON.stringify({ results, drawn: [...drawn].sort(), different });
</script>
"""
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *words: object) -> None:
        pass


def test_a_browser_makes_the_same_reports(tmp_path: Path) -> None:
    """As a classic script and as a module; and with the browser's own generator, every report of four (each is missing from
    500 draws with a probability below 1e-30)."""
    chromium = program("chromium", "chromium-browser", "google-chrome")
    site = tmp_path / "site"
    site.mkdir()
    for file in (CLIENT, HERE / "check_vectors.js"):
        shutil.copy(file, site)
    text = make_vectors.FILE.read_text()
    (site / "index.html").write_text(PAGE.replace("VECTORS", json.dumps(text).replace("<", "\\u003c")))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        command = [chromium, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        server.shutdown()
    found = re.search(r'<p id="said">(.*?)</p>', done.stdout, flags=re.DOTALL)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    said = json.loads(found[1])
    assert [result["failures"] for result in said["results"]] == [[], []]
    assert all(result["checked"] > 800 for result in said["results"])
    assert said["drawn"] == [0, 1, 2, 3]
    assert said["different"]
