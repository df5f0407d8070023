"""
The systemd units of a workspace: the files in `units/`, filled in, and those that are installed.

A placeholder is `@word@`. A user's own units are in the user's folder: `recalld.service`, `recalld-fsck.timer` and others, with
a name `recalld@NAME.service`. On a machine without user sessions root installs them for a user: `recalld@USER.service`.

These files are recalld's: `install` writes each again as it is made here. What a user changes goes into `systemctl edit`, which
keeps it in a file of its own.
"""

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path
from typing import Final

from ..host.service import SCRIPT, VARIABLE
from ..protocol.llm import CREDENTIAL
from ..protocol.paths import user_folder
from ..storage.disk import read_outside
from ..storage.errors import BadRequest
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
_USER: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_NAME: Final = lazy_re(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


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
            allowed = _PATH if option in paths else _USER if option == "--system" else _NAME
            if value and not allowed.fullmatch(str(value)):
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
        return SYSTEM_FOLDER if self.user else unit_folder()

    @property
    def alarm(self) -> Path:
        """The folder of its alarm."""
        state = Path("/var/lib") if self.user else Path(user_folder("XDG_STATE_HOME", os.environ))
        return state / "recalld" / (self._place if self.user else f"recalld{self._at}")

    @property
    def _place(self) -> str:
        return self._at[1:].replace(":", "+")  # a colon ends the name of a folder in a unit

    @property
    def _templates(self) -> tuple[str, ...]:
        return TEMPLATES if self.backups else TEMPLATES[:-2]

    @property
    def started(self) -> list[str]:
        """The names of the units that start with the machine; a timer starts its service."""
        return [self.unit(template) for template in self._templates if template in (SERVICE, TIMER, BACKUP_TIMER)]

    def units(self) -> dict[str, bytes]:
        """Return the contents of each unit, by name."""
        backups = {"backups": str(self.backups), "keep": self.keep} if self.backups else {}
        how_made = {"python": self.python, **backups, **({"name": self.name} if self.name else {})}
        workspace, how = (json.dumps(value, ensure_ascii=False) for value in (str(self.workspace), how_made))
        head = f"{_MARK}\n{_OF}{workspace}\n{_MADE}{how}\n"
        words = self._words()
        return {self.unit(template): f"{head}{_fill(template, words)}\n".encode() for template in self._templates}

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
            "backup": f"{_in_command(str(self.backups))} --keep {self.keep}" if self.backups else "",
            "target": "multi-user.target" if self.user else "default.target",
            "user": self.user,
            "place": self._place,
        }
        sandbox = _fill("sandbox-system.conf" if self.user else "sandbox-user.conf", words)
        # the command of care.on_trouble may have to send a mail, which the sandbox of a user would prevent
        words |= {"sandbox": sandbox, "sandbox_of_trouble": sandbox if self.user else "UMask=0077"}
        into = f"\nReadWritePaths=-{quoted(str(self.backups))}" if self.user and self.backups else ""
        return {**words, "sandbox_of_backup": sandbox + into}


def unit_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where a user's own units are."""
    return Path(user_folder("XDG_CONFIG_HOME", environ)) / "systemd" / "user"


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


# ── installed units ──────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Made:
    """What the third line of a unit says."""

    python: str
    backups: str = ""
    keep: int = KEEP
    name: str = ""


def parse_unit(data: bytes, user: str = "") -> Installation | None:
    """Return the installation that a unit is of; None for somebody else's. The *user* of one of the system is in its name."""
    try:
        mark, workspace, how, body = data.decode("utf-8", "replace").split("\n", 3)
        root = Path(parse_json(workspace.removeprefix(_OF).encode()))
        it = read_record(_Made, parse_json(how.removeprefix(_MADE).encode()))
        key = Path(match[1].replace("%%", "%")) if (match := _KEY.search(body)) else None
        backups = Path(it.backups) if it.backups else None
        what = Installation(root, user, key, it.python, backups, it.keep, it.name)
    except (BadRequest, ValueError, TypeError):
        return None
    return what if mark == _MARK else None


def read_unit(path: Path, user: str = "") -> Installation | None:
    """Return the installation that the unit at *path* is of, None if there is none, or it is somebody else's."""
    with suppress(OSError):  # a folder, a pipe, a link to a device
        return parse_unit(read_outside(path), user)
    return None


def installed(workspace: Path, environ: Mapping[str, str]) -> dict[Path, Installation]:
    """Return the services of the workspace by their units: the caller's own, then the system's."""
    services, root = {}, os.path.realpath(workspace)
    for folder in (unit_folder(environ), SYSTEM_FOLDER):
        for path in map(Path, sorted(glob(f"{escape(str(folder))}/recalld[.@]*service"))):
            instance = path.name.partition("@")[2].removesuffix(".service")
            what = read_unit(path, instance.partition(":")[0] if folder == SYSTEM_FOLDER else "")
            if what and os.path.realpath(what.workspace) == root:
                services[path] = what
    return services


def _fill(name: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: words[match[1]], (_FOLDER / name).read_text(encoding="utf-8").rstrip("\n"))
