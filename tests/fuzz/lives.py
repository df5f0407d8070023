"""
A whole workspace with one to three of its files turned into rubbish, and then a day of it: rounds, worker, commands, a turn.

Whatever stood in a file before stands in one afterwards; a person's own files are as they were; nobody hears of a bug.
"""

import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from recalld.supervisor.protocol.config import load
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.message import Failure
from recalld.supervisor.protocol.task import Task
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.errors import BadConfig, SupervisorError
from recalld.worker.providers import ProviderError, Usage
from tests.fuzz.mutate import mutated
from tests.world import IN_SHANGHAI, UnsyncedDisk, World, at, message

#: Each message, note and line has a word of its own, by which it is followed.
TOKEN = re.compile(rb"Q[0-9]{4}Z")
#: Never rewritten by recalld, whatever stands in them.
A_PERSONS = re.compile(r"memory\.md|recalld\.toml|inbox\.json|prompts/.*|memory/[^/]*\.md|memory/originals/.*")


def template(root: Path) -> Path:
    """Make the workspace that every case starts from: a closed month, old and young days, edits, notes, work that waits."""
    root.mkdir(parents=True)
    world = World(root, at("2026-01-03T10:00"))
    words = iter(f"Q{n:04}Z" for n in range(1_000))

    def talk(day: str, count: int) -> list[dict[str, object]]:
        return [
            message(f"{day}-{n}", f"{day}T09:{n:02}", f"把 {next(words)} 的备份搬到 /srv/{n}，然后重启 nginx。", "user" if n % 2 == 0 else "assistant")
            for n in range(count)
        ]  # fmt: skip

    world.write(talk("2025-12-08", 4) + talk("2025-12-28", 3))
    world.settle()
    world.clock.now = at("2026-01-31T10:00")
    world.add(*talk("2026-01-20", 4), *talk("2026-01-29", 3), *talk("2026-01-30", 3))
    world.settle()
    summary = root / "memory/summary/2026-01-20.md"
    summary.write_text(f"# 我改过 {next(words)}\n\n{summary.read_text(encoding='utf-8')}", encoding="utf-8")
    world.add(*talk("2026-01-16", 2), *talk("2026-01-19", 2), *talk("2026-01-31", 2))
    world.round("all")  # a task waits in the queue
    (root / "memory.md").write_text(f"- 我对花生过敏 {next(words)}\n- prefers pnpm {next(words)}\n", encoding="utf-8")
    (root / "memory" / "花园.md").write_text(f"# 花园\n\n绣球花 {next(words)} 三天浇一次水\n", encoding="utf-8")
    (root / "inbox.json").write_text(json.dumps([message("q", "2026-01-31T09:59", "备份搬到哪里了？")]), encoding="utf-8")
    (root / "inbox.d/new/app.json").write_text(
        json.dumps(message("d", "2026-01-31T09:30", f"{next(words)} 从别处来")), encoding="utf-8"
    )
    (root / "recalld.toml").write_text(world.toml, encoding="utf-8")
    (root / "prompts").mkdir(exist_ok=True)
    world.refresh()
    world.save_receipt(world.context("备份", world.search("备份")))
    world.ws.task_queue.fail("day-2026-01-19", Failure(2, world.clock(), world.clock(), "timeout"))
    world.model.script = _unreachable  # what came of the task waits to be taken in
    assert world.worker().run_once()
    paused = {"attempts": 1, "failedAt": to_wire(world.clock()), "nextAt": to_wire(world.clock() + timedelta(hours=1))}
    world.ws.task_queue.record("provider", {**paused, "reason": "429", "day": "2026-01-31", "calls": 3, "promptTokens": 900})
    assert world.ws.calls.begin(world.clock(), None)
    return root


def _unreachable(_task: Task, _blocks: Sequence[Block]) -> str:
    raise ProviderError("provider", "连不上", usage=Usage(), retry_after_s=600)


def live(start: Path, root: Path, seed: int) -> str:
    """Live through one case in a fresh copy at *root*; return which files were spoiled. AssertionError tells what is wrong."""
    pick = random.Random(seed)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(start, root)
    paths = [p for p in sorted(root.rglob("*")) if p.is_file() and p.suffix != ".lock"]
    groups: dict[Path, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.parent, []).append(path)
    spoiled = [pick.choice(pick.choice(list(groups.values()))) for _ in range(pick.choice((1, 1, 1, 2, 3)))]
    for path in spoiled:
        path.write_bytes(mutated(path.read_bytes(), pick))
    names = ", ".join(sorted({path.relative_to(root).as_posix() for path in spoiled}))
    before = _tree(root)
    try:
        world = _day(root)
    except Exception as error:
        raise AssertionError(f"seed {seed}, {names}: {type(error).__name__}: {error}") from error
    bugs = world.events.of("error")
    assert not bugs, f"seed {seed}, {names}: {bugs}"
    _account(before, _tree(root), f"seed {seed}, {names}")
    return names


def _open(root: Path) -> World:
    toml = (root / "recalld.toml").read_bytes()
    try:
        load(toml, {})
    except BadConfig:
        toml = f"[archive]\n{IN_SHANGHAI}\n".encode()  # as a person mends it
    return World(root, at("2026-01-31T10:00"), toml, UnsyncedDisk())


def _day(root: Path) -> World:
    """What happens to the workspace: every step may refuse in one sentence of ours, and by no other way."""
    world = _open(root)

    def attempt(step: Callable[..., object], *arguments: object) -> None:
        try:
            step(*arguments)
        except SupervisorError as error:
            if not str(error).endswith(".") or "\n" in str(error):
                raise AssertionError(f"{error!r} is not one sentence") from error

    for hours in (0, 7, 24):
        world.clock.forward(hours=hours)
        attempt(world.round, "all")
        attempt(world.worker().run_once)
        for command in (world.fsck, world.status, world.plan, world.refresh):
            attempt(command)
        attempt(_turn, world)
        attempt(world.why)
        attempt(world.get, "memory/花园.md")
        if hours == 7:
            attempt(_mend, world)
    return world


def _turn(world: World) -> None:
    world.save_receipt(world.context(world.read_input(None), world.search("备份搬到 /srv 哪里？")))


def _mend(world: World) -> None:
    world.restore()
    world.repair()


def _tree(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and "index" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def _account(before: dict[str, bytes], after: dict[str, bytes], case: str) -> None:
    """Nothing is gone that stood somewhere, and a person's files are as they were, wherever they lie now."""
    ours = re.compile(r"log\.jsonl.*|\.recalld/(?:seen\.jsonl|files\.json)|turns/.*|worker/.*|history\.json\.bak")
    stood = {word for name, data in before.items() if not ours.fullmatch(name) for word in TOKEN.findall(data)}
    stands = {word for data in after.values() for word in TOKEN.findall(data)}
    assert stood <= stands, f"{case}: {sorted(stood - stands)} are gone"
    kept = set(after.values())
    for name, data in before.items():
        if A_PERSONS.fullmatch(name):
            assert data in kept, f"{case}: {name} was changed"
        if name.startswith("memory/summary/") and b"\nwaits: true\n" not in data:  # else its words are in the dated files
            prefix = any(other.startswith(data) for other in kept)
            assert prefix or data in kept, f"{case}: {name} was rewritten"
