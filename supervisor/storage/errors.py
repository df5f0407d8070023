"""
The errors of recalld, each with its fields, one sentence and an exit code.

Expected outcomes are values; an error is for what its caller could not have prevented. The loop logs it and goes on, an
interface translates it, the worker makes a failed result of it. Source of the exit codes: docs/reference/protocol.md, 8.
"""

from __future__ import annotations

import errno
import re
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, dataclass_transform

from ..text.lazy_re import lazy_re
from .texts import Text, msgid

if TYPE_CHECKING:
    from ..text.language import Language


@dataclass_transform(eq_default=False)
class SupervisorError(Exception):
    """
    The base of all errors of recalld: `except SupervisorError` catches each; only the classes below are raised.

    Each class is a dataclass of its fields, and `str` returns its sentence in English. It is not frozen, since Python sets the
    traceback while an error is handled, and an error equals only itself.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    #: Its name for programs, such as "error.bad_file", and its sentence.
    code: ClassVar[str] = ""
    english: ClassVar[str]

    def __init_subclass__(cls, exit_code: int | None = None, http_status: int | None = None) -> None:
        """Make the class a dataclass, and name it for programs; a kind of another error has that one's name and numbers."""
        dataclass(eq=False, repr=False)(cls)
        cls.exit_code = cls.exit_code if exit_code is None else exit_code
        cls.http_status = http_status or cls.http_status
        cls.code = cls.code or "error." + re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())  # pickle and copy create the error from these

    def __str__(self) -> str:
        return str(self.sentence)

    @property
    def sentence(self) -> Text:
        """What was wrong, and what to do."""
        return Text(self.english, **self._fields())

    def in_language(self, language: Language) -> str:
        """Return the sentence in *language*."""
        return self.sentence.in_language(language)

    def _fields(self) -> dict[str, Any]:
        return vars(self)


class BadConfig(SupervisorError, exit_code=78):
    """The configuration is wrong; *key* is "section.key", a variable's name, or the file. Never retried."""

    english = msgid("{key}: {why}.")
    key: str
    why: str


class BadRequest(SupervisorError, exit_code=64, http_status=400):
    """A caller's argument is wrong (command line, tool, REST 400); *field* names it."""

    english = msgid("{field}: {why}.")
    field: str
    why: str


class OwnersAlone(BadRequest, http_status=403):
    """What a group asked for is the owner's alone (REST 403)."""


class NotFound(SupervisorError, exit_code=64, http_status=404):
    """The requested file does not exist (REST 404)."""

    english = msgid("{path} does not exist; check the path, relative to the workspace.")
    path: PurePath | str


class StaleLine(SupervisorError, exit_code=64, http_status=409):
    """*ref* has no digest, or not that of the line that is there: *now* ("" for none) with this *text*. Nothing was deleted."""

    english = msgid("{ref} is not the name of the line that is there now: {found}; nothing was changed.")
    ref: str
    now: str
    text: str

    def _fields(self) -> dict[str, Any]:
        line = Text("it is {line}, {text}", line=self.now, text=self.text) if self.now else Text("there is none")
        return {"ref": self.ref, "found": line}


class StaleText(SupervisorError, exit_code=64, http_status=412):
    """The file at *path* is no longer the one that was read (REST 412): it has this *etag* and *text* now."""

    english = msgid("{path} was changed after it was read, and nothing was written; bring both texts together, and save again.")
    path: PurePath | str
    etag: str
    text: str


class BadFile(SupervisorError, exit_code=65, http_status=422):
    """A file can't be parsed; a copy of it goes to quarantine, and everything else goes on. *mend* says what mends it."""

    english = msgid("{path} can't be read: {why}; {mend}; it was not overwritten.")
    path: PurePath | str
    why: str
    mend: str = Text("repair it or move it away")


class Unchangeable(SupervisorError, exit_code=74):
    """A file that another program or a person keeps is in a form that recalld does not write; it was left as it is."""

    english = msgid("{path} can't be changed: {why}; {mend}; it was left as it is.")
    path: PurePath | str
    why: str
    mend: str


class BadBackup(SupervisorError, exit_code=65, http_status=422):
    """The file is no backup, or not all of it is as it was made; nothing was unpacked."""

    english = msgid("{path} is no sound backup: {why}; nothing was unpacked, use another one.")
    path: PurePath | str
    why: str


class Busy(SupervisorError, exit_code=75, http_status=503):
    """A lock was not obtained within *waited_s* seconds (REST 503); the next tick tries again."""

    english = msgid("{path} is in use by another program and was not free within {waited_s:g} s; try again.")
    path: PurePath | str
    waited_s: float


class AlreadyRuns(SupervisorError, exit_code=75, http_status=409):
    """Another supervisor runs in the workspace *root*."""

    english = msgid("a supervisor already runs in {root}; {mend}.")
    root: PurePath | str
    mend: str = Text("use that one, or stop it first: Ctrl-C where it runs, a service with `systemctl --user stop recalld`")


class LockLost(SupervisorError, exit_code=75, http_status=503):
    """The state folder of the workspace at *root* was deleted or moved while the supervisor ran; another one may run now."""

    english = msgid(
        "{root}/.recalld was deleted or moved away while the supervisor ran, or a disk was mounted over it; the supervisor stops, start it again."
    )
    root: PurePath | str


class NoWorkspace(SupervisorError, exit_code=74, http_status=503):
    """There is no workspace at *root*: perhaps its disk is not mounted. None was made there."""

    english = msgid(
        "{root} has no workspace, and none was made there; mount its disk or move it back, `recalld init` makes a new one."
    )
    root: PurePath | str


class Conflict(SupervisorError, exit_code=75, http_status=409):
    """The file changed between reading and writing. The caller reads it again and applies its change again."""

    english = msgid("{path} was changed by another program in the meantime; try again.")
    path: PurePath | str


class NewerFormat(SupervisorError, exit_code=78):
    """A newer recalld wrote the file; *found* is the format that it states. This version never rewrites it."""

    english = msgid("{path} has format {found} of a newer recalld; upgrade recalld to open it.")
    path: PurePath | str
    found: str | int


class StorageError(SupervisorError, exit_code=74, http_status=507):
    """Reading or writing failed: the disk is full, gone or broken. No file was replaced by a part of one."""

    english = msgid("{path} could not be read or written: {why}; check the disk and its free space.")
    path: PurePath | str
    why: str


class NoProcess(SupervisorError, exit_code=71, http_status=503):
    """The system refuses to start a process, a worker's, or a thread."""

    english = msgid(
        "the system starts no more processes and threads: {why}; end other programs, or raise the limit of processes (ulimit -u) or memory."
    )
    why: str


class NoPermission(SupervisorError, exit_code=77, http_status=403):
    """This user may not access the file, or it is on a read-only disk. *mend* says what mends it."""

    english = msgid("{path} can't be accessed: {why}; {mend}.")
    path: PurePath | str
    why: str
    mend: str = Text("check its owner and mode")


class NoService(SupervisorError, exit_code=69, http_status=503):
    """The service manager is not there, or did not start the service. *mend* says what mends it."""

    english = msgid("the service can't run: {why}; {mend}.")
    why: str
    mend: str


class NoSummary(SupervisorError, exit_code=69, http_status=503):
    """
    The model gave no text that can become a summary; *reason* is one word, as in the events (protocol.md, 6.2).

    *is_too_long*: the prompt was longer than the model's context.
    """

    english = msgid("no summary was written: {why}; what was there stays, try again later.")
    why: str
    reason: str = "refused"
    is_too_long: bool = False


class NoUnit(SupervisorError, exit_code=64, http_status=404):
    """No service is installed: there is no unit at *path*."""

    english = msgid("no service is installed, {path} is not there; `recalld service install` installs one.")
    path: PurePath | str


class ForeignUnit(SupervisorError, exit_code=65, http_status=409):
    """A unit of that name is somebody else's, or of another workspace; it was left as it is."""

    english = msgid(
        "{path} is not as `recalld service install` made it for this workspace; move it away, and what you change in a unit goes into `systemctl edit`."
    )
    path: PurePath | str


class InternalError(SupervisorError, exit_code=1):
    """A bug: *step* failed with an exception of *kind* at *where*. Its text is left out, since it may quote a message."""

    english = msgid("{step} failed with an unexpected error ({kind} at {where}); please report it.")
    step: str
    kind: str
    where: str

    @classmethod
    def of(cls, step: str, error: Exception) -> Self:
        """Return the InternalError for *error*: its class, and the file and line that raised it."""
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "an unknown place"
        return cls(step, type(error).__name__, where)


def quoted(value: object) -> str:
    """Return a wrong value as a sentence quotes it: shortened, since it may be the text of a message, or nested for ever."""
    try:
        return reprlib.repr(value)
    except ValueError:  # a hexadecimal number of thousands of digits
        return Text("a number of that length")


def refuse_no_text(field: str, value: object) -> None:
    """Raise BadRequest if the value of the argument *field* is no text."""
    if not isinstance(value, str):
        raise BadRequest(field, Text("it must be text, not {kind}", kind=type(value).__name__))


def refuse_no_number(field: str, value: object) -> None:
    """Raise BadRequest if the value of the argument *field* is no whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(field, Text("it must be a whole number, not {kind}", kind=type(value).__name__))


def listed(field: str, values: object, of: str) -> list[Any]:
    """Return the values of the argument *field* as a list; BadRequest where they are no list *of* them; a text is no list."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise BadRequest(field, Text("it must be a list of {of}, not {kind}", of=of, kind=type(values).__name__))
    return list(values)


#: The name of a temporary file, which will replace the file *name*; errors name that file.
TEMPORARY: Final = lazy_re(r"\.(?P<name>.+)\.[0-9a-z]+-[0-9]+\.tmp")
#: Error numbers for missing permission; any other one is a fault of the disk.
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
#: What the kernel says most often, by its number; the rest is shown in English.
_SYSTEM: Final = {
    errno.ENOSPC: msgid("No space left on device"),
    errno.EACCES: msgid("Permission denied"),
    errno.EROFS: msgid("Read-only file system"),
    errno.EIO: msgid("Input/output error"),
}
#: Error numbers of the kernel, and of RealDisk.read, for a link, folder or pipe in place of a file, or a file too large.
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENXIO})


def as_supervisor_error(error: Exception, step: str, path: PurePath | str) -> SupervisorError:
    """Return what *step* raised as a SupervisorError; *path* is used where an OSError names none."""
    if isinstance(error, SupervisorError):
        return error
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":  # Python has no class for it
        return NoProcess(Text("Resource temporarily unavailable"))
    return from_os_error(error, error.filename or path) if isinstance(error, OSError) else InternalError.of(step, error)


def from_os_error(error: OSError, path: PurePath | str) -> SupervisorError:
    """Return an OSError about *path* as a SupervisorError; for `raise … from error`."""
    why = why_refused(error)
    folder, slash, name = str(path).rpartition("/")
    if temporary := TEMPORARY.fullmatch(name):
        path = f"{folder}{slash}{temporary['name']}"
    if error.errno in _NO_FILE:
        return BadFile(path, Text("it is a link, a folder or another thing that is not a regular file"))
    if error.errno == errno.ENOMEM:
        return BadConfig(
            "ulimit -v", Text("it leaves too little memory for {path}; raise it, or set it to unlimited", path=path)
        )
    if error.errno == errno.ENOTDIR:
        return BadFile(path, Text("it is a link or a file where recalld needs a folder of its own"))
    if error.errno == errno.EROFS:
        return NoPermission(path, why, Text("its disk is mounted read-only, mount it writable (`mount -o remount,rw`)"))
    return NoPermission(path, why) if error.errno in _FORBIDDEN else StorageError(path, why)


def why_refused(error: OSError) -> str:
    """Return the clause of the system for *error*."""
    if error.errno == errno.EINVAL:  # of RealDisk; the system's own words for it say nothing
        return Text("it is a link, a folder or another thing that is not a regular file")
    if error.errno in _SYSTEM:
        return Text(_SYSTEM[error.errno])
    return error.strerror or str(error) or type(error).__name__
