"""`recalld service add` and `remove`: what serves many workspaces as services of systemd (docs/how-to/many-workspaces.md)."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.supervisor.interfaces.cli.app import Context, Json  # noqa: TC001 - typer reads the annotations
from recalld.supervisor.interfaces.cli.output import as_json
from recalld.supervisor.interfaces.cli.unit import System, real, service
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest

if TYPE_CHECKING:
    from recalld.supervisor.checks.program_units import Program
    from recalld.supervisor.checks.systemd import Systemd
    from recalld.supervisor.interfaces.cli.call import Call

Kind = Annotated[str, typer.Argument(metavar="fleet|gateway|worker", help="what runs")]
#: Where a gateway listens, as `recalld gateway` has it.
_HOST, _PORT = "127.0.0.1", 8378


def service_add(
    ctx: Context,
    kind: Kind,
    root: Annotated[
        list[Path] | None, typer.Option("--root", metavar="DIR", help="the folder of a fleet; a gateway may have several")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="where a gateway listens")] = _HOST,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="the port of a gateway")] = _PORT,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="allow a host that other machines can reach")] = False,
    pool_file: Annotated[Path | None, typer.Option("--pool-file", help="what names the models of a worker of a pool")] = None,
    env_file: Annotated[
        Path | None, typer.Option("--env-file", help="variables, such as RECALLD_POOL_URL and RECALLD_POOL_KEY")
    ] = None,
    system: System = "",
    memory_max: Annotated[str, typer.Option("--memory-max", metavar="SIZE", help="the memory it may use, as 400M")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the unit and the commands, change nothing")] = False,
    json: Json = False,
) -> None:
    """Run a fleet, a gateway or a worker of a pool as a service, now and whenever the machine starts."""
    call: Call = ctx.obj
    from recalld.supervisor.checks.install import install_program
    from recalld.supervisor.checks.program_units import Program
    from recalld.supervisor.checks.services import check_key
    from recalld.supervisor.checks.systemd import Systemd
    from recalld.supervisor.storage.disk import RealDisk
    from recalld.supervisor.storage.files import Files

    roots, systemd = _checked(kind, root, pool_file), Systemd(system)
    options = ("--host", host, "--port", str(port), *(["--allow-remote"] if allow_remote else []))
    wanted = Program(
        kind,  # type: ignore[arg-type]
        roots,
        options if kind == "gateway" else (),
        real(pool_file) if pool_file else None,
        real(env_file) if env_file else None,
        system,
        memory_max,
    )
    wanted.text()
    wanted.check_places()
    if dry_run:
        _show(call, wanted, systemd, json=json)
        return
    systemd.check()
    if wanted.env_file:
        check_key(wanted.env_file, "--env-file")
    install_program(wanted, systemd, Files(RealDisk()))
    command = " ".join(systemd.command("status", wanted.unit))
    call.show(
        as_json({"unit": wanted.unit}) if json else call.render(Text("service.program_runs", unit=wanted.unit, command=command))
    )


def service_remove(ctx: Context, kind: Kind, system: System = "", json: Json = False) -> None:
    """Stop a fleet, a gateway or a worker of a pool and remove its unit; the workspaces stay."""
    call: Call = ctx.obj
    from recalld.supervisor.checks.install import remove_program
    from recalld.supervisor.checks.program_units import Program
    from recalld.supervisor.checks.systemd import Systemd
    from recalld.supervisor.storage.disk import RealDisk
    from recalld.supervisor.storage.files import Files

    _check_kind(kind)
    unit, systemd = Program(kind).unit, Systemd(system)  # type: ignore[arg-type]
    systemd.check()
    remove_program(unit, systemd, Files(RealDisk()))
    call.show(as_json({"unit": unit}) if json else call.render(Text("service.program_gone", unit=unit)))


def _check_kind(kind: str) -> None:
    from recalld.supervisor.checks.program_units import KINDS

    if kind not in KINDS:
        raise BadRequest("|".join(KINDS), Text("argument.not_allowed", value=repr(kind[:40]), allowed=", ".join(KINDS)))


def _checked(kind: str, root: list[Path] | None, pool_file: Path | None) -> tuple[Path, ...]:
    """Return the folders of the fleets; BadRequest where this kind needs another option."""
    _check_kind(kind)
    if kind == "worker" and pool_file is None:
        raise BadRequest("--pool-file", Text("service.program_needs", kind=kind))
    roots = tuple(map(real, root or ()))
    if kind != "worker" and (not roots or (kind == "fleet" and len(roots) > 1)):
        raise BadRequest("--root", Text("service.program_needs", kind=kind))
    for one in roots:
        if not one.is_dir():
            raise BadRequest("--root", Text("fleet.no_root", root=one))
    return roots


def _show(call: Call, wanted: Program, systemd: Systemd, *, json: bool) -> None:
    """Print the unit and the commands of an installation."""
    units = {str(systemd.folder / wanted.unit): wanted.text().decode()}
    commands = [
        systemd.command("daemon-reload"),
        systemd.command("enable", wanted.unit),
        systemd.command("restart", wanted.unit),
    ]
    if json:
        call.show(as_json({"units": units, "commands": commands}))
        return
    call.show("\n".join([*(f"# {path}\n{text}" for path, text in units.items()), *map(" ".join, commands)]))


def register(_: typer.Typer) -> None:
    """Add the commands to `service`, which is in the app already."""
    service.command("add")(service_add)
    service.command("remove")(service_remove)
