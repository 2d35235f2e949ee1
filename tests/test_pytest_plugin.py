"""The plugin in somebody else's test suite: it finds violations, lets good functions pass, and costs other suites nothing.

A test with the marker ``dp`` is still a test: what it asserts, skips and forgets is not swallowed.
"""

from __future__ import annotations

import subprocess
import sys

import numpy  # noqa: F401 - before a run inside this one forgets what it loaded: it can be loaded once only
import pytest

pytest_plugins = ["pytester"]

# Both sides of these functions are so far apart, or so good, that few draws settle them; error 1e-6, by default.
SUITE = """
import pytest
import discreet as dp

def counted(rows, epsilon):
    return dp.Laplace(sensitivity=1, epsilon=epsilon).release(len(rows))

@pytest.fixture
def epsilon():
    return 1

def test_good_function(dp_audit):
    finding = dp_audit(lambda rows: counted(rows, 1), [1, 2], [1], epsilon=1, draws=500)
    assert finding.error == pytest.approx(1e-6)
    assert not finding.violated

def test_bad_function(dp_audit):
    dp_audit(lambda rows: counted(rows, 4), [1, 2], [1], epsilon=1)

def test_wrong_claim(dp_audit):
    dp_audit(len, [1, 2], [1], epsilon=-1)

@pytest.mark.dp(epsilon=1, pair=([1, 2], [1]), draws=500)
def test_good_marked(dp_input, epsilon):
    return counted(dp_input, epsilon)

@pytest.mark.dp(epsilon=1, pair=([1, 2], [1]))
def test_bad_marked(dp_input, epsilon):
    return counted(dp_input, 4 * epsilon)

@pytest.mark.dp(privacy=dp.zcdp(0.5), pair=([1, 2], [1]), draws=500)
class TestCurve:
    @pytest.mark.parametrize("rho", [0.5, 50])
    def test_zcdp(self, dp_input, rho):
        return dp.Gaussian(sensitivity=1, rho=rho).release(len(dp_input))

@pytest.mark.dp(epsilon=1)
def test_no_pair(dp_input):
    return 0

@pytest.mark.dp(epsilon=1, pair=([1], []))
def test_no_input():
    return 0

def test_no_marker(dp_input):
    pass

def test_other():
    assert True
"""


MARKED = """
import os
import signal
import pytest
import discreet as dp

release = dp.Laplace(sensitivity=1, epsilon=1).release
kept = {}
marked = pytest.mark.dp(epsilon=1, pair=([1, 2], [1]), draws=300)

@marked
def test_assertion(dp_input):
    answer = release(len(dp_input))
    assert answer == "never"
    return answer

@marked
def test_failure(dp_input):
    pytest.fail("no good")

@marked
def test_skipped(dp_input):
    pytest.skip("not today")

@marked
def test_expected(dp_input):
    pytest.xfail("known")

@marked
def test_nothing(dp_input):
    release(len(dp_input))

@marked
def test_errors_are_outputs(dp_input):
    answer = release(len(dp_input))
    if answer > 1:
        raise ValueError("many")
    return answer

@marked
def test_remembers(dp_input):
    n = len(dp_input)
    kept[n] = kept.get(n) or dp.Laplace(sensitivity=1.0, epsilon=1).release(float(n))
    return kept[n]

def test_assertions_elsewhere_are_outputs(dp_audit):
    def function(rows):
        answer = release(len(rows))
        assert answer < 2
        return answer
    dp_audit(function, [1, 2], [1], epsilon=1, draws=300)
"""

STOPPED = """
import os
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background has it ignored

def test_stopped(dp_audit):
    def function(rows):
        os.kill(os.getpid(), signal.SIGINT)
        return 0
    dp_audit(function, [1, 2], [1], epsilon=1)

def test_next():
    pass
"""


def test_verdicts(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    done = pytester.runpytest("-rA", "-p", "no:cacheprovider", "-p", "no:xdist")
    done.assert_outcomes(passed=4, failed=6, errors=1)
    for name in ("good_function", "good_marked", "other", "zcdp[[]0.5[]]"):
        done.stdout.fnmatch_lines([f"PASSED *test_{name}*"])
    done.stdout.fnmatch_lines(["*violated: the claim epsilon=1 is refuted by * draws (error probability 1e-06)*"])
    done.stdout.fnmatch_lines(["*The marker dp needs a pair*"])
    done.stdout.fnmatch_lines(["*dp_input is for tests with @pytest.mark.dp*"])


def test_the_marker_is_explained(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.dp(epsilon*"])


def test_loading_it_loads_nothing_heavy() -> None:
    program = "import discreet.pytest_plugin, sys; assert not {'numpy', 'duckdb', 'discreet.auditor'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_outcomes_mean_what_they_mean(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MARKED)
    done = pytester.runpytest("-rA", "-p", "no:cacheprovider", "-p", "no:xdist")
    done.assert_outcomes(passed=2, failed=4, skipped=1, xfailed=1)
    done.stdout.fnmatch_lines(["*AssertionError: assert * == 'never'*"])
    done.stdout.fnmatch_lines(["*Failed: no good*"])
    done.stdout.fnmatch_lines(["*the function returned nothing; return the release*"])
    done.stdout.fnmatch_lines(["*keeps state: the global kept*"])


def test_a_stopped_audit_does_not_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(STOPPED)
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert "passed" not in done.stdout.str()
