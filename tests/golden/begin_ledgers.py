"""Begins the stored ledgers: run once by the version whose ledgers are to be remembered, never again for the same version."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from golden.pins import HERE
    from golden.worlds import WORLDS, built, open_world, questions, write_table

    for world in WORLDS:
        folder = Path(tempfile.mkdtemp())
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        write_table(folder)
        with open_world(world, folder) as hospital:
            cost = WORLDS[world][2]
            for text, _ in questions(world):
                hospital.sql(text, **cost)
            for question in built(hospital):
                question.release(**cost)
            hospital.batch([text for text, _ in questions(world)][:3], **cost)
        assert sorted(path.name for path in folder.glob(f"{world}.ledger*")) == [f"{world}.ledger"]
        (HERE / f"{world}.ledger").write_bytes((folder / f"{world}.ledger").read_bytes())
