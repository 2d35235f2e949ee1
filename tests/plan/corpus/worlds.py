"""Four small worlds that analysts ask about: a hospital, a shop, telemetry of devices, a survey.

Rows are plain Python, so that what is right can be said in plain Python. No person has more rows than its world allows, and every
cell is within its declaration: without noise, an answer is the statistic itself.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import discreet as dp

Row = Mapping[str, Any]
Rows = list[dict[str, Any]]

BUDGET = 10**9
EPSILON = 10**6  # noise far below what is compared, also on sums of thousands
DAY = datetime.date(2024, 1, 1)


@dataclass(frozen=True)
class World:
    """A private table, or several by their names, what is declared of it, and public tables beside it."""

    rows: Any
    unit: Any
    columns: Mapping[str, Any]
    public: Mapping[str, Rows]
    at_most: Mapping[str, int] | None = None

    def open(self, ledger: Path) -> dp.Curator:
        public = {name: pa.Table.from_pylist(rows) for name, rows in self.public.items()}
        budget = dp.Budget(epsilon=BUDGET, delta=1e-3)
        tables = isinstance(self.rows, dict)
        table = (
            {name: pa.Table.from_pylist(rows) for name, rows in self.rows.items()} if tables else pa.Table.from_pylist(self.rows)
        )
        more = {} if self.at_most is None else {"at_most": self.at_most}
        return dp.Curator(table, unit=self.unit, columns=self.columns, budget=budget, public=public, ledger=ledger, **more)


def _hospital() -> World:
    chance, rows = random.Random(1), []
    for person in range(120):
        sex, age, smoker = chance.choice("mf"), chance.randrange(0, 100), chance.choice([True, False, None])
        for _ in range(chance.randrange(1, 5)):
            rows.append(  # noqa: PERF401
                {
                    "pid": f"p{person}",
                    "sex": sex,
                    "age": age,
                    "smoker": smoker,
                    "ward": chance.choice(["eye", "ear", "heart"]),
                    "cost": chance.randrange(0, 500_000) / 100,
                    "days": chance.randrange(0, 31),
                    "admitted": DAY + datetime.timedelta(chance.randrange(0, 731)),
                    "weight": chance.choice([None, chance.randrange(300, 1500) / 10]),
                    "note": chance.choice(["fall", "cough", "fever 39", "FALL", "cough and fever"]),
                }
            )
    wards = [
        {"ward": "eye", "floor": 1, "building": "A"},
        {"ward": "ear", "floor": 2, "building": "A"},
        {"ward": "heart", "floor": 1, "building": "B"},
    ]
    buildings = [{"building": "A", "town": "Bonn"}, {"building": "B", "town": "Ulm"}]
    columns = {
        "sex": dp.category("m", "f"),
        "age": dp.integer(0, 120),
        "smoker": dp.boolean(),
        "ward": dp.category("eye", "ear", "heart"),
        "cost": dp.number(0, 5000, step=0.01),
        "days": dp.integer(0, 31),
        "admitted": dp.date("2024-01-01", "2025-12-31"),
        "weight": dp.number(20, 200, step=0.1),
        "note": dp.text(length=40),
    }
    return World(rows, dp.person("pid", rows=4, groups=4), columns, {"wards": wards, "buildings": buildings})


def _shop() -> World:
    chance, rows = random.Random(2), []
    for customer in range(100):
        country = chance.choice(["DE", "FR", "IT", "ES"])
        for _ in range(chance.randrange(1, 4)):
            items = chance.randrange(1, 12)
            rows.append(
                {
                    "customer": customer,
                    "country": country,
                    "channel": chance.choice(["web", "app", "store"]),
                    "items": items,
                    "amount": items * chance.randrange(100, 2000) / 100,
                    "discount": chance.choice([None, 0, 5, 10, 20]),
                    "returned": chance.random() < 0.2,
                    "ordered": DAY + datetime.timedelta(chance.randrange(0, 366)),
                }
            )
    countries = [{"code": code, "name": name, "euro": True} for code, name in (("DE", "Germany"), ("FR", "France"))]
    countries += [{"code": "IT", "name": "Italy", "euro": True}, {"code": "ES", "name": "Spain", "euro": True}]
    columns = {
        "country": dp.category("DE", "FR", "IT", "ES"),
        "channel": dp.category("web", "app", "store"),
        "items": dp.integer(1, 12),
        "amount": dp.number(0, 300, step=0.01),
        "discount": dp.category(0, 5, 10, 20),
        "returned": dp.boolean(missing=False),
        "ordered": dp.date("2024-01-01", "2024-12-31"),
    }
    return World(rows, dp.person("customer", rows=3, groups=3), columns, {"countries": countries})


def _telemetry() -> World:
    chance, rows = random.Random(3), []
    for device in range(150):
        system, version = chance.choice(["linux", "mac", "windows"]), chance.choice(["1.0", "1.1", "2.0"])
        for _ in range(chance.randrange(1, 3)):
            rows.append(  # noqa: PERF401
                {
                    "device": f"d{device:04d}",
                    "os": system,
                    "version": version,
                    "latency_ms": chance.randrange(1, 2000),
                    "memory_mb": chance.choice([None, chance.randrange(1, 64) * 256]),
                    "crashed": chance.random() < 0.1,
                    "day": DAY + datetime.timedelta(chance.randrange(0, 28)),
                    "page": chance.choice(["/home", "/search?q=1", "/item/7", "/item/12", "/cart"]),
                }
            )
    columns = {
        "os": dp.category("linux", "mac", "windows"),
        "version": dp.category("1.0", "1.1", "2.0"),
        "latency_ms": dp.integer(0, 2000),
        "memory_mb": dp.integer(0, 16384),
        "crashed": dp.boolean(missing=False),
        "day": dp.date("2024-01-01", "2024-01-28"),
        "page": dp.text(length=60),
    }
    return World(rows, dp.person("device", rows=2, groups=2), columns, {})


def _survey() -> World:
    chance, rows = random.Random(4), []
    for _ in range(400):
        education = chance.choice(["school", "college", "university"])
        rows.append(
            {
                "education": education,
                "region": chance.randrange(1, 5),
                "age": chance.randrange(18, 90),
                "income": chance.choice([None, chance.randrange(0, 200) * 500]),
                "hours": chance.randrange(0, 80),
                "satisfied": chance.choice([1, 2, 3, 4, 5]),
                "employed": chance.choice([True, False]),
                "code": chance.choice(["12", "7.5", "n/a", "-3"]),
            }
        )
    regions = [{"region": number, "name": name, "coast": number < 3} for number, name in enumerate("NSWE", 1)]
    columns = {
        "education": dp.category("school", "college", "university"),
        "region": dp.category(1, 2, 3, 4),
        "age": dp.integer(18, 90),
        "income": dp.number(0, 100_000, step=500),
        "hours": dp.integer(0, 80),
        "satisfied": dp.integer(1, 5),
        "employed": dp.boolean(missing=False),
        "code": dp.text(length=10),
    }
    return World(rows, dp.rows(), columns, {"regions": regions})


def _clinic() -> World:
    """Three tables about the same persons; some are in one of them only, and some rows say nothing about whose they are."""
    chance = random.Random(5)
    patients, visits, prescriptions = [], [], []
    for person in [*range(110), None, None]:
        id = None if person is None else f"p{person}"
        if person is None or person < 100:
            patients.append(
                {
                    "pid": id,
                    "sex": chance.choice("mf"),
                    "age": chance.randrange(0, 100),
                    "region": chance.choice(["north", "south", "west"]),
                    "smoker": chance.choice([True, False, None]),
                }
            )
        for _ in range(chance.choice([0, 1, 1, 2, 3])):
            visits.append(  # noqa: PERF401
                {
                    "pid": id,
                    "ward": chance.choice(["eye", "ear", "heart"]),
                    "cost": chance.randrange(0, 500_000) / 100,
                    "days": chance.choice([None, *range(15)]),
                    "admitted": DAY + datetime.timedelta(chance.randrange(0, 731)),
                    "note": chance.choice(["fall", "cough", "fever"]),
                }
            )
        for _ in range(chance.choice([0, 0, 1, 2])):
            prescriptions.append(  # noqa: PERF401
                {"pid": id, "drug": chance.choice(["aspirin", "insulin", "statin"]), "dose": chance.randrange(1, 100), "days": 7}
            )
    columns = {
        "patients": {
            "sex": dp.category("m", "f"),
            "age": dp.integer(0, 120),
            "region": dp.category("north", "south", "west"),
            "smoker": dp.boolean(),
        },
        "visits": {
            "ward": dp.category("eye", "ear", "heart"),
            "cost": dp.number(0, 5000, step=0.01),
            "days": dp.integer(0, 31),
            "admitted": dp.date("2024-01-01", "2025-12-31"),
            "note": dp.text(length=20),
        },
        "prescriptions": {
            "drug": dp.category("aspirin", "insulin", "statin"),
            "dose": dp.integer(0, 100, missing=0),
            "days": dp.integer(0, 90),
        },
    }
    wards = [{"ward": ward, "building": building} for ward, building in (("eye", "A"), ("ear", "A"), ("heart", "B"))]
    tables = {"patients": patients, "visits": visits, "prescriptions": prescriptions}
    return World(tables, dp.person("pid", rows=6, groups=3), columns, {"wards": wards}, {"patients": 1})


WORLDS = {"hospital": _hospital(), "shop": _shop(), "telemetry": _telemetry(), "survey": _survey(), "clinic": _clinic()}
