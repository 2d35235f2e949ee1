"""Slopes within runs: what other columns are like changes from one run of a wide column to the next, and so within each.

A marginal that was measured by runs says what other columns are like in every run. The distribution of largest entropy has it
change at the ends of runs, in steps, and stay the same within. What was measured is as well agreed with by one that changes
evenly from the middle of a run to that of the next (where half of its rows are), and tables that people keep are more like that.
So the fitted distribution is multiplied, for every marginal by runs, by what an even change has over a step, in such a way that
neither the marginal by runs nor the column's own counts move (iterative proportional fitting, Deming and Stephan 1940). Where it
disagrees with other marginals by more than noise does, such as some by values, it is left out.

The place within a run needs a table with these other columns then. Those marginals come first whose slopes change most, as long
as the model stays within its cells: more work buys more of them. Only released numbers and public limits decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.synthetic.domain import Coding
from discreet.synthetic.inference.fit import Fit, fit
from discreet.synthetic.inference.tree import Columns, Tree
from discreet.synthetic.rounds.levels import Levels, Seen
from discreet.synthetic.zeros import Zeros

_ROUNDS = 8  # of proportional fitting of one table
_TURNS = 2  # of all tables, which change one another
_TINY = 1e-300

Slope = tuple[int, Columns, Columns]  # a wide column, all columns of a marginal, and others of them that stay in runs


def add_slopes(
    levels: Levels, codings: Sequence[Coding], seen: Sequence[Seen], fitted: Fit, total: float, most: int, zeros: Zeros
) -> Fit:
    """A fitted distribution with even changes within runs, of at most so many cells."""
    never, tree, chosen = levels.zeros(zeros), fitted.tree, list[Slope]()
    for slope in _slopes(levels, codings, seen, fitted, most):
        sets = [levels.axes_of(columns, coarse) for _, columns, coarse in (*chosen, slope)]
        grown = Tree.over(tree.sizes, [*fitted.tree.cliques, *sets], tree)
        if grown.cells <= max(most, tree.cells):
            chosen.append(slope)
            tree = grown
    if not chosen:
        return fitted
    noisy, enough = [levels.noisy(one) for one in seen], math.sqrt(sum(one.counts.size for one in seen) / 2)
    found = fit(tree, noisy, total, 0, fitted, never.tables)
    for column, columns, coarse in chosen * _TURNS:
        axes = levels.axes_of(columns, coarse)
        clique = tree.holder(axes)
        assert clique is not None, "the tree was grown for it"
        before = levels.project(found.beliefs, columns, coarse)
        after = even_out(before, columns.index(column), runs_of(levels, column), codings[column])
        change = np.log(np.maximum(after, _TINY) / np.maximum(before, _TINY)) * ((before > _TINY) & (after > _TINY))
        logs = list(found.logs)
        logs[clique] = logs[clique] + levels.spread(change, columns, coarse).reshape(tree.spread(axes, clique))
        tried = fit(tree, noisy, total, 0, Fit(tuple(logs), found.beliefs, found.loss), never.tables)
        if tried.loss <= fitted.loss + enough:
            found = tried
    return found


def _slopes(levels: Levels, codings: Sequence[Coding], seen: Sequence[Seen], fitted: Fit, most: int) -> list[Slope]:
    """Those that were measured by runs and not by values, the largest changes first."""
    found: dict[Slope, float] = {}
    for one in seen:
        for column in one.coarse:
            rest = tuple(other for other in one.coarse if other != column)
            slope = (column, one.columns, rest)
            known = any({*one.columns} <= {*other.columns} and {*other.coarse} & {*one.columns} <= {*rest} for other in seen)
            if slope not in found and len(one.columns) > 1 and not known and levels.size(one.columns, rest) <= most:
                table = levels.project(fitted.beliefs, one.columns, rest)
                even = even_out(table, one.columns.index(column), runs_of(levels, column), codings[column])
                found[slope] = float(np.abs(even - table).sum())
    return sorted(found, key=lambda slope: (-found[slope], slope))


def runs_of(levels: Levels, column: int) -> Integers:
    """The runs of a column that has some."""
    runs = levels.runs[column]
    assert runs is not None, "it was measured by runs"
    return runs


def even_out(table: Reals, axis: int, runs: Integers, coding: Coding, *, beyond: bool = False) -> Reals:
    """A table that changes evenly along an axis, from the middle of a run to that of the next; its sums by runs, and those over
    all other axes, stay as they are. What is missing is no neighbour of anything. ``beyond``: also beyond the middles of the
    first and of the last run, where nothing tells how, and sums may move."""
    turned = np.moveaxis(table, axis, 0)
    many = len(runs) - coding.nullable
    found, own, runs = turned.copy(), turned.reshape(len(runs), -1)[:many], runs[:many]
    high = int(runs.max()) + 1
    if high < 2:
        return table
    rows, by_run = own.sum(axis=1), np.zeros((high, own.shape[1]))
    np.add.at(by_run, runs, own)
    shares = by_run / np.maximum(by_run.sum(axis=1), _TINY)[:, None]
    at = np.cumsum(rows) - rows / 2
    middle = np.bincount(runs, at * rows) / np.maximum(np.bincount(runs, rows), _TINY)
    after = np.clip(np.searchsorted(middle, at), 1, high - 1)
    part = ((at - middle[after - 1]) / np.maximum(middle[after] - middle[after - 1], _TINY))[:, None]
    part = part if beyond else np.clip(part, 0, 1)
    even = np.maximum(0.0, (1 - part) * shares[after - 1] + part * shares[after]) * rows[:, None]
    for _ in range(_ROUNDS):
        here = np.zeros_like(by_run)
        np.add.at(here, runs, even)
        even *= (by_run / np.maximum(here, _TINY))[runs]
        even *= (rows / np.maximum(even.sum(axis=1), _TINY))[:, None]
    found[:many] = even.reshape(found[:many].shape)
    return np.moveaxis(found, 0, axis)


def flatten(table: Reals, axis: int, runs: Integers) -> Reals:
    """A table that is the same within every run along an axis, but for how many rows there are."""
    turned = np.moveaxis(table, axis, 0)
    own = turned.reshape(len(runs), -1)
    rows, by_run = own.sum(axis=1), np.zeros((int(runs.max()) + 1, own.shape[1]))
    np.add.at(by_run, runs, own)
    shares = by_run / np.maximum(by_run.sum(axis=1), _TINY)[:, None]
    return np.moveaxis((shares[runs] * rows[:, None]).reshape(turned.shape), 0, axis)
