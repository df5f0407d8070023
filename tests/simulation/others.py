"""What other programs and people do to the workspace: with the lock, without it, on purpose and by accident."""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.errors import SupervisorError
from tests.checker.formats import Unreadable, read_dated, read_history
from tests.checker.reading import text_of
from tests.crash.ledger import never
from tests.simulation.talk import WindowMessage

if TYPE_CHECKING:
    from tests.simulation.world import SimulatedWorld


#: What a disk in trouble says, and to which calls.
_TROUBLE = {
    "full": (errno.ENOSPC, ("write", "create", "mkdir", "open_append")),
    "broken": (errno.EIO, ("write", "sync", "rename", "sync_folder")),
    "forbidden": (errno.EACCES, ("create", "rename", "link", "unlink", "open_append")),
}
_FIELDS = ("role", "text", "content", "createdAt")


# ── programs ─────────────────────────────────────────────────────────────────


def append_politely(world: SimulatedWorld, said: Sequence[WindowMessage]) -> None:
    """Append under the lock, as `recalld append` does; what it acknowledges is promised."""
    if world.life is None:
        return
    app = world.life.app
    with world.mortal(), contextlib.suppress(SupervisorError, OSError):
        before = world.in_drop_box()
        app.append(*(one.raw for one in said))
        new = world.in_drop_box() - before - world.boxed.keys()  # another program may have dropped its own meanwhile
        if new:
            world.in_order = False
            world.boxed[new.pop()] = list(said)
        else:
            come(world, said)
            world.promised += said


def come(world: SimulatedWorld, said: Sequence[WindowMessage]) -> None:
    """Note in which order the messages stand in history.json."""
    for one in said:
        one.place = next(world.places)


def drop(world: SimulatedWorld, said: Sequence[WindowMessage]) -> None:
    """Move a finished file into the drop-box: that is a promise."""
    drop_as(world, f"inbox.d/new/{world.lives}-{next(world.places)}.json", said)


def drop_as(world: SimulatedWorld, path: str, said: Sequence[WindowMessage]) -> None:
    """Move a finished file into the drop-box by this name, whatever file has had it."""
    world.in_order = False  # when it is taken in nobody but recalld knows
    raws = [one.raw for one in said]
    world.disk.plant(path, json.dumps(raws if len(raws) > 1 else raws[0]).encode())
    world.boxed[world.disk.number_of(path) or 0] = list(said)


def write_rudely(world: SimulatedWorld, said: Sequence[WindowMessage], *, names: bool = True) -> None:
    """Write history.json anew with more at its end, without the lock; *names* False: of messages that have no id."""
    history = world.history()
    if history is None and world.disk.has("history.json"):
        return
    for one in said if not names else ():
        one.raw["createdAt"] = to_wire(world.clock())  # by which it is known, as it has no name
        one.raw.pop("id", None)
    put(world, [*(history or ()), *(one.raw for one in said)])
    come(world, said)
    world.unseen += said


def write_back_old(world: SimulatedWorld, old: Sequence[dict[str, Any]], said: Sequence[WindowMessage]) -> None:
    """Write what was read some time ago, with more at its end: what came since is lost from the file."""
    if world.forgetful:
        return
    world.in_order = False
    put(world, [*old, *(one.raw for one in said)])
    world.unseen = [*said]
    _allow_once_more(world, [text_of(one) for one in old if not (one.get("id") or one.get("createdAt"))])
    texts = {str(one.get("id")): one.get("text") for one in old}
    written = world.filed()
    # of a message that is still being written the newest words count, and these are now the old ones
    world.promised = [one for one in world.promised if texts.get(one.id, one.text) == one.text or (one.id, one.text) in written]


def _allow_once_more(world: SimulatedWorld, texts: Iterable[str]) -> None:
    """Let words be written once more that had no id and no time: whether they were said again can't be told."""
    for text in texts:
        if text in world.repeated:
            world.repeated[text][1] += 1


def _allow_copies(world: SimulatedWorld) -> None:
    """Let what is said again and again be written once more: copies lack the ids that a disk which refuses did not take."""
    _allow_once_more(world, world.repeated if world.disk.refuse is not never else ())


def cap(world: SimulatedWorld, count: int) -> None:
    """Keep a cap of its own: the newest alone."""
    history = world.history()
    if history and not world.forgetful:
        world.in_order = False
        put(world, history[-count:])


def strip(world: SimulatedWorld) -> None:
    """Know none of our fields."""
    if not world.forgetful:  # with the journal gone nobody could tell whose words they were
        put(world, [{key: one[key] for key in _FIELDS if key in one} for one in world.history() or ()])


def tear(world: SimulatedWorld) -> None:
    """Die in the middle of writing in place."""
    data = world.disk.bytes_of("history.json") or b""
    if len(data) > 2 and not world.forgetful:
        world.in_order = False
        world.rude = True  # it is put together again from a backup, with the flags that this has
        world.rewrites += 1
        world.overwritten()
        _allow_copies(world)
        world.disk.plant("history.json", data[: world.rng.randrange(len(data) - 1)])
        world.unseen = []


def write_broken(world: SimulatedWorld, said: Sequence[WindowMessage]) -> None:
    """Write history.json anew with more at its end, without the lock, and with the slip of a hand that edits JSON."""
    history = world.history()
    if history is None or world.forgetful or not said:
        return
    world.in_order = False
    put(world, [*history, *(one.raw for one in said)])
    data = (world.disk.bytes_of("history.json") or b"").decode()
    slip = world.rng.choice(("comma", "bracket", "quote"))
    if slip == "comma":
        data = "，".join((data[:-1].rpartition("}, {")[0] + "}", " {" + data[:-1].rpartition("}, {")[2] + "]"))
    elif slip == "bracket":
        data = data[:-1] + ",]"
    else:
        ahead, name, last = data.rpartition('"id": "')
        data = ahead + name + last.replace('"', "", 1)  # the name of the last one has no end
        said = said[:-1]
    if read_or_none(data.encode()) is None:
        come(world, said)
        _allow_copies(world)
        world.disk.plant("history.json", data.encode())
        world.owed += said
        world.broken_with = said


def revise(world: SimulatedWorld) -> None:
    """Say the last answer in other words, as an assistant that streams does."""
    history = [dict(one) for one in world.history() or ()]
    last = next((one for one in reversed(history) if one.get("id") and isinstance(one.get("text"), str)), None)
    known = next((one for one in world.promised if last and one.id == last["id"] and one.text == last["text"]), None)
    if last is None or known is None or not known.word:
        return
    last["text"] = f"{known.text}（又改了一次）"
    put(world, history)
    if (known.id, known.text) not in world.filed():
        world.promised.remove(known)
    world.unseen.append(WindowMessage({**known.raw, "text": last["text"]}, known.word, known.place))


def put(world: SimulatedWorld, messages: Sequence[Any]) -> None:
    world.overwritten()
    world.rude = True
    world.rewrites += 1
    stripped = [one for one in messages if "id" not in one and isinstance(one.get("text"), str)]
    world.nameless |= {one["text"] for one in stripped}
    world.bare |= {one["text"] for one in stripped if "createdAt" not in one}
    world.disk.plant("history.json", json.dumps(messages, ensure_ascii=True).encode())


# ── people ───────────────────────────────────────────────────────────────────


def edit_summary(world: SimulatedWorld) -> None:
    path = _any(world, "memory/summary/")
    if path:
        data = (world.disk.bytes_of(path) or b"").replace("备份".encode(), "备份（我改过）".encode(), 1)
        world.disk.plant(path, data + f"我补一句：{world.disk.operations}\n".encode())
        world.above[path] = world.disk.bytes_of(path) or b""
        world.touched.add(path)


def delete_summary(world: SimulatedWorld) -> None:
    path = _any(world, "memory/summary/")
    if path:
        world.disk.remove(path)
        world.above.pop(path, None)
        world.thrown.add(path)


def write_note(world: SimulatedWorld) -> None:
    day = world.clock().date().isoformat()
    n = world.disk.operations
    name = world.rng.choice((f"memory/{day}-notes-{n}.md", f"memory/想法-{n}.md", "memory.md", f"memory/projects/p{n}.md"))
    _plant_own(world, name, world.own.get(name, b"") + f"{day}|me|记一笔 {n}；别忘了\n".encode())


def delete_block(world: SimulatedWorld) -> None:
    """Delete the last message of a dated file, in an editor."""
    path = _any_dated(world)
    if path is None:
        return
    _tidy(world, path)
    data = world.disk.bytes_of(path) or b""
    start = data.rfind(b"\n<!-- {")
    if start >= 0 and words_of(data):
        _leave(world, path, data, data[: start + 1])


def delete_file(world: SimulatedWorld) -> None:
    """Delete a dated file, or move it out of sight."""
    away = _take_away(world)
    if away and world.rng.random() < 0.5:
        _plant_own(world, f"memory/projects/{away[0]}", away[1])


def move_file(world: SimulatedWorld) -> None:
    """Move a dated file to a folder of one's own below memory/, or give it a name of one's own: it is read there."""
    if away := _take_away(world):
        place = world.rng.choice((f"memory/十一月/{away[0]}", f"memory/日记-{world.disk.operations}.md"))
        _plant_own(world, place, away[1])


def _take_away(world: SimulatedWorld) -> tuple[str, bytes] | None:
    """Take a dated file away, and return its name and its bytes; None where there is none."""
    path = _any_dated(world)
    if path is None:
        return None
    _tidy(world, path)
    name, data = path.rpartition("/")[2], world.disk.bytes_of(path) or b""
    world.watch.taken(world.clock())
    world.deleted.update(words_of(data))
    _take(world, name, words_of(data))
    world.disk.remove(path)
    world.touched.add(path)
    return name, data


def _plant_own(world: SimulatedWorld, path: str, data: bytes) -> None:
    world.disk.plant(path, data)
    world.own[path] = data


def cut_file(world: SimulatedWorld) -> None:
    """Cut a dated file off between two messages, as a copy does that ends early."""
    path = _any_dated(world)
    if path is None:
        return
    data = world.disk.bytes_of(path) or b""
    starts = [at + 1 for at in range(len(data)) if data.startswith(b"\n<!-- {", at)]
    if len(starts) < 2:
        return
    _tidy(world, path)
    _leave(world, path, data, data[: world.rng.choice(starts[1:])])


def _leave(world: SimulatedWorld, path: str, data: bytes, left: bytes) -> None:
    """Leave these bytes of the file: it is a person's now, and what is in it is theirs to keep."""
    world.watch.taken(world.clock())
    world.deleted.update(words_of(data))
    name = path.rpartition("/")[2]  # it may be moved to originals/ as it is now
    _take(world, name, [word for word in words_of(data) if not has_block(left, word[0])])
    world.disk.plant(path, left)
    world.touched.update((path, name, f"memory/{name}", f"memory/originals/{name[:7]}/{name}"))


def _take(world: SimulatedWorld, name: str, words: Iterable[tuple[str, str]]) -> None:
    """Take the words out of the file; of one that recalld never met nobody can tell."""
    if name.encode() in (world.disk.bytes_of(".recalld/seen.jsonl") or b""):
        world.taken.update(dict.fromkeys(words, name))


def _tidy(world: SimulatedWorld, path: str) -> None:
    """Delete the copies of a file first: else one of them is the only one that holds these words."""
    name = path.rpartition("/")[2]
    for copy in [copy for copy, original in world.copies.items() if original == name]:
        world.disk.remove(copy)
        del world.copies[copy], world.own[copy]


def move_back(world: SimulatedWorld) -> None:
    """Move an original back among the dated files: nothing is lost by it."""
    path = _any(world, "memory/originals/")
    name = (path or "").rpartition("/")[2]
    if path and path not in world.touched and not world.disk.has(f"memory/{name}"):
        data = world.disk.bytes_of(path) or b""
        world.disk.remove(path)
        world.disk.plant(f"memory/{name}", data)


def delete_state(world: SimulatedWorld) -> bool:
    """Delete .recalld/, when all that is promised stands in the files; the supervisor notices and ends."""
    if not is_all_in_files(world):
        return False
    world.disk.remove_tree(".recalld")
    world.advance(timedelta(seconds=1))  # the diary tells an edit by its time, and again after this
    world.taken.clear()  # nobody is left who could tell
    world.forgetful = True
    world.watch.spent.clear()  # what the day has had is remembered there
    return True


def is_all_in_files(world: SimulatedWorld) -> bool:
    """Tell whether all that is promised stands in history.json or in a dated file, so that the journal can go."""
    here = {(str(one.get("id")), one.get("text")) for one in world.history() or ()}
    here |= world.filed().keys()
    texts = {text for _, text in here}
    if world.boxed.keys() - world.in_drop_box():
        return False  # what was dropped has been taken in, and may stand in the journal alone
    return not (
        world.unseen
        or world.owed
        or any((one.id, one.text) not in here if one.id else one.text not in texts for one in kept(world))
        or any(met and text not in texts for text, (met, _) in world.repeated.items())
    )


#: What a person does now and then.
PEOPLE = (
    *(edit_summary, delete_summary, write_note, delete_block, delete_file, move_file, cut_file, move_back),
    delete_state,
)


def empty_quarantine(world: SimulatedWorld) -> None:
    """Do what `quarantine_full` asks for: while it is full no damaged history is written over."""
    for path in [path for path in world.disk.tree() if path.startswith(".recalld/quarantine/history.json.")]:
        world.disk.remove(path)


def mend(world: SimulatedWorld) -> None:
    """
    Do what `history_invalid` asks for: `recalld restore`, or move the file away where nothing can be read from it.

    Only a file that was never met needs it: nothing is known that could stand in its place, and it is left as it is.
    """
    if world.life is None or world.history() is not None or not world.disk.has("history.json"):
        return
    is_known = read_or_none(world.disk.bytes_of("history.json.bak") or b"[]")
    assert not is_known, "history.json is damaged, its backup lies beside it, and nothing is done"
    world.life.app.restore()
    if world.history() is None:
        world.disk.remove("history.json")


def trouble(world: SimulatedWorld, kind: str) -> None:
    """Let the disk refuse some of its calls, about half of them."""
    number, calls = _TROUBLE[kind]
    world.has_refused = True
    rng = world.rng
    world.disk.refuse = lambda call: number if call in calls and rng.random() < 0.5 else 0


def heal(world: SimulatedWorld) -> None:
    world.disk.refuse = never


def kept(world: SimulatedWorld) -> list[WindowMessage]:
    """Return what is promised and that no person has deleted; what was once stripped of its id, under whatever id."""
    gone_texts = {text for _, text in world.deleted}
    return [
        one
        for one in world.promised
        if (one.id, one.text) not in world.deleted
        and ((one.id and one.text not in world.nameless) or one.text not in gone_texts)
    ]


def has_block(data: bytes, identity: str) -> bool:
    """Tell whether a dated file, or what is left of one, has the message."""
    return b'<!-- {"id": ' + json.dumps(identity).encode() in data


def read_or_none(data: bytes) -> tuple[dict[str, Any], ...] | None:
    try:
        return read_history(data)
    except Unreadable:
        return None


@lru_cache(maxsize=4096)
def words_of(data: bytes) -> tuple[tuple[str, str], ...]:
    """Return id and words of each message of a dated file; nothing of what is none."""
    try:
        dated = read_dated(data)
    except (Unreadable, ValueError):
        return ()
    return tuple((one.id, one.text) for one in dated.words) if dated else ()


def _any(world: SimulatedWorld, folder: str) -> str | None:
    paths = [
        path for path in world.disk.tree() if path.startswith(folder) and path.endswith(".md") and path not in world.copies
    ]
    return world.rng.choice(sorted(paths)) if paths else None


def _any_dated(world: SimulatedWorld) -> str | None:
    written = sorted(set(world.filed().values()))
    return world.rng.choice(written) if written else None
