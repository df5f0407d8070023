"""
What comes in at the door: one JSON line, {version, argv, env} (docs/cli.md).

The supervisor's Unix socket, mode 0600: one JSON line in, the same command run here, one JSON line out (docs/cli.md).

A request that is understood is acknowledged at once by an empty line, before the work is done: so its asker knows that somebody
is there. One that can't be honoured gets no answer, and the command that asked does the work itself. Whatever is sent here, by
however many, the next one is served.
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

_MOST: Final = 1 << 20  # bytes of a request
#: Seconds within which a whole request is here: who asks has it ready before it connects.
_READ_S: Final = 0.1
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A command that somebody wants done: its arguments, and the RECALLD_* variables of who asks."""

    argv: list[str]
    environ: Mapping[str, str]


def read_request(line: socket.socket) -> bytes:
    """Return what came before the end of a line, of the connection, of the time or of patience."""
    data, deadline = bytearray(), within(_READ_S)
    with contextlib.suppress(TimeoutError):
        while not data.endswith(b"\n") and len(data) <= _MOST and not deadline.is_over:
            line.settimeout(max(deadline.left_s, 0.001))
            more = line.recv(1 << 16)
            if not more:
                break
            data += more
    return bytes(data)


def parse_request(data: bytes) -> Request | None:
    """Return the request, None where it is of another version; ValueError where it is none."""
    if len(data) > _MOST:
        raise ValueError("it is too long")
    if not data.endswith(b"\n"):
        raise ValueError("its line has no end")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - of the asker, not of our types
    if found.get("version") != _VERSION:
        return None
    argv, environ = found.get("argv"), found.get("env")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise ValueError("its argv is no list of words")
    if not isinstance(environ, dict) or not all(isinstance(value, str) for value in environ.values()):
        raise ValueError("its env does not give each variable a text")
    return Request(argv, environ)


#: A path much longer than this does not bind.
_LONGEST: Final = 100
#: Seconds within which an answer is taken.
_TAKE_S: Final = 2.0
#: Seconds until a connection that could not be accepted is tried again; how long the end is waited for.
_AGAIN_S: Final = 0.1
_END_S: Final = 1.0
#: What a disk refuses that is full or broken, and seconds until the socket is tried again then.
_REFUSALS: Final = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
_OPEN_AGAIN_S: Final = 10.0
#: Connections that are dealt with at once; one is worked for at a time.
_AT_ONCE: Final = 16


Answer: TypeAlias = "Callable[[Request], dict[str, Any]]"


@contextlib.contextmanager
def open_door(paths: WorkspacePaths, files: Files, answer: Answer, tell: Callable[[str], None]) -> Iterator[None]:
    """
    Answer requests, one at a time, in threads of its own, until the block ends.

    *answer* raises ValueError for what it can't honour; *tell* hears of requests that are none, of bugs, and of a disk that is
    too full or broken for a socket: then it is tried again, and commands do their work themselves meanwhile.
    """
    served = _Door(lambda: _bound(paths, files), answer, tell)
    served.start()
    try:
        yield
    finally:
        served.end()


def _bound(paths: WorkspacePaths, files: Files) -> tuple[socket.socket, Callable[[], None]]:
    """Return a socket that listens, and what takes its path away."""
    files.make_folder(paths.state)
    path = _path(paths, files)
    files.remove(path)  # of a supervisor that was killed; its lock is ours now
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(door.fileno(), 0o600)  # which its path will have; a umask would be the whole process's
        door.bind(str(path))
    except BaseException:
        door.close()
        raise
    door.listen(64)
    return door, lambda: files.remove(path)


def _path(paths: WorkspacePaths, files: Files) -> Path:
    """Return where to listen, and note it where that is not beside the state."""
    path, noted = paths.state / "socket", paths.state / "socket.path"
    if len(os.fsencode(path)) <= _LONGEST:
        files.remove(noted)
        return path
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/recalld-{os.getuid()}") / "recalld"  # noqa: S108 - see below
    files.make_folder(folder)
    for ours in (folder.parent, folder):  # whoever may write to either could put a socket of their own there
        found = files.disk.stat(ours)
        if found is None or not stat.S_ISDIR(found.mode) or found.uid != os.getuid() or found.mode & 0o077:
            raise PermissionError(1, "it is a link, belongs to somebody else, or others may look into it", str(ours))
    far = folder / f"{hashlib.sha256(os.fsencode(paths.root)).hexdigest()[:16]}.sock"
    files.replace(noted, str(far).encode(), files.read_stable(noted))
    return far


class _Door:
    """One thread that accepts, and one for each connection, a few at most."""

    def __init__(
        self, make: Callable[[], tuple[socket.socket, Callable[[], None]]], answer: Answer, tell: Callable[[str], None]
    ) -> None:
        self._make, self._answer, self._tell = make, answer, tell
        self._door: socket.socket | None = None
        self._take_away: Callable[[], None] = lambda: None
        self._ending = threading.Event()
        self._free = threading.BoundedSemaphore(_AT_ONCE)
        self._working = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name="door", daemon=True)

    def start(self) -> None:
        self._open()
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        if self._door:
            with contextlib.suppress(OSError):
                self._door.shutdown(socket.SHUT_RDWR)  # closing it alone wakes nobody who accepts
        self._thread.join(_END_S)
        if self._door:
            self._door.close()
        with contextlib.suppress(OSError):
            self._take_away()

    def _open(self) -> None:
        """Make the socket, unless the disk refuses: the supervisor does its work without one."""
        try:
            self._door, self._take_away = self._make()
        except OSError as error:
            if error.errno not in _REFUSALS:
                raise
            self._tell(f"the socket can't be made: {error.strerror}")

    def _accept(self) -> None:
        while self._door is None and not self._ending.wait(_OPEN_AGAIN_S):
            try:
                self._open()
            except OSError as error:
                self._tell(f"the socket can't be made: {error}")
                return
        while self._door and not self._ending.is_set():
            self._free.acquire()
            try:
                line, _ = self._door.accept()
                threading.Thread(target=self._serve, args=(line,), name="asked", daemon=True).start()
            except (OSError, RuntimeError):  # no more files or threads for now, or the end
                self._free.release()
                self._ending.wait(_AGAIN_S)

    def _serve(self, line: socket.socket) -> None:
        with line:
            try:
                self._deal(line)
            except OSError:
                pass  # who asked has gone, or never takes the answer
            except Exception as error:  # noqa: BLE001 - a command's bug is this asker's alone; its text may quote a message
                self._tell(str(InternalError.of("a command at the socket", error)))
            finally:
                self._free.release()

    def _deal(self, line: socket.socket) -> None:
        """Read one request, and answer it; what is none, or of another version, is left without a word."""
        data = read_request(line)
        if not data:
            return  # somebody who only looked whether there is a supervisor
        try:
            request = parse_request(data)
        except ValueError as error:
            self._tell(f"a request at the socket was refused: {error}")
            return
        if request is None:
            return
        line.settimeout(_TAKE_S)
        line.sendall(b"\n")
        with self._working:
            try:
                answer = self._answer(request)
            except ValueError:
                return
        line.sendall(json.dumps(answer).encode())
