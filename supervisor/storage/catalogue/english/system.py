"""Why the system refuses to read or write."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "enospc": "No space left on device",
    "eacces": "Permission denied",
    "eperm": "Operation not permitted",
    "erofs": "Read-only file system",
    "eio": "Input/output error",
    "eisdir": "Is a directory",
    "enotdir": "Not a directory",
    "efbig": "File too large",
    "enametoolong": "File name too long",
    "eagain": "Resource temporarily unavailable",
    "enomem": "Cannot allocate memory",
    "emfile": "Too many open files",
    "enoent": "No such file or directory",
}
