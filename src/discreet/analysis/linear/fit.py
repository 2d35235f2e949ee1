"""Least squares from noisy sums of products: coefficients, and how far they may be off.

Let M be the noisy X^T X of a design with the response as its last column, E its noise, g = (b, -1). At the least-squares
coefficients b of the rows themselves M g = E g in the rows of the design: noise alone, whose covariance is known, since E is
a linear form of releases and b is nearly what comes out. So b is off by A^-1 E g to first order, A being the design's part of
M; beside it stands the classical covariance s^2 A^-1 of sampling, with s^2 as large as noise may have made it.

**When it holds.** The expansion is one in A^-1/2 E A^-1/2. Where the size of that, known up to A's own noise, is above a
third, the matrix does not support the model: some direction of the design may have no information at all, and along it
coefficients are unbounded. Then nothing is known of single coefficients, which their intervals say, and predictions are
shrunk: negative eigenvalues of A become 0 (which is free), all go some way towards their mean, as far as noise explains why they
differ and three tenths at most; and slopes are what is expected of them if they are normal around 0 with variance t. Then the
noisy c = X^T y is normal too, around 0 with covariance t A^2 + s^2 A + D: what slopes, sampling and noise make of it, D being
diagonal with the noise of c and t times that of a row of A; and slopes are expected at t A (t A^2 + s^2 A + D)^-1 c. The variance
t is the one under which c is likeliest, of those with which the slopes explain from a thousandth to twice the response's own
variance, and s^2 is what they leave of that. So coefficients go to 0, and predictions to the private mean, as noise grows
(empirical Bayes). All of it is decided by noisy numbers and public noise levels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.analysis.linear.formula import Column
from discreet.analysis.linear.gram import Cell, Gram, Matrix, Scale
from discreet.arrays import Reals

_SMALL = 1 / 3  # of A^-1/2 E A^-1/2, up to which its square is neglected
_STRAINED = 1 / 4  # of the same, from which on intervals are given to tables whose noise happens to look small
_FEWEST = 5  # degrees of freedom that are left, for an interval
_NORMAL = 1.959964
_PRIORS = np.geomspace(1e-3, 2, 16)  # shares of the response's variance that slopes may explain together, before it is known
_ALIKE = 0.3  # how far eigenvalues go towards their mean at most


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients on the scale of the columns themselves. ``covariance`` holds sampling and noise; None: nothing is known."""

    coefficients: Reals
    covariance: Reals | None
    rows: float
    rows_error: float
    free: float  # degrees of freedom
    residual: float  # its standard deviation, and what it may be with noise
    residual_most: float
    explained: float  # R^2, and its standard error from noise
    explained_error: float
    repaired: bool  # whether eigenvalues were negative
    strained: bool = False  # whether noise is all but too large for intervals

    @cached_property
    def factor(self) -> float:
        """Half an interval, in standard errors: Student's t, by its expansion (Fisher and Cornish)."""
        z, v = _NORMAL, max(self.free, 1.0)
        return z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)

    @property
    def errors(self) -> Reals:
        if self.covariance is None:
            return np.full_like(self.coefficients, np.inf)
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def error_of(self, design: Reals) -> Reals:
        """Standard errors of the means that are predicted for rows of a design."""
        if self.covariance is None:
            return np.full(len(design), np.inf)
        squared: Reals = np.einsum("ij,jk,ik->i", design, self.covariance, design)
        return np.sqrt(np.maximum(squared, 0.0))


def fit(matrix: Matrix, columns: Sequence[Column], response: str, at: tuple[tuple[str, int], ...] = ()) -> Fit:
    """The least-squares fit of a response to the columns of a design; ``at``: of the rows in one cell of categories."""
    design = _Design(matrix, columns, response, at)
    gram, rows, centred, back = design.gram, design.rows, design.centred, design.back
    moments = centred @ gram.values @ centred.T  # around the means, where there is an intercept
    varied = np.stack([np.diag(gram.noise(centred, one)) for one in centred], axis=1)
    inner, cross = moments[:-1, :-1], moments[:-1, -1]
    free = design.size - len(columns)
    noisy = _size_of_noise(gram, inner, centred[:-1])
    supported = free >= _FEWEST and design.size > 4 * design.size_error and noisy <= _SMALL
    repaired = bool(len(moments) and np.linalg.eigvalsh(moments)[0] < 0)
    if supported:
        slopes = np.linalg.solve(inner, moments[:-1, -1]) if len(inner) else np.zeros(0)
    else:
        spectrum, vectors = np.linalg.eigh(moments)
        moments = (vectors * np.maximum(spectrum, 0.0)) @ vectors.T
        slopes = _expected(inner, cross, varied, max(moments[-1, -1], 0.0), design.size) if len(inner) else np.zeros(0)
    standard = design.whole(slopes)
    along = np.append(standard, -1.0) @ rows
    total, left = max(moments[-1, -1], 0.0), along @ gram.values @ along if supported else _left(moments, slopes)
    left = min(max(left, 0.0), total)
    noise = gram.deviation(along) * gram.stretch
    most = max(free, 1.0)
    squared = (left + noise) / most
    share = 1 - left / total if total else 0.0
    outer = centred[-1]
    wobble = gram.form(along, along) - (1 - share) * gram.form(outer, outer)
    explained_error = float(np.linalg.norm(wobble * gram.deviations)) / total if total else 1.0
    covariance = None
    if supported:
        inverse = np.linalg.inv(rows[:-1] @ gram.values @ rows[:-1].T)
        private = inverse @ gram.noise(rows[:-1], along) @ inverse * gram.stretch**2
        covariance = design.unit**2 * back @ (private + squared * inverse) @ back.T
    scale = design.unit
    return Fit(
        back @ standard * scale + design.offset,
        covariance,
        design.size,
        design.size_error,
        max(free, 1.0),
        scale * math.sqrt(left / most),
        scale * math.sqrt(squared),
        min(max(share, 0.0), 1.0),
        min(explained_error, 1.0),
        repaired,
        supported and noisy > _STRAINED,
    )


def _expected(inner: Reals, cross: Reals, varied: Reals, total: float, size: float) -> Reals:
    """Slopes that are expected of noisy sums if they are normal around 0; ``varied``: the variance of every sum's noise."""
    spectrum, vectors = np.linalg.eigh(inner)
    spectrum = np.maximum(spectrum, 0.0)
    mean = float(spectrum.mean())
    unlike = float(np.sum((spectrum - mean) ** 2))
    alike = min(_ALIKE, float(varied[:-1, :-1].sum()) / unlike) if unlike else _ALIKE
    inner = (vectors * (spectrum + alike * (mean - spectrum))) @ vectors.T
    spread = total / size
    prior = _PRIORS * total / max(float(np.trace(inner)), 1e-6 * size)
    sampled = spread * np.maximum(1 - _PRIORS, 1 / 20)
    noise = varied[:-1, -1] + prior[:, None] * varied[:-1, :-1].sum(axis=1) + 1e-12
    made = prior[:, None, None] * (inner @ inner) + sampled[:, None, None] * inner
    noise += 1e-9 * np.trace(made, axis1=1, axis2=2)[:, None]  # columns may be one another's sums, and doubles are rounded
    made[:, range(len(inner)), range(len(inner))] += noise
    solved = np.linalg.solve(made, np.broadcast_to(cross[:, None], (len(prior), len(inner), 1)))[..., 0]
    likely = -np.linalg.slogdet(made)[1] - solved @ cross
    best = int(np.argmax(likely))
    slopes: Reals = prior[best] * inner @ solved[best]
    return slopes


def _left(moments: Reals, slopes: Reals) -> float:
    """The sum of squares that slopes leave."""
    ends = np.append(slopes, -1.0)
    return float(ends @ moments @ ends)


def _size_of_noise(gram: Gram, inner: Reals, rows: Reals) -> float:
    """The size of A^-1/2 E A^-1/2: the largest norm of its rows, in the directions of A's eigenvectors; infinite where A is not
    surely positive."""
    if not len(inner):
        return 0.0
    spectrum, vectors = np.linalg.eigh(inner)
    if spectrum[0] <= 0:
        return math.inf
    turned = (vectors / np.sqrt(spectrum)).T @ rows
    squares = sum(np.diag(gram.noise(turned, one)) for one in turned)
    return math.sqrt(float(np.max(squares)))


class _Design:
    """The columns of a model as linear forms of products of numbers in [-1, 1], in which all is calculated.

    A model that has, with every product of numbers, its parts as well, is fitted in those products themselves, which are centred
    at the middle of the bounds; any other one in its own columns, divided by their largest size.
    """

    def __init__(self, matrix: Matrix, columns: Sequence[Column], response: str, at: tuple[tuple[str, int], ...]) -> None:
        one = Cell((), at)
        cells = list(dict.fromkeys(Cell(cell.of, (*cell.at, *at)) for column in columns for cell in column.cells))
        basis = cells if one in cells else [*cells, one]
        places = {cell: i for i, cell in enumerate(basis)}
        self.gram = matrix.gram([*basis, Cell((response,), at)])
        forms = np.zeros((len(columns), len(basis)))
        for i, column in enumerate(columns):
            for cell, weight in zip(column.cells, expand(column.numbers, matrix.numbers), strict=True):
                forms[i, places[Cell(cell.of, (*cell.at, *at))]] += weight
        own = forms[:, : len(cells)]
        first = next((i for i, column in enumerate(columns) if not column.numbers and not column.at), None)
        if len(columns) == len(cells) and np.linalg.matrix_rank(own) == len(cells):
            working, self.back = np.eye(len(basis))[: len(cells)], np.linalg.inv(own.T)
            first = None if first is None else places[one]
        else:
            sizes = np.abs(forms).sum(axis=1)
            working, self.back = forms / sizes[:, None], np.diag(1 / sizes)
        scale = matrix.numbers[response]
        self.unit = scale.half
        self.first = first
        last = np.zeros(len(basis) + 1)
        last[-1] = 1.0
        if first is None:
            last[places[one]] = scale.middle / scale.half
        self.rows = np.vstack([np.hstack([working, np.zeros((len(working), 1))]), last])
        self.offset = np.zeros(len(columns))
        if first is not None:
            self.offset[next(i for i, column in enumerate(columns) if not column.numbers and not column.at)] = scale.middle
        where = places[one]
        self.size_error = math.sqrt(self.gram.variances[where, where])
        self.size = max(float(self.gram.values[where, where]), self.size_error, 1.0)
        self.means = np.zeros(len(self.rows))
        if first is not None:
            self.means = np.clip(self.rows @ self.gram.values[where] / self.size, -1.0, 1.0)
        kept = [i for i in range(len(self.rows)) if i != first]
        self.centred = self.rows[kept] - np.outer(self.means[kept], self.rows[first] if first is not None else 0 * last)

    def whole(self, slopes: Reals) -> Reals:
        """All coefficients, with the intercept that goes with slopes."""
        if self.first is None:
            return slopes
        kept = np.delete(self.means, self.first)
        return np.insert(slopes, self.first, kept[-1] - kept[:-1] @ slopes)


def expand(numbers: Sequence[str], scales: Mapping[str, Scale]) -> list[float]:
    """The weights of a product of numbers x = middle + half z in the products of their z, in the order of ``Column.cells``."""
    found = []
    for count in range(len(numbers) + 1):
        for some in itertools.combinations(range(len(numbers)), count):
            inside = math.prod(scales[numbers[i]].half for i in some)
            found.append(inside * math.prod(scales[name].middle for i, name in enumerate(numbers) if i not in some))
    return found
