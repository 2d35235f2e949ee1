"""K-means and bought ranges: what each finds, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from discreet.errors import ParameterError
from discreet.learn import GaussianNB, KMeans, Scaler
from discreet.learn.payment import Payment
from discreet.learn.unlabelled.kmeans import _draw_in
from discreet.learn.unlabelled.scaler import LEVELS, _add_up_to, _find_tails
from discreet.mechanisms.secret import open_secret

DRAW = np.random.default_rng(2)


def blobs(count: int) -> Any:
    centres = np.array([[2.0, 2.0], [8.0, 3.0], [5.0, 8.0]])
    return centres[DRAW.integers(0, 3, count)] + 0.3 * DRAW.normal(size=(count, 2))


def test_centres_are_found_where_rows_are() -> None:
    """3,000 rows at (4, 1e-5): better than one centre. Of 500 runs the worst was at 0.49 of it, where two centres share a heap,
    and noise moves none of them by 0.1: to reach 0.8 is beyond 1e-6."""
    rows = blobs(3000)
    model = KMeans(clusters=3, epsilon=4, delta=1e-5, bounds=(0, 10)).fit(rows)
    alone = ((rows - rows.mean(axis=0)) ** 2).sum() / 25
    assert -model.score(rows) < 0.8 * alone
    assert model.cluster_centers_.shape == (3, 2)
    assert {*model.predict(rows).tolist()} <= {0, 1, 2}


def test_what_noise_explains_leaves_centres_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums as small as their noise, for certain: all centres are one, next to the middle of the bounds, which costs nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(Payment, "release", lambda _, total, __: np.ones(len(open_secret(total.value))))
        model = KMeans(clusters=4, epsilon=0.01, delta=1e-5, bounds=(0, 10)).fit(blobs(20))
    assert len({*map(tuple, model.cluster_centers_.tolist())}) == 1
    assert np.allclose(model.cluster_centers_, 5, atol=0.01)


def test_where_noise_is_much_one_centre_is_measured_with_all_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is paid is the same whatever comes out, and so is the shape. Of no rows a count seven deviations off, below 1e-11,
    would say that there are some."""
    shares: list[Any] = []
    known = Payment.release

    def release(self: Payment, total: Any, share: Any) -> Any:
        shares.append(share)
        return known(self, total, share)

    monkeypatch.setattr(Payment, "release", release)
    for rows, epsilon, releases in ((blobs(20)[:0], 0.01, 2), (blobs(3000), 4, 4)):
        shares.clear()
        model = KMeans(clusters=16, epsilon=epsilon, delta=1e-5, bounds=(0, 10)).fit(rows)
        assert model.cluster_centers_.shape == (16, 2)
        assert len(shares) == releases
        assert sum(shares) == 1


def test_rows_that_are_one_point_are_looked_at_twice_more_and_have_one_centre(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise, for certain. What is left buys the middle; under a pure epsilon nothing is spent on looks."""
    shares: list[Fraction] = []

    def release(self: Payment, total: Any, share: Fraction) -> Any:
        shares.append(share)
        self.left -= share
        return open_secret(total.value) * float(total.ball.step)

    monkeypatch.setattr(Payment, "release", release)
    for delta, expected in ((1e-5, [2, 1, 1, 4]), (None, [2, 6])):
        shares.clear()
        model = KMeans(clusters=3, epsilon=3, delta=delta, bounds=(-1, 1)).fit(np.full((400, 6), 0.37))
        assert [8 * one for one in shares] == expected
        assert len({*map(tuple, model.cluster_centers_.tolist())}) == 1
        assert np.allclose(model.cluster_centers_, 0.37, atol=0.01)


def test_one_centre_has_all_of_the_cost() -> None:
    """4,000 rows in one heap at (1, 1e-5): noise of 0.02 of the way, fifty times less than what is allowed."""
    rows = DRAW.normal(size=(4000, 3)) * 0.1 + 7
    model = KMeans(clusters=1, epsilon=1, delta=1e-5, bounds=(0, 10)).fit(rows)
    assert np.abs(model.cluster_centers_ - 7).max() < 1


def test_what_noise_explains_is_drawn_in() -> None:
    assert _draw_in(np.array([[1.0] * 16, [100.0] * 16]), 1.0, 1.5).tolist() == [0.0, 1 - 16 / 160000]


@pytest.mark.parametrize("clusters", [0, 2.0, True, "3", 10**6])
def test_clusters_are_a_whole_number(clusters: Any) -> None:
    with pytest.raises(ParameterError, match="clusters=3"):
        KMeans(clusters=clusters, epsilon=1, delta=1e-5, bounds=(0, 1)).fit([[0.5]])


def test_a_list_of_values_has_shares_in_a_centre() -> None:
    rows = [[0.1, "a"], [0.9, "b"]] * 500
    model = KMeans(clusters=2, epsilon=4, delta=1e-5, bounds=[(0, 1), ["a", "b"]]).fit(rows)
    assert model.cluster_centers_.shape == (2, 3)


def test_counts_of_parts_add_up_by_least_squares() -> None:
    sizes = [2, 4, 8]
    leaves = np.eye(8)
    design = np.vstack([leaves.reshape(size, 8 // size, 8).sum(axis=1) for size in sizes])
    noisy = DRAW.normal(size=14)
    assert np.allclose(_add_up_to(noisy, sizes), np.linalg.lstsq(design, noisy, rcond=None)[0])


def test_tails_are_left_out_and_too_few_rows_leave_all() -> None:
    counts = np.zeros(256)
    counts[10:200] = 100.0
    assert _find_tails(counts, 0.01, 1.0) == (11, 199)
    assert _find_tails(counts / 1000, 0.01, 1.0) == (0, 256)
    assert _find_tails(-counts, 0.01, 1.0) == (0, 256)


def test_a_range_is_bought_and_feeds_a_model() -> None:
    """Bounds within two parts of 256 of the truth, which noise of (1, 1e-6) and 20,000 rows misses by ten deviations."""
    rows = np.column_stack([DRAW.uniform(100, 200, 20_000), DRAW.uniform(-5, 5, 20_000)])
    labels = rows[:, 0] > 150
    scaler = Scaler(epsilon=1, delta=1e-6, bounds=(-1000, 1000), tails=0.05)
    scaled = scaler.fit_transform(rows)
    (low, high), _ = scaler.bounds_
    assert 85 < low < 120
    assert 180 < high < 215
    assert np.abs(scaled).max() <= 1
    assert scaler.get_feature_names_out().tolist() == ["x0", "x1"]
    assert scaler.transform([[np.nan, 0.0]])[0, 0] == 0
    chain = make_pipeline(scaler, GaussianNB(epsilon=1, delta=1e-6, bounds=(-1, 1), classes=[False, True]))
    assert chain.fit(rows, labels).score(rows, labels) > 0.8
    assert LEVELS == 8


@pytest.mark.parametrize("tails", [0, 0.5, 1, "a", True])
def test_tails_are_a_share(tails: Any) -> None:
    with pytest.raises(ParameterError, match=r"tails=0\.01"):
        Scaler(epsilon=1, delta=1e-6, bounds=(0, 1), tails=tails).fit([[0.5]])
    with pytest.raises(ParameterError, match="no number to scale"):
        Scaler(epsilon=1, delta=1e-6, bounds=[["a", "b"]]).fit([["a"]])
