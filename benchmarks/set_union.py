"""Which words enough people share: rounds against one round with uniform weights, at the same guarantee.

``python benchmarks/set_union.py [runs]`` prints one table. The exit code is 1 if rounds find less than 15 % more words than
uniform weights, on the messages or on the verses, at (1, 1e-6) and 20 words a person. A message, or a verse, is one person.
"""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.set_union import Round, Weights

HERE = Path(__file__).parent
WORDS = 20


def texts(name: str) -> list[list[str]]:
    """The words of every document."""
    if name == "messages":
        lines = gzip.decompress((HERE.parent / "examples" / "sms" / "sms_spam.tsv.gz").read_bytes()).decode().split("\n")
        documents = [line.split("\t", 1)[1] for line in lines[1:] if "\t" in line]
    else:
        documents = gzip.decompress((HERE / "verses" / "verses.txt.gz").read_bytes()).decode().split("\n")
    tokenizer = dp.texts.Tokenizer()
    return [tokenizer.tokens(text) for text in documents]


def uniform(union: dp.SetUnion, sets: list[list[str]], key: bytes) -> int:
    """One round with all of the cost: weights 1 / sqrt(items), one cut (Gopi and others 2020, weighted Gaussian)."""
    weights = Weights(union.items, [], key)
    weights.add(([item for one in sets for item in one], np.repeat(np.arange(len(sets)), [len(one) for one in sets])))
    return len(Round(union.items, union.squared_mu, union.delta, union.neighbours).release(Secret(weights.found)))


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    union = dp.SetUnion(epsilon=1, delta=1e-6, items=WORDS)
    table = Table(
        "texts", "people", "uniform", "rounds", "ratio", "CPU s", title=f"words found at (1, 1e-6), mean of {runs} runs"
    )
    missed = False
    for name in ("messages", "verses"):
        sets = texts(name)
        alone = float(np.mean([uniform(union, sets, bytes([i])) for i in range(runs)]))
        start = time.process_time()
        rounds = float(np.mean([len(union.release(sets)) for _ in range(runs)]))
        seconds = (time.process_time() - start) / runs
        missed |= rounds < 1.15 * alone
        table.add_row(name, f"{len(sets):,}", f"{alone:.1f}", f"{rounds:.1f}", f"{rounds / alone:.3f}", f"{seconds:.2f}")
    Console().print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
