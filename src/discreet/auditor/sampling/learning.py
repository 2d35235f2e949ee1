"""All guesses of an audit: for every column of the table, which outputs come from a, learned anew after each batch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.sampling.features import Table
from discreet.auditor.sampling.partitions import Cells, number_cells, token_cells
from discreet.auditor.sampling.scores import Score, learn_score, recent

__all__ = ["Guesses", "Tally"]

Floats = NDArray[np.float64]
_AGAIN = 1.4  # columns are chosen and scores learned anew when there are so many times more draws

Trial = tuple[Floats, Floats, Floats]  # chances, draws they were learned from, draws they are tried on
Tally = tuple[Trial, Trial, Trial]


class Guesses:
    """Partitions of the outputs by column; nothing is guessed before the first batch."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], Cells] = {}
        self.scores: list[Score] = []  # one learned from each half of the draws
        self._learned = 0

    def learn(self, table: Table) -> None:
        """Sort all past draws into cells."""
        if table.size >= _AGAIN * self._learned:
            table.choose()
            self._learn_scores(table)
        cells = {("token", ""): token_cells(table.tokens, table.on_a), ("shape", ""): token_cells(table.shapes, table.on_a)}
        for name, words in table.words.items():
            cells["word", name] = token_cells(words, table.on_a)
        for name, numbers in table.numbers.items():
            cells["number", name] = number_cells(numbers, table.on_a)
        if self.scores:  # what a score means is learned from draws that it was not learned from
            rows = [recent(table.size, 1 - half) for half in (0, 1)]
            for name in ("", "trees") if self.scores[0].trees else ("",):
                values = [score(table, rest, trees=bool(name)) for score, rest in zip(self.scores, rows, strict=True)]
                cells["score", name] = number_cells(np.concatenate(values), table.on_a[np.concatenate(rows)])
        self.cells = {key: cell for key, cell in cells.items() if np.count_nonzero(cell.counts.sum(axis=0)) > 1}

    def _learn_scores(self, table: Table) -> None:
        self._learned = table.size
        scores = [learn_score(table, half) for half in (0, 1)]
        self.scores = [score for score in scores if score is not None] if None not in scores else []

    def tally(self, block: Table) -> dict[str, Tally]:
        """Every guess tried on new draws; and, so that one knows what to hope for, each half of the past draws on the other."""
        tallies: dict[str, Tally] = {}
        for (kind, name), cells in self.cells.items():
            seen = cells.tally(self.column(block, kind, name), block.on_a)
            one, two = cells.halves
            first, second = cells.guesses(one), cells.guesses(two)
            for manner, chance in cells.guesses(one + two).items():
                tallies[f"{kind} {name} {manner}"] = (
                    (chance, cells.counts.sum(axis=0), seen),
                    (first[manner], one.sum(axis=0), two),
                    (second[manner], two.sum(axis=0), one),
                )
        return tallies

    def column(self, block: Table, kind: str, name: str) -> Floats | NDArray[np.int64]:
        """What one of the partitions looks at."""
        if kind == "score":
            rows = np.arange(block.size)
            return np.asarray(sum(score(block, rows, trees=bool(name)) for score in self.scores) / len(self.scores))
        if kind == "number":
            return block.numbers[name]
        return block.words[name] if kind == "word" else block.tokens if kind == "token" else block.shapes
