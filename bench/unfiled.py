"""
What no dated file holds yet: is it found, as well as what is filed, and what does it cost.

    python -m bench.unfiled                      append, then inject, 1,000 times, with a supervisor and without; the time it adds
    python -m bench.unfiled --data DIR           the hole: conversations said message by message, each fact asked for 5, 30 and 90
                                                 messages later, with a round of the supervisor after each message

DIR is as for bench/recall.py. "found" counts a message of which at least 90 % stand in the memory block; "filed" is the same
question over the same messages when all are archived first, "files only" that over the dated files alone, as it was before.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.recall import BLANK, WHOLE, input_of, questions_of, share
from bench.served import ENVIRON
from bench.talk import talk
from recalld.supervisor.context.build import inject
from recalld.supervisor.host.round import run_round
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.interfaces.locate import folder_id
from recalld.supervisor.protocol.config import make_workspace
from recalld.supervisor.recall.unfiled import UnfiledPassages
from recalld.supervisor.storage.clock import fixed_clock, from_wire, to_wire, utc_now
from recalld.supervisor.workspace import Workspace, open_workspace

LATER = (5, 30, 90)
#: Messages beside which the time is taken.
BESIDE = 300
#: The first questions, which load what later ones have.
WARM = 5


# ── the hole ─────────────────────────────────────────────────────────────────


def found(ws: Workspace, question: dict[str, Any], texts: dict[str, str], now: datetime) -> float:
    """Return the share of the evidence that is in the memory block."""
    ws.searcher.refresh()
    asked = input_of(ws, question["question"], now)
    result = ws.searcher.search(asked.question, now, asked.before, is_input=True)
    block = BLANK.sub("", inject(asked, now, result, config=ws.config, events=ws.events).memory)
    return statistics.mean(max(share(texts[one], block) for one in either) >= WHOLE for either in question["evidence"])


def opened(root: Path, now: datetime) -> Workspace:
    return open_workspace(root, {"RECALLD_ARCHIVE_TIMEZONE": "UTC"}, fixed_clock(now))


def filed(messages: list[dict[str, Any]], now: datetime) -> Workspace:
    """Return a workspace in which all the messages are archived."""
    root = Path(tempfile.mkdtemp(prefix="filed-"))
    (root / "history.json").write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8")
    ws = opened(root, now)
    ws.prepare()
    run_round(ws, now, "all")
    return ws


def hole(history: Path, questions: list[dict[str, Any]]) -> list[tuple[int, str, tuple[float, float, float]]]:
    """Say the conversation message by message; return for each question how late it was asked, its set, and what was found."""
    messages = [{**one, "archived": False} for one in json.loads(history.read_text(encoding="utf-8"))]
    texts, places = {one["id"]: one["text"] for one in messages}, {one["id"]: n for n, one in enumerate(messages)}
    due: dict[int, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for question in questions:
        last = max(min(places[one] for one in either) for either in question["evidence"])
        for later in LATER:
            due[last + later].append((later, question))
    root = Path(tempfile.mkdtemp(prefix="hole-"))
    rows = []
    for n in range(min(len(messages), max(due) + 1)):
        now = from_wire(messages[n]["createdAt"]) + timedelta(seconds=30)
        (root / "history.json").write_text(json.dumps(messages[: n + 1], ensure_ascii=False), encoding="utf-8")
        if n == 0:
            opened(root, now).prepare()
            ws = opened(root, now)
        run_round(ws, now, "due")
        whole = filed(messages[: n + 1], now) if due[n] else ws
        for later, question in due[n]:
            passages = ws.unfiled.passages
            new = found(ws, question, texts, now)
            ws.unfiled.passages = lambda *_: UnfiledPassages()  # type: ignore[method-assign]
            old = found(ws, question, texts, now)
            ws.unfiled.passages = passages  # type: ignore[method-assign]
            rows.append((later, question["dataset"], (old, new, found(whole, question, texts, now))))
        if whole is not ws:
            shutil.rmtree(whole.paths.root)
    shutil.rmtree(root)
    return rows


def the_hole(data: Path, every: int) -> None:
    questions = [one for one in questions_of(data, []) if one["evidence"]][::every]
    rows = []
    for name in dict.fromkeys(one["ws"] for one in questions):
        rows += hole(data / "workspaces" / name / "history.json", [one for one in questions if one["ws"] == name])
    print("| asked | set | questions | files only | found | filed |\n|---|---|---|---|---|---|")
    sets = sorted({dataset for _, dataset, _ in rows})
    for later in LATER:
        for dataset in (*sets, "all"):
            some = [figures for late, one, figures in rows if late == later and dataset in (one, "all")]
            if some:
                means = " | ".join(f"{100 * statistics.mean(column):.1f}" for column in zip(*some, strict=True))
                print(f"| {later} later | {dataset} | {len(some)} | {means} |")


# ── found each time, and the time it adds ────────────────────────────────────


def ask(root: Path, *words: str) -> dict[str, Any]:
    """Return what the supervisor of *root* answers over its socket, asked again while a busy machine lets it miss the request."""
    request = {"version": 3, "argv": list(words), "env": {}, "folder": folder_id(str(root))}
    data = b""
    while not data.strip():
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(root / ".recalld" / "socket"))
            line.sendall(json.dumps(request).encode() + b"\n")
            data = b"".join(iter(lambda: line.recv(1 << 16), b""))
    answer: dict[str, Any] = json.loads(data)
    return answer


def supervisor(root: Path) -> Any:
    """Start a supervisor of *root* and wait until it answers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "recalld", "-w", str(root), "run", "--no-worker"],
        stdout=subprocess.DEVNULL,
        env=ENVIRON,
    )
    while process.poll() is None:
        try:
            ask(root, "search", "x")
            break
        except OSError:
            time.sleep(0.05)
    return process


def each_time(root: Path, times: int, *, served: bool) -> int:
    """Append and inject; return how often the message was in the block."""
    memory, count = Memory(root), 0
    for n in range(times):
        word = f"tango{n * 104729}"
        memory.append({"role": "assistant", "text": f"the code of locker {n * 7919} is {word}"})
        question = f"what is the code of locker {n * 7919}?"
        block = ask(root, "inject", "--query", question)["out"] if served else Memory(root).inject(question).memory
        count += word in block
    return count


def took(memory: Memory, question: str) -> float:
    """Return the processor's milliseconds of `inject` in this process, which holds memory as a supervisor does."""
    began = time.process_time()
    memory.inject(question)
    return (time.process_time() - began) * 1000


def took_after_a_message(memory: Memory, question: str) -> float:
    """Return those of `inject` just after a message was appended."""
    memory.append({"role": "user", "text": f"a note on {question}"})
    return took(memory, question)


def took_alone(memory: Memory, question: str) -> float:
    """Return the processor's milliseconds of the whole command, without a supervisor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "recalld", "-w", str(memory.workspace.paths.root), "inject", "--query", question]
    subprocess.run(command, env=ENVIRON, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def the_time(times: int, runs: int) -> None:
    for served in (True, False):
        with tempfile.TemporaryDirectory(prefix="once-") as place:
            root = Path(place)
            make_workspace(root, {})
            process = supervisor(root) if served else SimpleNamespace(send_signal=lambda _: None, wait=lambda: 0)
            count = each_time(root, times, served=served)
            files = len(list((root / "memory").glob("*.md"))) if served else 0
            process.send_signal(signal.SIGTERM)
            process.wait()
        print(
            f"{'with' if served else 'without'} a supervisor: {count} of {times} found ({files} dated files made meanwhile)",
            flush=True,
        )
    now = utc_now()
    said = [{**one, "createdAt": to_wire(now - timedelta(seconds=BESIDE - n))} for n, one in enumerate(talk(BESIDE, 1))]
    words = [str(one["text"]).split()[:3] for one in said if str(one["text"]).isascii()]
    questions = [" ".join(one) for one in words[: WARM + runs]]
    with tempfile.TemporaryDirectory(prefix="once-") as place:
        memories = []
        for name in ("unfiled", "filed"):
            root = Path(place) / name
            make_workspace(root, {})
            toml = (root / "recalld.toml").read_text(encoding="utf-8")
            toml = toml.replace("[archive]\n", "[archive]\nunarchived_limit = 100000\n", 1)
            (root / "recalld.toml").write_text(toml, encoding="utf-8")
            (root / "history.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
            if name == "filed":
                subprocess.run(
                    [sys.executable, "-m", "recalld", "-w", root, "run", "--once"], stdout=subprocess.DEVNULL, check=True
                )
            memories.append(Memory(root))
        for what, one in {
            "inject, memory held": took,
            "inject, memory held, a message new": took_after_a_message,
            "inject, the whole command": took_alone,
        }.items():
            # in turn, so that a busy machine is busy for both
            pairs = [[one(memory, question) for memory in memories] for question in questions][WARM:]
            unfiled, filed = (statistics.median(column) for column in zip(*pairs, strict=True))
            more = statistics.median(left - right for left, right in pairs)
            print(
                f"{what}: {unfiled:.1f} ms beside {BESIDE} unfiled messages, {filed:.1f} ms beside filed ones; {more:+.1f} ms"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of questions and workspaces")
    parser.add_argument("--every", type=int, default=1, help="only every n-th question")
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    if options.data:
        the_hole(options.data, options.every)
    else:
        the_time(options.times, options.runs)


if __name__ == "__main__":
    main()
