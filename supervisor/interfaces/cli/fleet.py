"""The commands of a fleet: run it, show its state, give a workspace free and take it again (docs/reference/fleet.md)."""

from __future__ import annotations

import errno
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from recalld.supervisor.interfaces.cli.app import Context, Json  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.interfaces.cli.output import as_json, as_text
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.catalogue import Text, restored
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import AlreadyRuns, BadRequest, Busy, NoService
from recalld.supervisor.storage.files import Files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from recalld.supervisor.fleet.settings import FleetPaths
    from recalld.supervisor.interfaces.cli.call import Call

fleet = typer.Typer(help="Many workspaces in one service.", rich_markup_mode=None, invoke_without_command=True)

#: Seconds until the fleet must have given a workspace free, or taken it, and between two looks.
_WAIT_S: Final = 60.0
_LOOK_S: Final = 0.05
#: The exit code where no fleet runs (sysexits: unavailable).
_NO_FLEET: Final = 69
#: The variable that names the root.
_ROOT: Final = "RECALLD_FLEET_ROOT"

Root = Annotated[
    Path | None, typer.Option("--root", metavar="DIR", help="the folder of the workspaces (RECALLD_FLEET_ROOT)", readable=False)
]
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="the names of workspaces; none: all of them")]


@fleet.callback()
def fleet_run(ctx: Context, root: Root = None, json: Json = False) -> None:
    """Look after every workspace in a folder."""
    call: Call = ctx.obj
    call.fleet_root = root
    if ctx.invoked_subcommand is None:
        from recalld.supervisor.interfaces.fleet import serve_fleet

        serve_fleet(_paths(call, None).root, json=json)


@fleet.command("status")
def fleet_status(ctx: Context, root: Root = None, json: Json = False) -> None:
    """Show the shards, what they look after, and what they can't; 69 where no fleet runs."""
    call: Call = ctx.obj
    from recalld.supervisor.interfaces.fleet import ask_fleet

    paths = _paths(call, root)
    found = ask_fleet(paths)
    if found is None:
        if json:
            call.show(as_json({"root": str(paths.root), "pid": 0, "shards": [], "sick": [], "drained": []}))
        raise typer.Exit(call.say(Text("fleet.none_runs", root=paths.root), _NO_FLEET))
    rows = _rows(found)
    call.show(as_json(found) if json else as_text(rows, call.render))


def _rows(found: Mapping[str, Any]) -> dict[str, object]:
    """Return the state of a fleet in sentences; what makes them again in another language is taken out of *found*."""
    shards = [
        Text("fleet.shard_row", memory=one["memoryMb"], **one) if one["pid"] else Text("fleet.shard_away", **one)
        for one in found["shards"]
    ]
    refused = [one for shard in found["shards"] for one in shard.get("refused", ())]
    return {
        **found,
        "shards": shards,
        "sick": [Text("fleet.sick_row", **one) for one in found["sick"]],
        "drained": [Text("fleet.name_row", name=name) for name in found["drained"]],
        "refused": [Text("fleet.refused_row", name=one["name"], why=restored(one["why"], one.pop("said"))) for one in refused],
    }


@fleet.command("drain")
def fleet_drain(ctx: Context, names: Names = None, root: Root = None, json: Json = False) -> None:
    """Give workspaces free: a `recalld run`, a copy or a move may follow."""
    call: Call = ctx.obj
    paths = _paths(call, root)
    files, wanted = Files(RealDisk()), _named(paths, names)
    for folder in (paths.folder, paths.drained):
        files.make_folder(folder)
    for name in wanted:
        files.replace(paths.drained / name, b"", files.read_stable(paths.drained / name))
    runs = files.disk.is_locked(paths.lock)
    free: set[str] = set()

    def is_free(name: str, lock: Path) -> bool:
        if name not in free:
            free.update(_let_go(paths, wanted))
        return name in free and not files.disk.is_locked(lock)

    for name in wanted if runs else ():
        lock = WorkspacePaths(paths.root / name).supervisor_lock
        _until(partial(is_free, name, lock), lock)
    _show(call, "drained", wanted, "fleet.drained_now", json=json)


@fleet.command("adopt")
def fleet_adopt(ctx: Context, names: Names = None, root: Root = None, json: Json = False) -> None:
    """Have the fleet take workspaces again that were given free, or that have a process of their own; 69 where none runs."""
    call: Call = ctx.obj
    paths = _paths(call, root)
    files = Files(RealDisk())
    away = {*files.disk.names(paths.drained), *files.disk.names(paths.sick)}
    wanted = _named(paths, names) if names else sorted(away)
    for name in wanted:
        own = name in files.disk.names(paths.sick)
        if name in away and not own and files.disk.is_locked(WorkspacePaths(paths.root / name).supervisor_lock):
            raise AlreadyRuns(paths.root / name)
    runs = files.disk.is_locked(paths.lock)
    tried_again = _refused(paths).keys() & wanted if runs else set()
    for name in tried_again:  # the fleet lets go what it has in vain
        try:
            files.replace(paths.drained / name, b"", files.read_stable(paths.drained / name))
            _until(lambda name=name: name not in _refused(paths), paths.drained / name)  # type: ignore[misc]
        finally:
            files.remove(paths.drained / name)
    for name in wanted:
        files.remove(paths.drained / name)
        files.remove(paths.sick / name)
    for name in (away | tried_again) & set(wanted) if runs else ():  # others it may open later: nothing has changed in them
        lock = WorkspacePaths(paths.root / name).supervisor_lock
        _until(lambda lock=lock, name=name: files.disk.is_locked(lock) or name in _refused(paths), lock)  # type: ignore[misc]
    refused = {name: why for name, why in _refused(paths).items() if name in wanted} if runs else {}
    adopted = [name for name in wanted if name not in refused]
    if adopted or json or not refused:
        _show(call, "adopted", adopted, "fleet.adopted_now" if runs else "fleet.adopted_later", json=json)
    for name, why in refused.items():
        call.say(Text("fleet.refused_row", name=name, why=why), Busy.exit_code)
    if refused:
        raise typer.Exit(Busy.exit_code)
    if not runs:
        raise typer.Exit(call.say(Text("fleet.none_runs", root=paths.root), _NO_FLEET))


def _let_go(paths: FleetPaths, names: Sequence[str]) -> set[str]:
    """Return those that the fleet does not look after, and is not about to: a free lock alone may be one not taken yet."""
    from recalld.supervisor.fleet.settings import shard_of
    from recalld.supervisor.interfaces.fleet import ask_fleet

    found = ask_fleet(paths)
    if found is None:
        return set() if RealDisk().is_locked(paths.lock) else set(names)
    shards, own = found["shards"], {one["name"] for one in found["sick"]}
    its = {name: shards[shard_of(name, len(shards))] for name in names if name not in own}
    return {name for name, shard in its.items() if name in shard.get("drained", names)}


def _refused(paths: FleetPaths) -> dict[str, Any]:
    """Return why the fleet can't look after a workspace, by its name."""
    from recalld.supervisor.interfaces.fleet import ask_fleet

    shards = (ask_fleet(paths) or {"shards": []})["shards"]
    return {one["name"]: restored(one["why"], one["said"]) for shard in shards for one in shard.get("refused", ())}


def _paths(call: Call, root: Path | None) -> FleetPaths:
    """Return where the fleet is; BadRequest if no folder is named, or that of a workspace in which no fleet ever was."""
    from recalld.supervisor.fleet.settings import FleetPaths

    named = root or call.fleet_root or (Path(os.environ[_ROOT]) if os.environ.get(_ROOT) else None)
    if named is None:
        raise BadRequest("--root", Text("fleet.name_root"))
    found = Path(os.path.realpath(named.expanduser()))
    if not found.is_dir():
        raise BadRequest("--root", Text("fleet.no_root", root=found))
    paths = FleetPaths(found)
    if made := [str(path.relative_to(found)) for path in filter(RealDisk().stat, WorkspacePaths(found).made_with)]:
        if RealDisk().stat(paths.folder) is None:
            raise BadRequest("--root", Text("fleet.is_workspace", root=found))
        call.say(Text("fleet.is_workspace_as_well", root=found, files=made), 0)
    return paths


def _named(paths: FleetPaths, names: list[str] | None) -> list[str]:
    """Return the names of workspaces below the root; BadRequest for one that is none."""
    from recalld.supervisor.fleet.listing import Listing

    there = set(Listing(paths.root).look().names.values())
    for name in names or ():
        if name not in there:
            raise BadRequest("NAME", Text("fleet.no_workspace", name=name, root=paths.root))
    return sorted(set(names) if names else there)


def _until(holds: Callable[[], bool], lock: Path) -> None:
    """Wait until it holds; Busy if that takes too long."""
    from datetime import timedelta

    ends_s = time.monotonic() + _WAIT_S
    while not holds():
        if time.monotonic() > ends_s:
            raise Busy(lock, timedelta(seconds=_WAIT_S))
        time.sleep(_LOOK_S)


def _show(call: Call, done: str, names: list[str], said: str, *, json: bool) -> None:
    call.show(as_json({done: names}) if json else call.render(Text(said, names=names or Text("label.none"))))


def gateway(
    ctx: Context,
    root: Annotated[
        list[Path] | None, typer.Option("--root", metavar="DIR", help="the folder of a fleet; may be repeated")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="where it listens")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="the port; 0 takes one that is free")] = 8378,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="allow a host that other machines can reach")] = False,
    json: Json = False,
) -> None:
    """Serve the operations of every workspace of fleets on this host over HTTP, each with its own token."""
    call: Call = ctx.obj
    import threading

    from recalld.supervisor.host.notify import ServiceManager
    from recalld.supervisor.interfaces.http.gateway import GatewayThread
    from recalld.supervisor.interfaces.http.server import Place
    from recalld.supervisor.interfaces.locate import page_address
    from recalld.supervisor.storage.signals import on_signals

    place, stopping = Place(host, port, allow_remote), threading.Event()
    if place.is_remote and not allow_remote:
        raise BadRequest("--host", Text("fleet.remote"))
    roots = [_paths(call, one).root for one in root] if root else [_paths(call, None).root]
    try:
        thread = GatewayThread(roots, place)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise NoService(Text("http.port_refused", port=port), Text("fleet.other_port")) from error
    on_signals(stopping.set)
    thread.start()
    address = page_address(host, thread.port)
    call.show(as_json({"address": address}) if json else address)
    sys.stdout.flush()
    ServiceManager(os.environ.get("NOTIFY_SOCKET", "")).round_done(address, has_index=True)
    stopping.wait()
    thread.end()


def register(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    app.command()(gateway)
    app.add_typer(fleet, name="fleet")
