"""
The checks of the supervisor and of the installed services of a workspace: units, key file, version, last night.

The units are read from where systemd reads them. Nothing asks systemd, so the checks also work where it can't be reached.
"""

import json
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from shlex import quote, split
from typing import Final

from ..events import newest_events
from ..host.last_night import read_last_backup, read_last_fsck
from ..protocol.connections import CLIENTS, HOOK_LATE, MEMORY_LATE, parse_connections, read_state
from ..storage.clock import from_wire, to_wire, wire_time
from ..storage.disk import read_outside
from ..storage.texts import Text, msgid
from .check import Faults, Look, bad, odd
from .systemd import installed

#: For how long a hook that was out of time is told; a nightly backup that failed is for two: the next night has its own.
_DAY: Final = timedelta(days=1)


def last_night(look: Look) -> Faults:
    """
    Yield a fault if the nightly backup of a night ago failed, or if `care.on_trouble` could not be run.

    A failure that no night has repeated is of a timer that is no longer there.
    """
    backup, fsck = read_last_backup(look.ws), read_last_fsck(look.ws)
    if fsck and fsck.failed:
        yield bad("the command of care.on_trouble failed: {why}; correct it in recalld.toml.", why=fsck.failed)
    if backup and backup.failed and look.now - backup.at <= 2 * _DAY:
        yield bad(
            "the nightly backup failed on {time}: {why}; `{command}` tries again.",
            time=look.local_time(backup.at),
            why=backup.failed,
            command=f"recalld backup nightly {quote(backup.folder)} --keep {backup.keep}",
        )


def units(look: Look) -> Faults:
    """Yield a fault of each service of the workspace: its Python is gone, a unit is another, or no supervisor runs."""
    for path, what in installed(look.ws.paths.root).items():
        if _is_gone(what.python):
            yield bad(
                "{unit} starts {python}, which is not there; `{command}` makes it for this recalld.",
                unit=path,
                python=what.python,
                command=f"recalld service install{what.options}",
            )
        elif others := [unit for name, data in what.units().items() if not _holds(unit := path.with_name(name), data)]:
            yield odd(
                "{unit} is missing, or not as this recalld makes it; `{command}` makes it again. What you add with `systemctl edit` stays in use.",
                unit=others[0],
                command=f"recalld service install{what.options}",
            )
        elif not look.is_running:
            yield bad(
                "the service is down: it is installed, and no supervisor runs; `{again}` starts it, `{status}` says why it ended.",
                again=f"recalld service restart{what.options}",
                status=f"recalld service status{what.options}",
            )


def _holds(path: Path, data: bytes) -> bool:
    """Return whether the unit is this one below its head, which earlier versions wrote otherwise."""
    with suppress(OSError):
        return read_outside(path).split(b"\n", 3)[3:] == data.split(b"\n", 3)[3:]
    return False


def _is_gone(path: str) -> bool:
    """Return whether there is no such file; a file in a folder that this user may not enter counts as there."""
    try:
        os.stat(path)
    except OSError as error:
        return isinstance(error, (FileNotFoundError, NotADirectoryError))
    return False


def clients(look: Look) -> Faults:
    """Yield the first fault of each connection with a client: its entry is gone, or the hook that it starts is."""
    version = look.ws.files.read_stable(look.ws.paths.connections)
    try:
        connections = parse_connections(version.data) if version else ()
    except ValueError as error:
        yield odd(".recalld/connections.json can't be read ({why}); connect the clients again.", why=error.args[0])
        return
    for connection in (connection for connection in connections if connection.client in CLIENTS):
        where = f" --project {quote(connection.project)}" if connection.project else ""
        again = f"recalld connect {connection.client} --yes{where}"
        text = ""
        with suppress(OSError):
            text = Path(connection.path).read_text(encoding="utf-8", errors="replace")
        program, *rest = split(connection.command) or [""]
        is_there = bool(text) and json.dumps(connection.command, ensure_ascii=False)[1:-1] in text
        if not is_there or (program and (_is_gone(program) or rest[1:2] != [str(look.ws.paths.root)])):
            why = msgid(
                "{path} no longer connects {client}, or starts what does not exist or has another workspace; `{command}` mends it, `recalld connect {client} --remove --yes` forgets it."
            )
            fault = bad if is_there else odd
            yield fault(why, client=connection.client, path=connection.path, command=again)


def hooks(look: Look) -> Faults:
    """Yield that hooks of clients, or the proxy, were out of time within the last day, or could not do all of their work."""
    since, late, failed = to_wire(look.now - _DAY), [], []
    for name, at, fields in newest_events(look.ws.paths.log):
        if at < since:
            break
        client = str(fields.get("client", ""))
        if (name, fields.get("why")) in (("hook_failed", HOOK_LATE), ("proxy_failed", MEMORY_LATE)):
            late.append((at, client if name == "hook_failed" else Text("the proxy")))
        elif name == "hook_failed":
            failed.append((at, client))
    if failed:
        yield odd(
            "the hook of {clients} could not do all of its work in the last day ({count}), last at {time}, and what was said may not be kept: log.jsonl says why (hook_failed). Where recalld has no hook for a client, take it out of the client's settings.",
            clients=sorted({client for _, client in failed}),
            count=len(failed),
            time=look.local_time(from_wire(failed[0][0])),
        )
    if late:
        yield bad(
            "memory came too late for {clients} in the last day ({count}), last at {time}, so these questions had none; the machine was busy, or no supervisor ran: `recalld service install` keeps one running.",
            clients=sorted({client for _, client in late}),
            count=len(late),
            time=look.local_time(from_wire(late[0][0])),
        )


def supervisor(look: Look) -> Faults:
    """Yield a fault if the running supervisor does not respond, or is not of the installed version."""
    runs = look.ask() if look.is_running else None
    if runs is None or runs == look.version():
        return
    mend = Text("stop it, and start it again with `recalld run`")
    for what in installed(look.ws.paths.root).values():
        mend = Text("`{command}` starts it again", command=f"recalld service restart{what.options}")
    yield bad(
        "the supervisor is {old}, and {new} is installed; {mend}.",
        old=runs or Text("one that does not respond, or an older recalld"),
        new=look.version(),
        mend=mend,
    )


def sources(look: Look) -> Faults:
    """Yield the sources of which nothing is read, those away for long, what they leave out, and what waits to be forgotten."""
    config = look.ws.config.sources
    for source in config.take:
        state = read_state(look.ws.files, look.ws.paths.source(source.name))
        away, why = wire_time(state.away), state.why()
        if why:
            yield odd("nothing of the source {name} is read: {why}; correct it in recalld.toml.", name=source.name, why=why)
        elif away and look.now - away >= config.patience:
            yield odd("the source {name} has been away since {time}.", name=source.name, time=look.local_time(away))
        if files := [file for file, why in state.left.items() if why.get("undated")]:
            yield odd(
                "the source {name} leaves out conversations that say no time ({files}), since they may be anybody's; `recalld import FILE` adds one of yours.",
                name=source.name,
                files=files,
            )
        if state.waits:
            yield odd(
                "in the source {name} was forgotten what stands here ({count}); `recalld import --forget {name}` shows it.",
                name=source.name,
                count=state.waits,
            )
