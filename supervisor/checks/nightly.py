"""
`recalld fsck --report`, which a timer runs each night: account for every message, and report each fault once.

The outcome is kept for `status`, and is an event. The command `care.on_trouble` is run for the faults in `status` for which it
was not run the night before; a fault that was mended and comes back is reported again.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..host.last_night import LastFsck, keep_last, read_last_fsck
from ..protocol.quiet_hours import quiet_until
from ..storage.os_errors import why_refused
from ..storage.texts import Text
from ..text.lazy_re import lazy_re
from .check import Look
from .ledger import ATTACHMENT, SERVICE_DOWN
from .repair import bring_pictures_back
from .table import account, wrong

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ..storage.clock import Clock
    from ..workspace import Workspace
    from .ledger import Ledger

#: Seconds after which the user's command is killed.
_COMMAND_S: Final = 30.0
#: Seconds between two looks at the clock, which goes on while the machine is suspended.
_LOOK_S: Final = 60.0
_DIGITS: Final = lazy_re(r"[0-9]+")


def await_quiet_end(ws: Workspace, clock: Clock, pause: Callable[[float], None]) -> None:
    """Wait until the present hour is not one of `care.quiet_hours`."""
    while end := quiet_until(ws.config.care.quiet_hours, clock(), ws.zone):
        pause(max(0.0, min((end - clock()).total_seconds(), _LOOK_S)))


def report(
    ws: Workspace, now: datetime, tell: Callable[[str], str] = str, wait_s: float = _COMMAND_S, *, service: str = ""
) -> tuple[Ledger, list[str]]:
    """
    Account for every message and run `care.on_trouble` for new faults; return the account and all faults.

    *service* is a sentence about a service that stays down, which is a fault, too. *tell* renders a text in the language of the
    user. The command is killed after *wait_s* seconds.
    """
    look = Look(ws, now, os.environ)
    ledger = account(look)
    is_wrong = any(getattr(why, "msgid", "") == ATTACHMENT for why in ledger.damage)
    # tonight, since history.json may no longer have their bytes tomorrow
    if is_wrong and (pictures := bring_pictures_back(ws)):
        ws.events.emit("repaired", restored=0, saved=0, set_aside=0, doubles=0, pictures=len(pictures))
    if not ledger.is_sound:  # again, since a file that moves during the first pass is found in neither place
        look = Look(ws, now, os.environ)
        ledger = account(look)
    failed_before = before.failed if (before := read_last_fsck(ws)) else ""
    last = note(ws, ledger, now)
    # the reason why the service is down says more than the fact
    found = [service, *(why for why in wrong(look) if getattr(why, "msgid", "") != SERVICE_DOWN)] if service else wrong(look)
    kinds = {sentence: _DIGITS.sub("0", sentence) for sentence in found}  # a fault is not new because a time or count changed
    new = [sentence for sentence, kind in kinds.items() if kind not in last.told]
    command, failed = ws.config.care.on_trouble, ""
    if command and new:
        failed = _run(command, "\n".join(map(tell, new)), ws, wait_s)
        if failed and failed != failed_before:
            ws.events.emit("on_trouble_failed", why=failed)
    told = [kind for sentence, kind in kinds.items() if command and not (failed and sentence in new)]
    keep_last(ws, replace(last, told=tuple(told), failed=failed))
    return ledger, [*map(tell, kinds)]


def note(ws: Workspace, ledger: Ledger, now: datetime) -> LastFsck:
    """Store the outcome of fsck, with the faults reported before; an event says when faults begin, and when all are gone."""
    before = read_last_fsck(ws)
    last = LastFsck(now, len(ledger.lost), len(ledger.damage), before.told if before else ())
    keep_last(ws, last)
    if not last.is_sound:
        ws.events.emit("fsck_failed", lost=last.lost, damage=last.damage)
    elif before and not before.is_sound:
        ws.events.emit("fsck_passed")
    return last


def _run(command: str, sentences: str, ws: Workspace, wait_s: float) -> str:
    """Run the user's command; return why it failed, or ""."""
    environ = {**os.environ, "RECALLD_TROUBLE": sentences, "RECALLD_WORKSPACE": str(ws.paths.root)}
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that the processes it started can be killed with it
        )
    except OSError as error:
        return why_refused(error)
    try:
        code = child.wait(wait_s)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return Text("it was killed after {seconds:g} s", seconds=wait_s)
    return Text("it ended with exit code {code}", code=code) if code else ""
