"""Every question that is paid for has an answer, whatever numbers noise made of it: the largest, 0 and what no double holds."""

from __future__ import annotations

import random
import warnings
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.depth import THOROUGH

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms.base import Recording, recorded

COLUMNS = {
    "x": dp.integer(0, 10),
    "y": dp.number(-5, 1_000_000, step=0.5),
    "z": dp.number(0, 0.001, step=0.000001),
    "big": dp.number(-(10**15), 10**15, step=1),
    "g": dp.category("p", "q", "r"),
}
TABLE = pa.table(
    {"x": [1, 2, 3, None], "y": [1.0, 2, 500_000, 3], "z": [1e-4] * 4, "big": [1e15, -1e15, 0, 5], "g": ["p", "q", "r", "p"]}
)
FORMULAS = [
    "avg(x) - avg(y)", "avg(x) * avg(y)", "avg(x) / avg(y)", "avg(x) / avg(y) - avg(z)", "sum(x) / sum(z) * avg(y)", "var_pop(x)",
    "stddev(y) / avg(big)", "sqrt(avg(x) * avg(y)) - ln(avg(z))", "(sum(x) - sum(y)) / (sum(x) + count(*))",
    "exp(least(avg(y) / avg(z), 50))",     "count(*) * count(x) / sum(big) - avg(x)", "var_pop(big) * var_pop(big) - avg(y)",
]  # fmt: skip
EXTREME = [0, 0, 1, -1, 2, 10**6, -(10**6), 2**53, 2**62, -(2**62), 2**63 - 1, -(2**63), 10**30, -(10**30), 10**120, -(10**120)]


def asked(folder: Path, columns: dict[str, Any], table: pa.Table, budget: dp.Budget, **more: Any) -> Any:
    return dp.Curator(table, columns=columns, budget=budget, ledger=folder / "l", **{"unit": dp.rows()} | more)


@pytest.mark.diagonal
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
@pytest.mark.parametrize("amount", [1e-9, 1, 1e5])
def test_whatever_noise_made_of_numbers_there_is_an_answer(kind: str, amount: float, tmp_path: Path) -> None:
    """Also where a warning is an error. Draws are chosen by a fixed seed."""
    draw, curator = random.Random(7), asked(tmp_path, COLUMNS, TABLE, dp.Budget(**{kind: 10**9}))

    def wild(_: Recording, release: Any) -> object:
        found = np.asarray(release())
        return np.array([draw.choice(EXTREME) for _ in range(found.size)], dtype=object).reshape(found.shape)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for place, formula in enumerate(FORMULAS):
            both = (f"SELECT {formula} AS o FROM data", f"SELECT g, {formula} AS o, count(*) AS n FROM data GROUP BY g")
            for text in both if THOROUGH else both[place % 2 :][:1]:
                with recorded(wild):
                    answer = curator.sql(text, **{kind: amount})
                again = curator.sql(text, **{kind: amount})
                assert again.repeated
                assert str(again.rows()) == str(answer.rows())
                assert str(answer)


@pytest.mark.parametrize("most", [1e150, 1e300, 1e-150, 1e-300])
def test_numbers_near_the_ends_of_doubles_are_answered_or_refused_before_payment(most: float, tmp_path: Path) -> None:
    columns = {
        "v": dp.number(0, most, step=Fraction(str(most)) / 10**5),
        "w": dp.number(-most, most, step=Fraction(str(most)) / 10**5),
    }
    table = pa.table({"v": [most, 0.0, most / 2], "w": [most, -most, 0.0]})
    curator = asked(tmp_path, columns, table, dp.Budget(epsilon=10**9))
    spent = 0.0
    for formula in ("sum(v)", "avg(v)", "var_pop(v)", "avg(v) * avg(w)", "avg(v) / avg(w)", "avg(v) - avg(w)", "sum(v) / sum(w)"):
        for epsilon in (1e-12, 1, 1e5):
            with suppress(ParameterError):
                curator.sql(f"SELECT {formula} AS o FROM data", epsilon=epsilon)
                spent += epsilon
            assert curator.budget.spent.epsilon == pytest.approx(spent)


def test_so_small_a_cost_that_its_noise_has_no_square_is_refused_before_payment(tmp_path: Path) -> None:
    curator = asked(tmp_path, COLUMNS, TABLE, dp.Budget(epsilon=1))
    for epsilon in (1e-150, 1e-250):
        for text in ("SELECT avg(x) - avg(y) AS o FROM data", "SELECT g, count(*) AS n FROM data GROUP BY g"):
            with pytest.raises(ParameterError, match=r"10\^120 units"):
                curator.sql(text, epsilon=epsilon)
    assert curator.budget.spent.epsilon == 0
    assert curator.sql("SELECT avg(x) - avg(y) AS o FROM data", epsilon=1e-100).rows()
