"""Functions of one row, in several dialects' spellings: dates, casts, rounding, logarithms and powers, texts and patterns."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import fmean
from typing import Any

from plan.corpus.base import Asked, Hopeless, grouped, values, where
from plan.corpus.worlds import Row, Rows

DAY = datetime.date


def _month(day: DAY) -> DAY:
    return day.replace(day=1)


def _week(day: DAY) -> DAY:
    return day - datetime.timedelta(day.weekday())


def _count(test: Callable[[Row], Any]) -> Callable[[Rows], int]:
    return lambda rows: len(where(rows, test))


def _mean(of: Callable[[Row], float | None]) -> Callable[[Rows], float]:
    return lambda rows: fmean(value for value in map(of, rows) if value is not None)


def _by(key: Callable[[Row], Any], keys: Iterable[Any] = ()) -> Callable[[Rows], list[tuple[Any, ...]]]:
    """Counts by a key; of listed ones also where there are none."""
    return lambda rows: [*grouped(rows, key, len), *((one, 0) for one in keys if one not in {key(row) for row in rows})]


_NUMBER = re.compile(r"-?\d+(\.\d+)?")

_QUESTIONS = [
    # SQL Server's casts, words, logarithms of any base
    Asked(
        "hospital",
        "SELECT CONVERT(VARCHAR(7), admitted, 120) AS month, count(*) FROM data WHERE admitted < '2024-03-01' GROUP BY "
        "CONVERT(VARCHAR(7), admitted, 120)",
        lambda rows: _by(lambda r: f"{r['admitted']:%Y-%m}")(where(rows, lambda r: r["admitted"] < DAY(2024, 3, 1))),
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE CONVERT(CHAR(8), admitted, 112) = '20240105'",
        _count(lambda r: r["admitted"] == DAY(2024, 1, 5)),
    ),
    Asked("survey", "SELECT AVG(CONVERT(FLOAT, hours)) FROM data", _mean(lambda r: r["hours"])),
    Asked("survey", "SELECT SUM(CONVERT(INT, employed)) AS n FROM data", _count(lambda r: r["employed"])),
    Asked("survey", "SELECT count(*) FROM data WHERE TRY_CONVERT(INT, code) = 12", _count(lambda r: r["code"] == "12")),
    Asked("survey", "SELECT count(*) FROM data WHERE CONVERT(code, SIGNED) = -3", _count(lambda r: r["code"] == "-3")),
    Asked("hospital", r"SELECT count(*) FROM data WHERE note ~* '\bfever\b'", _count(lambda r: "fever" in r["note"])),
    Asked("hospital", r"SELECT count(*) FROM data WHERE regexp_matches(note, 'ever\B')", _count(lambda r: "everx" in r["note"])),
    Asked(
        "telemetry",
        "SELECT count(*) FROM data WHERE regexp_replace(page, '[0-9]+', '#', 'g') = '/item/#'",
        _count(lambda r: r["page"].startswith("/item/")),
    ),
    Asked(
        "telemetry",
        "SELECT avg(length(regexp_replace(page, '[aeiou]', '', 'gi'))) FROM data",
        _mean(lambda r: len(re.sub("[aeiou]", "", r["page"]))),
    ),
    Asked("hospital", "SELECT avg(log(3, cost + 1)) FROM data", _mean(lambda r: math.log(r["cost"] + 1, 3))),
    Asked("hospital", "SELECT avg(log(1.5, days + 1)) FROM data", _mean(lambda r: math.log(r["days"] + 1, 1.5))),
    # dates
    Asked(
        "hospital",
        "SELECT date_trunc('month', admitted) AS month, count(*) FROM data GROUP BY 1",
        _by(lambda r: _month(r["admitted"])),
    ),
    Asked(
        "telemetry",
        "SELECT date_trunc('week', day) AS week, count(*) AS n FROM data GROUP BY week",
        _by(lambda r: _week(r["day"])),
    ),
    Asked(
        "hospital",
        "SELECT DATE_TRUNC(admitted, QUARTER) AS q, count(*) FROM data GROUP BY q",
        _by(lambda r: DAY(r["admitted"].year, (r["admitted"].month - 1) // 3 * 3 + 1, 1)),
    ),
    Asked(
        "hospital",
        "SELECT extract(year FROM admitted) AS y, extract(month FROM admitted) AS m, count(*) FROM data GROUP BY y, m",
        _by(lambda r: (r["admitted"].year, r["admitted"].month)),
    ),
    Asked(
        "telemetry", "SELECT extract(dow FROM day) AS d, count(*) FROM data GROUP BY d", _by(lambda r: r["day"].isoweekday() % 7)
    ),
    Asked(
        "shop",
        "SELECT date_part('week', ordered) AS w, count(*) FROM data WHERE ordered < '2024-03-01' GROUP BY w",
        lambda rows: grouped(where(rows, lambda r: r["ordered"] < DAY(2024, 3, 1)), lambda r: r["ordered"].isocalendar()[1], len),
    ),
    Asked(
        "shop",
        "SELECT DATEPART(quarter, ordered) AS q, sum(amount) FROM data GROUP BY DATEPART(quarter, ordered)",
        lambda rows: grouped(rows, lambda r: (r["ordered"].month + 2) // 3, lambda g: sum(values(g, "amount"))),
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE admitted >= DATE '2024-06-01' - INTERVAL '1' MONTH",
        _count(lambda r: r["admitted"] >= DAY(2024, 5, 1)),
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE admitted + INTERVAL 30 DAY <= DATE '2024-12-31'",
        _count(lambda r: r["admitted"] <= DAY(2024, 12, 1)),
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE admitted < '2024-01-31'::date + interval '1 month 1 day'",
        _count(lambda r: r["admitted"] < DAY(2024, 3, 1)),
    ),
    Asked(
        "shop",
        "SELECT count(*) FROM data WHERE ordered >= DATEADD(day, -30, '2024-12-31')",
        _count(lambda r: r["ordered"] >= DAY(2024, 12, 1)),
    ),
    Asked(
        "shop",
        "SELECT COUNT(*) FROM data WHERE ordered BETWEEN DATE_SUB('2024-07-31', INTERVAL 1 MONTH) AND '2024-07-31'",
        _count(lambda r: DAY(2024, 6, 30) <= r["ordered"] <= DAY(2024, 7, 31)),
    ),
    Asked(
        "shop",
        "SELECT strftime(ordered, '%Y-%m') AS month, count(*) FROM data GROUP BY month",
        _by(lambda r: r["ordered"].strftime("%Y-%m")),
    ),
    Asked(
        "shop",
        "SELECT to_char(ordered, 'YYYY-MM') AS month, count(*) FROM data GROUP BY 1",
        _by(lambda r: r["ordered"].strftime("%Y-%m")),
    ),
    Asked(
        "shop",
        "SELECT FORMAT_DATE('%b %Y', ordered) AS month, count(*) FROM data GROUP BY month",
        _by(lambda r: r["ordered"].strftime("%b %Y")),
    ),
    Asked(
        "shop",
        "SELECT monthname(ordered) AS month, count(*) FROM data GROUP BY month",
        _by(lambda r: r["ordered"].strftime("%B")),
    ),
    Asked(
        "telemetry", "SELECT dayname(day) AS weekday, count(*) FROM data GROUP BY weekday", _by(lambda r: r["day"].strftime("%A"))
    ),
    Asked(
        "hospital",
        "SELECT avg(datediff('day', DATE '2024-01-01', admitted)) FROM data",
        _mean(lambda r: (r["admitted"] - DAY(2024, 1, 1)).days),
    ),
    Asked(
        "hospital",
        "SELECT avg(DATE_DIFF(admitted, DATE '2024-01-01', MONTH)) FROM data",
        _mean(lambda r: (r["admitted"].year - 2024) * 12 + r["admitted"].month - 1),
    ),
    Asked(
        "hospital",
        "SELECT avg(DATEDIFF(admitted, '2024-01-01')) FROM data",
        _mean(lambda r: (r["admitted"] - DAY(2024, 1, 1)).days),
    ),
    Asked(
        "hospital",
        "SELECT avg(DATEDIFF(week, '2024-01-01', admitted)) FROM data",
        _mean(lambda r: (_week(r["admitted"]) - DAY(2024, 1, 1)).days // 7),
    ),
    Asked(
        "hospital",
        "SELECT year(admitted), quarter(admitted), avg(cost) FROM data GROUP BY year(admitted), quarter(admitted)",
        lambda rows: grouped(
            rows, lambda r: (r["admitted"].year, (r["admitted"].month + 2) // 3), lambda g: fmean(values(g, "cost"))
        ),
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE last_day(admitted) = admitted",
        _count(lambda r: (r["admitted"] + datetime.timedelta(1)).day == 1),
    ),
    # casts, truth and rounding
    Asked(
        "survey",
        "SELECT avg(least(greatest(TRY_CAST(code AS DOUBLE), -10), 20)) FROM data",
        _mean(lambda r: float(r["code"]) if _NUMBER.fullmatch(r["code"]) else None),
    ),
    Asked("survey", "SELECT count(SAFE_CAST(code AS INT64)) FROM data", _count(lambda r: r["code"] in ("12", "-3"))),
    Asked("survey", "SELECT avg(employed::int) FROM data", _mean(lambda r: float(r["employed"]))),
    Asked(
        "survey",
        "SELECT region::text || '/' || education AS k, count(*) FROM data GROUP BY k",
        _by(lambda r: f"{r['region']}/{r['education']}"),
    ),
    Asked(
        "hospital",
        "SELECT (age / 10)::decimal(5, 0) AS decade, count(*) FROM data GROUP BY decade",
        _by(lambda r: math.floor(r["age"] / 10 + 0.5), range(13)),
    ),
    Asked(
        "hospital",
        "SELECT CAST(admitted AS VARCHAR) AS day, count(*) FROM data WHERE admitted <= '2024-01-20' GROUP BY day",
        lambda rows: [
            (day.isoformat(), sum(r["admitted"] == day for r in rows)) for day in (DAY(2024, 1, day) for day in range(1, 21))
        ],
    ),
    Asked("hospital", "SELECT count(*) FROM data WHERE smoker IS TRUE", _count(lambda r: r["smoker"] is True)),
    Asked("hospital", "SELECT count(*) FROM data WHERE smoker IS NOT TRUE", _count(lambda r: r["smoker"] is not True)),
    Asked("hospital", "SELECT count(*) FROM data WHERE (weight > 80) IS UNKNOWN", _count(lambda r: r["weight"] is None)),
    Asked("shop", "SELECT count(*) FROM data WHERE discount IS DISTINCT FROM 10", _count(lambda r: r["discount"] != 10)),
    Asked(
        "shop",
        "SELECT count(*) FROM data WHERE nullif(discount, 0) IS NOT DISTINCT FROM NULL",
        _count(lambda r: not r["discount"]),
    ),
    Asked(
        "survey",
        "SELECT round(income, -4) AS about, count(*) FROM data GROUP BY about",
        _by(lambda r: None if r["income"] is None else math.floor(r["income"] / 10000 + 0.5) * 10000),
    ),
    Asked("hospital", "SELECT avg(round(weight, 1)) FROM data", _mean(lambda r: r["weight"])),
    Asked("hospital", "SELECT sum(trunc(cost)) FROM data", lambda rows: sum(math.trunc(r["cost"]) for r in rows)),
    Asked(
        "shop", "SELECT sign(items - 6) AS s, count(*) FROM data GROUP BY s", _by(lambda r: (r["items"] > 6) - (r["items"] < 6))
    ),
    Asked(
        "shop", "SELECT mod(items, 3) AS rest, count(*) FROM data GROUP BY rest HAVING rest < 3", _by(lambda r: r["items"] % 3)
    ),
    Asked("shop", "SELECT avg(ISNULL(discount, 0)) FROM data", _mean(lambda r: r["discount"] or 0)),
    Asked(
        "shop",
        "SELECT avg(nvl(discount, 0)) AS d, avg(IF(returned, 1, 0)) AS r FROM data",
        lambda rows: (fmean(r["discount"] or 0 for r in rows), fmean(r["returned"] for r in rows)),
    ),
    Asked(
        "shop",
        "SELECT iif(items >= 6, 'many', 'few') AS basket, avg(amount) FROM data GROUP BY basket",
        lambda rows: grouped(rows, lambda r: "many" if r["items"] >= 6 else "few", lambda g: fmean(values(g, "amount"))),
    ),
    # numbers
    Asked("hospital", "SELECT avg(ln(cost)) FROM data", _mean(lambda r: math.log(r["cost"]) if r["cost"] else None)),
    Asked("hospital", "SELECT avg(ln(cost + 1)) FROM data", _mean(lambda r: math.log(r["cost"] + 1))),
    Asked(
        "telemetry",
        "SELECT exp(0.5 * ln(latency_ms)) > 30.01 AS slow, count(*) FROM data GROUP BY slow",
        _by(lambda r: math.sqrt(r["latency_ms"]) > 30.01),
    ),
    Asked(
        "telemetry",
        "SELECT floor(log10(latency_ms)) AS magnitude, count(*) FROM data GROUP BY magnitude",
        _by(lambda r: len(str(r["latency_ms"])) - 1, range(4)),
    ),
    Asked(
        "telemetry",
        "SELECT floor(log2(memory_mb)) AS p, count(*) FROM data GROUP BY p HAVING p >= 8",
        _by(lambda r: r["memory_mb"] and r["memory_mb"].bit_length() - 1, range(8, 15)),
    ),
    Asked("hospital", "SELECT avg(sqrt(cost)) FROM data", _mean(lambda r: math.sqrt(r["cost"]))),
    Asked("hospital", "SELECT sum(power(days, 2)) FROM data", lambda rows: sum(r["days"] ** 2 for r in rows)),
    Asked(
        "hospital",
        "SELECT avg(days ^ 2) AS a, avg(days ** 3) AS b, avg(pow(days, 0.5)) AS c FROM data",
        lambda rows: (
            fmean(r["days"] ** 2 for r in rows),
            fmean(r["days"] ** 3 for r in rows),
            fmean(r["days"] ** 0.5 for r in rows),
        ),
    ),
    Asked("shop", "SELECT avg(exp(-items / 4)) FROM data", _mean(lambda r: math.exp(-r["items"] / 4))),
    Asked(
        "survey",
        "SELECT width_bucket(age, 20, 80, 6) AS b, count(*) FROM data GROUP BY b",
        _by(lambda r: 0 if r["age"] < 20 else 7 if r["age"] >= 80 else (r["age"] - 20) // 10 + 1),
    ),
    Asked(
        "survey",
        "SELECT bin(hours, width => 20) AS h, count(*) FROM data GROUP BY h ORDER BY count DESC",
        _by(lambda r: f"[{r['hours'] // 20 * 20}, {r['hours'] // 20 * 20 + 20})", ["[80, 100]"]),
    ),
    # texts and patterns
    Asked("hospital", "SELECT count(*) FROM data WHERE note ILIKE '%fall%'", _count(lambda r: "fall" in r["note"].lower())),
    Asked("hospital", "SELECT count(*) FROM data WHERE note ~ '(fall|cough)$'", _count(lambda r: r["note"] in ("fall", "cough"))),
    Asked("hospital", "SELECT count(*) FROM data WHERE note ~* '^fall'", _count(lambda r: r["note"].lower().startswith("fall"))),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE regexp_matches(note, 'fever [0-9]+')",
        _count(lambda r: r["note"] == "fever 39"),
    ),
    Asked(
        "hospital", "SELECT count(*) FROM data WHERE REGEXP_CONTAINS(note, '\\d{2}')", _count(lambda r: r["note"] == "fever 39")
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM data WHERE note SIMILAR TO '(cough|fever)%'",
        _count(lambda r: r["note"].startswith(("cough", "fever"))),
    ),
    Asked(
        "telemetry",
        "SELECT count(*) FROM data WHERE page !~ '^/item/[[:digit:]]+$'",
        _count(lambda r: not r["page"].startswith("/item/")),
    ),
    Asked(
        "telemetry",
        "SELECT avg(least(greatest(TRY_CAST(regexp_extract(page, '/item/(\\d+)', 1) AS INT), 0), 50)) FROM data",
        _mean(lambda r: float(r["page"][6:]) if r["page"].startswith("/item/") else None),
    ),
    Asked(
        "telemetry",
        "SELECT CASE split_part(version, '.', 1) WHEN '1' THEN 'old' ELSE 'new' END AS v, count(*) FROM data GROUP BY v",
        _by(lambda r: "old" if r["version"][0] == "1" else "new"),
    ),
    Asked(
        "telemetry",
        "SELECT split_part(version, '.', 1) AS major, count(*) FROM data GROUP BY major",
        _by(lambda r: r["version"][0]),
    ),
    Asked("telemetry", "SELECT count(*) FROM data WHERE page LIKE '%!?%' ESCAPE '!'", _count(lambda r: "?" in r["page"])),
    Asked(
        "telemetry",
        "SELECT count(*) FROM data WHERE strpos(page, 'item') = 2 OR position('cart' IN page) > 0",
        _count(lambda r: "item" in r["page"] or "cart" in r["page"]),
    ),
    Asked("telemetry", "SELECT count(*) FROM data WHERE CHARINDEX('?', page) > 0", _count(lambda r: "?" in r["page"])),
    Asked(
        "telemetry",
        "SELECT count(*) FROM data WHERE concat_ws('/', os, nullif(version, '1.0')) IN ('mac', 'linux/1.1')",
        _count(lambda r: (r["os"], r["version"]) in (("mac", "1.0"), ("linux", "1.1"))),
    ),
    Asked(
        "shop",
        "SELECT IFF(ordered >= make_date(2024, 7, 1), 'late', 'early') AS half, count(*) FROM data GROUP BY half",
        _by(lambda r: "late" if r["ordered"].month > 6 else "early"),
    ),
    Asked("telemetry", "SELECT avg(LEN(page)) FROM data", _mean(lambda r: len(r["page"]))),
    Asked(
        "telemetry",
        "SELECT lpad(replace(version, '.', ''), 4, '0') AS v, count(*) FROM data GROUP BY v",
        _by(lambda r: r["version"].replace(".", "").rjust(4, "0")),
    ),
    Asked(
        "telemetry",
        "SELECT count(*) FROM data WHERE ltrim(page, '/') = 'home' AND rtrim(page) = page AND ends_with(page, 'me')",
        _count(lambda r: r["page"] == "/home"),
    ),
    Asked(
        "shop",
        "SELECT `country`, count(*) AS n FROM data WHERE YEAR(ordered) = 2024 GROUP BY `country`",
        _by(lambda r: r["country"]),
    ),
]

# Noise on persons' counts has a standard deviation below 0.008: five of them, so that small groups are told apart (below 1e-6).
ASKED = [replace(one, tolerance=0.04) if "count(*)" in one.sql and one.world != "survey" else one for one in _QUESTIONS]

HOPELESS = [
    Hopeless("hospital", "SELECT avg(extract(epoch FROM admitted)) FROM data", "admitted - DATE"),
    Hopeless("hospital", "SELECT extract(hour FROM admitted) AS h, count(*) FROM data GROUP BY h", "no hours"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE admitted > now() - INTERVAL 30 DAY", "DATE '"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE admitted > DATE '2024-06-01' - INTERVAL 5 HOUR", "no hours"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE admitted + INTERVAL (days) DAY > '2024-06-01'", "constant"),
    Hopeless("hospital", "SELECT dayofweek(admitted) AS d, count(*) FROM data GROUP BY d", "isodow"),
    Hopeless("hospital", "SELECT strftime(admitted, '%H:%M') AS h, count(*) FROM data GROUP BY h", "%H"),
    Hopeless("hospital", "SELECT avg(log(cost)) FROM data", "ln(x)"),
    Hopeless("hospital", "SELECT avg(ln(cost / 3)) FROM data", "greatest("),
    Hopeless("hospital", "SELECT avg(exp(cost)) FROM data", "1e150"),
    Hopeless("hospital", "SELECT avg(sin(cost)) FROM data", "sin"),
    Hopeless("hospital", "SELECT sum(CAST(weight AS INT)) FROM data", "round(x)"),
    Hopeless("survey", "SELECT avg(TRY_CAST(code AS DOUBLE)) FROM data", "least(greatest("),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE note ~ '(a+)\\1'", "pattern"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE note ~ '(?=fall)'", "pattern"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE note ~ '[a-z'", "pattern"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE note ~ sex", "constant"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE regexp_replace(note, 'a', 'b') = 'x'", "on some systems and all"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE regexp_replace(note, 'a*', 'b', 'g') = 'x'", "match nothing"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE regexp_replace(note, '(a)', '\\1', 'g') = 'x'", "plain text"),
    Hopeless("hospital", "SELECT avg(log(cost, 10)) FROM data", "comes first"),
    Hopeless("hospital", "SELECT CONVERT(VARCHAR(20), admitted, 120) AS d, count(*) FROM data GROUP BY 1", "strftime"),
    Hopeless("hospital", "SELECT avg(CONVERT(INT, cost)) FROM data", "round(x)"),
    Hopeless("hospital", "SELECT count(*) FROM data WHERE admitted = '2024-02-30'", "no day of the calendar"),
]
