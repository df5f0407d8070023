"""Which module may import which, and which may write: docs/architecture.md as a table, checked against the source."""

# ruff: noqa: SIM905 - a table of words is read, not a literal of quotes
from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parent.parent

#: The packages in the order a message travels. A module imports from its own package and from earlier ones.
FLOORS: Final = (
    "supervisor.text",
    "supervisor.protocol",
    "supervisor.events",
    "supervisor.archive",
    "supervisor.summaries",
    "supervisor.query",
    "supervisor.index",
    "supervisor.recall",
    "supervisor.longterm",
    "supervisor.conversation",
    "supervisor.context",
    "supervisor.workspace",
    "supervisor.service",
    "supervisor.interfaces",
    "supervisor",
    "recalld",
)
#: What a process of its own may see of recalld.
WORKER: Final = ("supervisor.protocol", "supervisor.text", "worker", "prompts")

#: Each outside package has its home.
HOMES: Final = {
    "filelock": {"supervisor.protocol.disk"},
    "yaml": {"supervisor.protocol.frontmatter", "supervisor.interfaces.llamaindex.memory_config"},
    "llama_index": {
        f"supervisor.interfaces.llamaindex.{name}" for name in ("chat_memory", "chat_store", "memory_block", "message_json")
    },
    "jieba": {"supervisor.text.chinese"},
    "rjieba": {"supervisor.text.chinese"},
    "opencc": {"supervisor.text.chinese"},
    "pypinyin": {"supervisor.text.chinese"},
    "Stemmer": {"supervisor.text.tokenizer"},
    "regex": {"supervisor.text.snippet"},
    "tantivy": {"supervisor.index.engine"},
    "rank_bm25": {"supervisor.index.bm25"},
    "numpy": {
        "supervisor.index.bm25",
        *(f"supervisor.recall.{name}" for name in ("embeddings", "hybrid", "meaning", "vectors")),
    },
    "platformdirs": {"supervisor.text.chinese", "supervisor.interfaces.locate"},
    "watchdog": {"supervisor.service.watcher"},
    "typer": {
        f"supervisor.interfaces.cli.{name}"
        for name in ("main", "app", "admin", "backup", "completion", "long_term", "model", "service", "turn", "unit")
    },
    "rich": {"supervisor.interfaces.cli.output"},
    "openai": {"worker.providers.openai"},
    "httpx2": {"supervisor.recall.embeddings"},
    **{name: {"supervisor.interfaces.mcp"} for name in ("mcp", "mcp_types", "anyio", "pydantic")},
}

#: Rules and formats have no I/O, clock, chance or log.
PURE: Final = tuple(
    f"supervisor.{package}.{name}"
    for package, names in {
        "protocol": "attachments dated_file errors inbox lenient_json message parts period summary_file task turn",
        "archive": "alignment copies coverage flags identity plan slug",
        "summaries": "phrases quality retry schedule",
        "query": "calendar dates dates_en dates_zh intent parse unknown_words",
        "index": "chunking hit",
        "recall": "audience",
        "longterm": "lines",
        "conversation": "running sessions turns",
        "context": "history_window memory_block messages render request",
        "interfaces.tools": "anthropic_commands",
    }.items()
    for name in names.split()
)
#: What they may import: these of the standard library, each other, `text`, and three of `protocol`.
PURE_IMPORTS: Final = frozenset(
    "__future__ binascii bisect collections dataclasses datetime enum errno functools hashlib itertools json math re typing unicodedata".split()
)
PURE_MAY_IMPORT: Final = (
    *PURE,
    "supervisor.text",
    "supervisor.protocol.clock",
    "supervisor.protocol.paths",
    "supervisor.protocol.frontmatter",
)
PURE_NAMES: Final = frozenset({"open", "print", "input", "utc_now", "machine_zone"})

#: Who writes files; the folders that are made outside a workspace, the cache of jieba's dictionary and where a backup is unpacked;
#: the socket's own mode; and standard output.
WRITERS: Final = frozenset({"supervisor.protocol.files", "supervisor.protocol.disk", "supervisor.events"})
ALLOWED_WRITES: Final = {
    "supervisor.text.chinese": {"os.makedirs"},
    "supervisor.interfaces.socket_server": {"os.fchmod"},
    "supervisor.protocol.output": {"os.write"},
    "supervisor.service.backup": {"tempfile.TemporaryDirectory", "shutil.rmtree"},
}
OS_WRITES: Final = frozenset(
    "chmod chown copy_file_range fchmod fchown ftruncate link makedirs mkdir mkfifo mknod remove removedirs rename renames "
    "replace rmdir symlink truncate unlink utime write".split()
)
METHODS: Final = frozenset(
    "chmod hardlink_to mkdir rename rmdir symlink_to touch unlink write_bytes write_text writelines".split()
)
#: The one reader of the wall clock.
#: The second makes the time of a message that a supervisor is asked to add, before anything is loaded.
CLOCKS: Final = ("supervisor.protocol.clock", "supervisor.interfaces.entry")


class Fault(NamedTuple):
    """One line that breaks the table."""

    module: str
    line: int
    why: str


def _floor_of(module: str) -> int | None:
    return next((n for n, floor in enumerate(FLOORS) if _within(module, (floor,))), None)


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
    """Imports from later packages, from elsewhere than an outside package's home, and into the worker."""
    found = []
    own = _floor_of(module)
    if (own is None or (module.count(".") == 1 and _floor_of(module) == FLOORS.index("supervisor"))) and not _within(
        module, ("worker", "prompts")
    ):
        found.append(Fault(module, 1, "is in no package of FLOORS"))
    for line, name in _imports(ast.parse(source)):
        top = name.partition(".")[0]
        if top in ("recalld", "supervisor", "worker", "prompts"):
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
        return f"imports {name}, which is in no package of FLOORS"
    if theirs > own:
        return f"imports {name}, which comes later than its own package"
    if _within(module, PURE) and not _within(name, PURE_MAY_IMPORT):
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
        if (
            module not in CLOCKS
            and called.endswith((".now", ".utcnow", ".today", "time.time", "time_ns"))
            and _is_clock(called)
        ):
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
    paths = [path for package in ("recalld", "supervisor", "worker", "prompts") for path in (ROOT / package).rglob("*.py")]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    return {name: path.read_text(encoding="utf-8") for path, name in sorted(names.items(), key=lambda item: item[1])}


def test_imports_follow_the_floors_and_the_homes_of_third_party_packages():
    assert [fault for module, source in _sources().items() for fault in import_faults(module, source)] == []


def test_writes_and_clock_reads_happen_only_in_the_allowed_modules():
    assert [fault for module, source in _sources().items() for fault in call_faults(module, source)] == []


def test_imports_form_no_cycle():
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


def test_floor_tables_name_only_existing_modules():
    named = [*FLOORS, *PURE, *PURE_MAY_IMPORT, *WRITERS, *CLOCKS, *ALLOWED_WRITES]
    assert [name for name in (*named, *(home for homes in HOMES.values() for home in homes)) if not _is_module(name)] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("supervisor.protocol.period", "from supervisor.protocol.files import Files"),
        ("supervisor.protocol.period", "import os"),
        ("supervisor.protocol.period", "import random"),
        ("supervisor.protocol.period", "import logging"),
        ("supervisor.protocol.period", "from pathlib import Path"),
        ("supervisor.archive.plan", "from supervisor.archive import history"),
        ("supervisor.protocol.files", "from supervisor.archive.plan import due"),
        ("supervisor.protocol.message", "import time"),
        ("supervisor.text.tokenizer", "from supervisor.protocol.files import Files"),
        ("supervisor.archive.run", "from supervisor.summaries.submit import submit_due"),
        ("supervisor.recall.search", "from supervisor.context import build"),
        ("supervisor.archive.run", "def f():\n    from supervisor.service.daemon import Supervisor"),
        ("supervisor.service.daemon", "import worker.loop"),
        ("supervisor.service.daemon", "import watchdog"),
        ("supervisor.archive.run", "import yaml"),
        ("supervisor.archive.run", "from filelock import FileLock"),
        ("worker.loop", "from supervisor.archive.history import HistoryStore"),
        ("worker.loop", "from supervisor import archive"),
        ("supervisor.utils", ""),
    ],
)
def test_import_faults_reports_a_forbidden_import(module, source):
    assert import_faults(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("supervisor.archive.run", "open('memory/2026-01-28-部署.md', 'w')"),
        ("supervisor.archive.run", "open(path, mode='ab')"),
        ("supervisor.archive.run", "path.open('x')"),
        ("supervisor.archive.run", "path.write_text('摘要')"),
        ("supervisor.archive.run", "path.write_bytes(b'')"),
        ("supervisor.archive.run", "os.rename(a, b)"),
        ("supervisor.archive.run", "os.open(path, os.O_WRONLY)"),
        ("supervisor.archive.run", "path.unlink()"),
        ("worker.loop", "shutil.rmtree(folder)"),
        ("supervisor.archive.run", "now = datetime.now(UTC)"),
        ("supervisor.archive.run", "time.time()"),
        ("supervisor.protocol.period", "date.today()"),
        ("supervisor.protocol.period", "print('你好')"),
    ],
)
def test_call_faults_reports_a_forbidden_write_or_clock_read(module, source):
    assert call_faults(module, source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "supervisor.archive.run",
            "import os\nfrom supervisor.protocol.files import Files\nfrom supervisor.archive.intake import unwritten",
        ),
        ("supervisor.protocol.period", "if TYPE_CHECKING:\n    from pathlib import Path"),
        (
            "supervisor.archive.run",
            "open(path, 'rb')\nos.open(os.devnull, os.O_WRONLY)\nself._files.disk.touch(path)\n'a'.replace('a', '文')",
        ),
        ("worker.loop", "from supervisor.text.tokenizer import stem\nfrom worker.summarize import summarise"),
    ],
)
def test_import_faults_and_call_faults_accept_allowed_code(module, source):
    assert import_faults(module, source) + call_faults(module, source) == []
