"""
How soon answers are on their way: fifty inputs at once beside summaries, then one after another where a worker is warm.

    python -m bench.replies

The model is a server on loopback that answers at once, and takes four seconds for a summary; the supervisor and its workers are processes.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.served import ENVIRON
from tests.llm.server import Act, Server

RECALLD = [sys.executable, "-P", "-m", "recalld"]
SESSIONS = [f"会话{n}" for n in range(7)] + [f"agent:group:群{n}" for n in range(3)]
SUMMARY = Act(text="## 备份\n\n备份放在 /srv/backup。", parts=8, pause_s=0.5)
#: Inputs that come one after another.
_ONE_BY_ONE = 20
_QUEUED = 8
_PATIENCE_S = 120.0


def asked_in(prompt: str) -> list[str]:
    """The numbers of the questions in the last message."""
    return re.findall(r"第(\d{4})问", prompt.rsplit("。）\n\n", 1)[-1])


def script(_number: int, prompt: str) -> Act:
    numbers = asked_in(prompt)
    return Act(text="\n".join(f"答{n}。" for n in numbers)) if numbers else SUMMARY


def until(holds: Callable[[], Any]) -> float:
    """Wait until *holds* returns something true; return how long it took, in seconds."""
    began = time.perf_counter()
    while not holds():
        assert time.perf_counter() - began < _PATIENCE_S
        time.sleep(0.002)
    return time.perf_counter() - began


def read(path: Path) -> list[Any]:
    return json.loads(path.read_bytes()) if path.exists() else []


def ask(root: Path, first: int, count: int) -> None:
    """Put *count* inputs into the inbox, with one rename."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    inputs = [
        {"id": f"q{n:04}", "text": f"第{n:04}问？", "createdAt": now, "session": SESSIONS[n % 10]}
        for n in range(first, first + count)
    ]
    new = root / ".inbox.tmp"
    new.write_text(json.dumps(inputs, ensure_ascii=False), encoding="utf-8")
    new.replace(root / "inbox.json")


def old_days(count: int) -> list[dict[str, Any]]:
    first = datetime.now(UTC) - timedelta(days=count + 8)
    return [
        {"id": f"{d}-{n}", "role": ("user", "assistant")[n % 2], "text": f"备份放在 /srv/backup，端口 {8000 + d * 20 + n}。",
         "createdAt": (first + timedelta(days=d, minutes=n)).isoformat()}
        for d in range(count) for n in range(12)
    ]  # fmt: skip


def measure(root: Path, server: Server, queued: Callable[[], int]) -> None:
    """Print the times."""
    until(lambda: queued() >= _QUEUED)
    history, inbox = root / "history.json", root / "inbox.json"
    ask(root, 0, 50)
    first = until(lambda: any(str(one["id"]).startswith("re-") for one in read(history)))
    rest = until(lambda: read(inbox) == [])
    answers = [one for one in read(history) if str(one["id"]).startswith("re-")]
    apart = all({int(i[1:]) % 10 for i in one["inReplyTo"]} == {SESSIONS.index(one["session"])} for one in answers)
    assert apart, "an answer is in the wrong conversation"
    print(f"50 inputs in ten conversations beside {queued()} summaries: first answer {first:.2f} s, all {first + rest:.2f} s")
    times = []
    for n in range(100, 100 + _ONE_BY_ONE):
        ask(root, n, 1)
        times.append(until(lambda n=n: any(f"{n:04}" in asked_in(prompt) for prompt in server.seen.prompts)) * 1000)
        until(lambda: read(inbox) == [])
    print(
        f"from the rename to the model, warm: median {statistics.median(times):.0f} ms, worst of {len(times)} {max(times):.0f} ms"
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        root = Path(folder) / "workspace"
        server.script = script
        environ = {
            **ENVIRON,
            "RECALLD_LLM_BASE_URL": server.url,
            "RECALLD_LLM_MODEL": "qwen-test",
            "RECALLD_TURNS_REPLY": "worker",
        }
        environ |= {"RECALLD_SUMMARIZE_LEAST": "0"}  # each day is asked for
        subprocess.run([*RECALLD, "-w", str(root), "init"], env=environ, check=True, stdout=subprocess.DEVNULL)
        (root / "history.json").write_text(json.dumps(old_days(20), ensure_ascii=False), encoding="utf-8")
        running = subprocess.Popen([*RECALLD, "-w", str(root), "run"], env=environ, stdout=subprocess.DEVNULL)
        try:
            measure(
                root, server, lambda: sum(1 for name in ("queue", "running") for _ in (root / "worker" / name).glob("*.json"))
            )
        finally:
            running.terminate()
            running.wait()


if __name__ == "__main__":
    main()
