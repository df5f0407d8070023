"""A real redis-server on a free port of this machine, which a test may kill, freeze, empty and start again."""

import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Self

from tests.loopback import free_port
from tests.process.command import until

PROGRAM = shutil.which("redis-server")


class RedisServer:
    """Ended with the context; *options* are lines of its configuration, those of TLS among them if it speaks TLS alone."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        self.kind = "tls-port" if any(one.startswith("tls-") for one in options) else "port"
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        assert PROGRAM
        options = ["save ''", "appendonly no", "bind 127.0.0.1", "port 0", f"{self.kind} {self.port}", f"dir {self.folder}"]
        options += self.options
        self.process = subprocess.Popen(
            [PROGRAM, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert self.process.stdin
        self.process.stdin.write("\n".join(options).encode() + b"\n")
        self.process.stdin.close()
        until(lambda: self._answers() or (self.process and self.process.poll() is not None))
        assert self.process.poll() is None, "redis-server has ended"

    def _answers(self) -> bool:
        with socket.socket() as asked:
            return asked.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)
