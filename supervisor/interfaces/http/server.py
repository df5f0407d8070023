"""
The thread that serves HTTP: it binds the port of `[serve]`, and tries again where that is taken.

Whatever goes wrong here is an event and a line in `status`; no round waits for it. A request has to arrive within ten seconds,
head and body, so that one that drips takes no place from others.
"""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...storage.clock import Clock
from ...storage.errors import InternalError, SupervisorError
from .app import make_app
from .gate import MOST_HEAD
from .site import Access, Performer, Site

#: Seconds until a whole request must have arrived.
_ARRIVE_S: Final = 10.0
#: Seconds that an idle connection is kept, and connections that are open at once; one more is answered with 503.
_IDLE_S: Final = 5
_MOST_CONNECTIONS: Final = 200
#: Seconds until a port that could not be bound is tried again, and seconds to wait for the thread at the end.
_RETRY_S: Final = 10.0
_JOIN_S: Final = 2.0
#: Why a port can't be bound, by the number of the error.
_REASONS: Final = {errno.EADDRINUSE: "taken", errno.EACCES: "forbidden", errno.EPERM: "forbidden"}


class Place(NamedTuple):
    """Where the service listens; *allow_remote*: also where other machines can reach it."""

    host: str
    port: int
    allow_remote: bool

    @property
    def is_remote(self) -> bool:
        """True if the address can be reached by other machines."""
        try:
            return not ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() != "localhost"


class HttpThread:
    """Serves HTTP at *place* in a thread of its own until it is ended; *report* gets why it can't, "" once it does."""

    def __init__(self, place: Place, answers: Performer, clock: Clock, report: Callable[[str], None]) -> None:
        self.place = place
        #: The port that is listened at; that of *place*, unless that is 0.
        self.port = place.port
        self._answers, self._clock, self._report = answers, clock, report
        self._ending = threading.Event()
        self._server: Server | None = None
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def end(self) -> None:
        """End it; requests that run have a moment to be answered."""
        self._ending.set()
        if self._server:
            self._server.stop()
        self._thread.join(_JOIN_S)

    def _serve(self) -> None:
        for name in ("uvicorn", "asyncio"):  # no library prints: its lines might hold what a client sent
            logger = logging.getLogger(name)
            logger.propagate = False
            if not logger.handlers:
                logger.addHandler(logging.NullHandler())
        while not self._ending.is_set():
            line = self._bound()
            if line:
                with contextlib.closing(line):
                    self._serve_at(line)
            self._ending.wait(_RETRY_S)

    def _bound(self) -> socket.socket | None:
        if self.place.is_remote and not self.place.allow_remote:
            self._report("remote")
            return None
        try:
            return _listening(self.place)
        except OSError as error:
            self._report(_REASONS.get(error.errno or 0, "address"))
            return None

    def _serve_at(self, line: socket.socket) -> None:
        ws = self._answers.workspace
        try:
            access = Access(ws.files, ws.paths)
            access.token()  # made now: `recalld open` reads it
            self.port = line.getsockname()[1]
            site = Site(self._answers, access, self._clock, self.place.host, self.port)
            self._server = Server(_uvicorn_config(make_app(site, is_remote=self.place.is_remote)), site.ended)
            if self._ending.is_set():
                return  # there was no server yet that `end` could stop
            self._report("")
            asyncio.run(self._server.serve([line]))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a fault of the service ends no round; uvicorn exits where it can't start
            bug = error if isinstance(error, Exception) else RuntimeError(type(error).__name__)
            ws.events.report("http", [bug if isinstance(bug, SupervisorError) else InternalError.of("http", bug)])
        else:
            ws.events.report("http", ())


def _listening(place: Place) -> socket.socket:
    family, kind, number, _, where = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
    line = socket.socket(family, kind, number)
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.bind(where)
        line.listen(_MOST_CONNECTIONS)
        line.setblocking(False)
    except BaseException:
        line.close()
        raise
    return line


def _uvicorn_config(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MOST_HEAD,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=1,
    )


class Server(uvicorn.Server):
    """A server that waits to be *stopped*, and does not look ten times a second whether it was."""

    def __init__(self, config: uvicorn.Config, stopped: asyncio.Event) -> None:
        super().__init__(config)
        self._stopped = stopped
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Wait until it is stopped."""
        self._loop = asyncio.get_running_loop()
        if not self.should_exit:
            await self._stopped.wait()

    def stop(self) -> None:
        """End it, from any thread."""
        self.should_exit = True
        if self._loop:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._stopped.set)


class _Connection(H11Protocol):
    """A connection that is closed where a request takes too long to arrive; an idle one is closed by uvicorn."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def _watch(self) -> None:
        is_arriving = str(self.conn.their_state) in ("IDLE", "SEND_BODY") and not self.timeout_keep_alive_task
        if is_arriving and not self._limit:
            self._limit = self.loop.call_later(_ARRIVE_S, self.transport.abort)
        elif self._limit and not is_arriving:
            self._limit.cancel()
            self._limit = None
