"""Where a ledger is: a file, which is a ``Path``, or an ``Address`` on a server.

An address is what tells one ledger from another (server, database, name) and how this user comes to it (user, options, password).
Two are the same ledger when the first part is: users of one machine share what it remembers. The password is for the server
alone: no text of ours has it, neither ``str`` nor ``repr``, and an address that cannot be read is refused without a word of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from discreet.errors import ParameterError

_URL = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)  # with two letters or more: C:/ is a disk
_NAME = r"[a-z_][a-z0-9_]{0,39}"
_UNLESS_TOLD = "ledger"
_SCHEMA = "discreet"
_SECRETS = ("password", "sslpassword")
_SPELT = (
    'A ledger on a server is named like "postgresql://user@host/database?ledger=patients"; signs such as @, / and # within a '
    "part are written as %40, %2F and %23."
)


class Hidden:
    """Passwords by what they are for, which nothing shows."""

    def __init__(self, passwords: Mapping[str, str] = MappingProxyType({})) -> None:
        self._passwords = passwords

    def reveal(self) -> Mapping[str, str]:
        """For the server alone."""
        return self._passwords

    def __repr__(self) -> str:
        return "<hidden>"

    def __reduce__(self) -> tuple[type[Hidden], tuple[()]]:
        if self._passwords:
            raise ParameterError("An address with a password is not pickled; leave it to ~/.pgpass or PGPASSWORD.")
        return Hidden, ()


@dataclass(frozen=True)
class Address:
    """A ledger on a server, and how to come to it.

    >>> address = Address.parse("postgresql://ann:secret@DB.clinic:5432/research?sslmode=require&ledger=patients")
    >>> print(address)
    postgresql://ann@db.clinic:5432/research?sslmode=require&ledger=patients
    >>> address == Address.parse("postgresql://bob@db.clinic:5432/research?ledger=discreet.patients")
    True
    """

    scheme: str
    host: str  # or the folder of a socket; nothing where the server's own library knows
    port: str
    database: str
    service: str
    schema: str
    name: str
    user: str = field(default="", compare=False)
    options: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    secrets: Hidden = field(default_factory=Hidden, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that a URL says."""
        try:
            return cls._read(text)
        except ValueError:
            pass
        raise ParameterError(_SPELT)  # here, so that nothing of the URL travels along

    @classmethod
    def _read(cls, text: str) -> Address:
        parts = urlsplit(text, allow_fragments=False)
        if "@" in parts.path + parts.query or "#" in text or not text.isprintable():  # in a password that was not spelt out
            raise ValueError
        who, _, server = parts.netloc.rpartition("@")
        user, _, password = (unquote(part, errors="strict") for part in who.partition(":"))
        host, port = _split_port(server)
        told = {
            "user": user,
            "password": password,
            "host": host,
            "port": port,
            "dbname": unquote(parts.path[1:], errors="strict"),
        }
        told |= parse_qsl(parts.query.replace("+", "%2B"), strict_parsing=True, errors="strict") if parts.query else ()
        secrets = {name: told.pop(name) for name in _SECRETS if told.get(name)}
        schema, _, name = told.pop("ledger", _UNLESS_TOLD).rpartition(".")
        host, port, database, service = (told.pop(part, "") for part in ("host", "port", "dbname", "service"))
        names = all(re.fullmatch(_NAME, one) for one in (schema or _SCHEMA, name))
        if not names or "/" in parts.path[1:] or not (database or service) or not re.fullmatch("[0-9,]*", port):
            raise ValueError
        place = (parts.scheme, host if "/" in host else host.lower(), port, database, service, schema or _SCHEMA, name)
        user, options = told.pop("user"), tuple(sorted((name, value) for name, value in told.items() if value))
        return cls(*place, user, options, Hidden(secrets))

    @property
    def key(self) -> str:
        """What tells it from other ledgers, as an address."""
        return self._write("", ())

    def __str__(self) -> str:
        return self._write(self.user, self.options)

    def _write(self, user: str, options: tuple[tuple[str, str], ...]) -> str:
        local = "/" in self.host or "," in self.host + self.port
        server = "" if local else (f"[{self.host}]" if ":" in self.host else quote(self.host)) + (self.port and f":{self.port}")
        asked = [("host", self.host), ("port", self.port)] if local else []
        name = self.name if self.schema == _SCHEMA else f"{self.schema}.{self.name}"
        asked += [("service", self.service), *options, ("ledger", name)]
        told = "&".join(f"{key}={quote(value, safe='/,.-')}" for key, value in asked if value)
        return f"{self.scheme}://{user and quote(user, safe='') + '@'}{server}/{quote(self.database, safe='')}?{told}"


Place = Path | Address
Named = str | os.PathLike[str] | Address  # as users name one


def resolve(place: Named) -> Place:
    """A place that no longer depends on links or the working folder."""
    if isinstance(place, Address):
        return place
    try:
        text = os.fsdecode(place)
        if is_address(text):
            return Address.parse(text)
        return Path(os.path.realpath(text))
    except ParameterError:
        raise
    except (TypeError, ValueError):
        raise ParameterError('A ledger is named by a path; write ledger="hospital.ledger".') from None


def is_address(text: str) -> bool:
    """Whether a text is meant as an address and not as a path."""
    return _URL.match(text) is not None


def key_of(place: Place) -> str:
    """The text by which a ledger is remembered."""
    return place.key if isinstance(place, Address) else str(place)


def recall(key: str) -> Place:
    """The place that was remembered."""
    return Address.parse(key) if is_address(key) else Path(key)


def typed(place: Place) -> str:
    """A place as it is typed on a command line."""
    return f'"{place}"' if isinstance(place, Address) else str(place)


def _split_port(server: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]*)(?::([0-9]+))?", server)
    if found is None:
        raise ValueError
    return unquote(found[1].strip("[]"), errors="strict"), found[2] or ""
