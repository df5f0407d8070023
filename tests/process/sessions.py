"""
Eight processes with one session at once: what leaves its history goes into long-term lines, by a scripted model on loopback, and
each adds to one chat of LlamaIndex, while a program goes on talking.

    python -m tests.process.sessions --messages 1000

Each message that left has to be in one line and no other, and no call may be paid twice; what was added to the chat has to be
there once, in the order of its writer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import sys
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recalld import Memory
from recalld.supervisor.conversation.chat_files import ChatFiles
from recalld.supervisor.protocol.making import make_workspace
from recalld.supervisor.storage.lenient_json import parse_json, render_json
from tests.llm.server import Act, Server
from tests.patience import PATIENCE_S
from tests.process import forked
from tests.process.rounds import Rounds, folder_in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROCESSES: Final = 8
SESSION: Final = "部署"
MAX_HISTORY: Final = 12
#: Fewer messages than this wait for the next ones (000).
LEAST: Final = 3
SETTINGS: Final = f"[conversation]\nmax_history = {MAX_HISTORY}\n"
#: So many messages may wait to be told before the program goes on talking: one line has room for them.
AHEAD: Final = 5
MOST_S: Final = 300.0
_NUMBER: Final = re.compile(r"第 (\d+) 件事")


def line_of(call: int, prompt: str) -> Act:
    """A model that tells what it is told, in other words each time."""
    matters = "；".join(f"第 {n} 件事的备份在 /srv/backup-{n}" for n in dict.fromkeys(_NUMBER.findall(prompt)))
    return Act(text=f"{matters}；这是第 {call} 次回答")


class InProcess:
    """The same model without a server."""

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Iterator[str]:
        yield line_of(1, messages[-1]["content"]).text


class OnLoopback:
    """The model as a program of the user's own asks it."""

    def __init__(self, port: int) -> None:
        self._port = port

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float) -> Iterator[str]:
        with contextlib.closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps({"messages": messages, "temperature": temperature}))
            yield json.load(connection.getresponse())["choices"][0]["message"]["content"]


def chats_of(memory: Memory) -> ChatFiles[Any]:
    ws = memory.workspace
    return ChatFiles(ws.files, ws.paths, ws.quarantine, ws.events, render=render_json, parse=parse_json)


def talk(first: int, count: int) -> list[dict[str, str]]:
    """The messages of the session from that number on."""
    numbers = range(first, first + count)
    said = [(n, f"第 {n} 件事：备份放在 /srv/backup-{n}。") for n in numbers]
    return [{"role": "assistant" if n % 2 else "user", "text": text, "session": SESSION} for n, text in said]


def made(root: Path) -> Memory:
    """A new workspace."""
    root.mkdir()
    (root / "recalld.toml").write_text(SETTINGS)
    make_workspace(root, {})
    return Memory(root, environ={})


def warm(root: Path) -> None:
    """Load here what each process needs for its first line."""
    memory = made(root)
    memory.append(talk(0, MAX_HISTORY + LEAST))
    if not memory.summarize_overflow(SESSION, llm=InProcess()):
        raise AssertionError("the model's line can't be kept")


def life(root: Path, port: int, name: str, added: int, stop: Path) -> Callable[[], int]:
    """What a process runs until *stop* is there: the overflow, and *added* messages to the chat, acknowledged on standard output."""

    def run() -> int:
        memory, model, n = Memory(root, environ={}), OnLoopback(port), 0
        chats = chats_of(memory)
        while not stop.exists():
            memory.summarize_overflow(SESSION, llm=model)
            if n < added:
                chats.add(SESSION, {"role": "user", "content": f"{name} {n}"})
                os.write(1, f"{name} {n}\n".encode())
                n += 1
            time.sleep(0.005)
        return 0

    return run


class Round:
    """One workspace below *folder*, its talk, and the processes that have its session."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.root, self.stop = folder, folder / "workspace", folder / "stop"
        self.chance = random.Random(seed)
        self.said = self.lines = self.added = 0

    def run(self, messages: int) -> list[str]:
        """The violations once *messages* messages were said and told."""
        warm(self.folder / "warm")
        memory = made(self.root)
        names = [f"第{n}个" for n in range(PROCESSES)]
        server = Server()
        server.script = line_of
        with (self.folder / "told").open("w+b") as told:
            # before the server has a thread, and they wait for it
            children = {
                name: self._child(name, server.server_address[1], messages // PROCESSES, told.fileno()) for name in names
            }
            with server:
                wrong = self._talk(memory, messages)
                self.stop.touch()
                wrong += [f"{name} ended with {code}" for name, child in children.items() if (code := child.wait(PATIENCE_S))]
            told.seek(0)
            wrong += list(filter(None, [told.read().decode()[-2000:]]))
            return [*wrong, *self._judge_lines(server), *self._judge_chat(names)]

    def _child(self, name: str, port: int, added: int, errors: int) -> forked.Child:
        with (self.folder / name).open("wb") as out:
            run = life(self.root, port, name, added, self.stop)
            return forked.Child(run, forked.plain_environ(), [errors, out.fileno(), errors])

    def _talk(self, memory: Memory, messages: int) -> list[str]:
        until = time.monotonic() + MOST_S
        while self.said < messages or self._waiting() >= LEAST:
            if time.monotonic() > until:
                return [f"{self._waiting()} messages were not told in {MOST_S:.0f} s"]
            if self.said < messages and self._waiting() < AHEAD:
                count = min(self.chance.randint(1, 9), messages - self.said)
                memory.append(talk(self.said, count))
                self.said += count
            else:
                time.sleep(0.01)
        return []

    def _lines(self) -> list[list[int]]:
        """The messages that each line tells."""
        with contextlib.suppress(FileNotFoundError):
            text = (self.root / "memory.md").read_text(encoding="utf-8")
            return [[int(n) for n in _NUMBER.findall(line)] for line in text.splitlines()]
        return []

    def _waiting(self) -> int:
        """How many messages left the history and are in no line yet."""
        return max(0, self.said - MAX_HISTORY) - len({n for line in self._lines() for n in line})

    def _judge_lines(self, server: Server) -> list[str]:
        lines = self._lines()
        self.lines = len(lines)
        told = Counter(n for line in lines for n in line)
        left = self.said - MAX_HISTORY - self._waiting()
        wrong = [f"message {n} is in {told[n]} lines" for n in range(self.said) if told[n] != (n < left)]
        wrong += [] if sorted(told) == [n for line in lines for n in line] else ["the lines are not in the order of the talk"]
        if (server.seen.calls, server.seen.most_at_once) != (self.lines, 1):
            wrong.append(f"{server.seen.calls} calls, {server.seen.most_at_once} at once, for {self.lines} lines")
        return wrong

    def _judge_chat(self, names: list[str]) -> list[str]:
        found = [one["content"] for one in chats_of(Memory(self.root, environ={})).messages(SESSION)]
        self.added, wrong = len(found), []
        for name in names:
            theirs = [one for one in found if one.startswith(f"{name} ")]
            acked = (self.folder / name).read_text(encoding="utf-8").splitlines()
            if theirs != acked:
                wrong.append(f"{name} added {len(acked)} messages to the chat, of its {len(theirs)} are there")
        quarantine = self.root / ".recalld/quarantine"
        return [*wrong, *(f"{path.name} was set aside" for path in (quarantine.iterdir() if quarantine.exists() else ()))]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=1_000)
    options.add_argument("--a-round", type=int, default=200, help="messages in one workspace")
    options.add_argument("--log", type=Path, help="a line a round; a run that was cut off goes on")
    found = options.parse_args()
    rounds = Rounds(found.log)
    while rounds.total("messages") < found.messages:
        number = len(rounds.done)
        with folder_in_memory("sessions-") as folder:
            one = Round(folder, number)
            wrong = one.run(min(found.a_round, found.messages - rounds.total("messages")))
        rounds.add(f"round-{number}", wrong, messages=one.said, lines=one.lines, added=one.added)
        rounds.progress(f"{rounds.total('messages')} messages")
    said = f"{rounds.total('messages')} messages of {PROCESSES} processes' session in {rounds.total('lines')} lines"
    print(f"{said}, {rounds.total('added')} messages added to their chat; {rounds.end}")
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
