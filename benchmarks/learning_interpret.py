"""interpret's DP-EBM on Adult, in an environment of its own: ``python learning_interpret.py SPLITS`` prints one JSON line.

Settings are its own; it is given the same bounds. Categories it counts as they come, and their number it reads off the data.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier
from learning_data import NUMBERS, adult, split
from sklearn.metrics import roc_auc_score

EPSILONS, DELTA = (0.1, 0.5, 1, 4), 1e-6


def main() -> None:
    warnings.simplefilter("ignore")
    frame, labels, _ = adult()
    frame = frame.astype({name: object for name in frame.columns if name not in NUMBERS})
    kinds = ["continuous" if name in NUMBERS else "nominal" for name in frame.columns]
    bounds = {place: list(NUMBERS[name]) for place, name in enumerate(frame.columns) if name in NUMBERS}
    found = {}
    for epsilon in EPSILONS:
        scores, start = [], time.process_time()
        for seed in range(1, 1 + int(sys.argv[1])):
            seen, unseen = split(len(labels), seed, 0.25)
            model = DPExplainableBoostingClassifier(
                epsilon=epsilon, delta=DELTA, privacy_bounds=bounds, feature_types=kinds, n_jobs=1
            )
            model.fit(frame.iloc[seen], labels[seen])
            scores.append(roc_auc_score(labels[unseen], model.predict_proba(frame.iloc[unseen])[:, 1]))
        taken = (time.process_time() - start) / len(scores)
        found[str(epsilon)] = [float(np.mean(scores)), float(np.std(scores) / max(len(scores) - 1, 1) ** 0.5), taken]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
