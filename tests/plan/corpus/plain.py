"""Counts, sums, means and quantiles by groups, as everybody writes them."""

from __future__ import annotations

from plan.corpus.base import Asked, Hopeless, grouped, mean, values, where

ASKED = [
    Asked("hospital", "SELECT count(*) FROM data", len),
    Asked(
        "hospital", "select COUNT(*) as visits from DATA where age >= 65", lambda rows: len(where(rows, lambda r: r["age"] >= 65))
    ),
    Asked("hospital", "SELECT count(DISTINCT pid) AS patients FROM data", lambda rows: len({r["pid"] for r in rows})),
    Asked(
        "hospital",
        "SELECT ward, avg(cost) AS mean_cost FROM data GROUP BY ward",
        lambda rows: grouped(rows, lambda r: r["ward"], lambda g: mean(g, "cost")),
    ),
    Asked(
        "hospital",
        "SELECT sex, ward, count(*) AS n FROM data GROUP BY 1, 2 ORDER BY n DESC, sex, ward",
        lambda rows: sorted(grouped(rows, lambda r: (r["sex"], r["ward"]), len), key=lambda line: (-line[2], line[0], line[1])),
        ordered=True,
    ),
    Asked(
        "survey",
        "SELECT education, sum(hours) FROM data WHERE employed GROUP BY education",
        lambda rows: grouped(where(rows, lambda r: r["employed"]), lambda r: r["education"], lambda g: sum(values(g, "hours"))),
    ),
    Asked(
        "shop",
        "SELECT country, count(*) AS orders FROM data WHERE NOT returned GROUP BY country HAVING orders > 30",
        lambda rows: [
            line for line in grouped(where(rows, lambda r: not r["returned"]), lambda r: r["country"], len) if line[1] > 30
        ],
    ),
]

HOPELESS = [
    Hopeless("hospital", "SELECT * FROM data", "rows of single persons"),
    Hopeless("hospital", "SELECT max(cost) FROM data", "quantile"),
    Hopeless("survey", "DELETE FROM data", "SELECT"),
]
