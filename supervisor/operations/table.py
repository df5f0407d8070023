"""The names of all operations, with the module of each; a module is imported when one of its operations is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ..storage.errors import BadRequest
from ..storage.texts import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .operation import Operation

#: The operations of each module of this package; each operation is an attribute of its module, under its name.
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "recall": ("inject", "context", "search", "get", "files", "why", "replay"),
    "opening": ("opening",),
    "history": ("append", "recent"),
    "long_term_text": ("long_term_text", "replace_long_term", "search_lines"),
    "long_term": ("write", "read", "delete", "invalidate", "stats", "summarize", "summarize_overflow"),
    "forget": ("forget",),
    "undo": ("undo",),
    "prune": ("prune",),
    "days": ("days", "day", "summary", "edit_summary"),
    "sessions": ("sessions",),
    "health": ("examine",),
    "upkeep": (
        "status",
        "plan",
        "fsck",
        "repair",
        "accept",
        "accept_times",
        "restore",
        "archive",
        "redo",
        "index_status",
        "index_rebuild",
    ),
}
_HOMES: Final = {name: module for module, names in MODULES.items() for name in names}
#: The names of all operations.
NAMES: Final = tuple(_HOMES)


def find(name: str) -> Operation[Any, Any]:
    """Return the operation of that name; BadRequest if there is none."""
    if name not in _HOMES:
        raise BadRequest("op", Text("there is no operation {name!r}; give one of {names}", name=name, names=[*NAMES]))
    operation: Operation[Any, Any] = getattr(import_module(f"recalld.supervisor.operations.{_HOMES[name]}"), name)
    return operation
