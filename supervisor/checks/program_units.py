"""The systemd units of what serves many workspaces: a fleet, a gateway, a worker of a pool; hardened as a workspace's are."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from recalld.supervisor.checks.units import (
    check_seen,
    check_user_and_size,
    fill,
    has_control_character,
    in_command,
    in_list,
    template_text,
)
from recalld.supervisor.host.workers import crew_command
from recalld.supervisor.storage.catalogue import Text
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.text.record import record

Kind: TypeAlias = Literal["fleet", "gateway", "worker"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_TEMPLATE: Final = "recalld-program.service"
#: The first line of these units.
_MARK: Final = "# Made by `recalld service add`, which makes it again; what you change goes into `systemctl edit`."
#: What each kind is, and whether it says when it is ready.
_ABOUT: Final = {
    "fleet": "the memories of {places}",
    "gateway": "the memories of {places} over HTTP",
    "worker": "a worker of a pool",
}
_SAYS_READY: Final = {"fleet": "notify", "gateway": "notify", "worker": "exec"}
#: Lines of one kind alone: a reload replaces one shard after another; the parent gives a sign of life every second.
_OF_A_FLEET: Final = "ExecReload=/bin/kill -HUP $MAINPID\nWatchdogSec=120\n"


@record
class Program:
    """
    A program that runs as a service of the caller or, with *user*, of the system.

    *roots* are the folders of fleets, *options* further arguments, *pool_file* names the models of a worker, *env_file* has
    variables; *memory_max* is the memory that it may use, as systemd writes it.
    """

    kind: Kind
    roots: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    pool_file: Path | None = None
    env_file: Path | None = None
    user: str = ""
    memory_max: str = ""
    python: str = sys.executable

    @property
    def unit(self) -> str:
        """The name of the unit."""
        return f"recalld-{self.kind}.service"

    @property
    def command(self) -> list[str]:
        """What the service runs."""
        if self.kind == "worker":
            return [self.python, *crew_command(self.pool_file or Path("pool.toml"))[1:]]
        roots = [word for root in self.roots for word in ("--root", str(root))]
        return [self.python, "-P", "-m", "recalld", self.kind, *roots, *self.options]

    def text(self) -> bytes:
        """Return the contents of the unit; BadRequest if something can't be written in one."""
        given = {"--root": self.roots, "--pool-file": (self.pool_file or "",), "--env-file": (self.env_file or "",)}
        for field, value in ((field, str(value)) for field, values in given.items() for value in values):
            if has_control_character(value) or (field == "--env-file" and value != value.strip().rstrip("\\")):
                raise BadRequest(field, Text("service.bad_character", value=value))
        check_user_and_size(self.user, self.memory_max)
        places = " ".join(map(str, self.roots)).replace("%", "%%")
        listed = " ".join(in_list(str(root)) for root in self.roots)
        more = _OF_A_FLEET if self.kind == "fleet" else ""
        more += f"EnvironmentFile={str(self.env_file).replace('%', '%%')}\n" if self.env_file else ""
        words = {
            "about": _ABOUT[self.kind].format(places=places),
            "mounts": f"RequiresMountsFor={listed}\n" if listed else "",
            "type": _SAYS_READY[self.kind],
            "command": " ".join(map(in_command, self.command)),
            "more": more,
            "memory": f"\nMemoryMax={self.memory_max}" if self.memory_max else "",
            "sandbox": self._sandbox(listed),
            "target": "multi-user.target" if self.user else "default.target",
        }
        return f"{_MARK}\n{fill(template_text(_TEMPLATE), words)}\n".encode()

    def check_places(self) -> None:
        """Raise BadRequest if a unit of the system would not see one of its folders."""
        for root in self.roots if self.user else ():
            check_seen("--root", root)

    def _sandbox(self, listed: str) -> str:
        # no user's name begins with a plus sign, so that its folders are those of no workspace
        writable = re.sub(r'(^| )"', r'\1-"', listed)
        words = {"writable": f"ReadWritePaths={writable}\n" if listed else "", "user": self.user, "place": f"+{self.kind}"}
        return fill(template_text("sandbox-system.conf" if self.user else "sandbox-user.conf"), words)


def is_ours(unit: bytes) -> bool:
    """Return whether `service add` has made the unit."""
    return unit.decode("utf-8", "replace").partition("\n")[0] == _MARK
