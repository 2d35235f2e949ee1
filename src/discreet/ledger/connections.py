"""Connections to PostgreSQL: how they are made, why not, and the one that a process keeps at rest for each address.

Passwords are for the server alone: ``dial`` raises nothing, so that no traceback leads to a frame that knows one. Whatever an
address leaves out, PostgreSQL's own library finds where it always does (~/.pgpass, PGPASSWORD, services). No child of a fork
inherits a connection.
"""

from __future__ import annotations

import atexit
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from discreet.errors import LedgerRefused
from discreet.ledger.place import Address
from discreet.ledger.turns import close_before_forks

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

_OLDEST = 13  # of servers
SILENCE = 180.0  # seconds for a transaction: three times as long as it may wait for a lock
_USUAL = {"application_name": "discreet", "connect_timeout": "10", "keepalives_idle": "30", "tcp_user_timeout": "60000"}
_resting: dict[bytes, Connection] = {}  # by all that they were made with


def load_psycopg() -> ModuleType:
    """The library, which is an extra."""
    try:
        return import_module("psycopg")
    except ImportError:
        raise LedgerRefused(
            "A ledger on PostgreSQL needs psycopg, which is an extra: run pip install 'discreet[postgres]'."
        ) from None


def connect(place: Address) -> Connection:
    """A new connection."""
    found = dial(place)
    if isinstance(found, str):
        raise LedgerRefused(
            f"The server of the ledger {place} does not let us in ({found}), so nothing is answered. Check the address; a "
            "password belongs in ~/.pgpass or PGPASSWORD."
        )
    if found.info.server_version < _OLDEST * 10_000:
        version = found.info.server_version // 10_000
        found.close()
        raise LedgerRefused(
            f"The server of the ledger {place} is PostgreSQL {version}, and this needs {_OLDEST} or later; update it."
        )
    return found


def dial(place: Address) -> Connection | str:
    """A new connection, or why there is none."""
    psycopg = load_psycopg()
    try:
        made: Connection = psycopg.connect(
            psycopg.conninfo.make_conninfo("", **_facts(place)), autocommit=True, prepare_threshold=None
        )
        return made
    except (psycopg.Error, ValueError, TypeError) as problem:
        said = str(problem).strip().splitlines() or [""]
    reason = said[0].rpartition("failed: ")[2].replace("FATAL:", "").strip().rstrip(".")
    return "it does not say why" if any(secret in reason for secret in place.secrets.reveal().values()) else reason


@contextmanager
def impatience(held: Callable[[], Connection]) -> Iterator[None]:
    """A block after which, however long its server says nothing, the connection is cut: it is then lost as any other is."""

    def cut() -> None:
        with suppress(Exception), socket.fromfd(held().fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as wire:
            wire.shutdown(socket.SHUT_RDWR)  # whoever waits on it hears that; closing would wait as well

    watch = threading.Timer(SILENCE, cut)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def resume(place: Address) -> Connection | None:
    """The connection at rest, which may have died meanwhile."""
    return _resting.pop(_key(place)) if _key(place) in _resting else None


def rest(place: Address, connection: Connection) -> None:
    """Keep a connection for the next transaction, unless there is one, or it is closed."""
    if connection.closed or _resting.setdefault(_key(place), connection) is not connection:
        connection.close()


def close_all() -> None:
    """Close those at rest."""
    while _resting:
        _resting.popitem()[1].close()


close_before_forks(close_all)
atexit.register(close_all)


def _key(place: Address) -> bytes:
    return hashlib.sha256(str(_facts(place)).encode(errors="surrogatepass")).digest()


def _facts(place: Address) -> dict[str, str]:
    """What a connection is made with."""
    given = {"host": place.host, "port": place.port, "dbname": place.database, "service": place.service, "user": place.user}
    return {**_USUAL, **dict(place.options), **place.secrets.reveal(), **{name: fact for name, fact in given.items() if fact}}
