"""Arithmetic on aggregates: rates, shares, differences, costs a day; in the SELECT list, in HAVING and in ORDER BY."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, pstdev
from typing import Any

from plan.corpus.base import Asked, Hopeless, Line, grouped, mean, values, where
from plan.corpus.worlds import Row, Rows


def _sum(rows: Rows, name: str) -> Any:
    return sum(values(rows, name))


def _share(rows: Rows, test: Callable[[Row], Any]) -> float:
    return len(where(rows, test)) / len(rows)


def _shares(lines: list[Line], within: Callable[[Line], Any] = lambda _: None) -> list[Line]:
    """The last number of every line, as a share of those of all lines that are alike."""
    totals: dict[Any, float] = {}
    for line in lines:
        totals[within(line)] = totals.get(within(line), 0) + line[-1]
    return [(*line[:-1], line[-1] / totals[within(line)]) for line in lines]


def _by_count(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: -line[-1])


ASKED = [
    # shares of a total of groups
    Asked(
        "survey",
        "SELECT region, 100.0 * count(*) / sum(count(*)) OVER () AS share FROM data GROUP BY region",
        lambda rows: [(key, 100 * share) for key, share in _shares(grouped(rows, lambda r: r["region"], len))],
    ),
    Asked(
        "hospital",
        "SELECT ward, count(*) AS n, ROUND(count(*) * 100.0 / SUM(count(*)) OVER (), 1) AS pct "
        "FROM data GROUP BY ward ORDER BY pct DESC",
        lambda rows: [
            (ward, n, round(100 * n / len(where(rows, lambda r: r["ward"] is not None)), 1))
            for ward, n in _by_count(grouped(rows, lambda r: r["ward"], len))
        ],
        ordered=True,
        tolerance=2e-3,
    ),
    Asked(
        "shop",
        "SELECT country, channel, count(*) / sum(count(*)) OVER (PARTITION BY country) AS share FROM data GROUP BY 1, 2",
        lambda rows: _shares(grouped(rows, lambda r: (r["country"], r["channel"]), len), lambda line: line[0]),
    ),
    Asked(
        "shop",
        "SELECT country, sum(amount) / sum(sum(amount)) OVER () AS revenue_share FROM data GROUP BY country",
        lambda rows: _shares(grouped(rows, lambda r: r["country"], lambda g: _sum(g, "amount"))),
    ),
    Asked(
        "shop",
        "SELECT country, channel, sum(count(*)) OVER (PARTITION BY country) / sum(count(*)) OVER () AS of_country "
        "FROM data GROUP BY country, channel",
        lambda rows: [
            (*key, len(where(rows, lambda r, c=key[0]: r["country"] == c)) / len(rows))
            for key in {(r["country"], r["channel"]): None for r in rows}
        ],
    ),
    Asked(
        "telemetry",
        "SELECT os, n, n / sum(n) OVER () AS share FROM (SELECT os, count(*) AS n FROM data GROUP BY os) AS t ORDER BY n DESC",
        lambda rows: [(os, n, n / len(rows)) for os, n in _by_count(grouped(rows, lambda r: r["os"], len))],
        ordered=True,
    ),
    Asked(
        "telemetry",
        "WITH t AS (SELECT os, count(*) / sum(count(*)) OVER () AS s FROM data GROUP BY os) SELECT * FROM t WHERE s > 0.3",
        lambda rows: [line for line in _shares(grouped(rows, lambda r: r["os"], len)) if line[1] > 0.3],
    ),
    Asked(
        "telemetry",
        "SELECT os, sum(count(*)) OVER () AS everybody FROM data GROUP BY os",
        lambda rows: grouped(rows, lambda r: r["os"], lambda _: len(rows)),
    ),
    Asked(
        "hospital",
        "SELECT sex, ward, sum(cost) - sum(sum(cost)) OVER (PARTITION BY ward) / 2 AS more FROM data GROUP BY sex, ward",
        lambda rows: [
            (sex, ward, cost - _sum(where(rows, lambda r, w=ward: r["ward"] == w and r["sex"] is not None), "cost") / 2)
            for sex, ward, cost in grouped(rows, lambda r: (r["sex"], r["ward"]), lambda g: _sum(g, "cost"))
        ],
    ),
    # rates and differences
    Asked(
        "hospital", "SELECT sum(cost) / sum(days) AS cost_a_day FROM data", lambda rows: _sum(rows, "cost") / _sum(rows, "days")
    ),
    Asked("hospital", "SELECT SUM(cost) / COUNT(*) FROM data", lambda rows: _sum(rows, "cost") / len(rows)),
    Asked(
        "hospital",
        "SELECT 100.0 * count(*) FILTER (WHERE age >= 65) / count(*) AS pct_old FROM data",
        lambda rows: 100 * _share(rows, lambda r: r["age"] >= 65),
    ),
    Asked(
        "hospital",
        "SELECT ward, 100.0 * SUM(CASE WHEN days > 7 THEN 1 ELSE 0 END) / COUNT(*) AS long_pct FROM data GROUP BY ward",
        lambda rows: grouped(rows, lambda r: r["ward"], lambda g: 100 * _share(g, lambda r: r["days"] > 7)),
    ),
    Asked(
        "hospital",
        "SELECT count(*) / count(DISTINCT pid) AS visits_per_patient FROM data",
        lambda rows: len(rows) / len({r["pid"] for r in rows}),
    ),
    Asked(
        "hospital",
        "SELECT ward, CAST(count(*) AS DOUBLE) / NULLIF(count(DISTINCT pid), 0) AS per_patient FROM data GROUP BY ward",
        lambda rows: grouped(rows, lambda r: r["ward"], lambda g: len(g) / len({r["pid"] for r in g})),
    ),
    Asked(
        "hospital",
        "SELECT avg(cost) FILTER (WHERE sex = 'm') - avg(cost) FILTER (WHERE sex = 'f') AS gap FROM data",
        lambda rows: mean(where(rows, lambda r: r["sex"] == "m"), "cost") - mean(where(rows, lambda r: r["sex"] == "f"), "cost"),
        tolerance=1e-2,
    ),
    Asked(
        "hospital",
        "SELECT avg(smoker) AS smoking_rate FROM data",
        lambda rows: fmean([float(v) for v in values(rows, "smoker")]),
    ),
    Asked(
        "hospital",
        "SELECT sex, avg(age > 65) FROM data GROUP BY sex",
        lambda rows: grouped(rows, lambda r: r["sex"], lambda g: _share(g, lambda r: r["age"] > 65)),
    ),
    Asked(
        "hospital",
        "SELECT ward, avg(cost) AS c FROM data GROUP BY ward HAVING count(*) > 90 ORDER BY sum(days) DESC",
        lambda rows: [
            line[:2]
            for line in sorted(
                grouped(rows, lambda r: r["ward"], lambda g: (mean(g, "cost"), len(g), _sum(g, "days"))), key=lambda x: -x[3]
            )
            if line[2] > 90
        ],
        ordered=True,
    ),
    Asked(
        "hospital",
        "SELECT ward, count(*) AS n FROM data GROUP BY ward ORDER BY sum(cost) / sum(days)",
        lambda rows: [
            line[:2]
            for line in sorted(
                grouped(rows, lambda r: r["ward"], lambda g: (len(g), _sum(g, "cost") / _sum(g, "days"))), key=lambda x: x[2]
            )
        ],
        ordered=True,
    ),
    Asked("hospital", "SELECT coalesce(avg(weight), 0) AS weight FROM data", lambda rows: mean(rows, "weight")),
    Asked(
        "hospital",
        "SELECT ward, CASE WHEN count(*) > 10 THEN avg(cost) END AS shown FROM data GROUP BY ward",
        lambda rows: grouped(rows, lambda r: r["ward"], lambda g: mean(g, "cost") if len(g) > 10 else None),
    ),
    Asked(
        "hospital",
        "SELECT 1 - count(weight) / count(*) AS missing_rate FROM data",
        lambda rows: 1 - len(values(rows, "weight")) / len(rows),
    ),
    Asked("hospital", "SELECT round(avg(age)) FROM data", lambda rows: round(mean(rows, "age"))),
    Asked(
        "hospital",
        "SELECT stddev_pop(age) / avg(age) AS variation FROM data",
        lambda rows: pstdev(values(rows, "age")) / mean(rows, "age"),
    ),
    Asked("shop", "SELECT sum(amount) / sum(items) AS price FROM data", lambda rows: _sum(rows, "amount") / _sum(rows, "items")),
    Asked(
        "shop",
        "SELECT country, sum(amount) / count(DISTINCT customer) AS revenue_per_customer FROM data GROUP BY country",
        lambda rows: grouped(rows, lambda r: r["country"], lambda g: _sum(g, "amount") / len({r["customer"] for r in g})),
        tolerance=1e-2,
    ),
    Asked(
        "shop",
        "SELECT channel, avg(returned) AS return_rate FROM data GROUP BY channel ORDER BY channel DESC",
        lambda rows: sorted(
            grouped(rows, lambda r: r["channel"], lambda g: _share(g, lambda r: r["returned"])),
            key=lambda x: "web store app".find(x[0]),
        ),
        ordered=True,
    ),
    Asked(
        "shop",
        "SELECT country, sum(returned) * 1.0 / count(*) FROM data GROUP BY country HAVING count(*) >= 20",
        lambda rows: grouped(rows, lambda r: r["country"], lambda g: _share(g, lambda r: r["returned"])),
    ),
    Asked(
        "shop",
        "SELECT sum(amount) - sum(amount) FILTER (WHERE returned) AS net FROM data",
        lambda rows: _sum(where(rows, lambda r: not r["returned"]), "amount"),
    ),
    Asked(
        "shop",
        "SELECT (sum(amount) FILTER (channel = 'web') - sum(amount) FILTER (channel = 'app')) / sum(amount) FROM data",
        lambda rows: (
            (
                _sum(where(rows, lambda r: r["channel"] == "web"), "amount")
                - _sum(where(rows, lambda r: r["channel"] == "app"), "amount")
            )
            / _sum(rows, "amount")
        ),
    ),
    Asked(
        "shop",
        "SELECT country, count(*) AS n FROM data GROUP BY country HAVING sum(amount) / count(*) > 60 ORDER BY 1",
        lambda rows: sorted(
            line[:2]
            for line in grouped(rows, lambda r: r["country"], lambda g: (len(g), _sum(g, "amount") / len(g)))
            if line[2] > 60
        ),
        ordered=True,
    ),
    Asked("shop", "SELECT avg(amount) / avg(items) FROM data", lambda rows: mean(rows, "amount") / mean(rows, "items")),
    Asked("shop", "SELECT abs(avg(items) - 6) AS off FROM data", lambda rows: abs(mean(rows, "items") - 6)),
    Asked("shop", "SELECT greatest(sum(discount) - 100, 0) FROM data", lambda rows: max(_sum(rows, "discount") - 100, 0)),
    Asked("shop", "SELECT floor(sum(amount)) FROM data", lambda rows: int(_sum(rows, "amount")), tolerance=1e-2),
    Asked("telemetry", "SELECT sum(crashed) FROM data", lambda rows: len(where(rows, lambda r: r["crashed"]))),
    Asked(
        "telemetry",
        "SELECT os, 1000.0 * sum(CASE WHEN crashed THEN 1 ELSE 0 END) / count(*) AS crashes_per_thousand FROM data GROUP BY os",
        lambda rows: grouped(rows, lambda r: r["os"], lambda g: 1000 * _share(g, lambda r: r["crashed"])),
        tolerance=1e-2,
    ),
    Asked(
        "telemetry",
        "SELECT version, avg(latency_ms) / 1000 AS seconds FROM data GROUP BY version",
        lambda rows: grouped(rows, lambda r: r["version"], lambda g: mean(g, "latency_ms") / 1000),
    ),
    Asked(
        "telemetry",
        "SELECT os, CASE WHEN avg(crashed) > 0.1 THEN 'bad' ELSE 'good' END AS verdict FROM data GROUP BY os",
        lambda rows: grouped(rows, lambda r: r["os"], lambda g: "bad" if _share(g, lambda r: r["crashed"]) > 0.1 else "good"),
    ),
    Asked(
        "telemetry",
        "SELECT os, count(*) > 80 AS many FROM data GROUP BY os",
        lambda rows: grouped(rows, lambda r: r["os"], lambda g: len(g) > 80),
    ),
    Asked(
        "telemetry",
        "SELECT -avg(memory_mb) / 1024 AS less_gb FROM data",
        lambda rows: -mean(rows, "memory_mb") / 1024,
    ),
    Asked("survey", "SELECT avg(employed) * 100 FROM data", lambda rows: 100 * _share(rows, lambda r: r["employed"])),
    Asked(
        "survey",
        "SELECT education, avg(satisfied >= 4) AS happy FROM data GROUP BY education ORDER BY avg(satisfied) DESC",
        lambda rows: [
            line[:2]
            for line in sorted(
                grouped(
                    rows, lambda r: r["education"], lambda g: (_share(g, lambda r: r["satisfied"] >= 4), mean(g, "satisfied"))
                ),
                key=lambda x: -x[2],
            )
        ],
        ordered=True,
    ),
    Asked(
        "survey",
        "SELECT avg(income) / (avg(hours) * 52) AS hourly FROM data",
        lambda rows: mean(rows, "income") / (mean(rows, "hours") * 52),
    ),
    Asked(
        "survey",
        "SELECT region, (sum(satisfied = 5) - sum(satisfied <= 2)) / count(*) AS promoters FROM data GROUP BY region",
        lambda rows: grouped(
            rows,
            lambda r: r["region"],
            lambda g: _share(g, lambda r: r["satisfied"] == 5) - _share(g, lambda r: r["satisfied"] <= 2),
        ),
    ),
    Asked(
        "survey",
        "SELECT avg(age) - avg(hours) AS d, avg(age) AS a FROM data",
        lambda rows: (mean(rows, "age") - mean(rows, "hours"), mean(rows, "age")),
    ),
]

HOPELESS = [
    Hopeless("hospital", "SELECT max(cost) - min(cost) FROM data", "quantile(cost, 0.99)"),
    Hopeless("hospital", "SELECT cost / count(*) FROM data", "cost stands beside an aggregate"),
    Hopeless("hospital", "SELECT ward, avg(cost) - days FROM data GROUP BY ward", "days stands beside an aggregate"),
    Hopeless("hospital", "SELECT count(*) % 2 FROM data", "no interval would cover it"),
    Hopeless("hospital", "SELECT count(*) // 10 FROM data", "no interval would cover it"),
    Hopeless("hospital", "SELECT sum(cost) / sum(note) FROM data", "note is a text"),
    Hopeless("hospital", "SELECT avg(avg(cost)) FROM data", "no part of what is made of one"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE cost > avg(cost)", "HAVING count(*) > 5"),
    Hopeless("hospital", "SELECT sum(cost) / 'days' FROM data", "takes numbers"),
    Hopeless("shop", "SELECT mode(channel) + 1 FROM data", "takes numbers"),
    Hopeless("shop", "SELECT country, count(*) FROM data GROUP BY country HAVING max(amount) > 100", "single person"),
    Hopeless("shop", "SELECT country, count(*) FROM data GROUP BY country ORDER BY min(amount)", "single person"),
    Hopeless("shop", "SELECT country, count(*) FROM data GROUP BY count(*) / 2", "GROUP BY takes columns"),
    Hopeless(
        "survey",
        "SELECT region, count(*) / sum(count(*)) OVER () AS share FROM data GROUP BY region HAVING count(*) > 10",
        "stands around a total",
    ),
    Hopeless(
        "survey",
        "SELECT region, n / sum(n) OVER () FROM (SELECT region, count(*) AS n FROM data GROUP BY region) WHERE n > 10",
        "stands around a total",
    ),
    Hopeless("survey", "SELECT region, sum(avg(age)) OVER () FROM data GROUP BY region", "counts and sums"),
    Hopeless("survey", "SELECT region, max(count(*)) OVER () FROM data GROUP BY region", "sum(...) OVER () alone"),
    Hopeless("survey", "SELECT region, sum(count(*)) OVER (PARTITION BY employed) FROM data GROUP BY region", "group by it too"),
    Hopeless("survey", "SELECT sum(age) OVER () FROM data", "write GROUP BY"),
    Hopeless("survey", "SELECT region, rank() OVER (ORDER BY count(*) DESC) FROM data GROUP BY region", "rank or compute"),
    Hopeless(
        "survey", "SELECT region, 1.0 * count(*) / (SELECT count(*) FROM data) FROM data GROUP BY region", "sum(count(*)) OVER"
    ),
    Hopeless("survey", "SELECT avg(age) - (SELECT avg(age) FROM data) FROM data", "ask both questions"),
    Hopeless("survey", "SELECT 1 + 1 FROM data", "is a constant"),
    Hopeless("survey", "SELECT median(employed) FROM data", "avg(employed)"),
    Hopeless("survey", "SELECT CASE mode(education) WHEN 'school' THEN 1 ELSE 0 END FROM data", "select it by itself"),
]
