"""
Every way in which recalld refuses, each with its fields, one sentence and an exit code.

Expected outcomes are values; these are for what a caller could not have prevented. They are caught at three places:
the loop logs and goes on, an adapter translates, the worker turns them into a failed result. A provider's own faults
live in the worker and never cross. Exit codes: protocol.md, 8.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import PurePath

#: A file of ours while it is written, beside the one that it will become; people are told of that one.
TEMPORARY: Final = re.compile(r"\.(?P<name>.+)\.[0-9a-z]+-[0-9]+\.tmp")
#: The kernel's ways to say "not with your rights"; anything else is trouble with the disk.
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
#: What the kernel, and RealDisk.read, say of a link, a folder or a pipe in a file's place.
_NO_FILE: Final = frozenset({errno.ELOOP, errno.EISDIR, errno.EINVAL})


class SupervisorError(Exception):
    """
    Any error of ours: `except SupervisorError` catches all; only the kinds below are ever raised.

    Each kind is a dataclass of its fields, which says itself in one sentence. It is not frozen, since Python sets the
    traceback of an error while it is handled, and equal to itself alone.
    """

    exit_code: ClassVar[int]
    #: What `str` returns, a format of the fields.
    sentence: ClassVar[str]

    def __new__(cls, *_fields: object, **_named: object) -> Self:
        """Refuse the base itself: who raises must say what kind of fault it is."""
        if cls is SupervisorError:
            raise TypeError("raise one of the kinds of SupervisorError, not the base")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())  # pickle makes the copy from these

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
    """What was asked for is not there (REST 404)."""

    exit_code = 64
    sentence = "{self.path} is not there; check the path, relative to the workspace."
    path: PurePath | str


@dataclass(eq=False, repr=False)
class BadFile(SupervisorError):
    """Bytes that do not parse; a copy goes to quarantine and the rest goes on."""

    exit_code = 65
    sentence = "{self.path} can't be read: {self.why}; mend it or move it away, nothing was written over it."
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class Busy(SupervisorError):
    """A lock was not obtained within *waited* (REST 503); the next tick tries again."""

    exit_code = 75
    sentence = "{self.path} is held by another program after {self.waited_s:g} s of waiting; try again."
    path: PurePath | str
    waited: timedelta

    @property
    def waited_s(self) -> float:
        """Seconds that were waited."""
        return self.waited.total_seconds()


@dataclass(eq=False, repr=False)
class AlreadyRuns(SupervisorError):
    """Another supervisor has the workspace at *root*."""

    exit_code = 75
    sentence = "a supervisor already runs in {self.root}; use that one, or stop it first."
    root: PurePath | str


@dataclass(eq=False, repr=False)
class LockLost(SupervisorError):
    """The state of the workspace at *root* was deleted or moved away under a running supervisor: another may run by now."""

    exit_code = 75
    sentence = "{self.root}/.recalld was deleted or moved away while the supervisor ran; it ends, start it again."
    root: PurePath | str


@dataclass(eq=False, repr=False)
class Conflict(SupervisorError):
    """The target is not what was read any more. Internal: read again, apply again."""

    exit_code = 75
    sentence = "{self.path} was changed by another program meanwhile; try again."
    path: PurePath | str


@dataclass(eq=False, repr=False)
class NewerFormat(SupervisorError):
    """A file of a newer recalld; *found* is the format it states. Never rewritten by this one."""

    exit_code = 78
    sentence = "{self.path} has format {self.found}, of a newer recalld; upgrade recalld to open it."
    path: PurePath | str
    found: str | int


@dataclass(eq=False, repr=False)
class StorageError(SupervisorError):
    """Reading or writing failed: full, gone, broken. Nothing was replaced by half."""

    exit_code = 74
    sentence = "{self.path} could not be read or written: {self.why}; check the disk and its free space."
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class NoPermission(SupervisorError):
    """The file may not be touched by this user, or lies on a read-only disk."""

    exit_code = 77
    sentence = "{self.path} may not be touched: {self.why}; check its owner and mode."
    path: PurePath | str
    why: str


@dataclass(eq=False, repr=False)
class InternalError(SupervisorError):
    """A bug: *step* failed with an exception of *kind* at *where*. Its text is left out, since it may quote a message."""

    exit_code = 1
    sentence = "{self.step} failed in a way that nobody foresaw ({self.kind} at {self.where}); please report it."
    step: str
    kind: str
    where: str

    @classmethod
    def of(cls, step: str, error: Exception) -> Self:
        """Return what is told of *error*: its kind, and the file and line that raised it."""
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "an unknown place"
        return cls(step, type(error).__name__, where)


def as_ours(error: Exception, step: str, path: PurePath | str) -> SupervisorError:
    """Return what *step* raised as an error of ours; *path* is meant where the kernel names none."""
    if isinstance(error, SupervisorError):
        return error
    return from_os_error(error, error.filename or path) if isinstance(error, OSError) else InternalError.of(step, error)


def from_os_error(error: OSError, path: PurePath | str) -> SupervisorError:
    """What the kernel said about *path*, as an error of ours; for `raise … from error`."""
    why = error.strerror or str(error) or type(error).__name__
    folder, slash, name = str(path).rpartition("/")
    being_written = TEMPORARY.fullmatch(name)
    if being_written:
        path = f"{folder}{slash}{being_written['name']}"
    if error.errno in _NO_FILE:
        return BadFile(path, "it is a link, a folder or another thing that is no regular file")
    return NoPermission(path, why) if error.errno in _FORBIDDEN else StorageError(path, why)


class ErrorCollector:
    """
    Lets each of many things fail alone: ``with each: …`` holds its fault back, `raise_first` raises the first of them.

    One bad file must never stop the others.
    """

    def __init__(self) -> None:
        self._first: Exception | None = None

    def __enter__(self) -> None:
        """Begin the next of them."""

    def __exit__(self, _kind: object, fault: BaseException | None, _trace: object) -> bool:
        """Hold a fault of this one back, or a bug; what stops everything (a newer format, a wrong configuration) passes."""
        if isinstance(fault, (NewerFormat, BadConfig)) or not isinstance(fault, Exception):
            return False
        self._first = self._first or fault
        return True

    def raise_first(self) -> None:
        """Raise the first fault that was held back, if there was one."""
        if self._first:
            raise self._first
