"""
Promises that only a clock can check: what was measured next to what is promised.

    python -m bench.promises
    python -m bench.promises --notes 10000          more to read for a search, and for a supervisor that is told to end

A time is the longest of five tries, the delay of `inject` the difference of the shortest ones. Work for twice the text is the
processor time of a function for 2n characters over that for n, of the repeated piece for which it grows most: 2 where the work is
linear, 4 where it is quadratic. Nothing is asserted: the figures depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from collections.abc import Callable, Iterator

from bench.served import ENVIRON, Served, served
from recalld.supervisor.extracts.extract import extract
from recalld.supervisor.host.round import run_round
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.query.dates import spans
from recalld.supervisor.storage.clock import utc_now
from recalld.supervisor.summaries.quality import Material
from recalld.supervisor.summaries.quality import judge as judge_text
from recalld.supervisor.text.llm_output import cleaned, says_nothing
from recalld.supervisor.text.redact import redacted
from recalld.supervisor.workspace import open_workspace
from recalld.worker.providers import Cancelled, ProviderError
from recalld.worker.providers.openai import OpenAi

TRIES = 5
#: Repeated over and over, each has once made a rule slow, or could.
PIECES = (
    'a¦字¦ ¦\n¦1¦- ¦> ¦# \n¦` ¦```\n¦** \n¦|¦](¦<think>¦<!--¦---\n¦{"¦[memory/¦'
    "a.b¦aB+¦eyJ-¦sk-¦密码¦a@¦1 ¦://a:¦去年¦5月¦5/2 ¦last ¦the ¦2025-¦到至¦。¦word "
).split("¦")
#: Characters of the shorter text; a piece that takes less time than this is not compared.
SHORT = 20_000
LEAST_S = 0.005


def show(promise: str, promised: str, measured: str) -> None:
    print(f"| {promise} | {promised} | {measured} |", flush=True)


def longest_ms(act: Callable[[], object], tries: int = TRIES) -> str:
    """Return the longest of the tries."""
    return f"{max(seconds(act) for _ in range(tries)) * 1000:.0f} ms"


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


# ── a turn ───────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def mute(path: str | None = None) -> Iterator[int]:
    """Listen at the path, or at a port of this machine, and never answer; gives the port."""
    with socket.socket(socket.AF_UNIX if path else socket.AF_INET) as listening:
        listening.bind(path or ("127.0.0.1", 0))
        listening.listen(64)
        yield 0 if path else listening.getsockname()[1]


def mute_supervisor(root: Path) -> None:
    command = [sys.executable, "-m", "recalld", "-w", str(root), "inject", "--query", "电钢琴"]

    def ask() -> None:
        subprocess.run(command, env=ENVIRON, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    alone = min(seconds(ask) for _ in range(TRIES))
    with mute(str(root / ".recalld" / "socket")):
        beside = min(seconds(ask) for _ in range(TRIES))
    (root / ".recalld" / "socket").unlink()
    show("a supervisor that says nothing delays `inject` by", "250 ms", f"{(beside - alone) * 1000:.0f} ms")


def recall_timeout(root: Path, toml: str, what: str) -> None:
    (root / "recalld.toml").write_text(toml, encoding="utf-8")
    open_workspace(root, {}, utc_now).searcher.search(
        "电钢琴", utc_now()
    )  # what is loaded at its first use is not in the limit
    shutil.rmtree(root / ".recalld" / "index", ignore_errors=True)
    show(
        f"`recall.timeout_ms` ends a search {what}",
        "250 ms",
        longest_ms(lambda: open_workspace(root, {}, utc_now).searcher.search("电钢琴 nas17", utc_now())),
    )


# ── the end ──────────────────────────────────────────────────────────────────


def sigterm(root: Path) -> None:
    for what, wait_for_rest in (("while it makes the first index", False), ("at rest", True)):
        with served(root) as supervisor:
            if wait_for_rest:
                supervisor.await_rest()
            supervisor.process.send_signal(signal.SIGTERM)
            show(f"SIGTERM ends the supervisor {what}", "5 s", f"{seconds(supervisor.process.wait) * 1000:.0f} ms")


# ── a round ──────────────────────────────────────────────────────────────────


def odd_messages(count: int = 16_000) -> None:
    """Rounds over a history of elements that are no messages; the first copies some of them to quarantine."""
    with tempfile.TemporaryDirectory(prefix="promises-") as folder:
        (Path(folder) / "history.json").write_text(json.dumps([{"nr": n} for n in range(count)]), encoding="utf-8")
        ws = open_workspace(Path(folder), {}, utc_now)
        ws.prepare()
        run_round(ws, utc_now())
        show(f"a round beside {count} odd messages", "1000 ms", longest_ms(lambda: run_round(ws, utc_now())))


# ── the output ───────────────────────────────────────────────────────────────


def stalled_output(root: Path) -> None:
    """Take in a message, with output that nobody reads beside output that goes nowhere."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for size in (1 << 16, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * size)
    os.set_blocking(writer, True)
    with served(root) as supervisor:
        unhindered = intake_s(supervisor)
    with served(root, stdout=writer) as supervisor:
        stalled = intake_s(supervisor)
        supervisor.process.send_signal(signal.SIGTERM)
        end_s = seconds(supervisor.process.wait)
    os.close(reader)
    os.close(writer)
    told = f"{stalled * 1000:.0f} ms, {unhindered * 1000:.0f} ms where the output goes nowhere"
    show("a message is taken in while nobody reads the output", "as ever", told)
    show("SIGTERM ends the supervisor while nobody reads the output", "5 s", f"{end_s * 1000:.0f} ms")


def intake_s(supervisor: Served) -> float:
    """Return the median time from a rewrite of history.json to the event that its new message was seen."""
    supervisor.await_rest()
    history, log = supervisor.root / "history.json", supervisor.root / "log.jsonl"
    messages = json.loads(history.read_bytes())
    took = []
    for n in range(TRIES):
        messages = json.loads(history.read_bytes())
        seen = log.read_bytes().count(b'"seen"')
        messages.append({"id": f"{supervisor.process.pid}-{n}", "role": "user", "text": "猫的疫苗约在九月。"})
        history.write_text(json.dumps(messages), encoding="utf-8")
        began = time.perf_counter()
        while log.read_bytes().count(b'"seen"') == seen:
            time.sleep(0.001)
        took.append(time.perf_counter() - began)
        time.sleep(2)
    return statistics.median(took)


# ── the model ────────────────────────────────────────────────────────────────


def model() -> None:
    """A stop is asked for after 300 ms; the limit of a whole completion is 500 ms, and the server says nothing."""
    with mute() as port:

        def ask(timeout_s: float, stop: threading.Event) -> None:
            found = OpenAi(model="none", base_url=f"http://127.0.0.1:{port}/v1", temperature=0.3, timeout_s=timeout_s)
            with contextlib.suppress(ProviderError, Cancelled):
                found.complete("好", max_tokens=9, calling=lambda: None, cancelled=stop.is_set)

        def cancel() -> None:
            stop = threading.Event()
            threading.Timer(0.3, stop.set).start()
            ask(600, stop)

        ask(0.1, threading.Event())
        show("`llm.timeout` of 500 ms ends a completion", "500 ms", longest_ms(lambda: ask(0.5, threading.Event())))
        show("a completion that is cancelled after 300 ms ends", "1300 ms", longest_ms(cancel))


# ── twice the text ───────────────────────────────────────────────────────────


def judge(text: str) -> None:
    judge_text(cleaned(text), Material(((date(2026, 1, 31), text),), text[:4_000], "zh", (text[:50],)), 10**9)
    says_nothing(text)


def extracted(text: str) -> None:
    now = datetime(2026, 1, 15, 9, tzinfo=UTC)
    blocks = [Block(f"m{n}", "user", one, now + timedelta(minutes=n), {}) for n, one in enumerate((text, "记住了"))]
    extract(blocks, period="2026-01-15", zone=ZoneInfo("Asia/Shanghai"), kind="day")


def work_s(act: Callable[[str], object], text: str) -> float:
    """Return the least processor time of three tries."""
    least = float("inf")
    for _ in range(3):
        began = time.process_time()
        act(text)
        least = min(least, time.process_time() - began)
    return least


def twice(name: str, act: Callable[[str], object], size: int = SHORT) -> None:
    ratios = []
    for piece in PIECES:
        once, double = (work_s(act, piece * (n // len(piece))) for n in (size, 2 * size))
        if double > LEAST_S:
            ratios.append((double / max(once, LEAST_S / 4), piece, double))
    worst, piece, took = max(ratios, default=(0.0, "", 0.0))
    show(
        f"{name}: work for {2 * size} characters over {size}",
        "3",
        f"{worst:.1f}, {took * 1000:.0f} ms, {piece!r}" if ratios else f"all below {LEAST_S * 1000:.0f} ms",
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--notes", type=int, default=3_000)
    found = options.parse_args()
    root = Path(tempfile.mkdtemp(prefix="promises-"))
    print("| promise | promised | measured |\n|---|---|---|")
    try:
        subprocess.run([sys.executable, "-m", "recalld", "-w", str(root), "init"], check=True, stdout=subprocess.DEVNULL)
        mute_supervisor(root)
        for n in range(found.notes):
            text = "\n\n".join(f"第 {m} 段：把 nginx 的配置备份到 nas{n}，电钢琴。" for m in range(20))
            (root / "memory" / f"笔记 {n}.md").write_text(text, encoding="utf-8")
        recall_timeout(root, "", "while nothing is indexed")
        with mute() as port:
            told = f'[recall]\nbackend = "hybrid"\n[embeddings]\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "none"\n'
            recall_timeout(root, told, "beside a server of embeddings that says nothing")
        (root / "recalld.toml").write_text("", encoding="utf-8")
        sigterm(root)
        odd_messages()
        stalled_output(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    model()
    twice("redacted", redacted)
    twice("judge", judge)
    twice("extract", extracted)
    twice("dates", lambda text: spans(text, date(2026, 1, 31)))


if __name__ == "__main__":
    main()
