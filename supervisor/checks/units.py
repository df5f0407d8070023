"""
The systemd units of a workspace: their names, what is in them, and whose a unit is that is there already.

A template in `units/` is one unit; `@word@` in it is filled in here. A user's units are in their own folder, `recalld.service`
beside `recalld-fsck.timer`; on a machine without user sessions root installs them for a user, `recalld@USER.service`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from pwd import getpwall
from typing import TYPE_CHECKING, Final

from recalld.supervisor.host.alarm import SCRIPT, VARIABLE
from recalld.supervisor.protocol.llm import CREDENTIAL
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.disk import read_outside
from recalld.supervisor.storage.errors import BadRequest, why_refused
from recalld.supervisor.storage.lenient_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: The service itself, and the units that run something for it from time to time.
SERVICE: Final = "recalld.service"
FSCK: Final = "recalld-fsck.service"
TIMER: Final = "recalld-fsck.timer"
TROUBLE: Final = "recalld-trouble.service"
AGAIN: Final = "recalld-again.timer"
BACKUP: Final = "recalld-backup.service"
BACKUP_TIMER: Final = "recalld-backup.timer"
TEMPLATES: Final = (SERVICE, FSCK, TIMER, TROUBLE, AGAIN, BACKUP, BACKUP_TIMER)
#: Those that are started when the machine is; a timer starts its service.
STARTED: Final = (SERVICE, TIMER, BACKUP_TIMER)
SYSTEM_FOLDER: Final = Path("/etc/systemd/system")
_FOLDER: Final = Path(__file__).resolve().parent / "units"
#: The first line of a unit of ours, the second, which has the workspace, and the third, which tells how it was made.
_MARK: Final = "# Made by `recalld service install`, which makes it again; what you change goes into `systemctl edit`."
_OF: Final = re.compile(r"# The workspace: (?P<workspace>\".*\")")
_MADE: Final = "# Made with: "
_KEY: Final = re.compile(rf"^LoadCredential={CREDENTIAL}:(.+)$", re.MULTILINE)
_WORD: Final = re.compile(r"@(\w+)@")
#: Nothing of a unit may hold them: a line of it would end, or not be shown.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
#: A unit of the system has folders of its own under these names (PrivateTmp).
_PRIVATE: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - nothing is put there
#: Names of users, and of a service, that are a part of a unit's name as they are.
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
#: What systemd takes for MemoryMax=.
_MEMORY: Final = re.compile(r"[0-9]+[KMGT]?|[0-9]{1,2}%|infinity")
#: Where units of the system have their state.
_SYSTEM_STATE: Final = Path("/var/lib/recalld")


@dataclass(frozen=True, slots=True)
class Backups:
    """Where the nightly backups are, and how many are kept."""

    folder: Path
    keep: int


@dataclass(frozen=True, slots=True)
class Installation:
    """
    What is installed: the service of *workspace*, for the caller's own service manager or, with *user*, for the system's.

    *key* is the file with the key of the model's server, None where there is none; *python* has recalld among its packages.
    Without *backups* there is no timer for them. *name* tells it from other services of this user; *memory_max* is the memory
    that it may use, as systemd writes it.
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
        """The options of a command about this service, each after a blank."""
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
        """Return what is in each unit, by its name; BadRequest where workspace, key or user can't be a part of it."""
        folder = self.backups.folder if self.backups else ""
        paths = (("--workspace", self.workspace), ("--key-file", self.key or ""), ("--backup-to", folder))
        if _CONTROL.search(self.python):
            raise BadRequest("python", Text("service.bad_character", value=self.python))
        for field, value in ((field, str(path)) for field, path in paths):
            # the path of a key is the rest of its line, which a backslash at its end would join with the next
            if _CONTROL.search(value) or (field == "--key-file" and value != value.strip().rstrip("\\")):
                raise BadRequest(field, Text("service.bad_character", value=value))
        if self.user and not _USER.fullmatch(self.user):
            raise BadRequest("--system", Text("service.bad_user_name", value=self.user))
        if self.name and not _NAME.fullmatch(self.name):
            raise BadRequest("--name", Text("service.bad_name", value=self.name))
        if self.memory_max and not _MEMORY.fullmatch(self.memory_max):
            raise BadRequest("--memory-max", Text("service.bad_memory", value=self.memory_max))
        return {self.unit(template): self._with_head(self._filled(_template(template))) for template in self.templates}

    def check_places(self) -> None:
        """Raise BadRequest where a unit of the system would not see the workspace, or the folder of the backups."""
        folders = {"--workspace": self.workspace} | ({"--backup-to": self.backups.folder} if self.backups else {})
        for field, folder in folders.items() if self.user else ():
            if hidden := [place for place in _PRIVATE if folder.is_relative_to(place)]:
                raise BadRequest(field, Text("service.folder_hidden", folder=folder, place=hidden[0]))

    @property
    def templates(self) -> tuple[str, ...]:
        """The templates of its units."""
        return tuple(one for one in TEMPLATES if self.backups or one not in (BACKUP, BACKUP_TIMER))

    @property
    def started(self) -> list[str]:
        """The names of those that are started when the machine is."""
        return [self.unit(template) for template in self.templates if template in STARTED]

    def _with_head(self, body: str) -> bytes:
        from importlib import metadata  # `status`, which makes no unit, is quicker without

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
        # a workspace that is not there is told by the service, which systemd would not start without the sign "-"
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
            # the user's own command may have to send a mail, which a closed box could not
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


def workspace_of(unit: bytes) -> str | None:
    """Return the workspace of a unit that `service install` made; None for a unit of somebody else."""
    first, _, rest = unit.decode("utf-8", "replace").partition("\n")
    found = _OF.match(rest)
    if first != _MARK or not found:
        return None
    try:
        return _path_in(json.loads(found["workspace"]))
    except ValueError:
        return None


def _path_in(value: object) -> str:
    """Return a path that a unit names; ValueError for one that no unit of ours can hold: somebody else wrote it."""
    if _CONTROL.search(path := str(value)):
        raise ValueError(path)
    return path


def installation_of(unit: bytes, user: str) -> Installation:
    """Return what was installed, from the unit of the service; the *user* is in its name."""
    origin = origin_of(unit)
    return Installation(
        Path(workspace_of(unit) or ""),
        user,
        key_of(unit),
        origin.python or sys.executable,
        origin.backups,
        origin.name,
        origin.memory_max,
    )


@dataclass(frozen=True, slots=True)
class Installed:
    """A service of the workspace: the folder of its units, what was installed, and which other user's own it is, or ""."""

    folder: Path
    what: Installation
    owner: str = ""

    @property
    def unit(self) -> Path:
        """The path of the unit of the service itself."""
        return self.folder / self.what.unit(SERVICE)


def installed(workspace: Path, environ: Mapping[str, str]) -> list[Installed]:
    """Return the services of the workspace: the caller's own, those of the system, and other users' where they can be read."""
    own = user_folder(environ)
    folders = {Path(account.pw_dir) / ".config" / "systemd" / "user": account.pw_name for account in getpwall()}
    others = [(folder, False, owner) for folder, owner in folders.items() if folder != own]
    found = []
    for folder, is_system, owner in [(own, False, ""), (SYSTEM_FOLDER, True, ""), *others]:
        for name in _services_in(folder):
            data = read_unit(folder / name)
            served = workspace_of(data)
            if served and os.path.realpath(served) == os.path.realpath(workspace):
                user = name.partition("@")[2].removesuffix(".service").partition(":")[0] if is_system else ""
                found.append(Installed(folder, installation_of(data, user), owner))
    return found


def _services_in(folder: Path) -> list[str]:
    """Return the names of the units in the folder that may be a service of ours."""
    try:
        return sorted(filter(re.compile(r"recalld(@.+)?\.service").fullmatch, os.listdir(folder)))
    except OSError:
        return []


def read_unit(path: Path) -> bytes:
    """Return what is in the file of a unit; b"" where there is none, or it can't be read."""
    try:
        return read_outside(path)
    except OSError:
        return b""


def refused_units(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield what has the name of a service, of the caller or of the system, and is no file of a unit, each with why."""
    folders = (user_folder(environ), SYSTEM_FOLDER)
    for path in (folder / name for folder in folders for name in _services_in(folder)):
        if os.path.realpath(path) == os.devnull:
            continue  # `systemctl mask` makes such a link
        try:
            read_outside(path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        except OSError as error:
            yield path, why_refused(error)


def of_unit(user: str, name: str = "") -> str:
    """
    Return the options of a command about the units of the system for this user, or about the caller's own, with that name.

    >>> of_unit("alice"), of_unit("", "work"), of_unit("")
    (' --system alice', ' --name work', '')
    """
    return "".join(f" {option} {value}" for option, value in (("--system", user), ("--name", name)) if value)


@dataclass(frozen=True, slots=True)
class Origin:
    """How a unit of ours was made: by which version, for which installation, what it says, and if that was edited."""

    version: str
    python: str
    backups: Backups | None
    body: bytes
    edited: bool
    name: str = ""
    memory_max: str = ""


def origin_of(unit: bytes) -> Origin:
    """Return how a unit of ours was made."""
    _, _, line, body = [*unit.split(b"\n", 3), b"", b"", b""][:4]
    try:
        made = parse_json(line.decode().removeprefix(_MADE).encode())
        backups = Backups(Path(_path_in(made["backups"])), int(made["keep"])) if "backups" in made else None
        edited = made["sha256"] != _digest(body)
        named = str(made.get("name", "")), str(made.get("memoryMax", ""))
        return Origin(str(made["recalld"]), _path_in(made["python"]), backups, body, edited, *named)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return Origin("", "", None, body, edited=True)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def key_of(unit: bytes) -> Path | None:
    """Return the file with the key that a unit of ours names; None where it names none."""
    found = _KEY.search(unit.decode("utf-8", "replace"))
    return Path(found[1].replace("%%", "%")) if found and not _CONTROL.search(found[1]) else None


def _template(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n")


def _fill(text: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda found: words[found[1]], text)
