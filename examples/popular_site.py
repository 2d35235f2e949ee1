"""What is the most popular web site among Firefox users? A name takes no noise: it is chosen by a private score.

The candidates are a public list. Taken from what people visited, the list itself would tell who visits what.
"""

import tempfile
from pathlib import Path

import pyarrow as pa

import discreet as dp

sites = ["wikipedia.org", "example.org", "news.example", "mozilla.org"]
visited = ["wikipedia.org"] * 600 + ["news.example"] * 250 + ["mozilla.org"] * 140 + ["my-secret-diary.example"] * 10

with tempfile.TemporaryDirectory() as folder:
    browser = dp.Curator(
        pa.table({"site": visited}),
        unit=dp.rows(),  # every row is a user's favourite
        columns={"site": dp.category(sites)},
        budget=dp.Budget(epsilon=1),
        ledger=Path(folder) / "browser.ledger",
    )
    question = browser.agg(best=dp.most_common("site"))
    print(question.preview(epsilon=0.1))
    print(f"most popular: {question.release(epsilon=0.1).value}")
    print("my-secret-diary.example can never be the answer: nobody declared it")
