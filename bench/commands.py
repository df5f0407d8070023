"""
What a turn waits for as a whole command, from its start to its end, compared with the bare interpreter and QMD.

    python -m bench.commands                        without QMD
    python -m bench.commands --qmd DIR              with it; npm installs it into DIR first where it is not there
    python -m bench.commands --files 10000 --qmd DIR    and what indexing that many files costs both
    python -m bench.commands --alone --runs 20      only what hooks call, without a supervisor

`recalld inject` is asked with a supervisor running and without one, in English and Chinese, over made-up talk (talk.py) in dated
files, and what else hooks call, `append`, `status`, `status --plan`, `get`, `search`, with `--version` and `--help`; `qmd search` (BM25, no
model, its own index over the same files) is told the same words. Beside them is the import of tantivy, numpy and rank-bm25, which no
search can go below. All take turns in one run; figures are minima and medians in milliseconds, on the wall and of the processor, and
times those of `python -I -S -c pass`. RECALLD_* and QMD's settings are defaults; each has folders of its own for what it keeps. The
modules are compiled beforehand, as where a package is installed.

Indexing: plain Markdown notes of ten paragraphs; first time, again with nothing changed, with one file changed. For recalld the
first is `index rebuild`, the others are `search`, which looks at every file before it answers; for QMD `collection add`, `update`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from bench.served import ENVIRON, served
from bench.speed import write
from bench.talk import talk

PASS = [sys.executable, "-I", "-S", "-c", "pass"]
RECALLD = str(Path(sys.executable).parent / "recalld")
ASKED = {"English": "server backup failed because", "Chinese": "服务器 备份 失败"}
HOOKS = (
    ["append", "--role", "user", "--text", "hi"],
    ["status"],
    ["status", "--plan"],
    ["get", "memory.md"],
    ["search", "backup"],
    ["--version"],
    ["--help"],
)
#: The codes with which a command may end that had its answer: `status` says that something is wrong, such as no supervisor.
CODES = {"status": (0, 65)}
ENGINE = [sys.executable, "-c", "import tantivy, numpy, rank_bm25"]
RUNS = 15


class Timed:
    """Times of commands that take turns: milliseconds on the wall and of the processor."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ
        self.took: dict[str, list[tuple[float, float]]] = {}

    def run(
        self, name: str, command: Sequence[str], given: bytes = b"", *, codes: Collection[int] = (0,), **environ: str
    ) -> None:
        """Run the command, with *given* on its standard input; AssertionError if it ends with none of *codes*."""
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            env={**self._environ, **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin
        assert process.stdout
        with contextlib.suppress(BrokenPipeError), process.stdin:  # it reads nothing
            process.stdin.write(given)
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - began
        process.stdout.close()
        assert process.returncode in codes, f"{name} ended with {process.returncode}: {out[-300:]!r}"
        self.took.setdefault(name, []).append((wall * 1000, (used.ru_utime + used.ru_stime) * 1000))

    def of(self, name: str) -> list[float]:
        """Return the minimum and the median on the wall, then those of the processor."""
        return [figure(times) for times in zip(*self.took[name], strict=True) for figure in (min, statistics.median)]

    def show(self, beside: str) -> None:
        """Print every command, minimum and median, and how many times they are those of the one named *beside*."""
        base = self.of(beside)
        print("| command | wall ms | processor ms | × wall | × processor |\n|---|---|---|---|---|")
        for name in self.took:
            own = self.of(name)
            times = [one / other for one, other in zip(own, base, strict=True)]
            pairs = [f"{least:.1f}, {median:.1f}" for least, median in (own[:2], own[2:], times[:2], times[2:])]
            print(f"| {' | '.join([name, *pairs])} |", flush=True)


class Qmd:
    """QMD as npm installs it into *folder*; its index and settings lie there too, and are made again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        modules = folder / "node_modules"
        cpu = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "x64")
        self._node = modules / f"node-linux-{cpu}" / "bin"  # QMD wants a newer node than Debian has
        home = folder / "home"
        shutil.rmtree(home, ignore_errors=True)
        self.environ = {"PATH": f"{self._node}:{os.environ['PATH']}"}
        self._command = str(modules / ".bin" / "qmd")
        if not Path(self._command).exists():
            home.mkdir(parents=True)
            self._npm("install", f"node-linux-{cpu}@22")
            self._npm("install", "--ignore-scripts", "@tobilu/qmd@2")
            self._npm("rebuild", "better-sqlite3")
        self.environ |= {"HOME": str(home), "XDG_CACHE_HOME": f"{home}/cache", "XDG_CONFIG_HOME": f"{home}/config"}
        for path in ("cache", "config"):
            (home / path).mkdir(parents=True, exist_ok=True)
        said = subprocess.run([*self("--version")], env={**ENVIRON, **self.environ}, check=True, capture_output=True, text=True)
        self.version = said.stdout.strip()

    def _npm(self, *words: str) -> None:
        command = ["npm", words[0], "--prefix", str(self._folder), "--no-audit", "--no-fund", *words[1:]]
        subprocess.run(
            command, env={**ENVIRON, **self.environ}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def __call__(self, *words: str) -> list[str]:
        """Return the command line; it is run with `environ`."""
        return [self._command, *words]


def qmd_in(folder: Path | None) -> Qmd | None:
    """Return QMD; None, said loudly, where it was not asked for or can't be had."""
    if folder is None:
        print("QMD IS LEFT OUT: no --qmd DIR was given\n")
        return None
    try:
        found = Qmd(folder.absolute())
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"QMD IS LEFT OUT: {error}\n")
        return None
    print(f"{found.version}, node {platform.machine()}\n")
    return found


def answers(root: Path, messages: int, runs: int, qmd: Qmd | None, environ: dict[str, str], *, alone: bool) -> None:
    """Time the answer to a question as a whole command; *alone*: what hooks call, without a supervisor."""
    root.mkdir()
    write(root, messages)
    (root / "memory.md").write_text("2026-01-28|chat|The backups are on nas2.\n")
    timed = Timed(environ)
    files = len(list((root / "memory").glob("*.md")))
    print(f"{messages:,} messages in {files} files, {runs} runs\n")
    subprocess.run([RECALLD, "-w", root, "index", "rebuild"], env=environ, check=True, stdout=subprocess.DEVNULL)
    if qmd:
        add = qmd("collection", "add", str(root / "memory"), "--name", "talk")
        subprocess.run(add, env={**environ, **qmd.environ}, check=True, stdout=subprocess.DEVNULL)

    asked = {} if alone else ASKED
    hooks = [[*command, "-w", str(root)] if command[0].isalpha() else command for command in HOOKS]

    def everything(how: str) -> None:
        timed.run("python -I -S -c pass", PASS)
        for language, words in asked.items():
            timed.run(f"recalld inject, {how}, {language}", [RECALLD, "-w", str(root), "inject", "--query", words])
            if qmd:
                timed.run(f"qmd search, {language}", qmd("search", words, "-n", "5"), **qmd.environ)
        for command in hooks:
            timed.run(f"recalld {command[0]}, {how}", [RECALLD, *command], codes=CODES.get(command[0], (0,)))
        timed.run("import tantivy, numpy, rank_bm25", ENGINE)

    everything("without a supervisor")
    timed.took.clear()
    for _ in range(runs):
        everything("without a supervisor")
    if not alone:
        with served(root) as supervisor:
            supervisor.ask("inject", "--query", ASKED["Chinese"])  # jieba's dictionary is loaded once, when it is first needed
            for _ in range(runs):
                everything("with a supervisor")
    timed.show("python -I -S -c pass")


def indexing(root: Path, files: int, runs: int, qmd: Qmd | None, environ: dict[str, str]) -> None:
    """Time making the index of many files, and looking at them again."""
    (root / "memory").mkdir(parents=True)
    (root / "recalld.toml").write_text('[archive]\ntimezone = "Asia/Shanghai"\n')
    texts = [str(message["text"]) for message in talk(10 * files, max(1, files // 6))]
    paths = [root / "memory" / f"note-{n:05d}.md" for n in range(files)]
    for n, path in enumerate(paths):
        path.write_text(f"# {n}\n\n" + "\n\n".join(texts[10 * n : 10 * n + 10]) + "\n", encoding="utf-8")
    timed = Timed(environ)
    search = [RECALLD, "-w", str(root), "search", "budget"]
    update = qmd("update") if qmd else []
    print(f"\n{files:,} notes, {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB\n")
    timed.run("recalld, first time", [RECALLD, "-w", str(root), "index", "rebuild"])
    if qmd:
        timed.run("qmd, first time", qmd("collection", "add", str(root / "memory"), "--name", "notes"), **qmd.environ)
    for _ in range(runs):
        timed.run("recalld, unchanged", search)
        if qmd:
            timed.run("qmd, unchanged", update, **qmd.environ)
    for n in range(runs):
        with paths[n].open("a", encoding="utf-8") as note:
            note.write(f"\n第 {n} 次改动 budget\n")
        timed.run("recalld, one file changed", search)
        if qmd:
            timed.run("qmd, one file changed", update, **qmd.environ)
    timed.show("recalld, unchanged")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--messages", type=int, default=5_000, help="to ask about (5000)")
    options.add_argument("--files", type=int, default=0, help="to index as well, e.g. 10000 (none)")
    options.add_argument("--runs", type=int, default=RUNS, help=f"of each command ({RUNS})")
    options.add_argument("--alone", action="store_true", help="only what hooks call, without a supervisor")
    options.add_argument("--qmd", type=Path, metavar="DIR", help="where QMD is, or is to be installed by npm")
    found = options.parse_args()
    qmd = qmd_in(found.qmd)
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        environ = {**ENVIRON, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        answers(Path(folder) / "talk", found.messages, found.runs, qmd, environ, alone=found.alone)
        if found.files:
            qmd = qmd_in(found.qmd)  # with an empty index again
            indexing(Path(folder) / "notes", found.files, max(3, found.runs // 3), qmd, environ)


if __name__ == "__main__":
    main()
