"""
The supervisor's Unix socket, mode 0600 (cli.md): a JSON line {version, argv, env} in, the command is run, a JSON line out.

A valid request is acknowledged at once by an empty line, before the command runs, so that the client knows that the supervisor
responds. A request that can't be run here gets no answer, and the client runs the command itself. No request, whatever it
contains, keeps the next one from being served.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import socket
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from supervisor.protocol.clock import within
from supervisor.protocol.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from supervisor.protocol.files import Files
    from supervisor.protocol.paths import WorkspacePaths

_MAX_BYTES: Final = 1 << 20  # of a request
#: Seconds until a request must have arrived: a client has it ready before it connects.
_READ_S: Final = 0.1
_VERSION: Final = 1
#: The longest path, in bytes, that is bound; the kernel's limit is only a little higher.
_MAX_PATH: Final = 100
#: Seconds until a client must have taken the answer.
_SEND_S: Final = 2.0
#: Seconds until a connection that could not be accepted is tried again, and seconds to wait for the thread at the end.
_RETRY_S: Final = 0.1
_JOIN_S: Final = 1.0
#: Errors of a full or broken disk, and seconds until the socket is tried again after one.
_DISK_ERRORS: Final = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
_REOPEN_S: Final = 10.0
#: Connections that are open at once; one command is run at a time.
_MAX_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Request:
    """A command to run: its arguments, and the client's RECALLD_* variables."""

    argv: list[str]
    environ: Mapping[str, str]


#: Runs the command of a request and returns {out, err, code}.
Answer: TypeAlias = "Callable[[Request], dict[str, Any]]"


@contextlib.contextmanager
def serve_socket(paths: WorkspacePaths, files: Files, answer: Answer, report: Callable[[str], None]) -> Iterator[None]:
    """
    Answer requests in other threads, one at a time, until the block ends.

    *answer* raises ValueError for a request that can't be run here. *report* gets a sentence about an invalid request, a bug,
    or a disk that is too full or broken for a socket; the socket is then tried again later, and clients run their commands
    themselves.
    """
    server = _SocketServer(lambda: _listen(paths, files), answer, report)
    server.start()
    try:
        yield
    finally:
        server.end()


def read_request(line: socket.socket) -> bytes:
    """Return the bytes up to the end of the line, of the connection, of _READ_S, or of the allowed size."""
    data, deadline = bytearray(), within(_READ_S)
    with contextlib.suppress(TimeoutError):
        while not data.endswith(b"\n") and len(data) <= _MAX_BYTES and not deadline.is_over:
            line.settimeout(max(deadline.left_s, 0.001))
            more = line.recv(1 << 16)
            if not more:
                break
            data += more
    return bytes(data)


def parse_request(data: bytes) -> Request | None:
    """Return the request, None if it is of another version; ValueError if it is invalid."""
    if len(data) > _MAX_BYTES:
        raise ValueError("it is too long")
    if not data.endswith(b"\n"):
        raise ValueError("its line has no end")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - the client's fault, not a wrong type in this program
    if found.get("version") != _VERSION:
        return None
    argv, environ = found.get("argv"), found.get("env")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise ValueError("its argv is no list of words")
    if not isinstance(environ, dict) or not all(isinstance(value, str) for value in environ.values()):
        raise ValueError("its env does not give each variable a text")
    return Request(argv, environ)


def _listen(paths: WorkspacePaths, files: Files) -> tuple[socket.socket, Callable[[], None]]:
    """Return a listening socket, and the function that removes its path."""
    files.make_folder(paths.state)
    path = _choose_path(paths, files)
    files.remove(path)  # left by a supervisor that was killed; this process has its lock now
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), 0o600)  # the mode that its path will have; a umask would change the whole process
        listener.bind(str(path))
    except BaseException:
        listener.close()
        raise
    listener.listen(64)
    return listener, lambda: files.remove(path)


def _choose_path(paths: WorkspacePaths, files: Files) -> Path:
    """Return the socket's path: in the state folder, or, if that is too long, one that `socket.path` names."""
    path, noted = paths.state / "socket", paths.state / "socket.path"
    if len(os.fsencode(path)) <= _MAX_PATH:
        files.remove(noted)
        return path
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/recalld-{os.getuid()}") / "recalld"  # noqa: S108 - see below
    files.make_folder(folder)
    for parent in (folder.parent, folder):  # another user who may write to either could put a socket of their own there
        found = files.disk.stat(parent)
        if found is None or not stat.S_ISDIR(found.mode) or found.uid != os.getuid() or found.mode & 0o077:
            raise PermissionError(1, "it is a link, belongs to somebody else, or others may look into it", str(parent))
    far = folder / f"{hashlib.sha256(os.fsencode(paths.root)).hexdigest()[:16]}.sock"
    files.replace(noted, str(far).encode(), files.read_stable(noted))
    return far


class _SocketServer:
    """One thread that accepts connections, and one for each connection, at most _MAX_CONNECTIONS."""

    def __init__(
        self, listen: Callable[[], tuple[socket.socket, Callable[[], None]]], answer: Answer, report: Callable[[str], None]
    ) -> None:
        self._listen, self._answer, self._report = listen, answer, report
        self._listener: socket.socket | None = None
        self._remove_path: Callable[[], None] = lambda: None
        self._ending = threading.Event()
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._running = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name="socket", daemon=True)

    def start(self) -> None:
        self._open()
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        if self._listener:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not end a waiting accept()
        self._thread.join(_JOIN_S)
        if self._listener:
            self._listener.close()
        with contextlib.suppress(OSError):
            self._remove_path()

    def _open(self) -> None:
        """Open the socket, unless the disk refuses: the supervisor also works without one."""
        try:
            self._listener, self._remove_path = self._listen()
        except OSError as error:
            if error.errno not in _DISK_ERRORS:
                raise
            self._report(f"the socket can't be made: {error.strerror}")

    def _accept(self) -> None:
        while self._listener is None and not self._ending.wait(_REOPEN_S):
            try:
                self._open()
            except OSError as error:
                self._report(f"the socket can't be made: {error}")
                return
        while self._listener and not self._ending.is_set():
            self._free.acquire()
            try:
                line, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(line,), name="request", daemon=True).start()
            except (OSError, RuntimeError):  # no free file descriptor or thread for now, or the end
                self._free.release()
                self._ending.wait(_RETRY_S)

    def _serve(self, line: socket.socket) -> None:
        with line:
            try:
                self._handle(line)
            except OSError:
                pass  # the client has gone, or does not take the answer
            except Exception as error:  # noqa: BLE001 - a bug fails this request alone; only its kind is reported, its text may quote a message
                self._report(str(InternalError.of("a command at the socket", error)))
            finally:
                self._free.release()

    def _handle(self, line: socket.socket) -> None:
        """Read one request and answer it; an invalid one, or one of another version, gets no answer."""
        data = read_request(line)
        if not data:
            return  # a client that only checked whether there is a supervisor
        try:
            request = parse_request(data)
        except ValueError as error:
            self._report(f"a request at the socket was refused: {error}")
            return
        if request is None:
            return
        line.settimeout(_SEND_S)
        line.sendall(b"\n")
        with self._running:
            try:
                answer = self._answer(request)
            except ValueError:
                return
        line.sendall(json.dumps(answer).encode())
