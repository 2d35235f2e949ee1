"""A wire to a PostgreSQL server that can be cut: it carries what a client and the server say, until a word that it waits for."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path

from support.postgres import Server

__all__ = ["Wire"]


class Wire:
    """A socket in a folder of its own before the server's.

    ``cut(word)`` ends the next connection on which the client says it: before the server hears it, or after the server has
    answered and before the client hears that. ``away``: nobody is let in after that.
    """

    def __init__(self, server: Server, folder: Path) -> None:
        self._server, self._word, self._heard, self._away = server, b"", False, False
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / f".s.PGSQL.{server.port}"))
        self._listening.listen()
        self._folder, self.cuts = folder, 0
        self._deaf: socket.socket | None = None  # the client that hears nothing any more
        self._answered = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self) -> str:
        return self._server.url().replace(str(self._server.folder), str(self._folder))

    def cut(self, word: str, *, heard: bool, away: bool = False) -> None:
        self._word, self._heard, self._away = word.encode(), heard, away

    def close(self) -> None:
        _end(self._listening)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server.folder / f".s.PGSQL.{self._server.port}"))
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()
            threading.Thread(target=self._return, args=(server, client), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """What the client says."""
        while said := _receive(client):
            if self._word and self._word in said:
                self._word, self.cuts = b"", self.cuts + 1
                if self._away:
                    self.close()
                if self._heard:
                    self._deaf = client
                    self._answered.clear()
                    server.sendall(said)
                    self._answered.wait(60)
                break
            server.sendall(said)
        for one in (client, server):
            _end(one)

    def _return(self, server: socket.socket, client: socket.socket) -> None:
        """What the server answers."""
        while said := _receive(server):
            if self._deaf is client:
                self._answered.set()
                return
            client.sendall(said)
        _end(client)


def _receive(one: socket.socket) -> bytes:
    try:
        return one.recv(1 << 16)
    except OSError:
        return b""


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
