"""
What a command is run with, and how it ends: workspace, clock, variables and input; error sentence and exit code (cli.md).

If the supervisor runs a command for a client, the client's workspace and variables are used in place of the supervisor's own.
No parser of arguments is loaded here: `append` needs none.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from recalld.supervisor.interfaces.locate import workspace_of
from recalld.supervisor.storage.clock import Clock, fixed_clock, read_instant, to_wire, utc_now, why_no_instant
from recalld.supervisor.storage.errors import BadRequest, SupervisorError, from_os_error
from recalld.supervisor.storage.output import is_journal
from recalld.supervisor.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from recalld.supervisor.text.language import Language
    from recalld.supervisor.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Call:
    """A command that came through the socket: the workspace it names, the client's variables, the open workspace."""

    named: str
    environ: Mapping[str, str]
    served: Workspace


@dataclass(frozen=True, slots=True)
class Once:
    """
    What makes a message the same one, whoever adds it: when its client began, 10 random bytes, words from standard input.

    A client whose supervisor was asked and did not answer adds the message itself, which may be added by then.
    """

    at: datetime
    entropy: bytes
    words: str | None

    @classmethod
    def of(cls, found: Any) -> Once:
        """Return what a request has under "once"; ValueError if it is invalid."""
        try:
            at, entropy, words = datetime.fromtimestamp(found["at"], UTC), bytes.fromhex(found["entropy"]), found["words"]
        except (KeyError, TypeError, OverflowError, OSError):
            raise ValueError("its once is invalid") from None
        if len(entropy) != _ENTROPY_BYTES or not (words is None or isinstance(words, str)):
            raise ValueError("its once is invalid")
        return cls(at, entropy, words)


_ENTROPY_BYTES: Final = 10
#: What the client of this command made before it asked a supervisor; None for a command that asks none.
ONCE: Final[ContextVar[Once | None]] = ContextVar("once", default=None)
#: The request that is being answered; None in a process that runs its own command.
CALL: Final[ContextVar[Call | None]] = ContextVar("call", default=None)
#: The workspace that the command has opened; None before.
OPENED: Final[ContextVar[Workspace | None]] = ContextVar("opened", default=None)
#: The workspace that `-w` names; None where it was found without.
NAMED: Final[ContextVar[Path | None]] = ContextVar("named", default=None)
#: How the commands begin that a sentence names; `init` names its workspace itself, and `service` has that of its unit once it
#: is installed.
_COMMAND: Final = re.compile(r"`recalld (?=[a-z])(?!init |service (?!install))")
#: Whether a supervisor was asked first and did not respond.
MUTE: Final[ContextVar[bool]] = ContextVar("mute", default=False)
#: What stands before an error in the journal: its priority, as sd-daemon(3) has it.
ERROR_MARK: Final = "<3>"
#: The last year of a clock: waits and limits reach some years ahead, and the calendar ends with 9999.
_LAST_YEAR: Final = 9900
#: The options before the command.
GIVEN: Final[dict[str, Any]] = {}


def is_served() -> bool:
    """Return whether the supervisor runs the command for a client."""
    return CALL.get() is not None


def environ() -> Mapping[str, str]:
    """Return the environment variables of the client, or of this process."""
    call = CALL.get()
    return call.environ if call else os.environ


def read_words() -> str:
    """Return standard input as text, that of the client if the supervisor runs the command."""
    once = ONCE.get()
    if once and once.words is not None:
        return once.words
    if is_served():
        raise ValueError("its input is at its client")
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")


def root_of(workspace: Path | None) -> Path:
    """
    Return the absolute path of the workspace: the option's, else what `workspace_of` finds.

    ValueError if a client's arguments name another workspace than `named_workspace` found, by which it chose the supervisor.
    """
    chosen = workspace or GIVEN.get("workspace")
    NAMED.set(chosen)
    if call := CALL.get():
        if chosen != (Path(call.named) if call.named else None):
            raise ValueError("another workspace")
        return call.served.paths.root
    return Path(chosen or workspace_of([], os.environ)).expanduser().absolute()


def moment(now: str | None, option: str = "--now") -> datetime | None:
    """Return the instant of *option* or RECALLD_NOW, None for the machine's clock; BadRequest if it is no time."""
    text = now or GIVEN.get("now") or environ().get("RECALLD_NOW")
    if not text:
        return None
    found = read_instant(text, UTC)
    if found is None:
        raise BadRequest(option, why_no_instant(text, UTC))
    if found.year > _LAST_YEAR:
        raise BadRequest(option, f"{text!r} is at the end of the calendar; give a year up to {_LAST_YEAR}")
    if CALL.get() is None:
        os.environ["RECALLD_NOW"] = to_wire(found)  # workers inherit it
    return found


def opened(workspace: Path | None, now: str | None, option: str = "--now") -> tuple[Workspace, datetime]:
    """Return the open workspace and the moment that *option* gives a one-shot command; BadRequest without such a workspace."""
    once = ONCE.get()
    at = moment(now, option) or (once.at if once else None)
    clock: Clock = fixed_clock(at) if at else utc_now
    root = root_of(workspace)
    if call := CALL.get():
        OPENED.set(call.served)
        return call.served, clock()
    if root.exists() and not root.is_dir():
        raise BadRequest("--workspace", f"{root} is a file, not a folder")
    if not root.is_dir():
        raise BadRequest("--workspace", f"{root} is not there; make it with `recalld init -w {root}`")
    from recalld.supervisor.workspace import open_workspace

    ws = open_workspace(root, os.environ, clock)
    OPENED.set(ws)
    if MUTE.get():
        ws.events.transition("supervisor_mute", True)
    return ws, clock()


def refuse_other_chats(chat: str) -> None:
    """Raise BadRequest if *chat*, what `--chat` gives, is none of the three kinds."""
    if chat not in ("direct", "group", "channel"):
        raise BadRequest("--chat", f"{chat!r} is not direct, group or channel")


def exit_code_of(command: Callable[[], int]) -> int:
    """Run the command and return its exit code; an error is a sentence on standard error."""
    try:
        return command()
    except SupervisorError as error:
        return say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return say("interrupted.", 130)
    except BrokenPipeError:
        return 0  # the reader of the output has gone
    except OSError as error:
        return _refused(error, error.filename or "the workspace")


def run_and_exit(command: Callable[[], int], *, is_mute: bool = False, at_once: bool = False) -> NoReturn:
    """
    Run the command and exit with its code; *is_mute*: a supervisor did not respond.

    With *at_once* no object is taken apart at the end, for a command that leaves no thread and no file open.
    """
    MUTE.set(is_mute)
    os.umask(0o077)  # the index engine creates files itself, and they contain messages
    code = exit_code_of(command)
    try:
        if sys.stdout:  # None if the caller has closed it
            sys.stdout.flush()
    except OSError as error:
        code = unprinted(error)
    if at_once:
        with contextlib.suppress(OSError, AttributeError):  # its reader has gone, or the caller has closed it
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _refused(error: OSError, where: str) -> int:
    refused = from_os_error(error, where)
    return say(str(refused), refused.exit_code)


def say(sentence: str, code: int) -> int:
    """Print the sentence on standard error, in the language of who reads it, and return the exit code."""
    if sys.stderr:  # None if the caller has closed it: then `print` would choose standard output
        mark = ERROR_MARK if is_journal(sys.stderr, os.environ) else ""
        print(printable(f"{mark}recalld: {spoken(sentence)}"), file=sys.stderr)
    return code


def spoken(sentence: str) -> str:
    """Return the sentence in the language of who reads it."""
    return teller()(sentence)


def teller() -> Callable[[str], str]:
    """Return what puts a sentence in the language of who reads it, and the commands in it as they must be typed."""
    from recalld.supervisor.interfaces.chinese import in_chinese

    tell: Callable[[str], str] = in_chinese if language() == "zh" else str
    named = NAMED.get()
    if named is None:
        return tell
    command = f"`recalld -w {_typed(named)} "
    return lambda sentence: _COMMAND.sub(lambda _: command, tell(sentence))


def _typed(path: Path) -> str:
    """Return the path as a shell reads it, short where it is in the user's own folder."""
    from shlex import quote

    with contextlib.suppress(ValueError, RuntimeError):  # elsewhere, or there is no such folder
        below = str(path.relative_to(Path.home()))
        return "~/" + quote(below)
    return quote(str(path))


def language() -> Language:
    """Return the language of who reads what is printed: that of the workspace, also if it can't be opened."""
    from recalld.supervisor.interfaces.chinese import spoken_language

    call = CALL.get()
    if ws := OPENED.get() or (call.served if call else None):
        return spoken_language(ws.config.language, environ(), _newest_words(ws))
    return spoken_language(_language_asked_for(), environ(), ())


def _language_asked_for() -> str:
    """Return the key `language` of a workspace that is not open: arguments or configuration are wrong, or it is not there."""
    from recalld.supervisor.protocol.config import language_key
    from recalld.supervisor.protocol.paths import WorkspacePaths
    from recalld.supervisor.storage.disk import RealDisk
    from recalld.supervisor.storage.files import Files

    toml = None
    with contextlib.suppress(OSError, ValueError, SupervisorError):
        root = Path(workspace_of(sys.argv[1:], os.environ)).expanduser().absolute()
        version = Files(RealDisk()).read_stable(WorkspacePaths(root).config)
        toml = version.data if version else None
    return language_key(toml, os.environ)


def _newest_words(ws: Workspace) -> Iterator[str]:
    """Yield what tells the language of the memory, the newest first: the end of the conversation, then dated files."""
    from recalld.supervisor.protocol.paths import day_of_name

    with contextlib.suppress(OSError, SupervisorError):
        if said := ws.history.last_words():
            yield said
        for folder in (ws.paths.memory, *reversed(ws.memory.month_folders())):
            for name in sorted(filter(day_of_name, ws.files.disk.names(folder)), reverse=True)[:1]:
                yield "\n".join(ws.memory.message_texts(name))[:4_000]


def unprinted(error: OSError) -> int:
    """Return the exit code after the output could not be printed; 0 if its reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # buffered output goes there at the end of the process
    return 0 if isinstance(error, BrokenPipeError) else _refused(error, "standard output")
