"""
What is wrong with a workspace, in sentences that name the command which mends it: the first lines of `recalld status`.

The worst comes first. A state that only a running supervisor knows, such as a full disk, is read from its event log.
"""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from recalld.supervisor.archive.intake import unwritten
from recalld.supervisor.checks.units import installed, of_user
from recalld.supervisor.events import lasting_states
from recalld.supervisor.host.last_night import read_last_backup, read_last_fsck
from recalld.supervisor.protocol.attachments import attachments_of
from recalld.supervisor.protocol.llm import model_of
from recalld.supervisor.protocol.message import InvalidEntry, Message
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.clock import local
from recalld.supervisor.storage.errors import BadConfig, BadFile, from_os_error
from recalld.supervisor.summaries.llm_state import configured_state
from recalld.supervisor.text.chinese import has_rjieba
from recalld.supervisor.text.language import language_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from recalld.supervisor.protocol.message import History
    from recalld.supervisor.workspace import Workspace

#: How long a message may wait where no supervisor runs: a daily `run --until-settled` is a way to use recalld too.
LONGEST_WAIT: Final = timedelta(days=1)
#: The states of a running supervisor that are trouble, the worst first, each with the event that ends it.
_LASTING: Final = {
    "config_refused": "config_taken",
    "degraded": "recovered",
    "index_stale": "index_fresh",
    "backend_failed": "backend_back",
}
#: Why a group's task failed, by the reason of its result.
REASONS: Final = {
    "timeout": Text("model.reason_timeout"),
    "empty": Text("model.reason_empty"),
    "refused": Text("model.reason_refused"),
    "truncated": Text("model.reason_cut_off"),
    "vague": Text("model.reason_poor"),
    "input": Text("model.reason_input"),
    "lost": Text("model.reason_unreadable"),
}


def verdict(ws: Workspace, now: datetime, *, service: str = "") -> tuple[list[str], bool]:
    """Return the first lines of `status`, and whether all is well; *service* is a sentence about a service that is down."""
    found = [*filter(None, [service]), *troubles(ws, now)]
    return [*(found or _all_is_well(ws)), *_advice(ws)], not found


def _all_is_well(ws: Workspace) -> list[str]:
    if is_running(ws):
        return [Text("status.well")]
    return [Text("status.well_unsupervised")]


def down_service(ws: Workspace, environ: Mapping[str, str]) -> str:
    """Return the sentence about a service of the workspace that does not run; "" where one runs, or none is installed."""
    own = [] if is_running(ws) else [one.what.user for one in installed(ws.paths.root, environ) if not one.owner]
    if not own:
        return ""
    again, why = (f"recalld service {verb}{of_user(own[0])}" for verb in ("restart", "status"))
    return Text("doctor.service_down", again=again, status=why)


def _advice(ws: Workspace) -> Iterator[str]:
    """Yield what is not wrong, but could be better."""
    if not has_rjieba() and _uses_chinese(ws):
        yield Text("status.rjieba")


def _uses_chinese(ws: Workspace) -> bool:
    try:
        history = ws.history.read()
    except BadFile:
        return False
    return any(isinstance(entry, Message) and language_of(entry.text) == "zh" for entry in history)


def troubles(ws: Workspace, now: datetime) -> Iterator[str]:
    """Yield a sentence for each trouble, the worst first."""
    ws.journal.refresh()
    if ws.files.disk.is_read_only(ws.paths.root):
        yield from_os_error(OSError(errno.EROFS, os.strerror(errno.EROFS)), ws.paths.root).sentence
    history: History = ()
    waiting: list[Message] = []
    try:
        history = ws.history.read()
        waiting = unwritten(history, ws.journal)
    except BadFile as error:
        yield Text("status.history_invalid", why=error.why)
    has_supervisor = is_running(ws)
    oldest = min((one.created_at for one in waiting if one.created_at), default=now)
    if not has_supervisor and now - oldest > LONGEST_WAIT:
        since = local_time(ws, oldest)
        yield Text("status.waits_unsupervised", time=since)
    if has_supervisor:
        states = lasting_states(ws.paths.log, _LASTING)
        for event in (event for event in _LASTING if event in states):
            yield from _of_the_supervisor(event, str(states[event].get("why", "")))
    yield from _of_the_last_fsck(ws)
    yield from _of_the_last_backup(ws)
    yield from _of_the_files(ws, history)
    yield from _of_the_model(ws, now)


def _of_the_last_fsck(ws: Workspace) -> Iterator[str]:
    """Yield what the timer's fsck found, and why the user's command did not tell it."""
    last = read_last_fsck(ws)
    if last and not last.is_sound:
        since = local_time(ws, last.at)
        yield (Text("status.damage_found", lost=last.lost, damaged=last.damage, time=since))
    if last and last.failed:
        yield Text("status.on_trouble_failed", why=last.failed)


def _of_the_last_backup(ws: Workspace) -> Iterator[str]:
    """Yield that there is no backup of the last night, and why."""
    from shlex import quote

    last = read_last_backup(ws)
    if last and last.failed:
        yield (
            Text(
                "status.backup_failed",
                time=local_time(ws, last.at),
                why=last.failed,
                command=f"recalld backup nightly {quote(last.folder)} --keep {last.keep}",
            )
        )


def _of_the_files(ws: Workspace, history: History) -> Iterator[str]:
    """Yield what is lost or can't be filed, as far as it can be told without reading every file."""
    if gone := _gone_attachments(ws):
        yield (Text("status.attachments_gone", count=len(gone), name=gone[0]))
    invalid = [(n, entry.why) for n, entry in enumerate(history, 1) if isinstance(entry, InvalidEntry)]
    if invalid:
        place, why = invalid[0]
        yield (Text("status.entries_odd", count=len(invalid), number=place, why=why))


def _gone_attachments(ws: Workspace) -> list[str]:
    """Return the pictures and files that messages name and that are not there; only files with such a name are parsed."""
    kept = {ws.paths.relative(ws.paths.attachments / name) for name in ws.files.disk.names(ws.paths.attachments)}
    named = {name for message in ws.journal.unwritten.values() for name in attachments_of(message.raw)}
    for file in ws.memory.dated():
        if not file.attachments <= kept:
            named.update(name for block in ws.memory.blocks(file.name) for name in attachments_of(block.fields))
    return sorted(named - kept)


def _of_the_model(ws: Workspace, now: datetime) -> Iterator[str]:
    """Yield why the configured model writes no summaries, or not one of them."""
    if not ws.extracting:
        try:
            model_of(ws.config.llm)
        except BadConfig as error:
            yield Text("status.no_model", why=error.why)
    provider = configured_state(ws.task_queue, ws.endpoint)
    if not ws.extracting and provider.next_at and provider.next_at > now:
        until = local_time(ws, provider.next_at)
        yield Text("status.no_model_until", time=until, why=provider.reason)
    failing = {g: f for g, f in ws.failures().items() if f.attempts >= ws.config.archive.max_attempts}
    for group, failure in sorted(failing.items(), reverse=True)[:1]:
        label, why = group.partition("-")[2], REASONS.get(failure.reason, failure.reason)
        yield Text("status.backlog", label=label, why=why)


def _of_the_supervisor(event: str, why: str) -> Iterator[str]:
    """Yield the sentences of a state that lasts; those of its errors say themselves what to do."""
    match event:
        case "config_refused":
            yield Text("status.config_refused")
        case "index_stale":
            yield Text("status.index_stale")
        case "backend_failed":
            yield Text("status.words_alone")
    yield from (Text("status.logged", why=sentence.rstrip("."), event=event) for sentence in why.split(".; ") if sentence)


def local_time(ws: Workspace, time: datetime) -> str:
    """Return the time as people read it, in the time zone of the workspace."""
    return f"{local(time, ws.zone):%Y-%m-%d %H:%M}"


def is_running(ws: Workspace) -> bool:
    """Return whether a supervisor runs in the workspace."""
    return ws.files.disk.is_locked(ws.paths.supervisor_lock)
