"""Gradient descent on noisy sums of clipped gradients, as a tool: for any model with a gradient a row.

Every step adds up the gradients of all rows, or of a fresh Poisson sample of them, each clipped to a public norm and cut to a
public grid, and adds noise that was calibrated before the first step, for all of them together.

**Theorem.** Full batches: T Gaussian mechanisms whose mu^2 add up to the one that is exactly (epsilon, delta)-private, chosen
adaptively (``payment``). Samples: T Gaussian mechanisms on Poisson samples at a rate q, each of which has the loss of the mixture
(1 - q) N(0, s^2) + q N(1, s^2) against N(0, s^2) and back, whatever the gradients; composed by the certified accountant of
``privacy``, adaptively, since the dominating pair of every step is the same (Zhu, Dong and Wang 2022, theorem 10). Neighbours are
those of the unit; samples save where units are added or removed, by the theorem that is known. Coins and noise are the system's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import HEIGHT, Number, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import nearest, positive, probability, rational, whole
from discreet.learn.payment import Payment
from discreet.learn.rows import by_person, read_cells, read_unit
from discreet.mechanisms import Gaussian
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.rows.sums import Added, Ball, Dense, Sparse, Total, add_up
from discreet.mechanisms.secret import Secret
from discreet.privacy import Privacy
from discreet.privacy.calibrate import noise as calibrate_noise
from discreet.schema.units import Person, Unit

_BACK = 0.6  # the cosine between gradients, from which on a step went too far
_SHORTEST = 0.1  # to which a step is cut

Gradients = Callable[[Reals, Any, Any], Any]
"""(parameters, X, y) -> a line for every row, of that row alone; or ``Sparse``."""


def descend(
    gradient: Callable[[Reals], Reals], start: Reals, steps: int, rate: float, momentum: float, noise: float | None = None
) -> Reals:
    """So many steps down a noisy gradient; the average of the second half of them, in which noise averages out.

    ``noise`` is the deviation of every number of a gradient, where steps may be too long for what is found: one after which the
    gradient points back, by more than noise explains, is cut where it crosses 0 between both ends, later ones are as much
    shorter, and what was found before is no part of the average. That is decided by noisy gradients alone.
    """
    at, moving, total, count = start.copy(), np.zeros_like(start), np.zeros_like(start), 0
    before: tuple[Reals, Reals] | None = None
    for step in range(steps):
        here = gradient(at)
        if noise is not None and before is not None and _points_back(before[1], here, noise):
            come, move = before[0], at - before[0]
            down, up = float(before[1] @ move), float(here @ move)
            share = min(max(down / (down - up), _SHORTEST), 0.5) if down < 0 < up else 0.5
            at, rate, moving, before = come + share * move, rate * share, np.zeros_like(start), None
            total, count = np.zeros_like(start), 0
            continue
        before = at, here
        moving = momentum * moving + here
        at = at - rate * moving
        if step >= steps // 2:
            total, count = total + at, count + 1
    return total / count if count else at


def _points_back(before: Reals, here: Reals, noise: float) -> bool:
    """Whether a gradient points against the one before."""
    along, squares = float(before @ here), (float(before @ before), float(here @ here))
    doubt = 2 * noise * math.sqrt(sum(squares) + len(here) * noise**2)
    return along < -doubt and along < -_BACK * math.sqrt(squares[0] * squares[1])


@dataclass(frozen=True, eq=False)
class Descent:
    """What came out: parameters, averaged over the second half of the steps, and what they cost."""

    parameters: Reals
    privacy: Privacy
    noise: float  # the standard deviation in every number of a step's mean gradient

    def __repr__(self) -> str:
        return f"{len(self.parameters):,} parameters, {self.privacy!r}"


@called_as("gradients, start, X, y, epsilon=1, delta=1e-5, size=1000, steps=100, learning_rate=0.5")
def private_descent(
    gradients: Gradients,
    start: Any,
    X: Any,  # noqa: N803
    y: Any = None,
    *,
    epsilon: Number,
    delta: Number | None = None,
    size: int | None = None,
    steps: int = 100,
    learning_rate: float = 0.5,
    clip: Number = 1,
    rate: Number = 1,
    momentum: float = 0.0,
    unit: object = None,
    groups: Any = None,
    watch: Callable[[int, int], None] | bool | None = None,
) -> Descent:
    """Parameters that noisy gradient descent finds.

    ``gradients(parameters, X, y)`` gives a line of numbers for every row, made of that row and the parameters alone, or a
    ``Sparse`` for models of many parameters of which a row touches few. ``start`` are the first parameters. ``size`` is a
    public number of rows (or persons), by which sums are divided: the rows that are here decide nothing. ``clip`` is the
    largest norm of one unit's gradient; ``rate`` the share of units in a step. ``watch(step, steps)`` is called after every
    step, and sees no loss; ``watch=True`` draws a bar.

    >>> def away(mean, X, y):
    ...     return mean - X
    >>> X = np.full((2000, 2), [0.25, -0.5])
    >>> found = private_descent(away, np.zeros(2), X, epsilon=1, delta=1e-5, size=2000, steps=20)
    >>> bool(np.abs(found.parameters - X[0]).max() < 0.1)
    True
    """
    first = np.array(start, dtype=np.float64).ravel()
    if not np.isfinite(first).all() or not len(first):
        raise ParameterError("The first parameters are one finite number or more; write start=np.zeros(10).")
    inputs = np.asarray(X)
    who = read_unit(unit, len(inputs))
    many = _size(size, who)
    count, share = whole("steps", steps), rational("rate", rate, "the share of rows in a step, such as 0.1")
    if not 0 < share <= 1:
        raise ParameterError(f"rate={rate} is no share of rows; write rate=0.1, or leave it out for all rows.")
    check_lines(gradients, first, inputs, y)
    letting, privacy = _plan(epsilon, delta, clip, count, share, who)
    block = _block(inputs, y, groups, who)
    scale = many * float(share)
    taken = 0

    def of(at: Reals) -> Callable[[Block], Added]:
        return lambda part: _lines(gradients, at, part)

    def gradient(at: Reals) -> Reals:
        nonlocal taken
        total = add_up([block], of(at), letting.ball, len(first), rate=None if share == 1 else share)
        noisy = letting.release(total) / scale
        taken += 1
        tell(taken, count)
        return noisy

    with _watching(watch) as tell:
        found = descend(gradient, first, count, learning_rate, momentum)
    return Descent(found, privacy, letting.deviation / scale)


@contextmanager
def _watching(watch: Callable[[int, int], None] | bool | None) -> Iterator[Callable[[int, int], None]]:
    """What is told how many steps are taken: whoever watches, a bar on standard error, or nobody."""
    if watch is not True:
        yield watch or (lambda _step, _steps: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("descent"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda step, steps: bar.update(task, completed=step, total=steps)


def _lines(gradients: Gradients, at: Reals, block: Block) -> Added:
    """What the rows of a block add: the function always sees the same number of rows, filled up with zeros, so that the last
    digits of a line do not change with the rows beside it (``arrays.multiply``)."""
    found = []
    for start in range(0, block.height, HEIGHT):
        many = min(HEIGHT, block.height - start)
        x, y = (_fill(block.columns.get(name), start, many) for name in ("x", "y"))
        found.append((gradients(at, x, y), start, many))
    if any(isinstance(made, Sparse) for made, _, _ in found):
        return _join(found, block.height)
    lines = [np.asarray(made, dtype=np.float64).reshape(HEIGHT, -1)[:many] for made, _, many in found]
    return Dense(np.concatenate(lines))


def _fill(column: NDArray[np.generic] | None, start: int, many: int) -> NDArray[np.generic] | None:
    if column is None:
        return None
    filled = np.zeros((HEIGHT, *column.shape[1:]), dtype=column.dtype)
    filled[:many] = column[start : start + many]
    return filled


def _join(found: list[tuple[Any, int, int]], height: int) -> Sparse:
    """Entries of rows that are there."""
    kept = [(made, start, (made.rows >= 0) & (made.rows < many)) for made, start, many in found]
    rows = np.concatenate([made.rows[these] + start for made, start, these in kept])
    places = np.concatenate([made.places[these] for made, _, these in kept])
    return Sparse(rows, places, np.concatenate([made.values[these] for made, _, these in kept]), found[0][0].length, height)


class _Letting:
    """What lets out the sum of every step: as often as was planned, and not once more."""

    def __init__(self, ball: Ball, steps: int, release: Callable[[Total], Reals], deviation: float) -> None:
        self.ball, self.left, self._release, self.deviation = ball, steps, release, deviation

    def release(self, total: Total) -> Reals:
        if not self.left:
            raise ParameterError("All steps that were paid for are taken.")
        self.left -= 1
        return self._release(total)


def _plan(
    epsilon: Number, delta: Number | None, clip: Number, steps: int, rate: Fraction, unit: Unit
) -> tuple[_Letting, Privacy]:
    """The noise of every step, and what all of them cost."""
    norm = positive("clip", clip, "the largest norm of one row's gradient, such as 1")
    if rate == 1:
        payment, privacy = Payment.own(epsilon, delta, unit)
        each, ball = Fraction(1, steps), payment.ball(norm)
        return _Letting(ball, steps, lambda total: payment.release(total, each), payment.deviation(ball, each)), privacy
    if delta is None or unit.neighbours != "add-remove":
        raise ParameterError(
            "Samples save by a theorem for Gaussian noise, and for units that are added or removed; give a delta and leave unit= "
            "as it is, or leave rate= out."
        )
    chance = probability("delta", delta, zero=False, hint="a small chance such as 1e-5")

    def cost(noise: float) -> Privacy:
        return steps * Gaussian(sensitivity=1, sigma=noise, neighbours="add-remove").privacy.sampled(rate)

    noise = calibrate_noise(cost, epsilon=positive("epsilon", epsilon), delta=chance)
    ball = Ball.of(norm)
    mechanism = Gaussian(sensitivity=ball.radius, sigma=ball.radius * rational("noise", noise), neighbours="add-remove")
    step = nearest(ball.step)

    def release(total: Total) -> Reals:
        return np.asarray(mechanism.release(total.value), dtype=np.float64) * step  # type: ignore[arg-type]

    return _Letting(ball, steps, release, mechanism.sigma * step), cost(noise)


def _size(size: int | None, unit: Unit) -> int:
    known = unit.size if size is None else whole("size", size)
    if known is None:
        raise ParameterError(
            "By how many rows gradients are divided is not read off the rows that are here; write size=1000, a public number."
        )
    return known


def _block(inputs: NDArray[np.generic], y: Any, groups: Any, unit: Unit) -> Secret[Block]:
    """All rows, hidden; those of a person together, no more than count."""
    columns: dict[str, NDArray[np.generic]] = {"x": inputs}
    if y is not None:
        columns["y"] = np.asarray(y)
        if len(columns["y"]) != len(inputs):
            raise ParameterError(f"X has {len(inputs):,} rows and y has {len(columns['y']):,}; they need one value a row.")
    if (groups is not None) != isinstance(unit, Person):
        raise ParameterError(
            'Persons are told apart by groups=ids, one a row, and protected by unit=dp.person("id", rows=8, groups=1); give both '
            "or neither."
        )
    if not isinstance(unit, Person):
        return Secret(Block(columns, len(inputs)))
    ids = read_cells(groups).reshape(-1)
    if len(ids) != len(inputs):
        raise ParameterError(f"X has {len(inputs):,} rows and groups has {len(ids):,}; they need one value a row.")
    order, starts = by_person(list(columns.values()), ids, unit.rows)
    return Secret(Block({name: column[order] for name, column in columns.items()}, len(order), starts))


def check_lines(gradients: Gradients, start: Reals, inputs: NDArray[np.generic], y: Any) -> None:
    """Refuse a function whose line for a row depends on other rows, as means over a batch do: found on rows that are made up."""
    if not callable(gradients):
        raise ParameterError("gradients is a function of (parameters, X, y) that gives a line for every row.")
    shape = inputs.shape[1:]
    labels = None if y is None else np.zeros((4, *np.shape(y)[1:]), dtype=np.asarray(y).dtype)
    try:
        made = (np.arange(4 * int(np.prod(shape))).reshape(4, *shape) % 3).astype(inputs.dtype)
        with np.errstate(all="ignore"):
            together = gradients(start.copy(), made, labels)
            apart = [gradients(start.copy(), made[i : i + 1], None if labels is None else labels[i : i + 1]) for i in range(4)]
        if isinstance(together, Added):
            return
        lines, ones = np.asarray(together, dtype=np.float64), np.asarray(apart, dtype=np.float64)
    except Exception:
        return  # rows of this kind are none of its own
    if lines.shape != (4, len(start)):
        raise ParameterError(
            f"gradients gave an array of the shape {lines.shape} for 4 rows and {len(start):,} parameters; a line for every row "
            "is wanted, with a number for every parameter."
        )
    if not np.allclose(lines, ones.reshape(lines.shape), equal_nan=True):
        raise ParameterError(
            "The gradient of a row changed with the rows beside it, so clipping it bounds nothing; compute every line from its "
            "own row alone, without means or norms over the batch."
        )
