"""
The errors of recalld, each with its fields, one sentence and an exit code.

Expected outcomes are values; an error is for what its caller could not have prevented. The loop logs it and goes on, an
interface translates it, the worker makes a failed result of it. Source of the exit codes: docs/reference/protocol.md, 8.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from ..text.lazy_re import lazy_re
from .catalogue import Text

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import PurePath

    from ..text.language import Language

#: The name of a temporary file, which will replace the file *name*; errors name that file.
TEMPORARY: Final = lazy_re(r"\.(?P<name>.+)\.[0-9a-z]+-[0-9]+\.tmp")
#: Error numbers for missing permission; any other one is a fault of the disk.
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
#: Error numbers of the kernel, and of RealDisk.read, for a link, folder or pipe in place of a file, or a file too large.
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENXIO})


class SupervisorError(Exception):
    """
    The base of all errors of recalld: `except SupervisorError` catches each; only the classes below are raised.

    Each class is a dataclass of its fields, and `str` returns its sentence in English. It is not frozen, since Python sets the
    traceback while an error is handled, and an error equals only itself.
    """

    exit_code: ClassVar[int]
    http_status: ClassVar[int] = 500
    #: The code of its sentence in the catalogue.
    code: ClassVar[str]

    def __new__(cls, *_fields: object, **_named: object) -> Self:
        """Refuse to create the base class itself."""
        if cls is SupervisorError:
            raise TypeError("raise a subclass of SupervisorError, not the base")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())  # pickle and copy create the error from these

    def __str__(self) -> str:
        return str(self.sentence)

    @property
    def sentence(self) -> Text:
        """What was wrong, and what to do."""
        return Text(self.code, **self._fields())

    def in_language(self, language: Language) -> str:
        """Return the sentence in *language*."""
        return self.sentence.in_language(language)

    def _fields(self) -> dict[str, Any]:
        """Return the fields of the sentence."""
        return vars(self)


@dataclass(eq=False, repr=False)
class BadConfig(SupervisorError):
    """The configuration is wrong; *key* is "section.key", a variable's name, or the file. Never retried."""

    exit_code = 78
    code = "error.bad_config"
    key: str
    why: str


@dataclass(eq=False, repr=False)
class BadRequest(SupervisorError):
    """A caller's argument is wrong (command line, tool, REST 400); *field* names it."""

    exit_code = 64
    http_status = 400
    code = "error.bad_request"
    field: str
    why: str


@dataclass(eq=False, repr=False)
class OwnersAlone(BadRequest):
    """What a group asked for is the owner's alone (REST 403)."""

    http_status = 403


@dataclass(eq=False, repr=False)
class NotFound(SupervisorError):
    """The requested file does not exist (REST 404)."""

    exit_code = 64
    http_status = 404
    code = "error.not_found"
    path: PurePath | str


@dataclass(eq=False, repr=False)
class StaleLine(SupervisorError):
    """*ref* has no digest, or not that of the line that is there: *now* ("" for none) with this *text*. Nothing was deleted."""

    exit_code = 64
    http_status = 409
    code = "error.stale_line"
    ref: str
    now: str
    text: str

    def _fields(self) -> dict[str, Any]:
        found = Text("longterm.line_is", line=self.now, text=self.text) if self.now else Text("longterm.no_line")
        return {"ref": self.ref, "found": found}


@dataclass(eq=False, repr=False)
class StaleText(SupervisorError):
    """The file at *path* is no longer the one that was read (REST 412): it has this *etag* and *text* now."""

    exit_code = 64
    http_status = 412
    code = "error.stale_text"
    path: PurePath | str
    etag: str
    text: str


@dataclass(eq=False, repr=False)
class BadFile(SupervisorError):
    """A file can't be parsed; a copy of it goes to quarantine, and everything else goes on. *mend* says what mends it."""

    exit_code = 65
    http_status = 422
    code = "error.bad_file"
    path: PurePath | str
    why: str
    mend: str = Text("file.repair")


@dataclass(eq=False, repr=False)
class Unchangeable(SupervisorError):
    """A file that another program or a person keeps is in a form that recalld does not write; it was left as it is."""

    exit_code = 74
    code = "error.unchangeable"
    path: PurePath | str
    why: str
    mend: str


@dataclass(eq=False, repr=False)
class BadBackup(SupervisorError):
    """The file is no backup, or not all of it is as it was made; nothing was unpacked."""

    exit_code = 65
    http_status = 422
    code = "error.bad_backup"
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class Busy(SupervisorError):
    """A lock was not obtained within *waited* (REST 503); the next tick tries again."""

    exit_code = 75
    http_status = 503
    code = "error.busy"
    path: PurePath | str
    waited: timedelta

    def _fields(self) -> dict[str, Any]:
        return {"path": self.path, "waited_s": self.waited.total_seconds()}


@dataclass(eq=False, repr=False)
class AlreadyRuns(SupervisorError):
    """*who*, another supervisor or a fleet, runs in the folder *root*."""

    exit_code = 75
    http_status = 409
    code = "error.already_runs"
    root: PurePath | str
    who: str = Text("error.a_supervisor")
    mend: str = Text("error.use_that")


@dataclass(eq=False, repr=False)
class LockLost(SupervisorError):
    """The state folder of the workspace at *root* was deleted or moved while the supervisor ran; another one may run now."""

    exit_code = 75
    http_status = 503
    code = "error.lock_lost"
    root: PurePath | str


@dataclass(eq=False, repr=False)
class NoWorkspace(SupervisorError):
    """There is no workspace at *root*: perhaps its disk is not mounted. None was made there."""

    exit_code = 74
    http_status = 503
    code = "error.no_workspace"
    root: PurePath | str


@dataclass(eq=False, repr=False)
class Conflict(SupervisorError):
    """The file changed between reading and writing. The caller reads it again and applies its change again."""

    exit_code = 75
    http_status = 409
    code = "error.conflict"
    path: PurePath | str


@dataclass(eq=False, repr=False)
class NewerFormat(SupervisorError):
    """A newer recalld wrote the file; *found* is the format that it states. This version never rewrites it."""

    exit_code = 78
    code = "error.newer_format"
    path: PurePath | str
    found: str | int


@dataclass(eq=False, repr=False)
class StorageError(SupervisorError):
    """Reading or writing failed: the disk is full, gone or broken. No file was replaced by a part of one."""

    exit_code = 74
    http_status = 507
    code = "error.storage_error"
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class NoProcess(SupervisorError):
    """The system refuses to start a process, a worker's, or a thread."""

    exit_code = 71
    http_status = 503
    code = "error.no_process"
    why: str


@dataclass(eq=False, repr=False)
class NoPermission(SupervisorError):
    """This user may not access the file, or it is on a read-only disk. *mend* says what mends it."""

    exit_code = 77
    http_status = 403
    code = "error.no_permission"
    path: PurePath | str
    why: str
    mend: str = Text("file.check_rights")


@dataclass(eq=False, repr=False)
class NoService(SupervisorError):
    """The service manager is not there, or did not start the service. *mend* says what mends it."""

    exit_code = 69
    http_status = 503
    code = "error.no_service"
    why: str
    mend: str


@dataclass(eq=False, repr=False)
class ServiceForbidden(SupervisorError):
    """This user may not manage the service. *mend* says what mends it."""

    exit_code = 77
    http_status = 403
    code = "error.service_forbidden"
    why: str
    mend: str


@dataclass(eq=False, repr=False)
class NoSummary(SupervisorError):
    """
    The model gave no text that can become a summary; *reason* is one word, as in the events (protocol.md, 6.2).

    *is_too_long*: the prompt was longer than the model's context.
    """

    exit_code = 69
    http_status = 503
    code = "error.no_summary"
    why: str
    reason: str = "refused"
    is_too_long: bool = False


@dataclass(eq=False, repr=False)
class NoUnit(SupervisorError):
    """No service is installed: there is no unit at *path*."""

    exit_code = 64
    http_status = 404
    code = "error.no_unit"
    path: PurePath | str


@dataclass(eq=False, repr=False)
class ForeignUnit(SupervisorError):
    """A unit of that name is somebody else's, or of another workspace; it was left as it is."""

    exit_code = 65
    http_status = 409
    code = "error.foreign_unit"
    path: PurePath | str


@dataclass(eq=False, repr=False)
class InternalError(SupervisorError):
    """A bug: *step* failed with an exception of *kind* at *where*. Its text is left out, since it may quote a message."""

    exit_code = 1
    code = "error.internal_error"
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
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":  # Python has no class for it
        return NoProcess(Text("system.eagain"))
    return from_os_error(error, error.filename or path) if isinstance(error, OSError) else InternalError.of(step, error)


def from_os_error(error: OSError, path: PurePath | str) -> SupervisorError:
    """Return an OSError about *path* as a SupervisorError; for `raise … from error`."""
    why = why_refused(error)
    folder, slash, name = str(path).rpartition("/")
    if temporary := TEMPORARY.fullmatch(name):
        path = f"{folder}{slash}{temporary['name']}"
    if error.errno in _NO_FILE:
        return BadFile(path, Text("file.not_regular"))
    if error.errno == errno.ENOMEM:
        return BadConfig("ulimit -v", Text("config.little_memory", path=path))
    if error.errno == errno.ENOTDIR:
        return BadFile(path, Text("file.no_folder"))
    if error.errno == errno.EROFS:
        return NoPermission(path, why, Text("file.remount"))
    return NoPermission(path, why) if error.errno in _FORBIDDEN else StorageError(path, why)


def why_refused(error: OSError) -> str:
    """Return the clause of the system for *error*."""
    if error.errno == errno.EINVAL:  # of RealDisk; the system's own words for it say nothing
        return Text("file.not_regular")
    with contextlib.suppress(KeyError):  # an error without a number, or one that the catalogue does not have
        return Text(f"system.{errno.errorcode[error.errno or 0].lower()}")
    return error.strerror or str(error) or type(error).__name__


def refuse_no_text(field: str, value: object) -> None:
    """Raise BadRequest if the value of the argument *field* is no text."""
    if not isinstance(value, str):
        raise BadRequest(field, Text("argument.not_text", kind=type(value).__name__))


def refuse_no_number(field: str, value: object) -> None:
    """Raise BadRequest if the value of the argument *field* is no whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(field, Text("argument.not_whole_number", kind=type(value).__name__))


def listed(field: str, values: object, of: str) -> list[Any]:
    """Return the values of the argument *field* as a list; BadRequest where they are no list *of* them; a text is no list."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise BadRequest(field, Text("argument.not_list", of=of, kind=type(values).__name__))
    return list(values)
