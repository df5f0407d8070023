"""What must hold on every simulated day, and what at last: the checker, recall, the clockwork, a person's bytes."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from recalld.supervisor.summaries.llm_state import MAX_QUEUED
from tests.checker.checker import Acked, Given, check
from tests.checker.formats import EDITED, sha16
from tests.checker.reading import text_of
from tests.crash.ledger import never
from tests.simulation.forgetting import come_back
from tests.simulation.others import empty_quarantine, has_block, heal, kept, mend
from tests.simulation.talk import WindowMessage
from tests.simulation.world import SimulatedWorld

#: Messages that one question asks for.
_TOGETHER = 6
_KEEP_NEWEST = 20
#: Characters of a message beyond which one word of it is too little to find it by among a thousand short ones.
_LONG = 5_000
#: Rounds after which everything is at rest once the faults have ended, behind those whose queue is full: a model that refused a
#: month for long leaves all of its days to do. So many rounds are waited for.
_ROUNDS, _MOST = 3, 60


def judge(world: SimulatedWorld, *, calm: bool = False) -> list[str]:
    """Return what is wrong with the files as they lie."""
    files = {path: data for path, data in world.disk.tree().items() if path not in world.copies}
    touched = world.touched | world.respelt | (world.thrown - files.keys())
    touched |= {path for path in files if path.endswith("-mem-left.md")}  # by it is known what a person deleted by hand
    if world.history() is None and not calm:
        touched.add("history.json")
    deleted = {text for _, text in world.deleted}
    # words that a person deleted may be known under a second id, which a writer had once stripped
    twins = {str(one.get("id")) for one in world.history() or () if one.get("text") in deleted & world.nameless}
    given = Given(
        world.clock(),
        world.zone,
        calm=calm,
        all_written=calm,
        ordered=world.in_order,
        deleted_ids={identity for identity, _ in world.deleted} | twins,
        touched_paths=touched,
        recent_days=world.config.archive.recent_days,
        counts=_counts(world),
    )
    said = [_as_found(world, one) for one in sorted(kept(world), key=lambda one: one.place)]
    wrong = check(files, [_acked(one) for one in said], given, world.disk.modes() if calm else None)
    if not calm and any(line.startswith("LOST") for line in wrong):
        held = _journal(files.get(".recalld/seen.jsonl", b""))
        said = [one for one in said if (one.id, one.text) not in held and one.text not in {text for _, text in held}]
        wrong = check(files, [_acked(one) for one in said], given)
    if world.rude:  # whoever wrote last set the flags as they once were
        wrong = [line for line in wrong if "has the flag" not in line]
    # met without its id, which a writer had stripped, and filed under another: when it comes with its own, its words are known
    filed = {text for _, text in world.filed()}
    twins = {f"{one.get('id')} has the flag True" for one in world.history() or () if one.get("text") in filed}
    wrong = [line for line in wrong if not (line.endswith("are in no dated file") and line.partition(",")[0] in twins)]
    if world.behind:
        wrong = [line for line in wrong if "a task with its words is in flight" not in line]
    wrong += come_back(world)
    _without_forgotten(world)
    for path, data in world.own.items():
        if world.disk.bytes_of(path) != data:
            wrong.append(f"{path}, a person's own, was changed")
    for path, data in world.above.items():
        if not files.get(path, b"").startswith(data):
            wrong.append(f"{path} lost what a person wrote in it")
    beside = [
        path for path in world.respelt - world.above.keys() if "/summary/" in path and EDITED.encode() in files.get(path, b"")
    ]
    wrong += [f"{path} was summarised beside itself, though only its line ends were changed" for path in beside]
    return wrong


def _without_forgotten(world: SimulatedWorld) -> None:
    """Of a person's files with forgotten words those that are left are theirs now."""
    words = [word.encode() for word in world.forgotten]
    for files in (world.own, world.above):
        for path in [path for path, data in files.items() if any(word in data for word in words)]:
            found = world.disk.bytes_of(path)
            if found is None:
                del files[path]
            else:
                files[path] = found


def _counts(world: SimulatedWorld) -> dict[str, tuple[int, int]]:
    """
    Return how often words were met and said: those with a word of their own once, some again and again.

    What a program strips of its id while the disk does not let the journal tell of it may be taken for another message, and so
    may what is without id and time.
    """
    gone = Counter(text for _, text in world.deleted)
    unsure = world.nameless if world.has_refused else world.bare
    counts = {one.text: (0, 1) for one in (*world.promised, *world.unseen) if one.word and one.text not in unsure}
    return counts | {text: (met - gone[text], said) for text, (met, said) in world.repeated.items()}


def _as_found(world: SimulatedWorld, said: WindowMessage) -> WindowMessage:
    """Return a message that a writer had once stripped of its id under the one by which its words are known now."""
    if not said.word or said.text not in world.nameless:
        return said
    met = [(str(one.get("id", "")), one.get("text")) for one in world.history() or ()] + list(world.filed())
    if (said.id, said.text) in met:
        return said
    return next((replace(said, raw={**said.raw, "id": identity}) for identity, text in met if text == said.text), said)


def _acked(said: WindowMessage) -> Acked:
    return Acked(said.id, said.text, said.created_at)


def _journal(data: bytes) -> set[tuple[str, str]]:
    """Return the words that the seen journal alone may hold: seen, and neither written nor replaced by newer ones."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for line in data.split(b"\n"):
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        renumbered = fields.get("renumbered", ())
        for raw in (*([fields["seen"]] if "seen" in fields else ()), *(raw for raw, *_ in renumbered)):
            identity, text = str(raw.get("id", "")), text_of(raw)
            found[identity, sha16(text.encode("utf-8", "surrogatepass"))] = (identity, text)
        gone = (*fields.get("written", ()), *fields.get("dropped", ()), *(key for _, *key in renumbered))
        for identity, words, *_ in gone:
            found.pop((identity, words), None)
    return set(found.values())


def caps_held(world: SimulatedWorld) -> list[str]:
    """Return how history.json is longer than it may be after a whole round."""
    history = world.history()
    if history is None:
        return []
    soft, hard = (int(world.settings[f"RECALLD_HISTORY_{kind}_CAP"]) for kind in ("SOFT", "HARD"))
    written = world.filed()
    free = [one for one in history[:-_KEEP_NEWEST] if (str(one.get("id")), one.get("text")) in written]
    done = [one for one in free if one.get("archived") is True]
    wrong = []
    if len(history) > soft and done:
        wrong.append(f"history.json holds {len(history)} messages, and {len(done)} could leave")
    if len(history) > hard and free:
        wrong.append(f"history.json holds {len(history)} messages, and {len(free)} that are written could leave")
    return wrong


def found_again(world: SimulatedWorld, said: Sequence[WindowMessage]) -> list[str]:
    """Return which written messages are not found by their own words, some asked for together; and what is, and was forgotten."""
    life = world.life
    if life is None:
        return []
    refuse, world.disk.refuse = world.disk.refuse, never
    crash_at, world.disk.crash_at = world.disk.crash_at, None  # the power does not go out while somebody only asks
    try:
        life.reader.refresh()
        wrong = []
        told = _forgotten_but_told(world)
        for n in range(0, len(said), _TOGETHER):
            some = said[n : n + _TOGETHER]
            found = _texts(world, " ".join(one.word for one in some))
            wrong += [one for one in some if one.text not in found and one.text not in _texts(world, one.word)]
    finally:
        world.disk.refuse, world.disk.crash_at = refuse, crash_at
    return told + [f"NOT FOUND by {one.word}: {one.id} {one.text[:40]!r}" for one in wrong]


def _forgotten_but_told(world: SimulatedWorld) -> list[str]:
    """Return which of the newest forgotten words are in an answer."""
    words = sorted(world.forgotten)[-_TOGETHER:] if world.is_whole else []
    told = " ".join(_texts(world, " ".join(words))) if words else ""
    return [f"FORGOTTEN {word} is told" for word in words if word in told]


def _texts(world: SimulatedWorld, question: str) -> set[str]:
    assert world.life
    return set(world.life.reader.found_texts(question))


def searchable(world: SimulatedWorld) -> list[WindowMessage]:
    """Return the promised messages that are written and have words of their own to be found by."""
    filed = world.filed()
    texts = {text for _, text in filed}
    return [
        one
        for one in kept(world)
        if one.word and len(one.text) < _LONG and ((one.id, one.text) in filed or (not one.id and one.text in texts))
    ]


def settled(world: SimulatedWorld) -> list[str]:
    """Return what is wrong when the faults have ended: three rounds must bring everything to rest."""
    world.disk.crash_at = None
    heal(world)
    for _ in range(4 if world.owed else 0):  # what a slow writer has left is kept in quarantine
        world.advance(timedelta(seconds=61))
        world.tick()
    world.promised += world.owed
    world.owed = []
    empty_quarantine(world)
    world.model.time = "perfect"
    world.forget_pieces()
    world.configure(RECALLD_LLM_MAX_CALLS_PER_DAY="100000", RECALLD_ARCHIVE_MAX_QUEUED="100000")
    world.work(100_000)  # what is under way may still fail of what was wrong when it was asked for
    # what was damaged is restored after a quiet minute, every wait is over; one from before the clock was set back begins
    # anew when the clock comes to where it was
    for hours in (9, 9, 9, 24) if world.was_set_back else (9, 9, 9):
        world.advance(timedelta(hours=hours))
        world.tick()
        if _is_paused(world):  # that the server is back is known when the one task that asks has come home
            world.work(1)
    mend(world)
    for _ in range(3 if world.disk.has("history.json.bak") and not world.disk.has("history.json") else 0):
        world.advance(timedelta(minutes=2))  # it was moved away: the backup comes in its place, after a quiet minute as well
        world.tick()
    did: list[tuple[int, int]] = []
    while not did or (any(did[-1]) and len(_behind_backlog(did)) < 9 and len(did) < _MOST):
        did.append(_settle(world))
    is_late = any(did[-1]) or len(_behind_backlog(did)) > _ROUNDS + 1
    wrong = [f"it takes {len(did) - 1} rounds to settle: {did}"] if is_late else []
    before = world.disk.tree()
    world.stop()
    world.start()
    _settle(world)
    changed = [path for path, data in world.disk.tree().items() if before.get(path) != data and not path.startswith(".recalld")]
    wrong += [f"{path} changes when nothing happens" for path in changed]
    return wrong + _there_or_told(world) + judge(world, calm=True)


def _there_or_told(world: SimulatedWorld) -> list[str]:
    """Return the words that a person took out of a file, that are nowhere below the workspace, and that `fsck` does not tell."""
    assert world.life
    here = {(str(one.get("id")), text_of(one)) for one in world.history() or ()}
    filed = b"".join(data for path, data in world.disk.tree().items() if path.startswith("memory/"))
    gone = {
        word: name
        for word, name in world.taken.items()
        if word not in here
        and not has_block(filed, word[0])
        and word[1] not in world.nameless
        # or under another id, which a program has given it since
        and word[1].encode("utf-8", "surrogatepass") not in filed
    }
    if not gone:
        return []
    ledger = world.life.app.fsck()
    told = "\n".join((*ledger.removed_ids, *ledger.lost, *ledger.damage, *ledger.moved, *ledger.faults))
    return [f"NOT TOLD: {word[0]} of {name}" for word, name in gone.items() if word[0] not in told and name not in told]


def _behind_backlog(did: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the rounds behind the last one whose queue was full."""
    full = [n for n, (_, worked) in enumerate(did, 1) if worked >= MAX_QUEUED]
    return did[full[-1] :] if full else did


def _is_paused(world: SimulatedWorld) -> bool:
    data = world.disk.bytes_of("worker/failed/provider.json")
    return bool(data and json.loads(data).get("attempts"))


def _settle(world: SimulatedWorld) -> tuple[int, int]:
    """Do one round and all the work that it asks for; returns how much recalld had to do, and how much its worker."""
    assert world.life
    done = world.life.main.round("all")
    if done.errors:
        raise AssertionError(f"on a disk that is well: {done.errors}")
    world.meet(done)
    return done.did, world.work(100_000)
