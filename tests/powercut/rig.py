"""
A file system in a file, and the plug to pull: FS_IOC_SHUTDOWN stops it at once, and what was not fsynced is gone at the next mount.

Works as root, in a mount namespace of its own, so that nothing is left mounted whatever becomes of the process.
"""

import fcntl
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

#: What can be mounted: how it is made, with which options it is mounted.
KINDS: Final = {
    "ext4": (("mkfs.ext4", "-q", "-F"), "loop"),
    "ext4-noda": (("mkfs.ext4", "-q", "-F"), "loop,noauto_da_alloc"),  # without its care for careless renames
    "xfs": (("mkfs.xfs", "-q", "-f"), "loop"),
}
_SHUTDOWN: Final = 0x8004587D  # FS_IOC_SHUTDOWN, _IOR('X', 125, __u32)
#: Flags of it: the journal is written out first, or is not.
JOURNAL, NO_JOURNAL = 1, 2
_SIZE: Final = 400 << 20  # bytes, sparse; xfs wants 300 MB
_INSIDE: Final = "TESTS_POWERCUT_INSIDE"


class Refused(Exception):
    """No power can be cut here; the text says why."""


def enter_namespace() -> None:
    """Go on in a mount namespace of this program's own: the process is replaced by itself. Refused where that is not allowed."""
    if os.geteuid() != 0:
        raise Refused("only root may mount")
    if os.environ.get(_INSIDE):
        return
    if not shutil.which("unshare"):
        raise Refused("there is no unshare (util-linux)")
    probe = subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True, check=False)
    if probe.returncode:
        raise Refused(f"no mount namespace: {probe.stderr.decode().strip()}")
    os.environ[_INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", *sys.orig_argv])  # noqa: S606 - itself


class Rig:
    """A file system of *kind* and *size* in *folder*, not mounted yet. Refused where this machine can't have it."""

    def __init__(self, folder: Path, kind: str, size: int = _SIZE) -> None:
        self.image = folder / f"{kind}.img"
        self.point = folder / kind
        make, self._options = KINDS[kind]
        if not shutil.which(make[0]):
            raise Refused(f"there is no {make[0]}")
        self.point.mkdir()
        with self.image.open("wb") as file:
            file.truncate(size)
        _call(*make, str(self.image))

    def mount(self) -> None:
        _call("mount", "-o", self._options, str(self.image), str(self.point))

    def cut(self, flag: int) -> None:
        """Pull the plug. Refused where the file system has none."""
        handle = os.open(self.point, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, struct.pack("I", flag))
        except OSError as error:
            raise Refused(f"FS_IOC_SHUTDOWN: {error.strerror}") from None
        finally:
            os.close(handle)

    def unmount(self) -> None:
        """Take it off, as soon as no process holds it."""
        until = time.monotonic() + 10
        while True:
            try:
                return _call("umount", str(self.point))
            except Refused:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def close(self) -> None:
        """Leave nothing mounted, no loop device and no image."""
        subprocess.run(["umount", "--lazy", str(self.point)], capture_output=True, check=False)
        self.image.unlink(missing_ok=True)


def _call(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode:
        raise Refused(f"{words[0]}: {done.stderr.decode().strip()}")
