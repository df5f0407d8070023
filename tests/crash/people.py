"""Workloads of people: they edit and delete what recalld has written, and keep files of their own beside it."""

from collections.abc import Sequence
from typing import ClassVar

from recalld.supervisor.operations.long_term import write
from recalld.supervisor.operations.operation import Caller, perform
from tests.checker.checker import Acked
from tests.crash.model_disk import ModelDisk
from tests.crash.program import Program
from tests.crash.talking import JANUARY, TOLD
from tests.crash.workload import Copied, Deleted, Gone, Workload, keep


def first(disk: ModelDisk, folder: str) -> str:
    """The path of the first Markdown file under *folder*."""
    return min(path for path in disk.tree() if path.startswith(folder) and path.endswith(".md"))


def take_away(disk: ModelDisk, promised: Sequence[object]) -> None:
    """A person takes the words away that were promised."""
    for one in [one for one in promised if isinstance(one, Acked)]:
        disk.ack(Deleted(one.id))


class Edited(Workload):
    """A person writes into a summary, and a late message makes a newer text: theirs stays above it."""

    before: ClassVar = (JANUARY, TOLD)

    def happen(self, life: Program) -> None:
        path = first(life.disk, "memory/summary/")
        theirs = life.disk.tree()[path].replace("## 摘要".encode(), "## 我改的摘要\n\n其实是周三。".encode())
        keep(life.disk, path, theirs)
        life.say("迟", "那天还说了这句。", "2026-01-20T09:00:00.000Z")


class Written(Workload):
    """A person has three lines written, each in the diary; what a crash kept from it is told by who writes next."""

    before: ClassVar = (JANUARY, TOLD)

    def happen(self, life: Program) -> None:
        for line in ("一条", "两条", "三条"):
            perform(write, life.ws, {"content": line}, Caller(clock=life.clock, interface="command"))


class SummaryDeleted(Workload):
    """A person throws a summary away: it is made anew, and nothing moves back."""

    before: ClassVar = (JANUARY, TOLD)

    def happen(self, life: Program) -> None:
        path = first(life.disk, "memory/summary/")
        life.disk.remove(path)
        life.disk.ack(Gone(path))


class Notes(Workload):
    """A person's own files lie among ours, one of them named like a dated file: they are read, and never changed."""

    before: ClassVar = (JANUARY,)
    theirs: ClassVar = {
        "memory.md": "2026-01-01|网聊|喜欢茶；怕冷\n# 自己写的\n".encode(),
        "memory/2026-01-20-my-note.md": "# 周二\n\n自己记的一笔。\r\n".encode(),
        "memory/2026-01-28-draft.md": b"\xc4\xe3\xba\xc3 gb18030\n",
        "memory/想法.md": "---\ntitle: 想法\n---\n正文\n".encode(),
        "memory/.2026-01-20-my-note.md.swp": b"vim",
        "memory/summary/readme.tmp": "别删".encode(),
        "prompts/daily-summary.md.txt": b"{messages}",
        "worker/queue/说明.txt": "别动".encode(),
    }

    def prepare(self, disk: ModelDisk) -> None:
        for path, data in self.theirs.items():
            keep(disk, path, data)

    def happen(self, life: Program) -> None:
        theirs = "# 周二\n\n又改了一笔。\n".encode()
        life.say("一", "今天的话。", "2026-01-28T01:00:00.000Z")
        life.at(self.now).settle()
        keep(life.disk, "memory/2026-01-20-my-note.md", theirs)


class DatedEdited(Workload):
    """A person takes a message out of a dated file that is told already: it stays out, and the day is told anew."""

    before: ClassVar = (JANUARY, TOLD)

    def happen(self, life: Program) -> None:
        path = first(life.disk, "memory/originals/")
        begin, mark, _ = life.disk.tree()[path].rpartition(b"<!-- {")
        assert mark
        keep(life.disk, path, begin)
        take_away(life.disk, self.promised)
        life.say("一", "今天的话。", "2026-01-28T01:00:00.000Z")


class Copies(Workload):
    """A synchroniser leaves copies of a dated file beside it before its day is told, and of the summary afterwards."""

    before: ClassVar = (JANUARY,)

    def happen(self, life: Program) -> None:
        self.copy(life, first(life.disk, "memory/2026"), " (1)", "-DESKTOP-7K3")
        life.at(self.now).settle()
        self.copy(life, first(life.disk, "memory/summary/"), " (1)")
        life.say("迟", "周二的报告改期了。", "2026-01-20T09:00:00.000Z")

    def copy(self, life: Program, path: str, *tails: str) -> None:
        for tail in tails:
            copy = Copied(path.replace(".md", f"{tail}.md"), life.disk.tree()[path])
            life.disk.plant(*copy)
            life.disk.ack(copy)
