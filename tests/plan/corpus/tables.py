"""Several private tables about the same persons: joined by their id, and asked about whether somebody has such a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from statistics import fmean, median
from typing import Any

from plan.corpus.base import Asked, Hopeless, grouped, mean, values, where
from plan.corpus.worlds import Row, Rows

Tables = dict[str, Rows]


def known(tables: Tables, name: str) -> Rows:
    """The rows of a table whose person is known, columns by their full names."""
    return [
        {"pid": row["pid"], **{f"{name}.{column}": cell for column, cell in row.items() if column != "pid"}}
        for row in tables[name]
        if row["pid"] is not None
    ]


def join(left: Rows, right: Rows, *, keep: bool = False) -> Rows:
    """All pairs of rows of one person; ``keep``: a row without partner stays, and what it would have is missing."""
    columns = [column for column in (right[0] if right else {}) if column != "pid"]
    found: Rows = []
    for one in left:
        partners = [other for other in right if other["pid"] == one["pid"]]
        found += [{**one, **other} for other in partners]
        if keep and not partners:
            found.append({**one, **dict.fromkeys(columns)})
    return found


def pv(tables: Tables, *, keep: bool = False) -> Rows:
    return join(known(tables, "patients"), known(tables, "visits"), keep=keep)


def persons(rows: Rows, test: Callable[[Row], Any] = lambda _: True) -> set[Any]:
    return {row["pid"] for row in rows if test(row)}


def having(tables: Tables, first: str, other: str, test: Callable[[Row], Any] = lambda _: True, *, no: bool = False) -> Rows:
    """Rows whose person has such a row in another table, or has none."""
    those = persons(known(tables, other), test)
    return [row for row in known(tables, first) if (row["pid"] in those) is not no]


def own(tables: Tables, row: Row) -> Rows:
    """The visits of a row's person, but those to the ear."""
    return [v for v in known(tables, "visits") if v["pid"] == row["pid"] and v["visits.ward"] != "ear"]


def stays(tables: Tables, test: Callable[[Row], Any] = lambda _: True) -> Rows:
    """One row a person with visits who is a patient: how many visits, and the patient."""
    visits = [row["pid"] for row in known(tables, "visits") if test(row)]
    return [{**row, "stays": visits.count(row["pid"])} for row in known(tables, "patients") if row["pid"] in visits]


def gt(column: str, bound: Any) -> Callable[[Row], Any]:
    return lambda row: row[column] is not None and row[column] > bound


def eq(column: str, value: Any) -> Callable[[Row], Any]:
    return lambda row: row[column] == value


def ask(sql: str, answer: Callable[[Any], Any], **more: Any) -> Asked:
    """About the clinic; sums of costs have a noise of about 36, and at least 15 costs of up to 5000 each."""
    costs = re.search(r"(sum|avg)\(.*cost", sql) is not None
    return Asked("clinic", sql, answer, **({"tolerance": 0.03} if costs else {}) | more)


V, P, R = "visits", "patients", "prescriptions"

ASKED = [
    # One of several tables.
    ask("SELECT count(*) FROM patients", lambda t: len(known(t, P))),
    ask("SELECT count(*) AS n FROM visits WHERE cost > 1000", lambda t: len(where(known(t, V), gt("visits.cost", 1000)))),
    ask(
        "SELECT ward, avg(cost) AS mean_cost FROM visits GROUP BY ward",
        lambda t: grouped(known(t, V), lambda r: r["visits.ward"], lambda g: mean(g, "visits.cost")),
    ),
    ask("SELECT count(DISTINCT pid) FROM prescriptions", lambda t: len(persons(known(t, R)))),
    ask("SELECT sum(p.dose) FROM prescriptions AS p", lambda t: sum(values(known(t, R), "prescriptions.dose"))),
    ask("select median(AGE) from PATIENTS", lambda t: median(values(known(t, P), "patients.age")), tolerance=0.02),
    ask(
        "SELECT v.days, count(*) AS n FROM visits v WHERE v.days < 3 GROUP BY v.days",
        lambda t: grouped(where(known(t, V), lambda r: r["visits.days"] in (0, 1, 2)), lambda r: r["visits.days"], len),
    ),
    ask(
        "SELECT w.building, count(*) FROM visits JOIN wards w ON visits.ward = w.ward GROUP BY w.building",
        lambda t: grouped(known(t, V), lambda r: "B" if r["visits.ward"] == "heart" else "A", len),
    ),
    # JOIN.
    ask("SELECT count(*) FROM patients JOIN visits USING (pid)", lambda t: len(pv(t))),
    ask(
        "SELECT p.sex, avg(v.cost) FROM patients p JOIN visits v ON p.pid = v.pid GROUP BY p.sex",
        lambda t: grouped(pv(t), lambda r: r["patients.sex"], lambda g: mean(g, "visits.cost")),
    ),
    ask(
        "SELECT sex, ward, count(*) AS n FROM patients INNER JOIN visits USING (pid) GROUP BY sex, ward",
        lambda t: grouped(pv(t), lambda r: (r["patients.sex"], r["visits.ward"]), len),
    ),
    ask(
        "SELECT region, sum(cost) AS total FROM visits JOIN patients ON visits.pid = patients.pid WHERE age >= 65 GROUP BY 1",
        lambda t: grouped(
            where(pv(t), gt("patients.age", 64)), lambda r: r["patients.region"], lambda g: sum(values(g, "visits.cost"))
        ),
    ),
    ask("SELECT count(DISTINCT patients.pid) FROM patients JOIN visits USING (pid)", lambda t: len(persons(pv(t)))),
    ask(
        "SELECT count(DISTINCT pid) FROM patients JOIN visits USING (pid) WHERE ward = 'heart' AND smoker",
        lambda t: len(persons(pv(t), lambda r: r["visits.ward"] == "heart" and r["patients.smoker"])),
    ),
    ask(
        "SELECT ward, avg(age) AS mean_age FROM visits JOIN patients USING (pid) GROUP BY ward ORDER BY ward",
        lambda t: sorted(grouped(pv(t), lambda r: r["visits.ward"], lambda g: mean(g, "patients.age"))),
        ordered=True,
    ),
    ask(
        "SELECT avg(age) FROM patients JOIN visits ON visits.pid = patients.pid AND visits.ward = 'eye'",
        lambda t: mean(where(pv(t), eq("visits.ward", "eye")), "patients.age"),
    ),
    ask(
        "SELECT bin(age, 0, 20, 60, 120) AS ages, count(*) AS n FROM patients JOIN visits USING (pid) GROUP BY ages",
        lambda t: grouped(
            pv(t),
            lambda r: "[0, 20)" if r["patients.age"] < 20 else "[20, 60)" if r["patients.age"] < 60 else "[60, 120]",
            len,
        ),
    ),
    ask(
        "SELECT sum(CASE WHEN smoker THEN cost ELSE 0 END) AS s FROM patients JOIN visits USING (pid)",
        lambda t: sum(r["visits.cost"] for r in pv(t) if r["patients.smoker"]),
    ),
    ask(
        "SELECT median(cost) AS m FROM patients JOIN visits USING (pid) WHERE sex = 'f'",
        lambda t: median(values(where(pv(t), eq("patients.sex", "f")), "visits.cost")),
        tolerance=0.1,
    ),
    ask(
        "SELECT count(*) FROM patients JOIN visits USING (pid) JOIN prescriptions USING (pid)",
        lambda t: len(join(pv(t), known(t, R))),
    ),
    ask(
        "SELECT drug, avg(cost) FROM patients p JOIN visits v ON v.pid = p.pid JOIN prescriptions r ON r.pid = v.pid "
        "WHERE age > 40 GROUP BY drug",
        lambda t: grouped(
            where(join(pv(t), known(t, R)), gt("patients.age", 40)),
            lambda r: r["prescriptions.drug"],
            lambda g: mean(g, "visits.cost"),
        ),
    ),
    ask(
        "SELECT avg(visits.days) AS stay, avg(prescriptions.days) AS course FROM visits JOIN prescriptions USING (pid)",
        lambda t: tuple(mean(join(known(t, V), known(t, R)), column) for column in ("visits.days", "prescriptions.days")),
    ),
    ask(
        "SELECT building, sex, count(*) FROM patients JOIN visits USING (pid) JOIN wards USING (ward) GROUP BY building, sex",
        lambda t: grouped(pv(t), lambda r: ("B" if r["visits.ward"] == "heart" else "A", r["patients.sex"]), len),
    ),
    ask(
        "SELECT year(admitted) AS y, count(*) AS n FROM visits JOIN patients USING (pid) WHERE region = 'north' GROUP BY y",
        lambda t: grouped(where(pv(t), eq("patients.region", "north")), lambda r: r["visits.admitted"].year, len),
    ),
    # LEFT JOIN.
    ask("SELECT count(*) FROM patients LEFT JOIN visits USING (pid)", lambda t: len(pv(t, keep=True))),
    ask(
        "SELECT sex, count(visits.ward) AS visits, count(*) AS rows FROM patients LEFT OUTER JOIN visits USING (pid) GROUP BY 1",
        lambda t: grouped(pv(t, keep=True), lambda r: r["patients.sex"], lambda g: (len(values(g, "visits.ward")), len(g))),
    ),
    ask(
        "SELECT count(r.dose) AS n FROM patients p LEFT JOIN prescriptions r ON p.pid = r.pid",
        lambda t: len(values(join(known(t, P), known(t, R), keep=True), "prescriptions.dose")),
    ),
    ask(
        "SELECT count(*) FROM patients p LEFT JOIN visits v ON v.pid = p.pid AND v.ward = 'heart'",
        lambda t: len(join(known(t, P), where(known(t, V), eq("visits.ward", "heart")), keep=True)),
    ),
    ask(
        "SELECT avg(coalesce(cost, 0)) FROM patients LEFT JOIN visits USING (pid)",
        lambda t: fmean(r["visits.cost"] or 0 for r in pv(t, keep=True)),
    ),
    ask(
        "SELECT count(*) FROM patients p LEFT JOIN visits v ON p.pid = v.pid WHERE v.pid IS NULL",
        lambda t: len(having(t, P, V, no=True)),
    ),
    ask(
        "SELECT count(*) FROM patients p LEFT JOIN visits v ON p.pid = v.pid WHERE v.pid IS NOT NULL AND p.sex = 'm'",
        lambda t: len(where(pv(t), eq("patients.sex", "m"))),
    ),
    # IN, EXISTS and their opposites.
    ask("SELECT count(*) FROM patients WHERE pid IN (SELECT pid FROM visits)", lambda t: len(having(t, P, V))),
    ask(
        "SELECT avg(age) FROM patients WHERE pid IN (SELECT pid FROM visits WHERE ward = 'heart')",
        lambda t: mean(having(t, P, V, eq("visits.ward", "heart")), "patients.age"),
    ),
    ask(
        "SELECT sex, count(*) FROM patients WHERE pid NOT IN (SELECT pid FROM visits WHERE cost > 100) AND age > 20 GROUP BY sex",
        lambda t: grouped(
            where(having(t, P, V, gt("visits.cost", 100), no=True), gt("patients.age", 20)), lambda r: r["patients.sex"], len
        ),
    ),
    ask(
        "SELECT count(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.days > 7)",
        lambda t: len(having(t, P, V, gt("visits.days", 7))),
    ),
    ask(
        "SELECT count(*) FROM patients WHERE NOT EXISTS (SELECT * FROM prescriptions WHERE prescriptions.pid = patients.pid)",
        lambda t: len(having(t, P, R, no=True)),
    ),
    ask(
        "SELECT ward, sum(cost) FROM visits WHERE pid IN (SELECT DISTINCT pid FROM prescriptions WHERE dose > 50) GROUP BY 1",
        lambda t: grouped(
            having(t, V, R, gt("prescriptions.dose", 50)),
            lambda r: r["visits.ward"],
            lambda g: sum(values(g, "visits.cost")),
        ),
    ),
    ask(
        "SELECT count(*) FROM patients WHERE pid IN (SELECT pid FROM visits) AND pid NOT IN (SELECT pid FROM prescriptions)",
        lambda t: len([r for r in having(t, P, V) if r["pid"] not in persons(known(t, R))]),
    ),
    ask(
        "SELECT count(DISTINCT pid) FROM visits WHERE ward = 'eye' AND pid IN (SELECT pid FROM visits WHERE ward = 'heart')",
        lambda t: len(persons(where(having(t, V, V, eq("visits.ward", "heart")), eq("visits.ward", "eye")))),
    ),
    ask(
        "SELECT drug, count(*) FROM prescriptions r JOIN patients p USING (pid) WHERE EXISTS "
        "(SELECT v.cost FROM visits AS v WHERE p.pid = v.pid AND v.admitted >= DATE '2025-01-01') GROUP BY drug",
        lambda t: grouped(
            [
                row
                for row in join(known(t, R), known(t, P))
                if row["pid"] in persons(known(t, V), lambda r: r["visits.admitted"].year == 2025)
            ],
            lambda r: r["prescriptions.drug"],
            len,
        ),
    ),
    # Queries that are joined.
    ask(
        "SELECT sex, avg(v.cost) FROM patients JOIN (SELECT pid, cost FROM visits WHERE ward = 'heart') v USING (pid) GROUP BY 1",
        lambda t: grouped(
            where(pv(t), eq("visits.ward", "heart")), lambda r: r["patients.sex"], lambda g: mean(g, "visits.cost")
        ),
    ),
    ask(
        "WITH costly AS (SELECT pid, cost / 100 AS hundreds, days FROM visits WHERE cost > 2500) "
        "SELECT count(*), avg(hundreds) FROM patients p JOIN costly c ON p.pid = c.pid WHERE age > 30",
        lambda t: (
            len(rows := where(pv(t), lambda r: r["visits.cost"] > 2500 and r["patients.age"] > 30)),
            mean(rows, "visits.cost") / 100,
        ),
    ),
    ask(
        "SELECT count(*) FROM patients p LEFT JOIN (SELECT pid FROM visits WHERE cost > 2500) v ON p.pid = v.pid "
        "WHERE v.pid IS NULL",
        lambda t: len(having(t, P, V, gt("visits.cost", 2500), no=True)),
    ),
    ask(
        "SELECT count(*), count(v.note) FROM patients LEFT JOIN (SELECT * FROM visits WHERE ward = 'eye') AS v USING (pid)",
        lambda t: (
            len(rows := join(known(t, P), where(known(t, V), eq("visits.ward", "eye")), keep=True)),
            len(values(rows, "visits.note")),
        ),
    ),
    ask(
        "SELECT x.drug, count(*) FROM (SELECT pid, age FROM patients WHERE age >= 40) a "
        "JOIN (SELECT pid, drug FROM prescriptions) x USING (pid) GROUP BY x.drug",
        lambda t: grouped(
            [r for r in join(known(t, P), known(t, R)) if r["patients.age"] >= 40], lambda r: r["prescriptions.drug"], len
        ),
    ),
    # Persons by what is made of their rows.
    ask(
        "SELECT sex, count(*) FROM patients WHERE pid IN (SELECT pid FROM visits GROUP BY pid HAVING count(*) >= 2) GROUP BY sex",
        lambda t: grouped(
            [r for r in known(t, P) if len([v for v in known(t, V) if v["pid"] == r["pid"]]) >= 2],
            lambda r: r["patients.sex"],
            len,
        ),
    ),
    ask(
        "SELECT avg(age) FROM patients WHERE pid NOT IN (SELECT pid FROM visits WHERE ward <> 'ear' GROUP BY pid "
        "HAVING sum(cost) > 4000 AND max(days) > 3) AND age > 10",
        lambda t: mean(
            [
                r
                for r in known(t, P)
                if r["patients.age"] > 10
                and not (
                    sum(v["visits.cost"] for v in own(t, r)) > 4000
                    and max((v["visits.days"] for v in own(t, r) if v["visits.days"] is not None), default=0) > 3
                )
            ],
            "patients.age",
        ),
    ),
    ask(
        "SELECT count(*) FROM patients JOIN visits USING (pid) WHERE pid IN (SELECT pid FROM prescriptions GROUP BY pid HAVING "
        "count(DISTINCT drug) > 1) AND cost > 100",
        lambda t: len(
            [
                r
                for r in pv(t)
                if r["visits.cost"] > 100 and len({d["prescriptions.drug"] for d in known(t, R) if d["pid"] == r["pid"]}) > 1
            ]
        ),
    ),
    Asked(
        "hospital",
        "SELECT ward, count(*) FROM data WHERE pid IN (SELECT pid FROM data GROUP BY pid HAVING count(*) > 2) GROUP BY ward",
        lambda rows: grouped([r for r in rows if len([o for o in rows if o["pid"] == r["pid"]]) > 2], lambda r: r["ward"], len),
    ),
    # One row a person, with another table joined to it.
    ask(
        "SELECT p.sex, count(*) AS n, avg(t.stays) FROM (SELECT pid, count(*) AS stays FROM visits GROUP BY pid) t JOIN patients "
        "p USING (pid) GROUP BY p.sex",
        lambda t: grouped(stays(t), lambda r: r["patients.sex"], lambda g: (len(g), fmean(r["stays"] for r in g))),
    ),
    ask(
        "WITH t AS (SELECT pid, count(*) AS stays FROM visits WHERE ward <> 'ear' GROUP BY pid HAVING count(*) > 1) SELECT "
        "region, count(*) FROM patients JOIN t ON t.pid = patients.pid AND age < 90 WHERE stays < 4 AND smoker GROUP BY region",
        lambda t: grouped(
            where(
                stays(t, lambda r: r["visits.ward"] != "ear"),
                lambda r: 1 < r["stays"] < 4 and r["patients.age"] < 90 and r["patients.smoker"],
            ),
            lambda r: r["patients.region"],
            len,
        ),
    ),
    ask(
        "SELECT count(*), count(sex), count(DISTINCT t.pid) AS d FROM (SELECT pid, sum(cost) AS c FROM visits GROUP BY pid) t "
        "LEFT JOIN patients ON patients.pid = t.pid AND patients.age > 40",
        lambda t: [
            (
                len(persons(known(t, V))),
                len(persons(known(t, V)) & persons(known(t, P), gt("patients.age", 40))),
                len(persons(known(t, V))),
            )
        ],
    ),
    # With one private table, the same about its own rows.
    Asked(
        "hospital",
        "SELECT count(DISTINCT pid) AS n FROM data WHERE ward = 'eye' AND pid IN (SELECT pid FROM data WHERE ward = 'heart')",
        lambda rows: len({r["pid"] for r in rows if r["ward"] == "eye"} & {r["pid"] for r in rows if r["ward"] == "heart"}),
    ),
    Asked(
        "shop",
        "SELECT avg(amount) FROM data d WHERE NOT EXISTS (SELECT 1 FROM data AS e WHERE e.customer = d.customer AND e.returned)",
        lambda rows: fmean(
            r["amount"] for r in rows if r["customer"] not in {other["customer"] for other in rows if other["returned"]}
        ),
    ),
]


def hopeless(sql: str, says: str) -> Hopeless:
    return Hopeless("clinic", sql, says)


HOPELESS = [
    hopeless("SELECT count(*) FROM data", "FROM patients or FROM visits"),
    hopeless("SELECT count(*) FROM patient", "no private table 'patient'"),
    hopeless("SELECT count(*) FROM patients JOIN visits ON patients.age = visits.days", "joined by pid only"),
    hopeless("SELECT count(*) FROM patients JOIN visits USING (age)", "JOIN visits USING (pid)"),
    hopeless("SELECT count(*) FROM patients CROSS JOIN visits", "CROSS JOIN is not answered"),
    hopeless("SELECT count(*) FROM patients JOIN visits ON patients.pid = visits.pid OR patients.age > 5", "joined by pid only"),
    hopeless("SELECT count(*) FROM patients JOIN visits ON TRUE", "every row belongs to one person"),
    hopeless("SELECT count(*) FROM patients FULL JOIN visits USING (pid)", "FULL JOIN is not answered"),
    hopeless("SELECT count(*) FROM visits a JOIN visits b USING (pid)", "joined with itself"),
    hopeless("SELECT avg(days) FROM visits JOIN prescriptions USING (pid)", "visits.days or prescriptions.days"),
    hopeless("SELECT count(*) FROM patients WHERE age IN (SELECT days FROM visits)", "by pid on both sides"),
    hopeless("SELECT count(*) FROM patients WHERE EXISTS (SELECT 1 FROM visits WHERE cost > 5)", "visits.pid = patients.pid"),
    hopeless("SELECT count(*) FROM patients WHERE age > 5 OR pid IN (SELECT pid FROM visits)", "AND"),
    hopeless("SELECT avg(cost) FROM patients", "no column cost"),
    hopeless("SELECT count(DISTINCT v.pid) FROM patients p LEFT JOIN visits v USING (pid)", "JOIN visits"),
    hopeless("SELECT count(*) FROM patients p JOIN visits v ON p.pid = v.pid AND v.days > p.age", "put it into WHERE"),
    hopeless("SELECT count(*) FROM patients WHERE pid IN (SELECT pid FROM visits JOIN prescriptions USING (pid))", "with AND"),
    hopeless("SELECT pid, count(*) FROM patients JOIN visits USING (pid) GROUP BY pid", "id of persons"),
    hopeless("SELECT count(*) FROM patients WHERE pid IN (SELECT pid FROM visits GROUP BY pid, ward)", "alone"),
    hopeless("SELECT count(*) FROM patients WHERE pid IN (SELECT pid FROM visits HAVING count(*) > 1)", "GROUP BY pid"),
    hopeless("SELECT count(*) FROM patients JOIN (SELECT cost FROM visits) v USING (pid)", "does not select"),
    hopeless("SELECT count(*) FROM patients JOIN (SELECT cost AS pid FROM visits) v USING (pid)", "does not select"),
    hopeless("SELECT avg(v.days) FROM patients JOIN (SELECT pid, cost FROM visits) v USING (pid)", "no column days"),
    hopeless("SELECT avg(days) FROM patients JOIN (SELECT pid, cost FROM visits) v USING (pid)", "no column days"),
    hopeless("SELECT count(*) FROM patients LEFT JOIN (SELECT pid, 1 AS one FROM visits) v USING (pid)", "compute around it"),
    hopeless("SELECT count(DISTINCT v.pid) FROM patients p LEFT JOIN (SELECT pid FROM visits) v USING (pid)", "JOIN visits"),
    hopeless("SELECT count(*) FROM patients JOIN (SELECT pid FROM visits LIMIT 3) v USING (pid)", "choose single rows"),
    hopeless(
        "SELECT count(*) FROM patients JOIN prescriptions USING (pid) JOIN (SELECT pid, count(*) AS n FROM visits GROUP BY pid) "
        "v USING (pid)",
        "selects from one private table",
    ),
    hopeless(
        "SELECT count(*) FROM prescriptions JOIN (SELECT pid, count(*) AS n FROM visits GROUP BY pid) v USING (pid)",
        "at_most={'prescriptions': 1}",
    ),
    hopeless(
        "SELECT count(*) FROM patients LEFT JOIN (SELECT pid, count(*) AS n FROM visits GROUP BY pid) v USING (pid)",
        "FROM patients LEFT JOIN",
    ),
    hopeless(
        "SELECT count(*) FROM (SELECT pid, count(*) AS n FROM visits GROUP BY pid) v JOIN visits USING (pid)",
        "read in the query within already",
    ),
    hopeless(
        "SELECT count(*) FROM (SELECT pid, count(*) AS n FROM visits GROUP BY pid) v JOIN patients ON v.n = patients.age",
        "joined by pid only",
    ),
    hopeless(
        "WITH a AS (SELECT pid FROM visits GROUP BY pid), b AS (SELECT pid FROM prescriptions GROUP BY pid) SELECT count(*) FROM "
        "a JOIN b USING (pid)",
        "FILTER",
    ),
    hopeless("SELECT count(*) FROM patients JOIN (SELECT pid FROM visits) USING (pid)", "needs a name"),
]
