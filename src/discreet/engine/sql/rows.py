"""Rows as SQL: the columns that a learner reads, as whole numbers, codes or texts, and of every person no more than count; and
all rows as a few sums, by which the same rows are known again whatever holds them.

    lines    as ever: the rows that a question is about
    placed   x0, x1 ...: numbers in units, places in lists, texts; what is missing is a number that nothing else is
    ranked   for persons: the number r of a row among theirs, by a keyed hash of what is read of it

The hash is of the person's id and of what is read of the row, and of nothing else. Rows with the same hash stand in the order of
their columns, so that rows that are tied are alike in all that is read: which rows of a person are kept depends on that person's
rows and the salt only. The rows of a person follow each other, and r = 1 says where one begins, so that no id leaves the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.engine.sql.dialect import Dialect, selected
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


def write_identity(relation: str, cells: Sequence[tuple[str, bool]], person: str | None, dialect: Dialect) -> str:
    """SQL of what a table holds, in any order of rows: their number, and sums of keyed hashes of them. ``cells`` are SQL of
    cleaned values, and whether they are texts; rows without a ``person`` count nowhere, nor here. The key is the parameter p0.

    Two tables of different rows, neither of which was made by someone who has the key, have the same sums with a probability of
    at most 2^(2v - 128), where 2^v divides, of every row, how much more often it is in one than in the other (a row more or less,
    or another one: v = 0). That takes hashes of different rows, MD5 behind a secret, for independent and uniform; both halves of
    their sum are then multiples of 2^64 with a probability of 2^(v - 64) each. (Clarke et al., Incremental multiset hash
    functions, ASIACRYPT 2003.) What is hashed can be read in one way only: numbers, truth values and days have no slash, and
    texts say how long they are.
    """
    named = {f"c{j}": sql for j, (sql, _) in enumerate(cells)} | ({} if person is None else {"person": person})
    told = [f"c{j}" if not text else dialect.row_text.format(f"c{j}") for j, (_, text) in enumerate(cells)]
    told += [] if person is None else [dialect.row_text.format("person")]
    hashed = dialect.row_hash.format(salt=dialect.placeholder.format("p0", 1), cells=", '/', ".join(told) or "'/'")
    where = "" if person is None else " WHERE person IS NOT NULL"
    sums = ", ".join(f"{sum} AS s{j}" for j, sum in enumerate(dialect.row_sums))
    rows = f"(SELECT {selected(named)} FROM {relation}) AS cleaned{where}"
    return f"SELECT count(*) AS n, {sums} FROM (SELECT {hashed} AS h FROM {rows}) AS hashes"


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
    return cells if cells.dtype == object else cells.astype(np.int64, copy=False)
