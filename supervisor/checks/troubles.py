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
    "timeout": "the model did not answer in time",
    "empty": "the model's answer was empty",
    "refused": "the model refused, or its answer was no summary",
    "truncated": "the model's answer was cut off",
    "vague": "the model's answer said less than an extract",
    "input": "the server did not take the messages",
    "lost": "its files can't be read",
}


def verdict(ws: Workspace, now: datetime, *, service: str = "") -> tuple[list[str], bool]:
    """Return the first lines of `status`, and whether all is well; *service* is a sentence about a service that is down."""
    found = [*filter(None, [service]), *troubles(ws, now)]
    return [*(found or _all_is_well(ws)), *_advice(ws)], not found


def _all_is_well(ws: Workspace) -> list[str]:
    if is_running(ws):
        return ["all is well; the supervisor runs."]
    return ["all is well; no supervisor runs, `recalld run` starts one."]


def down_service(ws: Workspace, environ: Mapping[str, str]) -> str:
    """Return the sentence about a service of the workspace that does not run; "" where one runs, or none is installed."""
    own = [] if is_running(ws) else [one.what.user for one in installed(ws.paths.root, environ) if not one.owner]
    if not own:
        return ""
    again, why = (f"recalld service {verb}{of_user(own[0])}" for verb in ("restart", "status"))
    return f"the service is down: it is installed, and no supervisor runs; `{again}` starts it, `{why}` says why it ended."


def _advice(ws: Workspace) -> Iterator[str]:
    """Yield what is not wrong, but could be better."""
    if not has_rjieba() and _uses_chinese(ws):
        yield "Chinese is searched sooner with rjieba, which is not installed: `pip install rjieba`."


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
        yield str(from_os_error(OSError(errno.EROFS, os.strerror(errno.EROFS)), ws.paths.root))
    history: History = ()
    waiting: list[Message] = []
    try:
        history = ws.history.read()
        waiting = unwritten(history, ws.journal)
    except BadFile as error:
        yield f"history.json can't be read: {error.why}; `recalld restore` puts it together again."
    has_supervisor = is_running(ws)
    oldest = min((one.created_at for one in waiting if one.created_at), default=now)
    if not has_supervisor and now - oldest > LONGEST_WAIT:
        since = local_time(ws, oldest)
        yield f"messages wait to be written since {since}, and no supervisor runs; start one with `recalld run`."
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
        yield (
            f"messages are lost ({last.lost}) or files damaged ({last.damage}), as fsck found on {since}; "
            f"`recalld fsck` lists them, `recalld fsck --repair` mends what can be mended."
        )
    if last and last.failed:
        yield f"the command of care.on_trouble failed: {last.failed}; correct it in recalld.toml."


def _of_the_last_backup(ws: Workspace) -> Iterator[str]:
    """Yield that there is no backup of the last night, and why."""
    from shlex import quote

    last = read_last_backup(ws)
    if last and last.failed:
        yield (
            f"the nightly backup failed on {local_time(ws, last.at)}: {last.failed}; "
            f"`recalld backup nightly {quote(last.folder)} --keep {last.keep}` tries again."
        )


def _of_the_files(ws: Workspace, history: History) -> Iterator[str]:
    """Yield what is lost or can't be filed, as far as it can be told without reading every file."""
    if gone := _gone_attachments(ws):
        yield (
            f"pictures or files of messages are gone ({len(gone)}), the first is {gone[0]}; "
            f"`recalld fsck --repair` brings back those of which there is a copy, `recalld fsck` lists the others."
        )
    invalid = [(n, entry.why) for n, entry in enumerate(history, 1) if isinstance(entry, InvalidEntry)]
    if invalid:
        place, why = invalid[0]
        yield (
            f"entries of history.json can't be filed ({len(invalid)}), the first is entry {place}: {why}; "
            f"correct or delete them, `recalld fsck` counts what is left."
        )


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
            yield f"no model writes summaries: {error.why}; `recalld model test` asks it then."
    provider = configured_state(ws.task_queue, ws.endpoint)
    if not ws.extracting and provider.next_at and provider.next_at > now:
        until = local_time(ws, provider.next_at)
        yield f"no model writes summaries until {until}: {provider.reason}; `recalld model test` asks it now."
    failing = {g: f for g, f in ws.failures().items() if f.attempts >= ws.config.archive.max_attempts}
    for group, failure in sorted(failing.items(), reverse=True)[:1]:
        label, why = group.partition("-")[2], REASONS.get(failure.reason, failure.reason)
        yield f"the summary of {label} fails again and again: {why}; `recalld summary redo {label}` tries once more."


def _of_the_supervisor(event: str, why: str) -> Iterator[str]:
    """Yield the sentences of a state that lasts; those of its errors say themselves what to do."""
    match event:
        case "config_refused":
            yield "recalld.toml was changed and is wrong; the supervisor keeps the configuration before it."
        case "index_stale":
            yield "new memories are not found for now."
        case "backend_failed":
            yield "memories are found by their words alone for now."
    yield from (f"{sentence.rstrip('.')}." for sentence in why.split(".; ") if sentence)


def local_time(ws: Workspace, time: datetime) -> str:
    """Return the time as people read it, in the time zone of the workspace."""
    return f"{local(time, ws.zone):%Y-%m-%d %H:%M}"


def is_running(ws: Workspace) -> bool:
    """Return whether a supervisor runs in the workspace."""
    return ws.files.disk.is_locked(ws.paths.supervisor_lock)
