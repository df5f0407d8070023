"""
The systemd units of a workspace: their names and contents, and whose an existing unit is.

Each template in `units/` is one unit; its placeholders, `@word@`, are filled in here. A user's own units are in the user's
folder: `recalld.service`, `recalld-fsck.timer` and others. On a machine without user sessions root installs them for a user:
`recalld@USER.service`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..host.alarm import SCRIPT, VARIABLE
from ..protocol.llm import CREDENTIAL
from ..storage.disk import read_outside
from ..storage.errors import BadRequest
from ..storage.lenient_json import parse_json
from ..storage.texts import Text, msgid
from ..text.lazy_re import lazy_re
from ..text.record import record

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The service itself, and the units that run something for it from time to time or when it fails.
SERVICE: Final = "recalld.service"
FSCK: Final = "recalld-fsck.service"
TIMER: Final = "recalld-fsck.timer"
TROUBLE: Final = "recalld-trouble.service"
AGAIN: Final = "recalld-again.timer"
BACKUP: Final = "recalld-backup.service"
BACKUP_TIMER: Final = "recalld-backup.timer"
TEMPLATES: Final = (SERVICE, FSCK, TIMER, TROUBLE, AGAIN, BACKUP, BACKUP_TIMER)
#: The units that start with the machine; a timer starts its service.
STARTED: Final = (SERVICE, TIMER, BACKUP_TIMER)
SYSTEM_FOLDER: Final = Path("/etc/systemd/system")
_FOLDER: Final = Path(__file__).resolve().parent / "units"
#: The first line of recalld's units, the second, which has the workspace, and the third, which says how the unit was made.
_MARK: Final = "# Made by `recalld service install`, which makes it again; what you change goes into `systemctl edit`."
_OF: Final = lazy_re(r"# The workspace: (?P<workspace>\".*\")")
_MADE: Final = "# Made with: "
_KEY: Final = lazy_re(rf"^LoadCredential={CREDENTIAL}:(.+)$", re.MULTILINE)
_WORD: Final = lazy_re(r"@(\w+)@")
#: Characters that no value in a unit may have: they would end its line, or would not be shown.
_CONTROL: Final = lazy_re(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_NO_UNIT_HOLDS: Final = msgid("{value!r} has a line break or another character that no unit can hold; rename it")
#: A system unit has private folders in place of these (PrivateTmp).
_PRIVATE: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - nothing is written there
#: Names of users and services that can be used unchanged in a unit's name.
_USER: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
NAME: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
#: The values that systemd accepts for MemoryMax=.
_MEMORY: Final = lazy_re(r"[0-9]+[KMGT]?|[0-9]{1,2}%|infinity")
#: Where systemd keeps the stamps of system timers, and the folders of system services.
_STAMPS: Final = Path("/var/lib/systemd/timers")
_FOLDERS: Final = (Path("/var/cache/recalld"), Path("/run/recalld"))
#: Where system units have their state.
_SYSTEM_STATE: Final = Path("/var/lib/recalld")


@record
class Backups:
    """The folder of the nightly backups, and how many of them are kept."""

    folder: Path
    keep: int


@record
class Installation:
    """
    An installation: the service of *workspace*, in the caller's own service manager or, with *user*, in the system's.

    *key* is the file with the key of the model's server, None if no key is needed; *python* is a Python that has recalld.
    Without *backups* there is no timer for them. *name* distinguishes the service from others of this user; *memory_max* is the
    memory that it may use, as systemd writes it.
    """

    workspace: Path
    user: str = ""
    key: Path | None = None
    python: str = sys.executable
    backups: Backups | None = None
    name: str = ""
    memory_max: str = ""

    def unit(self, template: str) -> str:
        """Return the name of the unit of that *template*."""
        stem, _, kind = template.rpartition(".")
        instance = ":".join(filter(None, (self.user, self.name)))
        return f"{stem}@{instance}.{kind}" if instance else template

    @property
    def options(self) -> str:
        """The options by which a command means this service, each after a blank."""
        return of_unit(self.user, self.name)

    @property
    def alarm(self) -> Path:
        """The folder of its alarm."""
        if self.user:
            return _SYSTEM_STATE / self._place
        return state_folder() / "recalld" / self.unit(SERVICE).removesuffix(".service")

    @property
    def _place(self) -> str:
        """The name of the folders that systemd makes for a unit of the system; no user has a plus sign."""
        return f"{self.user}+{self.name}" if self.name else self.user

    def units(self) -> dict[str, bytes]:
        """Return the contents of each unit, by name; BadRequest if workspace, key or user can't be written in a unit."""
        folder = self.backups.folder if self.backups else ""
        paths = (("--workspace", self.workspace), ("--key-file", self.key or ""), ("--backup-to", folder))
        if _CONTROL.search(self.python):
            raise BadRequest("python", Text(_NO_UNIT_HOLDS, value=self.python))
        for field, value in ((field, str(path)) for field, path in paths):
            # the path of a key is the rest of its line; a backslash at its end would join the line with the next
            if _CONTROL.search(value) or (field == "--key-file" and value != value.strip().rstrip("\\")):
                raise BadRequest(field, Text(_NO_UNIT_HOLDS, value=value))
        if self.user and not _USER.fullmatch(self.user):
            raise BadRequest(
                "--system", Text("{value!r} can't be a part of a unit's name; give a user of this machine", value=self.user)
            )
        if self.memory_max and not _MEMORY.fullmatch(self.memory_max):
            raise BadRequest(
                "--memory-max", Text("{value!r} is no size; give one such as 400M, 1G or 20%", value=self.memory_max)
            )
        if self.name and not NAME.fullmatch(self.name):
            raise BadRequest(
                "--name", Text("{value!r} can't be a part of a unit's name; use letters, digits, . _ and -", value=self.name)
            )
        return {self.unit(template): self._with_head(self._filled(_template(template))) for template in self.templates}

    def check_places(self) -> None:
        """Raise BadRequest if a system unit would not see the workspace, or the folder of the backups."""
        folders = {"--workspace": self.workspace} | ({"--backup-to": self.backups.folder} if self.backups else {})
        for field, folder in folders.items() if self.user else ():
            if hidden := [place for place in _PRIVATE if folder.is_relative_to(place)]:
                raise BadRequest(
                    field,
                    Text(
                        "{folder} is in {place}, which a unit of the system does not see; put it elsewhere",
                        folder=folder,
                        place=hidden[0],
                    ),
                )

    @property
    def templates(self) -> tuple[str, ...]:
        """The templates of its units."""
        return tuple(template for template in TEMPLATES if self.backups or template not in (BACKUP, BACKUP_TIMER))

    @property
    def started(self) -> list[str]:
        """The names of the units that start with the machine."""
        return [self.unit(template) for template in self.templates if template in STARTED]

    def _with_head(self, body: str) -> bytes:
        from importlib import metadata  # imported here, since `status` makes no unit

        workspace = json.dumps(str(self.workspace), ensure_ascii=False)
        made: dict[str, object] = {"recalld": metadata.version("recalld"), "python": self.python}
        made["sha256"] = _digest(body.encode())
        if self.backups:
            made |= {"backups": str(self.backups.folder), "keep": self.backups.keep}
        made |= {key: value for key, value in (("name", self.name), ("memoryMax", self.memory_max)) if value}
        return f"{_MARK}\n# The workspace: {workspace}\n{_MADE}{json.dumps(made, ensure_ascii=False)}\n{body}".encode()

    def _filled(self, text: str) -> str:
        kept = self.backups
        workspace = in_list(str(self.workspace))
        # with "-" systemd starts the service even if the workspace is gone, so that the service itself reports that
        sandbox = self._sandbox(f"ReadWritePaths=-{workspace}\n")
        words = {
            "workspace": workspace,
            "service": self.unit(SERVICE).replace("%", "%%"),
            "again": self.unit(AGAIN).replace("%", "%%"),
            "name": str(self.workspace).replace("%", "%%"),
            "recalld": " ".join(map(in_command, (self.python, "-P", "-m", "recalld", "-w", str(self.workspace)))),
            "credential": f"\nLoadCredential={CREDENTIAL}:{str(self.key).replace('%', '%%')}" if self.key else "",
            "check": self.unit(FSCK).replace("%", "%%"),
            "trouble": self.unit(TROUBLE).replace("%", "%%"),
            "alarm": in_command(str(self.alarm / SCRIPT)),
            "alarm_variable": in_list(f"{VARIABLE}={self.alarm}"),
            "alarm_sandbox": self._sandbox("") if self.user else "UMask=0077",
            "service_word": in_command(self.unit(SERVICE)),
            "options": in_command(self.options),
            "memory": f"\nMemoryMax={self.memory_max}" if self.memory_max else "",
            "backup": f"{in_command(str(kept.folder))} --keep {kept.keep}" if kept else "",
            "backup_sandbox": f"{sandbox}\nReadWritePaths=-{in_list(str(kept.folder))}" if self.user and kept else sandbox,
            "target": "multi-user.target" if self.user else "default.target",
            # the user's own command may have to send a mail, which a sandbox would prevent
            "command_sandbox": sandbox if self.user else "UMask=0077",
            "sandbox": sandbox,
        }
        return _fill(text, words) + "\n"

    def _sandbox(self, writable: str) -> str:
        kind = "system" if self.user else "user"
        words = {"writable": writable, "user": self.user, "place": self._place}
        return _fill(_template(f"sandbox-{kind}.conf"), words)


def user_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a user's own units are."""
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a user's programs keep their state."""
    return Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


def in_command(word: str) -> str:
    r"""
    Return a word of ExecStart= as systemd reads it: quoted, without specifiers and variables.

    >>> in_command("/home/我/50% of $HOME"), in_command("-P")
    ('"/home/我/50%% of $$HOME"', '-P')
    """
    return word if re.fullmatch(r"[\w./+-]+", word, re.ASCII) else in_list(word).replace("$", "$$")


def in_list(path: str) -> str:
    r"""
    Return a path in a list of paths as systemd reads it.

    >>> print(in_list('/home/a b/say "hi" 5% \\o/'))
    "/home/a b/say \"hi\" 5%% \\o/"
    """
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def remains(what: Installation, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """Return what a service leaves outside the workspace: caches, and systemd's stamps of its timers, as far as they exist."""
    if what.user:
        stamps, caches = _STAMPS, [folder / what.alarm.name for folder in _FOLDERS]
    else:
        stamps = Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "systemd" / "timers"
        caches = [Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "recalld"]
    timers = (what.unit(template) for template in TEMPLATES if template.endswith(".timer"))
    return [path for path in (*caches, *(stamps / f"stamp-{name}" for name in timers)) if path.exists()]


@record
class Unit:
    """A unit that `service install` made: its installation, the text below its head, and whether a person has edited it."""

    what: Installation
    body: bytes
    is_edited: bool


def parse_unit(data: bytes, user: str = "") -> Unit | None:
    """Return the unit; None for somebody else's. The *user* of a unit of the system is in its name."""
    mark, workspace_line, made_line, body = [*data.decode("utf-8", "replace").split("\n", 3), "", "", ""][:4]
    found = _OF.match(workspace_line)
    if mark != _MARK or not found:
        return None
    key = _KEY.search(body)
    key_file = Path(key[1].replace("%%", "%")) if key and not _CONTROL.search(key[1]) else None
    try:
        workspace = _path_in(json.loads(found["workspace"]))
    except ValueError:
        return None
    try:
        made = parse_json(made_line.removeprefix(_MADE).encode())
        backups = Backups(_path_in(made["backups"]), int(made["keep"])) if "backups" in made else None
        named = str(made.get("name", "")), str(made.get("memoryMax", ""))
        what = Installation(workspace, user, key_file, str(_path_in(made["python"])), backups, *named)
        return Unit(what, body.encode(), is_edited=made["sha256"] != _digest(body.encode()))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return Unit(Installation(workspace, user, key_file), body.encode(), is_edited=True)


def _path_in(value: object) -> Path:
    """Return a path that a unit names; ValueError if recalld could not have written it."""
    if _CONTROL.search(path := str(value)):
        raise ValueError(path)
    return Path(path)


@record
class Installed:
    """A service of the workspace: the folder of its units, and the installation."""

    folder: Path
    what: Installation

    @property
    def unit(self) -> Path:
        """The path of the unit of the service itself."""
        return self.folder / self.what.unit(SERVICE)


def installed(workspace: Path, environ: Mapping[str, str]) -> list[Installed]:
    """Return the services of the workspace: the caller's own, then the system's."""
    services = []
    for folder in (user_folder(environ), SYSTEM_FOLDER):
        for name in _services_in(folder):
            instance = name.partition("@")[2].removesuffix(".service")
            unit = parse_unit(read_unit(folder / name), instance.partition(":")[0] if folder == SYSTEM_FOLDER else "")
            if unit and os.path.realpath(unit.what.workspace) == os.path.realpath(workspace):
                services.append(Installed(folder, unit.what))
    return services


def _services_in(folder: Path) -> list[str]:
    """Return the names of the units in the folder that may be recalld's services."""
    try:
        return sorted(filter(re.compile(r"recalld(@.+)?\.service").fullmatch, os.listdir(folder)))
    except OSError:
        return []


def read_unit(path: Path) -> bytes:
    """Return the contents of a unit file; b"" if there is none, or it can't be read."""
    try:
        return read_outside(path)
    except OSError:
        return b""


def of_unit(user: str, name: str = "") -> str:
    """
    Return the options by which a command means the system units for this user, or the caller's own units with that name.

    >>> of_unit("alice"), of_unit("", "work"), of_unit("")
    (' --system alice', ' --name work', '')
    """
    return "".join(f" {option} {value}" for option, value in (("--system", user), ("--name", name)) if value)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def _template(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n")


def _fill(text: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda found: words[found[1]], text)
