"""`recalld service add` and `remove`: a worker of a pool as a service; and a service for each workspace of an old fleet."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - the parser reads the annotations
from typing import TYPE_CHECKING, Annotated

from ...storage.disk import RealDisk
from ...storage.errors import BadRequest
from ...storage.files import Files
from ...storage.texts import Text, msgid
from .options import command
from .output import as_json
from .parser import Argument, Option
from .unit import System, real

if TYPE_CHECKING:
    from ...checks.program_units import PoolWorker
    from ...checks.systemd import Systemd
    from .call import Call


@command("service add", common=("json",))
def service_add(
    call: Call,
    kind: Annotated[str, Argument(metavar="worker", meaning="what runs")],
    pool_file: Annotated[Path | None, Option("--pool-file", meaning="what names the models of a worker of a pool")] = None,
    env_file: Annotated[
        Path | None, Option("--env-file", meaning="variables, such as RECALLD_POOL_URL and RECALLD_POOL_KEY")
    ] = None,
    system: System = "",
    memory_max: Annotated[str, Option("--memory-max", metavar="SIZE", meaning="the memory it may use, as 400M")] = "",
    dry_run: Annotated[bool, Option("--dry-run", meaning="show the unit and the commands, change nothing")] = False,
) -> None:
    """Run a worker of a pool as a service, now and whenever the machine starts."""
    from ...checks.program_units import PoolWorker
    from ...checks.services import check_key
    from ...checks.systemd import Systemd, install_program

    _check_kind(kind, ("worker",))
    if pool_file is None:
        raise BadRequest("--pool-file", Text("it is missing; name the file that names the models of the worker"))
    systemd = Systemd(system)
    wanted = PoolWorker(real(pool_file), real(env_file) if env_file else None, system, memory_max)
    wanted.text()
    if dry_run:
        _show(call, wanted, systemd)
        return
    systemd.check()
    if wanted.env_file:
        check_key(wanted.env_file, "--env-file")
    install_program(wanted, systemd, Files(RealDisk()))
    command = " ".join(systemd.command("status", wanted.unit))
    call.answer(
        {"unit": wanted.unit},
        Text(
            msgid("{unit} runs now, and whenever the machine starts; `{command}` says how it is.", "program"),
            unit=wanted.unit,
            command=command,
        ),
    )


@command("service remove", common=("json",))
def service_remove(
    call: Call,
    kind: Annotated[str, Argument(metavar="worker|fleet|gateway", meaning="what is stopped")],
    system: System = "",
) -> None:
    """Stop a worker of a pool, or an old fleet or gateway, and remove its unit; the workspaces stay."""
    from ...checks.program_units import KINDS, unit_of
    from ...checks.systemd import Systemd, remove_program

    _check_kind(kind, KINDS)
    unit, systemd = unit_of(kind), Systemd(system)
    systemd.check()
    remove_program(unit, systemd, Files(RealDisk()))
    call.answer({"unit": unit}, Text("{unit} is gone; the workspaces are as they were.", unit=unit))


def _check_kind(kind: str, kinds: tuple[str, ...]) -> None:
    if kind not in kinds:
        raise BadRequest(
            "|".join(kinds), Text("{value} is not allowed, give {allowed}", value=repr(kind[:40]), allowed=", ".join(kinds))
        )


def _show(call: Call, wanted: PoolWorker, systemd: Systemd) -> None:
    """Print the unit and the commands of an installation."""
    units = {str(systemd.folder / wanted.unit): wanted.text().decode()}
    commands = [
        systemd.command("daemon-reload"),
        systemd.command("enable", wanted.unit),
        systemd.command("restart", wanted.unit),
    ]
    if call.json:
        call.show(as_json({"units": units, "commands": commands}))
        return
    call.show("\n".join([*(f"# {path}\n{text}" for path, text in units.items()), *map(" ".join, commands)]))
