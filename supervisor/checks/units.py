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

from recalld.supervisor.protocol.llm import CREDENTIAL
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The service itself, and the units that run something for it from time to time.
SERVICE: Final = "recalld.service"
FSCK: Final = "recalld-fsck.service"
TIMER: Final = "recalld-fsck.timer"
TROUBLE: Final = "recalld-trouble.service"
BACKUP: Final = "recalld-backup.service"
BACKUP_TIMER: Final = "recalld-backup.timer"
TEMPLATES: Final = (SERVICE, FSCK, TIMER, TROUBLE, BACKUP, BACKUP_TIMER)
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
#: Names of users that are a part of a unit's name as they are.
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")


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
    Without *backups* there is no timer for them.
    """

    workspace: Path
    user: str = ""
    key: Path | None = None
    python: str = sys.executable
    backups: Backups | None = None

    def unit(self, template: str) -> str:
        """Return the name of the unit of that *template*."""
        stem, _, kind = template.rpartition(".")
        return f"{stem}@{self.user}.{kind}" if self.user else template

    def units(self) -> dict[str, bytes]:
        """Return what is in each unit, by its name; BadRequest where workspace, key or user can't be a part of it."""
        folder = self.backups.folder if self.backups else ""
        paths = (("--workspace", self.workspace), ("--key-file", self.key or ""), ("--backup-to", folder))
        for field, value in ((field, str(path)) for field, path in paths):
            # the path of a key is the rest of its line, which a backslash at its end would join with the next
            if _CONTROL.search(value) or (field == "--key-file" and value != value.strip().rstrip("\\")):
                raise BadRequest(field, Text("service.bad_character", value=value))
        if self.user and not _USER.fullmatch(self.user):
            raise BadRequest("--system", Text("service.bad_user_name", value=self.user))
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
        return f"{_MARK}\n# The workspace: {workspace}\n{_MADE}{json.dumps(made, ensure_ascii=False)}\n{body}".encode()

    def _filled(self, text: str) -> str:
        kind, kept = "system" if self.user else "user", self.backups
        sandbox = _fill(_template(f"sandbox-{kind}.conf"), {"workspace": in_list(str(self.workspace))})
        words = {
            "name": str(self.workspace).replace("%", "%%"),
            "recalld": " ".join(map(in_command, (self.python, "-P", "-m", "recalld", "-w", str(self.workspace)))),
            "credential": f"\nLoadCredential={CREDENTIAL}:{str(self.key).replace('%', '%%')}" if self.key else "",
            "check": self.unit(FSCK).replace("%", "%%"),
            "trouble": self.unit(TROUBLE).replace("%", "%%"),
            "backup": f"{in_command(str(kept.folder))} --keep {kept.keep}" if kept else "",
            "backup_sandbox": f"{sandbox}\nReadWritePaths=-{in_list(str(kept.folder))}" if self.user and kept else sandbox,
            "target": "multi-user.target" if self.user else "default.target",
            # the user's own command may have to send a mail, which a closed box could not
            "command_sandbox": sandbox if self.user else "UMask=0077",
            "sandbox": sandbox,
        }
        return _fill(text, words) + "\n"


def user_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a user's own units are."""
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


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
        return str(json.loads(found["workspace"]))
    except ValueError:
        return None


def installation_of(unit: bytes, user: str) -> Installation:
    """Return what was installed, from the unit of the service; the *user* is in its name."""
    origin = origin_of(unit)
    return Installation(Path(workspace_of(unit) or ""), user, key_of(unit), origin.python or sys.executable, origin.backups)


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
    others = [(folder, "", owner) for folder, owner in folders.items() if folder != own]
    system = [(SYSTEM_FOLDER, user, "") for user in _users_of_the_system()]
    found = []
    for folder, user, owner in [(own, "", ""), *system, *others]:
        data = read_unit(folder / Installation(workspace, user).unit(SERVICE))
        served = workspace_of(data)
        if served and os.path.realpath(served) == os.path.realpath(workspace):
            found.append(Installed(folder, installation_of(data, user), owner))
    return found


def _users_of_the_system() -> list[str]:
    try:
        names = sorted(os.listdir(SYSTEM_FOLDER))
    except OSError:
        return []
    found = map(re.compile(r"recalld@(.+)\.service").fullmatch, names)
    return [match[1] for match in found if match]


def read_unit(path: Path) -> bytes:
    """Return what is in the file of a unit; b"" where there is none, or this user may not read it."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def of_user(user: str) -> str:
    """
    Return the option of a command about the units of the system for this user; "" about the caller's own.

    >>> of_user("alice"), of_user("")
    (' --system alice', '')
    """
    return f" --system {user}" if user else ""


@dataclass(frozen=True, slots=True)
class Origin:
    """How a unit of ours was made: by which version, for which *python* and *backups*, what it says, and if that was edited."""

    version: str
    python: str
    backups: Backups | None
    body: bytes
    edited: bool


def origin_of(unit: bytes) -> Origin:
    """Return how a unit of ours was made."""
    _, _, line, body = [*unit.split(b"\n", 3), b"", b"", b""][:4]
    try:
        made = json.loads(line.decode().removeprefix(_MADE))
        backups = Backups(Path(made["backups"]), int(made["keep"])) if "backups" in made else None
        return Origin(str(made["recalld"]), str(made["python"]), backups, body, edited=made["sha256"] != _digest(body))
    except (ValueError, LookupError, TypeError):
        return Origin("", "", None, body, edited=True)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def key_of(unit: bytes) -> Path | None:
    """Return the file with the key that a unit of ours names; None where it names none."""
    found = _KEY.search(unit.decode("utf-8", "replace"))
    return Path(found[1].replace("%%", "%")) if found else None


def _template(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n")


def _fill(text: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda found: words[found[1]], text)
