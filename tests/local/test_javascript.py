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
}


def test_hostile_tasks_are_refused_in_a_sentence() -> None:
    answers = asked([{"task": text, "value": "a"} for text in HOSTILE.values()])
    allowed = {name: said for name, said in zip(HOSTILE, answers, strict=True) if not str(said).startswith("TaskRefused: ")}
    assert allowed == {}


def test_tasks_of_other_kinds_are_refused() -> None:
    """Python has them, this client has not: it says so, and reports nothing."""
    mean, shape = (kind(0, 15, epsilon=1) for kind in (dp.local.Mean, dp.local.Distribution))
    others = [mean, shape, dp.local.HeavyHitters(epsilon=1), dp.local.Repeated(["a", "b"], epsilon=1, permanent=2)]
    others.append(dp.local.Attributes({"bit": dp.local.Bit(epsilon=1), "mean": mean}))
    for said in asked([{"task": task.to_json(), "value": 1} for task in others]):
        assert isinstance(said, str)
        assert "for the kinds frequencies and bit only" in said


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
const vectors = VECTORS;
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
    (site / "index.html").write_text(PAGE.replace("VECTORS", text.replace("<", "\\u003c")))
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
    assert all(result["checked"] > 400 for result in said["results"])
    assert said["drawn"] == [0, 1, 2, 3]
    assert said["different"]
