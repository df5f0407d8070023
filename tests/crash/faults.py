"""The steps of recalld done wrong, as the mutants need them: each is the smallest change that makes the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recalld.supervisor.archive.history import HistoryStore
from recalld.supervisor.archive.plan import Caps, Evidence, trim
from recalld.supervisor.protocol.message import Archived, Message, fingerprint_of, with_archived
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.errors import BadFile


def nothing(*_: object, **__: object) -> None:
    """Leave the step out."""


def write(disk: Any, handle: int, data: bytes) -> None:
    """Write as any program writes a file that waits for the disk."""
    disk.write(handle, data)
    disk.sync(handle)
    disk.close(handle)


def mark_archived(history: Any, keys: Any) -> Any:
    """Flag `true` what is only about to be written."""
    return tuple(with_archived(e, Archived.YES) if isinstance(e, Message) and e.key in keys else e for e in history)


def only_fresh(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a summary name the late files alone."""

    def work(period: Any, members: Any, summaries: Any, **other: Any) -> Any:
        standing = summaries.get(period)
        fresh = [file for file in members if not standing or file.source not in standing.sources]
        return original(period, fresh or members, summaries, **other)

    return work


def same_words(before: Sequence[str], after: Sequence[str], least: int = 2) -> dict[int, int]:
    """Take equal words for the same message, wherever they are."""
    places: dict[int, int] = {}
    for there, word in enumerate(after):
        here = next((n for n, other in enumerate(before) if other == word and n not in places.values()), None)
        if here is not None:
            places[there] = here
    return places


def fingerprints_by_spelling(fields: Any, role: object, text: str, created_at: Any) -> tuple[str, ...]:
    """Know a message by the spelling of its time."""
    times = [fields[name] for name in ("createdAtFound", "createdAt") if name in fields] or [to_wire(created_at)]
    return tuple(fingerprint_of(time, role, text) for time in times)


def stale_parse(original: Callable[..., Any]) -> Callable[..., Any]:
    """Go by the history that was read some time ago, not by what stands there now."""

    def parse(self: HistoryStore, look: Any) -> Any:
        return self._known[2] or original(self, look)

    return parse


def damaged_is_empty(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take a history that can't be read for an empty one."""

    def parse(self: HistoryStore, look: Any) -> Any:
        try:
            return original(self, look)
        except BadFile:
            return ()

    return parse


def reset(**fields: Any) -> Evidence:
    """Settle as if nothing were in flight."""
    return Evidence(**{**fields, "active_groups": ()})


def removed_before_history(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Delete the drop-box file before its messages are in the history."""

    def parse_and_remove(self: Any, path: Any, version: Any) -> Any:
        messages = parse(self, path, version)
        self._files.remove(path)
        return messages

    return parse_and_remove


def removed_before_journal(empty_drop_box: Callable[..., Any]) -> Callable[..., Any]:
    """Delete the drop-box files as soon as their messages are in the history."""

    def empty_and_remove(ws: Any, dropped: Any, rule: Any) -> None:
        empty_drop_box(ws, dropped, rule)
        for path in dropped:
            ws.files.remove(path)
        dropped.clear()

    return empty_and_remove


def telling_texts(original: Callable[..., Any], event: str) -> Callable[..., Any]:
    """Put the texts of un-written messages into the event."""

    def step(ws: Any, *rest: Any) -> Any:
        done = original(ws, *rest)
        if texts := [message.text for message in ws.journal.unwritten.values()]:
            ws.events.emit(event, messages=len(texts), what=texts)
        return done

    return step


def trim_anything(history: Any, written: Any, caps: Any) -> Any:
    """Take every message for written."""
    return trim(history, lambda _: True, caps)


def trim_newest(history: Any, written: Any, caps: Caps) -> Any:
    """Let the newest messages leave as well."""
    return trim(history, written, replace(caps, keep_newest=0))


def in_place(self: Any, path: Any, data: bytes, seen: Any, keep: Any = None) -> None:
    """Take the old file away and write the new one under its name."""
    if seen:
        self.disk.unlink(path)
    write(self.disk, self.disk.create(path, 0o600), data)
    self.disk.sync_folder(path.parent)


def sync_late(self: Any, path: Any, data: bytes, seen: Any, keep: Any = None) -> None:
    """Rename first, make the bytes durable afterwards."""
    temporary = self._temporary_name(path)
    handle = self.disk.create(temporary, 0o600)
    self.disk.write(handle, data)
    self.disk.rename(temporary, path)
    self.disk.sync(handle)
    self.disk.close(handle)
    self.disk.sync_folder(path.parent)


def append_torn(self: Any, path: Any, line: bytes, _row: int = 0) -> None:
    """Add a line behind whatever stands there, be it half a line."""
    write(self.disk, self.disk.open_append(path, 0o600), line)


def by_name(files: Any, summaries: Any) -> frozenset[str]:
    """Take a file for covered when its name is listed, whatever its bytes are now."""
    named = {source.name for standing in summaries.values() for source in standing.sources}
    return frozenset(file.name for file in files if file.name in named)


def covers_by_name(standing: Any, files: Any) -> bool:
    names = {source.name for source in standing.sources} if standing else set()
    return standing is not None and all(file.name in names for file in files)


def everything(files: Any, _: Any) -> frozenset[str]:
    """Take every file for covered."""
    return frozenset(file.name for file in files)


def written_late(files: Any, path: Any, data: bytes) -> None:
    """Write a picture as any program writes a file, without waiting for the disk."""
    if files.disk.stat(path) is None:
        handle = files.disk.create(path, 0o600)
        files.disk.write(handle, data)
        files.disk.close(handle)


def written_once(files: Any, path: Any, data: bytes) -> None:
    """Rely on a picture that is there, whoever wrote it."""
    if files.disk.stat(path) is None:
        files.create(path, data)


def written_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tell the journal that words are written before they are."""
    from recalld.supervisor.protocol.dated_file import parse_dated

    def write_dated(self: Any, name: str, data: bytes) -> None:
        from recalld.supervisor.archive.journal import SeenJournal

        found = parse_dated(data, Path(name))
        assert found
        SeenJournal(self._files, self._paths, None).record_written(name, found.blocks)  # type: ignore[arg-type]
        original(self, name, data)

    return write_dated


def count_again(original: Callable[..., Any]) -> Callable[..., Any]:
    """Count a failure each time its result is looked at."""

    def fail(stores: Any, result: Any, *rest: Any) -> None:
        last = stores.use.task_queue.failures().get(result.group)
        original(stores, replace(result, attempt=last.attempts if last else result.attempt), *rest)

    return fail


def torn_receipt(self: Any, receipt: Any) -> None:
    """Write a receipt as any program writes a file."""
    from recalld.supervisor.protocol.turn import render_receipt

    disk = self._files.disk
    self._files.make_folder(self._folder)
    write(disk, disk.create(self._folder / f"{receipt.id}.json", 0o600), render_receipt(receipt))
    disk.sync_folder(self._folder)


def compact_in_place(self: Any) -> None:
    """Empty the journal, and write it anew line by line."""
    kept = dict(self.unwritten)
    files = [(file, [key for key, of in self.written.items() if of == file]) for file in sorted(self.names)]
    self._files.remove(self._paths.seen)
    self.refresh()
    for file, keys in files:
        self._record([{"written": [[*key] for key in keys], "file": file}])
    self.record_seen(list(kept.values()))


def greedy_sweep(self: Any, folder: Any, *_: object, **__: object) -> int:
    """Take every hidden or temporary file for one of ours."""
    found = [name for name in self.disk.names(folder) if name.endswith((".tmp", ".swp"))]
    for name in found:
        self.disk.unlink(folder / name)
    return len(found)


def no_words_kept(original: Callable[..., Any]) -> Callable[..., Any]:
    """Forget that a person has edited the summary."""
    return lambda *given, **fields: original(*given, **{**fields, "kept": ""})


def half_move(self: Any, old: Any, new: Any) -> None:
    """Leave it to chance whether the old name is gone after a power cut."""
    self.disk.rename_new(old, new)
    self.disk.sync_folder(new.parent)


def result_first(original: Callable[..., Any]) -> Callable[..., Any]:
    """Delete the result before it is taken in."""

    def take_in(stores: Any, result: Any, period: Any, now: Any) -> Any:
        stores.use.task_queue.discard(stores.use.task_queue.results / f"{result.id}.json")
        return original(stores, result, period, now)

    return take_in
