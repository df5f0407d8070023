"""
The conversation: history.json, which the assistant and other programs write too, and attachments/, the bytes of its pictures.

A change of history.json is one read, change and write under the lock; a comparison just before the rename detects a program
that ignores the lock. A file that can't be read is never overwritten: BadFile, until a person or `restore` has repaired it.

The bytes of a picture or file are kept once, by their content, and are durable before anything that names them is written: a
line of the journal, a dated file. Source: protocol.md, 2, 4.8 and 5.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any, Final

from ..protocol.attachments import digest_in_name, holds, joined, separated
from ..protocol.dated_file import Block
from ..protocol.message import History, Message, parse_history, read_message, render_history
from ..protocol.paths import WorkspacePaths
from ..storage.clock import to_wire
from ..storage.disk import Stat, place_below
from ..storage.errors import BadFile, Busy, Conflict
from ..storage.files import Files, FileVersion
from ..storage.keeping import keep_by_content
from ..storage.lenient_json import parse_json, recover
from ..storage.texts import Text

#: How often to write when another program changes the file meanwhile.
_WRITE_TRIES: Final = 5
#: How long a program may take to write the file in place, so that it can't be read meanwhile, in seconds.
_PATIENCE_S: Final = 2.0
#: After how many seconds it is read again; at least three times.
_READ_AGAIN_S: Final = 0.25
#: No picture has more, since history.json held it as base64.
_MOST_BYTES: Final = 1 << 30


class HistoryStore:
    """history.json, and the messages of the version that was parsed last."""

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        self._files = files
        self._paths = paths
        self._zone = zone
        #: The version that was parsed last, replaced as a whole: threads share it.
        self._known: tuple[Stat | None, str, History] = (None, "", ())
        self._damaged: Stat | None = None  # the damaged version: no read waits for it again

    def read(self, patience_s: float = _PATIENCE_S) -> History:
        """
        Return the messages; none when there is no file and never was one. The same object while nothing changed.

        A file that can't be read is read again for *patience_s* seconds: a program may be writing it in place. BadFile when the
        file is damaged, or when it is missing although its backup exists.
        """
        stat = self._files.disk.stat(self._paths.history)
        known, _, history = self._known
        if stat is None or stat != known:
            return self._parse(self._read_patiently(stat, patience_s))
        return history

    def change(self, step: Callable[[History], History], then: Callable[[History], None] | None = None) -> History:
        """
        Replace the messages by ``step(messages)``, durably, and return them; nothing is written when they are equal.

        *step* is called again when another program wrote meanwhile. *then* is called with the result while the lock is still
        held. BadFile as in `read`; Busy when another process keeps the lock; Conflict when others write all the time.
        """
        path = self._paths.history
        with self._files.lock(self._paths.history_lock):
            for is_last in (False,) * (_WRITE_TRIES - 1) + (True,):
                version = self._files.read_stable(path)
                before = self._parse(version)
                after = step(before)
                if after is before or after == before:
                    break
                try:
                    self._write(after, version)
                    break
                except Conflict:
                    if is_last:
                        raise
            if then:
                then(after)
            return after

    # ── repair ───────────────────────────────────────────────────────────────

    def lock(self) -> AbstractContextManager[None]:
        """Hold the lock of history.json; Busy when another process keeps it."""
        return self._files.lock(self._paths.history_lock)

    def version(self) -> FileVersion | None:
        """Return the bytes of history.json as they are now, damaged or not; None when it does not exist."""
        return self._files.read_stable(self._paths.history)

    def backup(self) -> History:
        """Return the messages of the backup; none when it is missing or damaged."""
        version = self._files.read_stable(self._paths.history_backup)
        with suppress(ValueError):
            return parse_history(version.data, self._zone) if version else ()
        return ()

    def change_backup(self, step: Callable[[History], History]) -> None:
        """Replace the messages of the backup by ``step(messages)``; a damaged backup is deleted."""
        with self.lock():
            version = self._files.read_stable(self._paths.history_backup)
            if version is None:
                return
            try:
                before = parse_history(version.data, self._zone)
            except ValueError:
                self._files.remove(self._paths.history_backup)
                return
            if (after := step(before)) != before:
                self._files.replace(self._paths.history_backup, render_history(after), version)

    def overwrite(self, history: History, damaged: FileVersion | None) -> None:
        """Replace a damaged or missing file; Conflict when it is no longer the version *damaged*."""
        self._files.replace(self._paths.history, render_history(history), damaged)

    # ── steps ────────────────────────────────────────────────────────────────

    def _read_patiently(self, stat: Stat | None, patience_s: float) -> FileVersion | None:
        """Return the file; when it is no JSON, wait for a program that may be writing it in place."""
        version = self._files.read_stable(self._paths.history, patience_s)
        waits = 0 if stat == self._damaged else round(max(patience_s / _READ_AGAIN_S, 3))
        for _ in range(waits):
            with suppress(ValueError):  # else it is being written
                if version:
                    parse_json(version.data)
                break
            self._files.pause(patience_s / waits)
            version = self._files.read_stable(self._paths.history, patience_s)
        return version

    def _write(self, after: History, version: FileVersion | None) -> None:
        try:
            data = render_history(after)
        except RecursionError:
            raise BadFile(self._paths.history, Text("its nesting is too deep")) from None
        self._files.replace(self._paths.history, data, version, keep=self._paths.history_backup)

    def _parse(self, version: FileVersion | None) -> History:
        if version is None:
            self._known = (None, "", ())
            if self._files.disk.stat(self._paths.history_backup):
                raise self._damage(Text("it is gone, though its backup is there"))
            return ()
        _, digest, history = self._known
        if version.digest != digest:
            try:
                history = parse_history(version.data, self._zone)
            except ValueError as error:
                self._known, self._damaged = (None, "", history), version.stat
                raise self._damage(error.args[0]) from None
        self._known = version.stat, version.digest, history
        return history

    def _damage(self, why: str) -> BadFile:
        return BadFile(self._paths.history, why, Text("`recalld restore` puts it together again"))


def history_copies(files: Files, paths: WorkspacePaths, zone: tzinfo) -> Iterator[Message]:
    """Yield the messages of every copy of history.json that is kept, and its own, the newest copies last."""
    quarantined = (name for name in files.disk.names(paths.quarantine) if name.startswith("history.json."))
    for path in (*(paths.quarantine / name for name in quarantined), paths.history_backup, paths.history):
        yield from messages_of(files, path, zone)


def messages_of(files: Files, path: Path, zone: tzinfo) -> Iterator[Message]:
    """Yield the messages of a copy of history.json that have an id and a time, of a damaged one those that can be read."""
    version = files.read_stable(path)
    if version is None:
        return
    try:
        raws = parse_json(version.data)
    except ValueError:
        raws = recover(version.data).elements
    for raw in raws if isinstance(raws, list) else ():
        message = read_message(raw, zone)
        if isinstance(message, Message) and message.id and message.created_at:
            yield message


def raw_of(block: Block) -> dict[str, Any]:
    """Return the JSON object from which the block was made."""
    words = {"role": block.role, block.text_field: block.text, "createdAt": to_wire(block.created_at)}
    return {"id": block.revision_of or block.id, **words, **block.fields}


class Attachments:
    """The files in attachments/."""

    def __init__(self, files: Files, paths: WorkspacePaths) -> None:
        self._files = files
        self._paths = paths

    def keep(self, raw: Mapping[str, Any]) -> Mapping[str, Any]:
        """Keep the bytes that a message holds, durably, and return the message with their names in place of them."""
        small, pictures = separated(raw)
        for name, data in pictures.items():
            self._files.make_folder(self._paths.attachments, lasting=True)
            keep_by_content(self._files, self._paths.root / name, data)
        return small

    def original(self, message: Message) -> Message:
        """Return the message as its writer made it, with its bytes in it; of a file that is gone the name stays."""
        raw = joined(message.raw, self.read)
        return message if raw is message.raw else replace(message, raw=raw)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, None where it is gone or holds other bytes than it did."""
        version = None
        if digest_in_name(name) and (place := place_below(self._paths.root, name)):
            with suppress(OSError, Busy):  # a folder in its place
                version = self._files.read_stable(place, most=_MOST_BYTES)
                if version and self._files.shown(place, version.data) is None:
                    return None
        return version.data if version and holds(name, version.data) else None
