"""
One run of a command: its workspace, clock, variables and input, what it prints, and how it ends (cli.md).

A supervisor runs a command for a client with the client's workspace, variables and input, and returns the text. In a process of
its own a command prints at once. No parser of arguments is loaded here: `append` needs none.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn
from zoneinfo import ZoneInfo

from ...storage.clock import Clock, find_zone, fixed_clock, machine_zone, read_instant, to_wire, utc_now, why_no_instant
from ...storage.errors import BadRequest, InternalError, SupervisorError, as_supervisor_error, from_os_error
from ...storage.process import is_journal
from ...storage.texts import Text, render
from ...text.foreign_text import printable, printable_line
from ...text.lazy_re import lazy_re
from ..locate import workspace_of

if TYPE_CHECKING:
    from ...operations.operation import Caller
    from ...storage.control import Control
    from ...text.language import Language
    from ...workspace import Workspace

#: The beginning of commands in sentences that need `-w`; `init` names its workspace, an installed `service` that of its unit.
_COMMAND: Final = lazy_re(r"`recalld (?=[a-z])(?!init |service (?!install))")
#: The prefix of an error in the journal: its priority, as in sd-daemon(3).
ERROR_MARK: Final = "<3>"
#: The last year of a clock: waits and limits reach some years ahead, and the calendar ends with 9999.
_LAST_YEAR: Final = 9900


class Call:
    """One run of a command in this process, with its arguments and variables."""

    #: True if a supervisor runs the command for a client.
    is_served: ClassVar[bool] = False

    def __init__(self, argv: list[str] | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.argv = sys.argv[1:] if argv is None else argv
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        #: The options that several commands have.
        self.session = self.chat = ""
        self.given_workspace: Path | None = None
        self.given_now: str | None = None
        self.json = False
        #: The workspace that `-w` names; None if it was found without.
        self.named: Path | None = None
        #: The workspace that the command has opened; None before.
        self.workspace: Workspace | None = None
        #: The ids of what it did to memory, as `undo` takes them.
        self.acts: list[str] = []
        #: Who reads what it prints; None before that is known.
        self.asker: Caller | None = None

    # ── what it prints ───────────────────────────────────────────────────────

    def show(self, text: str) -> None:
        """Print the text for a person, with control characters as escapes. An OSError names standard output."""
        try:
            print(f"{printable(text)}\n", end="")  # in one piece: its reader may go after the first line
        except OSError as error:
            raise OSError(error.errno, error.strerror, Text("standard output")) from error

    def answer(self, data: object, shown: object = None) -> None:
        """Print *data* as JSON, with --json; else *shown*, or *data*: a sentence, a list of them, or a line for each key."""
        from ..output import as_json, as_text, in_local_times

        shown = data if shown is None else shown
        if self.json:
            self.show(as_json(data))
        elif isinstance(shown, dict):
            self.show(as_text(in_local_times(shown, self.zone), self.renderer()))
        else:
            render, lines = self.renderer(), shown if isinstance(shown, list) else [shown]
            self.show("\n".join(line if type(line) is str else render(line) for line in lines))

    def say(self, sentence: object, code: int = 0) -> int:
        """Print the sentence on standard error, in the language of the reader, and return the exit code."""
        if sys.stderr:  # None if the caller has closed it; `print` would then use standard output
            mark = ERROR_MARK if is_journal(sys.stderr, os.environ) else ""
            print(printable_line(f"{mark}recalld: {self.render(sentence)}"), file=sys.stderr)
        return code

    def render(self, sentence: object) -> str:
        """Return the sentence in the language of the reader, with the commands in it as they must be typed."""
        return self.renderer()(sentence)

    def renderer(self) -> Callable[[object], str]:
        """Return a function that does what `render` does, with the language chosen once."""
        language, command = self.language, f"`recalld -w {typed(self.named)} " if self.named else ""
        if not command:
            return lambda text: render(text, language)
        return lambda text: _COMMAND.sub(lambda _: command, render(text, language))

    @property
    def language(self) -> Language:
        """The language of the reader: by the workspace, even if it can't be opened, and the locale."""
        from ..wording import setting_at, spoken_language

        ws = self.workspace
        setting = ws.config.language if ws else setting_at(Path(workspace_of(self.argv, self.environ)), self.environ)
        return spoken_language(setting, self.environ)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the reader: that of the workspace or, before one is open, of the machine."""
        return self.workspace.zone if self.workspace else find_zone(machine_zone(self.environ))

    # ── what it is run with ──────────────────────────────────────────────────

    def confirm(self, question: object) -> bool:
        """Ask a person at the terminal for yes or no; anything but yes is no, KeyboardInterrupt at the end of the input."""
        print(f"{self.render(question)} [y/N]: ", end="", file=sys.stderr, flush=True)
        try:
            return input().strip().lower() in ("y", "yes", "是")
        except EOFError:
            raise KeyboardInterrupt from None

    def take(
        self, workspace: Path | None = None, now: str | None = None, json: bool = False, session: str = "", chat: str = ""
    ) -> None:
        """Take the values of the options that several commands have, before the command or behind it; the last counts."""
        self.session, self.chat = session or self.session, chat or self.chat
        self.given_workspace = workspace or self.given_workspace
        self.given_now = now or self.given_now
        self.json = self.json or json

    def root(self, path: Path | None = None) -> Path:
        """Return the absolute path of the workspace: *path*, else the option's, else the one that `workspace_of` finds."""
        self.named = path or self.given_workspace
        return Path(self.named or workspace_of([], self.environ)).expanduser().absolute()

    def moment(self) -> datetime | None:
        """Return the instant of --now or RECALLD_NOW, None for the machine's clock; BadRequest for no time."""
        where, text = ("--now", self.given_now) if self.given_now else ("RECALLD_NOW", self.environ.get("RECALLD_NOW"))
        if not text:
            return None
        if (instant := read_instant(text, UTC)) is None:
            raise BadRequest(where, why_no_instant(text, UTC))
        if instant.year > _LAST_YEAR:
            why = Text("{value!r} is at the end of the calendar; give a year up to {year}", value=text, year=_LAST_YEAR)
            raise BadRequest(where, why)
        if not self.is_served:
            os.environ["RECALLD_NOW"] = to_wire(instant)  # workers inherit it
        return instant

    def opened(self, root: Path | None = None) -> tuple[Workspace, datetime]:
        """
        Return the open workspace, that at *root* if it is given, and the moment.

        BadRequest if there is no such folder, or no `init`, supervisor, CountBot or OpenClaw has made it.
        """
        at = self.moment()
        clock: Clock = fixed_clock(at) if at else utc_now
        self.workspace = self._open(self.root(root), clock)
        refuse_plain_folder(self.workspace.paths.root)
        return self.workspace, clock()

    def _open(self, root: Path, clock: Clock) -> Workspace:
        from ...protocol.config import check_folder
        from ...workspace import open_workspace

        check_folder(root)
        return open_workspace(root, self.environ, clock)

    def caller(self, at: datetime) -> Caller:
        """
        Return the caller, for whom a supervisor keeps the index up to date.

        It has no language: only output needs one, and finding it out costs reading files.
        """
        from ...operations.operation import Caller

        who: dict[str, Any] = {"session": self.session, "chat": self.chat, "clock": lambda: at}
        self.asker = Caller(**who, interface="command", keep_fresh=not self.is_served)
        return self.asker

    def perform(self, name: str, /, **arguments: Any) -> Any:
        """Return the answer of the operation of this *name* in the workspace, for who reads the conversation."""
        from ...operations.operation import find, perform
        from ...storage.control import kept_ids

        ws, at = self.opened()
        with self.control() as control, kept_ids() as self.acts:
            return perform(find(name), ws, arguments, self.caller(at), control)

    @contextlib.contextmanager
    def control(self, *, stops: bool = False) -> Iterator[Control]:
        """Yield the control that shows the progress of long work on a terminal; where it *stops*, a signal ends it early."""
        from ...storage.control import Control
        from ..output import progress

        stop = threading.Event()
        if stops:
            from ...storage.process import on_signals

            on_signals(stop.set)
        with progress(self.render) as shown:
            yield Control(stop.is_set, shown)


class ServedCall(Call):
    """A command that a supervisor runs for a client: its text is kept, and the open workspace is *served*."""

    is_served = True

    def __init__(self, argv: list[str], environ: Mapping[str, str], named: str, served: Workspace) -> None:
        super().__init__(argv, environ)
        self._named = named
        self.workspace = served
        self.out: list[str] = []
        self.err: list[str] = []

    def show(self, text: str) -> None:
        """Keep the text for the client's standard output."""
        self.out.append(f"{printable(text)}\n")

    def say(self, sentence: object, code: int = 0) -> int:
        """Keep the sentence for the client's standard error, and return the exit code."""
        self.err.append(f"{printable_line(f'recalld: {self.render(sentence)}')}\n")
        return code

    def root(self, path: Path | None = None) -> Path:
        """Return the served workspace; ValueError if the arguments name another one."""
        self.named = path or self.given_workspace
        if self.named != (Path(self._named) if self._named else None):
            raise ValueError("another workspace")
        return self._open(Path(), utc_now).paths.root

    def _open(self, _root: Path, _clock: Clock) -> Workspace:
        if self.workspace is None:
            raise ValueError("no workspace is served")
        return self.workspace


def refuse_plain_folder(root: Path) -> None:
    """Raise BadRequest if no `init`, supervisor, CountBot or OpenClaw has made the folder."""
    from ...protocol.paths import WorkspacePaths

    if not any(path.exists() for path in WorkspacePaths(root).holds):
        raise BadRequest("--workspace", Text("{root} is no workspace; `recalld init -w {root}` makes it one", root=root))


def exit_code_of(call: Call, command: Callable[[], int]) -> int:
    """Run the command and return its exit code; an error is a sentence on standard error."""
    try:
        return command()
    except BadRequest as error:
        # in Chinese the name of an argument, which is an English word, is left out: its place on the line says which it is
        is_word = call.language == "zh" and error.field.isalpha() and error.field.islower()
        return call.say(Text("{why}.", why=error.why) if is_word else error, error.exit_code)
    except SupervisorError as error:
        return call.say(error, error.exit_code)
    except KeyboardInterrupt:
        return call.say(Text("interrupted."), 130)
    except BrokenPipeError:
        return 0  # the reader of the output has closed it
    except (OSError, RuntimeError, ExceptionGroup) as error:
        while isinstance(error, ExceptionGroup):  # of a server's tasks: the first says it
            error = error.exceptions[0]
        refused = as_supervisor_error(error, "the command", Text("the workspace"))
        if isinstance(refused, InternalError):
            raise
        return call.say(refused, refused.exit_code)


def run_and_exit(call: Call, command: Callable[[], int], *, at_once: bool = False) -> NoReturn:
    """
    Run the command and exit with its code.

    With *at_once* Python does not clean up at the end, for a command that leaves no thread and no file open.
    """
    os.umask(0o077)  # the index engine creates files itself, and they contain messages
    code = exit_code_of(call, command)
    try:
        if sys.stdout:  # None if the caller has closed it
            sys.stdout.flush()
    except OSError as error:
        code = unprinted(call, error) or code
    if at_once:
        with contextlib.suppress(OSError, AttributeError):  # the reader has gone, or the caller has closed the stream
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def unprinted(call: Call, error: OSError) -> int:
    """Return the exit code after the output could not be printed; 0 if its reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # buffered output goes there at the end of the process
    if isinstance(error, BrokenPipeError):
        return 0
    refused = from_os_error(error, Text("standard output"))
    return call.say(refused, refused.exit_code)


def typed(path: Path) -> str:
    """Return the path as a shell reads it, with ~ if it is in the user's own folder."""
    from shlex import quote

    with contextlib.suppress(ValueError, RuntimeError):  # the path is elsewhere, or the user has no folder
        return "~/" + quote(str(path.relative_to(Path.home())))
    return quote(str(path))
