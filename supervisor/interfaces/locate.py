"""Where the workspace is that a command means, and where its supervisor listens; imports next to nothing."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def named(argv: list[str]) -> str:
    """Return the folder that the arguments name, the last where there are more; "" where they name none."""
    found, words = "", iter(argv)
    for word in words:
        if word == "--":
            break
        if word in {"-w", "--workspace"}:
            found = next(words, "")
        elif word.startswith("--workspace="):
            found = word.partition("=")[2]
        elif word.startswith("-w"):
            found = word[2:]
    return found


def workspace_of(argv: list[str], environ: Mapping[str, str]) -> str:
    """Return the folder meant: the option's, RECALLD_WORKSPACE, ./workspace if it is one, else the user's data folder."""
    found = named(argv) or environ.get("RECALLD_WORKSPACE", "")
    if found:
        return os.path.expanduser(found)
    if any(os.path.exists(os.path.join("workspace", name)) for name in ("history.json", "recalld.toml")):
        return "workspace"
    from platformdirs import user_data_dir

    return user_data_dir("recalld")


def socket_path(root: str) -> str:
    """
    Return where a supervisor of the workspace listens: beside its state, or as noted where that path is too long.

    "" where none does, or where the socket is not of whoever owns the state: a question is for nobody else.
    """
    state = os.path.join(root, ".recalld")
    path = os.path.join(state, "socket")
    try:
        with open(path + ".path", encoding="utf-8") as noted:
            path = noted.read().strip()
    except OSError:
        pass
    try:
        return path if os.lstat(path).st_uid == os.stat(state).st_uid else ""
    except (OSError, ValueError):
        return ""
