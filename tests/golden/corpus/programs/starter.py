"""
Starts `recalld` for the shims of the corpus without importing it again: a process that has its modules forks for each command.

A command costs a tenth of a start of its own, and has its own process, arguments, variables, folder and files as there.
`record.py --plain` starts each anew; the corpus is the same.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import io
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

#: Commands whose modules are loaded beforehand.
LOADING = (
    *(["--help"], ["search", "ssh 备份"], ["inject", "--query", "ssh"], ["why"], ["write", "words"]),
    *(["append", "--role", "user", "--text", "words"], ["fsck"], ["status"], ["plan"], ["doctor"]),
    *(["run", "--until-settled", "--no-worker"], ["summarize", "--session", ""]),
)
#: What is not imported beforehand: jieba and numpy's random numbers keep state of the process that loads them.
STATEFUL = ("numpy.random", "random", "secrets")


def run(argv: list[str]) -> int:
    """Run the command as the installed `recalld` does, and return its exit code."""
    sys.argv = ["recalld", *argv]
    try:
        from recalld.__main__ import main

        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    return 0


def end(code: int) -> NoReturn:
    """End this process as Python does: what threads and buffers have left is finished first."""
    import atexit
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def modules_of(argv: list[str]) -> list[str]:
    """Return the modules that the command has loaded when it ends."""
    reader, writer = os.pipe()
    if not os.fork():
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        leave: Callable[[int], NoReturn] = os._exit

        def tell(code: int) -> NoReturn:
            os.write(writer, json.dumps(list(sys.modules)).encode())
            leave(code)

        os._exit = tell  # a command may end so
        tell(run(argv))
    os.close(writer)
    with open(reader, encoding="utf-8") as answer:
        found: list[str] = json.loads(answer.read() or "[]")
    os.wait()
    return found


def load() -> None:
    """Import what the commands import, but run none of them in this process."""
    run_before = set(sys.modules)
    for argv in LOADING:
        for name in modules_of(argv):
            if name not in run_before and not name.startswith(STATEFUL) and name != "__main__":
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def opened(number: int, mode: str) -> Any:
    """Return the standard stream of that number as Python makes it; None where the caller has closed it."""
    try:
        raw = io.FileIO(number, mode, closefd=False)
    except OSError:
        return None
    binary: Any = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    errors = "surrogateescape" if number < 2 else "backslashreplace"
    return io.TextIOWrapper(binary, encoding="utf-8", errors=errors, line_buffering=number == 2 or raw.isatty())


def become(request: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the command: its files, folder, variables and arguments."""
    for number in (0, 1, 2):
        if number in request["files"]:
            os.dup2(files[request["files"].index(number)], number)
        else:
            with contextlib.suppress(OSError):
                os.close(number)
    os.closerange(3, 1024)
    os.chdir(request["folder"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = opened(0, "r"), opened(1, "w"), opened(2, "w")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end(run(request["argv"]))


def start(line: socket.socket) -> int:
    """Start the command that the shim asks for, tell it the number of the process, and return that."""
    data, files, _, _ = socket.recv_fds(line, 1 << 20, 3)
    while not data.endswith(b"\n"):
        data += line.recv(1 << 20)
    child = os.fork()
    if not child:
        become(ast.literal_eval(data.decode()), files)
    for one in files:
        os.close(one)
    line.sendall(f"{child}\n".encode())
    return child


def finish(line: socket.socket, child: int) -> None:
    """Tell the shim how its command ended."""
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):  # a shim that was killed
        line.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    line.close()


def main() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    load()
    gc.collect()
    gc.freeze()  # a child's collection leaves the pages of these objects shared
    path = Path(sys.argv[1])
    running: dict[int, tuple[socket.socket, int]] = {}
    with socket.socket(socket.AF_UNIX) as server, select.epoll() as events:
        server.bind(str(path.with_suffix(".new")))
        server.listen(64)
        path.with_suffix(".new").rename(path)
        events.register(server, select.EPOLLIN)
        while True:
            for number, _ in events.poll():
                if number in running:
                    events.unregister(number)
                    os.close(number)
                    finish(*running.pop(number))
                else:
                    line, _ = server.accept()
                    child = start(line)
                    watch = os.pidfd_open(child)
                    running[watch] = (line, child)
                    events.register(watch, select.EPOLLIN)


main()
