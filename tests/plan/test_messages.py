"""Refusals name what the user wrote, and never what a parser calls it; whatever is asked, in any dialect, ends in a sentence."""

from __future__ import annotations

import inspect
import re

import pytest
from plan.spellings import SPELLINGS
from sqlglot import exp
from support.accepted import SCHEMA

from discreet.errors import DiscreetError
from discreet.plan.sql import parse_expression, parse_query

NODES = {name for name, node in inspect.getmembers(exp, inspect.isclass) if issubclass(node, exp.Expression)}
PARTS = {part.strip("_").upper() for name in NODES for part in getattr(exp, name).arg_types}
INTERNAL = {name.upper() for name in NODES} | {name for name in NODES if not name.isupper()} | PARTS
# Words of SQL that our sentences use, and words of English that begin one.
OURS = """
    ALL AND ANTI ANY AS BY CASE CAST COLUMNS COUNT CROSS DATE DESC DISTINCT ELSE END FALSE FILTER FIRST FOR FROM FULL GROUP HAVING
    ILIKE IN INNER INTEGER INTERVAL IS JOIN LATERAL LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OVER RECURSIVE RIGHT SELECT SEMI
    DAY TABLE THEN TOP TRUE UNION USING WHEN WHERE WITH WITHIN
    A An All Any Columns Dates Distinct In Lists Names Regular Set Texts The There This Window Write Year
"""


def parser_words(message: str, text: str) -> set[str]:
    """Words of a message that only a parser would say: in capitals or in camel case, names of nodes or of their parts."""
    written = text.lower()
    found = {word for word in re.findall(r"[A-Za-z_]{2,}", message) if word.isupper() or re.match(r"^[A-Z][a-z]+", word)}
    return {word for word in found & INTERNAL if word.lower() not in written and word not in re.findall(r"\w+", OURS)}


def test_the_corpus_is_large() -> None:
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 250


@pytest.mark.parametrize("text", SPELLINGS, ids=lambda text: text[:70])
def test_a_refusal_is_a_sentence_in_the_users_words(text: str) -> None:
    try:
        parse_query(text, SCHEMA)
    except DiscreetError as refusal:
        message = str(refusal)
    else:
        return
    assert message.endswith(".")
    assert len(message) > 20
    assert not parser_words(message, text), message
    assert not re.search(r"<class|object at 0x|sqlglot|Traceback", message)


def test_the_check_would_find_a_parsers_word() -> None:
    assert parser_words("DB is not answered in TABLE; leave it out.", "SELECT count(*) FROM other.data") == {"DB"}
    assert parser_words("TIMETOSTR is not answered.", "SELECT strftime(seen, '%Y') FROM data") == {"TIMETOSTR"}
    assert parser_words("NullSafeEQ is not answered.", "SELECT 1 WHERE a <=> b") == {"NullSafeEQ"}
    assert not parser_words("to_char(...) is not answered.", "SELECT to_char(seen, 'YYYY') FROM data")


def refused(text: str) -> str:
    try:
        parse_expression(text, SCHEMA)
    except DiscreetError as refusal:
        return str(refusal)
    return ""


def test_no_node_is_shown_by_its_own_name() -> None:
    """Every node that the parser knows and that can be written down: as an expression it is answered, or refused in words."""
    tried = 0
    for kind in sorted(NODES):
        node = getattr(exp, kind)
        try:
            text = node(**{part: exp.column("age") for part, must in node.arg_types.items() if must}).sql("duckdb")
        except Exception:
            continue
        tried += 1
        assert not parser_words(refused(text), text), (text, refused(text))
    assert tried > 500
