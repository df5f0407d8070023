"""
Eight writers of one long-term file: commands, Python programs, Anthropic's memory tool, and an editor that saves by rename. In
every second round the editor does not take the lock, and a ninth program appends in place without it.

    python -m tests.process.long_term --lines 16000

Every line that was acknowledged has to be there once, and no line that nobody wrote. In a round with programs that ignore the
lock, what is missing is counted: of theirs (`lost`), and of ours, which the editor wrote away (`written away`).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recalld import AnthropicMemory, Memory, MemoryStore
from recalld.supervisor.longterm.lines import cut, parse_entry
from recalld.supervisor.storage.errors import Conflict
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.forked import load_commands
from tests.process.rounds import Rounds, folder_in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENVIRON: Final = forked.plain_environ(RECALLD_ARCHIVE_TIMEZONE="Asia/Shanghai")
START: Final = "\ufeff# 我的记忆\r\n\r\n- 喜欢喝茶\r\n"
#: Adds the line that it is given; False where it has to be given again.
Write = "Callable[[str], bool]"
MOST_S: Final = 300.0


# ── who writes ───────────────────────────────────────────────────────────────


def by_command(root: Path) -> Write:
    def write(content: str) -> bool:
        code, _, err = forked.run(root, "write", content, "--source", "telegram", environ=ENVIRON)
        if code:
            raise RuntimeError(err)
        return True

    return write


def by_memory(root: Path) -> Write:
    memory = Memory(root, environ={"RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai"})
    return lambda content: memory.write(content).is_new


def by_store(root: Path) -> Write:
    store = MemoryStore(root)
    return lambda content: store.append_entry("feishu", content) > 0


def by_claude(root: Path) -> Write:
    """Anthropic's memory tool, which inserts where the model says."""
    tool = AnthropicMemory(Memory(root, environ={}))

    def write(content: str) -> bool:
        place = {"path": "/memories/memory.md", "insert_line": 2}
        answer = tool({"command": "insert", **place, "insert_text": f"- {content}\n"})
        if answer.is_error and not answer.text.endswith("; try again."):
            raise RuntimeError(answer.text)
        return not answer.is_error

    return write


def by_editor(root: Path, *, locks: bool = True) -> Write:
    """Opens, types a line somewhere, sees whether the file is still what was opened, and saves by a rename."""
    path, other = root / "memory.md", root / ".memory.md.swp"
    chance = random.Random(f"{root}")

    def write(content: str) -> bool:
        opened = path.read_bytes()
        lines = opened.split(b"\r\n")
        lines.insert(chance.randrange(1, len(lines)), f"- {content}".encode())
        other.write_bytes(b"\r\n".join(lines))
        with locked(root) if locks else contextlib.nullcontext():
            if path.read_bytes() != opened:
                return False
            os.rename(other, path)
        return True

    return write


def by_careless_editor(root: Path) -> Write:
    return by_editor(root, locks=False)


def by_appending(root: Path) -> Write:
    """As `echo … >> memory.md` does."""

    def write(content: str) -> bool:
        with (root / "memory.md").open("ab") as file:
            file.write(f"- {content}\r\n".encode())
        time.sleep(0.02)
        return True

    return write


#: Who takes the lock, in both kinds of round.
WRITERS: Final = {
    "command-1": by_command,
    "command-2": by_command,
    "memory-1": by_memory,
    "memory-2": by_memory,
    "store-1": by_store,
    "store-2": by_store,
    "claude": by_claude,
}
EDITOR: Final = {"editor": by_editor}
CARELESS: Final = {"careless-editor": by_careless_editor, "careless-appender": by_appending}


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    handle = os.open(root / "memory.md.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def life(made: Callable[[Path], Write], root: Path, name: str, stop: Path) -> Callable[[], int]:
    """What a writer's process runs: lines until *stop* is there, each acknowledged on standard output."""

    def run() -> int:
        write, n = made(root), 0
        while not stop.exists():
            content = f"{name} 记下第 {n} 件事"
            with contextlib.suppress(Conflict):  # nobody but the careless writes all the time
                if not write(content):
                    continue
                os.write(1, f"{content}\n".encode())
                n += 1
        return 0

    return run


# ── a round ──────────────────────────────────────────────────────────────────


class Round:
    """One workspace below *folder*, and those who write its long-term file."""

    def __init__(self, folder: Path, *, careless: bool) -> None:
        self.root = folder / "workspace"
        self.stop = folder / "stop"
        self.writers = {**WRITERS, **(CARELESS if careless else EDITOR)}
        self.acked: Counter[str] = Counter()
        self.lost = self.written_away = 0

    def run(self, lines: int) -> list[str]:
        """The violations once *lines* lines are acknowledged."""
        forked.run(self.root, "init", environ=ENVIRON)
        (self.root / "memory.md").write_bytes(START.encode())
        acked = forked.Acknowledged(self.acked.update)
        with (self.stop.parent / "told").open("w+b") as told:
            children = {
                name: forked.Child(life(made, self.root, name, self.stop), ENVIRON, [told.fileno(), acked.out, told.fileno()])
                for name, made in self.writers.items()
            }
            os.close(acked.out)
            wrong = self._until(lines, acked)
            self.stop.touch()
            wrong += [f"{name} ended with {code}" for name, child in children.items() if (code := child.wait(PATIENCE_S))]
            acked.end()
            told.seek(0)
            said = told.read().decode()
        return [*wrong, *([said[-2000:]] if said else []), *self._judge()]

    def _until(self, lines: int, acked: forked.Acknowledged) -> list[str]:
        until = time.monotonic() + MOST_S
        while self.acked.total() < lines:
            time.sleep(0.02)
            acked.read()
            if time.monotonic() > until:
                return [f"only {self.acked.total()} lines were acknowledged in {MOST_S:.0f} s"]
        return []

    def _judge(self) -> list[str]:
        text = (self.root / "memory.md").read_bytes().decode()
        found = Counter(_said(line) for line in cut(text) if line)
        start = [_said(line) for line in START.split("\r\n") if line]
        wrong = [f"{line!r} of the beginning is there {found[line]} times" for line in start if found[line] != 1]
        wrong += [f"{line!r} is there {count} times" for line, count in found.items() if count > 1]
        wrong += [f"nobody wrote {line!r}" for line in found if line not in start and not self._is_a_writers(line)]
        missing = [line for line in self.acked if not found[line]]
        theirs = [line for line in missing if line.startswith("careless")]
        if "editor" in self.writers:
            wrong += [f"{line!r} was acknowledged and is not there" for line in missing]
        self.lost, self.written_away = len(theirs), len(missing) - len(theirs)
        left = [path.name for path in self.root.iterdir() if path.name.endswith(".tmp")]
        return [*wrong, *(f"{name} is left" for name in left)]

    def _is_a_writers(self, line: str) -> bool:
        """Whether a writer offered it: the last line of each may be written and not acknowledged, when it is told to stop."""
        return line in self.acked or line.partition(" ")[0] in self.writers


def _said(line: str) -> str:
    """What a line says, as its writer acknowledged it."""
    entry = parse_entry(line)
    return entry.content if entry else line.removeprefix("- ")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--lines", type=int, default=16_000)
    options.add_argument("--a-round", type=int, default=4_000, help="lines in one workspace")
    options.add_argument("--log", type=Path, help="a line a round; a run that was cut off goes on")
    found = options.parse_args()
    load_commands()  # else each command loads them again
    rounds = Rounds(found.log)
    for number in range(len(rounds.done), -(-found.lines // found.a_round)):  # however many more a round had acknowledged
        with folder_in_memory("lines-") as folder:
            one = Round(folder, careless=number % 2 == 1)
            wrong = one.run(found.a_round)
        careless = sum(count for line, count in one.acked.items() if line.startswith("careless"))
        counts = {"lines": one.acked.total(), "careless": careless, "lost": one.lost, "written_away": one.written_away}
        rounds.add(f"round-{number}", wrong, **counts)
        rounds.progress(f"{rounds.total('lines')} lines")
    said = f"{rounds.total('lines')} acknowledged lines; {rounds.total('careless')} of them without the lock, of which "
    said += f"{rounds.total('lost')} were lost, and {rounds.total('written_away')} of the others were written away"
    print(f"{said}; {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
