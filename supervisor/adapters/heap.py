"""Memory that a service of months gives back: glibc's allocator, told to keep one pool of what threads have freed."""

from __future__ import annotations

import contextlib

#: glibc's M_ARENA_MAX. By its own choice it has eight pools a core, and each keeps what an update of the index once needed.
_ARENA_MAX = -8
_POOLS = 1


def keep_one_pool() -> None:
    """Have all threads of this process share one pool; nothing happens where the C library is another."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _POOLS)
