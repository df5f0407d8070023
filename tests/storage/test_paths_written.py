"""WorkspacePaths and the table of docs/reference/protocol.md name what is written, and what they name is written."""

import base64
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from recalld.supervisor.checks.backup import nightly_backup
from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.table import account
from recalld.supervisor.context.turns import InboxFile
from recalld.supervisor.events import Events
from recalld.supervisor.host.jobs import make_vectors
from recalld.supervisor.host.lock import supervisor_lock
from recalld.supervisor.host.round import archive_now
from recalld.supervisor.importing.sources import take_in
from recalld.supervisor.interfaces.http.site import Access
from recalld.supervisor.interfaces.socket_server import Answering, serve_socket
from recalld.supervisor.interfaces.wording import keep_language
from recalld.supervisor.operations.forget import forget
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.protocol.config import load, make_workspace
from recalld.supervisor.protocol.marks import Struck
from recalld.supervisor.protocol.paths import QUEUE_FOLDERS, WORKERS, WorkspacePaths, period_of_name
from recalld.supervisor.recall.ended import write_ended
from recalld.supervisor.storage.control import UNLIMITED
from recalld.supervisor.workspace import Workspace
from recalld.worker.providers import choose
from tests.llm.server import Act, Server
from tests.llm.shop import SENTENCES
from tests.protocol.test_attachments import PNG
from tests.recall import vectors
from tests.world import GOOD_SUMMARY, IN_SHANGHAI, Diarist, FaultyDisk, World, at, message, message_on, signals_as_they_were

ROOT = Path(__file__).parents[2]
PATHS = WorkspacePaths(Path("workspace"))
PROPERTIES = sorted(name for name in vars(WorkspacePaths) if isinstance(getattr(PATHS, name, None), Path) and name != "root")

#: What WorkspacePaths names and recalld only reads, and why.
READ_ONLY = {
    "inbox": "the assistant writes what waits for a turn (docs/reference/protocol.md, 7)",
    "replaced": "0.28 and before wrote there; a forgetting deletes what has the words",
}
#: Folders in which every file belongs to what the folder is named for.
FOLDERS = ("attachments", "turns", "pieces", "quarantine", "previous", "drop_box", "vectors")


@dataclass(frozen=True)
class Life:
    """A workspace in which everything has happened once, and what recalld wrote there at any time."""

    world: World
    written: frozenset[str]

    def has(self, path: Path) -> bool:
        """Whether recalld wrote it, or something in it."""
        name = self.world.paths.relative(path)
        return any(one == name or one.startswith(f"{name}/") for one in self.written)


class RecordingDisk(FaultyDisk):
    """A disk that says which names were made on it."""

    def names_made(self, root: Path) -> set[str]:
        made = {
            path
            for call, path in self.made
            if call in {"create", "open_append", "link", "rename", "rename_new", "mkdir", "lock"}
        }
        inside = {path for path in made if path is not None and path.is_relative_to(root) and path != root}
        return {path.relative_to(root).as_posix() for path in inside if not re.fullmatch(r"\..*\.tmp", path.name)}


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    root = tmp_path_factory.mktemp("w").resolve()
    disk = RecordingDisk()
    with Server() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        patch.setattr("recalld.supervisor.protocol.config_keys.Log.rotate_bytes", 1_000)
        make_workspace(root, {})
        world = Diarist(root, at("2026-01-31T10:00"), toml_of(server), disk)
        talk_and_summaries(world)
        long_term_lines(world)
        questions(world)
        vectors_of_memory(world)
        assert not [*take_in(world.ws, world.clock, UNLIMITED)]
        damage(world)
        doors(world, tmp_path_factory.mktemp("home"))
        with (
            supervisor_lock(world.ws),
            serve_socket(world.paths.state, world.files, Answering(lambda _: {}, lambda _: None)),
            signals_as_they_were(),
        ):
            keep_language(world.ws, {})
            model_at_work(world, server)
            archived_at_once(world)
            refused_once(world)
            tree = {path.relative_to(root).as_posix() for path in root.rglob("*")}
        yield Life(world, frozenset(tree - {"inbox.json"} | disk.names_made(root)))


def toml_of(server: Server) -> str:
    llm = f'[summarize]\nleast = 0\n[llm]\nbase_url = "{server.url}"\nmodel = "qwen-test"\ncontext_tokens = 2048\n'
    return f'[archive]\n{IN_SHANGHAI}\n{llm}[[sources.take]]\npath = "../exports"\n'


# ── the life ─────────────────────────────────────────────────────────────────


def talk_and_summaries(world: World) -> None:
    """Archived, summarised by day and month, moved to originals; a summary made anew, another that fails."""
    world.events = world.ws.events = Events(world.paths.log, world.clock, world.ws.config.log)
    world.model.script = lambda *_: GOOD_SUMMARY
    world.write([message_on(day) for day in ("2025-12-03", "2026-01-10", "2026-01-30")])
    world.append({"role": "user", "text": "周五的部署取消。", "images": [base64.b64encode(PNG).decode()]})
    world.drop("phone.json", message("dropped", "2026-01-30T20:00"))
    world.settle()
    world.model.script = lambda *_: f"{GOOD_SUMMARY}\n\n- 证书也要续。"
    world.redo("2026-01-10")
    world.settle()
    world.ws.trash.prune([file.name for file in world.ws.memory.dated() if file.original][:1])
    world.model.script = lambda *_: "{}"
    world.add(message_on("2026-01-11"))
    world.settle()
    for _ in range(20):  # a log that is full is packed
        world.events.emit("archived", messages=1, files=1)
        world.forward(seconds=1)


def long_term_lines(world: World) -> None:
    """Written, deleted, and replaced as a whole; then a session becomes one. A message is no longer true."""
    world.ws.long_term.append("web-chat", "用户对花生过敏", world.clock())
    world.ws.long_term.delete_numbers([1])
    world.ws.long_term.replace("- 喜欢喝茶\n")
    world.ws.session_lines.summarize("", lambda _: "周五的部署取消", world.clock())
    write_ended(world.files, world.paths, "message", "2025-12-03-nginx", Struck("", world.clock().date()))
    line = world.ws.long_term.append("web-chat", "门锁的密码", world.clock())
    wish = {"by": "line", "value": f"{line.line}@{line.digest}", "yes": True}
    perform(forget, world.ws, wish, Caller(clock=world.clock))


def questions(world: World) -> None:
    """Asked, with a receipt; made ready for the inbox; and of every message where it is, before a backup."""
    world.ask(message("q1", "2026-01-31T10:00", "nginx 的配置在哪里？"))
    world.prepared_contexts().update()
    InboxFile(world.files, world.paths, world.ws.config, world.events).take_out({("q0", "没有这一条")})
    world.refresh()
    world.save_receipt(world.context("nginx 的配置在哪里？"))
    world.report()
    nightly_backup(world.ws, world.root.parent, 1, world.clock(), "recalld 1")


def vectors_of_memory(world: World) -> None:
    """What a model makes of the words of memory, for `recall.backend = "hybrid"`."""
    with vectors.Server() as server:
        told = f'[recall]\nbackend = "hybrid"\n[embeddings]\nbase_url = "{server.url}"\nmodel = "bge"\n'
        ws = Workspace(world.root, load(told.encode(), {}), world.files, world.events)
        assert make_vectors(ws, world.clock)[1] == ""


def damage(world: World) -> None:
    """A damaged history.json is kept and restored; what is said meanwhile goes to the drop-box."""
    world.write('[{"id": "z", "role": "user", "text": "谁也没见过的话，写到一半'.encode())
    world.round()
    world.append({"role": "user", "text": "证书下周到期。"})
    world.ws.events.attempt("index", (world.root / "gone").read_bytes, None)  # until a round can write
    world.restore()
    world.round("all")
    dated = next((world.root / "memory").glob("2026-01-30-*.md"))
    whole = dated.read_bytes()
    dated.write_bytes(whole + whole.split(b"---\n", 2)[2])  # a message twice: what a slow check finds is kept for status
    account(Look(world.ws, world.clock()))
    dated.write_bytes(whole)


def model_at_work(world: World, server: Server) -> None:
    """A worker with a model's server: a day of several pieces, and then a server that refuses."""
    world.add(message("long", "2026-01-12T09:00", "".join(SENTENCES) * 40))
    world.forward(days=1).round("all")
    world.worker(model=choose(world.ws.config, {})).run(0, lambda _: None)
    world.round("all")
    server.play(Act(status=401, message="Incorrect API key provided"))
    world.add(message_on("2026-01-13"))
    world.round("all")
    world.worker(model=choose(world.ws.config, {})).run(0, lambda _: None)
    world.round("all")


def doors(world: World, home: Path) -> None:
    """The token of the HTTP service, and a client that is connected."""
    Access(world.ws.files, world.paths).token()
    (home / ".claude").mkdir()
    command = [sys.executable, "-m", "recalld", "-w", str(world.root), "connect", "claude-code", "--yes"]
    subprocess.run(command, env={**os.environ, "HOME": str(home)}, cwd=ROOT, check=True, capture_output=True)


def archived_at_once(world: World) -> None:
    """A command asks the running supervisor to archive everything, and waits for it."""
    world.add(message_on("2026-01-14"))
    supervisor = world.supervisor()
    command = threading.Thread(target=archive_now, args=(world.ws, world.clock()))
    command.start()
    while command.is_alive():
        if world.ws.files.disk.stat(world.paths.archive_request):
            supervisor.tick(world.clock())
        command.join(0.01)


def refused_once(world: World) -> None:
    """A command was refused, and the next round looks whether the disk takes a file again."""

    def refuse() -> None:
        raise OSError(28, "No space left on device")

    world.ws.events.attempt("command", refuse, None)
    world.round("none")


# ── what is named ────────────────────────────────────────────────────────────


def in_the_table() -> list[re.Pattern[str]]:
    """The names in the table of docs/reference/protocol.md, 1, as patterns; a folder names all that is in it."""
    section = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8").partition("## 1. ")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| `")]
    names = ["history.json.lock", "prompts/"]  # of the tree above it
    for row in rows:
        before = ""
        for cell in (row[0], row[-1]):
            for name in re.findall(r"`([^`]+)`", cell):
                here = before.rstrip("/").rpartition("/")[0]
                names.append(name if "/" in name or not here else f"{here}/{name}")
                if name.endswith("/") and "/" not in name[:-1] and here:
                    names.append(f"{here}/{name}")
                before = names[-1]
    return [pattern_of(name) for name in names]


def pattern_of(name: str) -> re.Pattern[str]:
    text = re.escape(name).replace("YYYY\\-MM\\-DD", r"\d{4}-\d\d-\d\d").replace("YYYY\\-MM", r"\d{4}-\d\d")
    text = re.sub(r"<[^/]*?>|\\\*|slug", "[^/]+", text)
    return re.compile(f"{text}.*" if name.endswith("/") else text, re.DOTALL)


TABLE = in_the_table()


def is_named(name: str) -> bool:
    """Whether WorkspacePaths or the table names the file or folder, or something in this folder."""
    path = PATHS.root / name
    named = {getattr(PATHS, one) for one in PROPERTIES} | {PATHS.worker_lock(slot) for slot in range(WORKERS)}
    named |= {PATHS.worker / one for one in QUEUE_FOLDERS}
    period = period_of_name(path.name)
    return (
        any(path == one or path in one.parents for one in named)
        or any(path.parent == getattr(PATHS, one) for one in FOLDERS)
        or (period is not None and path == PATHS.summary(period))
        or path in {PATHS.original(path.name), PATHS.original(f"{path.name}-x").parent}
        or any(pattern.fullmatch(name) or pattern.fullmatch(f"{name}/") for pattern in TABLE)
    )


def test_life_writes_nothing_that_paths_or_protocol_do_not_name(life: Life) -> None:
    assert sorted(name for name in life.written if not is_named(name)) == []


@pytest.mark.parametrize("name", [name for name in PROPERTIES if name not in READ_ONLY])
def test_paths_names_only_what_a_life_writes(life: Life, name: str) -> None:
    assert life.has(getattr(life.world.paths, name))


@pytest.mark.parametrize("name", READ_ONLY)
def test_paths_of_others_are_read_and_never_written(life: Life, name: str) -> None:
    assert not life.has(getattr(life.world.paths, name))
