"""A private table on a PostgreSQL server: its address, what its catalog says of it, and a fingerprint of what it holds.

An address is ``postgresql://user@host/database?table=schema.visits``; whatever else libpq takes in one may stand there, or in the
environment. Its password is in no text that anybody sees: what fails is said in words of our own.

A server has no version of a table to ask for. So a fingerprint is a keyed hash of all cells of the columns that are read, summed
up over the rows by the server itself, which takes a scan. While nothing whatsoever was committed on the server (its log ends
where it did), the table is known to be the same and is not read again. An owner who declares a ``version=`` needs neither.

A text may have a gigabyte, and PostgreSQL fails where what is made of one is longer than that. So one of more than ``_LONG``
bytes is read as its beginning and a hash of the whole: it is no number, day or word, and two of them are the same person only if
they are the same text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from discreet.engine.base import Known, hashed
from discreet.engine.postgres.server import Server, server_of
from discreet.engine.sql.dialect import quoted
from discreet.errors import ParameterError

_WRITE = 'write "postgresql://user@host/database?table=schema.visits"'
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".\s]+))\s*(?:\.\s*(?:"((?:[^"]|"")+)"|([^".\s]+))\s*)?')
_TYPES = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "oid": "bigint",
    "float4": "real",
    "float8": "double precision",
    "numeric": "numeric",
    "bool": "boolean",
    "uuid": "uuid",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "char", "citext", "bit", "varbit", "bytea"), "text"),
}
_LOOK = """
    WITH RECURSIVE own AS (
        SELECT c.oid, c.relkind FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = CAST($1 AS TEXT) AND c.relname = CAST($2 AS TEXT) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    ), columns AS (
        SELECT a.attnum, a.attname, t.oid, t.typname, t.typtype, t.typbasetype
        FROM own JOIN pg_attribute AS a ON a.attrelid = own.oid
        JOIN pg_type AS t ON t.oid = a.atttypid WHERE a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT c.attnum, c.attname, t.oid, t.typname, t.typtype, t.typbasetype FROM columns AS c
        JOIN pg_type AS t ON t.oid = c.typbasetype WHERE c.typtype = 'd'
    )
    SELECT CAST(own.oid AS BIGINT), own.relkind::text, has_schema_privilege(CAST($1 AS TEXT), 'USAGE'), c.attname::text,
        c.typname::text, c.typtype::text, has_column_privilege(own.oid, c.attnum, 'SELECT')
    FROM own LEFT JOIN columns AS c ON c.typtype <> 'd' ORDER BY c.attnum
"""
# The bytes, in hexadecimal digits, of a text in UTF-8 without a NUL.
_UTF8 = (
    "^(?:0[1-9a-f]|[1-7].|(?:c[2-9a-f]|d.)[89ab].|e0[ab].[89ab].|e[1-9abcef][89ab].[89ab].|ed[89].[89ab].|"
    "f0[9ab].[89ab].[89ab].|f[1-3][89ab].[89ab].[89ab].|f48.[89ab].[89ab].)*$"
)
_ANY_LENGTH = ("text", "varchar", "bpchar", "citext")
_LONG, _BEGINNING = 2**20, 2**18  # bytes of a text that is read as it is, and characters that are read of a longer one
_SHA = "encode(sha256(convert_to({0}, 'UTF8')), 'hex')"


@dataclass(frozen=True)
class Address:
    """Where a table is: what libpq connects to, which nobody sees, and the schema and name of the table."""

    conninfo: str = field(repr=False)
    place: str  # without user, password and settings
    schema: str
    table: str

    @property
    def relation(self) -> str:
        """The table in SQL."""
        return f"{quoted(self.schema)}.{quoted(self.table)}"


def read_address(given: str, table: str | None = None) -> Address:
    """The parts of an address; every mistake is said without it."""
    parts, asked = _parts(given)
    where = f"{(parts.hostname or '').lower()}{f':{parts.port}' if parts.port else ''}{quote(unquote(parts.path))}"
    named = [value for name, value in asked if name == "table"]
    if table is not None and named:
        raise ParameterError("The table is named twice, in the address and by table=; leave one of them out.")
    names = named or ([] if table is None else [table])
    found = _NAME.fullmatch(names[0]) if len(names) == 1 else None
    if found is None or not given.lower().startswith(("postgresql://", "postgres://")):
        raise ParameterError(f"The address of a PostgreSQL table names its server, database and table; {_WRITE}.")
    first, second = (found[1] or found[2]).replace('""', '"'), (found[3] or found[4] or "").replace('""', '"')
    schema, name = (first, second) if second else ("public", first)
    rest = [(key, value) for key, value in asked if key != "table"]
    shown = {key: value for key, value in rest if key in ("host", "hostaddr", "port", "dbname", "service")}
    place = f"postgresql://{where}{''.join(f'/{key}={value}' for key, value in sorted(shown.items()))}/{schema}.{name}"
    conninfo = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(rest, quote_via=quote), ""))
    return Address(conninfo, place, schema, name)


def _parts(given: str) -> tuple[SplitResult, list[tuple[str, str]]]:
    try:
        parts = urlsplit(given)
        asked = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        if parts.port != 0 and not parts.fragment:
            return parts, asked
    except ValueError:
        pass  # said outside of this block: its words are those of the address
    raise ParameterError(f"This is no address of a PostgreSQL server; {_WRITE}, with special signs of a password as %40.")


def address_of(given: object) -> str:
    """An address without its password, to be written down."""
    parts, asked = _parts(str(given))
    user = f"{parts.username}@" if parts.username else ""
    kept = urlencode([pair for pair in asked if "pass" not in pair[0]], quote_via=quote, safe='/."')
    return urlunsplit((parts.scheme, user + parts.netloc.rpartition("@")[2], parts.path, kept, ""))


@dataclass(frozen=True)
class PostgresSource:
    """A table of a server; ``raw`` has, by the names under which ``relation`` has them, the types of the columns asked for."""

    address: Address
    server: Server = field(repr=False)
    identity: tuple[object, ...]  # of the cluster, the database and the table
    kind: str
    names: tuple[str, ...]
    raw: Mapping[str, str]
    reads: Mapping[str, str]  # SQL of each
    no_ids: frozenset[str] = frozenset()
    drops_lines = False
    engine = "postgres"

    def find(self, name: str) -> str:
        """The name of a column in the relation that is read."""
        return _raw(_find(name, self.names))

    @property
    def layout(self) -> tuple[object, ...]:
        """Which table it is, and how it is read."""
        return self.address.place, self.identity, self.names, tuple(self.raw.items()), tuple(self.reads.items())

    def is_current(self) -> bool:
        """Nobody says when a table is altered, so it is looked at anew."""
        return False

    @property
    def relation(self) -> str:
        """The table in SQL, with columns that no name of ours is the same as."""
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.reads.items())
        return f"(SELECT {columns} FROM {self.address.relation}) AS {quoted('discreet raw')}"

    def fingerprint(self, salt: bytes, known: Known | None = None) -> str:
        """A keyed hash of the cells that are read, in any order of rows."""
        state = self._state(salt)
        kept = None if state is None or known is None else known.get(state)
        if kept is not None:
            return kept
        cells = (f"CAST({quoted(name)} AS TEXT)" for name in self.raw)
        texts = (f"(CASE WHEN octet_length({cell}) > 64 THEN {_SHA.format(cell)} ELSE {cell} END)" for cell in cells)
        row = " || '/' || ".join(f"coalesce(CAST(length({text}) AS TEXT) || ':' || {text}, '-')" for text in texts)
        halves = ", ".join(
            f"sum(CAST(CAST('x' || substr(h, {start}, 15) AS BIT(60)) AS BIGINT)) AS s{start}" for start in (1, 16)
        )
        sql = f"SELECT count(*) AS n, {halves} FROM (SELECT md5(CAST($1 AS TEXT) || {row}) AS h FROM {self.relation}) AS rows"
        ((n, *sums),) = self.server.ask(sql, [hashed(salt, [b"rows"])])
        parts = ("table of a server", *map(str, self.identity), *map(str, self.raw.items()), str(n), *map(str, sums))
        found = hashed(salt, (part.encode(errors="surrogatepass") for part in parts))
        if state is not None and known is not None:
            known.update({state: found})
        return found

    def _state(self, salt: bytes) -> str | None:
        """What stays the same only while nothing is committed on the server; None where that cannot be said, as of what may have
        rows elsewhere, or shows others to other roles. What is in the log may be seen a little later, so that it is also asked
        which transactions are seen; and a log that goes on from a backup has another name."""
        if self.kind not in ("r", "m"):
            return None
        log = "pg_current_wal_insert_lsn(), pg_walfile_name(pg_current_wal_insert_lsn())"
        ask = f"""
            SELECT CASE WHEN NOT pg_is_in_recovery() AND NOT c.relrowsecurity
                AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
                THEN concat_ws(' ', {log}, pg_current_snapshot()) END FROM pg_class AS c WHERE c.oid = $1
        """
        found = self.server.ask(ask, [self.identity[-1]])
        if not found or found[0][0] is None:
            return None
        return hashed(salt, (str(part).encode() for part in ("state", self.identity, tuple(self.reads.items()), found[0][0])))


def open_source(given: object, *, table: str | None = None, columns: Iterable[str] | None = None) -> PostgresSource:
    """Look at a table in the server's catalog; none of its rows is read."""
    address = read_address(str(given), table)
    server = server_of(address.conninfo)
    identity, rows = server.look(_LOOK, [address.schema, address.table])
    said = f"{address.schema}.{address.table}"
    if not rows:
        raise ParameterError(f"There is no table {said} in this database; check its schema and name: {_WRITE}.")
    if not rows[0][2]:
        raise ParameterError(f"This role may not use the schema {address.schema}; GRANT USAGE ON SCHEMA to it.")
    found = {str(row[3]): (str(row[4]), str(row[5]), bool(row[6])) for row in rows if row[3] is not None}
    names = tuple(found)
    wanted = names if columns is None else tuple(dict.fromkeys(_find(name, names) for name in columns))
    if not wanted:
        raise ParameterError("A table needs columns; name those that questions may use.")
    for name in wanted:
        if not found[name][2] and columns is not None:
            raise ParameterError(f"This role may not read the column {name} of {said}; GRANT SELECT on it to the role.")
    kinds = {name: _kind(*found[name][:2]) for name in wanted}
    raw = {_raw(name): kind or "text" for name, kind in kinds.items()}
    reads = {_raw(name): _read(name, found[name][0], kind) for name, kind in kinds.items()}
    no_ids = frozenset(_raw(name) for name, kind in kinds.items() if kind is None or found[name][0] == "bytea")
    return PostgresSource(address, server, (*identity, rows[0][0]), str(rows[0][1]), names, raw, reads, no_ids)


def place_of(given: object, table: str | None = None) -> str:
    """Where a table is, in words that anybody may see."""
    return read_address(str(given), table).place


def _kind(name: str, type: str) -> str | None:
    """The type as which a column is read; None: its cells mean nothing to a declaration."""
    return "text" if type == "e" else _TYPES.get(name) if type == "b" else None


def _read(name: str, type: str, kind: str | None) -> str:
    column = quoted(name)
    if kind is None:
        return "CAST(NULL AS TEXT)"
    text = f"CAST({column} AS TEXT)"
    if type in ("bit", "varbit"):
        return f'(CASE WHEN length({column}) <= {_LONG} THEN {text} END COLLATE "C")'
    if type == "bytea":  # bytes are the text they spell
        spelt = f"octet_length({column}) <= {_LONG} THEN CASE WHEN encode({column}, 'hex') ~ '{_UTF8}'"
        return f"(CASE WHEN {spelt} THEN convert_from({column}, 'UTF8') END END COLLATE \"C\")"
    if type in _ANY_LENGTH:
        text = f"CASE WHEN octet_length({text}) <= {_LONG} THEN {text} ELSE left({text}, {_BEGINNING}) || {_SHA.format(text)} END"
    if kind == "text":  # by its bytes, whatever its collation finds equal
        return f'({text} COLLATE "C")'
    return f"CAST({column} AS BIGINT)" if type == "oid" else column


def _raw(name: str) -> str:
    return f"raw {name}"


def _find(name: str, names: tuple[str, ...]) -> str:
    alike = [known for known in names if known == name] or [known for known in names if known.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise ParameterError(f"The table has several columns that could be {name}: {', '.join(alike)}; write one exactly.")
    near = difflib.get_close_matches(name, names, 3)
    raise ParameterError(
        f"The table has no column {name}; {f'did you mean {near[0]}?' if near else 'write it as the table does.'}"
    )
