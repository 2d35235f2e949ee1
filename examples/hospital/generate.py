"""Write the made-up hospital of `discreet demo` into a folder: hospital.parquet, regions.csv and hospital.toml.

python examples/hospital/generate.py hospital
discreet preview hospital/hospital.toml "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use" --epsilon 0.5
"""

from __future__ import annotations

import sys
from pathlib import Path

from discreet.cli.demo.hospital import build

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "hospital")
folder.mkdir(parents=True, exist_ok=True)
print(f"Wrote {build(folder)}, and hospital.parquet and regions.csv beside it.")
