"""The same question asked twice gets the same answer, and costs nothing the second time.

Otherwise whoever asks a hundred times averages the noise away. A curator keeps what it has let out, in its ledger: the same
question, in SQL or in Python, is answered from there; another one is paid for.
"""

import tempfile
from pathlib import Path

import pyarrow as pa

import discreet as dp

patients = pa.table({"drug_use": ["yes", "no", "no", *["no"] * 96, "yes"], "age": [32, 21, 45, *[50] * 96, 31]})

with tempfile.TemporaryDirectory() as folder:
    hospital = dp.Curator(
        patients,
        unit=dp.rows(),
        columns={"drug_use": dp.category("yes", "no"), "age": dp.integer(0, 120)},
        budget=dp.Budget(epsilon=1),
        ledger=Path(folder) / "hospital.ledger",
    )
    first = hospital.sql("SELECT count(*) AS n FROM data WHERE drug_use = 'yes'", epsilon=0.5)
    again = hospital.sql("select COUNT ( * ) as n from DATA where DRUG_USE = 'yes'", epsilon=0.5)
    built = hospital.where("drug_use = 'yes'").agg(n=dp.count()).release(epsilon=0.5)
    print(f"the same answer three times: {first.value == again.value == built.value}; free: {again.repeated}, {built.repeated}")
    print(f"spent: epsilon = {hospital.budget.spent.epsilon:g}")
    hospital.sql("SELECT count(*) AS n FROM data WHERE age > 40", epsilon=0.5)
    print(f"after another question: epsilon = {hospital.budget.spent.epsilon:g}")
    try:
        hospital.sql("SELECT count(*) AS n FROM data WHERE age > 41", epsilon=0.5)
    except dp.errors.BudgetExceeded as refusal:
        print(f"and one more: {refusal}")
