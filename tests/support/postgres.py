"""A PostgreSQL server for tests: a real one, in a folder of its own, started by the first test of a process that asks for it.

``initdb`` refuses root, so it runs as an ordinary user where the tests run as root. The server ends however the process that
asked for it ends, even killed: a shell waits for the end of a pipe that this process holds, then stops the server and removes
its folder.
"""

from __future__ import annotations

import atexit
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import psycopg

__all__ = ["Server", "a_database", "program", "server", "unprivileged_user"]

OWNER = "owner"  # who may do everything there
_SETTINGS = {
    "autovacuum": "off",
    "fsync": "on",  # a ledger refuses a server that could lose what was spent; the folder is in memory where there is room
    "full_page_writes": "on",
    "listen_addresses": "127.0.0.1",
    "logging_collector": "off",
    "log_statement": "all",  # so that tests can look for what must not be there
    "max_connections": "60",
    "shared_buffers": "64MB",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}
# What the shell does: run the server, wait until nobody holds the other end of its input, and clean up.
_KEEP = '"$1" -D "$2/data" >"$2/log" 2>&1 & cat >/dev/null; kill -INT $!; wait $!; rm -rf "$2"'
_numbers = count()


@dataclass(frozen=True)
class Server:
    """A running server: its folder, which has its socket and its log, and its port."""

    folder: Path
    port: int

    def url(self, database: str = "postgres", user: str = OWNER, password: str | None = None, *, tcp: bool = False) -> str:
        """An address: by the socket, where everybody is trusted, or by TCP, where passwords are asked for."""
        who = user if password is None else f"{user}:{password}"
        if tcp:
            return f"postgresql://{who}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{who}@/{database}?host={self.folder}&port={self.port}"

    @property
    def log(self) -> str:
        """All that the server wrote down."""
        return (self.folder / "log").read_text(errors="replace")

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Statements by the owner of everything, each by itself."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


@cache
def server() -> Server:
    """The server of this process."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-server-"))
    who = unprivileged_user()
    if who is not None:
        os.chown(folder, who, -1)
    initdb = [program("initdb"), "-D", f"{folder}/data", "-U", OWNER, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    access = ["--auth-local=trust", "--auth-host=scram-sha-256", "--no-instructions"]
    subprocess.run([*initdb, *access], check=True, capture_output=True, user=who, cwd=folder)
    port = _free_port()
    settings = {**_SETTINGS, "port": str(port), "unix_socket_directories": str(folder)}
    with open(folder / "data" / "postgresql.conf", "a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    keeper = subprocess.Popen(
        ["/bin/sh", "-c", _KEEP, "sh", program("postgres"), str(folder)],
        stdin=subprocess.PIPE,
        user=who,
        cwd=folder,
        start_new_session=True,  # no Ctrl-C of a test is meant for it
    )
    atexit.register(_end, keeper, os.getpid())
    started = Server(folder, port)
    for _ in range(600):
        try:
            psycopg.connect(started.url(), connect_timeout=5).close()
            return started
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError(f"The server did not start: {started.log}")


@contextmanager
def a_database() -> Iterator[str]:
    """The name of a database with nothing in it."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    server().run(f"CREATE DATABASE {name}")
    try:
        yield name
    finally:
        server().run(f"DROP DATABASE {name} WITH (FORCE)")


def _end(keeper: subprocess.Popen[bytes], process: int) -> None:
    if os.getpid() == process and keeper.stdin is not None:  # a forked child does not own it
        keeper.stdin.close()
        keeper.wait()


def program(name: str) -> str:
    """A program of the server; distributions keep those in folders of their own."""
    found = shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None)
    if found is None:
        raise RuntimeError(f"There is no {name}; install PostgreSQL: apt-get install postgresql.")
    return os.path.realpath(found)


def unprivileged_user() -> int | None:
    """Whom the server runs as, where the tests run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry.pw_uid for entry in pwd.getpwall()}
    return known.get("postgres", known["nobody"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
