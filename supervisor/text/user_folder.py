"""Where a user's programs keep things: the folders of the XDG Base Directory Specification."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

#: The folder that counts where the variable names none.
_USUAL: Final = {
    "XDG_CACHE_HOME": "~/.cache",
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "XDG_STATE_HOME": "~/.local/state",
}


def user_folder(variable: str, environ: Mapping[str, str]) -> str:
    """
    Return the folder that the *variable* names, else the usual one.

    >>> user_folder("XDG_DATA_HOME", {"XDG_DATA_HOME": "/mnt/data"})
    '/mnt/data'
    """
    return environ.get(variable, "").strip() or os.path.expanduser(_USUAL[variable])
