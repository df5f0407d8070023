"""The commands that copy a workspace into one file and restore it: backup create, nightly, verify and restore."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

from ...protocol.backup_file import Contents
from ...storage.clock import fixed_clock, utc_now
from ...storage.errors import BadFile, BadRequest, NoWorkspace, SupervisorError
from ...storage.texts import Text
from ..locate import version
from .call import Call
from .output import in_local_times, wire
from .parser import Argument, Option, command

File = Annotated[Path, Argument("a backup, such as memory-2026-01-28.tar", metavar="FILE")]


@command("backup create")
def backup_create(call: Call, file: File) -> None:
    """Write a consistent state of the workspace into a new file, while everything runs."""
    from ...checks.backup import create
    from ...host.last_night import remember_backup

    _leave_nothing_when_ended()
    ws, at = call.opened()
    backup = create(ws, _absolute(file), at, version())
    with suppress(SupervisorError, OSError):  # a folder that can only be read is backed up, too
        remember_backup(ws, backup.file, at)
    fields = _described(backup.file, backup.contents)
    if call.json or backup.left_out:
        fields["leftOut"] = list(backup.left_out)
    if call.json:
        fields["lockedMs"] = backup.locked_ms
    call.answer(fields)


@command("backup nightly")
def backup_nightly(
    call: Call,
    folder: Annotated[Path, Argument("a folder of this workspace's own, best on another disk", metavar="DIR")],
    keep: Annotated[int, Option("--keep", "how many are kept; the older ones are deleted", least=1)],
) -> None:
    """Write the backup of the day into the folder, read it back, and delete the oldest; a timer of systemd runs it."""
    from time import sleep

    from ...checks.nightly import await_quiet_end, nightly_backup
    from ...protocol.config import check_made

    _leave_nothing_when_ended()
    check_made(call.root())
    ws, at = call.opened()
    if call.moment() is None:
        await_quiet_end(ws, utc_now, sleep)
        at = utc_now()
    file, contents, deleted = nightly_backup(ws, _absolute(folder), keep, at, version())
    fields = _described(file, contents)
    if call.json or deleted:
        fields["deleted"] = list(map(str, deleted))
    call.answer(fields)


@command("backup verify", common=("now", "json"))
def backup_verify(call: Call, file: File) -> int:
    """Unpack the file into a temporary folder and run fsck there; 65 when it is not as it was made, or fsck finds damage."""
    from ...checks.backup import verify

    _leave_nothing_when_ended()
    at = call.moment()
    contents, ledger = verify(_absolute(file), os.environ, fixed_clock(at) if at else utc_now)
    fields = {**_described(_absolute(file), contents), "fsck": wire(asdict(ledger))}
    call.answer(fields)
    return 0 if ledger.is_sound else BadFile.exit_code


@command("backup restore", common=("json",))
def backup_restore(
    call: Call,
    file: File,
    into: Annotated[Path, Option("--into", "a new or empty folder, which becomes a workspace", metavar="DIR")],
) -> None:
    """Unpack the file into a new or empty folder."""
    from ...checks.backup import restore
    from .call import typed

    _leave_nothing_when_ended()
    known: list[bool] = []
    contents = restore(_absolute(file), _absolute(into), lambda folder: known.append(_forget_in(call, folder)))
    fields = {"workspace": str(_absolute(into)), **_described(_absolute(file), contents)}
    call.answer(fields)
    if not all(known):
        if call.named:
            call.say(
                Text("-w: {root} is not the workspace that this backup was made from, and was not used.", root=call.root())
            )
        call.say(
            Text(
                "the memory is as it was on {time}; anything that was forgotten after that is in it again. `recalld -w {into} forget --help` says how to forget it again; or, where you still have the workspace that forgot it, restore once more with `-w` and that one.",
                time=in_local_times(contents.created_at, call.zone),
                into=typed(_absolute(into)),
            )
        )


def _forget_in(call: Call, folder: Path) -> bool:
    """Take out of a restored folder what was forgotten in the workspace of this command; return whether that knows it."""
    from ...forgetting.sweep import forget_in
    from ...storage.disk import RealDisk
    from ...storage.files import Files

    with suppress(BadRequest, NoWorkspace):  # a new machine has none
        return forget_in(folder, call.root(), Files(RealDisk()), os.environ, utc_now)
    return False


#: The signals that systemd sends, and a terminal that is closed.
_ENDS = (signal.SIGTERM, signal.SIGHUP)


def _leave_nothing_when_ended() -> None:
    """Let these signals interrupt the command, so that it deletes unfinished files; signals that `nohup` ignores stay so."""
    for number in _ENDS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in _ENDS:  # systemd and shells send a second signal, which must not interrupt the cleanup
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _described(file: Path, contents: Contents) -> dict[str, Any]:
    return {
        "backup": str(file),
        "createdAt": contents.created_at,
        "madeBy": contents.made_by,
        "files": len(contents.files),
        "bytes": contents.size_bytes,
    }


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()
