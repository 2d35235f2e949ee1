"""One row a person: questions about visits, baskets and devices a person, and not about rows."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from statistics import fmean, median
from typing import Any

from plan.corpus.base import Asked, Hopeless, grouped, per_person, quantile, values, where
from plan.corpus.worlds import Rows


def people(by: str, **parts: Callable[[Rows], Any]) -> Callable[[Rows], Rows]:
    """A table of one row a person."""
    return lambda rows: per_person(rows, by, lambda own: {name: part(own) for name, part in parts.items()})


def total(name: str) -> Callable[[Rows], Any]:
    return lambda own: sum(values(own, name)) if values(own, name) else None


def any_of(name: str) -> Callable[[Rows], Any]:
    return lambda own: min(values(own, name), default=None)


def most(name: str) -> Callable[[Rows], Any]:
    return lambda own: max(values(own, name), default=None)


def average(name: str) -> Callable[[Rows], Any]:
    return lambda own: fmean(values(own, name)) if values(own, name) else None


def pvar(numbers: list[float]) -> float:
    return fmean(x * x for x in numbers) - fmean(numbers) ** 2


PATIENTS = people("pid", n=len, total=total("cost"), sex=any_of("sex"), age=most("age"), days=total("days"))
CUSTOMERS = people("customer", orders=len, spent=total("amount"), country=any_of("country"), items=total("items"))
DEVICES = people("device", n=len, os=any_of("os"), slow=most("latency_ms"), crashed=lambda own: any(r["crashed"] for r in own))

ASKED = [
    Asked(
        "hospital",
        "SELECT avg(m) FROM (SELECT pid, median(cost) AS m FROM data GROUP BY pid) t",
        lambda rows: fmean(per_person(rows, "pid", lambda g: median(r["cost"] for r in g))),
    ),
    Asked(
        "hospital",
        "SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) AS t",
        lambda rows: fmean(values(PATIENTS(rows), "n")),
    ),
    Asked(
        "hospital",
        "SELECT n, count(*) AS patients FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) GROUP BY n",
        lambda rows: [(n, sum(p["n"] == n for p in PATIENTS(rows))) for n in range(1, 17)],
    ),
    Asked(
        "hospital",
        "select count(*) as expensive from (select pid from data group by pid having sum(cost) > 5000) t",
        lambda rows: len(where(PATIENTS(rows), lambda p: p["total"] > 5000)),
    ),
    Asked(
        "hospital",
        "SELECT sex, median(total) FROM (SELECT pid, any_value(sex) AS sex, sum(cost) AS total FROM data GROUP BY pid) AS t "
        "GROUP BY sex",
        lambda rows: grouped(PATIENTS(rows), lambda p: p["sex"], lambda g: quantile(values(g, "total"))),
    ),
    Asked(
        "hospital",
        "SELECT avg(total) AS cost_per_patient, count(*) AS patients FROM (SELECT pid, sum(cost) AS total FROM data GROUP "
        "BY 1) x",
        lambda rows: (fmean(values(PATIENTS(rows), "total")), len(PATIENTS(rows))),
    ),
    Asked(
        "hospital",
        "SELECT count(DISTINCT pid) AS n FROM (SELECT pid, max(days) AS longest FROM data GROUP BY pid) WHERE longest >= 20",
        lambda rows: len(where(people("pid", d=most("days"))(rows), lambda p: p["d"] >= 20)),
    ),
    Asked(
        "hospital",
        "SELECT sex, avg(total / n) AS cost_per_visit FROM (SELECT pid, any_value(sex) AS sex, sum(cost) AS total, count(*) AS n "
        "FROM data GROUP BY pid) p GROUP BY sex ORDER BY sex",
        lambda rows: sorted(
            grouped(PATIENTS(rows), lambda p: p["sex"], lambda g: fmean(p["total"] / p["n"] for p in g)), key=lambda line: line[0]
        ),
        ordered=True,
        tolerance=0.01,
    ),
    Asked(
        "hospital",
        "SELECT avg(cost_per_day) AS c FROM (SELECT pid, least(sum(cost) / greatest(sum(days), 1), 5000) AS cost_per_day "
        "FROM data "
        "GROUP BY pid) t",
        lambda rows: fmean(min(p["total"] / max(p["days"], 1), 5000) for p in PATIENTS(rows)),
    ),
    Asked(
        "hospital",
        "SELECT count(*) FROM (SELECT pid, count(*) AS n FROM data WHERE ward = 'heart' GROUP BY pid HAVING count(*) >= 2) t",
        lambda rows: len(where(PATIENTS(where(rows, lambda r: r["ward"] == "heart")), lambda p: p["n"] >= 2)),
    ),
    Asked(
        "hospital",
        "SELECT wards, count(*) FROM (SELECT pid, count(DISTINCT ward) AS wards FROM data GROUP BY pid) t GROUP BY wards",
        lambda rows: [(0, 0), *grouped(people("pid", w=lambda own: len({*values(own, "ward")}))(rows), lambda p: p["w"], len)],
    ),
    Asked(
        "hospital",
        "SELECT avg(hearts) FROM (SELECT pid, count(*) FILTER (WHERE ward = 'heart') AS hearts FROM data GROUP BY pid) t",
        lambda rows: fmean(per_person(rows, "pid", lambda own: sum(r["ward"] == "heart" for r in own))),
    ),
    Asked(
        "hospital",
        "SELECT avg(c) FROM (SELECT pid, count_if(cost > 2500) AS c FROM data GROUP BY pid) t",
        lambda rows: fmean(per_person(rows, "pid", lambda own: sum(r["cost"] > 2500 for r in own))),
    ),
    Asked(
        "hospital",
        "SELECT count(*) AS readmitted FROM (SELECT pid, max(admitted) - min(admitted) AS span FROM data GROUP BY pid) "
        "WHERE span > 30",
        lambda rows: sum(
            d > 30 for d in per_person(rows, "pid", lambda own: (most("admitted")(own) - any_of("admitted")(own)).days)
        ),
    ),
    Asked(
        "hospital",
        "SELECT year(first) AS y, count(*) FROM (SELECT pid, min(admitted) AS first FROM data GROUP BY pid) t GROUP BY y",
        lambda rows: grouped(people("pid", f=any_of("admitted"))(rows), lambda p: p["f"].year, len),
    ),
    Asked(
        "hospital",
        "SELECT s, count(*) AS n FROM (SELECT pid, bool_or(smoker) AS s FROM data GROUP BY pid) t GROUP BY s",
        lambda rows: grouped(people("pid", s=most("smoker"))(rows), lambda p: p["s"], len),
    ),
    Asked(
        "hospital",
        "SELECT stddev(total) FROM (SELECT pid, sum(cost) AS total FROM data GROUP BY pid) t",
        lambda rows: pvar(values(PATIENTS(rows), "total")) ** 0.5,
        tolerance=0.01,  # squares of up to 80,000
    ),
    Asked(
        "hospital",
        "SELECT avg(m) FROM (SELECT pid, avg(cost) AS m FROM data GROUP BY pid) t",
        lambda rows: fmean(values(people("pid", m=average("cost"))(rows), "m")),
    ),
    Asked(
        "hospital",
        "SELECT count(w), avg(w) FROM (SELECT pid, avg(weight) AS w FROM data GROUP BY pid) t",
        lambda rows: (
            len(values(people("pid", m=average("weight"))(rows), "m")),
            fmean(values(people("pid", m=average("weight"))(rows), "m")),
        ),
    ),
    Asked(
        "hospital",
        "SELECT bin(age, 0, 18, 65, 120) AS years, avg(n) FROM (SELECT pid, max(age) AS age, count(*) AS n FROM data GROUP "
        "BY pid) t "
        "GROUP BY years",
        lambda rows: grouped(
            PATIENTS(rows),
            lambda p: "[0, 18)" if p["age"] < 18 else "[18, 65)" if p["age"] < 65 else "[65, 120]",
            lambda g: fmean(values(g, "n")),
        ),
    ),
    Asked(
        "hospital",
        "SELECT building, count(*) FROM (SELECT pid, any_value(ward) AS ward FROM data GROUP BY pid) p "
        "JOIN wards ON p.ward = wards.ward GROUP BY building",
        lambda rows: grouped(people("pid", w=any_of("ward"))(rows), lambda p: {"heart": "B"}.get(p["w"], "A"), len),
    ),
    Asked(
        "hospital",
        "SELECT avg(low) FROM (SELECT pid, count(*) FILTER (WHERE floor = 1) AS low FROM data JOIN wards USING (ward) GROUP "
        "BY pid) t",
        lambda rows: fmean(per_person(rows, "pid", lambda own: sum(r["ward"] != "ear" for r in own))),
    ),
    Asked(
        "hospital",
        "SELECT mode(n) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) t",
        lambda rows: max(range(1, 17), key=lambda n: sum(p["n"] == n for p in PATIENTS(rows))),
    ),
    Asked(
        "hospital",
        "SELECT sum(n) AS visits FROM (SELECT pid, count(*) AS n FROM data WHERE age >= 18 GROUP BY pid) t WHERE n > 1",
        lambda rows: sum(p["n"] for p in PATIENTS(where(rows, lambda r: r["age"] >= 18)) if p["n"] > 1),
    ),
    Asked(
        "hospital",
        "SELECT n, count(*) AS k FROM (SELECT pid, least(count(*), 3) AS n FROM data GROUP BY pid) t GROUP BY n HAVING k > 0 "
        "ORDER BY n DESC LIMIT 2",
        lambda rows: [(n, sum(min(p["n"], 3) == n for p in PATIENTS(rows))) for n in (3, 2)],
        ordered=True,
    ),
    Asked(
        "hospital",
        "SELECT first_note, count(*) FROM (SELECT pid, min(left(note, 4)) AS first_note FROM data GROUP BY pid) t GROUP BY "
        "first_note",
        lambda rows: grouped(people("pid", f=lambda own: min(r["note"][:4] for r in own))(rows), lambda p: p["f"], len),
    ),
    Asked(
        "shop",
        "SELECT country, avg(spent) AS basket FROM (SELECT customer, any_value(country) AS country, sum(amount) AS spent "
        "FROM data "
        "GROUP BY customer) c GROUP BY country",
        lambda rows: grouped(CUSTOMERS(rows), lambda c: c["country"], lambda g: fmean(values(g, "spent"))),
    ),
    Asked(
        "shop",
        "SELECT count(*) AS loyal FROM (SELECT customer, COUNT(*) AS orders FROM data GROUP BY customer) AS c WHERE "
        "c.orders >= 3",
        lambda rows: len(where(CUSTOMERS(rows), lambda c: c["orders"] >= 3)),
    ),
    Asked(
        "shop",
        "SELECT count(*) FROM (SELECT DISTINCT customer FROM data)",
        lambda rows: len(CUSTOMERS(rows)),
    ),
    Asked(
        "shop",
        "SELECT avg(share) FROM (SELECT customer, sum(CASE WHEN returned THEN 1 ELSE 0 END) / count(*) AS share FROM data "
        "GROUP BY customer) c",
        lambda rows: fmean(per_person(rows, "customer", lambda own: sum(r["returned"] for r in own) / len(own))),
        tolerance=0.01,
    ),
    Asked(
        "shop",
        "SELECT avg(share) FROM (SELECT customer, avg(returned) AS share FROM data GROUP BY customer) c",
        lambda rows: fmean(per_person(rows, "customer", lambda own: sum(r["returned"] for r in own) / len(own))),
    ),
    Asked(
        "shop",
        "SELECT count(*) AS whole_year FROM (SELECT customer, min(ordered) AS a, max(ordered) AS b FROM data GROUP BY customer "
        "HAVING min(ordered) < '2024-04-01' AND max(ordered) >= '2024-10-01')",
        lambda rows: sum(
            per_person(
                rows,
                "customer",
                lambda own: (
                    any_of("ordered")(own) < datetime.date(2024, 4, 1) and most("ordered")(own) >= datetime.date(2024, 10, 1)
                ),
            )
        ),
    ),
    Asked(
        "shop",
        "SELECT name, sum(items) AS items FROM (SELECT customer, any_value(country) AS country, sum(items) AS items FROM data "
        "GROUP BY customer) c LEFT JOIN countries ON c.country = countries.code GROUP BY name",
        lambda rows: grouped(
            CUSTOMERS(rows),
            lambda c: {"DE": "Germany", "FR": "France", "IT": "Italy", "ES": "Spain"}[c["country"]],
            lambda g: sum(values(g, "items")),
        ),
    ),
    Asked(
        "shop",
        "SELECT channels, count(*) AS n FROM (SELECT customer, count(DISTINCT channel) AS channels FROM data WHERE NOT returned "
        "GROUP BY customer) c GROUP BY channels HAVING n > 0 ORDER BY channels",
        lambda rows: sorted(
            grouped(
                people("customer", w=lambda own: len({*values(own, "channel")}))(where(rows, lambda r: not r["returned"])),
                lambda p: p["w"],
                len,
            )
        ),
        ordered=True,
    ),
    Asked(
        "telemetry",
        "SELECT os, avg(slowest) FROM (SELECT device, any_value(os) AS os, max(latency_ms) AS slowest FROM data GROUP BY "
        "device) d "
        "GROUP BY os",
        lambda rows: grouped(DEVICES(rows), lambda d: d["os"], lambda g: fmean(values(g, "slow"))),
    ),
    Asked(
        "telemetry",
        "SELECT count(*) FILTER (WHERE crashed) AS bad, count(*) AS devices FROM (SELECT device, bool_or(crashed) AS "
        "crashed FROM data "
        "GROUP BY device) d",
        lambda rows: (sum(d["crashed"] for d in DEVICES(rows)), len(DEVICES(rows))),
    ),
    Asked(
        "telemetry",
        "SELECT quantile(slowest, 0.9) FROM (SELECT device, max(latency_ms) AS slowest FROM data GROUP BY ALL) d",
        lambda rows: quantile(values(DEVICES(rows), "slow"), 0.9),
        tolerance=0.02,
    ),
    Asked(
        "hospital",
        "WITH visits AS (SELECT pid, count(*) AS n, sum(cost) AS total FROM data GROUP BY pid) SELECT count(*) AS k, avg(total) "
        "FROM visits WHERE n >= 2",
        lambda rows: (
            len(where(PATIENTS(rows), lambda p: p["n"] >= 2)),
            fmean(p["total"] for p in PATIENTS(rows) if p["n"] >= 2),
        ),
    ),
    Asked(
        "hospital",
        "WITH dear AS (SELECT pid, cost / 1000 AS thousands FROM data WHERE cost > 1000), per AS (SELECT pid AS who, "
        "sum(thousands) AS t FROM dear GROUP BY pid), rich AS (SELECT who, t * 2 AS twice FROM per WHERE t > 3) "
        "SELECT count(DISTINCT who) AS n, avg(twice) AS m FROM rich WHERE twice < 20",
        lambda rows: (
            len(found := [2 * t for t in _thousands(rows) if t > 3 and 2 * t < 20]),
            fmean(found),
        ),
    ),
    Asked(
        "hospital",
        "SELECT 100.0 * count(*) FILTER (WHERE n >= 3) / count(*) AS percent FROM (SELECT pid, count(*) AS n FROM data "
        "GROUP BY pid) t",
        lambda rows: 100 * fmean(p["n"] >= 3 for p in PATIENTS(rows)),
    ),
    Asked(
        "hospital",
        "SELECT sex, sum(total) / sum(days) AS cost_per_day FROM (SELECT pid, any_value(sex) AS sex, sum(cost) AS total, "
        "sum(days) AS days FROM data GROUP BY pid) t GROUP BY sex HAVING avg(total) > 100 ORDER BY sum(days) DESC",
        lambda rows: [
            (line[0], line[1])
            for line in sorted(
                grouped(
                    PATIENTS(rows),
                    lambda p: p["sex"],
                    lambda g: (sum(values(g, "total")) / sum(values(g, "days")), sum(values(g, "days"))),
                ),
                key=lambda line: -line[2],
            )
        ],
        ordered=True,
    ),
    Asked(
        "hospital",
        "SELECT avg(readmitted) AS share FROM (SELECT pid, max(admitted) - min(admitted) > 90 AS readmitted FROM data "
        "GROUP BY pid) t",
        lambda rows: fmean(per_person(rows, "pid", lambda own: (most("admitted")(own) - any_of("admitted")(own)).days > 90)),
    ),
    Asked(
        "hospital",
        "SELECT town, count(*) AS n FROM (SELECT pid, max(wards.building) AS building FROM data JOIN wards ON "
        "data.ward = wards.ward "
        "GROUP BY pid) t JOIN buildings b ON t.building = b.building GROUP BY town",
        lambda rows: grouped(
            people("pid", b=lambda own: "Ulm" if any(r["ward"] == "heart" for r in own) else "Bonn")(rows), lambda p: p["b"], len
        ),
    ),
    Asked(
        "hospital",
        "SELECT avg(t.visits) FROM (SELECT pid, count(*) FROM data GROUP BY pid) AS t(pid, visits)",
        lambda rows: fmean(values(PATIENTS(rows), "n")),
    ),
    Asked(
        "telemetry",
        "SELECT count(*) FROM (SELECT device FROM data GROUP BY device HAVING bool_and(NOT crashed) AND count(*) = 2) d",
        lambda rows: len(where(DEVICES(rows), lambda d: not d["crashed"] and d["n"] == 2)),
    ),
]


def _thousands(rows: Rows) -> list[float]:
    return per_person(where(rows, lambda r: r["cost"] > 1000), "pid", lambda own: sum(r["cost"] for r in own) / 1000)


HOPELESS = [
    Hopeless("hospital", "SELECT avg(n) FROM (SELECT pid, ward, count(*) AS n FROM data GROUP BY pid, ward) t", "GROUP BY pid,"),
    Hopeless("hospital", "SELECT avg(n) FROM (SELECT ward, count(*) AS n FROM data GROUP BY ward) t", "GROUP BY pid"),
    Hopeless("hospital", "SELECT avg(n) FROM (SELECT count(*) AS n FROM data) t", "GROUP BY pid"),
    Hopeless(
        "hospital",
        "SELECT avg(m) FROM (SELECT pid, max(n) AS m FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) GROUP BY pid) t",
        "persons already",
    ),
    Hopeless("hospital", "SELECT avg(pid) FROM (SELECT count(*) AS pid FROM data GROUP BY pid) t", "another name"),
    Hopeless("hospital", "SELECT avg(age) FROM (SELECT pid, age FROM data GROUP BY pid) t", "any_value(age)"),
    Hopeless("hospital", "SELECT avg(m) FROM (SELECT pid, stddev(cost) AS m FROM data GROUP BY pid) t", "there are count, sum"),
    Hopeless("hospital", "SELECT pid, n FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) t", "n"),
    Hopeless("hospital", "SELECT max(n) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) t", "quantile(n, 0.99)"),
    Hopeless(
        "hospital",
        "SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid ORDER BY n DESC LIMIT 10) t",
        "into the question around it",
    ),
    Hopeless(
        "hospital", "SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM data WHERE sum(cost) > 5 GROUP BY pid) t", "into HAVING"
    ),
    Hopeless("hospital", "SELECT avg(n) FROM (SELECT pid, count(*) AS n, sum(days) AS n FROM data GROUP BY pid) t", "called n"),
    Hopeless("hospital", "SELECT avg(visits) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) t", "no column visits"),
    Hopeless("hospital", "SELECT avg(s) FROM (SELECT pid, sum(note) AS s FROM data GROUP BY pid) t", "needs numbers"),
    Hopeless("hospital", "SELECT avg(s) FROM (SELECT pid, bool_or(cost) AS s FROM data GROUP BY pid) t", "a condition"),
    Hopeless("hospital", "SELECT avg(s) FROM (SELECT pid, count(*) AS s FROM data GROUP BY pid HAVING 5) t", "HAVING takes"),
    Hopeless("survey", "SELECT avg(n) FROM (SELECT region, count(*) AS n FROM data GROUP BY region) t", "every row is somebody"),
    Hopeless(
        "hospital",
        "SELECT total, count(*) FROM (SELECT pid, sum(cost) AS total FROM data GROUP BY pid) t GROUP BY total",
        "bin(total,",
    ),
]
