"""A server that speaks PostgreSQL's protocol just far enough to say which version it is; whatever it is asked, it refuses."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["a_server_of"]

_ENCRYPTION = (80877103, 80877104)  # what a client asks for before it says who it is


@contextmanager
def a_server_of(version: str) -> Iterator[tuple[str, list[bytes]]]:
    """The host and port of such a server, and all that it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_accept, args=(listening, version, asked), daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", asked


def _accept(listening: socket.socket, version: str, asked: list[bytes]) -> None:
    with suppress(OSError):  # when it is closed
        while True:
            client, _ = listening.accept()
            with suppress(OSError, struct.error), client:
                _speak(client, version, asked)


def _speak(client: socket.socket, version: str, asked: list[bytes]) -> None:
    while True:
        length, code = struct.unpack("!ii", client.recv(8))
        if code not in _ENCRYPTION:
            break
        client.sendall(b"N")
    client.recv(length - 8)
    facts = {"server_version": version, "server_encoding": "UTF8", "client_encoding": "UTF8"}
    told = b"".join(_message(b"S", f"{name}\0{value}\0".encode()) for name, value in facts.items())
    client.sendall(_message(b"R", struct.pack("!i", 0)) + told + _message(b"K", bytes(8)) + _message(b"Z", b"I"))
    while (said := client.recv(2**16)) and said[:1] != b"X":
        asked.append(said)
        client.sendall(_message(b"E", b"SERROR\0C0A000\0Mno\0\0") + _message(b"Z", b"I"))


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body
