"""A made-up hospital: visits of patients, a public table of regions, and the file that their owner would write.

Nobody in it exists. It is drawn from a fixed seed, so that it looks alike everywhere; real data never meets this generator.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow

PATIENTS = 6_000

CONFIGURATION = """\
version = 1
source = "hospital.parquet"
ledger = "hospital.ledger"

[unit]
person = "patient_id"   # a patient with all their visits is protected,
rows = 4                # and counts for at most 4 visits in a group
groups = 2              # and 2 groups' worth in all

[budget]
epsilon = 3
delta = 1e-6

[columns]
age = { type = "integer", lower = 0, upper = 110 }
sex = { type = "category", values = ["female", "male"] }
region = { type = "category", values = ["coast", "hills", "lakes", "north", "plain", "south"] }
admitted = { type = "date", lower = 2023-01-01, upper = 2026-12-31 }
ward = { type = "category", values = ["emergency", "maternity", "medicine", "psychiatry", "surgery"] }
diagnosis = { type = "text" }
smoker = { type = "boolean" }
drug_use = { type = "category", values = ["yes", "no"] }
length_of_stay = { type = "integer", lower = 0, upper = 60 }
debt = { type = "number", lower = 0, upper = 20_000, step = 0.01 }   # some owe millions: they count as 20,000

[public.regions]
source = "regions.csv"
"""

_REGIONS = "region,population,urban\ncoast,412000,true\nhills,88000,false\nlakes,131000,false\n"
_REGIONS += "north,205000,true\nplain,176000,false\nsouth,297000,true\n"

# Ward of every diagnosis, and how common it is: a few rare ones will stay hidden.
_DIAGNOSES = {
    "fracture": ("surgery", 150),
    "appendicitis": ("surgery", 60),
    "hernia": ("surgery", 55),
    "gallstones": ("surgery", 45),
    "pneumonia": ("medicine", 120),
    "heart failure": ("medicine", 110),
    "diabetes": ("medicine", 90),
    "stroke": ("medicine", 60),
    "asthma": ("medicine", 50),
    "birth": ("maternity", 500),
    "chest pain": ("emergency", 105),
    "concussion": ("emergency", 60),
    "poisoning": ("emergency", 40),
    "burn": ("emergency", 25),
    "depression": ("psychiatry", 50),
    "addiction": ("psychiatry", 35),
    "malaria": ("medicine", 1.5),
    "rabies": ("emergency", 0.2),
    "porphyria": ("medicine", 0.2),
}


def build(folder: Path) -> Path:
    """Write hospital.parquet, regions.csv and hospital.toml into a folder; the last one's path."""
    from pyarrow import parquet

    parquet.write_table(visits(), folder / "hospital.parquet")
    (folder / "regions.csv").write_text(_REGIONS, encoding="utf-8")
    configuration = folder / "hospital.toml"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    return configuration


def visits() -> pyarrow.Table:
    """About 20,000 visits; the same ones every time."""
    import pyarrow

    draw = np.random.Generator(np.random.PCG64(20_260_101))
    age = np.clip(draw.normal(52, 22, PATIENTS), 0, 104).astype(np.int64)
    female = draw.random(PATIENTS) < 0.53
    region = draw.choice(["coast", "hills", "lakes", "north", "plain", "south"], PATIENTS, p=[0.32, 0.07, 0.1, 0.15, 0.13, 0.23])
    smoker = draw.random(PATIENTS) < np.where(age > 16, 0.21, 0.01)
    drugs = draw.random(PATIENTS) < np.where((age > 15) & (age < 50), 0.14, 0.02)
    count = np.minimum(draw.geometric(0.3, PATIENTS), 12)

    who = np.repeat(np.arange(PATIENTS), count)
    size = len(who)
    names = np.array(list(_DIAGNOSES), dtype=object)
    common = np.array([share for _, share in _DIAGNOSES.values()], dtype=np.float64)
    which = draw.choice(len(names), size, p=common / common.sum())
    unlikely = (names[which] == "birth") & (~female[who] | (age[who] < 17) | (age[who] > 48))
    common[names == "birth"] = 0
    which = np.where(unlikely, draw.choice(len(names), size, p=common / common.sum()), which)
    ward = np.array([place for place, _ in _DIAGNOSES.values()], dtype=object)[which]
    typical = np.select(
        [ward == "emergency", ward == "maternity", ward == "psychiatry", ward == "surgery"], [1.2, 3.0, 14.0, 5.0], 6.5
    )
    stay = np.minimum(draw.gamma(2.0, typical / 2.0), 90).astype(np.int64)
    costly = np.select(
        [ward == "emergency", ward == "maternity", ward == "psychiatry", ward == "surgery"], [0.5, 0.8, 1.4, 2.2], 1.0
    )
    owed = np.minimum(costly * draw.lognormal(7.4, 1.6, size), 10_000_000.0)  # for this visit, in EUR
    debt = np.where(draw.random(size) < 0.3, 0.0, np.round(owed, 2))
    days = draw.integers(0, 4 * 365, size)
    first = datetime.date(2023, 1, 1).toordinal()
    known = draw.random(size) >= 0.03  # some were not asked whether they smoke
    order = np.argsort(days, kind="stable")
    columns = {
        "patient_id": pyarrow.array([f"P{100_000 + 7 * i}" for i in who[order]]),
        "age": pyarrow.array(age[who][order]),
        "sex": pyarrow.array(np.where(female, "female", "male")[who][order]),
        "region": pyarrow.array(region[who][order]),
        "admitted": pyarrow.array([datetime.date.fromordinal(first + int(day)) for day in days[order]]),
        "ward": pyarrow.array(ward[order]),
        "diagnosis": pyarrow.array(names[which][order]),
        "smoker": pyarrow.array(smoker[who][order], mask=~known[order]),
        "drug_use": pyarrow.array(np.where(drugs, "yes", "no")[who][order]),
        "length_of_stay": pyarrow.array(stay[order]),
        "debt": pyarrow.array(debt[order]),
    }
    return pyarrow.table(columns)
