"""A person at a terminal: types lines, reads what they print, leaves programs running in other windows."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.patience import PATIENCE_S
from tests.process.command import until
from tests.process.prepared import Process

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Printed:
    """What a line left on the terminal, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Window:
    """A program that runs in a window of its own; what it prints is in *path*."""

    def __init__(self, process: subprocess.Popen[bytes], path: Path) -> None:
        self.process, self.path = process, path

    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def wait_for(self, words: str, times: int = 1) -> str:
        """What it has printed, once *words* are among it so many *times*."""
        return str(until(lambda: text if (text := self.text()).count(words) >= times else None))

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit code after this signal, or that it had already."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


class Person:
    """Somebody whose home is *home*, with the locale and the variables that they have set, in Shanghai."""

    def __init__(self, home: Path, locale: str = "C.UTF-8", **variables: str) -> None:
        self.home, self.memory = home, home / "memory"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("RECALLD_", "PYTHON", "LC_", "LANG"))}
        installed = {"PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}", "HOME": str(home)}
        # who has used it before has the dictionary in the cache
        used = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
        busy = {"RECALLD_RECALL_TIMEOUT_MS": "60000"}  # a busy machine finds the same
        self.environ = kept | installed | used | busy | {"LANG": locale, "TZ": "Asia/Shanghai"} | variables

    def types(self, line: str, *, expects: int = 0, stdin: str = "") -> Printed:
        """What the line prints; it must end with the code that the person *expects*, and never with a traceback."""
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=self.home,
            env=self.environ,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=PATIENCE_S,
        )
        return _printed(line, Printed(done.returncode, done.stdout, done.stderr), expects)

    def recalld(self, words: str, *, expects: int = 0, stdin: str = "") -> Printed:
        """What `recalld -w ~/memory` prints with these words; it is forked from a process that has it loaded."""
        pipe = subprocess.PIPE
        process = Process(
            ["recalld", "-w", str(self.memory), *shlex.split(words)],
            cwd=self.home,
            env=self.environ,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            encoding="utf-8",
        )
        out, err = process.communicate(stdin, timeout=PATIENCE_S)
        return _printed(words, Printed(process.returncode, out, err), expects)

    def python(self, program: str) -> str:
        """What a program of theirs prints."""
        (self.home / "program.py").write_text(program, encoding="utf-8")
        return self.types(f"'{sys.executable}' program.py").out

    @contextlib.contextmanager
    def window(self, line: str, shows: str) -> Iterator[Window]:
        """The line running in a window of its own, once it *shows* these words."""
        path = self.home / f"window-{len([*self.home.glob('window-*')]) + 1}.txt"
        with path.open("wb") as out:
            process = subprocess.Popen(
                ["sh", "-c", f"exec {line}"],
                cwd=self.home,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        opened = Window(process, path)
        try:
            until(lambda: shows in opened.text(), process)
            yield opened
        finally:
            opened.end()
            assert "Traceback" not in opened.text()

    def supervisor(self, before: str = "") -> contextlib.AbstractContextManager[Window]:
        """A supervisor in the foreground; *before* it other words, such as a limit."""
        return self.window(f"{before}recalld -w ~/memory run", " started")


def _printed(line: str, done: Printed, expects: int) -> Printed:
    """What the line printed, once it is seen that it ended as it should."""
    assert done.code == expects, f"{line}: {done.code}\n{done.out}{done.err}"
    assert "Traceback" not in done.err
    return done


def lines_of(*messages: dict[str, Any]) -> str:
    """The messages as `append --jsonl` reads them."""
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in messages)
