"""Questions that are answered, and the schema they are about."""

from __future__ import annotations

from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import person

COLUMNS = {
    "age": integer(0, 120),
    "debt": number(0, 1000, step=0.01),
    "drug_use": category("yes", "no"),
    "city": text(),
    "Region": category(1, 2, 3),
    "seen": date("2020-01-01", "2026-12-31"),
    "born": date("1900-01-01", "2026-12-31"),
    "smokes": boolean(),
    "blood group": category("A", "B", "O"),
    "order": integer(0, 5),
}
PUBLIC = {"regions": {"region": category(1, 2, 3), "name": category("north", "south"), "size": number(0, 10, step=1)}}
SCHEMA = Schema(COLUMNS, person("patient_id", rows=8, groups=3), PUBLIC)

ACCEPTED = [
    "SELECT count(*) FROM data",
    "select COUNT ( * ) as N from DATA;",
    "SELECT count() AS n FROM data d",
    "SELECT count(1) AS n FROM data",
    "SELECT count(city) FROM data",
    "SELECT count(DISTINCT patient_id) FROM data",
    "SELECT count(DISTINCT data.PATIENT_ID) AS persons FROM data",
    "SELECT sum(debt), avg(age), mean(debt), var_pop(age), stddev(debt) FROM data",
    "SELECT variance(age) a, var_samp(age) b, std(age) c, stddev_pop(age) d, stddev_samp(age) e FROM data",
    "SELECT median(age), mode(drug_use), quantile(age, 0.25), quantile_cont(debt, 0.9), approx_quantile(age, .1) FROM data",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) AS m FROM data",
    "SELECT quantile(age, 1/3) FROM data",
    "SELECT drug_use, count(*) AS n, avg(debt) AS debt FROM data GROUP BY drug_use",
    "SELECT count(*) AS n, drug_use FROM data GROUP BY 2",
    "SELECT count(*) AS n FROM data GROUP BY drug_use, smokes",
    "SELECT age // 10 AS decade, count(*) FROM data GROUP BY decade ORDER BY decade",
    "SELECT age // 10, count(*) FROM data GROUP BY age // 10 HAVING age // 10 > 3 ORDER BY age // 10 DESC",
    "SELECT year(seen), count(*) AS n FROM data GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
    'SELECT "blood group", "order", count(*) FROM data GROUP BY "blood group", "order"',
    "SELECT drug_use AS d, count(*) FROM data GROUP BY drug_use HAVING count(*) > 10 AND drug_use <> "
    "'no' ORDER BY d, count(*) DESC",
    "SELECT city, count(*) FROM data WHERE city IN ('b', 'a', 'b') AND age > 5 GROUP BY city",
    "SELECT city, count(*) FROM data WHERE city = 'x' GROUP BY city",
    "SELECT drug_use, count(*) FROM data WHERE drug_use IN ('yes') GROUP BY drug_use",
    "SELECT smokes, city IN ('a') AS is_a, count(*) FROM data GROUP BY smokes, is_a",
    "SELECT sum(debt) FILTER (WHERE smokes) AS s, count(*) FILTER (WHERE age > 60) AS old FROM data",
    "SELECT quantile(debt, 0.5) FILTER (WHERE smokes) AS s, count(city) FILTER (WHERE age > 60) AS old FROM data",
    "SELECT sum(least(greatest(length(city), 0), 20)) AS letters FROM data",
    "SELECT sum(CASE WHEN age >= 18 THEN debt ELSE 0 END) AS s, avg(CASE drug_use WHEN 'yes' THEN 1 ELSE 0 END) FROM data",
    "SELECT avg(CAST(smokes AS INTEGER)) AS share, avg(if(smokes, 1, 0)) AS b, sum(age::DOUBLE), "
    "sum(CAST(age AS INT)) AS c FROM data",
    "SELECT count(*) FROM data WHERE seen >= '2024-01-01' AND born < DATE '1990-05-17' AND seen BETWEEN "
    "'2020-02-02' AND '2025-01-01'",
    "SELECT avg(seen - born) AS days, avg(datediff('day', born, seen)) AS d FROM data WHERE CAST('2020-01-01' AS DATE) <= seen",
    "SELECT count(*) FROM data WHERE extract(year FROM seen) = 2024 OR date_part('isodow', seen) IN (6, 7) OR month(seen) <> -1",
    "SELECT count(*) FROM data WHERE city LIKE 'L%' AND city NOT LIKE '%x' AND city ILIKE '%Bon' AND NOT "
    "city IN ('q') AND city NOT IN ('r')",
    "SELECT count(*) FROM data WHERE lower(trim(city)) || upper(city) = 'it''s' OR concat(city, "
    "drug_use) = 'ü' OR left(city, 2) = right(city, 2)",
    "SELECT count(*) FROM data WHERE substring(city, 2, 3) = 'abc' OR substr(city, 2) = 'b' OR "
    "starts_with(city, 'a') OR contains(city, 'b')",
    "SELECT count(*) FROM data WHERE age IS NULL OR city IS NOT NULL OR smokes IS TRUE OR smokes IS NOT "
    "FALSE OR coalesce(age, 5) = 5",
    "SELECT count(*) FROM data WHERE NOT (smokes AND (age > 1 AND age < 3) OR nullif(age, 0) IS NULL) AND ifnull(debt, 0) = 0.10",
    "SELECT sum(-age) AS a, sum(abs(age - 50)) AS b, sum(round(debt / 10)) AS c, sum(floor(debt) % 7) AS "
    "d, sum(ceil(debt)) AS e FROM data",
    "SELECT sum(age * -0.1234567890123456789) AS s, sum(age * 1e-7) AS t, sum(- -3 * age) AS u FROM data",
    "SELECT bin(age, 0, 18, 65.5, 120) AS b, count(*) FROM data GROUP BY b",
    "SELECT quarter(seen) q, day(seen) d, weekday(seen) w, dayofyear(seen) y, count(*) FROM data GROUP BY 1, 2, 3, 4",
    "SELECT regions.name, count(*) FROM data JOIN regions USING (region) GROUP BY regions.name",
    "SELECT r.name AS area, sum(size) FROM data AS d LEFT JOIN regions AS r ON d.region = r.region GROUP BY r.name",
    "SELECT name, count(*) FROM data INNER JOIN regions ON regions.size = age // 10 AND (data.Region = "
    "regions.region) GROUP BY name",
    "SELECT /* a comment */ count(*) -- another\nFROM data",
    "SELECT count(*) AS n FROM data ORDER BY n DESC NULLS LAST LIMIT 0",
    'SELECT count(*) AS "a ""strange"" name", sum(age) AS "select" FROM data ORDER BY "select"',
]
