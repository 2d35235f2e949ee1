"""Clauses: queries within queries, keys alone, names of all sorts, orders and limits, public tables behind one another."""

from __future__ import annotations

from statistics import pstdev

from plan.corpus.base import Asked, Between, Hopeless, Line, grouped, mean, quantile, values, where
from plan.corpus.worlds import WORLDS, Row, Rows

FLOORS = {ward["ward"]: ward["floor"] for ward in WORLDS["hospital"].public["wards"]}
BUILDINGS = {ward["ward"]: ward["building"] for ward in WORLDS["hospital"].public["wards"]}
COUNTRIES = {one["code"]: one["name"] for one in WORLDS["shop"].public["countries"]}
TOWNS = {one["building"]: one["town"] for one in WORLDS["hospital"].public["buildings"]}


def _adults(rows: Rows) -> Rows:
    return where(rows, lambda r: r["age"] >= 18)


def _decade(row: Row) -> int:
    return int(row["age"]) // 10 * 10


def _by_count(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: -line[1])


def _quantile(rows: Rows, name: str, share: float) -> Between:
    return quantile(values(rows, name), share)


def _levels(rows: Rows, *levels: tuple[str, ...]) -> list[Line]:
    """The rows of every level, by country and channel; a key that is added up over is None."""
    known = where(rows, lambda r: r["country"] is not None and r["channel"] is not None)
    found: list[Line] = []
    for level in levels:
        lines = grouped(known, lambda r, level=level: tuple(r[k] if k in level else "" for k in ("country", "channel")), len)
        found += [tuple(part or None for part in line) for line in lines]
    return found


ASKED = [
    # margins
    Asked(
        "shop",
        "SELECT country, channel, count(*) FROM data GROUP BY CUBE (country, channel)",
        lambda rows: _levels(rows, ("country", "channel"), ("country",), ("channel",), ()),
    ),
    Asked(
        "shop",
        "SELECT country, channel, count(*) AS n FROM data GROUP BY ROLLUP (country, channel)",
        lambda rows: _levels(rows, ("country", "channel"), ("country",), ()),
    ),
    Asked(
        "shop",
        "SELECT country, channel, count(*) FROM data GROUP BY GROUPING SETS ((country), (), channel)",
        lambda rows: _levels(rows, ("country",), ("channel",), ()),
    ),
    Asked(
        "shop",
        "SELECT country, channel, count(*) FROM data GROUP BY country, channel WITH ROLLUP HAVING country IS NULL",
        lambda rows: _levels(rows, ()),
    ),
    # queries within queries
    Asked(
        "hospital",
        "WITH adults AS (SELECT * FROM data WHERE age >= 18) SELECT ward, count(*) AS n FROM adults GROUP BY ward",
        lambda rows: grouped(_adults(rows), lambda r: r["ward"], len),
    ),
    Asked(
        "hospital",
        """
        WITH visits AS (SELECT ward, cost / greatest(days, 1) AS daily, age FROM data),  -- cost of a day
             adults AS (SELECT * FROM visits WHERE age >= 18)
        SELECT ward, avg(daily) AS mean_daily FROM adults GROUP BY ward;
        """,
        lambda rows: grouped(
            _adults(rows), lambda r: r["ward"], lambda g: sum(r["cost"] / max(r["days"], 1) for r in g) / len(g)
        ),
        tolerance=5e-3,  # a quotient is counted on a grid of its own
    ),
    Asked(
        "hospital",
        "SELECT t.decade, count(DISTINCT t.pid) FROM (SELECT pid, age // 10 * 10 AS decade FROM data) AS t GROUP BY t.decade",
        lambda rows: [(decade, len({r["pid"] for r in rows if _decade(r) == decade})) for decade in range(0, 121, 10)],
    ),
    Asked(
        "shop",
        "select avg(net) from (select amount * (100 - coalesce(discount, 0)) / 100 as net from data where not returned) q",
        lambda rows: mean([{"n": r["amount"] * (100 - (r["discount"] or 0)) / 100} for r in rows if not r["returned"]], "n"),
    ),
    Asked(
        "shop",
        "SELECT count(*) FROM (SELECT * FROM (SELECT * FROM data WHERE country = 'DE') a WHERE channel = 'web') WHERE items > 3",
        lambda rows: len(where(rows, lambda r: r["country"] == "DE" and r["channel"] == "web" and r["items"] > 3)),
    ),
    Asked(
        "telemetry",
        "WITH slow(system, ms) AS (SELECT os, latency_ms FROM data WHERE latency_ms > 1000) "
        "SELECT system, avg(ms) FROM slow GROUP BY 1",
        lambda rows: grouped(where(rows, lambda r: r["latency_ms"] > 1000), lambda r: r["os"], lambda g: mean(g, "latency_ms")),
    ),
    Asked(
        "survey",
        "WITH base AS (SELECT * EXCLUDE (code), hours * 52 AS yearly FROM data), unused AS (SELECT 1 FROM data) "
        "SELECT sum(yearly) FROM base WHERE employed",
        lambda rows: sum(r["hours"] * 52 for r in rows if r["employed"]),
    ),
    Asked(
        "hospital",
        "WITH located AS (SELECT d.*, w.floor FROM data d JOIN wards w ON d.ward = w.ward) "
        "SELECT floor, avg(cost) FROM located GROUP BY floor",
        lambda rows: grouped(rows, lambda r: FLOORS[r["ward"]], lambda g: mean(g, "cost")),
    ),
    Asked(
        "survey",
        "SELECT region, count(*) FROM (SELECT region, income FROM data WHERE income IS NOT NULL ORDER BY income) GROUP BY region",
        lambda rows: grouped(where(rows, lambda r: r["income"] is not None), lambda r: r["region"], len),
    ),
    # queries around grouped ones
    Asked(
        "hospital",
        "SELECT ward, n FROM (SELECT ward, count(*) AS n FROM data GROUP BY ward) counts ORDER BY n DESC LIMIT 2",
        lambda rows: _by_count(grouped(rows, lambda r: r["ward"], len))[:2],
        ordered=True,
    ),
    Asked(
        "shop",
        "WITH by_country AS (SELECT country, sum(amount) AS revenue, count(*) AS orders FROM data GROUP BY country) "
        "SELECT country, revenue / orders AS basket FROM by_country WHERE orders > 0.5",
        lambda rows: grouped(rows, lambda r: r["country"], lambda g: mean(g, "amount")),
    ),
    Asked(
        "survey",
        "SELECT * FROM (SELECT education, avg(income) AS income FROM data GROUP BY education) WHERE education <> 'school'",
        lambda rows: grouped(
            where(rows, lambda r: r["education"] != "school"), lambda r: r["education"], lambda g: mean(g, "income")
        ),
    ),
    # names
    Asked("hospital", "SELECT count(*) FROM main.data", len),
    Asked(
        "hospital",
        "SELECT d.sex, avg(d.age) FROM hospital.data d WHERE d.ward = 'eye' GROUP BY d.sex",
        lambda rows: grouped(where(rows, lambda r: r["ward"] == "eye"), lambda r: r["sex"], lambda g: mean(g, "age")),
    ),
    Asked("survey", "SELECT avg(data.hours) AS h FROM public.data", lambda rows: mean(rows, "hours")),
    Asked("survey", 'SELECT avg("left".hours) AS h FROM data AS "left"', lambda rows: mean(rows, "hours")),
    Asked("shop", "FROM data SELECT count(*) WHERE returned", lambda rows: len(where(rows, lambda r: r["returned"]))),
    # keys alone
    Asked("hospital", "SELECT ward FROM data GROUP BY ward", lambda rows: [(ward,) for ward in {r["ward"] for r in rows}]),
    Asked(
        "shop", "SELECT DISTINCT country FROM data ORDER BY country", lambda _: [("DE",), ("ES",), ("FR",), ("IT",)], ordered=True
    ),
    Asked(
        "hospital",
        "SELECT DISTINCT sex, ward FROM data",
        lambda rows: [(sex, ward) for sex in "mf" for ward in {r["ward"] for r in rows}],
    ),
    Asked("telemetry", "SELECT page FROM data GROUP BY page", lambda rows: [(page,) for page in {r["page"] for r in rows}]),
    Asked("hospital", "SELECT DISTINCT note FROM data", lambda rows: [(note,) for note in {r["note"] for r in rows}]),
    # names for what is computed
    Asked(
        "hospital",
        "SELECT age // 10 * 10 AS decade, count(*) AS n FROM data WHERE decade BETWEEN 20 AND 60 GROUP BY decade",
        lambda rows: grouped(where(rows, lambda r: 20 <= _decade(r) <= 60), _decade, len),
    ),
    Asked(
        "shop",
        "SELECT items >= 6 AS big, channel, count(*) AS n FROM data GROUP BY ALL",
        lambda rows: grouped(rows, lambda r: (r["items"] >= 6, r["channel"]), len),
    ),
    Asked(
        "survey",
        "SELECT income / 12 AS monthly, CASE WHEN monthly >= 4000 THEN 'high' ELSE 'low' END AS class, count(*) AS n "
        "FROM (SELECT income FROM data WHERE income IN (12000, 48000, 96000)) GROUP BY monthly, class HAVING n > 0.5",
        lambda rows: grouped(
            where(rows, lambda r: r["income"] in (12000, 48000, 96000)),
            lambda r: (r["income"] / 12, "high" if r["income"] >= 48000 else "low"),
            len,
        ),
    ),
    # orders and limits
    Asked(
        "telemetry",
        "SELECT TOP 2 os, count(*) AS n FROM data GROUP BY os ORDER BY n DESC",
        lambda rows: _by_count(grouped(rows, lambda r: r["os"], len))[:2],
        ordered=True,
    ),
    Asked(
        "telemetry",
        "SELECT version, count(*) AS n FROM data GROUP BY version ORDER BY 2 DESC LIMIT 1 OFFSET 1",
        lambda rows: _by_count(grouped(rows, lambda r: r["version"], len))[1:2],
        ordered=True,
    ),
    Asked(
        "shop",
        "SELECT country, count(*) FROM data GROUP BY country ORDER BY count(*) DESC FETCH FIRST 3 ROWS ONLY",
        lambda rows: _by_count(grouped(rows, lambda r: r["country"], len))[:3],
        ordered=True,
    ),
    Asked(
        "shop",
        "SELECT channel, country, count(*) AS n FROM data GROUP BY (channel, country) ORDER BY ALL NULLS FIRST",
        lambda rows: sorted(grouped(rows, lambda r: (r["channel"], r["country"]), len)),
        ordered=True,
    ),
    Asked(
        "survey",
        "SELECT DISTINCT region, count(*) AS n FROM data GROUP BY region ORDER BY -n",
        lambda rows: _by_count(grouped(rows, lambda r: r["region"], len)),
        ordered=True,
    ),
    # aggregates by other names
    Asked("hospital", "SELECT count_if(age >= 65) AS old FROM data", lambda rows: len(where(rows, lambda r: r["age"] >= 65))),
    Asked(
        "shop",
        "SELECT country, countIf(returned) AS back, sumIf(amount, NOT returned) AS kept FROM data GROUP BY country",
        lambda rows: grouped(
            rows,
            lambda r: r["country"],
            lambda g: (sum(r["returned"] for r in g), sum(r["amount"] for r in g if not r["returned"])),
        ),
    ),
    Asked(
        "telemetry",
        "SELECT os, percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms) AS p50 FROM data GROUP BY os",
        lambda rows: grouped(rows, lambda r: r["os"], lambda g: _quantile(g, "latency_ms", 0.5)),
        tolerance=0.05,
    ),
    Asked(
        "telemetry",
        "SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95, approx_percentile(latency_ms, 0.5) FROM data",
        lambda rows: (_quantile(rows, "latency_ms", 0.95), _quantile(rows, "latency_ms", 0.5)),
        tolerance=0.02,
    ),
    Asked(
        "survey",
        "SELECT quantile(age, [0.25, 0.5, 0.75]) AS q FROM data",
        lambda rows: tuple(_quantile(rows, "age", share) for share in (0.25, 0.5, 0.75)),
        tolerance=0.03,
    ),
    Asked(
        "survey",
        "SELECT percentile_cont(0.1) WITHIN GROUP (ORDER BY hours DESC) AS busiest FROM data WHERE employed",
        lambda rows: _quantile(where(rows, lambda r: r["employed"]), "hours", 0.9),
        tolerance=0.03,
    ),
    Asked(
        "survey",
        "SELECT stdev(hours) AS s, count_big(*) AS n FROM data",
        lambda rows: (pstdev(values(rows, "hours")), len(rows)),
    ),
    # distinct values of declared lists
    Asked("hospital", "SELECT count(DISTINCT ward) AS wards FROM data", lambda rows: len({r["ward"] for r in rows})),
    Asked(
        "survey",
        "SELECT region, count(DISTINCT education) AS levels FROM data WHERE age > 85 GROUP BY region",
        lambda rows: [
            (region, len({r["education"] for r in rows if r["age"] > 85 and r["region"] == region})) for region in (1, 2, 3, 4)
        ],
    ),
    Asked(
        "survey",
        "SELECT approx_count_distinct(age // 10) AS decades, count(DISTINCT satisfied) AS marks FROM data",
        lambda rows: (len({r["age"] // 10 for r in rows}), len({r["satisfied"] for r in rows})),
    ),
    # public tables behind one another
    Asked(
        "shop",
        "SELECT c.name, sum(d.amount) AS revenue FROM data d, countries c WHERE d.country = c.code AND items > 2 GROUP BY c.name",
        lambda rows: grouped(
            where(rows, lambda r: r["items"] > 2), lambda r: COUNTRIES[r["country"]], lambda g: sum(values(g, "amount"))
        ),
    ),
    Asked(
        "hospital",
        "SELECT b.town, avg(d.cost) AS mean_cost FROM data d JOIN wards w ON d.ward = w.ward "
        "JOIN buildings b ON w.building = b.building GROUP BY b.town",
        lambda rows: grouped(rows, lambda r: TOWNS[BUILDINGS[r["ward"]]], lambda g: mean(g, "cost")),
    ),
    Asked(
        "hospital",
        "SELECT town, count(*) FROM data JOIN wards USING (ward) JOIN buildings USING (building) WHERE floor = 1 GROUP BY town",
        lambda rows: grouped(where(rows, lambda r: FLOORS[r["ward"]] == 1), lambda r: TOWNS[BUILDINGS[r["ward"]]], len),
    ),
    Asked(
        "hospital",
        "SELECT here.floor AS floor, count(*) AS n FROM data JOIN wards here ON data.ward = here.ward "
        "JOIN wards heart ON heart.ward = CASE WHEN data.days >= 0 THEN 'heart' END WHERE here.floor = heart.floor GROUP BY 1 "
        "HAVING n > 0.5",
        lambda rows: grouped(where(rows, lambda r: FLOORS[r["ward"]] == FLOORS["heart"]), lambda r: FLOORS[r["ward"]], len),
    ),
]

HOPELESS = [
    Hopeless("hospital", "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT 1) SELECT count(*) FROM t", "without RECURSIVE"),
    Hopeless(
        "hospital", "SELECT avg(n) FROM (SELECT ward, count(*) AS n FROM data GROUP BY ward)", "selects, filters and computes"
    ),
    Hopeless("shop", "SELECT avg(amount) FROM (SELECT * FROM data LIMIT 100)", "choose single rows"),
    Hopeless("shop", "SELECT count(*) FROM (SELECT DISTINCT country, channel FROM data)", "DISTINCT within"),
    Hopeless("survey", "WITH a AS (SELECT age FROM data) SELECT avg(income) FROM a", "the query within has age"),
    Hopeless("survey", "WITH data AS (SELECT * FROM data) SELECT count(*) FROM data", "another name"),
    Hopeless("hospital", "SELECT DISTINCT ON (ward) ward, cost FROM data", "single rows"),
    Hopeless("hospital", "SELECT ward, cost FROM data ORDER BY cost DESC LIMIT 10", "GROUP BY ward"),
    Hopeless("hospital", "SELECT TOP 10 * FROM data", "rows of single persons"),
    Hopeless("hospital", "SELECT DISTINCT cost * weight FROM data", "too many possible values"),
    Hopeless("shop", "SELECT TOP 10 PERCENT country, count(*) FROM data GROUP BY country", "without percent"),
    Hopeless("shop", "SELECT count(*) AS n FROM data WHERE n > 10", "HAVING"),
    Hopeless("hospital", "SELECT ward, bool_and(smoker) FROM data GROUP BY ward", "one row decides"),
    Hopeless("hospital", "SELECT every(age > 18) FROM data", "one row decides"),
    Hopeless("hospital", "SELECT ward, string_agg(note, '; ') FROM data GROUP BY ward", "single persons"),
    Hopeless("hospital", "SELECT ward, array_agg(cost ORDER BY cost) FROM data GROUP BY ward", "single persons"),
    Hopeless("hospital", "SELECT first(cost) FROM data", "single persons"),
    Hopeless("hospital", "SELECT ward, min(cost), max(cost) FROM data GROUP BY ward", "quantile(cost, 0.01)"),
    Hopeless("hospital", "SELECT max_by(note, cost) FROM data", "single persons"),
    Hopeless("telemetry", "SELECT json_agg(page) FROM data", "single persons"),
    Hopeless("telemetry", "SELECT approx_quantiles(latency_ms, 4) FROM data", "quantile(x, [0.25, 0.5, 0.75])"),
    Hopeless("telemetry", "SELECT approx_count_distinct(page) FROM data", "SELECT DISTINCT page"),
    Hopeless("telemetry", "SELECT row_number() OVER (ORDER BY latency_ms) FROM data", "write GROUP BY"),
    Hopeless("telemetry", "SELECT day, sum(count(*)) OVER (ORDER BY day) FROM data GROUP BY day", "in no order"),
    Hopeless("telemetry", "SELECT os, lag(latency_ms) OVER (PARTITION BY os ORDER BY day) FROM data", "write GROUP BY"),
    Hopeless("shop", "SELECT count(*) FROM data UNION ALL SELECT count(*) FROM data WHERE returned", "two questions"),
    Hopeless("shop", "SELECT a.country FROM data a JOIN data b ON a.customer = b.customer", "itself"),
    Hopeless("shop", "SELECT count(*) FROM data JOIN countries ON data.items > countries.code", "equality"),
    Hopeless("hospital", "SELECT count(*) FROM data JOIN wards USING (ward) JOIN wards USING (ward)", "another alias"),
    Hopeless(
        "hospital", "SELECT count(*) FROM data JOIN buildings USING (building) JOIN wards USING (ward)", "needs that column"
    ),
    Hopeless("shop", "SELECT count(*) FROM data CROSS JOIN countries", "USING"),
    Hopeless("shop", "SELECT count(*) FROM data NATURAL JOIN countries", "NATURAL JOIN"),
    Hopeless("shop", "SELECT * FROM data PIVOT (count(*) FOR channel IN ('web', 'app'))", "GROUP BY"),
    Hopeless("shop", "SELECT count(*) FROM data TABLESAMPLE 10%", "every row counts"),
    Hopeless("shop", "SELECT count(*) FROM data QUALIFY row_number() OVER () < 10", "HAVING"),
    Hopeless("survey", "SELECT count(*) FROM data WHERE age > (SELECT avg(age) FROM data)", "one question after the other"),
    Hopeless("survey", "SELECT count(*) FROM data WHERE (region, age) IN ((1, 20), (2, 30))", "one by one"),
    Hopeless("survey", "SELECT count(*) FROM data ORDER BY random()", "Chance"),
    Hopeless("survey", "SELECT count(*) FROM data; SELECT avg(age) FROM data", "more than one statement"),
    Hopeless("survey", "INSERT INTO data SELECT * FROM data", "one SELECT"),
    Hopeless("survey", "EXPLAIN SELECT count(*) FROM data", "one SELECT"),
    Hopeless("survey", "SELECT region FROM data", "GROUP BY region"),
    Hopeless("hospital", "SELECT pid, count(*) FROM data GROUP BY pid", "id of persons"),
    Hopeless("hospital", "SELECT count(*) FROM patients", "FROM data"),
    Hopeless("hospital", "SELECT count(*) FROM 'visits.parquet'", "FROM data"),
]
