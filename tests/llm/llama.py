"""llama.cpp's server with a real, if small, model, as script/test-llm sets both up."""

import os
import subprocess
import time
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

# taken out, since a workspace refuses a variable that is no setting
_PYTHON, _MODEL = os.environ.pop("RECALLD_TEST_LLM", ""), os.environ.pop("RECALLD_TEST_LLM_MODEL", "")
#: Whether there is a server and a model to start.
IS_THERE = bool(_PYTHON and _MODEL)
CONTEXT = 2048
SERVE: Final = Path(__file__).with_name("serve.py")
_LOADED: Final = 200


class Llama:
    """llama.cpp's server as a process."""

    def __init__(self, port: int, python: str = _PYTHON, model: str = _MODEL, context: int = CONTEXT, threads: int = 2) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/v1"
        self.process: subprocess.Popen[bytes] | None = None
        self._command = [python, str(SERVE), model, str(port), str(context), str(threads)]

    def start(self) -> None:
        """Start it; return once its model is loaded."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(OSError), closing(HTTPConnection("127.0.0.1", self.port, timeout=1)) as connection:
                connection.request("GET", "/health")
                if connection.getresponse().status == _LOADED:
                    return
            time.sleep(0.1)
        raise AssertionError("the server does not come up")

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
