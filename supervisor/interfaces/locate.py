"""
Find the workspace of a command and its socket; the protocol version and limits of the socket, one request over it; `--version`.

This module imports almost nothing, since a turn waits for it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final

#: The version of the socket's protocol (cli.md).
PROTOCOL: Final = 4
#: Seconds to wait for the acknowledgement, which a supervisor that is stopped or hangs never sends; for its version longer.
_ACKNOWLEDGE_S: Final = 0.25
_VERSION_S: Final = 2.0
#: The `op` of a request that calls a model's tool, runs a command, or asks for the version; these are no operations.
TOOL: Final = "tool"
COMMAND: Final = "command"
VERSION: Final = "version"
#: The command of a client's hook, and the `op` of its request, which is no operation either.
HOOK: Final = "hook"
#: The most bytes of a request.
MAX_REQUEST: Final = 1 << 20


def version() -> str:
    """Return what `--version` prints; the name of what pip has installed says it before anything is loaded."""
    for folder in sys.path:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name.startswith("recalld-") and name.endswith(".dist-info"):
                return f"recalld {name.removeprefix('recalld-').removesuffix('.dist-info')}"
    from importlib.metadata import version

    return f"recalld {version('recalld')}"


def split_workspace(argv: list[str]) -> tuple[str, list[str]]:
    """
    Return the workspace that the arguments name (the last of several, "" for none), and the arguments without these options.

    >>> split_workspace(["-w", "memory", "search", "the", "red", "--workspace=old", "bike"])
    ('old', ['search', 'the', 'red', 'bike'])
    """
    name, left, words = "", [], iter(argv)
    for word in words:
        if word == "--":
            left += [word, *words]
        elif word in {"-w", "--workspace"}:
            name = next(words, "")
        elif word.startswith("--workspace="):
            name = word.partition("=")[2]
        elif word.startswith("-w"):
            name = word[2:]
        else:
            left.append(word)
    return name, left


def command_of(argv: list[str]) -> str:
    """Return the first argument that is neither an option nor an option's value."""
    words = iter(split_workspace(argv)[1])
    for word in words:
        if word == "--now":
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def workspace_of(argv: list[str], environ: Mapping[str, str]) -> str:
    """Return the workspace: the option's, RECALLD_WORKSPACE, ./workspace if it is one, else the user's data folder."""
    workspace = split_workspace(argv)[0] or environ.get("RECALLD_WORKSPACE", "")
    if workspace:
        return os.path.expanduser(workspace)
    if any(os.path.exists(os.path.join("workspace", name)) for name in ("history.json", "recalld.toml")):
        return "workspace"
    from ..protocol.paths import user_folder

    return os.path.join(user_folder("XDG_DATA_HOME", environ), "recalld")


def folder_id(root: str) -> list[int]:
    """Return device and inode of the folder, which distinguish it from its copies; [] if there is none."""
    try:
        stat = os.stat(root)
    except (OSError, ValueError):
        return []
    return [stat.st_dev, stat.st_ino]


def socket_path(root: str) -> str:
    """
    Return the path of the socket of the workspace's supervisor.

    "" if there is none, or if it belongs to another user than the folder, since no question may go to somebody else.
    """
    state = os.path.join(root, ".recalld")
    path = os.path.join(state, "socket")
    try:
        return path if os.lstat(path).st_uid == os.stat(state).st_uid else ""
    except (OSError, ValueError):
        return ""


def at_socket(use: Callable[[str], None], path: str) -> None:
    """Call *use*, the `bind` or `connect` of a socket, with an address for *path*, however long that is."""
    folder = os.open(os.path.dirname(path), os.O_PATH)
    try:
        use(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)


def page_address(host: str, port: int) -> str:
    """
    Return the address at which a browser on this machine finds the service.

    >>> page_address("0.0.0.0", 8377), page_address("::1", 80)
    ('http://127.0.0.1:8377', 'http://[::1]:80')
    """
    shown_host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104 - a name, nothing is bound
    return f"http://[{shown_host}]:{port}" if ":" in shown_host else f"http://{shown_host}:{port}"


def running_version(root: str) -> str | None:
    """Return what `--version` printed when the supervisor began; None where nobody listens, "" without an answer."""
    answer = ask_supervisor(root, {"op": VERSION, "request": {}, "caller": {}}, _VERSION_S)
    return None if answer is None else str(answer.get("answer", ""))


def ask_supervisor(root: str, fields: dict[str, Any], take_s: float = _ACKNOWLEDGE_S) -> dict[str, Any] | None:
    """
    Return the answer of the workspace's supervisor to a request of these *fields*; None where nobody listens.

    It responds within *take_s*, and answers within the time that it then announces. The answer is empty where it does not, or
    refuses the request; like one that nobody has heard, this has to be done in this process.
    """
    path = socket_path(root)
    if not path:
        return None
    import json
    import socket

    request = json.dumps({"version": PROTOCOL, **fields, "folder": folder_id(root)}).encode() + b"\n"
    if len(request) > MAX_REQUEST:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(take_s)
            at_socket(line.connect, path)
            line.sendall(request)
            acknowledged, _, data = line.recv(1 << 16).partition(b"\n")
            line.settimeout(float(json.loads(acknowledged)["within"]))
            answer = json.loads(data + b"".join(iter(lambda: line.recv(1 << 16), b"")))
            return answer if isinstance(answer, dict) else None
    except ConnectionRefusedError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return {}
