"""
Three machines that have one another as sources, and a synchroniser between them: ``python -m tests.importing.machines --examples 1000``.

The synchroniser brings files late, in pieces, twice, in any order, and leaves conflict copies. Whatever was said, edited,
forgotten and ended meanwhile: once all is delivered and each machine has read twice, all have the same messages, each once,
nothing that was forgotten anywhere stands anywhere, and no line of the long-term file is there twice.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from recalld.supervisor.forgetting import sweep
from recalld.supervisor.forgetting.wanted import wanted
from recalld.supervisor.importing.sources import take_in
from recalld.supervisor.longterm.lines import parse_entry
from recalld.supervisor.protocol.marks import read_struck
from recalld.supervisor.storage.control import UNLIMITED
from tests.importing.made import state_of
from tests.world import WITHOUT_MODEL, UnsyncedDisk, World, at, message

NAMES = "abc"
NOW = at("2026-01-31T10:00")
Key: TypeAlias = tuple[str, str]

MACHINE = st.integers(0, 2)
ACT = st.one_of(
    st.tuples(st.just("say"), MACHINE, st.integers(0, 9), st.integers(0, 3)),
    st.tuples(st.just("edit"), MACHINE, st.integers(0, 99)),
    *[st.tuples(st.just("forget"), MACHINE, st.integers(0, 99))] * 2,
    st.tuples(st.just("clash"), MACHINE, MACHINE, st.integers(0, 9)),
    st.tuples(st.just("write"), MACHINE, st.integers(0, 3)),
    st.tuples(st.just("end"), MACHINE, st.integers(0, 3)),
    st.tuples(st.just("delete"), MACHINE, st.integers(0, 3)),
    *[st.tuples(st.just("bring"), MACHINE, MACHINE, st.integers(0, 2**20))] * 3,
    *[st.tuples(st.just("read"), MACHINE)] * 3,
    st.tuples(st.just("look"), MACHINE),
    st.tuples(st.just("meet")),
    st.tuples(st.just("wait"), st.integers(1, 1500)),
    st.tuples(st.just("clock"), MACHINE, st.integers(-40_000, 40_000)),
)


class Machines:
    """Three workspaces below *folder*, and copies of each for each of the others."""

    def __init__(self, folder: Path) -> None:
        self.copies = {(a, b): folder / f"{NAMES[a]}-for-{NAMES[b]}" for a in range(3) for b in range(3) if a != b}
        self.worlds = [World(folder / NAMES[n], NOW, self._toml(n), disk=UnsyncedDisk()) for n in range(3)]
        self.states: list[list[dict[str, bytes]]] = [[], [], []]
        self.said: dict[Key, Any] = {}  # when
        self.forgotten: set[Key] = set()
        self.count = 0

    def _toml(self, n: int) -> str:
        sources = (
            f'[[sources.take]]\nname = "{NAMES[a]}"\nfrom = "recalld"\npath = "{path}"\nforgets = true\n'
            for (a, b), path in self.copies.items()
            if b == n
        )
        return WITHOUT_MODEL + "".join(sources)

    # ── what happens on a machine ────────────────────────────────────────────

    def do(self, act: tuple[Any, ...]) -> None:
        name, *given = act
        getattr(self, f"_{name}")(*given)

    def _say(self, n: int, day: int, length: int) -> None:
        self.count += 1
        text = "\n".join(f"Zeile {self.count}.{line}: on Friday to the bank, 周五去银行" for line in range(length + 1))
        self._add(n, message(f"{NAMES[n]}-{self.count}", f"2026-01-{10 + day:02}T09:{self.count % 60:02}", text, session="s"))

    def _edit(self, n: int, which: int) -> None:
        blocks = self.blocks(n)
        if blocks:
            self.count += 1
            block = blocks[which % len(blocks)]
            self._add(n, message(block.key[0], block.created_at.isoformat(), f"Neu {self.count}: 改到周六。", session="s"))

    def _clash(self, n: int, other: int, day: int) -> None:
        """Two machines give one id to different words."""
        self.count += 1
        for machine in {n, other}:
            text = f"{NAMES[machine]} {self.count}: 谁先到？"
            self._add(machine, message(f"same-{self.count}", f"2026-01-{10 + day:02}T1{machine}:00", text, session="s"))

    def _forget(self, n: int, which: int) -> None:
        blocks, world = self.blocks(n), self.worlds[n]
        if blocks:
            meant = wanted(world.ws, "message", blocks[which % len(blocks)].key[0], world.clock())
            self.forgotten |= meant.messages.keys()
            sweep.begin(world.ws, meant, world.clock.forward(seconds=1), os.urandom(32))
            sweep.sweep(world.ws, world.clock())

    def _write(self, n: int, which: int) -> None:
        self.worlds[n].ws.long_term.append("web-chat", f"Vorliebe {which}: 喜欢茶", self.worlds[n].clock())

    def _end(self, n: int, which: int) -> None:
        if line := self._line(n, which):
            self.worlds[n].ws.long_term.end(line.ref, self.worlds[n].clock())

    def _delete(self, n: int, which: int) -> None:
        if line := self._line(n, which):
            self.worlds[n].ws.long_term.delete([line.ref])

    def _line(self, n: int, which: int) -> Any:
        lines = self.worlds[n].ws.long_term.read().lines
        return next((line for line in lines if f"Vorliebe {which}" in line.text and "~~" not in line.text), None)

    def _clock(self, n: int, hours: int) -> None:
        self.worlds[n].clock.jump(hours=hours)

    def _wait(self, minutes: int) -> None:
        for world in self.worlds:
            world.forward(minutes=minutes)

    def _look(self, n: int) -> None:
        """Do what the supervisor does by itself."""
        list(take_in(self.worlds[n].ws, self.worlds[n].clock, UNLIMITED))

    def _read(self, n: int) -> None:
        """Take in each source at once, as a person can."""
        for source in self.worlds[n].ws.config.sources.take:
            list(take_in(self.worlds[n].ws, self.worlds[n].clock, UNLIMITED, source.name))
        self.worlds[n].archive(everything=True)

    def _meet(self) -> None:
        """Deliver all, and let each machine read."""
        self.deliver()
        for n in range(3):
            self._read(n)

    def _add(self, n: int, raw: dict[str, Any]) -> None:
        world = self.worlds[n]
        world.append(raw)
        world.intake()
        world.archive(everything=True)
        self.said = {block.key: block.created_at for block in self.blocks(n)} | self.said

    # ── the synchroniser ─────────────────────────────────────────────────────

    def _bring(self, a: int, b: int, chance: int) -> None:
        if a == b:
            return
        self.states[a].append(self._files(a))
        random, copy = Random(chance), self.copies[a, b]
        state = random.choice(self.states[a][-3:])
        for name in random.sample(sorted(state), random.randint(0, len(state))):
            data = state[name]
            how = random.choice(("whole", "whole", "cut", "copy"))
            place = copy / (name.replace(".md", ".sync-conflict-20260131-ABC.md") if how == "copy" else name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data[: random.randint(len(data) // 3, len(data))] if how == "cut" else data)

    def _files(self, n: int) -> dict[str, bytes]:
        tree = self.worlds[n].tree(internal=True)
        kept = ("memory/", "memory.md", "history.json", "attachments/", ".recalld/forgotten.jsonl")
        return {name: data for name, data in tree.items() if name.startswith(kept) and not name.endswith((".lock", ".bak"))}

    def deliver(self) -> None:
        """Bring everything as it is, and take away what is gone."""
        for (a, _), copy in self.copies.items():
            shutil.rmtree(copy, ignore_errors=True)
            for name, data in self._files(a).items():
                place = copy / name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)

    def settle(self) -> None:
        """Deliver all, and let each machine read twice, or as often as it takes the last to hear of it."""
        for _ in range(3):
            self._meet()

    def blocks(self, n: int) -> list[Any]:
        return [block for blocks in self.worlds[n].dated_files().values() for block in blocks]

    def check(self) -> None:
        stands = {key: time for key, time in self.said.items() if key not in self.forgotten}
        for n in range(3):
            found = [(block.key, block.created_at) for block in self.blocks(n)]
            assert not [key for key, times in Counter(key for key, _ in found).items() if times > 1], "a message stands twice"
            assert not self.forgotten.intersection(dict(found)), "what was forgotten stands somewhere"
            assert dict(found) == stands, "not the same messages at the same times"
            entries = [parse_entry(line.text) for line in self.worlds[n].ws.long_term.read().lines]
            said = Counter(entry.content for entry in entries if entry and not read_struck(entry.content))
            assert not [word for word, times in said.items() if times > 1], "a line stands twice"
            states = [state_of(self.worlds[n], source.name) for source in self.worlds[n].ws.config.sources.take]
            assert not any(state.trouble for state in states)


def run(acts: list[tuple[Any, ...]]) -> None:
    """Do the acts, deliver everything, and look what the machines have."""
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(Path(folder))
        for act in acts:
            machines.do(act)
        machines.settle()
        machines.check()


def property_of(examples: int, *, number: int | None = None) -> Any:
    """Return the property as a function that asks so many examples."""
    asked = given(st.lists(ACT, min_size=20, max_size=40))(run)
    held = settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    return settings(held, derandomize=number is None)(asked if number is None else seed(number)(asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given_ = parser.parse_args()
    property_of(given_.examples, number=given_.seed)()
    print(f"{given_.examples} histories of three machines: the same messages everywhere")


if __name__ == "__main__":
    sys.exit(main())
