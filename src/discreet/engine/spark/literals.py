"""Public texts, names and shapes of texts as Spark reads them, whatever its settings are.

A text in a statement passes readers before it is a value: ``${...}`` is replaced by settings, escapes are read or not as
``spark.sql.parser.escapedStringLiterals`` says. So only plain texts are pasted as they are; others are written as the bytes of
their UTF-8, which nothing reads.

>>> text_literal("yes"), text_literal("it's")
("'yes'", "CAST(X'69742773' AS STRING)")
>>> quoted("age"), quoted("a`b")
('`age`', '`discreet x616062`')
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:+#(){}\[\]<>=*?!|/^-]*")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ ]*")


def text_literal(text: str) -> str:
    """A public text as SQL."""
    return f"'{text}'" if _PLAIN.fullmatch(text) else f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def name_of(name: str) -> str:
    """A name that needs no care, for any name: different for different ones, also where letters of either case are the same. A
    single letter may be the name of a value within an expression, so no column has one."""
    if _NAME.fullmatch(name) and not name.lower().startswith("discreet x") and len(name) > 1:
        return name
    return f"discreet x{name.encode(errors='surrogatepass').hex()}"


def quoted(name: str) -> str:
    """A name as SQL."""
    return f"`{name_of(name)}`"


def is_shape(text: str, shape: str) -> str:
    """Whether all of a text has this shape, a regular expression without backslashes. Java's ``$`` also stands before a last line
    feed: here the end is where no character follows."""
    return f"({text} RLIKE {text_literal(f'(?s)^(?:{shape})(?!.)')})"
