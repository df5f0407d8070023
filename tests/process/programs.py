"""
Programs and tools at work beside the storm, on the real files: they reuse ids, give none, re-spell times, copy and convert.

They live in the storm's own process and are not killed. Words that such a program writes into history.json are promised from when
the seen journal has them; which these are is noted at each act.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Final

from tests.checker.formats import collapsed, plain, with_crlf

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

_WINDOW: Final = 12
_TYPED: Final = ("id", "role", "text", "createdAt")
_COPIES: Final = ("{} (1).md", "{} - Copy.md", "{} - 副本.md", "{}-DESKTOP-7K3.md", "{}.sync-conflict-20260130-101112-ABC.md")
_EXCHANGE: Final = 2  # RENAME_EXCHANGE
_HERE: Final = -100  # AT_FDCWD
_EAST: Final = timezone(timedelta(hours=8))


class Program:
    """What all have in common; *said* has how often the words were met, and said."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.chance = chance
        self.said: dict[str, tuple[int, int]] = {}
        self.wrong: list[str] = []
        self.saved: set[str] = set()  # names of files of ours that it has saved in its way

    def act(self) -> None:
        """Do something to the workspace, once."""
        raise NotImplementedError

    def note_met(self) -> None:
        """Note which words the journal has now."""
        for text in _journal(self.root) & self.said.keys():
            self.said[text] = (1, 1)

    def end(self) -> None:
        """Note what was met, once the storm is over."""
        self.note_met()

    def say(self) -> dict[str, Any]:
        """Return a message whose words nobody else says."""
        now = datetime.now(UTC)
        text = f"{type(self).__name__} 说的第 {len(self.said)} 句，{now.timestamp()}"
        self.said[text] = (0, 1)
        return {"role": "user", "text": text, "createdAt": _wire(now)}

    def write(self, messages: Sequence[Any]) -> None:
        """Put a new history.json in the place of the old one, without the lock."""
        self.note_met()
        move_into(self.root / "history.json", json.dumps(messages, ensure_ascii=False).encode())


class BySession(Program):
    """Numbers the messages of each session from 1 on, and writes the session alone."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.session: list[dict[str, Any]] = []

    def act(self) -> None:
        if self.chance.random() < 0.3:
            self.session = []
        self.session.append({"id": len(self.session) + 1, **self.say()})
        self.write(self.session)


class ByPosition(Program):
    """Keeps a window, and numbers what is in it anew each time."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.window: list[dict[str, Any]] = []

    def act(self) -> None:
        self.window = [*self.window, self.say()][-_WINDOW:]
        self.write([{"id": n, **one} for n, one in enumerate(self.window)])


class Sliding(Program):
    """Keeps the last messages without ids and times; says "continue" again when its last answer has been met."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.texts: list[str] = []

    def act(self) -> None:
        self.note_met()
        if not self.texts or self.said[self.texts[-1]][0]:
            self.texts += ("继续", f"做完了第 {len(self.texts)} 步。")
            self.said[self.texts[-1]] = (0, 1)
        self.said["继续"] = (0, len(self.texts) // 2)
        roles = ("user", "assistant")
        raws = [{"role": roles[n % 2], "content": text} for n, text in enumerate(self.texts)]
        self.write(raws[-_WINDOW:])

    def end(self) -> None:
        """The journal has an answer only when it has the whole window that the answer ends."""
        self.note_met()
        met = sum(self.said[text][0] for text in self.texts[1::2])
        self.said["继续"] = (met, len(self.texts) // 2)


class Typed(Program):
    """Reads history.json into a type of its own: it knows four fields, and spells times in its way."""

    def act(self) -> None:
        with contextlib.suppress(ValueError, OSError):
            found = json.loads((self.root / "history.json").read_bytes())
            raws = [{key: one[key] for key in _TYPED if key in one} for one in found]
            self.write(
                [{**one, "createdAt": self._spelt(one["createdAt"])} for one in (*raws, self.say()) if "createdAt" in one]
            )

    def _spelt(self, found: Any) -> Any:
        with contextlib.suppress(TypeError, ValueError):
            time = datetime.fromisoformat(found)
            ways = (time.isoformat(), time.astimezone(_EAST).isoformat(), round(time.timestamp() * 1000))
            return self.chance.choice(ways)
        return found


class OneName(Program):
    """Moves each message into the drop-box by the same name. Promised is what it has not itself replaced."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.last = ""

    def act(self) -> None:
        for _ in range(self.chance.randint(1, 5)):
            said = self.say()
            path, other = self.root / "inbox.d" / "new" / "msg.json", self.root / "msg.part"
            other.write_text(json.dumps(said), encoding="utf-8")
            other.chmod(0o600)
            is_replaced = _exchange(other, path)
            if is_replaced:
                other.unlink()
            elif self.last:
                self.said[self.last] = (1, 1)
            self.last = str(said["text"])

    def end(self) -> None:
        if self.last:
            self.said[self.last] = (1, 1)
        (self.root / "msg.part").unlink(missing_ok=True)


class Synchroniser(Program):
    """Leaves copies of dated files beside them."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.copies: dict[Path, bytes] = {}

    def act(self) -> None:
        files = sorted((self.root / "memory").glob("20??-??-??-*[a-z0-9].md"))
        for path in self.chance.sample(files, min(1, len(files))):
            copy = path.with_name(self.chance.choice(_COPIES).format(path.stem))
            with contextlib.suppress(FileNotFoundError):
                if path not in self.copies and copy not in self.copies:
                    self.copies[copy] = path.read_bytes()
                    move_into(copy, self.copies[copy])

    def end(self) -> None:
        for copy, data in self.copies.items():
            if not copy.exists() or copy.read_bytes() != data:
                self.wrong.append(f"{copy.name}, a copy, was moved or changed")


class Mover(Program):
    """A person who keeps dated files in a folder of their own for a while: they are read there, and their words not written again."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.folder = root / "memory" / "十一月"

    def act(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self.chance.random() < 0.4:
            self._move_back()
            return
        files = sorted((self.root / "memory").glob("20??-??-??-*[a-z0-9].md"))
        for path in self.chance.sample(files, min(1, len(files))):
            with contextlib.suppress(FileNotFoundError):  # moved to originals/ meanwhile
                if b"\nkind: dated" in path.read_bytes()[:200]:
                    path.rename(self.folder / path.name)

    def end(self) -> None:
        """Move all of them back, which is how the checker finds them."""
        self._move_back()

    def _move_back(self) -> None:
        for path in sorted(self.folder.glob("*.md")):
            home = path.parent.parent / path.name
            while home.exists():  # the day went on without it
                home = home.with_name(f"{home.stem}-b.md")
            path.rename(home)


class Formatter(Program):
    """
    Saves dated files without the blank lines around their words, some with CRLF and a BOM: not a word is another.

    A file is saved in one way each time: what a worker finds changed is not what it was when its result is looked at.
    """

    def __init__(self, root: Path, chance: random.Random) -> None:
        super().__init__(root, chance)
        self.ways: dict[str, int] = {}

    def act(self) -> None:
        files = sorted((self.root / "memory").glob("**/20??-??-??-*[a-z0-9].md"))
        for path in self.chance.sample(files, min(3, len(files))):
            other = self.root / "formatted.part"
            with contextlib.suppress(FileNotFoundError):
                data = plain(path.read_bytes())
                if b"\nkind: dated" not in data[:200]:
                    continue  # a note of the person's own, who may be saving it
                data = collapsed(data)
                way = self.ways.setdefault(path.name, self.chance.randrange(3))
                data = (data, with_crlf(data), b"\xef\xbb\xbf" + with_crlf(data))[way]
                other.write_bytes(data)
                other.chmod(0o600)
                self.saved.add(path.name)
                _swap(other, path)  # a file that is moved away meanwhile stays as it was
            other.unlink(missing_ok=True)


def move_into(path: Path, data: bytes) -> None:
    """Write a file beside *path*, and move it there."""
    other = path.with_name(f".{path.name}.part")
    other.write_bytes(data)
    other.chmod(0o600)
    os.replace(other, path)


def stalled() -> tuple[int, int]:
    """Return a pipe that is full, reader and writer: who writes to it waits until somebody reads, and nobody will."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"\n" * 4096)
    os.set_blocking(writer, True)
    return reader, writer


def _exchange(new: Path, path: Path) -> bool:
    """Move *new* to *path*, as rename(2) does, and tell whether a file was there, which then has the name of *new*."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            _swap(new, path)
            return True
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
            new.unlink()
            return False


def _swap(one: Path, other: Path) -> None:
    """Give each of two files the name of the other. FileNotFoundError where one is not there."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        raise OSError(ctypes.get_errno(), "renameat2")


def _journal(root: Path) -> set[str]:
    """Return the words that the journal has as seen."""
    found = set()
    with contextlib.suppress(OSError):
        for line in (root / ".recalld" / "seen.jsonl").read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                said = json.loads(line).get("seen", {})
                found.add(said.get("text", said.get("content")))
    return found


def _wire(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


#: Of those that write history.json anew a storm has one, of the others at most one.
WRITERS: Final = (BySession, ByPosition, Sliding, Typed)
OTHERS: Final = (OneName, Formatter, Synchroniser, Mover)
