"""The curator as its users meet it: questions, repeats, refusals, previews, batches, accuracy."""

from __future__ import annotations

import copy
import pickle
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator.hospital import COLUMNS, curator, table

import discreet as dp
from discreet.curator import desk
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, LedgerRefused, ParameterError
from discreet.plan.sql import parse_query

COUNT = "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use"


def test_sql_and_builder_are_the_same_question(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    first = hospital.sql(
        "SELECT drug_use, count(*) AS n, avg(debt) AS debt FROM data WHERE age >= 18 GROUP BY drug_use", epsilon=0.5
    )
    asked = hospital.where("age >= 18").group_by("drug_use").agg(n=dp.count(), debt=dp.mean("debt"))
    second = asked.release(epsilon=0.5)
    assert second.repeated
    assert second.rows() == first.rows()
    assert hospital.budget.spent.epsilon == 0.5


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "aggregate",
    [
        dp.count(),
        dp.count("debt"),
        dp.sum("debt"),
        dp.mean("age"),
        dp.variance("age"),
        dp.stddev("age"),
        dp.median("debt"),
        dp.quantile("age", 0.9),
        dp.most_common("ward"),
    ],
    ids=lambda asked: f"{asked.kind}-{asked.of}",
)
@pytest.mark.parametrize(
    ("unit", "budget", "cost"),
    [
        (dp.rows(), dp.Budget(epsilon=500), {"epsilon": 100}),
        (dp.rows(neighbours="replace", size=2000), dp.Budget(rho=10**5), {"rho": 10**4}),
        (dp.person("patient", rows=20, groups=3), dp.Budget(epsilon=500, delta=1e-6), {"epsilon": 200}),
        (dp.person("patient", rows=20, groups=3, neighbours="replace"), dp.Budget(rho=10**7), {"rho": 10**6}),
    ],
    ids=["rows", "replace", "person", "replace-person"],
)
def test_with_hardly_any_noise_answers_are_the_truth(
    aggregate: object, unit: object, budget: dp.Budget, cost: dict[str, object], tmp_path: Path
) -> None:
    """Rows and groups a person may count for are ample here, so bounding changes nothing."""
    frame = table().to_pandas()
    truths = {
        "count": lambda f, c: len(f) if c is None else f[c].notna().sum(),
        "sum": lambda f, c: f[c].sum(),
        "mean": lambda f, c: f[c].mean(),
        "variance": lambda f, c: f[c].var(ddof=0),
        "stddev": lambda f, c: f[c].std(ddof=0),
        "quantile": lambda f, c: f[c].quantile(float(aggregate.extra), interpolation="lower"),
        "most_common": lambda f, c: f[c].mode()[0],
    }
    hospital = curator(tmp_path, unit=unit, budget=budget)
    answer = hospital.group_by("drug_use").agg(x=aggregate).release(**cost)
    for row in answer.rows():
        truth = truths[aggregate.kind](frame[frame.drug_use == row["drug_use"]], aggregate.of)
        if aggregate.kind == "most_common":
            assert row["x"] == truth
        else:
            error = row.get("x_error", (row["x_upper"] - row["x_lower"]) / 4)  # a quantile has no standard error
            assert abs(row["x"] - truth) <= 6 * error + 0.01 * truth + 0.01
            assert error <= (0.5 if aggregate.kind == "quantile" else 0.1) * truth
            assert row["x_lower"] <= row["x"] <= row["x_upper"]


def test_a_repeat_is_free_until_the_data_change(tmp_path: Path) -> None:
    file = tmp_path / "hospital.parquet"
    pq.write_table(table(), file)
    facts = {"unit": dp.rows(), "columns": COLUMNS, "budget": dp.Budget(epsilon=3)}
    with dp.Curator(file, **facts) as hospital:
        first = hospital.sql(COUNT, epsilon=0.5)
        assert hospital.sql(COUNT + " ORDER BY n DESC LIMIT 1", epsilon=0.5).repeated  # free: the noise is the same
        assert hospital.sql(COUNT, epsilon=0.2).repeated
        assert not hospital.sql(COUNT, epsilon=0.6).repeated  # more was asked than was paid
    assert (tmp_path / "hospital.ledger").exists()
    with dp.Curator(file, **facts) as again:  # a restart forgets nothing
        assert again.sql(COUNT, epsilon=0.5).rows() != first.rows()  # the newest that was paid enough
        assert again.budget.spent.epsilon == 1.1
    pq.write_table(table().slice(0, 1999), file)
    with dp.Curator(file, **facts) as changed:
        assert not changed.sql(COUNT, epsilon=0.5).repeated
        assert changed.budget.spent.epsilon == 1.6


def test_spending_stops_at_the_budget_and_says_what_is_left(tmp_path: Path) -> None:
    hospital = curator(tmp_path, budget=dp.Budget(epsilon=1))
    hospital.sql(COUNT, epsilon=0.7)
    with pytest.raises(BudgetExceeded, match=r"0\.4 requested, 0\.7 spent, 0\.3 left"):
        hospital.sql("SELECT count(*) AS n FROM data", epsilon=0.4)
    assert hospital.sql("SELECT count(*) AS n FROM data", epsilon=0.3).cost == "epsilon=0.3"
    assert hospital.budget.remaining.epsilon == 0
    assert [entry.state for entry in hospital.history()] == ["answered", "answered"]


@pytest.mark.parametrize(
    ("text", "cost", "said"),
    [
        ("SELECT count(*) AS n FROM data", {}, "epsilon="),
        ("SELECT count(*) AS n FROM data", {"rho": 1}, "epsilon="),
        ("SELECT count(*) AS n FROM data", {"epsilon": 0}, "above 0"),
        ("SELECT count(*) AS n FROM data", {"epsilon": float("nan")}, "finite"),
        ("SELECT count(*) AS n FROM data", {"epsilon": 1, "delta": 1e-7}, "delta"),
        ("SELECT count(*) AS n FROM data", {"epsilon": 1, "accuracy": 5}, "not both"),
        ("SELECT city, count(*) AS n FROM data GROUP BY city", {"epsilon": 1}, "not public"),
        ("SELECT debt / 7 AS d, count(*) AS n FROM data GROUP BY d", {"epsilon": 1}, "group into fewer"),
        ("SELECT count(DISTINCT patient) AS n FROM data", {"epsilon": 1}, r"count\(\*\)"),
        ("SELECT max(age) FROM data", {"epsilon": 1}, "quantile"),
        ("SELECT * FROM data", {"epsilon": 1}, "person"),
        ("SELECT salary FROM data", {"epsilon": 1}, "salary"),
        ("SELECT count(*) AS n FROM data JOIN wards ON data.ward = wards.floor", {"epsilon": 1}, "floor"),
    ],
)
def test_refusals_cost_nothing_and_touch_nothing(text: str, cost: dict[str, object], said: str, tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    for verb in (hospital.sql, hospital.preview):
        with pytest.raises(DiscreetError, match=said):
            verb(text, **cost)
    assert hospital.budget.spent.epsilon == 0
    assert hospital.history() == ()


def test_a_public_table_whose_rows_are_not_told_apart_is_refused(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    with pytest.raises(ParameterError, match="more than once"):
        hospital.sql("SELECT count(*) AS n FROM data JOIN wards ON data.age = wards.floor", epsilon=1)


def test_public_joins_look_up_one_row(tmp_path: Path) -> None:
    hospital = curator(tmp_path, budget=dp.Budget(epsilon=10**6))
    answer = hospital.sql(
        "SELECT wards.floor, count(*) AS n, sum(wards.floor) AS floors FROM data JOIN wards USING (ward) GROUP BY wards.floor",
        epsilon=10**5,
    )
    ward = table().to_pandas().ward
    assert answer.rows()[0]["floor"] == 1
    assert [round(n) for n in answer.outputs["n"].values] == [(ward == "eye").sum(), (ward != "eye").sum()]
    assert [round(s) for s in answer.outputs["floors"].values] == [(ward == "eye").sum(), 2 * (ward != "eye").sum()]


def test_open_keys_show_what_many_share_and_hide_who_is_alone(tmp_path: Path) -> None:
    """A key of one person appears with probability 1.25e-7 at most; one of a thousand rows is hidden with less than e^-100."""
    lonely = pa.concat_tables([table(), table().slice(0, 1).set_column(5, "city", pa.array(["Vardø"]))])
    hospital = curator(tmp_path, budget=dp.Budget(epsilon=3, delta=1e-6), source=lonely)
    answer = hospital.sql("SELECT city, count(*) AS n FROM data GROUP BY city", epsilon=1)
    assert answer.keys["city"] == ("Bergen", "Oslo")
    assert hospital.budget.spent.delta > 5e-7
    listed = hospital.sql("SELECT city, count(*) AS n FROM data WHERE city IN ('Vardø', 'Oslo') GROUP BY city", epsilon=1)
    assert listed.keys["city"] == ("Oslo", "Vardø")  # given by the asker, and so public


def test_choose_takes_candidates_from_the_asker(tmp_path: Path) -> None:
    hospital = curator(tmp_path, budget=dp.Budget(epsilon=100))
    best = hospital.choose([30, 60, 90], score="CASE WHEN age >= candidate THEN candidate ELSE 0 END")
    assert best.release(epsilon=50).value in (30, 60)
    assert "at most" in best.preview(epsilon=50).lines[0].meaning
    text = "SELECT choose([30, 60, 90], CASE WHEN age >= candidate THEN candidate ELSE 0 END) AS best FROM data"
    assert hospital.sql(text, epsilon=50).repeated  # the same question


def test_batches_are_one_entry_and_one_cost(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    texts = [COUNT, "SELECT avg(age) AS age FROM data"]
    answers = hospital.batch(texts, epsilon=1)
    assert [list(answer.outputs) for answer in answers] == [["n"], ["age"]]
    assert len(hospital.history()) == 1
    assert hospital.budget.spent.epsilon == 1
    assert all(answer.repeated for answer in hospital.batch(texts, epsilon=1))
    assert [line.output for line in hospital.preview_batch(texts, epsilon=1).lines] == ["n", "age"]
    with pytest.raises(ParameterError, match="write preview_batch"):
        hospital.preview(texts, epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="list of questions"):
        hospital.batch(COUNT, epsilon=1)


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10), dp.Budget(epsilon=10, delta=1e-6), dp.Budget(rho=10)], ids=str)
def test_accuracy_finds_the_least_cost(budget: dp.Budget, tmp_path: Path) -> None:
    hospital = curator(tmp_path, budget=budget)
    offered = hospital.preview(COUNT, accuracy=20)
    assert offered.lines[0].error is not None
    assert offered.lines[0].error <= 20
    name, cost = offered.cost.split("=")
    cheaper = hospital.preview(COUNT, **{name: float(cost) * 0.95})
    assert cheaper.lines[0].error is not None
    assert cheaper.lines[0].error > 20 * 0.999 or cheaper.lines[0].error == offered.lines[0].error == 20
    answer = hospital.sql(COUNT, accuracy={"n": 20})
    assert answer.cost == offered.cost
    assert max(u - lo for u, lo in zip(answer.outputs["n"].upper, answer.outputs["n"].lower, strict=True)) <= 40
    with pytest.raises(ParameterError, match="number of rows, and that of other outputs a half-width"):
        hospital.sql("SELECT median(age) AS m, count(*) AS n FROM data", accuracy=3)
    with pytest.raises(ParameterError, match="at_least="):
        hospital.sql("SELECT avg(age) AS a FROM data", accuracy=3)


def test_previews_need_no_data_and_halving_halves(tmp_path: Path) -> None:
    file = tmp_path / "hospital.parquet"
    pq.write_table(table(), file)
    hospital = dp.Curator(file, unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=3, delta=1e-6))
    file.unlink()
    offered = hospital.preview(COUNT, epsilon=0.5)
    assert offered.groups == 2
    halved = hospital.preview(COUNT, epsilon=float(offered.halve.split("epsilon=")[1].rstrip(".")))
    assert halved.lines[0].error == pytest.approx(offered.lines[0].error / 2, rel=0.05)
    with pytest.raises(DiscreetError):
        hospital.sql(COUNT, epsilon=0.5)
    assert hospital.budget.spent.epsilon == 0  # what cannot be opened costs nothing
    assert "such questions would fit" in str(offered)
    assert "missing=" not in str(offered)


@pytest.mark.parametrize("cost", [1, 8, 10**3, 10**6], ids=str)
@pytest.mark.parametrize("unit", [dp.rows(), dp.rows(neighbours="replace", size=2000)], ids=["add-remove", "replace"])
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
def test_only_what_has_no_noise_is_called_exact(cost: int, unit: object, kind: str, tmp_path: Path) -> None:
    """Gaussian noise of deviation 0.25 is 0 in 95.4 % of all draws: its half-width is 0, and it is noise all the same."""
    hospital = curator(tmp_path, unit=unit, budget=dp.Budget(**{kind: 10**7}))
    for text in ("count(*) AS n", "sum(debt) AS s", "count(*) FILTER (WHERE age > 3) AS n"):
        offered = hospital.preview(f"SELECT {text} FROM data", **{kind: cost})
        public = unit != dp.rows() and text == "count(*) AS n"
        assert ("exact" in offered.lines[0].meaning) == (offered.lines[0].mechanism == "public") == public
        assert (offered.cost == "nothing") == public
    if kind == "rho" and cost == 8 and unit == dp.rows():
        line = hospital.preview("SELECT count(*) AS n FROM data", rho=8).lines[0]
        assert (line.error, line.meaning) == (0, "± 0: right at least 95 % of the time")


def test_previews_say_what_a_declaration_would_save(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    assert "debt may be missing" in str(hospital.preview("SELECT count(*) AS n, avg(debt) AS d FROM data", epsilon=0.5))
    assert "may be missing" not in str(hospital.preview("SELECT count(*) AS n, avg(age) AS a FROM data", epsilon=0.5))


def test_under_replace_the_size_is_public_and_a_mean_has_the_lectures_noise(tmp_path: Path) -> None:
    """Exercise 4.6: sigma^2 = 2 b^2 / (rho n^2) for n values in [-b, b] when one is replaced."""
    hospital = curator(tmp_path, unit=dp.rows(neighbours="replace", size=2000), budget=dp.Budget(rho=1))
    size = hospital.sql("SELECT count(*) AS n FROM data", rho=0.1)
    assert (size.value, size.cost) == (2000, "nothing")
    assert hospital.history() == ()
    mean = hospital.sql("SELECT avg(age) AS age FROM data", rho=0.1)
    assert mean.outputs["age"].errors is not None
    assert mean.outputs["age"].errors[0] == pytest.approx((2 * 60**2 / (0.1 * 2000**2)) ** 0.5, rel=1e-3)
    assert hospital.sql("SELECT count(*) AS n FROM data WHERE age > 18", rho=0.1).cost == "rho=0.1"  # not public


def test_a_delta_that_is_not_small_is_warned_about_for_a_declared_size_only(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="not below 1 / 1,000") as said:
        curator(tmp_path, unit=dp.rows(size=1000), budget=dp.Budget(epsilon=1, delta=0.001))
    assert Path(said[0].filename).name == "hospital.py"  # where the curator was made
    (tmp_path / "undeclared").mkdir()
    curator(tmp_path / "undeclared", budget=dp.Budget(epsilon=1, delta=0.001))  # warnings are errors here


def test_a_curator_is_not_copied_and_shows_no_data(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(DiscreetError, match="cannot be copied"):
            way(hospital)
    assert "Oslo" not in repr(hospital) + repr(vars(hospital))


def test_frames_need_a_ledger_of_their_own() -> None:
    with pytest.raises(ParameterError, match="ledger="):
        dp.Curator(table(), unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=1))


def test_engine_failures_say_nothing_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hospital = curator(tmp_path)
    hospital.sql(COUNT, epsilon=0.1)

    def broken(*_: object) -> None:
        raise EngineError("The engine could not finish the question.")

    monkeypatch.setattr("discreet.engine.sql.engine.SqlEngine.count", broken)
    with pytest.raises(EngineError):
        hospital.sql("SELECT count(*) AS n FROM data", epsilon=0.5)
    assert hospital.budget.spent.epsilon == 0.6  # data was touched: nothing is refunded
    assert [entry.state for entry in hospital.history()] == ["answered", "reserved"]


def test_only_a_condition_chooses_rows(tmp_path: Path) -> None:
    """A text or number in its place would be cast row by row, and the one that cannot be would tell of its row."""
    hospital = curator(tmp_path)
    for strange in ("CASE WHEN ward = 'eye' THEN 'boom' ELSE 'true' END", "age", "'true'", "admitted"):
        for begin in (hospital, hospital.where("age > 1")):
            with pytest.raises(ParameterError, match=r"condition|truth values"):
                begin.where(strange).agg(n=dp.count()).release(epsilon=0.1)
    assert hospital.history() == ()


FILE = {"unit": dp.rows(), "columns": {"age": dp.integer(0, 120)}}


def test_terms_are_free_to_change_until_the_first_question(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1, 2]}), tmp_path / "people.parquet")
    for epsilon in (1, 3):
        people = dp.Curator(tmp_path / "people.parquet", **FILE, budget=dp.Budget(epsilon=epsilon))
        assert people.preview("SELECT count(*) AS n FROM data", epsilon=0.5).lines[0].error == 6
        assert (people.budget.total.epsilon, people.history()) == (epsilon, ())
    assert not (tmp_path / "people.ledger").exists()
    with pytest.raises(BudgetExceeded):
        people.sql("SELECT count(*) AS n FROM data", epsilon=4)
    again = dp.Curator(tmp_path / "people.parquet", **FILE, budget=dp.Budget(epsilon=4))
    again.sql("SELECT count(*) AS n FROM data", epsilon=4)
    with pytest.raises(LedgerRefused, match="fixed by the first question"):
        dp.Curator(tmp_path / "people.parquet", **FILE, budget=dp.Budget(epsilon=3))
    with pytest.raises(LedgerRefused, match="fixed by the first question"):
        people.sql("SELECT avg(age) AS a FROM data", epsilon=1)


def test_costs_of_rows_and_of_persons_are_never_added_up(tmp_path: Path) -> None:
    curator(tmp_path, unit=dp.person("patient", rows=1, groups=1)).sql(COUNT, epsilon=0.1)
    for unit in (dp.rows(), dp.person("patient", rows=1, groups=1, neighbours="replace")):
        with pytest.raises(LedgerRefused, match=r"every person by patient .add-remove., and not every"):
            curator(tmp_path, unit=unit)
    assert curator(tmp_path, unit=dp.person("patient", rows=2, groups=1)).sql(COUNT, epsilon=0.1).repeated is False


def test_previews_and_budgets_need_no_file(tmp_path: Path) -> None:
    place = tmp_path / "people.parquet"
    people = dp.Curator(place, **FILE, budget=dp.Budget(epsilon=1))
    assert people.preview("SELECT count(*) AS n FROM data", epsilon=0.5).lines[0].error == 6
    assert people.budget.remaining.epsilon == 1
    with pytest.raises(ParameterError, match="There is no file"):
        people.sql("SELECT count(*) AS n FROM data", epsilon=0.5)
    assert not (tmp_path / "people.ledger").exists()
    pq.write_table(pa.table({"age": [1, 2]}), place)
    assert isinstance(people.sql("SELECT count(*) AS n FROM data", epsilon=0.5).value, int)


def test_one_file_has_one_ledger_however_it_is_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "data")
    pq.write_table(pa.table({"age": [1, 2]}), tmp_path / "data" / "people.parquet")
    (tmp_path / "alias.parquet").symlink_to(tmp_path / "data" / "people.parquet")
    monkeypatch.chdir(tmp_path / "data")
    answers = [
        dp.Curator(spelling, **FILE, budget=dp.Budget(epsilon=1)).sql("SELECT count(*) AS n FROM data", epsilon=0.5)
        for spelling in ("people.parquet", "../linked/people.parquet", str(tmp_path / "alias.parquet"))
    ]
    assert [answer.repeated for answer in answers] == [False, True, True]
    assert len({answer.value for answer in answers}) == 1


def test_a_pattern_has_one_ledger_however_many_files_there_are(tmp_path: Path) -> None:
    (tmp_path / "2025").mkdir()
    for number, name in enumerate(("a", "b")):
        pq.write_table(pa.table({"age": [1, 2]}), tmp_path / "2025" / f"{name}.parquet")
        people = dp.Curator(tmp_path / "*" / "*.parquet", **FILE, budget=dp.Budget(epsilon=1))
        people.sql("SELECT count(*) AS n FROM data", epsilon=0.1)
        assert len(people.history()) == number + 1
    assert (tmp_path / "discreet.ledger").exists()


def test_a_batch_takes_built_questions_too(tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    built = hospital.group_by("drug_use").agg(n=dp.count())
    first = hospital.batch([built, "SELECT avg(age) AS a FROM data"], epsilon=0.5)
    again = hospital.batch([COUNT, hospital.agg(a=dp.mean("age"))], epsilon=0.5)
    assert [answer.repeated for answer in again] == [True, True]
    assert [answer.rows() for answer in again] == [answer.rows() for answer in first]
    assert hospital.preview_batch([built, built], epsilon=0.5).cost == "epsilon=0.5"
    with pytest.raises(ParameterError, match="another curator"):
        curator(tmp_path).batch([built], epsilon=0.5)
    with pytest.raises(ParameterError, match="list of questions"):
        hospital.batch(built, epsilon=0.5)  # type: ignore[arg-type]


def test_an_answer_about_one_public_table_is_not_given_about_another(tmp_path: Path) -> None:
    data, north = pa.table({"k": ["a"] * 1000 + ["b"] * 10}), pa.table({"k": ["a", "b"], "g": ["north", "south"]})
    south = pa.table({"k": ["a", "b"], "g": ["south", "north"]})
    question = "SELECT p.g, count(*) AS n FROM data JOIN p ON data.k = p.k GROUP BY p.g"
    answers = [
        dp.Curator(
            data,
            unit=dp.rows(),
            columns={"k": dp.category("a", "b")},
            budget=dp.Budget(epsilon=100),
            ledger=tmp_path / "x",
            public=public,
        ).sql(question, epsilon=10)
        for public in ({"p": north, "q": south}, {"q": north, "p": south}, {"q": south, "p": north})
    ]
    assert [answer.repeated for answer in answers] == [False, False, True]
    assert answers[0].rows() == answers[2].rows()


def test_a_column_called_candidate_is_not_lost_in_a_score(tmp_path: Path) -> None:
    votes = dp.Curator(
        pa.table({"candidate": ["Ann", "Bob"]}),
        unit=dp.rows(),
        columns={"candidate": dp.category("Ann", "Bob")},
        budget=dp.Budget(epsilon=1),
        ledger=tmp_path / "x",
    )
    score = "CASE WHEN candidate = 'Bob' THEN 1 ELSE 0 END"
    with pytest.raises(ParameterError, match="rename it"):
        votes.choose(["Bob", "Ann"], score=score)
    with pytest.raises(ParameterError, match="rename it"):
        votes.sql(f"SELECT choose(['Bob', 'Ann'], {score}) AS best FROM data", epsilon=0.1)


def test_what_is_previewed_is_not_read_again_when_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(desk, "parse_query", lambda text, schema: read.append(text) or parse_query(text, schema))
    hospital = curator(tmp_path)
    assert hospital.preview(COUNT, epsilon=0.5)
    assert hospital.sql(COUNT, epsilon=0.5).rows() == hospital.sql(COUNT, epsilon=0.5).rows()
    assert read == [COUNT]
    for text in ("SELECT nonsense", 5, COUNT + " " * 2**12):
        read.clear()
        for _ in range(2):  # what is refused is refused again, and what is long is read again
            with pytest.raises(ParameterError) if text != COUNT + " " * 2**12 else nullcontext():
                hospital.preview(text, epsilon=0.5)  # type: ignore[arg-type]
        assert read == [text, text]
