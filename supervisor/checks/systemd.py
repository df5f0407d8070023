"""
The service of a workspace under systemd: its units, how they are written, started and removed, and how the service is.

The units are the files in `units/`, filled in; a placeholder is `@word@`. A user's own are in the user's folder:
`recalld.service`, `recalld-fsck.timer` and others, with a name `recalld@NAME.service`. On a machine without user sessions root
installs them for a user: `recalld@USER.service`.

These files are recalld's: `install` writes each again as it is made here. What a user changes goes into `systemctl edit`, which
keeps it in a file of its own. A unit of somebody else is seen before anything is changed. A service that does not start stays
installed.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess
from typing import Any, Final

from ..host.service import SAID, SCRIPT, TOLD, VARIABLE, systemd_says
from ..protocol.llm import CREDENTIAL
from ..protocol.paths import user_folder
from ..storage.disk import RealDisk, read_outside
from ..storage.errors import BadRequest, ForeignUnit, NoPermission, NoService, NoUnit
from ..storage.files import Files
from ..storage.lenient_json import parse_json, read_record
from ..storage.texts import Text, msgid
from ..text.lazy_re import lazy_re

#: The service itself, and the units that run something for it from time to time or when it fails.
SERVICE: Final = "recalld.service"
FSCK: Final = "recalld-fsck.service"
TIMER: Final = "recalld-fsck.timer"
TROUBLE: Final = "recalld-trouble.service"
AGAIN: Final = "recalld-again.timer"
BACKUP: Final = "recalld-backup.service"
BACKUP_TIMER: Final = "recalld-backup.timer"
TEMPLATES: Final = (SERVICE, FSCK, TIMER, TROUBLE, AGAIN, BACKUP, BACKUP_TIMER)
#: How many nightly backups are kept at first: those of a week.
KEEP: Final = 7
SYSTEM_FOLDER: Final = Path("/etc/systemd/system")
_FOLDER: Final = Path(__file__).resolve().parent / "units"
#: The first line of recalld's units, the second, which has the workspace, and the third, which says how the unit was made.
_MARK: Final = "# Made by `recalld service install`, which makes it again; what you change goes into `systemctl edit`."
_OF: Final = "# The workspace: "
_MADE: Final = "# Made with: "
_KEY: Final = lazy_re(rf"^LoadCredential={CREDENTIAL}:(.+)$", re.MULTILINE)
_WORD: Final = lazy_re(r"@(\w+)@")
#: A path that a unit can hold: no character in it ends its line, or is not shown, and no backslash joins it with the next line.
_PATH: Final = lazy_re(r"(?!\s)[^\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]*(?<![\s\\])")
#: Names of users and services that can be used unchanged in a unit's name.
_NAME: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
#: The folder that exists where systemd runs.
BOOTED: Final = Path("/run/systemd/system")
#: The units whose state is read, and the properties of each.
_SHOWN: Final = (SERVICE, AGAIN, FSCK, TIMER, BACKUP, BACKUP_TIMER)
_PROPERTIES: Final = "ActiveState,SubState,Result,ExecMainStatus,NRestarts,StatusText,ActiveEnterTimestamp"
#: The states of a unit that runs, or will in a moment.
_RUNS: Final = ("active", "activating", "reloading")
_FILES: Final = Files(RealDisk())


@dataclass(frozen=True, slots=True)
class Installation:
    """
    An installation: the service of *workspace*, in the caller's own service manager or, with *user*, in the system's.

    *key* is the file with the key of the model's server, None if no key is needed; *python* is a Python that has recalld.
    *backups* is the folder of the nightly backups, of which *keep* are kept; without it there is no timer for them. *name*
    distinguishes the service from others of this user. BadRequest for a value that no unit can hold.
    """

    workspace: Path
    user: str = ""
    key: Path | None = None
    python: str = sys.executable
    backups: Path | None = None
    keep: int = KEEP
    name: str = ""

    def __post_init__(self) -> None:
        paths = {"--workspace": self.workspace, "--key-file": self.key, "--backup-to": self.backups, "python": self.python}
        for option, value in {**paths, "--system": self.user, "--name": self.name}.items():
            if value and not (_PATH if option in paths else _NAME).fullmatch(str(value)):
                sentence = msgid("{value!r} can't be in a unit: a path has no line break, a name letters, digits, . _ and -")
                raise BadRequest(option, Text(sentence, value=str(value)))

    def unit(self, template: str) -> str:
        """Return the name of the unit of that *template*."""
        stem, _, kind = template.rpartition(".")
        return f"{stem}{self._at}.{kind}"

    @property
    def _at(self) -> str:
        instance = ":".join(filter(None, (self.user, self.name)))
        return f"@{instance}" if instance else ""

    @property
    def options(self) -> str:
        """
        The options by which a command means this service, each after a blank.

        >>> Installation(Path("/memory"), "alice", name="work").options
        ' --system alice --name work'
        """
        return "".join(f" {option} {value}" for option, value in (("--system", self.user), ("--name", self.name)) if value)

    @property
    def logs(self) -> str:
        """The command that shows what it has written, which needs no Python."""
        return f"journalctl --{'unit' if self.user else 'user-unit'}={self.unit(SERVICE)}"

    @property
    def folder(self) -> Path:
        """The folder of its units."""
        return SYSTEM_FOLDER if self.user else Path(user_folder("XDG_CONFIG_HOME", os.environ)) / "systemd" / "user"

    @property
    def alarm(self) -> Path:
        """The folder of its alarm."""
        state = Path("/var/lib") if self.user else Path(user_folder("XDG_STATE_HOME", os.environ))
        return state / "recalld" / (self._place if self.user else f"recalld{self._at}")

    @property
    def _place(self) -> str:
        return self._at[1:].replace(":", "+")  # a colon ends the name of a folder in a unit

    @property
    def started(self) -> list[str]:
        """The names of the units that start with the machine; a timer starts its service."""
        return [name for name, data in self.units().items() if b"\n[Install]\n" in data]

    def units(self) -> dict[str, bytes]:
        """Return the contents of each unit, by name."""
        backups = {"backups": str(self.backups), "keep": self.keep} if self.backups else {}
        how_made = {"python": self.python, **backups, **({"name": self.name} if self.name else {})}
        workspace, how = (json.dumps(value, ensure_ascii=False) for value in (str(self.workspace), how_made))
        head, words = f"{_MARK}\n{_OF}{workspace}\n{_MADE}{how}\n", self._words()
        templates = TEMPLATES if self.backups else TEMPLATES[:-2]
        return {self.unit(template): f"{head}{_fill(template, words)}\n".encode() for template in templates}

    def _words(self) -> Mapping[str, str]:
        words = {
            "at": self._at,
            "workspace": quoted(str(self.workspace)),
            "name": str(self.workspace).replace("%", "%%"),
            "recalld": " ".join(map(_in_command, (self.python, "-P", "-m", "recalld", "-w", str(self.workspace)))),
            "credential": f"\nLoadCredential={CREDENTIAL}:{str(self.key).replace('%', '%%')}" if self.key else "",
            "alarm": _in_command(str(self.alarm / SCRIPT)),
            "service_word": _in_command(self.unit(SERVICE)),
            "alarm_variable": quoted(f"{VARIABLE}={self.alarm}"),
            "options": _in_command(self.options),
            "backup": f"{_in_command(str(self.backups))} --keep {self.keep}",
            "backups_writable": f"\nReadWritePaths=-{quoted(str(self.backups))}" if self.user else "",
            "target": "multi-user.target" if self.user else "default.target",
            "user": self.user,
            "place": self._place,
        }
        sandbox = _fill("sandbox-system.conf" if self.user else "sandbox-user.conf", words)
        # the command of care.on_trouble may have to send a mail, which the sandbox of a user would prevent
        return words | {"sandbox": sandbox, "sandbox_of_trouble": sandbox if self.user else "UMask=0077"}


def quoted(word: str) -> str:
    r"""
    Return a word of a unit as systemd reads it: in quotes, without specifiers.

    >>> print(quoted('/home/a b/say "hi" 5% \\o/'))
    "/home/a b/say \"hi\" 5%% \\o/"
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _in_command(word: str) -> str:
    """Return a word of ExecStart=, which has no variables; quoted where it has to be."""
    return word if re.fullmatch(r"[\w./+-]+", word, re.ASCII) else quoted(word).replace("$", "$$")


def _fill(name: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: words[match[1]], (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n"))


# ── installed units ──────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Made:
    """What the third line of a unit says."""

    python: str
    backups: str = ""
    keep: int = KEEP
    name: str = ""


def read_unit(path: Path) -> Installation | None:
    """Return the installation that the unit of a service at *path* is of; None if there is none, or it is somebody else's."""
    instance = path.name.partition("@")[2].removesuffix(".service")
    user = instance.partition(":")[0] if path.parent == SYSTEM_FOLDER else ""
    try:
        mark, workspace, how, body = read_outside(path).decode("utf-8", "replace").split("\n", 3)
        root = Path(parse_json(workspace.removeprefix(_OF).encode()))
        it = read_record(_Made, parse_json(how.removeprefix(_MADE).encode()))
        key = Path(match[1].replace("%%", "%")) if (match := _KEY.search(body)) else None
        what = Installation(root, user, key, it.python, Path(it.backups) if it.backups else None, it.keep, it.name)
    except (OSError, BadRequest, ValueError, TypeError):  # such as a folder, a pipe, a link to a device
        return None
    return what if mark == _MARK else None


def installed(workspace: Path) -> dict[Path, Installation]:
    """Return the services of the workspace by their units: the caller's own, then the system's."""
    services, root = {}, os.path.realpath(workspace)
    for folder in (Installation(Path()).folder, SYSTEM_FOLDER):
        for path in map(Path, sorted(glob(f"{escape(str(folder))}/recalld[.@]*service"))):
            what = read_unit(path)
            if what and os.path.realpath(what.workspace) == root:
                services[path] = what
    return services


# ── systemctl ────────────────────────────────────────────────────────────────


def run_program(words: Sequence[str]) -> CompletedProcess[str]:
    """Run the program to its end; the exit code is 127 if there is no such program."""
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": ""}
    runtime = f"/run/user/{os.getuid()}"
    if os.path.isdir(runtime):  # `su` and `ssh HOST COMMAND` may not set the variable
        environ.setdefault("XDG_RUNTIME_DIR", runtime)
    try:
        return subprocess.run(words, env=environ, capture_output=True, text=True, check=False, stdin=DEVNULL)
    except OSError:
        return CompletedProcess([*words], 127, "", "")


def systemctl(what: Installation, *words: str) -> list[str]:
    """Return the command of systemctl with these *words*, for the service manager of the installation."""
    return ["systemctl", *([] if what.user else ["--user"]), "--no-pager", *words]


def check_manager(what: Installation) -> None:
    """Raise NoService or NoPermission if its units can't be managed; the error says what to do."""
    if not BOOTED.is_dir():
        raise NoService(
            Text("systemd does not run here"),
            Text("start `recalld run` another way, such as by cron at each start, or as the program of a container"),
        )
    if what.user and os.geteuid() != 0:
        raise NoPermission(what.folder, Text("units of the system are root's"), Text("give the same command with `sudo`"))
    if run_program(systemctl(what, "show", "--property=Version")).returncode:
        raise NoService(
            Text("this user has no session of systemd"),
            Text("log in again, not by su or sudo, or have root give `recalld service install --system USER`"),
        )


# ── installed and removed ────────────────────────────────────────────────────


def installation(named: Installation) -> Installation:
    """
    Return the installation with the user and name of *named*, as its unit tells it; NoUnit if there is none.

    ForeignUnit for somebody else's, or one of another workspace than that of *named*, if it has one.
    """
    unit = named.folder / named.unit(SERVICE)
    present = read_unit(unit)
    if present and named.workspace in (Path(), present.workspace):
        return present
    raise ForeignUnit(unit) if os.path.lexists(unit) else NoUnit(unit)


def install(wanted: Installation) -> None:
    """
    Write the units, start them and wait until the service is ready; NoService, with the reason, if it does not start.

    ForeignUnit, before anything is changed, for a unit of another service.
    """
    contents = wanted.units()
    with suppress(NoUnit):
        installation(wanted)
    _remove(wanted, but=contents)
    _FILES.make_folder(wanted.folder)
    for name, data in contents.items():
        path = wanted.folder / name
        _FILES.replace(path, data, _FILES.read_stable(path), mode=0o644)
    _call(wanted, "enable", *wanted.started)
    restart(wanted, *wanted.started)


def restart(what: Installation, *names: str) -> None:
    """Restart the service, or the units *names*, with the installed code; NoService, with the reason, if that fails."""
    names = names or (what.unit(SERVICE),)
    _call(what, "daemon-reload")
    _call(what, "reset-failed", *names, may_fail=True)
    with suppress(OSError):
        _FILES.remove(what.alarm / TOLD)  # trouble that comes back after this is reported again
    try:
        _call(what, "restart", *names)
    except NoService as error:
        if down := state_of(what)["down"]:
            raise NoService(down, Text("`recalld doctor` may say more")) from error
        raise


def uninstall(what: Installation) -> None:
    """Stop the service and remove its units; the workspace is not changed."""
    _remove(what, ["clean", "--what=cache"])  # not its state: a memory may be in that folder
    _call(what, "daemon-reload")
    for name in (SCRIPT, SAID, TOLD):
        with suppress(OSError):
            _FILES.remove(what.alarm / name)


def _remove(what: Installation, *last: list[str], but: Container[str] = ()) -> None:
    """Stop and delete the units that are there, *but* these; systemctl is called with *last* after they are stopped."""
    names = [name for name in map(what.unit, TEMPLATES) if name not in but and (what.folder / name).exists()]
    for words in (["disable", "--now"], ["reset-failed"], *last) if names else ():
        _call(what, *words, *names, may_fail=True)
    for name in names:
        _FILES.remove(what.folder / name)


def _call(what: Installation, *words: str, may_fail: bool = False) -> None:
    """Run systemctl; NoService with its message if it fails, unless it *may_fail*: systemd may not know the unit."""
    done = run_program(systemctl(what, *words))
    if done.returncode and not may_fail:
        sentence = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0].rstrip(".")
        raise NoService(
            Text("`systemctl {verb}` says: {said}", verb=words[0], said=sentence),
            Text("`{command}` may say more", command=what.logs),
        )


# ── how it is ────────────────────────────────────────────────────────────────


def state_of(what: Installation) -> dict[str, Any]:
    """Return the state of the service: `down` is why it does not run, "" if it does; `retries`, if systemd will start it."""
    done = run_program(systemctl(what, "show", *map(what.unit, _SHOWN), f"--property={_PROPERTIES}"))
    shown = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in done.stdout.split("\n\n")]
    service, again, fsck, timer, backup, backup_timer = (shown + [{}] * len(_SHOWN))[: len(_SHOWN)]
    # a failed unit that waits is started again soon
    state, waits = service.get("ActiveState", ""), service.get("SubState") == "auto-restart"
    down = "" if state in _RUNS and not waits else _why_down(what, service)
    nights = [
        "failed" if started.get("Result", "success") != "success" else timer.get("ActiveState", "")
        for timer, started in ((timer, fsck), (backup_timer, backup))
    ]
    return {
        "unit": what.unit(SERVICE),
        "workspace": str(what.workspace),
        "state": state,
        "since": service.get("ActiveEnterTimestamp", ""),
        "statusText": service.get("StatusText", ""),
        "restarts": int(service.get("NRestarts") or 0),
        "nightlyFsck": nights[0],
        "nightlyBackup": nights[1] if what.backups else "none",
        "down": down,
        "retries": bool(down) and (waits or again.get("ActiveState") in _RUNS),
    }


def _why_down(what: Installation, service: Mapping[str, str]) -> str:
    """Return why the service does not run: its last sentence, or what systemd says of it."""
    if (result := service.get("Result", "")) == "success":
        return Text("it was stopped")
    with suppress(OSError):
        if sentence := read_outside(what.alarm / SAID).decode("utf-8", "replace").strip():
            return sentence
    return systemd_says(f"{result} {service.get('ExecMainStatus', '')}".strip())
