"""Random sequences of commands, our tool over a new workspace, and what it does differently from the SDK's, with the reason."""

import re
from pathlib import Path
from random import Random
from typing import Any, Final

from recalld import Memory
from recalld.supervisor.interfaces.tools.anthropic_memory import AnthropicMemory
from recalld.supervisor.interfaces.tools.registry import Reply
from recalld.supervisor.protocol.config import load
from recalld.supervisor.storage.files import Files
from recalld.supervisor.workspace import Workspace
from tests.world import Clock, EventList, UnsyncedDisk, at

#: What we refuse and the SDK does, by the path of the command, with the reason.
DIFFERENT: Final = {
    "/memories/notes.txt": "only .md files are searched, so that nothing is saved where no search finds it",
    "/memories/history.json": "only .md files are searched, so that nothing is saved where no search finds it",
    "/memories/.hidden.md": "hidden and unfinished names are never read",
    "/memories/a.md~": "hidden and unfinished names are never read",
    "/memories/%2e%2e/a.md": "an encoded path is nobody's name for a file",
    "/memories/a.md/b.md": "a folder is not named like a file; the SDK raises an error of the system here",
    "/memories/box.md/b.md": "a folder is not named like a file",
    "/memories/projects/../a.md": "a path with .. is refused wherever it leads",
    "/memoriesX.md": "the SDK takes any path that begins with the root's letters, and makes a file X.md",
    "/memories/2026-01-28-deploy.md": "dated files are recalld's own",
    "/memories/summary/2026-01-15.md": "summaries are recalld's own",
    "/memories/originals/2026-01/2026-01-15-x.md": "originals are recalld's own",
}
#: What both refuse, in the same words.
REFUSED: Final = ("/etc/passwd", "/memories/../a.md", "memories/a.md", "../../a.md", "")
FILES: Final = (
    "memory.md",
    "a.md",
    "b.md",
    "projects/plan.md",
    "projects/deep/x.md",
    "项目/计划.md",
    "projects/deep/down/y.md",
)
FOLDERS: Final = ("", "/", "/projects", "/projects/deep", "/项目", "/nothing")
#: Lines and parts of lines, few enough that they meet.
WORDS: Final = ("花生", "花生过敏", "a", "aa", "aaa", "备份在 NAS 上", "\n", "\n\n", "一\n二\n三\n", "x\r\ny\r\n", " ", "")
#: The size of a folder is the disk's own.
_FOLDER: Final = re.compile(r"^[\d.]+[BKMG]\t(?=/memories(?:/|$|(?:/[^/\n]+)*/$))(?!.*\.md$)", re.MULTILINE)


def sequence(seed: int, length: int = 18) -> list[dict[str, Any]]:
    """Return the commands of this seed."""
    random = Random(seed)
    return [_command(random) for _ in range(length)]


def _command(random: Random) -> dict[str, Any]:
    name = random.choices(("create", "view", "str_replace", "insert", "delete", "rename"), (6, 4, 4, 4, 2, 3))[0]
    if name == "rename":
        path = random.choice((_path, _path, _folder))  # a folder gets the name of a folder, a file that of a file
        return {"command": name, "old_path": path(random), "new_path": path(random)}
    path = _path if name == "create" or random.random() < 0.9 else _folder
    command: dict[str, Any] = {"command": name, "path": path(random)}
    match name:
        case "view" if random.random() < 0.5:
            command["view_range"] = [random.randint(-2, 6), random.choice((-1, 1, 2, 5, 99))]
        case "create":
            command["file_text"] = _text(random)
        case "str_replace":
            command |= {"old_str": random.choice(WORDS), "new_str": _text(random)}
        case "insert":
            command |= {"insert_line": random.choice((0, 0, 1, 2, 5, -1, 99)), "insert_text": _text(random)}
    return command


def _path(random: Random) -> str:
    if random.random() < 0.1:
        return random.choice((*DIFFERENT, *REFUSED))
    return f"/memories{random.choice(('/', '/', '/', '//'))}{random.choice(FILES)}{random.choice(('', '', '', '/'))}"


def _folder(random: Random) -> str:
    return f"/memories{random.choice(FOLDERS)}"


def _text(random: Random) -> str:
    return "".join(random.choices(WORDS, k=random.randint(0, 6)))


def ours(root: Path) -> AnthropicMemory:
    """Our tool over a new workspace."""
    clock = Clock(at("2026-01-31T10:00"))
    workspace = Workspace(root, load(b"", {}), Files(UnsyncedDisk()), EventList(clock))
    return AnthropicMemory(Memory(workspace, clock=clock))


def files_in(root: Path) -> dict[str, bytes]:
    """The files of memory in a workspace, by the path that the model has for them."""
    found = {path.relative_to(root / "memory").as_posix(): path for path in (root / "memory").rglob("*") if path.is_file()}
    if (root / "memory.md").exists():
        found["memory.md"] = root / "memory.md"
    return {name: path.read_bytes() for name, path in sorted(found.items())}


def why_different(command: dict[str, Any]) -> str:
    """Return why we refuse what the SDK does, "" where both do the same."""
    paths = [str(command.get(key, "")) for key in ("path", "old_path", "new_path")]
    return next((DIFFERENT[path] for path in paths if path in DIFFERENT), "")


def comparable(answer: Reply) -> tuple[str, bool]:
    """Return the answer without what is of the disk alone."""
    return _FOLDER.sub("–\t", answer.text), answer.is_error
