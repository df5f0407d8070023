"""
A function called in a process of its own, which ends with all that the function loads.

A supervisor runs for months, and would keep in memory the 150 MB of dictionaries that naming one dated file takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

#: The process finds modules where this one does.
_PROGRAM: Final = f"""\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from {__name__} import answer
answer()
"""


def call_in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """
    Return what *function*, a module's, returns; arguments and answer are values that JSON has.

    It is called in this process where no other can be started, or where that ends without an answer.
    """
    command = [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path)]
    asked = json.dumps([function.__module__, function.__qualname__, arguments]).encode("ascii")
    try:
        # a session of its own: Ctrl-C ends the supervisor, which waits for this answer
        done = subprocess.run(command, input=asked, capture_output=True, check=True, start_new_session=True)
        return json.loads(done.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return function(*arguments)


def answer() -> None:
    """Call the function that standard input names, and write what it returns to standard output."""
    module, name, arguments = json.load(sys.stdin)
    json.dump(getattr(import_module(module), name)(*arguments), sys.stdout)
