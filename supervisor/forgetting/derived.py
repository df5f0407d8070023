"""
What was made from the words, and is deleted or made anew without them: summaries, tasks, receipts, copies, tables, the index.

Each function goes through one place, and doing it again is harmless.
"""

from __future__ import annotations

import gzip
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..archive.places import CANARIES
from ..conversation.sessions import RunningSummary, session_digest
from ..longterm.lines import cut, filled
from ..protocol.paths import day_of_name
from ..protocol.period import period_of_group
from ..protocol.turn import parse_receipt
from ..storage.errors import SupervisorError
from ..storage.lenient_json import parse_json, render_json
from .wanted import decoded, files_below

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from .aim import Aim


def forget_made(aim: Aim) -> None:
    """Take the words out of everything that was made from them, but for the tables and the index."""
    _drop_tasks(aim)
    _drop_summaries(aim)
    _drop_running_summaries(aim)
    _drop_files(aim)
    _clean_chats(aim)
    _clean_ended(aim)


def forget_tables(aim: Aim) -> None:
    """Delete the index, the vectors and the tables, which are made again, and give files in the log their new names."""
    paths, files = aim.ws.paths, aim.ws.files
    for folder, lock in ((paths.state / "index", "index.lock"), (paths.vectors, "vectors.lock")):
        if any(files_below(aim.ws, folder)) and aim.note(folder):
            with files.lock(paths.state / lock):  # listed under it: its writer deletes what it has merged
                there = files_below(aim.ws, folder)
                for path in sorted(there, key=lambda path: path.name != "meta.json"):  # the list before what it names
                    with suppress(FileNotFoundError):  # an engine that is still open deletes files of its own, too
                        files.disk.unlink(path)
                files.disk.sync_folder(folder)
    if aim.applies:
        aim.ws.index.close()  # it is opened again when it is made
    for table in (paths.files, paths.root / CANARIES):
        if files.disk.stat(table):
            aim.remove(table)
    for name in sorted(files.disk.names(paths.root)):
        if name.startswith("log") and name.endswith((".jsonl", ".jsonl.gz")):
            _rename_in(aim, paths.root / name)
    for path in (paths.fsck, paths.found, paths.backup, paths.diary):
        _rename_in(aim, path)


def _drop_tasks(aim: Aim) -> None:
    """Drop every task and result of a day or month whose files are made anew, and what else of the worker has the words."""
    queue, labels = aim.ws.task_queue, {name[:10] for name in aim.names} | {name[:7] for name in aim.names}
    for folder in (queue.queue, queue.running, queue.results):
        for path in files_below(aim.ws, folder):
            period = period_of_group(path.name.rsplit("-", 2)[0])
            if (period and period.label in labels) or _has_words(aim, path):
                aim.remove(path)
    for path in files_below(aim.ws, queue.failed):  # inputs that were set aside
        if _has_words(aim, path):
            aim.remove(path)
    for path in files_below(aim.ws, aim.ws.paths.pieces):
        if any(label in path.name for label in labels) or _has_words(aim, path):
            aim.remove(path)


def _drop_summaries(aim: Aim) -> None:
    """Delete the summaries that name the files, and their earlier texts: they are made anew from what is left."""
    labels = {period.label for period in aim.summaries}
    for period in aim.summaries:
        aim.remove(aim.ws.paths.summary(period))
    for path in files_below(aim.ws, aim.ws.paths.summaries):  # also copies that an editor or a synchroniser made
        if path.name.removesuffix(".md") not in labels and _has_words(aim, path):
            aim.remove(path)
    for path in files_below(aim.ws, aim.ws.paths.previous):
        if path.name.partition(".")[0] in labels:
            aim.remove(path)


def _drop_running_summaries(aim: Aim) -> None:
    """Delete the running summary of each session that a message names: it begins again with what is left."""
    store, paths = aim.ws.session_files, aim.ws.paths
    for session in sorted({message.session for message in aim.messages.values()}):
        path = paths.session(session_digest(session))
        if aim.ws.files.disk.stat(path) is None:
            continue
        with store.locked(session):
            progress = store.read(session)
            intent = None if progress.intent and aim.trace.is_in(progress.intent.text) else progress.intent
            after = replace(progress, running=RunningSummary(), intent=intent)
            if after != progress and aim.note(path):
                store.keep(session, after)


def _drop_files(aim: Aim) -> None:
    """Delete the receipts, copies and earlier versions that have the words, or name them."""
    paths = aim.ws.paths
    named = frozenset((*(paths.relative(paths.summary(period)) for period in aim.summaries), *aim.files))
    for folder in (paths.turns, paths.quarantine, paths.replaced, paths.previous):
        for path in files_below(aim.ws, folder):
            if _has_words(aim, path) or _shows(aim, path, named):
                aim.remove(path)


def _shows(aim: Aim, path: Path, named: Collection[str]) -> bool:
    """Return whether a receipt showed one of the files *named*, a note perhaps under an earlier name; or a copy names it."""
    version = aim.ws.files.read_stable(path) if named else None
    if version is None:
        return False
    with suppress(SupervisorError):
        shown = {candidate.path for candidate in parse_receipt(version.data, path).candidates}
        return not shown.isdisjoint(named) or (aim.notes.is_in_bytes(version.data) and any(_is_gone(aim, p) for p in shown))
    return any(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w~-]|\.\w)", decoded(version.data)) for name in named)


def _is_gone(aim: Aim, name: str) -> bool:
    """Return whether the note of this name is no longer there: dated files move by themselves."""
    return day_of_name(name.rpartition("/")[2]) is None and aim.ws.files.disk.stat(aim.ws.paths.root / name) is None


def _clean_chats(aim: Aim) -> None:
    """Take the messages with the words out of the chats that LlamaIndex keeps, and out of the inbox."""
    paths, files = aim.ws.paths, aim.ws.files
    for path in files_below(aim.ws, paths.sessions):
        if not path.name.startswith("chat-") or path.suffix != ".jsonl" or not _has_words(aim, path):
            continue
        with files.lock_for_life(path.with_suffix(".lock")):
            head, *lines = files.disk.read(path).split(b"\n")
            aim.replace(path, b"\n".join([head, *(line for line in lines if not aim.trace.is_in_bytes(line))]))
    if _has_words(aim, paths.inbox):
        with files.lock(paths.inbox_lock):
            _clean_inbox(aim)


def _clean_inbox(aim: Aim) -> None:
    version = aim.ws.files.read_stable(aim.ws.paths.inbox)
    with suppress(ValueError):  # what can't be read is reported, and stays
        inputs: Any = parse_json(version.data) if version else None
        if isinstance(inputs, list):
            left = [entry for entry in inputs if not aim.trace.is_in_bytes(render_json(entry))]
            aim.replace(aim.ws.paths.inbox, render_json(left) + b"\n")


def _clean_ended(aim: Aim) -> None:
    """Take out what was said to be no longer true of the messages, and what could be undone of them."""
    for path in (aim.ws.paths.ended, aim.ws.paths.acts):
        version = aim.ws.files.read_stable(path)
        lines = version.data.split(b"\n") if version else []
        left = [line for line in lines if not (aim.trace.is_in_bytes(line) or _changed_one(line, aim.lines))]
        if len(left) < len(lines):
            aim.replace(path, b"\n".join(left))


def _changed_one(act: bytes, lines: Collection[str]) -> bool:
    """Return whether the act, a line of acts.jsonl, wrote or took away one of the lines: one is too short for a trace."""
    try:
        hunks = parse_json(act)["hunks"] if lines else ()
        return any(line.text in lines for hunk in hunks for text in hunk[1:] for line in filled(cut(str(text))))
    except (ValueError, LookupError, TypeError):
        return False


def _has_words(aim: Aim, path: Path) -> bool:
    """Return whether the file has the words in it or in its own name."""
    version = aim.ws.files.read_stable(path)
    if version is None:
        return False
    return aim.trace.is_in_bytes(version.data) or aim.trace.is_in(path.name)


def _rename_in(aim: Aim, path: Path) -> None:
    """Give the dated files that were made anew their new names where a log or a report names them."""
    version = aim.ws.files.read_stable(path)
    if version is None:
        return
    is_packed = path.suffix == ".gz"
    before = gzip.decompress(version.data) if is_packed else version.data
    after = before
    for name in sorted(aim.names):
        after = after.replace(name.encode(), (aim.renamed.get(name) or f"{name[:10]}-forgotten.md").encode())
    if after != before:
        aim.replace(path, gzip.compress(after, mtime=0) if is_packed else after)
