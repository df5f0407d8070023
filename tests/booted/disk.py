"""A small disk of its own for a folder of the booted machine: it can be full, and its power can be cut."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.powercut.rig import NO_JOURNAL, Refused, Rig
from tests.process.command import until

if TYPE_CHECKING:
    from tests.booted.machine import Machine, Person

_SECTOR = 512


class SmallDisk(Rig):
    """An ext4 of *size* bytes in a file of *folder*, mounted where the person has their workspace."""

    def __init__(self, folder: Path, person: Person, size: int) -> None:
        super().__init__(folder, "ext4", size)
        self.point = Path(f"/proc/{person.machine.pid}/root{person.root}")
        self._machine: Machine = person.machine
        self._person = person
        made = subprocess.run(["losetup", "--find", "--show", str(self.image)], capture_output=True, text=True, check=False)
        if made.returncode:
            raise Refused(f"losetup: {made.stderr.strip()}")
        self._device = made.stdout.strip()
        number = re.sub(r"\D", "", self._device)
        self._machine.run("mknod", self._device, "b", "7", number)
        person.run("mkdir", "-p", person.root)
        self.mount()
        self._machine.do("chown", f"{person.name}:", person.root)

    def mount(self) -> None:
        self._machine.do("mount", self._device, self._person.root)

    def unmount(self) -> None:
        until(lambda: self._machine.run("umount", self._person.root).code == 0)  # as soon as no process holds it

    def pull_the_plug(self) -> None:
        """Stop the disk at once, kill everything of the person's, and boot them again: what was not synced is gone."""
        manager = f"user@{self._machine.do('id', '-u', self._person.name).strip()}.service"
        self.cut(NO_JOURNAL)
        self._machine.run("pkill", "-KILL", "-u", self._person.name)
        self._machine.do("systemctl", "stop", manager)
        self.unmount()
        self.mount()
        self._machine.do("systemctl", "start", manager)

    @property
    def written(self) -> int:
        """Bytes that it was given to write, once all was synced."""
        self._machine.do("sync", "--file-system", self._person.root)
        return int(Path(f"/sys/block/{Path(self._device).name}/stat").read_text(encoding="ascii").split()[6]) * _SECTOR

    def close(self) -> None:
        self._machine.run("umount", "--lazy", self._person.root)
        subprocess.run(["losetup", "--detach", self._device], check=False)
        self.image.unlink(missing_ok=True)
