"""The command that shows recalld on a made-up year: a workspace in a temporary folder, removed when it ends (cli.md)."""

from __future__ import annotations

import json as json_text
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from recalld.supervisor.interfaces.cli.app import Context, Json, Now  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.interfaces.cli.output import as_json
from recalld.supervisor.interfaces.cli.service import show_page
from recalld.supervisor.interfaces.locate import page_address
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest, NoService, from_os_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from recalld.supervisor.interfaces.cli.call import Call
    from recalld.supervisor.text.language import Language

_HOST: Final = "127.0.0.1"
#: The system prompt of the questions.
_SYSTEM: Final = {"en": "You are Maya's assistant.", "zh": "你是苏禾的助手。"}
#: What was said in this time before the end is not filed yet.
_WAITING: Final = timedelta(hours=3)


def demo(
    ctx: Context,
    now: Now = None,
    json: Json = False,
    port: Annotated[int, typer.Option("--port", help="the port of the page; else one that is free")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="print the address alone")] = False,
) -> None:
    """Show a made-up year on the page, in a temporary folder that is removed at the end."""
    call: Call = ctx.obj
    from recalld.supervisor.storage.clock import utc_now
    from recalld.supervisor.storage.signals import on_signals
    from recalld.supervisor.workspace import open_workspace

    at = call.moment(now) or utc_now()
    language, port = call.language, _free(port)
    running = _Running(_plain(os.environ))
    on_signals(running.end)
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))  # its terminal was closed
    with _temporary() as folder:
        if not json:
            call.show(call.render(Text("demo.making")))
        _make(Path(folder), running, language, at, port)
        for address in running.served(folder):
            call.show(as_json({"address": address, "workspace": folder}) if json else address)
            if not json:
                call.show(call.render(Text("demo.ready", root=folder)))
                if not no_browser:
                    show_page(open_workspace(Path(folder), running.environ, utc_now), address)
            sys.stdout.flush()


def _free(port: int) -> int:
    """Return the port, or a free one for 0; an error if something else listens there."""
    if not 0 <= port <= 65_535:
        raise BadRequest("--port", Text("demo.no_port", value=port))
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            line.bind((_HOST, port))
        except OSError as error:
            raise _refused(port) from error
        return int(line.getsockname()[1])


def _refused(port: int) -> NoService:
    return NoService(Text("http.port_refused", port=port), Text("demo.other_port"))


def _plain(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those of a workspace or a service of the user's, which have nothing to say here."""
    return {
        key: value
        for key, value in environ.items()
        if key == "RECALLD_NOW" or not key.startswith(("RECALLD_", "NOTIFY_SOCKET", "JOURNAL_STREAM"))
    }


def _temporary() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="recalld-demo-", ignore_cleanup_errors=True)
    except OSError as error:
        raise from_os_error(error, os.environ.get("TMPDIR") or "/tmp") from error  # noqa: S108 - named, not used


def _make(root: Path, running: _Running, language: Language, at: datetime, port: int) -> None:
    """Fill the folder: the year is filed and summarised, what was said last waits, and some questions were asked."""
    from recalld.supervisor.interfaces.api import Memory
    from recalld.supervisor.interfaces.demo.year import made_up_year
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.clock import find_zone, fixed_clock, machine_zone, to_wire
    from recalld.supervisor.storage.disk import RealDisk
    from recalld.supervisor.storage.files import Files

    zone = machine_zone()
    year = made_up_year(language, at.astimezone(find_zone(zone)))
    old = [one for one in year.messages if one["createdAt"] < to_wire(at - _WAITING)]
    files, paths = Files(RealDisk()), WorkspacePaths(root)
    toml = f'language = "{language}"\n\n[archive]\ntimezone = "{zone}"\n\n[serve]\nport = {port}\n'
    files.create(paths.config, toml.encode())
    files.create(paths.history, json_text.dumps(old, ensure_ascii=False).encode())
    files.create(root / "memory.md", "".join(f"{line}\n" for line in year.lines).encode())
    running.run(str(root), at)
    Memory(root, environ=running.environ, clock=fixed_clock(at)).append(year.messages[len(old) :])
    for question in year.questions:
        memory = Memory(root, environ=running.environ, clock=fixed_clock(question.at))
        memory.context(question.text, _SYSTEM[language], session=question.session)


class _Running:
    """The processes of the workspace, one after another; `end` ends the present one, and lets no other begin."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._is_ending = False
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def end(self) -> None:
        """End what runs, as Ctrl-C does."""
        with self._lock:
            self._is_ending = True
            if self._process:
                self._process.terminate()

    def run(self, root: str, at: datetime) -> None:
        """File and summarise what there is, as of *at*."""
        from recalld.supervisor.storage.clock import to_wire

        process = self._start(root, "--until-settled", "--now", to_wire(at))
        process.communicate()
        self._check(process)

    def served(self, root: str) -> Iterator[str]:
        """Run the supervisor; yield the address of the page once it is there, and go on until the supervisor ends."""
        from recalld.supervisor.protocol.paths import WorkspacePaths

        process = self._start(root)
        for line in process.stdout or ():
            event = json_text.loads(line)
            if event["event"] == "port_open":
                token = WorkspacePaths(Path(root)).token.read_text(encoding="ascii").strip()
                yield f"{page_address(_HOST, event['port'])}/#token={token}"
            elif event["event"] == "port_refused" and event.get("reason"):
                self.end()
                raise _refused(event["port"])
        process.wait()
        self._check(process)

    def _start(self, root: str, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "recalld", "-w", root, "run", "--json", *options]
        with self._lock:
            if self._is_ending:
                raise typer.Exit
            self._process = subprocess.Popen(
                command, env=self.environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
            return self._process

    def _check(self, process: subprocess.Popen[str]) -> None:
        """End the command where it was ended, or where the process failed, which has said why."""
        if self._is_ending or process.returncode:
            raise typer.Exit(0 if self._is_ending else process.returncode)


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    app.command()(demo)
