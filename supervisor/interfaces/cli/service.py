"""The commands about services of systemd: service install, restart, status, … (docs/how-to/run-as-a-service.md)."""

import os
import pwd
import stat as modes
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated

from ...checks import systemd
from ...checks.systemd import SERVICE, TEMPLATES, Installation
from ...host.service import down
from ...protocol.config import check_made
from ...protocol.paths import WorkspacePaths
from ...storage.disk import RealDisk
from ...storage.errors import AlreadyRuns, BadConfig, BadFile, BadRequest, NoPermission, NoUnit, why_refused
from ...storage.texts import Text
from .call import Call
from .parser import Option, command

System = Annotated[str, Option("--system", "a unit of the system, for the user of this name; root's")]
Name = Annotated[str, Option("--name", "which service, where this user has several; each workspace has one")]
#: The folder with a file for each user whose services go on when that user is not logged in.
_LINGERING = Path("/var/lib/systemd/linger")


@command("service install")
def service_install(
    call: Call,
    system: System = "",
    name: Name = "",
    key_file: Annotated[Path | None, Option("--key-file", "a file with the key of the model's server")] = None,
    backup_to: Annotated[Path | None, Option("--backup-to", "a folder for a backup each night, best on another disk")] = None,
    keep: Annotated[int | None, Option("--keep", "how many backups are kept there; 7 at first", least=1)] = None,
    no_backup: Annotated[bool, Option("--no-backup", "no more backups; existing ones stay")] = False,
    dry_run: Annotated[bool, Option("--dry-run", "show the units and the commands, change nothing")] = False,
) -> None:
    """Run the supervisor of the workspace as a service, now and whenever the machine starts."""
    if no_backup and backup_to:
        raise BadRequest("--no-backup", Text("--backup-to asks for backups; give one of the two"))
    root = Path(os.path.realpath(_root(call, system)))
    if not dry_run:
        check_made(root)
    before = Installation(root, system, name=name)
    with suppress(NoUnit):
        before = systemd.installation(before)
    wanted = replace(
        before,
        python=sys.executable,
        key=_real(key_file) if key_file else before.key,
        backups=None if no_backup else _real(backup_to) if backup_to else before.backups,
        keep=keep or before.keep,
    )
    if keep and not wanted.backups and not no_backup:
        raise BadRequest("--keep", Text("there are no backups; name their folder with --backup-to"))
    if dry_run:
        _show_units(call, wanted)
        return
    systemd.check_manager(wanted)
    call.opened(root)
    _check(wanted)
    systemd.install(wanted)
    unit, goes_on = wanted.unit(SERVICE), (_LINGERING / (system or pwd.getpwuid(os.getuid()).pw_name)).exists()
    status = f"recalld service status{wanted.options}"
    sentences = [
        Text("{unit} runs now, and whenever the machine starts; `{command}` says how it is.", unit=unit, command=status)
    ]
    if not (system or goes_on):
        sentences.append(Text("It ends when you log out; `loginctl enable-linger` lets it go on."))
    call.answer({"unit": unit, "workspace": str(root), "lingers": goes_on}, sentences)


def _show_units(call: Call, wanted: Installation) -> None:
    texts = {str(wanted.folder / name): data.decode() for name, data in wanted.units().items()}
    started = (systemd.systemctl(wanted, verb, *wanted.started) for verb in ("enable", "restart"))
    commands = [systemd.systemctl(wanted, "daemon-reload"), *started]
    call.answer(
        {"units": texts, "commands": commands},
        [*(f"# {path}\n{text}" for path, text in texts.items()), *map(" ".join, commands)],
    )


@command("service restart", common=("json",))
def service_restart(call: Call, system: System = "", name: Name = "") -> None:
    """Restart the service, for example after an update of recalld, and return when it is ready."""
    what = _installed(system, name)
    _check(what)
    systemd.restart(what)
    unit = what.unit(SERVICE)
    call.answer({"unit": unit}, Text("{unit} was started again, and is ready.", unit=unit))


@command("service uninstall", common=("json",))
def service_uninstall(call: Call, system: System = "", name: Name = "") -> None:
    """Stop the service and remove its units; the memory stays."""
    what = _installed(system, name)
    systemd.uninstall(what)
    left = [str(path) for template in TEMPLATES if (path := what.folder / f"{what.unit(template)}.d").exists()]
    sentences = [Text("the service is gone; the memory is still in {path}.", path=what.workspace)]
    if left:
        sentences.append(Text("what is left may be deleted: {places}.", places=left))
    call.answer({"workspace": str(what.workspace), "left": left}, sentences)


@command("service status", common=("json",))
def service_status(call: Call, system: System = "", name: Name = "") -> int:
    """Show whether the service runs and, if it does not, why; 65 then."""
    what = _installed(system, name, reads=True)
    facts = systemd.state_of(what)
    call.answer(facts, {key: value for key, value in facts.items() if key not in ("down", "retries")})
    wrong = []
    if facts["down"]:
        wrong.append(down(facts["unit"], facts["down"], what.logs))
    if facts["retries"]:
        again = f"recalld service restart{what.options}"
        wrong.append(
            Text("systemd tries it again by itself, in ten minutes at the latest; `{command}` does now.", command=again)
        )
    if "failed" in (facts["nightlyFsck"], facts["nightlyBackup"]):
        wrong.append(Text("the nightly check or backup failed; `recalld status` says why."))
    for sentence in wrong:
        call.say(sentence)
    return BadFile.exit_code if wrong else 0


def _installed(system: str, name: str, *, reads: bool = False) -> Installation:
    """Return the service that is meant; who only *reads* need not be root for one of the system."""
    named = Installation(Path(), system, name=name)
    if not (system and reads):
        systemd.check_manager(named)
    return systemd.installation(named)


def _root(call: Call, user: str) -> Path:
    if not user or call.given_workspace or os.environ.get("RECALLD_WORKSPACE"):
        return call.root()
    return Path(_account(user).pw_dir) / ".local" / "share" / "recalld"


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path.expanduser()))


def _account(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(user)
    except (KeyError, ValueError):
        raise BadRequest("--system", Text("{value!r} is no user of this machine", value=user)) from None


def _check(wanted: Installation) -> None:
    from ...checks.backup import check_folder

    root = wanted.workspace
    if wanted.user and os.stat(root).st_uid != _account(wanted.user).pw_uid:
        raise NoPermission(
            root,
            Text("it does not belong to {user}", user=wanted.user),
            Text("give it to them, `chown -R {user} FOLDER`", user=wanted.user),
        )
    if wanted.key:
        check_key(wanted.key)
    if wanted.backups:
        check_folder(root, wanted.backups, "--backup-to")
    is_down = systemd.state_of(wanted)["state"] in ("inactive", "failed", "")
    if is_down and RealDisk().is_locked(WorkspacePaths(root).supervisor_lock):
        raise AlreadyRuns(root)


def check_key(key: Path) -> None:
    """Raise BadConfig if the file of a key does not exist, or others can read it."""
    try:
        stat = os.stat(key)
    except OSError as error:
        raise BadConfig(
            "--key-file", Text("{path} can't be read ({why}); write the key into it", path=key, why=why_refused(error))
        ) from error
    if stat.st_mode & (modes.S_IRWXG | modes.S_IRWXO):
        raise BadConfig(
            "--key-file",
            Text("others may read {path}; `{command}` takes that from them", path=key, command=f"chmod 600 {quote(str(key))}"),
        )
