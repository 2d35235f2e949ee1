"""Descent on noisy gradients as a tool: as private as it says, with clipped lines whatever the function gives."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.arrays import multiply
from discreet.auditor.replay.compare import replay
from discreet.errors import ParameterError
from discreet.learn import Sparse, private_descent
from discreet.mechanisms.base import recorded
from discreet.mechanisms.rows.sums import Dense

X = np.random.default_rng(4).uniform(-0.2, 0.6, size=(400, 2))
COST: dict[str, Any] = {"epsilon": 2, "delta": 1e-5, "size": 400}


def away(mean: np.ndarray, x: Any, y: Any) -> np.ndarray:  # noqa: ARG001
    """The gradient of half the squared distance."""
    return mean - x


@pytest.mark.parametrize("rate", [1, 0.2])
def test_it_finds_what_is_there(rate: float) -> None:
    """Off by five standard deviations of its noise in less than one of 10^6 runs, for each of two numbers."""
    found = private_descent(away, np.zeros(2), X, **COST, steps=40, rate=rate, learning_rate=0.3)
    assert np.abs(found.parameters - X.mean(axis=0)).max() < 5 * found.noise + 0.02
    assert found.privacy.epsilon(1e-5) <= 2


def test_samples_cost_what_the_accountant_says() -> None:
    found = private_descent(away, np.zeros(2), X, **COST, steps=10, rate=Fraction(1, 10))
    with recorded() as releases:
        again = private_descent(away, np.zeros(2), X, **COST, steps=10, rate=Fraction(1, 10))
    assert found.privacy == again.privacy
    assert len(releases) == 10
    each = {one.mechanism.privacy.sampled(Fraction(1, 10)) for one in releases}
    assert len(each) == 1
    assert (10 * each.pop()).epsilon(1e-5) == found.privacy.epsilon(1e-5) <= 2


def test_full_batches_are_replayed_on_neighbours() -> None:
    def run(x: np.ndarray) -> list[float]:
        return private_descent(away, np.zeros(2), x, **COST, steps=3, momentum=0.5).parameters.tolist()

    found = replay(run, np.vstack([X[:20], [[1e100, -9.0]]]), X[:20])
    assert found.differences == ()
    assert found.releases == 3
    assert found.privacy.epsilon(1e-5) > 1.9  # a long gradient moves every step by all of the clip


def test_lines_that_are_not_finite_add_nothing() -> None:
    def broken(mean: np.ndarray, x: Any, y: Any) -> np.ndarray:  # noqa: ARG001
        with np.errstate(all="ignore"):
            return (mean - x) / (x[:, :1] > 0)

    with recorded() as releases:
        private_descent(broken, np.zeros(2), np.vstack([X, -X]), **COST, steps=1)
    with recorded() as fewer:
        private_descent(away, np.zeros(2), np.vstack([X, -X])[np.vstack([X, -X])[:, 0] > 0], **COST, steps=1)
    assert (np.asarray(releases[0].value) == np.asarray(fewer[0].value)).all()


def test_persons_are_clipped_whole() -> None:
    ids = np.repeat(np.arange(100), 4)
    unit = dp.person("id", rows=4, groups=1, size=100)
    with recorded() as releases:
        found = private_descent(away, np.full(2, 9.0), X, epsilon=1, delta=1e-5, steps=1, groups=ids, unit=unit)
    value = np.asarray(releases[0].value, dtype=float)
    assert np.linalg.norm(value) <= 100 * releases[0].mechanism.sensitivity  # type: ignore[attr-defined]
    assert found.privacy.epsilon(1e-5) <= 1


WORDS = np.random.default_rng(5).integers(0, 30, size=(200, 6))
SPAM = (WORDS < 6).any(axis=1).astype(float)


def bag(parameters: np.ndarray, tokens: Any, y: Any) -> Sparse:
    """An embedding of one number a word, added up, and a constant: few parameters are touched by a row, some of them twice."""
    score = parameters[tokens].sum(axis=1) + parameters[30]
    rest = 1 / (1 + np.exp(-score)) - y
    places = np.hstack([tokens, np.full((len(tokens), 1), 30)])
    rows = np.repeat(np.arange(len(tokens)), places.shape[1])
    return Sparse(rows, places.ravel(), np.repeat(rest, places.shape[1]), 31, len(tokens))


def bag_as_lines(parameters: np.ndarray, tokens: Any, y: Any) -> np.ndarray:
    counts = (tokens[:, :, None] == np.arange(30)).sum(axis=1)
    rest = 1 / (1 + np.exp(-(counts @ parameters[:30] + parameters[30]))) - y
    return rest[:, None] * np.hstack([counts, np.ones((len(tokens), 1))])


def test_sparse_gradients_are_the_same_as_lines() -> None:
    given: dict[str, Any] = {**COST, "steps": 1, "clip": 0.7}
    sums = []
    for function in (bag, bag_as_lines):
        with recorded() as releases:
            private_descent(function, np.linspace(-1, 1, 31), WORDS, SPAM, **given)
        sums.append(np.asarray(releases[0].value, dtype=float))
    assert np.abs(sums[0] - sums[1]).max() <= 200 * 2  # units of 2^-26 of the clip, by the rounding of doubles


def test_a_bag_of_words_learns() -> None:
    found = private_descent(
        bag, np.zeros(31), WORDS, SPAM, epsilon=50, delta=1e-5, size=200, steps=60, learning_rate=2.0, momentum=0.8
    )
    scores = found.parameters[WORDS].sum(axis=1) + found.parameters[30]
    assert ((scores > 0) == SPAM).mean() > 0.85


def test_progress_says_how_far_it_is_and_nothing_else() -> None:
    seen: list[tuple[int, ...]] = []
    private_descent(away, np.zeros(2), X, **COST, steps=3, watch=lambda *said: seen.append(said))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_bar_shows_steps_and_leaves_standard_output_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as if it were a terminal
    private_descent(away, np.zeros(2), X, **COST, steps=3, watch=True)
    out, told = capsys.readouterr()
    assert not out
    assert "3/3" in told
    private_descent(away, np.zeros(2), X, **COST, steps=3, watch=False)
    assert capsys.readouterr() == ("", "")


def mixing(mean: np.ndarray, x: Any, y: Any) -> np.ndarray:  # noqa: ARG001
    return mean - x + x.mean(axis=0)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (mixing, {}, "rows beside it"),
    (lambda mean, x, y: x.sum(axis=0), {}, "shape"),  # noqa: ARG005
    (away, {"size": None}, "size=1000"),
    (away, {"rate": 2}, "share of rows"),
    (away, {"rate": 0.1, "delta": None}, "theorem"),
    (away, {"rate": 0.1, "unit": "replace"}, "theorem"),
    (away, {"steps": 0}, "steps"),
    (away, {"clip": 0}, "clip"),
    (away, {"groups": np.zeros(400)}, "groups=ids"),
    (away, {"epsilon": 0}, "epsilon"),
    ("gradient", {}, "a function"),
]


@pytest.mark.parametrize(("function", "given", "said"), REFUSED)
def test_refusals_are_sentences(function: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        private_descent(function, np.zeros(2), X, **{**COST, "steps": 2, **given})


@pytest.mark.parametrize(("width", "outputs"), [(30, 1), (64, 10), (13, 3), (500, 5)])
@pytest.mark.parametrize("height", [1, 2, 7, 100, 1025, 3001])
def test_a_row_is_multiplied_alike_whatever_stands_beside_it(height: int, width: int, outputs: int) -> None:
    """To the last digit: plain products of libraries are not, and one more person would move what others add."""
    draw = np.random.default_rng(height * width)
    rows, matrix, one = draw.normal(size=(height, width)), draw.normal(size=(width, outputs)), draw.normal(size=(1, width))
    more = np.vstack([rows[: height // 2], one, rows[height // 2 :]])
    others = np.delete(np.arange(height + 1), height // 2)
    assert np.array_equal(multiply(rows, matrix), multiply(more, matrix)[others])
    assert np.allclose(multiply(rows, matrix), rows @ matrix)


def test_one_more_row_moves_no_other_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients that are products of matrices, as users write them: what is added up differs by the one row exactly."""
    seen: list[np.ndarray] = []
    whole = Dense.total
    monkeypatch.setattr(Dense, "total", lambda self, *given: seen.append(self.values) or whole(self, *given))
    draw = np.random.default_rng(5)
    rows, one = draw.normal(size=(1030, 40)), draw.normal(size=(1, 40))
    start = draw.normal(size=40)
    for x in (rows, np.vstack([rows[:3], one, rows[3:]])):
        private_descent(lambda w, x, y: (x @ w)[:, None] * x, start, x, epsilon=1, delta=1e-5, size=1000, steps=1)  # noqa: ARG005
    before, after = (np.concatenate(seen[i::2]) for i in (0, 1)) if len(seen) == 2 else (seen[0], seen[-1])
    assert np.array_equal(before, np.delete(after, 3, axis=0))
