"""In any order of events, every message is in history.json, in exactly one dated file, or in both, and ends archived."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.gate import without_comparison
from tests.world import WITH_MODEL, UnsyncedDisk, World, at, message, unreachable

SMALL = WITH_MODEL + "[history]\nsoft_cap = 24\nhard_cap = 28\n"


class Tracked:
    """A workspace, and what everybody has done to it."""

    def __init__(self, root: Path) -> None:
        self.world = World(root, at("2026-01-25T10:00"))
        self.world.reopen(SMALL, UnsyncedDisk())
        self.said = 0
        self.met: set[str] = set()  # texts that a round has seen
        self.deleted: set[str] = set()  # texts whose file a person deleted
        self.names: dict[str, bytes | None] = {}  # every dated file there ever was; None: deleted
        self.edited: dict[Path, bytes] = {}  # summaries as a person left them

    # ── acts ─────────────────────────────────────────────────────────────────

    def say(self, count: int, days_ago: int, named: bool) -> None:
        new = []
        for _ in range(count):
            self.said += 1
            when = self.world.clock() - timedelta(days=days_ago, minutes=-self.said % 7)
            raw = message(
                f"m{self.said}", when.isoformat(), f"第 {self.said} 句：花生过敏", "user" if self.said % 2 else "assistant"
            )
            new.append(raw if named else {k: v for k, v in raw.items() if k != "id"})
        self.world.add(*new)

    def drop(self, content: int) -> None:
        self.said += 1
        raw = {"role": "user", "text": f"第 {self.said} 句：从手机来"}
        (self.world.paths.drop_box / f"{content}-{self.said}.json").write_text(json.dumps(raw))

    def lose(self, count: int) -> None:
        """Another program writes back an older array."""
        self.world.write(self.world.history()[: max(0, len(self.world.history()) - count)])

    def cap(self, count: int) -> None:
        """Another program has a cap of its own."""
        self.world.write(self.world.history()[-count:])

    def strip(self) -> None:
        """Another program knows none of our fields."""
        self.world.write([{k: v for k, v in raw.items() if k in {"role", "text", "createdAt"}} for raw in self.world.history()])

    def delete_file(self, number: int) -> None:
        names = sorted(self.world.dated_files())
        if names:
            name = names[number % len(names)]
            self.deleted |= {block.text for block in self.world.dated_files()[name]}
            self.names[Path(name).name] = None
            (self.world.root / name).unlink()

    def damage(self, part: int) -> None:
        """A crash of another program cuts history.json off; after a quiet minute it is restored."""
        data = self.world.paths.history.read_bytes() if self.world.paths.history.exists() else b""
        if self.world.ws.journal.names and self.world.paths.history_backup.exists():
            self.world.write(data[: len(data) * part // 41])
            self.world.restore()

    def delete_summary(self, number: int) -> None:
        labels = self.world.summaries()
        if labels:
            path = self.world.paths.summaries / f"{labels[number % len(labels)]}.md"
            self.edited.pop(path, None)
            path.unlink()

    def edit_summary(self, number: int) -> None:
        labels = self.world.summaries()
        if labels:
            path = self.world.paths.summaries / f"{labels[number % len(labels)]}.md"
            path.write_text(path.read_text().replace("花生", "花生和芒果") + f"我补一句 {number}\n")
            self.edited[path] = path.read_bytes()

    def model(self, answers: bool) -> None:
        self.world.model.script = type(self.world.model)().script if answers else unreachable

    def time(self, hours: int) -> None:
        self.world.clock.forward(hours=hours)

    def round(self, runs: str, work: bool) -> None:
        there = {raw["text"] for raw in self.world.history()}
        dropped = {json.loads(path.read_text())["text"] for path in self.world.paths.drop_box.iterdir()}
        self.world.round(runs)
        self.met |= there | dropped
        if work:
            self.world.work()
        self.check()

    def restart(self) -> None:
        self.world.reopen(disk=UnsyncedDisk())

    # ── what must hold ───────────────────────────────────────────────────────

    def check(self) -> None:
        files = self.world.dated_files()
        filed = [block.text for blocks in files.values() for block in blocks]
        assert len(filed) == len(set(filed)), "no message stands in two files"
        unwritten = {one.text for one in self.world.ws.journal.unwritten.values()}
        here = {raw["text"] for raw in self.world.history()}
        assert self.met <= set(filed) | here | unwritten | self.deleted, "nothing is lost"
        assert not self.world.events.of("error")
        for path in files:
            name, data = Path(path).name, (self.world.root / path).read_bytes()
            assert self.names.setdefault(name, data) == data, "a dated file never changes, its name is never used again"
        for path, data in self.edited.items():
            assert path.read_bytes().startswith(data), "a person's bytes stay an exact prefix"

    def calm(self) -> None:
        """Everything works again; all that is due is done."""
        self.model(answers=True)
        self.round("all", work=True)
        for days in (1, 70, 2):
            self.world.clock.forward(days=days)
            self.world.settle()
        self.check()
        filed = {text for _, text in self.world.archived()}
        assert self.met - self.deleted <= filed
        assert set(self.world.flags()) <= {True}
        assert all("/originals/" in path for path in self.world.dated_files()), "every old file is named by a summary"
        assert not self.world.ws.failures()
        assert not self.world.fsck().damage
        before = self.world.tree()
        self.world.settle()
        self.restart()
        self.world.settle()
        assert self.world.tree() == before, "a second run changes no byte"


NUMBERS = st.integers(0, 40)
ACTS = st.one_of(
    st.tuples(st.just("say"), st.integers(1, 12), st.sampled_from([0, 0, 0, 3, 7, 30, 80]), st.booleans()),
    st.tuples(st.just("round"), st.sampled_from(["due", "all", "all"]), st.booleans()),
    st.tuples(st.just("round"), st.sampled_from(["due", "all", "all"]), st.booleans()),
    st.tuples(st.just("time"), st.sampled_from([1, 7, 24, 24 * 6, 24 * 20, 24 * 40, -48])),
    st.tuples(st.just("lose"), st.integers(1, 9)),
    st.tuples(st.just("cap"), st.integers(1, 9)),
    st.tuples(st.just("strip")),
    st.tuples(st.just("drop"), NUMBERS),
    st.tuples(st.just("delete_file"), NUMBERS),
    st.tuples(st.just("delete_summary"), NUMBERS),
    st.tuples(st.just("edit_summary"), NUMBERS),
    st.tuples(st.just("damage"), NUMBERS),
    st.tuples(st.just("model"), st.booleans()),
    st.tuples(st.just("restart")),
)


# a dropped file whose time is ahead of the clock, and a history that is then restored from before that time was corrected
AHEAD = [("say", 1, 0, False), ("round", "all", False), ("drop", 0), ("round", "due", False), ("damage", 0)]


@pytest.mark.feature("003.33")
@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, min_size=4, max_size=18))
@example(AHEAD)
@example([("say", 1, 0, False), ("round", "all", True), ("drop", 21), ("round", "due", False), ("damage", 19), ("strip",)])
def test_workspace_neither_loses_nor_duplicates_a_message(acts):
    with TemporaryDirectory() as folder, without_comparison():
        tracked = Tracked(Path(folder))
        for act, *about in acts:
            getattr(tracked, act)(*about)
        tracked.calm()
