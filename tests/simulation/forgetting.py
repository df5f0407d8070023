"""A person who takes words back, some times a month; from then on they are in no file and no answer, whoever writes them again."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from recalld.supervisor.host import lock
from recalld.supervisor.longterm.lines import cut, filled
from recalld.supervisor.operations import forget as operations
from recalld.supervisor.operations.forget import Forgotten
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.storage.errors import SupervisorError
from tests.checker.formats import sha16
from tests.simulation.others import kept
from tests.simulation.talk import WindowMessage
from tests.simulation.world import SimulatedWorld
from tests.world import Diarist, EventList

#: Where the list of what was forgotten lies.
FORGOTTEN: Final = ".recalld/forgotten.jsonl"
#: By what words are forgotten, and how often: a day takes many with it, a session a quarter of all.
_KINDS: Final = {"message": 40, "match": 35, "line": 15, "day": 8, "session": 2}
#: A day of a month on which somebody forgets something.
_OFTEN: Final = 0.2


@dataclass(frozen=True)
class Request:
    """What somebody asks for."""

    by: str
    value: str


def forget_something(world: SimulatedWorld) -> None:
    """Forget now and then, with the supervisor at work or without it."""
    rng = world.rng
    if rng.random() >= _OFTEN:
        return
    asked = _chosen(world, rng.choices([*_KINDS], [*_KINDS.values()])[0])
    if asked is None:
        return
    if rng.random() < 0.5:
        world.stop()
    before, meant = len(acts(world)), list[Forgotten]()
    with world.mortal(), contextlib.suppress(SupervisorError, OSError):
        _forget(world, asked, meant)
    if len(acts(world)) > before:  # else the power or the disk did not let it be written down, and nothing is forgotten
        _take_back(world, meant[0])
    if rng.random() < 0.3:
        world.work(1)  # of what was asked for before
    world.tick()


def _chosen(world: SimulatedWorld, by: str) -> Request | None:
    """Return what is asked for; None where there is nothing of the kind."""
    rng = world.rng
    if by == "line":
        lines = filled(cut((world.disk.bytes_of("memory.md") or b"").decode()))
        return Request(by, rng.choice(lines).ref) if lines else None
    some = [one for one in kept(world) if one.word and one.id and one.text not in world.nameless]
    if not some:
        return None
    one = rng.choice(some)
    value = {"message": one.id, "match": one.word, "day": one.created_at[:10], "session": one.raw.get("session", "")}[by]
    return Request(by, value) if value else None


def _forget(world: SimulatedWorld, asked: Request, meant: list[Forgotten]) -> None:
    """Look at what is *meant*, then forget exactly that."""
    life = world.life
    events = EventList(world.clock)
    process = life.app if life else Diarist.process(world.root, world.clock, events, world.config, world.disk, "person")

    def ask(*, yes: bool, shown: str = "") -> Forgotten:
        request = {"by": asked.by, "value": asked.value, "yes": yes, "shown": shown}
        return perform(operations.forget, process.ws, request, Caller(clock=world.clock))

    meant.append(ask(yes=False))
    with _no_patience():
        done = ask(yes=True, shown=meant[0].digest)
    world.note(f"- a person forgets by {asked.by}: {meant[0].counts}{'' if done.done else ', and does not wait'}")


@contextlib.contextmanager
def _no_patience() -> Iterator[None]:
    """Have nobody wait for the supervisor: it does not run while somebody waits here."""
    real = operations._WAIT_S, lock._LOCK_WAIT_S
    operations._WAIT_S = lock._LOCK_WAIT_S = 0.0  # type: ignore[misc]
    try:
        yield
    finally:
        operations._WAIT_S, lock._LOCK_WAIT_S = real  # type: ignore[misc]


def _take_back(world: SimulatedWorld, meant: Forgotten) -> None:
    """Note what is promised no more, and what nobody may find any more."""
    named = {one.ref.rpartition("@")[2]: one for one in meant.messages}

    def is_meant(said: WindowMessage) -> bool:
        shown = named.get(sha16(said.text.encode("utf-8", "surrogatepass"))[:8])
        same = shown and (said.word or shown.ref.startswith(f"{said.id}@") or (not said.id and said.created_at == shown.at))
        return bool(same)

    every = (*world.promised, *world.unseen, *world.owed, *(one for some in world.boxed.values() for one in some))
    gone = [one for one in every if is_meant(one)]
    world.promised, world.unseen, world.owed = (
        [one for one in some if not is_meant(one)] for some in (world.promised, world.unseen, world.owed)
    )
    world.boxed = {number: [one for one in some if not is_meant(one)] for number, some in world.boxed.items()}
    keys = {(one.id, one.text) for one in gone} | {(one.ref.rpartition("@")[0], "") for one in meant.messages}
    world.deleted |= keys
    world.taken = {key: name for key, name in world.taken.items() if key not in keys}
    left = " ".join(one.text for one in (*world.promised, *world.unseen, *world.owed))
    world.forgotten |= {one.word for one in gone if one.word and one.word not in left}
    world.forgotten |= {line.text.partition("|me|")[2].partition("；")[0] + "；" for line in meant.lines}
    for spot in meant.places:  # a summary that is made anew has nothing of the old one, whoever had edited it
        for path in spot.files:
            world.above.pop(path, None)
        if spot.place == "summaries":
            world.thrown.update(spot.files)
    world.watch.taken(world.clock())
    world.watch.cause()


# ── the judge ────────────────────────────────────────────────────────────────


def acts(world: SimulatedWorld) -> list[dict[str, object]]:
    """Return what the list of what was forgotten says."""
    lines = (world.disk.bytes_of(FORGOTTEN) or b"").splitlines()
    return [json.loads(line) for line in lines[1:]]


def come_back(world: SimulatedWorld) -> list[str]:
    """Return where forgotten words stand, once a whole round has been done on a disk that is well."""
    if not world.forgotten or not world.is_whole or world.history() is None:
        return []
    if not all(act["finished"] for act in acts(world)):
        return ["an act of forgetting is not finished after a whole round"]
    words = {word: word.encode() for word in sorted(world.forgotten)}
    wrong = []
    for path, data in world.disk.tree().items():
        wrong += [f"FORGOTTEN {word} stands in {path}" for word, said in words.items() if said in data or word in path]
    return wrong
