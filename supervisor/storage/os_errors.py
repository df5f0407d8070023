"""What the system refuses, as the errors of recalld."""

from __future__ import annotations

import errno
from pathlib import PurePath
from typing import Final

from ..text.lazy_re import lazy_re
from .errors import BadConfig, BadFile, InternalError, NoPermission, NoProcess, StorageError, SupervisorError
from .texts import Text, msgid

#: The name of a temporary file, which will replace the file *name*; errors name that file.
TEMPORARY: Final = lazy_re(r"\.(?P<name>.+)\.[0-9a-z]+-[0-9]+\.tmp")
#: Error numbers for missing permission; any other one is a fault of the disk.
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM})
#: What the kernel says, by its number.
_SYSTEM: Final = {
    errno.ENOSPC: msgid("No space left on device"),
    errno.EACCES: msgid("Permission denied"),
    errno.EPERM: msgid("Operation not permitted"),
    errno.EROFS: msgid("Read-only file system"),
    errno.EIO: msgid("Input/output error"),
    errno.EISDIR: msgid("Is a directory"),
    errno.ENOTDIR: msgid("Not a directory"),
    errno.EFBIG: msgid("File too large"),
    errno.ENAMETOOLONG: msgid("File name too long"),
    errno.EAGAIN: msgid("Resource temporarily unavailable"),
    errno.ENOMEM: msgid("Cannot allocate memory"),
    errno.EMFILE: msgid("Too many open files"),
    errno.ENOENT: msgid("No such file or directory"),
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
