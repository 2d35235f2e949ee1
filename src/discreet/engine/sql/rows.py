"""Rows as SQL: the columns that a learner reads, as whole numbers, codes or texts, and of every person no more than count.

    lines    as ever: the rows that a question is about
    placed   x0, x1 ...: numbers in units, places in lists, texts; what is missing is a number that nothing else is
    ranked   for persons: the number r of a row among theirs, by a keyed hash of what is read of it

The hash is of the person's id and of what is read of the row, and of nothing else. Rows with the same hash stand in the order of
their columns, so that rows that are tied are alike in all that is read: which rows of a person are kept depends on that person's
rows and the salt only. The rows of a person follow each other, and r = 1 says where one begins, so that no id leaves the engine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql.dialect import Dialect
from discreet.engine.sql.people import PersonStatement
from discreet.engine.sql.statement import Raw, Statement
from discreet.mechanisms.rows.block import MISSING, Block, part
from discreet.plan.expressions.evaluate import infer
from discreet.plan.measures import Measure
from discreet.plan.plan import Reading
from discreet.plan.statistics import Axis

_MOST_HASH = 2**31 - 1


def write_rows(reading: Reading, raw: Raw, dialect: Dialect, salt: str) -> Statement:
    """x0, x1 ... in the order of the columns that are read; for persons r, sorted by person and by r."""
    plan = reading.plan
    new = (Statement if plan.query.people is None else PersonStatement)(plan, raw, dialect, salt)
    columns: dict[str, str] = {}
    tables, joins, placed = "", "", []
    for j, what in enumerate(reading.columns.values()):
        if isinstance(what, Measure):
            columns[f"m{j}"] = new.added(what)
            placed.append(f"coalesce(CAST(m{j} AS BIGINT), {MISSING}) AS x{j}")
        elif isinstance(what, Axis):
            assert what.values is not None
            columns[f"v{j}"] = new.key(what.of, what.values)
            listed = new.listed(infer(what.of, plan.facts).kind, what.values)
            tables += f",\nplaces{j} AS (SELECT * FROM {dialect.numbered.format(j=f'v{j}', list=listed, n=len(what.values))})"
            joins += f" LEFT JOIN places{j} ON lines.v{j} = places{j}.k"
            placed.append(f"coalesce(CAST(places{j}.i AS BIGINT), {MISSING}) AS x{j}")
        else:
            columns[f"t{j}"] = new.value(what)
            placed.append(f"t{j} AS x{j}")
    names = [f"x{j}" for j in range(len(placed))]
    text = f"{new.lines(columns)}{tables}"
    if reading.most is None:
        new.text = f"{text}\nSELECT {', '.join(placed) or '1 AS nothing'} FROM lines{joins}"
        return new
    text += f",\nplaced AS (SELECT {', '.join(['person', *placed])} FROM lines{joins})"
    kind = dialect.types["text"]
    texts = [f"CAST({name} AS {kind})" for name in ("person", *names)]
    told = " || '/' || ".join(f"coalesce(CAST(length({one}) AS {kind}) || ':' || {one}, '-')" for one in texts)
    mark = dialect.hashed.format(salt=new.hide(salt), person=f"({told})", most=_MOST_HASH)
    order = ", ".join([mark, *names])
    text += f",\nranked AS (SELECT *, row_number() OVER (PARTITION BY person ORDER BY {order}) AS r FROM placed)"
    chosen = ", ".join(["CAST(r AS BIGINT) AS r", *names])
    new.text = f"{text}\nSELECT {chosen} FROM ranked WHERE r <= {reading.most} ORDER BY person, ranked.r"
    return new


def read_blocks(reading: Reading, batches: Iterator[dict[str, NDArray[np.generic]]]) -> Iterator[Block]:
    """Batches of an engine as blocks; no person stands in two."""
    names = list(reading.columns)
    held: dict[str, NDArray[np.generic]] | None = None
    for batch in batches:
        whole = batch if held is None else {name: np.concatenate([held[name], batch[name]]) for name in batch}
        if reading.most is None:
            yield from part(_block(whole, names, None))
            continue
        starts = np.flatnonzero(whole["r"] == 1)
        if not len(starts):
            continue  # a batch without rows
        last = int(starts[-1])
        held = {name: column[last:] for name, column in whole.items()}
        yield from part(_block({name: column[:last] for name, column in whole.items()}, names, starts[:-1]))
    if held is not None:
        yield from part(_block(held, names, np.zeros(1, dtype=np.int64)))


def _block(batch: dict[str, NDArray[np.generic]], names: list[str], starts: NDArray[np.int64] | None) -> Block:
    columns = {name: _column(batch[f"x{j}"]) for j, name in enumerate(names)}
    return Block(columns, len(next(iter(batch.values()))), starts)


def _column(cells: NDArray[np.generic]) -> NDArray[np.generic]:
    return cells if cells.dtype == object else cells.astype(np.int64)
