"""What a process that runs for months keeps of the memory it has freed; nothing is done with another C library than glibc."""

from __future__ import annotations

import contextlib
from typing import Final

#: glibc's M_ARENA_MAX. The default is eight arenas a core, each of which keeps the memory that an index update once needed.
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 1


def limit_malloc_arenas() -> None:
    """Make all threads share one malloc arena, so that freed memory is reused."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def give_back_memory() -> None:
    """Give what is freed back to the system, also below what is in use: after a first archive run a quarter of the memory."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
