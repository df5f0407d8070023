"""A workspace whose model is a scripted server: tasks for the worker, and the worker as a process."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from recalld.supervisor.host.workers import worker_command
from recalld.supervisor.protocol.dated_file import Block, render_dated
from recalld.supervisor.protocol.paths import period_of_group
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.protocol.summary_file import Source, Summary, render_summary
from recalld.supervisor.protocol.task import Result, Task, parse_result, task_id
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.files import digest_of
from recalld.worker.providers import choose
from tests.llm.server import Server
from tests.process.prepared import Process
from tests.world import WITHOUT_MODEL, ZONE, World, at

KEY = "sk-test-4f9a1c77e2d84b0f"
NOW = at("2026-01-31T10:00")
#: Sentences of which a day is made that is longer than a context.
SENTENCES = (
    "备份脚本上传失败，改到凌晨 4:15，端口 8443。",
    "We moved the demo to Aug 28, room 305.",
    "预算 5350 元，押一付三。",
)


class ServedWorld(World):
    """The workspace at *root*, whose model is the scripted *server*; *llm* are lines of [llm], *more* further tables."""

    def __init__(self, root: Path, server: Server, llm: str = "", more: str = "", now: datetime = NOW) -> None:
        root.mkdir(exist_ok=True)
        self.root, self.server = root, server
        super().__init__(root, now, self._toml(llm, more))

    def configure(self, llm: str) -> None:
        """Start a new process with other lines of [llm]."""
        self.reopen(self._toml(llm))

    def _toml(self, llm: str, more: str = "") -> str:
        toml = (
            f'{WITHOUT_MODEL}[llm]\nbase_url = "{self.server.url}"\nmodel = "qwen-test"\n{llm}\n[worker]\nlease = "2s"\n{more}'
        )
        (self.root / "recalld.toml").write_text(toml, encoding="utf-8")
        return toml

    @property
    def task_queue(self) -> TaskQueue:
        return self.ws.task_queue

    def provider(self) -> Any:
        return choose(self.ws.config, {"OPENAI_API_KEY": KEY})

    def settle(self, runs: Any = "all") -> None:
        """Do all that is due now; no step may fail."""
        for _ in range(60):
            done = self.round(runs)
            assert not done.errors
            if not self.work() and not done.did and not self.task_queue.active_groups():
                return
        raise AssertionError("it never settles")

    # ── what a supervisor does ───────────────────────────────────────────────

    def day(self, label: str, texts: Sequence[str], slug: str = "talk", minutes: int = 1) -> Source:
        """Write a dated file: question and answer in turn, so many minutes each."""
        first = at(f"{label}T09:00")
        blocks = [
            Block(f"{label}-{n}", "assistant" if n % 2 else "user", text, first + timedelta(minutes=n * minutes), {})
            for n, text in enumerate(texts)
        ]
        data = render_dated(date.fromisoformat(label), ZONE.key, ZONE, NOW, blocks)
        name = f"{label}-{slug}.md"
        self.files.create(self.paths.dated(name), data)
        return Source(name, digest_of(data)[:16], len(texts))

    def daily(self, label: str, text: str, *, extract: bool = False) -> str:
        """Write a daily summary; returns the name by which material calls it."""
        summary = Summary(
            period=label, zone="Asia/Shanghai", created=to_wire(NOW), text=text, sources=(), provider="x", extract=extract
        )
        period = period_of_group(f"day-{label}")
        assert period
        self.files.create(self.paths.summary(period), render_summary(summary))
        return f"summary/{label}.md"

    def submit_task(self, group: str, *sources: Source, attempt: int = 0, **more: Any) -> Task:
        """Submit the task of a group."""
        kind = "daily-summary" if group.startswith("day-") else "monthly-summary"
        fields: dict[str, Any] = {
            "id": task_id(group, sources, attempt),
            "kind": kind,
            "group": group,
            "period": group.partition("-")[2],
            "zone": "Asia/Shanghai",
            "sources": sources,
            "material": tuple(source.name for source in sources),
            "attempt": attempt,
            **more,
        }
        task = Task(**fields)
        assert self.task_queue.submit(task)
        return task

    # ── the worker ───────────────────────────────────────────────────────────

    def do(self) -> Result:
        """Let a worker in this process do one task; it must deliver."""
        result = self.worker().run_once()
        assert result
        return result

    def start_worker(self, *, idle_s: float = 0.2, **environ: str) -> subprocess.Popen[str]:
        """Start a worker process; a new one if it gets variables of its own, which a library may read as it is loaded."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        words = ["--workspace", str(self.root), "--idle", str(idle_s)]
        return (subprocess.Popen if environ else Process)(
            [*worker_command(self.root), *words[2:]] if environ else ["worker", *words],
            cwd=self.root,
            env={**_environ(), "PYTHONPATH": path, "OPENAI_API_KEY": KEY, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    # ── what lies there ──────────────────────────────────────────────────────

    def results(self) -> list[Result]:
        return [parse_result(path.read_bytes()) for path in sorted(self.task_queue.results.glob("[!.]*"))]

    def queued(self) -> list[str]:
        return sorted(json.loads(path.read_bytes())["group"] for path in self.task_queue.queue.iterdir())


def _environ() -> dict[str, str]:
    """The variables of this process, but for settings of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RECALLD_")}


def long_day(count: int) -> list[str]:
    """*count* different messages of about 27 tokens."""
    return [f"{SENTENCES[n % 3]}（第 {n} 条）" for n in range(count)]
