"""
The supervisor's Unix socket, mode 0600 (cli.md): a JSON line in, an operation is run, a JSON line out.

A request is {version, op, request, caller, folder}. A valid one is acknowledged at once, before it runs, so that the client
knows that the supervisor responds: the line {"within": seconds} says how long the answer may take. A request that can't run
here gets no answer, and the client does its work itself. Several requests run at once; none keeps the next from being served. A
socket that can't be made is reported: the supervisor also works without one.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from ..storage.clock import within
from ..storage.control import UNLIMITED, Control, Step
from ..storage.errors import InternalError
from ..storage.files import Files
from ..storage.lenient_json import read_record
from .locate import MAX_REQUEST, PROTOCOL, at_socket

#: Seconds until a request must have arrived: a client has it ready before it connects, but a busy machine may halt it between.
_READ_S: Final = 2.0
#: Seconds until a client must have taken the answer.
_SEND_S: Final = 2.0
#: Seconds until a failed accept is tried again, to wait for the thread at the end, and between two looks for the socket.
_RETRY_S: Final = 0.1
_JOIN_S: Final = 1.0
_LOOK_S: Final = 10.0
#: Connections that are open at once, each with a thread.
_MAX_CONNECTIONS: Final = 32


@dataclass(frozen=True, slots=True)
class Request:
    """An operation by its name, its request as JSON, who asks ({session, chat, language}), and the workspace's `folder_id`."""

    name: str
    request: Any
    caller: Mapping[str, Any]
    folder: tuple[int, ...]


Answer: TypeAlias = "Callable[[Request], dict[str, Any]]"


@contextlib.contextmanager
def serve_socket(state: Path, files: Files, answering: Answering) -> Iterator[Step]:
    """
    Have *answering* answer at a socket in the folder *state*, in other threads, until the block ends.

    Yields the step that makes the socket again where somebody has deleted or replaced it, or where it could not be made.
    """
    path: Path | None = None
    with contextlib.ExitStack() as listening:

        def step(_until_end: Control = UNLIMITED) -> float:
            nonlocal path
            now = files.disk.stat(path) if path else None
            if now is None or not stat.S_ISSOCK(now.mode):
                listening.close()
                try:
                    path = listening.enter_context(_listening(state, files, answering))
                except OSError as error:
                    where = f"{error.filename}: " if error.filename else ""
                    answering.report(f"the socket can't be made: {where}{error.strerror or error}")
            return _LOOK_S

        step()
        yield step


@contextlib.contextmanager
def _listening(state: Path, files: Files, answering: Answering) -> Iterator[Path]:
    listening, path = _listen(state, files)
    inode = os.lstat(path).st_ino
    thread = threading.Thread(target=answering.accept_all, args=(listening,), name="socket", daemon=True)
    thread.start()
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):  # the folder may be gone by now, or be read-only
            listening.shutdown(socket.SHUT_RDWR)  # closing alone does not wake a thread that waits for a connection
            thread.join(_JOIN_S)
            listening.close()
            now = files.disk.stat(path)
            if now and now.inode == inode:  # else the path is the socket of another supervisor
                files.remove(path)


def _read_request(line: socket.socket) -> bytes:
    """Return the bytes up to the end of the line, the end of the connection, the end of _READ_S, or the allowed size."""
    data, deadline = bytearray(), within(_READ_S)
    with contextlib.suppress(TimeoutError):
        while not data.endswith(b"\n") and len(data) <= MAX_REQUEST and not deadline.is_over:
            line.settimeout(max(deadline.left_s, 0.001))
            more = line.recv(1 << 16)
            if not more:
                break
            data += more
    return bytes(data)


def parse_request(data: bytes) -> Request | None:
    """Return the request; None if it is of another version, ValueError if it is invalid."""
    request = None
    with contextlib.suppress(ValueError, RecursionError):
        request = json.loads(data) if data.endswith(b"\n") and len(data) <= MAX_REQUEST else None
    if not isinstance(request, dict):
        raise ValueError("it is no JSON object in one line of at most 1 MiB")  # noqa: TRY004 - the client's fault
    if request.get("version") != PROTOCOL:
        return None
    try:
        return read_record(Request, request, lambda name: "op" if name == "name" else name)
    except ValueError:  # whose sentence has a value, which may be a message's
        raise ValueError("one of its fields (op, request, caller, folder) is missing or of another type") from None


def _listen(state: Path, files: Files) -> tuple[socket.socket, Path]:
    path = state / "socket"
    files.remove(path)  # a killed supervisor left it; this process has the lock now
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(line.fileno(), 0o600)  # before the path exists; a umask would apply to the whole process
        at_socket(line.bind, str(path))
        line.listen(64)
    except BaseException:
        line.close()
        raise
    return line, path


class Answering:
    """
    Answers one request of each connection in a thread of its own, at most _MAX_CONNECTIONS at once.

    Several threads call *answer* at once; it raises ValueError for a request that can't run here. *within_s* returns how many
    seconds the answer may take. *report* gets a sentence about an invalid request, about a bug, or why there is no socket.
    """

    def __init__(
        self, answer: Answer, report: Callable[[str], None], within_s: Callable[[Request], float] = lambda _: 2.0
    ) -> None:
        self._answer, self.report, self._within_s = answer, report, within_s
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)

    def accept_all(self, listening: socket.socket) -> None:
        """Answer each connection once there is room, until the socket is shut down."""
        while True:
            self._free.acquire()
            try:
                threading.Thread(target=self._serve, args=(listening.accept()[0],), name="request", daemon=True).start()
            except (OSError, RuntimeError) as error:  # no free file descriptor or thread, or the client has gone
                self._free.release()
                if isinstance(error, OSError) and error.errno in (errno.EINVAL, errno.EBADF):
                    return
                time.sleep(_RETRY_S)

    def _serve(self, line: socket.socket) -> None:
        with line:
            try:
                with contextlib.suppress(OSError):  # the client has gone, or does not take the answer
                    self._handle(line)
            except Exception as error:  # noqa: BLE001 - a bug fails this request alone; only its kind is reported, since its text may quote a message
                self.report(str(InternalError.of("a command at the socket", error)))
            finally:
                self._free.release()

    def _handle(self, line: socket.socket) -> None:
        """Answer the request; one that is invalid or of another version gets no answer."""
        data = _read_request(line)
        if not data:
            return  # the client only checked whether there is a supervisor
        line.settimeout(_SEND_S)
        try:
            request = parse_request(data)
        except ValueError as error:
            self.report(f"a request at the socket was refused: {error}")
            return
        if request is None:
            return
        line.sendall(json.dumps({"within": self._within_s(request)}).encode() + b"\n")
        try:
            answer = self._answer(request)
        except ValueError:
            return
        line.sendall(json.dumps(answer).encode())
