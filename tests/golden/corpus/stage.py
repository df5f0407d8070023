"""Where a scene is played: a home folder, the workspaces that it begins with, and the programs that it calls."""

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.golden.corpus.normalise import Normaliser, shown
from tests.golden.corpus.scene import ECHO, Block
from tests.golden.corpus.wire import answer_of

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
NOW = "2026-10-29T09:00:00+08:00"  # the morning after the last message of the demo
#: The workspaces that scenes begin with; `fresh NAME` copies one.
MADE = ("demo", "odd", "empty")
TIMEOUT_S = 300


@dataclass(frozen=True)
class World:
    """
    What all scenes share: the folder *top*, that of the installed *commands*, the address of the *model*, and the name of the
    process that forks `recalld`, "" where each is the installed command itself.
    """

    top: Path
    commands: Path
    model: str
    prepared: str

    def make_programs(self) -> None:
        """Make the programs that scenes call."""
        folder = self.top / "bin"
        folder.mkdir()
        python = self.commands / "python"
        programs = {path.stem: f"{python} -P {path}" for path in PROGRAMS.glob("*.py")}
        programs["python"] = str(python)
        shim = f"{os.path.realpath(python)} -I -S {PROGRAMS}/shim.py"
        programs["recalld"] = shim if self.prepared else f"{self.commands}/recalld"
        for name, command in programs.items():
            (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (folder / name).chmod(0o755)

    def make_workspace(self, name: str) -> None:
        """Make a workspace that scenes begin with."""
        stage = Stage("make", name, self)
        stage.environ["WORKSPACE"] = str(HERE.parents[2] / "workspace")
        script = (PROGRAMS / "make.sh").read_text(encoding="utf-8")
        subprocess.run(["bash", "-euc", script, "make", name], cwd=stage.home, env=stage.environ, check=True, timeout=TIMEOUT_S)
        (self.top / "made").mkdir(exist_ok=True)
        (stage.home / name).rename(self.top / "made" / name)


class Stage:
    """A home folder of a scene and of one *variant* of it: in English, in Chinese, beside a supervisor."""

    def __init__(self, scene: str, variant: str, world: World) -> None:
        self.variant = variant
        self.home = world.top / f"{scene}.{variant}" / "home"
        self.home.mkdir(parents=True)
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{world.top / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "zh_CN.UTF-8" if variant == "zh" else "en_US.UTF-8",
            "LC_CTYPE": "C.UTF-8",  # every machine has it; recalld looks at LANG
            "TZ": "Asia/Shanghai",
            "TMPDIR": str(self.home),
            "COLUMNS": "100",
            "MADE": str(world.top / "made"),
            "MODEL": f"{world.model}/{scene}.{variant}/v1",
            "PREPARED": world.prepared,
            "PLAIN": f"{world.commands}/recalld",
            "SUPERVISED": "1" if variant == "supervisor" else "",
            "RECALLD_NOW": NOW,
            "RECALLD_ARCHIVE_JITTER": "0",
            "RECALLD_RECALL_TIMEOUT_MS": "60000",  # a busy machine must not cut a search short
            "RECALLD_SUMMARIZE_LEAST": "0",  # a model is asked, however little was said
            "RECALLD_WORKER_CONCURRENCY": "1",  # the order of tasks is that of their names
        }
        self._settings: list[str] = []
        names = {str(self.home): "/HOME", str(world.top): "/TOP", str(world.commands): "/BIN", world.model: "http://MODEL"}
        self._normalise = Normaliser({**names, f"/{scene}.{variant}/v1": "/v1"})

    def play(self, blocks: list[Block]) -> list[Block]:
        """Return the blocks with the answers that they get now."""
        try:
            return [answered for one in blocks for answered in self._answered(one)]
        finally:
            with suppress(FileNotFoundError, ProcessLookupError):
                for pid in (self.home / ".supervisors").read_text().split():
                    os.kill(int(pid), signal.SIGTERM)

    def _answered(self, block: Block) -> list[Block]:
        """Return the block with its answer; a conversation as a block for each of its lines."""
        if block.program in ("export", "unset", "cd"):
            self._settings.append(block.command)
            return [block.with_answer([])]
        done = self._run(block.command, "".join(f"{line}\n" for line in block.stdin))
        if block.is_conversation:
            return self._conversation(block, done)
        answer = self._rendered(block.command, done.stdout, done.stderr, done.returncode)
        direct = answer_of(block.command, self.home, self._exported) if self.variant == "supervisor" else None
        if direct and (said := self._rendered(block.command, *direct)) != answer:
            answer += ["[asked at the socket]", *said]
        return [block.with_answer(answer)]

    def _conversation(self, block: Block, done: subprocess.CompletedProcess[bytes]) -> list[Block]:
        first, *answers = f"\n{done.stdout.decode('utf-8', 'backslashreplace')}".split(f"\n{ECHO}")
        end = self._rendered(block.command, first[1:].encode(), done.stderr, done.returncode)
        blocks = [Block(block.before, block.command, [], end)]
        for answer in answers:
            line, _, text = answer.partition("\n")
            blocks.append(Block([], "", [line], self._rendered(line, text.encode(), b"", 0)))
        return blocks

    def _run(self, command: str, stdin: str) -> subprocess.CompletedProcess[bytes]:
        script = "\n".join(["umask 077", *self._settings, command])
        words = ["bash", "-O", "globstar", "-c", script]
        return subprocess.run(
            words, input=stdin.encode(), cwd=self.home, env=self.environ, capture_output=True, timeout=TIMEOUT_S, check=False
        )

    def _exported(self) -> dict[str, str]:
        """Return the variables that a command of the scene has now."""
        show = "import json, os; print(json.dumps(dict(os.environ)))"
        found: dict[str, str] = json.loads(self._run(shlex.join([sys.executable, "-I", "-S", "-c", show]), "").stdout)
        return found

    def _rendered(self, command: str, out: bytes, err: bytes, code: int) -> list[str]:
        lines = []
        for mark, data in (("|", out), ("!", err)):
            text = self._normalise(data.decode("utf-8", "backslashreplace"))
            lines += [f"{mark} {line}".rstrip() for line in shown(text, command)]
        return lines + ([f"[{code}]"] if code else [])
