"""
The systemd units of a workspace: the files in `units/`, filled in, and those that are installed.

A placeholder is `@word@`. A user's own units are in the user's folder: `recalld.service`, `recalld-fsck.timer` and others, with
a name `recalld@NAME.service`. On a machine without user sessions root installs them for a user: `recalld@USER.service`.

These files are recalld's: `install` writes each again as it is made here. What a user changes goes into `systemctl edit`, which
keeps it in a file of its own.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..host.service import SCRIPT, VARIABLE
from ..protocol.llm import CREDENTIAL
from ..protocol.paths import user_folder
from ..storage.disk import read_outside
from ..storage.errors import BadRequest
from ..storage.texts import Text
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
#: Characters that no value in a unit may have: they would end its line, or would not be shown; a backslash at its end would
#: join it with the next.
_CONTROL: Final = lazy_re(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]|\A\s|\s\Z|\\\Z")
#: Names of users and services that can be used unchanged in a unit's name.
_USER: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_NAME: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
#: The values that systemd accepts for MemoryMax=.
_MEMORY: Final = lazy_re(r"[0-9]+[KMGT]?|[0-9]{1,2}%|infinity")
#: Where systemd keeps the stamps of system timers, the folders of system services, and their state.
_STAMPS: Final = Path("/var/lib/systemd/timers")
_FOLDERS: Final = (Path("/var/cache/recalld"), Path("/run/recalld"))
_SYSTEM_STATE: Final = Path("/var/lib/recalld")


@dataclass(frozen=True, slots=True)
class Installation:
    """
    An installation: the service of *workspace*, in the caller's own service manager or, with *user*, in the system's.

    *key* is the file with the key of the model's server, None if no key is needed; *python* is a Python that has recalld.
    *backups* is the folder of the nightly backups, of which *keep* are kept; without it there is no timer for them. *name*
    distinguishes the service from others of this user; *memory_max* is the memory that it may use, as systemd writes it.
    BadRequest for a value that no unit can hold.
    """

    workspace: Path
    user: str = ""
    key: Path | None = None
    python: str = sys.executable
    backups: Path | None = None
    keep: int = KEEP
    name: str = ""
    memory_max: str = ""

    def __post_init__(self) -> None:
        paths = {"--workspace": self.workspace, "--key-file": self.key, "--backup-to": self.backups, "python": self.python}
        for field, path in paths.items():
            if _CONTROL.search(str(path)):
                raise BadRequest(
                    field,
                    Text("{value!r} has a line break or another character that no unit can hold; rename it", value=str(path)),
                )
        for field, name, pattern in (("--system", self.user, _USER), ("--name", self.name, _NAME)):
            if name and not pattern.fullmatch(name):
                raise BadRequest(
                    field, Text("{value!r} can't be a part of a unit's name; use letters, digits, . _ and -", value=name)
                )
        if self.memory_max and not _MEMORY.fullmatch(self.memory_max):
            raise BadRequest(
                "--memory-max", Text("{value!r} is no size; give one such as 400M, 1G or 20%", value=self.memory_max)
            )

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
    def folder(self) -> Path:
        """The folder of its units."""
        return SYSTEM_FOLDER if self.user else unit_folder()

    @property
    def alarm(self) -> Path:
        """The folder of its alarm."""
        if self.user:
            return _SYSTEM_STATE / self._place
        return Path(user_folder("XDG_STATE_HOME", os.environ)) / "recalld" / f"recalld{self._at}"

    @property
    def _place(self) -> str:  # no user has a plus sign
        return f"{self.user}+{self.name}" if self.name else self.user

    @property
    def _templates(self) -> tuple[str, ...]:
        return TEMPLATES if self.backups else TEMPLATES[:-2]

    @property
    def started(self) -> list[str]:
        """The names of the units that start with the machine; a timer starts its service."""
        return [self.unit(template) for template in self._templates if template in (SERVICE, TIMER, BACKUP_TIMER)]

    def units(self) -> dict[str, bytes]:
        """Return the contents of each unit, by name."""
        fields: dict[str, object] = {"python": self.python}
        if self.backups:
            fields |= {"backups": str(self.backups), "keep": self.keep}
        fields |= {key: value for key, value in (("name", self.name), ("memoryMax", self.memory_max)) if value}
        workspace, how = (json.dumps(value, ensure_ascii=False) for value in (str(self.workspace), fields))
        head = f"{_MARK}\n{_OF}{workspace}\n{_MADE}{how}\n"
        return {self.unit(template): f"{head}{self._filled(template)}\n".encode() for template in self._templates}

    def _filled(self, template: str) -> str:
        words = {
            "at": self._at,
            "workspace": in_list(str(self.workspace)),
            "name": str(self.workspace).replace("%", "%%"),
            "recalld": " ".join(map(in_command, (self.python, "-P", "-m", "recalld", "-w", str(self.workspace)))),
            "credential": f"\nLoadCredential={CREDENTIAL}:{str(self.key).replace('%', '%%')}" if self.key else "",
            "alarm": in_command(str(self.alarm / SCRIPT)),
            "service_word": in_command(self.unit(SERVICE)),
            "alarm_variable": in_list(f"{VARIABLE}={self.alarm}"),
            "options": in_command(self.options),
            "memory": f"\nMemoryMax={self.memory_max}" if self.memory_max else "",
            "backup": f"{in_command(str(self.backups))} --keep {self.keep}" if self.backups else "",
            "target": "multi-user.target" if self.user else "default.target",
            "sandbox": self._sandbox(template),
        }
        return _fill(template, words)

    def _sandbox(self, template: str) -> str:
        if not self.user:
            # the command of care.on_trouble may have to send a mail, which a sandbox would prevent
            return "UMask=0077" if template in (FSCK, TROUBLE) else _fill("sandbox-user.conf", {})
        # with "-" systemd starts the service even if the workspace is gone, so that the service itself reports that
        writable = f"ReadWritePaths=-{in_list(str(self.workspace))}\n" if template != TROUBLE else ""
        sandbox = _fill("sandbox-system.conf", {"writable": writable, "user": self.user, "place": self._place})
        if template == BACKUP and self.backups:
            sandbox += f"\nReadWritePaths=-{in_list(str(self.backups))}"
        return sandbox


def unit_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a user's own units are."""
    return Path(user_folder("XDG_CONFIG_HOME", environ)) / "systemd" / "user"


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


def remains(what: Installation) -> list[Path]:
    """Return what a removed service leaves: caches, systemd's stamps of its timers, and what `systemctl edit` keeps."""
    stamps = Path(user_folder("XDG_DATA_HOME", os.environ)) / "systemd" / "timers"
    caches = [Path(user_folder("XDG_CACHE_HOME", os.environ)) / "recalld"]
    if what.user:
        stamps, caches = _STAMPS, [place / what.alarm.name for place in _FOLDERS]
    left = [*caches, *(stamps / f"stamp-{what.unit(timer)}" for timer in (TIMER, BACKUP_TIMER))]
    left += [what.folder / f"{what.unit(name)}.d" for name in TEMPLATES]
    return [path for path in left if path.exists()]


# ── installed units ──────────────────────────────────────────────────────────


def parse_unit(data: bytes, user: str = "") -> Installation | None:
    """Return the installation that a unit is of; None for somebody else's. The *user* of one of the system is in its name."""
    try:
        mark, workspace, made_line, body = data.decode("utf-8", "replace").split("\n", 3)
        fields = json.loads(made_line.removeprefix(_MADE))
        key = _KEY.search(body)
        what = Installation(
            workspace=Path(json.loads(workspace.removeprefix(_OF))),
            user=user,
            key=Path(key[1].replace("%%", "%")) if key else None,
            python=str(fields["python"]),
            backups=Path(fields["backups"]) if "backups" in fields else None,
            keep=int(fields.get("keep", KEEP)),
            name=str(fields.get("name", "")),
            memory_max=str(fields.get("memoryMax", "")),
        )
    except (BadRequest, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return what if mark == _MARK else None


def below_head(data: bytes) -> bytes:
    """Return a unit without the lines that say how it was made."""
    return data.split(b"\n", 3)[-1]


def installed(workspace: Path, environ: Mapping[str, str]) -> dict[Path, Installation]:
    """Return the services of the workspace by their units: the caller's own, then the system's."""
    services = {}
    for folder in (unit_folder(environ), SYSTEM_FOLDER):
        names = os.listdir(folder) if os.access(folder, os.R_OK) else ()
        for name in sorted(filter(re.compile(r"recalld(@.+)?\.service").fullmatch, names)):
            instance = name.partition("@")[2].removesuffix(".service")
            with suppress(OSError):  # a folder, a pipe, a link to a device
                data = read_outside(folder / name)
                what = parse_unit(data, instance.partition(":")[0] if folder == SYSTEM_FOLDER else "")
                if what and os.path.realpath(what.workspace) == os.path.realpath(workspace):
                    services[folder / name] = what
    return services


def _fill(name: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: words[match[1]], (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n"))
