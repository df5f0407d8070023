"""Where the workspace is that a command means, and where its supervisor listens; imports next to nothing."""

from __future__ import annotations

import os


def workspace_of(argv: list[str], environ: dict[str, str]) -> str:
    """Return the folder: the option, RECALLD_WORKSPACE, ./workspace if it is one, else "" for the user's data folder."""
    for n, word in enumerate(argv):
        if word in {"-w", "--workspace"} and n + 1 < len(argv):
            return argv[n + 1]
        if word.startswith("--workspace="):
            return word.partition("=")[2]
    if environ.get("RECALLD_WORKSPACE"):
        return environ["RECALLD_WORKSPACE"]
    here = os.path.join(os.getcwd(), "workspace")
    return here if any(os.path.exists(os.path.join(here, name)) for name in ("history.json", "recalld.toml")) else ""


def socket_path(root: str) -> str:
    """Return where a supervisor of the workspace listens: beside its state, or as noted where that path is too long."""
    path = os.path.join(root, ".recalld", "socket")
    try:
        with open(path + ".path", encoding="utf-8") as noted:
            return noted.read().strip()
    except OSError:
        return path
