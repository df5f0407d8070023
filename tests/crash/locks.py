"""
The rules for locks that docs/reference/protocol.md, 5 lays down, watched while a program runs on the model file system.

Breaking one loses nothing on the model, where one process runs at a time; so every breach is written down, and the
explorer counts it as a violation.
"""

import re

#: At most one of these is held at a time, but for inbox + history; taken in this order.
ORDER = (
    "calls.lock", "index.lock", "vectors.lock", "chat.lock", "diary.lock", "inbox.json.lock", "memory.md.lock", "history.json.lock",
)  # fmt: skip
#: Held for life, taken before any of the others.
_FOR_LIFE = re.compile(r"supervisor\.lock|worker-[0-7]\.lock|session-[0-9a-f]{16}\.lock")
_OF_CHAT = re.compile(r"chat-[0-9a-f]{16}\.lock")


class LockWatch:
    """What is held now, and the breaches so far."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.breaches: list[str] = []

    def take(self, path: str) -> None:
        name = _short(path)
        others = [_short(other) for other in self.held]
        if name in others:
            self.breaches.append(f"{name} is taken while it is held")
        elif name in ORDER:
            busy = [other for other in others if other in ORDER]
            if busy and (busy, name) != (["inbox.json.lock"], "history.json.lock"):
                self.breaches.append(f"{name} is taken while {', '.join(busy)} is held")
        elif not _FOR_LIFE.fullmatch(name):
            self.breaches.append(f"{path} is no lock of the protocol")
        elif any(other in ORDER for other in others):
            self.breaches.append(f"{name}, a lock for life, is taken while {', '.join(others)} is held")
        self.held.append(path)

    def drop(self, path: str) -> None:
        self.held.remove(path)

    def done(self, call: str, path: str) -> None:
        """Note what is done to *path*; under history's lock no Markdown is written and memory/ is not looked through."""
        if not any(_short(held) == "history.json.lock" for held in self.held):
            return
        under_memory = path == "memory" or path.startswith("memory/")
        if (call == "names" and under_memory) or (call != "names" and (under_memory or path.endswith(".md"))):
            self.breaches.append(f"{call} {path} while history.json.lock is held")


def _short(path: str) -> str:
    name = path.rpartition("/")[2]
    if _OF_CHAT.fullmatch(name):
        return "chat.lock"
    return "memory.md.lock" if name == "MEMORY.md.lock" else name
