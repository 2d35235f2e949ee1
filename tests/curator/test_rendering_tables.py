"""Answers for people: rounded to their error, aligned, escaped, cut in the middle."""

from __future__ import annotations

from html.parser import HTMLParser

from discreet.curator.answer import Answer, Column

HOSTILE = "<script>alert('x')</script>\x1b[2J\r\n\u202e\ud800&amp;"


def answer(values: tuple[object, ...], halves: tuple[float, ...] | None = None, **rest: object) -> Answer:
    """An answer whose intervals are values plus and minus halves."""
    facts: dict[str, object] = {"keys": {}, "parts": (), "cost": "epsilon=0.5", "left": "epsilon 2.5 of 3 left"} | rest
    if halves is None:
        column = Column(values)  # type: ignore[arg-type]
    else:
        pairs = list(zip(values, halves, strict=True))
        ends = [tuple(float(v + sign * h) for v, h in pairs) for sign in (-1, 1)]  # type: ignore[operator]
        column = Column(values, tuple(h / 1.96 for h in halves), *ends)  # type: ignore[arg-type]
    return Answer("SELECT ...", outputs={"n": column}, **facts)  # type: ignore[arg-type]


def cells(table: Answer) -> list[list[str]]:
    """The words of every row."""
    return [line.split() for line in str(table).split("\n\n")[0].splitlines()[2:]]


def test_a_whole_table() -> None:
    shown = answer(
        (1204, 87),
        (6.0, 6.0),
        keys={"ward": ("surgery", None)},
        parts=(("count(*)", "Laplace noise of scale 2"),),
        remarks=("One remark.",),
    )
    assert str(shown) == (
        "ward           n  ± (95 %)\n"
        "---------  -----  --------\n"
        "surgery    1,204  ± 6\n"
        "(missing)     87  ± 6\n"
        "\n"
        "count(*): Laplace noise of scale 2.\n"
        "Cost epsilon=0.5; epsilon 2.5 of 3 left.\n"
        "Intervals cover the statistic after clamping and bounding, 95 % of the time.\n"
        "One remark."
    )


def test_values_are_rounded_to_their_error() -> None:
    assert cells(answer((1234.5678,), (6.04,))) == [["1,234.6", "±", "6.1"]]  # rounded up: it covers no less
    assert cells(answer((1234.5678,), (345.6,))) == [["1,235", "±", "346"]]
    assert cells(answer((0.0123456,), (0.00042,))) == [["0.01235", "±", "0.00042"]]
    assert cells(answer((-0.001,), (6.04,))) == [["0.0", "±", "6.1"]]  # no minus zero
    assert cells(answer((12,), (6.04,))) == [["12", "±", "6.1"]]
    assert cells(answer((10.0**20, 10**20), (1.0, 1.0)))[0][0] == "1.000000e+20"


def test_lopsided_intervals_show_both_ends() -> None:
    column = Column((2.0, 2.5, 7.0), (1.0,) * 3, (0.0, 0.0, float("-inf")), (9.0, 9.5, float("inf")))
    shown = Answer("", {}, {"days": column}, (), "", "")
    assert cells(shown) == [["2", "0", "…", "9"], ["2.5", "0.0", "…", "9.5"], ["7", "-inf", "…", "inf"]]


def test_choices_have_no_interval() -> None:
    shown = answer(("dark",))
    assert cells(shown) == [["dark"]]
    assert "Intervals" not in str(shown)
    assert cells(answer((2026,), keys={"year": (2025,)})) == [["2025", "2026"]]  # years, not 2,025


def test_a_repeat_says_that_it_was_free() -> None:
    assert "this repeat was free" in str(answer((1,), repeated=True))
    assert "free" not in str(answer((1,)))


def test_long_tables_are_cut_in_the_middle() -> None:
    long = answer(tuple(range(2000)), (2.0,) * 2000, keys={"age": tuple(range(2000))})
    lines = str(long).splitlines()
    assert lines[22] == "... 1,975 more rows"
    assert [lines[2].split()[0], lines[21].split()[0], lines[23].split()[0], lines[27].split()[0]] == ["0", "19", "1995", "1999"]
    assert "1,975 more rows" in long._repr_html_()
    assert "more rows" not in str(answer(tuple(range(30)), keys={"age": tuple(range(30))}))


def test_hostile_keys_reach_neither_terminal_nor_page() -> None:
    shown = answer((1,), (2.0,), keys={HOSTILE: (HOSTILE,)}, remarks=(HOSTILE,), left=HOSTILE)
    text, page = str(shown), shown._repr_html_()
    assert not {"\x1b", "\r", "\u202e", "\ud800"} & set(text + page)
    assert len(text.splitlines()) == 7  # no line was added
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "&amp;amp;" in page


def test_the_page_is_well_formed() -> None:
    class Tags(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attributes: object) -> None:  # noqa: ARG002
            self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    parser = Tags()
    parser.feed(answer((1, 2), (2.0, 2.0), keys={"ward": ("a", HOSTILE)})._repr_html_())
    assert parser.open == []
