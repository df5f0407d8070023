"""
What hooks and turns wait for: the modules that a command loads, with a supervisor running and without one.

Not by time, which is the machine's: a module that is not loaded costs nothing anywhere. The times stand in docs/explanation/benchmarks.md.
"""

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.patience import PATIENCE_S
from tests.process.command import Command, ended, until

pytestmark = pytest.mark.proof

#: Loaded for a lock, for Chinese, for a model, for a terminal, for watching files: none of it for an English question.
HEAVY = {
    "filelock",
    "starlette",
    "uvicorn",
    "jinja2",
    "tempfile",
    "jieba",
    "opencc",
    "openai",
    "httpx",
    "httpx2",
    "watchdog",
    "rich",
    "pytest",
    "asyncio",
    "unittest",
}
#: What the standard library has that is dearer than it looks.
DEAR = {"typing", "dataclasses", "pathlib", "inspect", "subprocess", "logging", "datetime", "tomllib", "zoneinfo", "hashlib"}


#: The command, in place of `-m recalld`, with the patience for a supervisor on a busy machine.
PATIENT = f"""
import sys
from recalld.supervisor.interfaces import entry, locate
locate.ask_supervisor.__defaults__ = ({PATIENCE_S},)
del sys.argv[1:3]
entry.main()
"""


def loaded(*words: str, command: Command, front: bool = True, options: Sequence[str] = ()) -> set[str]:
    """The modules that the command loads, beyond those that the bare interpreter loads here."""
    if front:
        done = ended(command.start("-w", str(command.root), *words, options=["-X", "importtime", *options]))
        assert done.code == 0, done.err
        assert done.out
        lines = done.err
    else:
        bare = [sys.executable, "-X", "importtime", "-c", "pass"]
        lines = subprocess.run(bare, check=True, capture_output=True, text=True, env=command.environ).stderr
    return {line.rpartition("|")[2].strip() for line in lines.splitlines() if line.startswith("import time:")}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    made = Command(tmp_path_factory.mktemp("imports") / "workspace", RECALLD_NOW="2026-01-31T10:00:00+08:00")
    made("init")
    (made.root / "memory").mkdir(exist_ok=True)
    (made.root / "memory" / "allergy.md").write_text(
        "我对花生过敏。\n\nNo peanut butter on my toast, please.\n", encoding="utf-8"
    )
    made("index", "rebuild")
    return made


ANSWERED = {
    "inject in English": ("inject", "--query", "peanut butter"),
    "inject in Chinese": ("inject", "--query", "花生 过敏"),
    "search": ("search", "peanut"),
    "context": ("context", "--query", "peanut butter"),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_entry_with_a_supervisor_imports_two_modules_and_no_dependency(command, name):
    bare = loaded(command=command, front=False)
    with command.supervised():
        found = loaded(*ANSWERED[name], command=command, options=["-c", PATIENT]) - bare

    assert {name for name in found if name.startswith("recalld")} == {
        "recalld",
        "recalld.supervisor",
        "recalld.supervisor.interfaces",
        "recalld.supervisor.interfaces.entry",
        "recalld.supervisor.interfaces.locate",
    }
    outside = {name.partition(".")[0] for name in found} - set(sys.stdlib_module_names) - {"recalld"}
    assert outside == set()
    assert found & DEAR == set()


def test_inject_in_english_imports_nothing_for_chinese_llm_or_terminal(command):
    found = loaded("inject", "--query", "peanut butter", command=command)

    assert {name.partition(".")[0] for name in found} & HEAVY == set()
    conversation = {name for name in found if name.startswith(("recalld.supervisor.conversation.", "subprocess"))}
    assert conversation == {"recalld.supervisor.conversation.groups"}  # whose chat it is


def test_inject_in_chinese_imports_no_heavy_module_but_opencc(command):
    tops = {name.partition(".")[0] for name in loaded("inject", "--query", "花生 过敏", command=command)}

    assert tops & HEAVY == {"opencc"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_load_no_store(command, option):
    found = loaded(option, command=command)

    assert {name for name in found if name.startswith("recalld.supervisor.")} & {
        "recalld.supervisor.workspace",
        "recalld.supervisor.archive.journal",
        "recalld.supervisor.index.index",
    } == set()


def test_supervisor_by_words_alone_loads_no_numpy(tmp_path):
    command = Command.made(tmp_path / "workspace", RECALLD_RECALL_BACKEND="bm25")
    command("write", "我对花生过敏。")
    with command.supervised(options=["-X", "importtime"]) as process:
        until(lambda: [*(command.root / ".recalld").rglob("*.store")], process)
        process.terminate()
        said = ended(process).err
    loaded_here = {line.rpartition("|")[2].strip().partition(".")[0] for line in said.splitlines() if "import time:" in line}
    assert {"tantivy", "opencc"} <= loaded_here
    assert loaded_here.isdisjoint({"numpy", "pydantic", "starlette", "uvicorn"})
