"""
Passing a connection from the fleet's socket to the shard that answers it: the descriptor goes with what was read of it.

So there is one socket a fleet, no answer passes through two processes, and a shard that is replaced closes no listening socket.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH: Final = struct.Struct("!I")
#: Seconds until a shard must have taken a connection.
_TAKE_S: Final = 2.0


class Passer:
    """The fleet's end of the line to a shard."""

    def __init__(self) -> None:
        self._line, self.theirs = socket.socketpair()
        self._line.settimeout(_TAKE_S)
        self._passing = threading.Lock()

    def pass_on(self, connection: socket.socket, data: bytes) -> None:
        """Have the shard answer the request, *data*; OSError if it does not take it, and then it takes no other one."""
        with self._passing:
            try:
                socket.send_fds(self._line, [_LENGTH.pack(len(data))], [connection.fileno()])
                self._line.sendall(data)
            except OSError:
                self._line.close()
                raise

    def has_sign(self) -> bool:
        """Return whether the shard has given a sign of life since the last call."""
        try:
            return bool(self._line.recv(1 << 12, socket.MSG_DONTWAIT))
        except OSError:
            return False

    def close(self) -> None:
        """Close the line, at which the shard ends."""
        self._line.close()


def take_connections(line: socket.socket, answer: Callable[[socket.socket, bytes], None]) -> None:
    """Call *answer* with each connection that the fleet passes on, and with what was read of it, until the line is closed."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(line, _LENGTH.size, 1)
        head += _read(line, _LENGTH.size - len(head)) if head else b""
        if len(head) < _LENGTH.size or not descriptors:
            return
        connection = socket.socket(fileno=descriptors[0])
        data = _read(line, _LENGTH.unpack(head)[0])
        answer(connection, data)


def give_sign(line: socket.socket) -> None:
    """Tell the fleet at the other end of the line that this shard lives; one that does not listen is not waited for."""
    with contextlib.suppress(OSError):
        line.send(b".", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


def _read(line: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (more := line.recv(count - len(data))):
        data += more
    return bytes(data)
