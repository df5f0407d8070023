"""
The examples of README, tutorial and how-tos are run: each command and each program, top down, and what they print is compared.

In these pages a `console` block has commands after `$ ` and what they print; `…` in a line of its own is any number of lines. A `python`,
`bash` or `javascript` block is run as it is, and a `text` block after it is what it prints; `javascript` only where node is. A
model's server of tests/llm is where the pages have Ollama's. An `sh` block of a how-to has commands whose output is of no interest,
and that succeed; those with services of systemd or with root are run by tests/booted/test_pages.py, on a booted machine.
`pytest tests/test_examples.py --update-golden` writes into the pages what was printed; read the difference.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.llm.server import Act, Server
from tests.loopback import free_port

pytestmark = pytest.mark.proof

ROOT: Final = Path(__file__).parent.parent
LANGUAGES: Final = {"en": "", "zh": ".zh-CN"}
HOW_TOS: Final = (
    *("run-as-a-service", "use-a-model", "use-from-your-assistant", "back-up-your-memory"),
    *("keep-a-long-conversation", "when-something-is-wrong", "connect-an-agent", "import-what-you-have", "run-in-a-container"),
    *("see-what-it-remembers", "forget", "install", "several-machines"),
    "a-pool-of-workers",  # its commands are run with a Redis, by tests/pool/test_how_to.py
)
#: What differs from run to run, and a word for it. The home folder of the pages is /home/me.
VOLATILE: Final = (
    (r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "ID"),
    (r"\bmem-01[0-9a-z]{6}\b", "SLUG"),
    (r"\b\d{8}T\d{9}Z-[0-9a-f]{12}\b", "TURN"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z?", "TIME"),
    (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
    (r"\b\d{4}-\d\d\b", "MONTH"),
    (r"\b\d\d:\d\d\b", "MINUTE"),
    (r"^- \d\d-\d\d\b", "- DAY"),
    (r"\([A-Z][a-z]+day\)|（周.）", "(DAY)"),
    (r"\b\d+( of | / )(?=\d+ tokens?\b)", r"NUMBER\1"),  # a date is long or short
    (r"\b[A-Z][a-z]+day, \d+ [A-Z][a-z]+ \d{4}\b|\d{4}年\d+月\d+日星期.", "DATE"),
    (r"\b[0-9a-f]{12,16}\b", "DIGEST"),
    (r"\b\d+\.\d+\b", "NUMBER"),
    (r'("ms":|^bytes|^字节) +\d+', r"\1 NUMBER"),
)
#: How a program of a page is run, by the kind of its block.
PROGRAMS: Final = {"python": (sys.executable, "-P", "-c"), "bash": ("bash", "-c"), "javascript": ("node", "-e")}
#: Commands that need a machine with systemd or docker, or go on until they are ended, and programs that not every machine has.
BOOTED: Final = re.compile(r"^(?:docker|sudo|systemctl|recalld (?:-w \S+ )?(?:demo|service))\b", re.MULTILINE)
PACKAGES: Final = ("git", "restic")
#: The address of the model's server in the pages.
OLLAMA: Final = "http://127.0.0.1:11434/v1"
#: The port of the service in the pages.
PORT: Final = "8377"


class Block(NamedTuple):
    """A fenced block of a page: where it begins and ends in the text, its kind, what is in it."""

    start: int
    end: int
    kind: str
    text: str


def blocks(page: str) -> list[Block]:
    """The fenced blocks of the page, in their order."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [Block(match.start(2), match.end(2), match[1], match[2]) for match in found]


def shell_blocks(path: Path) -> list[str]:
    """The `sh` blocks of the page at *path*, in their order."""
    return [block.text for block in blocks(path.read_text(encoding="utf-8")) if block.kind == "sh"]


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what the page says that it prints."""
    first, *others = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert first == "", "a console block begins with a command"
    return [(command, printed) for command, _, printed in (other.partition("\n") for other in others)]


class Shell:
    """
    Runs examples as a reader would who has just installed recalld.

    *home* is their home folder, *ending* that of the pages in their language, *model* the address of their server. Where a page has
    port 8377, it is one that is free here.
    """

    def __init__(self, home: Path, ending: str, model: str = OLLAMA) -> None:
        self.home, self.model = home, model
        self.port = str(free_port())
        bin_folder = home / "bin"
        if not bin_folder.exists():
            bin_folder.mkdir(parents=True)
            command = bin_folder / "recalld"
            command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m recalld "$@"\n', encoding="utf-8")
            command.chmod(0o755)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("RECALLD_", "PYTHON", "LC_"))}
        self.environ = kept | {
            "HOME": str(home),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "TZ": "Asia/Shanghai",
            "LANG": "C.UTF-8",
            "LC_MESSAGES": "zh_CN.UTF-8" if ending else "C.UTF-8",
            "NO_PROXY": "127.0.0.1",
            "PYTHONUNBUFFERED": "1",  # both outputs in the order of a terminal
            "RECALLD_RECALL_TIMEOUT_MS": "60000",  # a busy machine finds the same
        }

    def run(self, *words: str) -> str:
        """What the command prints, on both outputs."""
        return self.ended(*words).stdout.replace(str(self.home), "/home/me")

    def ended(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The command after its end, with both of its outputs as one."""
        done = subprocess.run(
            [word.replace(OLLAMA, self.model).replace(PORT, self.port) for word in words],
            cwd=self.home,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stdout, done.stdout
        return done


def steady(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, word in VOLATILE:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def agrees(said: str, printed: str) -> bool:
    """Whether the page says what was printed."""
    pattern = "".join("(?:.*\n)*?" if line == "…\n" else re.escape(line) for line in steady(said).splitlines(keepends=True))
    return re.fullmatch(pattern, steady(printed)) is not None


def follow(path: Path, shell: Shell, *, update: bool) -> None:
    """Run the examples of the page and compare what they print, or write it into the page."""
    page = path.read_text(encoding="utf-8")
    known, wrong, edits = blocks(page), [], []
    for block, after in zip(known, [*known[1:], None], strict=True):
        if block.kind == "console":
            made = ""
            for command, said in commands(block.text):
                printed = shell.run("bash", "-c", command)
                if not agrees(said, printed):
                    wrong.append((command, said, printed))
                # an update writes all anew, so that a page tells one run: ids and days of a line are those of the next
                made += f"$ {command}\n{said if '…' in said.splitlines() and agrees(said, printed) else printed}"
            edits.append((block, made))
        elif block.kind in PROGRAMS and shutil.which(PROGRAMS[block.kind][0]):
            printed = shell.run(*PROGRAMS[block.kind], block.text)
            said = after.text if after and after.kind == "text" else ""
            if not agrees(said, printed):
                wrong.append((block.text, said, printed))
                if after and after.kind == "text":
                    edits.append((after, printed))
    if update:
        for block, made in reversed(edits):
            page = page[: block.start] + made + page[block.end :]
        path.write_text(page, encoding="utf-8")
    else:
        assert wrong == []


@pytest.fixture
def model():
    """The address of a model's server that knows one answer, and sums it up, in two languages."""

    def script(_number, prompt):
        if "新摘要：" in prompt or "New summary:" in prompt:
            return Act("用户说自己过敏，是对青霉素。" if "过敏" in prompt else "The user is allergic, to penicillin.")
        return Act("青霉素。" if "过敏" in prompt else "Penicillin.")

    with Server() as server:
        server.script = script
        yield server.url


@pytest.fixture(scope="module", params=LANGUAGES.values(), ids=LANGUAGES.keys())
def taught(request, made_once):
    """The language's ending, and the home folder after the tutorial of that language, whose examples are compared."""
    ending, update = request.param, request.config.getoption("--update-golden")
    page = ROOT / f"docs/tutorial/first-memory{ending}.md"
    return ending, made_once(f"home{ending}", lambda home: follow(page, Shell(home, ending), update=update))


@pytest.mark.parametrize("ending", LANGUAGES.values(), ids=LANGUAGES.keys())
def test_readme_examples_print_what_the_page_says(ending, tmp_path, request):
    follow(ROOT / f"README{ending}.md", Shell(tmp_path, ending), update=request.config.getoption("--update-golden"))


@pytest.mark.parametrize("name", HOW_TOS)
def test_tutorial_and_how_to_examples_print_what_the_pages_say(taught, name, model, tmp_path, request):
    ending, home = taught
    shutil.copytree(home / "memory", tmp_path / "memory")
    update = request.config.getoption("--update-golden")
    follow(ROOT / f"docs/how-to/{name}{ending}.md", Shell(tmp_path, ending, model), update=update)


def test_how_to_shell_blocks_succeed(taught, tmp_path):
    ending, home = taught
    pages = [ROOT / f"docs/how-to/{name}{ending}.md" for name in HOW_TOS if name != "install"]  # tests/installed runs that
    run_here = [block for page in pages for block in shell_blocks(page) if not BOOTED.search(block)]
    assert run_here
    shutil.copytree(home / "memory", tmp_path / "memory")
    shell = Shell(tmp_path, ending)
    shell.environ |= {f"GIT_{who}_{what}": "me" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    missing = set()
    for block in run_here:
        if lacking := {name for name in PACKAGES if re.search(rf"^{name} ", block, re.MULTILINE) and not shutil.which(name)}:
            missing |= lacking
            continue
        done = shell.ended("bash", "-euo", "pipefail", "-c", block)
        assert done.returncode == 0, (block, done.stdout)
    if missing:
        pytest.skip(f"not run without {', '.join(sorted(missing))}: apt-get install {' '.join(sorted(missing))}")


def test_every_how_to_page_is_run_and_exists_in_both_languages():
    pages = {path.name for path in (ROOT / "docs/how-to").glob("*.md")}
    assert pages == {f"{name}{ending}.md" for name in HOW_TOS for ending in LANGUAGES.values()}


@pytest.mark.parametrize("name", ["docs/tutorial/first-memory", *(f"docs/how-to/{name}" for name in HOW_TOS)])
def test_both_languages_of_a_page_show_the_same_commands(name):
    shown = []
    for ending in LANGUAGES.values():
        page = (ROOT / f"{name}{ending}.md").read_text(encoding="utf-8")
        of_page = [command for block in blocks(page) if block.kind == "console" for command, _ in commands(block.text)]
        plain = [re.sub(r'(--text|--query|--message|--me|search|write) "[^"]*"', r"\1", command) for command in of_page]
        shown.append(([block.kind for block in blocks(page)], plain))
    assert shown[0] == shown[1]
