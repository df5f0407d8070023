"""A workload: one thing that happens to a settled disk, what is promised meanwhile, and how the outcome is judged."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from recalld.supervisor.protocol.config import Config
from recalld.supervisor.storage.clock import from_wire
from tests.checker.checker import Acked, Given, check
from tests.crash.model_disk import ModelDisk
from tests.crash.program import Brief, Program, Replaced, Voice, clock_of, wait
from tests.crash.state import State, settle


class Kept(NamedTuple):
    """Bytes that a person wrote: from now on the file at *path*, wherever it lies, begins with them."""

    path: str
    data: bytes


def keep(disk: ModelDisk, path: str, data: bytes) -> None:
    """Put a person's file there, which has to stay as it is."""
    disk.plant(path, data)
    disk.ack(Kept(path, data))


class Gone(NamedTuple):
    """A file that a person or another program has changed or taken away: what it lacks is nobody's loss."""

    path: str


class Copied(NamedTuple):
    """A copy of one of our files that a synchroniser left: it stays where and as it is, and nothing else knows of it."""

    path: str
    data: bytes


class Deleted(NamedTuple):
    """The id of a message whose words a person took away."""

    id: str


class Dropped(NamedTuple):
    """A finished file in the drop-box: its message waits there, perhaps claimed, or it was taken in."""

    path: str
    message: Acked


class Workload:
    """
    One thing that happens at *now*. *before* lists what was said and settled earlier: the time of settling, and messages.

    A mutant is a subclass of Program in *program*; *seed* varies the words, the zone and who speaks, see Voice.
    """

    now: str = "2026-01-28T12:00:00.000Z"
    before: ClassVar[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = ()
    settings: tuple[tuple[str, str], ...] = ()
    extract: bool = True
    #: Another program destroys words on the way, or their ids and flags: whether any are lost is judged at the end alone.
    losing: bool = False
    #: Minutes that pass in a recovery, one after the other: what failed has to wait.
    waits: tuple[int, ...] = ()
    #: Messages need not stand in the order they were said in: some were put back, or came without a name.
    ordered: bool = True

    def __init__(self, program: type[Program] = Program, seed: int = 0) -> None:
        self.program = program
        self.seed = seed
        self.voice = Voice(seed)
        self.promised: list[object] = []

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def config(self) -> Config:
        return self.voice.config(*self.settings)

    def life(self, disk: ModelDisk, provider: Brief | None = None, called: str = "life") -> Program:
        return self.program(disk, self.config, provider or Brief(extract=self.extract), self.voice, called)

    def start(self) -> State:
        """The settled disk it begins with; what was promised on the way stays promised."""
        disk = ModelDisk()
        life = Program(disk, self.config, Brief(extract=self.extract), self.voice)
        life.start()
        for now, said in self.before:
            for n, (created_at, text) in enumerate(said):
                life.say(f"{created_at[:10]}-{n}", text, created_at, "assistant" if n % 2 else "user")
            life.at(now).settle()
        self.prepare(disk)
        self.promised = list(disk.acks)
        return settle(disk.inodes, disk.live)

    def prepare(self, disk: ModelDisk) -> None:
        """Put there what the workload needs besides."""

    def work(self, disk: ModelDisk) -> None:
        life = self.life(disk)
        self.happen(life)
        life.at(self.now).settle()

    def happen(self, life: Program) -> None:
        """What happens before the supervisor settles it."""

    def recover(self, disk: ModelDisk) -> None:
        """Go on from the time of the crash; and after each of *waits*, so that what failed is tried again."""
        self.life(disk).at(self.now).settle()
        for minutes in self.waits:
            self.life(disk).at(wait(clock_of(disk), minutes=minutes)).settle()

    def judge(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        return self._judge(disk, acks, calm=True)

    def glance(self, disk: ModelDisk, acks: Sequence[object]) -> list[str]:
        """What must hold at any moment, in the middle of everything."""
        return [] if self.losing else self._judge(disk, acks, calm=False)

    def _judge(self, disk: ModelDisk, acks: Sequence[object], *, calm: bool) -> list[str]:
        found, tree = [*self.promised, *acks], disk.tree()
        copies = {one.path: one.data for one in found if isinstance(one, Copied)}
        moved = [f"{path} is a copy, and was touched" for path, data in copies.items() if tree.get(path) != data]
        tree = {path: data for path, data in tree.items() if path not in copies}
        dropped = [one for one in found if isinstance(one, Dropped)]
        waiting = _waiting_in_drop_box(tree)
        taken = [one.message for one in dropped if one.message.text not in waiting]
        given = Given(
            from_wire(max(self.now, clock_of(disk))),
            self.voice.zone,
            calm=calm,
            all_written=calm,
            ordered=self.ordered,
            shows_short=self.config.summarize.least > 0,
            offered={*self.voice.said, *(one.message.text for one in dropped)},
            deleted_ids=frozenset(one.id for one in found if isinstance(one, Deleted)),
            touched_paths=frozenset(one.path for one in found if isinstance(one, (Kept, Gone))),
            kept={one.path: one.data for one in found if isinstance(one, Kept)},
        )
        replaced = {(one.id, one.text) for one in found if isinstance(one, Replaced)}
        acked = [one for one in found if isinstance(one, Acked) and (one.id, one.text) not in replaced]
        modes = {path: mode for path, mode in disk.modes().items() if path not in copies}
        return moved + check(tree, [*acked, *taken], given, modes)


def _waiting_in_drop_box(tree: Mapping[str, bytes]) -> set[str]:
    """The texts of the messages in the drop-box, in files that can be read."""
    texts = set()
    for path, data in tree.items():
        if path.startswith("inbox.d/"):
            with contextlib.suppress(ValueError):
                raw = json.loads(data)
                texts.update(one["text"] for one in (raw if isinstance(raw, list) else [raw]))
    return texts
