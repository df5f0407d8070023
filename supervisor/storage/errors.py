"""
The errors of recalld, each with its fields, one sentence and an exit code.

Expected outcomes are values; an error is for what its caller could not have prevented. Errors are caught at three places: the
loop logs and goes on, an interface translates, the worker turns them into a failed result. The faults of a model's server are
handled in the worker. Source of the exit codes: docs/reference/protocol.md, 8.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import PurePath

#: The name of a temporary file, beside the file *name* that it will replace; errors name that file.
TEMPORARY: Final = re.compile(r"\.(?P<name>.+)\.[0-9a-z]+-[0-9]+\.tmp")
#: Error numbers for missing permission; any other one is a fault of the disk.
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
#: Error numbers of the kernel, and of RealDisk.read, for a link, a folder or a pipe in place of a file.
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENXIO})


class SupervisorError(Exception):
    """
    The base of all errors of recalld: `except SupervisorError` catches each; only the classes below are raised.

    Each class is a dataclass of its fields, and `str` returns its sentence. It is not frozen, since Python sets the traceback
    while an error is handled, and an error equals only itself.
    """

    exit_code: ClassVar[int]
    #: The format string that `str` fills with the fields.
    sentence: ClassVar[str]

    def __new__(cls, *_fields: object, **_named: object) -> Self:
        """Refuse to create the base class itself."""
        if cls is SupervisorError:
            raise TypeError("raise a subclass of SupervisorError, not the base")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())  # pickle and copy create the error from these

    def __str__(self) -> str:
        return self.sentence.format(self=self)


@dataclass(eq=False, repr=False)
class BadConfig(SupervisorError):
    """The configuration is wrong; *key* is "section.key", a variable's name, or the file. Never retried."""

    exit_code = 78
    sentence = "{self.key}: {self.why}."
    key: str
    why: str


@dataclass(eq=False, repr=False)
class BadRequest(SupervisorError):
    """A caller's argument is wrong (command line, tool, REST 400); *field* names it."""

    exit_code = 64
    sentence = "{self.field}: {self.why}."
    field: str
    why: str


@dataclass(eq=False, repr=False)
class NotFound(SupervisorError):
    """The requested file does not exist (REST 404)."""

    exit_code = 64
    sentence = "{self.path} does not exist; check the path, relative to the workspace."
    path: PurePath | str


@dataclass(eq=False, repr=False)
class StaleLine(SupervisorError):
    """*ref* has no digest, or not that of the line that is there: *now* ("" for none) with this *text*. Nothing was deleted."""

    exit_code = 64
    sentence = "{self.ref} does not name the line that is there now: {self.found}; nothing was deleted."
    ref: str
    now: str
    text: str

    @property
    def found(self) -> str:
        """What is there in its place."""
        return f"it is {self.now}, {self.text}" if self.now else "there is none"


@dataclass(eq=False, repr=False)
class BadFile(SupervisorError):
    """A file can't be parsed; a copy of it goes to quarantine, and everything else goes on. *mend* says what mends it."""

    exit_code = 65
    sentence = "{self.path} can't be read: {self.why}; {self.mend}; it was not overwritten."
    path: PurePath | str
    why: str
    mend: str = "repair it or move it away"


@dataclass(eq=False, repr=False)
class Unchangeable(SupervisorError):
    """A file that another program or a person keeps is in a form that recalld does not write; it was left as it is."""

    exit_code = 74
    sentence = "{self.path} can't be changed: {self.why}; {self.mend}; it was left as it is."
    path: PurePath | str
    why: str
    mend: str


@dataclass(eq=False, repr=False)
class BadBackup(SupervisorError):
    """The file is no backup, or not all of it is as it was made; nothing was unpacked."""

    exit_code = 65
    sentence = "{self.path} is no sound backup: {self.why}; nothing was unpacked, use another one."
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class Busy(SupervisorError):
    """A lock was not obtained within *waited* (REST 503); the next tick tries again."""

    exit_code = 75
    sentence = "{self.path} is in use by another program and was not free within {self.waited_s:g} s; try again."
    path: PurePath | str
    waited: timedelta

    @property
    def waited_s(self) -> float:
        """How long the caller waited, in seconds."""
        return self.waited.total_seconds()


@dataclass(eq=False, repr=False)
class AlreadyRuns(SupervisorError):
    """Another supervisor runs in the workspace at *root*."""

    exit_code = 75
    sentence = "a supervisor already runs in {self.root}; use that one, or stop it first."
    root: PurePath | str


@dataclass(eq=False, repr=False)
class LockLost(SupervisorError):
    """The state folder of the workspace at *root* was deleted or moved while the supervisor ran; another one may run now."""

    exit_code = 75
    sentence = "{self.root}/.recalld was deleted or moved away while the supervisor ran; the supervisor stops, start it again."
    root: PurePath | str


@dataclass(eq=False, repr=False)
class Conflict(SupervisorError):
    """The file changed between reading and writing. The caller reads it again and applies its change again."""

    exit_code = 75
    sentence = "{self.path} was changed by another program in the meantime; try again."
    path: PurePath | str


@dataclass(eq=False, repr=False)
class NewerFormat(SupervisorError):
    """A newer recalld wrote the file; *found* is the format that it states. This version never rewrites it."""

    exit_code = 78
    sentence = "{self.path} has format {self.found} of a newer recalld; upgrade recalld to open it."
    path: PurePath | str
    found: str | int


@dataclass(eq=False, repr=False)
class StorageError(SupervisorError):
    """Reading or writing failed: the disk is full, gone or broken. No file was replaced by a part of one."""

    exit_code = 74
    sentence = "{self.path} could not be read or written: {self.why}; check the disk and its free space."
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class NoProcess(SupervisorError):
    """The system refuses to start a process, a worker's."""

    exit_code = 71
    sentence = "no worker can be started: {self.why}; end other programs, or raise the limit of processes or memory."
    why: str


@dataclass(eq=False, repr=False)
class NoPermission(SupervisorError):
    """This user may not access the file, or it is on a read-only disk. *mend* says what mends it."""

    exit_code = 77
    sentence = "{self.path} can't be accessed: {self.why}; {self.mend}."
    path: PurePath | str
    why: str
    mend: str = "check its owner and mode"


@dataclass(eq=False, repr=False)
class NoService(SupervisorError):
    """The service manager is not there, or did not start the service. *mend* says what mends it."""

    exit_code = 69
    sentence = "the service can't run: {self.why}; {self.mend}."
    why: str
    mend: str


@dataclass(eq=False, repr=False)
class ServiceForbidden(SupervisorError):
    """This user may not manage the service. *mend* says what mends it."""

    exit_code = 77
    sentence = "the service may not be managed: {self.why}; {self.mend}."
    why: str
    mend: str


@dataclass(eq=False, repr=False)
class NoSummary(SupervisorError):
    """
    The model gave no text that can become a summary; *reason* is one word, as in the events (protocol.md, 6.2).

    *is_too_long*: the prompt was longer than the model's context.
    """

    exit_code = 69
    sentence = "no summary was written: {self.why}; what was there stays, try again later."
    why: str
    reason: str = "refused"
    is_too_long: bool = False


@dataclass(eq=False, repr=False)
class NoUnit(SupervisorError):
    """No service is installed: there is no unit at *path*."""

    exit_code = 64
    sentence = "no service is installed, {self.path} is not there; `recalld service install` installs one."
    path: PurePath | str


@dataclass(eq=False, repr=False)
class ForeignUnit(SupervisorError):
    """A unit of that name is somebody else's, or of another workspace; it was left as it is."""

    exit_code = 65
    sentence = "{self.path} is not of this workspace's service; move it away, or give `--force`, which keeps a copy of it."
    path: PurePath | str


@dataclass(eq=False, repr=False)
class InternalError(SupervisorError):
    """A bug: *step* failed with an exception of *kind* at *where*. Its text is left out, since it may quote a message."""

    exit_code = 1
    sentence = "{self.step} failed with an unexpected error ({self.kind} at {self.where}); please report it."
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


def as_supervisor_error(error: Exception, step: str, path: PurePath | str) -> SupervisorError:
    """Return what *step* raised as a SupervisorError; *path* is used where an OSError names none."""
    if isinstance(error, SupervisorError):
        return error
    return from_os_error(error, error.filename or path) if isinstance(error, OSError) else InternalError.of(step, error)


def from_os_error(error: OSError, path: PurePath | str) -> SupervisorError:
    """Return an OSError about *path* as a SupervisorError; for `raise … from error`."""
    why = error.strerror or str(error) or type(error).__name__
    folder, slash, name = str(path).rpartition("/")
    temporary = TEMPORARY.fullmatch(name)
    if temporary:
        path = f"{folder}{slash}{temporary['name']}"
    if error.errno in _NO_FILE:
        return BadFile(path, "it is a link, a folder or another thing that is not a regular file")
    if error.errno == errno.ENOMEM:
        return BadConfig("ulimit -v", f"it leaves too little memory for {path}; raise it, or set it to unlimited")
    if error.errno == errno.ENOTDIR:
        return BadFile(path, "it is a link or a file where recalld needs a folder of its own")
    if error.errno == errno.EROFS:
        return NoPermission(path, why, "its disk is mounted read-only, mount it writable (`mount -o remount,rw`)")
    return NoPermission(path, why) if error.errno in _FORBIDDEN else StorageError(path, why)


class ErrorCollector:
    """
    Lets each of many items fail alone: ``with each: …`` keeps the error of one item, `raise_first` raises the first error kept.

    One bad file must never stop the others.
    """

    def __init__(self) -> None:
        self._first: Exception | None = None

    def __enter__(self) -> None:
        """Begin the next item."""

    def __exit__(self, _kind: object, fault: BaseException | None, _trace: object) -> bool:
        """Keep the error of this item; a newer format and a wrong configuration are raised, since they concern all items."""
        if isinstance(fault, (NewerFormat, BadConfig)) or not isinstance(fault, Exception):
            return False
        self._first = self._first or fault
        return True

    def raise_first(self) -> None:
        """Raise the first error that was kept, if there is one."""
        if self._first:
            raise self._first


# ── arguments of the wrong type ──────────────────────────────────────────────


def refuse_no_text(field: str, value: object) -> None:
    """Raise BadRequest if the value of the argument *field* is no text."""
    if not isinstance(value, str):
        raise BadRequest(field, f"it must be text, not {type(value).__name__}")


def refuse_no_number(field: str, value: object) -> None:
    """Raise BadRequest if the value of the argument *field* is no whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(field, f"it must be a whole number, not {type(value).__name__}")


def listed(field: str, values: object, of: str) -> list[Any]:
    """Return the values of the argument *field* as a list; BadRequest for what is no list *of* them, as a lone text is none."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise BadRequest(field, f"it must be a list of {of}, not {type(values).__name__}")
    return list(values)
