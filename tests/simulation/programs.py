"""
Programs with habits of their own: they reuse ids or give none, re-spell times, always use one name, hold a file open.

Each is drawn for a run and keeps what it has said. None takes the lock, and none knows that recalld is there: what it writes is
promised from when a whole round has met it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, ClassVar, Final

from tests.checker.formats import collapsed, with_crlf
from tests.simulation.disk import SimulatedDisk
from tests.simulation.others import come, delete_state, drop_as, put
from tests.simulation.talk import Talker, WindowMessage
from tests.simulation.world import SimulatedWorld

#: Messages that a program with a window keeps.
_WINDOW: Final = 12
#: What no two messages of a program share, however often it speaks within an hour.
_MOMENT: Final = timedelta(milliseconds=137)
#: How other programs spell a time.
_SPELLINGS: Final[tuple[Callable[[datetime], Any], ...]] = (
    lambda time: time.isoformat(timespec="milliseconds"),
    lambda time: round(time.timestamp() * 1000),
    lambda time: time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
    lambda time: time.astimezone(timezone(timedelta(hours=8))).isoformat(),
)
#: What a copy of a machine file is named.
_COPIES: Final = (
    *("{} (1).md", "{} 2.md", "{} - Copy.md", "{} copy 2.md", "{} - 副本.md", "{}的副本.md", "{}-DESKTOP-7K3.md", "{}.orig.md"),
    *("{}~HEAD.md", "{} (conflicted copy 2026-01-30).md", "{}.sync-conflict-20260130-101112-ABCDEF.md", "{folder}/~{name}.md"),
)
_BOM: Final = b"\xef\xbb\xbf"
_TYPED: Final = ("role", "text", "content", "createdAt", "session", "channel", "chat")


@dataclass(eq=False)
class Program:
    """What all have in common; *talker* makes the words."""

    world: SimulatedWorld
    talker: Talker

    def act(self, count: int, *, anew: bool) -> None:
        """Say *count* messages; what *anew* means is the program's own."""
        raise NotImplementedError

    def met(self) -> None:
        """A whole round has seen what history.json holds."""

    def say(self, count: int) -> list[WindowMessage]:
        """Return messages whose words and times no other message has."""
        self.world.advance(_MOMENT)
        said = self.talker.burst(self.world.clock(), count)
        for one in said:
            if not one.word:
                one.word = one.id
                one.raw["text"] = f"{one.text}（{one.id}）"
        return said

    def write(self, raws: Sequence[dict[str, Any]], said: Sequence[WindowMessage]) -> None:
        """Write history.json anew with these alone; of them *said* is new. What nobody has met yet and is not among them is gone."""
        world = self.world
        world.in_order = False
        here = {raw.get("text", raw.get("content")) for raw in raws}
        world.unseen = [one for one in world.unseen if one.text in here] + [*said]
        put(world, raws)
        come(world, said)


@dataclass(eq=False)
class BySession(Program):
    """Numbers the messages of each session from 1 on, and knows one session: the next one takes its place."""

    session: list[WindowMessage] = field(default_factory=list)
    is_timed: bool = True

    def act(self, count: int, *, anew: bool) -> None:
        if self.world.forgetful:
            return
        if anew:
            self.session, self.is_timed = [], not self.is_timed
        said = self.say(count)
        for one in said:
            self.session.append(one)
            one.raw["id"] = len(self.session)
            if not self.is_timed:
                one.raw.pop("createdAt", None)
        self.write([one.raw for one in self.session], said)


@dataclass(eq=False)
class ByPosition(Program):
    """Keeps a window, and numbers what is in it: each message has another id at each write."""

    said: list[WindowMessage] = field(default_factory=list)

    def act(self, count: int, *, anew: bool) -> None:
        if self.world.forgetful:
            return
        said = self.say(count)
        for one in said:
            del one.raw["id"]
            self.world.nameless.add(one.text)
        self.said = [*self.said, *said][-_WINDOW:]
        raws = [{"id": str(n), **one.raw} for n, one in enumerate(self.said)]
        self.write(raws, [replace(one, raw={**one.raw}) for one in said])


@dataclass(eq=False)
class Sliding(Program):
    """
    Keeps the last messages without ids and times, and is told to go on again and again.

    What is met is counted while the window is the one that it has written and overlaps with what was met before; else it is
    another talk, with words of its own.
    """

    talks: int = 0
    said: list[str] = field(default_factory=list)
    known: int = 0  # so many of them have been met
    written_at: int = -1

    def act(self, count: int, *, anew: bool) -> None:
        """Say *count* turns, *anew* one at a time with a look of recalld's after each."""
        for _ in range(count if anew else 1):
            self.turns(1 if anew else count)
            if anew:
                self.world.tick()

    def turns(self, count: int) -> None:
        world = self.world
        if world.forgetful:
            return
        overlap = _WINDOW - 2 * count - (len(self.said) - self.known)
        if not self.said or world.rewrites != self.written_at or overlap < 2:
            self.talks += 1
            self.said, self.known = [], 0
        for _ in range(count):
            said = (f"继续（{self.talks}）", f"第 {self.talks} 次，做完第 {len(self.said)} 步。")
            self.said += said
            for text in said:
                world.repeated[text][1] += 1
        raws = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(self.said)]
        self.write(raws[-_WINDOW:], [])
        self.written_at = world.rewrites

    def met(self) -> None:
        if self.world.rewrites == self.written_at:
            for text in self.said[self.known :]:
                self.world.repeated[text][0] += 1
            self.known = len(self.said)


class Typed(Program):
    """Reads history.json into a type of its own and writes that: it knows few fields, and spells times in its way."""

    def act(self, count: int, *, anew: bool) -> None:
        world = self.world
        history = world.history()
        if history is None or world.forgetful:
            return
        known = _TYPED if anew else ("id", *_TYPED)
        spell = world.rng.choice(_SPELLINGS)
        said = self.say(count)
        for one in said:
            if anew:
                del one.raw["id"]
        raws = [{key: raw[key] for key in known if key in raw} for raw in (*history, *(one.raw for one in said))]
        raws = [{**raw, "createdAt": _spelt(raw["createdAt"], spell)} if "createdAt" in raw else raw for raw in raws]
        self.write(raws, said)


@dataclass(eq=False)
class OneName(Program):
    """Moves each message into the drop-box by the same name, *anew* just while recalld is at work there."""

    path: ClassVar = "inbox.d/new/msg.json"
    number: int = 0

    def act(self, count: int, *, anew: bool) -> None:
        if not anew:
            self.drop()
            return
        disk = self.world.disk
        due = disk.operations + 2 * count

        def meanwhile(_: str) -> None:
            if disk.operations > due:
                disk.meanwhile = lambda _: None
                self.drop()

        disk.meanwhile = meanwhile

    def drop(self) -> None:
        world = self.world
        if world.disk.number_of(self.path) == self.number:
            world.boxed.pop(self.number, None)  # nobody has taken it in, and it goes by our own hand
        said = self.say(1)
        drop_as(world, self.path, said)
        self.number = world.disk.number_of(self.path) or 0


@dataclass(eq=False)
class SlowWriter(Program):
    """
    Opens history.json to write it, which empties it, and writes when its model has answered; recalld looks meanwhile.

    What it then writes has to be taken in, unless another file is in the place of the empty one meanwhile.
    """

    held: tuple[SimulatedDisk, int] | None = None
    raws: list[dict[str, Any]] = field(default_factory=list)
    said: list[WindowMessage] = field(default_factory=list)

    def act(self, count: int, *, anew: bool) -> None:
        if self.held:
            self.close()
        else:
            self.open(count)
        for _ in range(2 * count if anew else 0):
            self.world.advance(timedelta(seconds=50))
            self.world.tick()

    def open(self, count: int) -> None:
        world = self.world
        history, number = world.history(), world.disk.number_of("history.json")
        if world.forgetful or history is None or number is None:
            return
        said = self.say(count)
        self.raws = [*history, *(one.raw for one in said)]
        self.said, world.unseen = [*world.unseen, *said], []
        world.disk.overwrite(number, b"")
        world.in_order, world.rude = False, True
        world.rewrites += 1
        self.held = world.disk, number

    def close(self) -> None:
        assert self.held
        world, (disk, number), self.held = self.world, self.held, None
        if disk is not world.disk:
            return  # the crash has ended it as well
        disk.overwrite(number, json.dumps(self.raws, ensure_ascii=True).encode())
        if disk.number_of("history.json") == number:
            world.rude = True
            world.rewrites += 1
            world.unseen += self.said
        come(world, self.said)


class Synchroniser(Program):
    """Leaves copies of machine files beside them, under the names that synchronisers, people and systems give."""

    def act(self, count: int, *, anew: bool) -> None:
        world = self.world
        files = world.disk.tree()
        folder = "memory/summary/" if anew else "memory/"
        ours = [path for path in files if path.startswith(folder) and path.endswith(".md") and path not in world.own]
        ours = sorted(path for path in ours if path not in world.touched and (anew or path in world.filed().values()))
        for _ in range(count if ours else 0):
            path = world.rng.choice(ours)
            stem = path.removesuffix(".md")
            copy = world.rng.choice(_COPIES).format(stem, name=stem.rpartition("/")[2], folder=stem.rpartition("/")[0])
            if not world.disk.has(copy):
                world.disk.plant(copy, files[path])
                world.own[copy] = files[path]
                world.copies[copy] = path.rpartition("/")[2]


class Editor(Program):
    """An editor that saves whatever it opens with CRLF, *anew* with a BOM as well: not a word is another."""

    def act(self, count: int, *, anew: bool) -> None:
        world = self.world
        files = world.disk.tree()
        notes = [path for path in files if path.startswith("memory") and path.endswith(".md") and path not in world.copies]
        saved = {path: self.saved(files[path], anew=anew) for path in sorted(notes)}
        others = [path for path, data in saved.items() if data != files[path]]
        for path in world.rng.sample(others, min(count, len(others))):
            world.disk.plant(path, saved[path])
            world.respelt.add(path)
            for kept in (world.own, world.above):
                if path in kept:  # what recalld has added below a person's words is not theirs
                    kept[path] = self.saved(kept[path], anew=anew)

    def saved(self, data: bytes, *, anew: bool) -> bytes:
        """Return what is saved of a file that holds *data*."""
        return (_BOM if anew else b"") + with_crlf(data.removeprefix(_BOM))


class Formatter(Editor):
    """A formatter that takes away the blank lines around the words of dated files; *anew*: .recalld/ is cleaned away after it."""

    def act(self, count: int, *, anew: bool) -> None:
        super().act(count, anew=anew)
        if anew:
            delete_state(self.world)

    def saved(self, data: bytes, *, anew: bool) -> bytes:
        return collapsed(data) if b"\nkind: dated" in data[:200] else data


def _spelt(found: Any, spell: Callable[[datetime], Any]) -> Any:
    """Return the time in another spelling; as it is where it can't be read."""
    try:
        time = datetime.fromisoformat(found)
    except (TypeError, ValueError):
        return found
    return spell(time.astimezone(UTC)) if time.tzinfo else found


#: Those that write history.json anew: a workspace has one of them. The others may be at work beside it.
WRITERS: Final = (BySession, ByPosition, Sliding, Typed, SlowWriter)
OTHERS: Final = (OneName, Synchroniser, Editor, Formatter)
