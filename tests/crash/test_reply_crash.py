"""The file turn under the crash explorer: whenever the machine dies, each input is answered once, with its question in one write."""

import errno
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from recalld.supervisor.host.answering import FileTurns
from recalld.supervisor.host.lock import reclaim, sweep
from recalld.supervisor.host.round import run_round
from recalld.supervisor.index.hit import SearchResult
from recalld.supervisor.operations.history import adder
from recalld.supervisor.protocol.config import load
from recalld.supervisor.protocol.llm import Prompt
from recalld.supervisor.storage.lenient_json import render_json
from recalld.supervisor.workspace import Workspace
from recalld.worker.desk import FolderDesk
from recalld.worker.loop import Worker
from recalld.worker.providers import Completion, Usage
from tests.crash.explorer import Explorer
from tests.crash.file_workloads import Case, Honest
from tests.crash.model_disk import ModelDisk
from tests.crash.test_files_crash import refuse_each_call
from tests.world import WITH_MODEL, Clock, EventList, at, message

pytestmark = pytest.mark.proof

NOW = at("2026-01-31T10:00")
#: History is trimmed at once: what was answered may have left it when the next program looks.
CONFIG = load(
    f'{WITH_MODEL}[turns]\nreply = "worker"\n[history]\nsoft_cap = 1\nhard_cap = 1\n'.encode(),
    {"RECALLD_ARCHIVE_KEEP_NEWEST": "1"},
)
INPUTS = [
    {"id": f"问{n}", "text": f"第{n}个问题？", "createdAt": f"2026-01-31T01:5{n}:00.000Z", "session": session}
    for n, session in enumerate(("甲", "甲", "群:group:乙"))
]
MARK = re.compile(r"k[0-9a-f]{10}")


def filed_words(tree: dict[str, bytes]) -> str:
    return "\n".join(data.decode() for path, data in tree.items() if re.fullmatch(r"memory/[0-9-]+-[^/]*\.md", path))


class Answering(Case):
    """Two inputs of one conversation and one of a group; the model words its answer anew at each call."""

    start: ClassVar = {
        "inbox.json": render_json(INPUTS),
        "history.json": render_json([message("旧", "2026-01-30T09:00", archived=True)]),
        ".recalld/空": b"",
        **{
            f"{folder}/空": b""
            for folder in ("turns", "memory/summary", "memory/originals", ".recalld/previous", "inbox.d/new")
        },
    }
    looks = False

    def __init__(self) -> None:
        self.calls = 0

    def program(self, disk: ModelDisk, name: str = "first") -> Workspace:
        ws = Workspace(disk.root, CONFIG, Honest(disk, name), EventList(Clock(NOW)))
        # the index lies outside the model: what recall finds is nothing to what is written here
        vars(ws)["searcher"] = self
        return ws

    def for_input(self, *_: object) -> SearchResult:
        return SearchResult()

    def work(self, disk: ModelDisk) -> None:
        ws = self.program(disk)
        ws.prepare()
        self.settle(ws)

    def settle(self, ws: Workspace) -> None:
        clock = Clock(NOW)
        append = adder(ws, clock)
        turns = FileTurns(ws, clock, append, self.look, self.remember)
        worker = Worker(FolderDesk(ws.files, ws.paths, ws.config), self, clock)
        for _ in range(20):
            turns._seen = None
            turns.step()
            ws.events.all.clear()  # type: ignore[attr-defined]
            if worker.run_once(asked_only=True) is None and not ws.task_queue.replies():
                return

    def recover(self, disk: ModelDisk) -> None:
        ws = self.program(disk, "second")
        ws.prepare()
        sweep(ws)
        reclaim(ws)
        for folder in (ws.task_queue.results, ws.paths.turns, ws.paths.drop_box):
            ws.files.sweep(folder)
        if not self.looks:  # another program speaks: what was answered leaves history.json before the answers are looked at
            adder(ws, Clock(NOW))({"id": "后", "role": "user", "text": "后来的话", "session": "丙"})
        run_round(ws, NOW, everything=True)
        self.settle(ws)
        run_round(ws, NOW, everything=True)

    def glance(self, disk: ModelDisk, _acks: Sequence[object]) -> list[str]:
        """A question of an unfinished turn stands nowhere without its answer, nor an answer without its question."""
        try:
            said = [one["text"] for one in json.loads(disk.tree().get("history.json", b"[]"))]
        except ValueError:
            return []

        def has(begin: str) -> bool:
            return any(text.startswith(begin) for text in said)

        pairs = (("第1个问题", "答甲"), ("第2个问题", "答乙"))
        return [f"{question} and {answer} are apart" for question, answer in pairs if has(question) != has(answer)]

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        filed = filed_words(tree)
        told = Counter({word: filed.count(word) for word in ("第0个问题", "第1个问题", "第2个问题", "答甲", "答乙")})
        wrong = [f"{word} is filed {count} times" for word, count in told.items() if count != 1]
        wrong += [f"{path} is left" for path in tree if re.match(r"worker/\w+/(?:reply|lookup)-", path)]
        return wrong + ([] if json.loads(tree["inbox.json"]) == [] else ["the inbox is not empty"])

    # ── the model behind the worker, and what an answer may ask for ──────────

    name, model, extract = "scribe", "qwen-test", False

    def complete(self, prompt: Prompt, *, calling: Callable[[], None], **_: Any) -> Completion:
        calling()
        self.calls += 1
        question = prompt[-1][1]
        if "<found>" in question:
            return Completion(f"又查到了，第{self.calls}次", Usage(1, 7, 7))
        who = "乙" if "第2个" in question else "甲"
        mark = MARK.findall(question)[-1]
        asks = f"\n\n```recalld {mark}\nsearch_memory 部署\n```" if self.looks and who == "甲" else ""
        return Completion(f"答{who}，第{self.calls}次{asks}", Usage(1, 7, 7))

    def look(self, *_: object) -> str:
        return "查到：部署在周五"

    def remember(self, *_: object) -> None:
        raise AssertionError


class LookingFurther(Answering):
    """The first answer asks for a look further: the second message follows it, once."""

    looks = True

    def wrong(self, tree: dict[str, bytes], acks: list[Any]) -> list[str]:
        found = filed_words(tree).count("又查到了")
        return super().wrong(tree, acks) + ([] if found == 1 else [f"the second message is filed {found} times"])


@pytest.mark.parametrize("case", [Answering, LookingFurther])
def test_each_input_is_answered_once_after_any_crash(case: type[Answering]) -> None:
    trial = case()
    report = Explorer(trial.recover, trial.check, trial.glance, limit=12).explore(trial.work, trial.started().state)
    assert not report.failures, str(report)
    assert report.states > 50


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
def test_each_input_is_answered_once_after_any_io_error(error: int) -> None:
    refuse_each_call(Answering, error)
