"""A spam filter learned from text messages as they are, from messages whose senders substituted every word themselves, and by a
curator who is trusted with them.

A naive Bayes classifier of half of 5,577 messages, tried on the other half as they are. Substituted word by word, a message of
20 words costs its sender 20 epsilon; a curator asks epsilon 1 for all of it, and protects whole messages. (The data:
examples/sms/LICENCE.md.)
"""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dp

data = gzip.decompress((Path(__file__).parent / "sms" / "sms_spam.tsv.gz").read_bytes()).decode()
rows = [line.split("\t") for line in data.splitlines()[1:]]
spam = np.array([label == "spam" for label, _ in rows])
words = dp.texts.Vocabulary.english(1_000)  # public; numbers, addresses and all other words are a word each
messages = words.documents([text for _, text in rows], length=20)
learn = np.arange(len(rows)) % 2 == 0


def train(documents: np.ndarray) -> np.ndarray:
    """How much each word speaks for spam."""
    counts = [np.bincount(documents[spam[learn] == label].ravel(), minlength=words.size) + 1.0 for label in (False, True)]
    ham, bad = (count / count.sum() for count in counts)
    return np.log(bad) - np.log(ham)


def auc(weights: np.ndarray) -> float:
    """The chance that a spam message scores above another, on messages that were not learned from."""
    return area(weights[messages[~learn]].sum(axis=1))


def area(score: np.ndarray) -> float:
    truth = spam[~learn]
    bad, ham = score[truth], np.sort(score[~truth])
    above = np.searchsorted(ham, bad, side="left") + np.searchsorted(ham, bad, side="right")
    return float(above.sum() / (2 * bad.size * ham.size))


print(f"{words.size:,} items, messages of 20 words; area under the curve on {np.count_nonzero(~learn):,} messages")
print(f"as they are: {auc(train(messages[learn])):.3f}")
for epsilon in (1, 2, 4, 6, 8):
    substitute = dp.texts.Substitute(words, epsilon, length=20)
    learned = auc(train(substitute.protocol.randomize(messages[learn]).astype(np.int64)))
    terms = substitute.terms
    price = f"epsilon {epsilon} a word, {terms.document:g} a message"
    print(f"substituted, {price}: {learned:.3f}; {terms.guessed:.1%} of words guessed")

table = pa.table({"text": [text for _, text in rows], "label": [label for label, _ in rows]}).filter(pa.array(learn))
with tempfile.TemporaryDirectory() as folder:
    office = dp.Curator(
        table,
        unit=dp.rows(),
        columns={"text": dp.text(), "label": dp.category("ham", "spam")},
        budget=dp.Budget(epsilon=1, delta=1e-5),
        ledger=Path(folder) / "messages.ledger",
    )
    model = office.classify("text", "label", words, epsilon=1)
scores = model.scores([text for (_, text), here in zip(rows, learn, strict=True) if not here])
print(f"by a curator, epsilon 1 and delta 1e-5 for all messages: {area(scores[:, 1] - scores[:, 0]):.3f}")
