"""The systemd unit of a worker of a pool, hardened as a workspace's are; older versions made those of a fleet and a gateway."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - `record` reads the annotations
from typing import Final

from ..host.workers import crew_command
from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.record import record
from .units import check_user_and_size, fill, has_control_character, in_command, template_text

#: The programs whose units can be removed.
KINDS: Final = ("fleet", "gateway", "worker")
_TEMPLATE: Final = "recalld-worker.service"
#: The first line of these units.
_MARK: Final = "# Made by `recalld service add`, which makes it again; what you change goes into `systemctl edit`."


@record
class PoolWorker:
    """
    A worker of a pool that runs as a service of the caller or, with *user*, of the system.

    *pool_file* names its models, *env_file* has variables; *memory_max* is the memory that it may use, as systemd writes it.
    """

    pool_file: Path
    env_file: Path | None = None
    user: str = ""
    memory_max: str = ""
    python: str = sys.executable

    @property
    def unit(self) -> str:
        """The name of the unit."""
        return unit_of("worker")

    def text(self) -> bytes:
        """Return the contents of the unit; BadRequest if something can't be written in one."""
        for field, value in (("--pool-file", str(self.pool_file)), ("--env-file", str(self.env_file or ""))):
            if has_control_character(value) or (field == "--env-file" and value != value.strip().rstrip("\\")):
                raise BadRequest(
                    field, Text("{value!r} has a line break or another character that no unit can hold; rename it", value=value)
                )
        check_user_and_size(self.user, self.memory_max)
        command = [self.python, *crew_command(self.pool_file)[1:]]
        # no user's name begins with a plus sign, so that its folders are those of no workspace
        sandbox = {"writable": "", "user": self.user, "place": "+worker"}
        words = {
            "command": " ".join(map(in_command, command)),
            "variables": f"EnvironmentFile={str(self.env_file).replace('%', '%%')}\n" if self.env_file else "",
            "memory": f"\nMemoryMax={self.memory_max}" if self.memory_max else "",
            "sandbox": fill(template_text("sandbox-system.conf" if self.user else "sandbox-user.conf"), sandbox),
            "target": "multi-user.target" if self.user else "default.target",
        }
        return f"{_MARK}\n{fill(template_text(_TEMPLATE), words)}\n".encode()


def unit_of(kind: str) -> str:
    """Return the name of the unit of one of `KINDS`."""
    return f"recalld-{kind}.service"


def is_ours(unit: bytes) -> bool:
    """Return whether `service add` has made the unit."""
    return unit.decode("utf-8", "replace").partition("\n")[0] == _MARK
