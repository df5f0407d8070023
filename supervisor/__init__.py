"""
recalld: the memory of a long-running local assistant, kept in files a person can read.

`Memory` is the Python API (api.md), `MemoryStore` the line store of CountBot, `SupervisorError` is what they raise. Each is
loaded when it is first used, so that a command which needs none does not wait for them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost the command more than all its other imports
if TYPE_CHECKING:
    from supervisor.interfaces.api import Memory as Memory
    from supervisor.longterm.memory_store import MemoryStore as MemoryStore
    from supervisor.protocol.errors import SupervisorError as SupervisorError

__all__ = ["Memory", "MemoryStore", "SupervisorError"]


def __getattr__(name: str) -> object:
    if name == "Memory":
        from supervisor.interfaces.api import Memory

        return Memory
    if name == "MemoryStore":
        from supervisor.longterm.memory_store import MemoryStore

        return MemoryStore
    if name == "SupervisorError":
        from supervisor.protocol.errors import SupervisorError

        return SupervisorError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
