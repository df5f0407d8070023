"""
recalld beside what one would take instead: the same messages, the same questions, equal tokens, one run, no network.

    python -m bench.others                                          recalld, rank-bm25 and FTS5, on `life`
    python -m bench.others --programs DIR --tokens 2048 512          and basic-memory, QMD and LlamaIndex's buffer, as installed in DIR
    python -m bench.others --data DIR --programs DIR                a set of bench.reader --convert

DIR is what these make (npm installs QMD in its folder at the first use):

    python3.12 -m venv DIR/basic-memory && DIR/basic-memory/bin/pip install basic-memory==0.24.1
    python3 -m venv DIR/llama-index && DIR/llama-index/bin/pip install llama-index-core
    mkdir DIR/qmd

Of each: how many messages with an answer stand whole in what is retrieved, and how many gold facts; the seconds until it can be asked and
the median of a question, as a user gets them (two of them are commands, which start anew for each question; a server of theirs would be
faster); the highest resident memory; what lies on the disk beside the messages. Each way is a process of its own. rank-bm25 and FTS5 get
recalld's words, without which they find nothing in Chinese; basic-memory and QMD get a file a message, and LlamaIndex's buffer is the
newest that fits. Their messages are shown with day and speaker, the best first, until the tokens are used up. Questions
that need what was said just before them are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bench.commands import Qmd
from bench.outcomes import interval
from bench.reader import HERE, Workspaces, chosen, in_block, kind_of, questions_of, recalled
from recalld.supervisor.text.llm_input import estimate_tokens
from recalld.supervisor.text.tokenizer import tokens

if TYPE_CHECKING:
    Said = dict[str, Any]
    Search = Callable[[str], list[Said]]

_LIMIT: Final = 50
_BUFFER: Final = """
import json, sys
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
said, limit = json.load(sys.stdin)
memory = ChatMemoryBuffer.from_defaults(token_limit=limit)
memory.set([ChatMessage(role=one["role"], content=one["text"], additional_kwargs={"id": one["id"]}) for one in said])
print(json.dumps([one.additional_kwargs["id"] for one in memory.get()]))
"""


class Way(NamedTuple):
    """How something is set up: its *version*, the *lines* one types for it, and what makes a search of messages in a folder."""

    version: str
    lines: int
    made: Callable[[list[Said], Path, Path], Search]


def rank_bm25(messages: list[Said], _folder: Path, _programs: Path) -> Search:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([tokens(one["text"]) or [""] for one in messages])

    def search(question: str) -> list[Said]:
        scores = index.get_scores(tokens(question))
        return [messages[n] for n in sorted(range(len(messages)), key=lambda n: -scores[n])[:_LIMIT] if scores[n] > 0]

    return search


def users_bm25(messages: list[Said], folder: Path, programs: Path) -> Search:
    return rank_bm25([one for one in messages if one["role"] == "user"], folder, programs)


def fts5(messages: list[Said], folder: Path, _programs: Path) -> Search:
    base = sqlite3.connect(folder / "fts5.db")
    base.execute("create virtual table said using fts5(words, tokenize=\"unicode61 tokenchars '.-_/+#'\")")
    base.executemany("insert into said values (?)", ((" ".join(tokens(one["text"])),) for one in messages))
    base.commit()

    def search(question: str) -> list[Said]:
        asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in dict.fromkeys(tokens(question)))
        query = "select rowid from said where said match ? order by rank limit ?"
        return [messages[row - 1] for (row,) in base.execute(query, (asked, _LIMIT))] if asked else []

    return search


def buffer(messages: list[Said], _folder: Path, programs: Path) -> Search:
    line = [str(programs / "llama-index/bin/python"), "-c", _BUFFER]
    known = {one["id"]: one for one in messages}

    def search(_question: str) -> list[Said]:
        kept = json.loads(_printed(line, given=json.dumps([messages, 4096])))
        return [known[name] for name in reversed(kept)]

    first = search("")  # it is the same for every question, and costs a client of it nothing
    return lambda _question: first


def basic_memory(messages: list[Said], folder: Path, programs: Path) -> Search:
    known = _as_files(messages, folder / "notes")
    environ = _own_home(folder / "home")
    command = str(programs / "basic-memory/bin/basic-memory")
    _printed([command, "project", "add", "talk", str(folder / "notes")], environ)

    def search(question: str) -> list[Said]:
        words = ["tool", "search-notes", question, "--project", "talk", "--local", "--json", "--page-size", str(_LIMIT)]
        found = json.loads(_printed([command, *words], environ))
        return [known[Path(one["file_path"]).stem] for one in found["results"] if one["type"] == "entity"]

    return search


def qmd(messages: list[Said], folder: Path, programs: Path) -> Search:
    known = _as_files(messages, folder / "notes")
    program = Qmd((programs / "qmd").absolute())
    environ = {**program.environ, **_own_home(folder / "home"), "PATH": program.environ["PATH"]}
    _printed(program("collection", "add", str(folder / "notes"), "--name", "talk"), environ)

    def search(question: str) -> list[Said]:
        found = _printed(program("search", "--json", "-n", str(_LIMIT), "--", question), environ)
        return [known[Path(one["file"]).stem] for one in json.loads(found)] if found.lstrip().startswith("[") else []

    return search


def _printed(command: list[str], environ: dict[str, str] | None = None, given: str | None = None) -> str:
    """Return what the command prints."""
    env = {**os.environ, **(environ or {})}
    return subprocess.run(command, env=env, input=given, capture_output=True, text=True, check=True).stdout


def _as_files(messages: list[Said], folder: Path) -> dict[str, Said]:
    """Write a file a message; return the messages by the stems of their files."""
    folder.mkdir()
    known = {f"m{n:05}": one for n, one in enumerate(messages)}
    for name, one in known.items():
        (folder / f"{name}.md").write_text(f"# {name}\n\n{one['text']}\n", encoding="utf-8")
    return known


def _own_home(folder: Path) -> dict[str, str]:
    for name in ("cache", "config"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {"HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache", "XDG_CONFIG_HOME": f"{folder}/config"}


def within(found: list[Said], limit: int) -> str:
    """Return the messages as a block of at most so many tokens, the best first; a smaller one may follow one that did not fit."""
    block, room = "", float(limit)
    for one in found:
        line = f"[{one['createdAt'][:10]}] {one['role']}: {' '.join(one['text'].split())}\n"
        if (cost := estimate_tokens(line)) <= room:
            block, room = block + line, room - cost
    return block


def ways(programs: Path) -> dict[str, Way]:
    """Return the ways that can be gone here, by name; recalld is not among them."""
    found = {
        "rank-bm25": Way(importlib.metadata.version("rank-bm25"), 4, rank_bm25),
        "rank-bm25, the user's": Way(importlib.metadata.version("rank-bm25"), 4, users_bm25),
        "FTS5": Way(sqlite3.sqlite_version, 6, fts5),
    }
    for name, folder, lines, made in (
        ("LlamaIndex's buffer", "llama-index", 3, buffer),
        ("basic-memory", "basic-memory", 2, basic_memory),
    ):
        if (programs / folder / "bin/python").exists():
            package = "llama-index-core" if folder == "llama-index" else folder
            asks = f"import importlib.metadata; print(importlib.metadata.version('{package}'))"
            found[name] = Way(_printed([str(programs / folder / "bin/python"), "-c", asks]).strip(), lines, made)
    if (programs / "qmd").is_dir():
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            version = re.findall(r"\d[\d.]*", Qmd((programs / "qmd").absolute()).version)
            found["qmd search"] = Way(version[0], 2, qmd)
    return found


def measured(name: str, questions: list[Said], found: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one way: what is in its blocks, for each budget, and what it costs."""
    rows: dict[int, list[Said]] = {limit: [] for limit in found.tokens}
    ready, took, disk = 0.0, [], 0
    with tempfile.TemporaryDirectory(prefix="others-") as place:
        for ws in dict.fromkeys(one["ws"] for one in questions):
            (folder := Path(place) / ws).mkdir()
            messages = Workspaces([found.data], questions, folder, [], found.zone).messages(ws)
            texts = {one["id"]: one["text"] for one in messages}
            began = time.perf_counter()
            blocks = _blocks(name, ws, messages, questions, folder, found)
            ready += time.perf_counter() - began
            for one in (one for one in questions if one["ws"] == ws):
                began = time.perf_counter()
                shown = blocks(one)
                took.append(time.perf_counter() - began)
                for limit in found.tokens:
                    rows[limit].append(in_block(one, shown(limit), texts))
            disk += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    return {"rows": rows, "ready": ready, "ms": 1000 * statistics.median(took), "mb": peak, "disk": disk / 1e6}


def _blocks(
    name: str, ws: str, messages: list[Said], questions: list[Said], folder: Path, found: argparse.Namespace
) -> Callable[[Said], Callable[[int], str]]:
    """Return what asks the way once, and then gives its block in so many tokens."""
    if name != "recalld":
        search = ways(found.programs)[name].made(messages, folder, found.programs)
        return lambda question: partial(within, search(question["question"]))
    spaces = {
        limit: Workspaces([found.data], questions, folder, [f"recall.memory_tokens={limit}", *found.set], found.zone)
        for limit in found.tokens
    }
    sources = {limit: recalled(one, "best", hides_outdated=False) for limit, one in spaces.items()}
    for one in spaces.values():
        one.open(ws)

    def ask(question: Said) -> Callable[[int], str]:
        first = found.tokens[0]
        block = sources[first](question)  # what is timed: one block
        return lambda limit: block if limit == first else sources[limit](question)

    return ask


def table(figures: dict[str, dict[str, Any]], versions: dict[str, tuple[str, int]], limit: int) -> str:
    """Return what each way has in its blocks, by set, with intervals, and what it costs."""
    sets = sorted({row["set"] for figure in figures.values() for row in figure["rows"][limit]})
    heads = [f"{name}: messages whole, gold, first" for name in sets]
    lines = [f"| {limit} tokens | {' | '.join(heads)} | tokens | ready s | question ms | MB | disk MB | lines |"]
    lines.append(f"|{'---|' * (len(sets) + 7)}")
    for name, figure in figures.items():
        cells = []
        for group in sets:
            rows = [row for row in figure["rows"][limit] if row["set"] == group and row["kind"] != "never said"]
            whole = [row["whole"] for row in rows]
            low, high = interval(whole)
            means = [100 * statistics.fmean(row[key] for row in rows) for key in ("whole", "gold", "first")]
            cells.append(f"{means[0]:.1f} ({100 * low:.0f} to {100 * high:.0f}), {means[1]:.1f}, {means[2]:.1f}")
        mean = statistics.fmean(row["tokens"] for row in figure["rows"][limit])
        version, count = versions[name]
        costs = f"{figure['ready']:.1f} | {figure['ms']:.1f} | {figure['mb']:.0f} | {figure['disk']:.1f} | {count}"
        lines.append(f"| {name} {version} | {' | '.join(cells)} | {mean:.0f} | {costs} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=HERE / "questions/life", help="a folder of questions and workspaces")
    options.add_argument("--dataset", action="append", default=[])
    options.add_argument("--workspace", action="append", default=[], help="only questions about it")
    options.add_argument("--zone", help="time zone of the workspaces")
    options.add_argument("--programs", type=Path, default=Path("build/others"), help="where the others are installed")
    options.add_argument("--tokens", type=int, nargs="+", default=[2048, 512])
    options.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a setting of recalld")
    options.add_argument("--most", type=int, default=0, help="so many questions")
    options.add_argument("--seed", type=int, default=51)
    options.add_argument("--way", nargs="*", help="only these")
    options.add_argument("--one", help=argparse.SUPPRESS)
    found = options.parse_args()
    questions = [one for one in chosen(questions_of(found.data, found.dataset), found.seed, 0) if not one.get("before")]
    if found.workspace:
        questions = [one for one in questions if one["ws"] in found.workspace]
    questions = questions[: found.most or None]
    if found.one:
        print(json.dumps(measured(found.one, questions, found)))
        return
    versions = {"recalld": (importlib.metadata.version("recalld"), 2)}
    versions |= {name: (way.version, way.lines) for name, way in ways(found.programs).items()}
    figures = {}
    for name in versions if not found.way else found.way:
        line = [sys.executable, "-m", "bench.others", *sys.argv[1:], "--one", name]
        ran = subprocess.run(line, capture_output=True, text=True, check=False)
        if ran.returncode:
            print(f"{name} IS LEFT OUT: {ran.stderr.strip().splitlines()[-1:]}")
            continue
        figures[name] = json.loads(ran.stdout.splitlines()[-1])
        figures[name]["rows"] = {int(limit): rows for limit, rows in figures[name]["rows"].items()}
    asked = [one for one in questions if kind_of(one) != "never said"]
    print(f"{len(asked)} questions with an answer, {len(questions) - len(asked)} never said\n")
    for limit in found.tokens:
        print(f"{table(figures, versions, limit)}\n")


if __name__ == "__main__":
    main()
