"""The checks of the memory itself: its files, its index, and what waits to be done with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from zlib import crc32

from recalld.supervisor.checks.check import Look, bad, odd
from recalld.supervisor.checks.machine import walk
from recalld.supervisor.protocol.attachments import attachments_of
from recalld.supervisor.protocol.dated_file import REVISION, is_cut_off, parse_dated
from recalld.supervisor.protocol.message import InvalidEntry, Message
from recalld.supervisor.protocol.paths import QUEUE_FOLDERS
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.text.language import language_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from recalld.supervisor.checks.check import Faults
    from recalld.supervisor.checks.fsck import Ledger
    from recalld.supervisor.protocol.message import Key

#: How long a message may wait where no supervisor runs: a daily `run --until-settled` is a way to use recalld too.
LONGEST_WAIT: Final = timedelta(days=1)
#: A running supervisor has a change in the index by then.
_INDEXED_IN: Final = timedelta(minutes=1)
#: Why a group's task failed, by the reason of its result.
_REASONS: Final = {
    "timeout": Text("model.reason_timeout"),
    "empty": Text("model.reason_empty"),
    "refused": Text("model.reason_refused"),
    "truncated": Text("model.reason_cut_off"),
    "vague": Text("model.reason_poor"),
    "input": Text("model.reason_input"),
    "lost": Text("model.reason_unreadable"),
}
#: The damage that `fsck` lists and that a quick check finds, too.
_SEEN_QUICKLY: Final = frozenset({"error.bad_file"} | {f"check.{name}" for name in ("not_whole", "cut_off", "attachment.gone")})


# ── history.json ─────────────────────────────────────────────────────────────


def newer_format(look: Look) -> Faults:
    """Raise NewerFormat where a newer recalld has written."""
    look.ws.journal.refresh()
    look.ws.memory.summaries()
    yield from ()


def history(look: Look) -> Faults:
    """Yield why history.json can't be read."""
    if look.why_no_history:
        yield bad(Text("status.history_invalid", why=look.why_no_history))


def waiting(look: Look) -> Faults:
    """Yield that messages have waited for long, and nobody writes them."""
    oldest = min((one.created_at for one in look.waiting if one.created_at), default=look.now)
    if not look.is_running and look.now - oldest > LONGEST_WAIT:
        yield bad(Text("status.waits_unsupervised", time=look.local_time(oldest)))


def entries(look: Look) -> Faults:
    """Yield the first entry of history.json that is no message."""
    invalid = [(n, entry.why) for n, entry in enumerate(look.history, 1) if isinstance(entry, InvalidEntry)]
    for number, why in invalid[:1]:
        yield bad(Text("status.entries_odd", count=len(invalid), number=number, why=why))


# ── dated files ──────────────────────────────────────────────────────────────


def gone(look: Look) -> Faults:
    """Yield that dated files are gone whose messages no other file has: they are lost, or their words are kept elsewhere."""
    missing = _missing(look)
    if not missing:
        return
    kept = {entry.key for entry in look.history if isinstance(entry, Message)} | look.ws.journal.unwritten.keys()
    if lost := [key for key in missing if key not in kept]:
        yield bad(Text("status.days_lost", count=len(lost), name=missing[lost[0]]))
    if left := {key: name for key, name in missing.items() if key in kept}:
        files = sorted(set(left.values()))
        yield bad(Text("status.days_gone", files=len(files), name=files[0], count=len(left)))


def _missing(look: Look) -> dict[Key, str]:
    """Return the messages whose dated file is gone and that no other file has, each with that file's name, in their order."""
    ws, files = look.ws, look.files
    there = {file.name for file in files}
    # a file that was moved meanwhile is in neither list, and is where it was moved to
    absent = {name for name in set(ws.journal.written.values()) - there if ws.files.disk.stat(ws.memory.path_of(name)) is None}
    if not absent:
        return {}
    ids = frozenset[int]().union(*(file.ids or () for file in files))
    unknown = {block.key for file in files if file.ours and file.ids is None for block in ws.memory.blocks(file.name)}
    found = {
        key: name
        for key, name in ws.journal.written.items()
        if name in absent and key not in unknown and not ids.intersection(_ids_of(key))
    }
    return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))


def _ids_of(key: Key) -> Iterable[int]:
    """Return what `ids_in` finds of a message: by its own id, or as a later text of the message."""
    identity, digest = key
    return tuple(crc32(one.encode("utf-8", "surrogatepass")) for one in (identity, f"{identity}~{digest[:REVISION]}"))


def damaged(look: Look) -> Faults:
    """Yield the dated files that have lost their head, their end, or their last messages."""
    ws = look.ws
    ours = [file for file in look.files if file.name in ws.journal.names]
    broken = {file.name for file in ours if file.broken or not file.ours}
    short = {file.name for file in ours if file.name not in broken and (file.ids is None or len(file.ids) < file.count)}
    recorded: dict[str, list[Key]] = {name: [] for name in short}
    for key, name in ws.journal.written.items() if short else ():
        if name in recorded:
            recorded[name].append(key)
    for name, keys in recorded.items():
        version = ws.files.read_stable(ws.memory.path_of(name))
        parsed = parse_dated(version.data, ws.memory.path_of(name)) if version else None
        if version and parsed and is_cut_off(version.data, parsed, keys):
            broken.add(name)
    if broken:
        yield bad(Text("status.days_damaged", count=len(broken), name=min(broken)))


def accounted(look: Look) -> Ledger:
    """Return where every message is; it is accounted for once in a look."""
    from recalld.supervisor.checks.fsck import fsck

    if look.ledger is None:
        look.ledger = fsck(look.ws)
    return look.ledger


def accounting(look: Look) -> Faults:
    """Yield what is lost or damaged, if it takes reading every file to know it."""
    ledger = accounted(look)
    damage = [why for why in ledger.damage if isinstance(why, Text) and not _is_seen_quickly(why)]
    lost = (
        [] if any(fault.why.code == "status.days_lost" for fault in gone(look) if isinstance(fault.why, Text)) else ledger.lost
    )
    if lost or damage:
        yield bad(Text("doctor.damage", lost=len(lost), damaged=len(damage)))


def _is_seen_quickly(damage: Text) -> bool:
    """Return whether a quick check finds this damage, too."""
    is_gone = getattr(damage.fields.get("state"), "code", "") == "fsck.is_gone"  # a picture or a file of a message
    return damage.code in _SEEN_QUICKLY or is_gone


# ── other files ──────────────────────────────────────────────────────────────


def attachments(look: Look) -> Faults:
    """Yield the pictures and files that messages name and that are gone; only dated files with such a name are parsed."""
    ws = look.ws
    kept = {ws.paths.relative(ws.paths.attachments / name) for name in ws.files.disk.names(ws.paths.attachments)}
    named = {name for message in ws.journal.unwritten.values() for name in attachments_of(message.raw)}
    for file in look.files:
        if not file.attachments <= kept:
            named.update(name for block in ws.memory.blocks(file.name) for name in attachments_of(block.fields))
    if missing := sorted(named - kept):
        yield bad(Text("status.attachments_gone", count=len(missing), name=missing[0]))


def quarantine(look: Look) -> Faults:
    """Yield that no more damaged files can be kept."""
    kept = len(look.ws.files.disk.names(look.ws.paths.quarantine))
    if kept >= look.ws.config.care.quarantine_limit:
        yield odd(Text("doctor.quarantine_full", count=kept))


def long_term(look: Look) -> Faults:
    """Yield that there are two long-term files."""
    if {"memory.md", "MEMORY.md"} <= {*look.ws.files.disk.names(look.ws.paths.root)}:
        yield odd(Text("doctor.two_long_term_files"))


def index(look: Look) -> Faults:
    """
    Yield that the index is damaged, or that a running supervisor does not keep it up to date.

    Without one the next search takes in what has changed, so nothing is wrong. A change of the last minute may be on its way.
    """
    ws = look.ws
    if ws.files.disk.is_read_only(ws.paths.root):
        return  # the engine opens no index there
    found = ws.index.inventory()
    if found.damage:
        yield bad(Text("doctor.index_unreadable", why=found.damage))
    elif look.is_running and found.differing:
        newest = max((stat.st_mtime for _, stat in walk(ws.paths.memory)), default=0.0)
        if look.now - datetime.fromtimestamp(newest, UTC) > _INDEXED_IN:
            yield odd(Text("doctor.index_old", count=found.differing))


def tasks(look: Look) -> Faults:
    """Yield which summaries fail or wait after a failure, and which tasks nobody takes."""
    ws = look.ws
    last = ws.config.archive.max_attempts
    failing = {group.partition("-")[2]: one for group, one in sorted(ws.failures().items()) if one.attempts < last}
    for label, one in [*failing.items()][:1]:
        times = {"since": look.local_time(one.failed_at), "time": look.local_time(one.next_at)}
        yield odd(Text("doctor.summaries_wait", count=len(failing), label=label, why=why_failed(one.reason), **times))
    for folder in QUEUE_FOLDERS[:3]:
        stats = ws.files.disk.stats(ws.paths.worker / folder)
        times_ns = [stat.mtime_ns for name, stat in stats.items() if name.endswith(".json")]
        since = datetime.fromtimestamp(min(times_ns) / 1e9, UTC) if times_ns else look.now
        if look.now - since > LONGEST_WAIT:
            yield odd(Text("doctor.tasks_wait", folder=folder, count=len(times_ns), since=look.local_time(since)))


def why_failed(reason: str) -> str:
    """Return why a task failed, by the reason of its result."""
    return _REASONS.get(reason, reason)


def uses_chinese(look: Look) -> bool:
    """Return whether a message of history.json is Chinese."""
    return any(isinstance(entry, Message) and language_of(entry.text) == "zh" for entry in look.history)
