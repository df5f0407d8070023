"""What can have the name of a file and be none, or another one: planted by tests in its place."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "里面").write_text("别人的")


def _link_to_a_file(path: Path) -> None:
    target = path.parent.parent / "别处"
    target.write_text("别处的")
    path.symlink_to(target)


def _link_to_a_folder(path: Path) -> None:
    target = path.parent.parent / "别处的文件夹"
    target.mkdir(exist_ok=True)
    path.symlink_to(target)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


#: What is no regular file at all.
NO_FILES: Final[dict[str, Callable[[Path], object]]] = {
    "a folder": _folder,
    "a pipe": os.mkfifo,
    "a link to a folder": _link_to_a_folder,
    "a link to nothing": lambda path: path.symlink_to("/nowhere/recalld"),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
}
#: And what is a file, but not this one.
OTHERS: Final[dict[str, Callable[[Path], object]]] = {
    **NO_FILES,
    "a link to a file": _link_to_a_file,
    "an empty file": lambda path: path.touch(),
    "a foreign file": lambda path: path.write_text("别的字节"),
    "4 TB of zeros": _sparse,
}
