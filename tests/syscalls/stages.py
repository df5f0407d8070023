"""
The stages of a message's way that are swept: what lies there, which command is run over it, what has been promised.

Together they are all of it: met and archived, summarised by the worker, taken in and moved, and added in the first place.
"""

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import recalld.worker.__main__
from recalld.worker.loop import Worker
from tests.checker.checker import Acked, Given, check_folder
from tests.process import forked

NOW: Final = "2026-01-28T12:00:00.000Z"
ZONE: Final = "Asia/Shanghai"
ENVIRON: Final = forked.plain_environ(
    RECALLD_NOW=NOW,
    RECALLD_ARCHIVE_TIMEZONE=ZONE,
    RECALLD_ARCHIVE_KEEP_NEWEST="3",
    RECALLD_HISTORY_SOFT_CAP="8",
    RECALLD_ARCHIVE_JITTER="0",
)
#: A person's own files, and the summary that a person has edited; none of their bytes may change.
EDITED: Final = "memory/summary/2026-01-18.md"
OWN: Final = {
    "memory.md": "2026-01-02|web-chat|对花生过敏；喝美式\n",
    "memory/2026-01-27-旅行.md": "# 旅行\n\n去大理，住古城北门。\n",
}
TEXTS: Final = (
    "明天把 nginx 的配置备份一下。",
    "好的，已记下：备份放在 /srv/backup。",
    "我对花生过敏，点外卖要备注。",
    "Renew git.example.com.",
)


def _said(prefix: str, *days: str) -> list[Acked]:
    return [
        Acked(f"{prefix}-{n}", f"{TEXTS[n % len(TEXTS)]}（{prefix} {n}）", f"{day}T0{n % 10}:00:00.000Z", "user")
        for n, day in enumerate(days)
    ]


#: What was archived, summarised and merged before the stages begin, and what they begin with.
EARLIER: Final = _said(
    "earlier", "2025-11-03", "2025-11-03", "2025-11-20", "2025-12-24", "2026-01-18", "2026-01-18", "2026-01-26"
)
FRESH: Final = _said("fresh", "2025-11-03", "2025-12-24", "2026-01-18", "2026-01-20", "2026-01-27", "2026-01-28", "2026-01-28")
DROPPED: Final = Acked("dropped-0", "从别的程序来的一句。", "2026-01-19T09:00:00.000Z", "user")
ADDED: Final = _said("added", "2026-01-28", "2026-01-20", "2025-12-30")


@dataclass
class Stage:
    """A folder to begin with, and what is run over a copy of it. *words* of "worker" is the worker's thread."""

    name: str
    words: tuple[str, ...]
    begin: Path
    promised: list[Acked]
    adds: list[Acked] = field(default_factory=list)
    own: dict[str, bytes] = field(default_factory=dict)

    @property
    def is_worker(self) -> bool:
        return self.words[0] == "worker"

    @property
    def given(self) -> Path:
        """What the command reads from standard input."""
        return self.begin.parent / "added.jsonl" if "--jsonl" in self.words else Path(os.devnull)

    def run(self, root: Path) -> Callable[[], int]:
        if not self.is_worker:
            return forked.command(root, *self.words)

        def work() -> int:
            recalld.worker.__main__.Worker = Held
            return forked.work(["--workspace", str(root), "--idle", "0"])

        return work

    def copy(self, root: Path) -> None:
        """Put what the stage begins with into *root*."""
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.begin, root)

    def judge(self, root: Path, out: str = "") -> list[str]:
        """What is wrong once everything is settled; each id in *out* was given back to a writer."""
        added = {one.id: one for one in self.adds}
        acked = [*self.promised, *(added[line] for line in out.split() if line in added)]
        offered, touched = {one.text for one in (*self.promised, *self.adds)}, {EDITED} & self.own.keys()
        now = datetime.fromisoformat(NOW)
        given = Given.of_writers(now, ZONE, by_writer=True, offered=offered, touched_paths=touched, kept=self.own)
        return check_folder(root, acked, given)


class Held(Worker):
    """A worker whose thread waits to be watched before it begins."""

    def _work(self, *words: object) -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # to itself: to the process, it would run on a little
        super()._work(*words)  # type: ignore[arg-type]


def prepare(folder: Path) -> dict[str, Stage]:
    """Make the beginnings of all stages below *folder*; each is what the one before leaves."""
    root = folder / "workspace"
    (folder / "added.jsonl").write_text(lines(ADDED), encoding="utf-8")
    _do(root, "init")
    _do(root, "append", "--jsonl", text=lines(EARLIER))
    _do(root, "run", "--until-settled")
    stages = {
        "init": Stage("init", ("init",), folder / "nothing", []),
        "append": _stage(folder, "append", ("append", "--jsonl"), EARLIER, ADDED),
    }
    (folder / "nothing").mkdir()
    _let_people_write(root)
    _do(root, "append", "--jsonl", text=lines(FRESH))
    own = {path: (root / path).read_bytes() for path in (*OWN, EDITED)}
    settling = ("run", "--until-settled", "--no-worker")
    for name, words in (("archive", settling), ("worker", ("worker",)), ("harvest", settling)):
        stages[name] = stage = _stage(folder, name, words, [*EARLIER, *FRESH, DROPPED])
        stage.own = own
        if name == "worker":
            forked.Child(lambda: forked.work(["--workspace", str(root), "--idle", "0"]), ENVIRON).wait()
        else:
            _do(root, *words)
    return stages


def _let_people_write(root: Path) -> None:
    """Let a person edit a summary and keep notes, and another program drop a message."""
    summary = root / EDITED
    summary.write_text(
        summary.read_text(encoding="utf-8").replace("备份", "**备份**") + "\n我自己补一句：盘在二楼。\n", encoding="utf-8"
    )
    for path, text in OWN.items():
        (root / path).write_text(text, encoding="utf-8")
        (root / path).chmod(0o600)
    dropped = root / "inbox.d" / "new" / "one.json"
    dropped.write_text(lines([DROPPED]), encoding="utf-8")
    dropped.chmod(0o600)


def _stage(folder: Path, name: str, words: tuple[str, ...], promised: list[Acked], adds: list[Acked] | None = None) -> Stage:
    """The stage that begins with the workspace as it is now."""
    begin = folder / name
    shutil.copytree(folder / "workspace", begin)
    return Stage(name, words, begin, promised, adds or [])


def _do(root: Path, *words: str, text: str = "") -> None:
    code, out, err = forked.run(root, *words, environ=ENVIRON, text=text)
    if code or err:
        raise AssertionError(f"{words} ended with {code}: {out} {err}")


def lines(said: list[Acked]) -> str:
    """The messages as `append --jsonl` takes them."""
    raws = ({"id": one.id, "role": "user", "text": one.text, "createdAt": one.created_at} for one in said)
    return "".join(f"{json.dumps(raw, ensure_ascii=False)}\n" for raw in raws)
