"""
What a supervisor reports to the service manager that started it: sd_notify(3), a datagram of lines on a Unix socket.

The supervisor is ready once the first round is over and the search index was brought up to date, or could not be. From then on
the end of a round, and each file that a long archive run writes, feed the watchdog: a supervisor that hangs is killed and
started again. An update of the index does not feed it, since another thread makes it while the rounds may hang; neither does
time alone. A message that can't be sent is dropped, since nothing must wait for its reader.

`systemctl status` shows the first fault of the last round, or that it runs.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Final

#: A start may go on for a minute after a sign of work.
_MORE_TIME: Final = "EXTEND_TIMEOUT_USEC=60000000"
#: Seconds between two signs of work: an import writes hundreds of files a second.
_SIGN_EVERY_S: Final = 1.0
#: The most characters of STATUS, which is one line of `systemctl status`.
_STATUS_CHARS: Final = 200


class ServiceManager:
    """
    The service manager at *address*, the value of NOTIFY_SOCKET: a path, or "@" and an abstract name.

    With "" none started this process, and nothing is sent.
    """

    def __init__(self, address: str = "", steady_s: Callable[[], float] = time.monotonic) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._steady_s = steady_s
        self._is_ready = False
        self._signed_s = float("-inf")

    @property
    def is_there(self) -> bool:
        """Whether a service manager started this process."""
        return bool(self._address)

    def work_done(self) -> None:
        """Report progress of a round: it gives the start more time or, later, feeds the watchdog. At most once a second."""
        self._sign("WATCHDOG=1" if self._is_ready else _MORE_TIME)

    def index_grown(self) -> None:
        """Report progress of the index: it gives the start more time. Later it does nothing, since the rounds may hang."""
        if not self._is_ready:
            self._sign(_MORE_TIME)

    def round_done(self, status: str, *, has_index: bool) -> None:
        """Report the end of a round: feed the watchdog and show *status*; ready from the first round with *has_index*."""
        lines = ["WATCHDOG=1", f"STATUS={' '.join(status.split())[:_STATUS_CHARS]}"]
        if has_index and not self._is_ready:
            self._is_ready = True
            lines.insert(0, "READY=1")
        self._send(*lines)

    @property
    def awaits_index(self) -> bool:
        """Whether only the first index is missing until it is ready."""
        return self.is_there and not self._is_ready

    def stopping(self) -> None:
        """Report that the supervisor ends after its current step."""
        self._send("STOPPING=1", "STATUS=ending after the current step")

    def _sign(self, line: str) -> None:
        now = self._steady_s()
        if now - self._signed_s >= _SIGN_EVERY_S:
            self._signed_s = now
            self._send(line)

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
            line.setblocking(False)
            line.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)
