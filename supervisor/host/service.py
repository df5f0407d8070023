"""
What a service reports: to the service manager that started it that it works, and to its user that it is down, the alarm.

The manager gets sd_notify(3), a datagram of lines on a Unix socket. The supervisor is ready once the first round is over. From
then on the end of a round, and each file that a long archive run writes, feed the watchdog: a supervisor that hangs is killed
and started again. Time alone does not feed it. A message that can't be sent is dropped, since nothing must wait for its reader.
`systemctl status` shows the first fault of the last round, or that it runs.

The alarm is a script for /bin/sh, which a unit of its own starts. A disk, the Python of the service or the whole workspace may
be gone by then, so a folder that only the user can read has all that it needs: `care.on_trouble`, the last error, a sentence in
the workspace's language.
"""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Final

from ..storage.disk import RealDisk
from ..storage.errors import SupervisorError, as_supervisor_error
from ..storage.files import Files
from ..storage.texts import Text
from ..text.language import Language
from ..text.lazy_re import lazy_re
from ..workspace import Workspace

#: A start may go on for a minute after a sign of work.
_MORE_TIME: Final = "EXTEND_TIMEOUT_USEC=60000000"
#: Seconds between two signs of work: an import writes hundreds of files a second, and the manager's socket may hold ten lines.
_SIGN_EVERY_S: Final = 1.0
#: The most characters of STATUS, which is one line of `systemctl status`.
_STATUS_CHARS: Final = 200
#: The variable of the unit that names the folder, and the files in it; the script keeps there what it reported.
VARIABLE: Final = "RECALLD_ALARM"
SCRIPT: Final = "trouble.sh"
SAID: Final = "said"
TOLD: Final = "told"
_TEMPLATE: Final = Path(__file__).resolve().parent / SCRIPT
_WORD: Final = lazy_re(r"@(\w+)@")


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

    def work_done(self) -> None:
        """Report progress of a round: it gives the start more time or, later, feeds the watchdog. At most once a second."""
        now = self._steady_s()
        if now - self._signed_s >= _SIGN_EVERY_S:
            self._signed_s = now
            self._send("WATCHDOG=1" if self._is_ready else _MORE_TIME)

    def round_done(self, status: str) -> None:
        """Report the end of a round: feed the watchdog and show *status*; ready from the first one."""
        ready = () if self._is_ready else ("READY=1",)
        self._is_ready = True
        self._send(*ready, "WATCHDOG=1", f"STATUS={' '.join(status.split())[:_STATUS_CHARS]}")

    def stopping(self) -> None:
        """Report that the supervisor ends after its current step."""
        self._send("STOPPING=1", "STATUS=ending after the current step")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
            line.setblocking(False)
            line.sendto("\n".join(lines).encode("utf-8", "replace"), self._address)


# ── the alarm ────────────────────────────────────────────────────────────────


class Alarm:
    """The alarm in the folder that the unit names, which is made if it is missing; none for a `recalld run` in a terminal."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = Path(environ[VARIABLE]) if environ.get(VARIABLE) else None
        self._files = Files(RealDisk())

    def keep(self, ws: Workspace) -> None:
        """Write the script with the present configuration of the workspace."""
        self._write(SCRIPT, script(ws), mode=0o700)

    @contextlib.contextmanager
    def last_words(self, render: Callable[[object], str]) -> Iterator[None]:
        """Keep the sentence of the error that ends the service, in the language of *render*."""
        self._write(SAID, b"")
        try:
            yield
        except (SupervisorError, OSError) as error:
            refused = as_supervisor_error(error, "run", Text("the workspace"))
            self._write(SAID, f"{render(refused).rstrip('.。')}\n".encode("utf-8", "replace"))
            raise

    def _write(self, name: str, data: bytes, mode: int = 0o600) -> None:
        if self._folder:
            with contextlib.suppress(OSError, SupervisorError):  # an alarm that can't be kept stops no service
                self._files.make_folder(self._folder)
                path = self._folder / name
                self._files.replace(path, data, self._files.read_stable(path), mode=mode)


def script(ws: Workspace) -> bytes:
    """Return the script for the service of the workspace."""
    language: Language = "zh" if ws.config.language == "zh" else "en"
    texts = {"result": systemd_says("%s"), "down": down("%s", "%s", "journalctl --%s=%s")}
    words = {name: text.in_language(language) for name, text in texts.items()}
    words |= {"command": ws.config.care.on_trouble, "workspace": str(ws.paths.root)}
    template = _TEMPLATE.read_text(encoding="utf-8")
    return _WORD.sub(lambda match: quote(words[match[1]]), template).encode("utf-8", "surrogateescape")


def systemd_says(result: str) -> Text:
    """Return why a service does not run that said nothing itself: systemd's word, and an exit code."""
    return Text("it failed, which systemd calls {result}", result=result)


def down(unit: str, why: str, logs: str) -> Text:
    """Return the sentence that a service does not run, with the command that shows its output."""
    return Text("{unit} does not run: {why}; `{command}` shows its output.", unit=unit, why=why, command=logs)
