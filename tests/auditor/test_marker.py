"""A test with the marker ``dp`` is still a test: what it asserts, skips and forgets is not swallowed."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SUITE = """
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

def test_stopped(dp_audit):
    def function(rows):
        os.kill(os.getpid(), signal.SIGINT)
        return 0
    dp_audit(function, [1, 2], [1], epsilon=1)

def test_next():
    pass
"""


def test_outcomes_mean_what_they_mean(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
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
