"""Audits in somebody's test suite: the fixture ``dp_audit``, and the marker ``dp`` with its fixture ``dp_input``.

    def test_count(dp_audit):
        dp_audit(noisy_count, [1, 2], [1], epsilon=1)

    @pytest.mark.dp(epsilon=1, pair=([1, 2], [1]))
    def test_sum(dp_input):
        return noisy_sum(dp_input)

A correct function fails such a test with probability at most 1e-6, so suites do not become flaky. Work is counted, not time: a
good one is run 5,000 times on each input (``draws=`` changes that), a bad one usually much less, on a busy machine too. What a
function raises is its output, but for one thing: an ``assert`` that fails inside a marked test, or ``pytest.fail``, ``skip``,
``xfail`` and ``exit``, mean what they always mean. pytest loads this file in every project, so it imports nothing but pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from discreet.auditor.finding import Finding

_ERROR = 1e-6
_DRAWS = 5_000
_MEANT = (AssertionError, pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception)
_MARKER = (
    "dp(epsilon, delta=0, privacy=None, pair=(a, b)): audit what the test returns for its argument dp_input, "
    "which is a or b; see also the fixture dp_audit."
)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def dp_audit() -> Callable[..., Finding]:
    """``dp_audit(function, a, b, epsilon=1)`` fails the test if the claim is refuted, or if the function cannot be audited."""
    return _audit


@pytest.fixture
def dp_input(request: pytest.FixtureRequest) -> object:
    """One of two neighbouring inputs; only for tests that have the marker ``dp``, which are run once per draw."""
    if request.node.get_closest_marker("dp") is None:
        pytest.fail("dp_input is for tests with @pytest.mark.dp(epsilon=1, pair=(a, b)).", pytrace=False)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test once per draw; all other tests are none of our business."""
    marker = pyfuncitem.get_closest_marker("dp")
    if marker is None:
        return None
    terms = dict(marker.kwargs)
    pair = terms.pop("pair", None)
    if marker.args or not isinstance(pair, (list, tuple)) or len(pair) != 2 or "dp_input" not in pyfuncitem.funcargs:
        pytest.fail(
            "The marker dp needs a pair of neighbouring inputs, and the test an argument dp_input; write "
            "@pytest.mark.dp(epsilon=1, pair=([1, 2], [1])) and def test_sum(dp_input).",
            pytrace=False,
        )
    names = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in names}
    test, ended = pyfuncitem.obj, list[BaseException]()

    def run(one: object) -> object:
        from discreet.auditor.isolation import Interrupted

        try:
            return test(**{**given, "dp_input": one})
        except _MEANT as meant:
            ended.append(meant)
            raise Interrupted from meant

    finding = _audit(run, *pair, ended=ended, **terms)
    pyfuncitem.user_properties.append(("dp", finding.verdict))
    return True


def _audit(
    function: Callable[..., object], a: object, b: object, *, ended: Sequence[BaseException] = (), **terms: object
) -> Finding:
    """Run an audit; ``ended`` is where the function leaves what ends the test at once."""
    from discreet.auditor import audit
    from discreet.errors import ParameterError

    try:
        finding = audit(function, a, b, **{"error": _ERROR, "draws": _DRAWS, **terms})  # type: ignore[arg-type]
    except (ParameterError, TypeError) as refusal:  # runs of the function raise nothing: what they raise is their output
        pytest.fail(str(refusal), pytrace=False)
    if ended:
        raise ended[0]
    if finding.stopped:
        raise KeyboardInterrupt
    if finding.violated or finding.obstacle:
        pytest.fail(str(finding), pytrace=False)
    return finding
