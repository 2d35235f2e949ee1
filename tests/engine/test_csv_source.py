"""CSV: one physical line is one record, whatever it contains."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet.engine.duckdb.session import DuckDBSession
from discreet.engine.sources.csv import LONGEST
from discreet.engine.sources.source import open_source
from discreet.errors import ParameterError

HEAD = b"a,b,c\n"


def rows(place: Path) -> list[tuple[str | None, ...]]:
    with DuckDBSession(open_source(place), threads=1) as session:
        table = session.fetch(f"SELECT * FROM {DuckDBSession.relation}")
    return list(zip(*table.values(), strict=True))  # type: ignore[arg-type]


def written(folder: Path, content: bytes, name: str = "x.csv") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (b"1,2,3", ("1", "2", "3")),
        (b"1,2,3\r", ("1", "2", "3")),
        (b"1", ("1", None, None)),
        (b"1,2,3,4,5", ("1", "2", "3")),
        (b",,", (None, None, None)),
        (b'"x,y",2', ("x,y", "2", None)),
        (b'"say ""so""",2', ('say "so"', "2", None)),
        (b'"",2', (None, "2", None)),
        (b'"stray,2,3', ('"stray', "2", "3")),
        (b'st"ray,2,3', ('st"ray', "2", "3")),
        (b'"closed"junk,2,3', ("closed", "2", "3")),
        (b'1,"2', ("1", '"2', None)),
        (b'"', ('"', None, None)),
        (b'\xc3\xa9,"\xf0\x9f\x98\x80,"', ("é", "😀,", None)),
        (b" 1 ,\t2,3 ", (" 1 ", "\t2", "3 ")),
        (b"# 1,-- 2,\\n", ("# 1", "-- 2", "\\n")),
        (b"1,a\x00b,3", ("1", "a\x00b", "3")),
        (b"NULL,null,NA", ("NULL", "null", "NA")),
        (b"'1,2',3", ("'1", "2'", "3")),
    ],
)
def test_a_line_is_cut_by_itself(line: bytes, fields: tuple[str | None, ...], tmp_path: Path) -> None:
    place = written(tmp_path, HEAD + b"before,0,0\n" + line + b"\nafter,0,0\n")
    assert rows(place) == [("before", "0", "0"), fields, ("after", "0", "0")]


@pytest.mark.parametrize(
    "line",
    [b"", b"\r", b"bad \xff,2,3", b"\xc3", b"x" * (LONGEST + 1), b"y," * LONGEST],
    ids=["empty", "return", "byte", "cut", "long", "commas"],
)
def test_a_line_that_cannot_be_read_is_left_out_alone(line: bytes, tmp_path: Path) -> None:
    place = written(tmp_path, HEAD + b"before,0,0\n" + line + b"\nafter,0,0\n")
    assert rows(place) == [("before", "0", "0"), ("after", "0", "0")]


FIELDS = st.text(st.characters(exclude_characters="\r\n\x1e\x1f", exclude_categories=["Cs"]), max_size=8)


@settings(deadline=None, max_examples=examples(15))
@given(records=st.lists(st.tuples(FIELDS, FIELDS, FIELDS), max_size=20))
def test_what_the_csv_module_writes_is_read_back(
    records: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("csv") / "x.csv"
    with open(place, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("a", "b", "c"), *records])
    assert rows(place) == [tuple(field or None for field in record) for record in records]


LINES = st.binary(max_size=12).filter(lambda line: b"\n" not in line and b"\r" not in line)


@settings(deadline=None, max_examples=examples(15))
@given(lines=st.lists(LINES, max_size=6), extra=LINES, at=st.integers(0, 6))
def test_one_line_more_changes_one_record_at_most(
    lines: list[bytes], extra: bytes, at: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    without = rows(written(folder, HEAD + b"".join(line + b"\n" for line in lines), "without.csv"))
    lines = [*lines[:at], extra, *lines[at:]]
    with_it = rows(written(folder, HEAD + b"".join(line + b"\n" for line in lines), "with.csv"))
    left = list(with_it)
    for row in without:
        left.remove(row)
    assert len(left) <= 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", b'\xef\xbb\xbfa,"b",c\r\n1,2,3\r\n'),
        ("x.tsv", b"a\tb\tc\n1\t2\t3"),
        ("x.csv", b"a;b;c\n1;2;3\n"),
        ("X.CSV", b"a, b ,c\n1,2,3\n"),
        ("x.csv.gz", gzip.compress(b"a,b,c\n1,2,3\n")),
    ],
    ids=["byte order mark", "tabs", "semicolons", "capitals", "compressed"],
)
def test_headers_and_delimiters(name: str, content: bytes, tmp_path: Path) -> None:
    place = written(tmp_path, content, name)
    assert open_source(place).names == ("a", "b", "c")
    assert rows(place) == [("1", "2", "3")]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n1,2\n", b"a,a\n1,2\n", b"a,,c\n", b"\xff,b\n", b"x" * LONGEST + b"\n"],
    ids=["no", "blank", "twice", "unnamed", "bytes", "long"],
)
def test_a_first_line_that_names_no_columns_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        open_source(written(tmp_path, content))


def test_files_of_a_pattern_have_one_first_line(tmp_path: Path) -> None:
    written(tmp_path, b"a,b\n1,2\n", "one.csv")
    written(tmp_path, b"a,b\n3,4\n", "two.csv")
    assert sorted(rows(tmp_path / "*.csv")) == [("1", "2"), ("3", "4")]
    written(tmp_path, b"a,c\n3,4\n", "three.csv")
    with pytest.raises(ParameterError, match="first line"):
        open_source(tmp_path / "*.csv")


def test_many_lines_and_several_threads_lose_nothing(tmp_path: Path) -> None:
    lines = [b'"%d,%d' % (i, i) if i % 7 == 0 else b"%d,%d" % (i, i) for i in range(200_000)]
    lines[1000] = b"bad\xff"
    place = written(tmp_path, b"a,b\n" + b"\n".join(lines))
    with DuckDBSession(open_source(place, columns=["b"])) as session:
        counted = session.fetch(f"SELECT count(*) AS n, sum(b::BIGINT)::BIGINT AS s FROM {DuckDBSession.relation}")
    assert counted == {"n": [199_999], "s": [sum(range(200_000)) - 1000]}
