"""
Who may import whom, and who may write: docs/architecture.md as a table, held against the source.

A new module is put on its floor here first; one that stands on none fails.
"""

# ruff: noqa: SIM905 - a table of words is read, not a literal of quotes
from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parent.parent

#: The floors from the ground up. A module imports from lower ones, and from its own unless that is in APART.
FLOORS: Final = (
    ("supervisor.text",),
    ("supervisor.protocol",),
    ("supervisor.policy",),
    ("supervisor.deadline",),
    (
        *("supervisor.canaries", "supervisor.events", "supervisor.history", "supervisor.memory"),
        *("supervisor.quarantine", "supervisor.receipts", "supervisor.seen"),
    ),
    ("supervisor.index", "supervisor.backends"),
    ("supervisor.workspace",),
    (
        *("supervisor.append", "supervisor.archive", "supervisor.dropbox", "supervisor.fsck", "supervisor.harvest"),
        "supervisor.intake",
        *("supervisor.inject", "supervisor.lookup", "supervisor.why"),
        *(
            "supervisor.model",
            "supervisor.recover",
            "supervisor.redo",
            "supervisor.repair",
            "supervisor.report",
            "supervisor.rollup",
        ),
        *("supervisor.learning", "supervisor.probe", "supervisor.ready", "supervisor.recall", "supervisor.round"),
    ),
    (
        *("supervisor.alone", "supervisor.beside", "supervisor.daemon", "supervisor.keeper", "supervisor.looking"),
        *("supervisor.oneshot", "supervisor.watching", "supervisor.workers"),
    ),
    ("supervisor.adapters",),
)
#: The stores never import each other; words (on the ground beside the protocol) and files know nothing of each other.
APART: Final = frozenset({FLOORS[4]})
KNOW_NOTHING: Final = {"supervisor.protocol": "supervisor.text"}
#: What a process of its own may see of recalld.
WORKER: Final = ("supervisor.protocol", "supervisor.text", "worker", "prompts")

#: Each outside package has its home.
HOMES: Final = {
    "filelock": {"supervisor.protocol.disk"},
    "yaml": {"supervisor.protocol.frontmatter"},
    "jieba": {"supervisor.text.chinese"},
    "rjieba": {"supervisor.text.chinese"},
    "opencc": {"supervisor.text.chinese"},
    "Stemmer": {"supervisor.text.words"},
    "tantivy": {"supervisor.index.engine"},
    "rank_bm25": {"supervisor.index.bm25"},
    "numpy": {"supervisor.index.bm25", "supervisor.backends.embeddings", "supervisor.backends.hybrid"},
    "platformdirs": {"supervisor.text.chinese", "supervisor.adapters.where", "supervisor.backends.backend"},
    "watchdog": {"supervisor.watching"},
    "typer": {f"supervisor.adapters.{name}" for name in ("cli", "opening", "exits", "turn", "care", "keeping")},
    "rich": {"supervisor.adapters.progress"},
    "openai": {"worker.providers.openai"},
    "httpx2": {"supervisor.backends.embeddings"},
}

#: Rules and formats have no I/O, clock, chance or log: what they may import, and what of floor 0 the rules may see.
PURE: Final = (
    "supervisor.policy",
    *(f"supervisor.protocol.{n}" for n in "dated errors inbox json_text message period summary task turn".split()),
)
PURE_IMPORTS: Final = frozenset(
    "__future__ bisect collections dataclasses datetime enum errno functools hashlib itertools json math re typing unicodedata".split()
)
PURE_FLOOR_0: Final = (*PURE, "supervisor.protocol.clock", "supervisor.protocol.layout", "supervisor.protocol.frontmatter")
PURE_NAMES: Final = frozenset({"open", "print", "input", "utc_now", "machine_zone"})

#: Who writes files; the one folder that is made outside a workspace, the cache of jieba's dictionary; and the socket's own mode.
WRITERS: Final = frozenset({"supervisor.protocol.files", "supervisor.protocol.disk", "supervisor.events"})
ALLOWED_WRITES: Final = {"supervisor.text.chinese": {"os.makedirs"}, "supervisor.adapters.door": {"os.fchmod"}}
OS_WRITES: Final = frozenset(
    "chmod chown copy_file_range fchmod fchown ftruncate link makedirs mkdir mkfifo mknod remove removedirs rename renames "
    "replace rmdir symlink truncate unlink utime write".split()
)
METHODS: Final = frozenset(
    "chmod hardlink_to mkdir rename rmdir symlink_to touch unlink write_bytes write_text writelines".split()
)
#: The one reader of the wall clock.
CLOCK: Final = "supervisor.protocol.clock"


class Fault(NamedTuple):
    """One line that breaks the table."""

    module: str
    line: int
    why: str


def _floor_of(module: str) -> int | None:
    return next((n for n, floor in enumerate(FLOORS) for name in floor if _within(module, (name,))), None)


def _within(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _imports(tree: ast.AST) -> list[tuple[int, str]]:
    """Every imported module with its line; of `from package import name` the name too, which may be a module."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide where a module stands"
            name = node.module or ""
            below = [f"{name}.{alias.name}" for alias in node.names if _is_module(f"{name}.{alias.name}")]
            found += [(node.lineno, module) for module in below or [name]]
    return found


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def import_faults(module: str, source: str) -> list[Fault]:
    """Imports from higher floors, between stores, from elsewhere than a package's home, and into the worker."""
    found = []
    own = len(FLOORS) if module == "supervisor" else _floor_of(module)  # the package's door stands above all
    if own is None and not _within(module, ("worker", "prompts")):
        found.append(Fault(module, 1, "stands on no floor; put it into FLOORS"))
    for line, name in _imports(ast.parse(source)):
        top = name.partition(".")[0]
        if top in ("supervisor", "worker", "prompts"):
            why = _inner_fault(module, own, name)
        elif top in sys.stdlib_module_names or top == "_typeshed":
            pure = not _within(module, PURE) or top in PURE_IMPORTS or (top == "pathlib" and _is_for_types(source, line))
            why = "" if pure else f"is a rule and imports {name}"
        else:
            why = "" if module in HOMES.get(top, set()) else f"is not the home of {top}"
        if why:
            found.append(Fault(module, line, why))
    return found


def _inner_fault(module: str, own: int | None, name: str) -> str:
    if _within(module, ("worker",)):
        return "" if _within(name, WORKER) else f"is the worker's and imports {name}"
    theirs = _floor_of(name)
    if own is None or theirs is None:
        return f"imports {name}, which stands on no floor"
    if theirs > own or (theirs == own and FLOORS[own] in APART and name != module):
        return f"imports {name} from floor {theirs}, itself on {own}"
    if any(_within(module, (one,)) and _within(name, (other,)) for one, other in KNOW_NOTHING.items()):
        return f"knows nothing of {name}"
    if _within(module, ("supervisor.policy",)) and _within(name, ("supervisor.protocol",)) and name not in PURE_FLOOR_0:
        return f"is a rule and imports {name}"
    return ""


def _is_for_types(source: str, line: int) -> bool:
    """Whether the import stands under TYPE_CHECKING."""
    blocks = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return any(block.lineno < line <= (block.end_lineno or 0) for block in blocks)


def call_faults(module: str, source: str) -> list[Fault]:
    """Calls that write files, or read the clock, outside the modules that do so for all."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if module not in WRITERS and _writes(node, called) and called not in ALLOWED_WRITES.get(module, ()):
            found.append(Fault(module, node.lineno, f"writes by itself: {called}"))
        if module != CLOCK and called.endswith((".now", ".utcnow", ".today", "time.time", "time_ns")) and _is_clock(called):
            found.append(Fault(module, node.lineno, f"reads the clock: {called}"))
        if _within(module, PURE) and called in PURE_NAMES:
            found.append(Fault(module, node.lineno, f"is a rule and calls {called}"))
    return found


def _writes(node: ast.Call, called: str) -> bool:
    owner, _, method = called.rpartition(".")
    if owner in ("shutil", "tempfile"):
        return True
    if owner == "os":
        return method in OS_WRITES or (method == "open" and ast.unparse(node.args[0]) != "os.devnull")
    if method == "open":
        modes = [*node.args[0 if owner else 1 :], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        return any(
            isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) & set("wax+") for mode in modes
        )
    # `disk` is the interface that the writers and the spool go through
    return method in METHODS and owner.rpartition(".")[2] != "disk"


def _is_clock(called: str) -> bool:
    return called.rpartition(".")[0] in ("datetime", "datetime.datetime", "date", "datetime.date", "time")


def _sources() -> dict[str, str]:
    paths = [path for package in ("supervisor", "worker", "prompts") for path in (ROOT / package).rglob("*.py")]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return {name: path.read_text(encoding="utf-8") for path, name in sorted(names.items(), key=lambda item: item[1])}


def test_every_module_imports_only_from_lower_floors_and_outside_packages_have_one_home():
    assert [fault for module, source in _sources().items() for fault in import_faults(module, source)] == []


def test_only_the_file_layer_and_the_log_write_and_only_the_clock_reads_the_time():
    assert [fault for module, source in _sources().items() for fault in call_faults(module, source)] == []


def test_no_two_modules_import_each_other():
    graph = {module: {name for _, name in _imports(ast.parse(source))} for module, source in _sources().items()}
    seen: dict[str, bool] = {}

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join((*path, module))
        if module in graph and module not in seen:
            for name in graph[module]:
                visit(name, (*path, module))
            seen[module] = True

    for module in graph:
        visit(module, ())


def test_every_name_in_the_table_is_a_module():
    named = [*(name for floor in FLOORS for name in floor), *PURE, *PURE_FLOOR_0, *WRITERS, CLOCK, *ALLOWED_WRITES]
    assert [name for name in (*named, *(home for homes in HOMES.values() for home in homes)) if not _is_module(name)] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("supervisor.policy.age", "from supervisor.protocol.files import Files"),
        ("supervisor.policy.age", "import os"),
        ("supervisor.policy.age", "import random"),
        ("supervisor.policy.age", "import logging"),
        ("supervisor.policy.age", "from pathlib import Path"),
        ("supervisor.policy.age", "from supervisor import history"),
        ("supervisor.protocol.files", "from supervisor.policy.age import home"),
        ("supervisor.protocol.message", "import time"),
        ("supervisor.text.words", "from supervisor.protocol.files import Files"),
        ("supervisor.protocol.layout", "from supervisor.text import words"),
        ("supervisor.history", "from supervisor.memory import MemoryStore"),
        ("supervisor.memory", "from supervisor.archive import archive"),
        ("supervisor.archive", "def f():\n    from supervisor.daemon import Supervisor"),
        ("supervisor.daemon", "import worker.loop"),
        ("supervisor.daemon", "import watchdog"),
        ("supervisor.archive", "import yaml"),
        ("supervisor.archive", "from filelock import FileLock"),
        ("worker.loop", "from supervisor.history import HistoryStore"),
        ("worker.loop", "from supervisor import policy"),
        ("supervisor.utils", ""),
    ],
)
def test_a_broken_floor_is_found(module, source):
    assert import_faults(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("supervisor.archive", "open('memory/2026-01-28-部署.md', 'w')"),
        ("supervisor.archive", "open(path, mode='ab')"),
        ("supervisor.archive", "path.open('x')"),
        ("supervisor.archive", "path.write_text('摘要')"),
        ("supervisor.archive", "path.write_bytes(b'')"),
        ("supervisor.archive", "os.rename(a, b)"),
        ("supervisor.archive", "os.open(path, os.O_WRONLY)"),
        ("supervisor.archive", "path.unlink()"),
        ("worker.loop", "shutil.rmtree(folder)"),
        ("supervisor.archive", "now = datetime.now(UTC)"),
        ("supervisor.archive", "time.time()"),
        ("supervisor.policy.age", "date.today()"),
        ("supervisor.policy.age", "print('你好')"),
    ],
)
def test_a_write_or_a_look_at_the_clock_in_the_wrong_place_is_found(module, source):
    assert call_faults(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "supervisor.archive",
            "import os\nfrom supervisor.protocol.files import Files\nfrom supervisor.intake import unwritten",
        ),
        ("supervisor.policy.age", "if TYPE_CHECKING:\n    from pathlib import Path"),
        (
            "supervisor.archive",
            "open(path, 'rb')\nos.open(os.devnull, os.O_WRONLY)\nself._files.disk.touch(path)\n'a'.replace('a', '文')",
        ),
        ("worker.loop", "from supervisor.text.words import stem\nfrom worker.summarise import summarise"),
    ],
)
def test_what_is_allowed_is_let_through(module, source):
    assert import_faults(module, source) + call_faults(module, source) == []
