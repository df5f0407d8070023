"""
Where a worker gets its tasks and leaves its results: a claim holds one task, with all that is needed to do it.

The desk of a workspace is its folders: the queue, the log of calls, and `.recalld/pieces/`, where the finished pieces of an
unfinished summary are kept. They are found by what was asked for them, so that a worker that was killed, a second worker and
the next attempt pay for none of them again; they are deleted when their task is done, may be deleted at any time, and are
limited in number. Source: docs/reference/protocol.md, 6.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.dated_file import Block
from recalld.supervisor.protocol.llm import CallLog, PromptTemplate, endpoint_of, load_template
from recalld.supervisor.protocol.paths import WorkspacePaths, period_of_group
from recalld.supervisor.protocol.queue import Lease, TaskQueue
from recalld.supervisor.protocol.task import AskedTask, Result, Task
from recalld.supervisor.protocol.task_material import read_material
from recalld.supervisor.storage.files import Files
from recalld.supervisor.text.language import Language

#: The most pieces that are kept, of all groups together; the oldest are deleted first.
_MOST_PIECES: Final = 512
_DIGEST_DIGITS: Final = 24


class FolderDesk:
    """The desk of one workspace."""

    def __init__(self, files: Files, paths: WorkspacePaths, config: Config) -> None:
        self.files, self.paths, self.config = files, paths, config
        self.queue = TaskQueue(files, paths)

    def claim(self, *, asked_only: bool = False) -> FolderClaim | None:
        """Claim the next task, with *asked_only* one that somebody waits for; None when there is none."""
        task = self.queue.claim(endpoint_of(self.config.llm, {}).server, asked_only=asked_only)
        return FolderClaim(self, task) if task else None


class FolderClaim:
    """A task in `running/`, held by its lease; `crew.PoolClaim` has the same members for one of a pool."""

    def __init__(self, desk: FolderDesk, task: Task | AskedTask) -> None:
        self.task, self.config = task, desk.config
        self.lease = Lease(desk.files, desk.queue, task)
        self.log = CallLog(desk.files, desk.paths, desk.config.archive.zone)
        self._desk = desk

    @property
    def kept(self) -> Pieces | None:
        """The finished pieces of its group."""
        return Pieces(self._desk.files, self._desk.paths, self.task.group)

    @property
    def lost(self) -> bool:
        """Whether the lease was lost when its file was last looked at."""
        return self.lease.lost

    def material(self, *, with_extracts: bool) -> list[Block]:
        """Read the files that the task names; MaterialLost when one is gone or was changed."""
        assert isinstance(self.task, Task)  # noqa: S101 - the material of the others is in the task
        return read_material(self.task, self._desk.files, self._desk.paths, with_extracts=with_extracts)

    def template(self, name: str, language: Language) -> PromptTemplate:
        """Return the workspace's prompt, else the shipped one."""
        return load_template(name, language, self._desk.files, self._desk.paths)

    def held(self) -> bool:
        """Return whether this process still has the lease, by its file."""
        return self.lease.held()

    def finish(self, result: Result) -> None:
        """Write the result, once, and remove the running task."""
        self._desk.queue.finish(result)

    def give_back(self) -> None:
        """Put the task back into the queue, unless the lease is lost."""
        self.lease.requeue()


class Pieces:
    """The finished pieces of one group's unfinished summary."""

    def __init__(self, files: Files, paths: WorkspacePaths, group: str) -> None:
        if period_of_group(group) is None:
            raise ValueError(f"{group!r} is no group")
        self._files = files
        self._folder = paths.pieces
        self._group = group

    def find(self, request: str) -> str | None:
        """Return the kept answer to *request*, None when there is none."""
        with suppress(NotADirectoryError):
            self._files.check_folder(self._folder)
            version = self._files.read_stable(self._path(request))
            return version.data.decode("utf-8", "replace") if version else None
        return None

    def keep(self, request: str, answer: str) -> None:
        """Keep the answer. An error of the disk costs this piece at the next try, not the summary."""
        with suppress(OSError):  # FileExistsError among them: another worker was faster
            self._files.make_folder(self._folder)
            self._files.check_folder(self._folder)
            self._files.create(self._path(request), answer.encode("utf-8", "replace"))
            stats = self._files.disk.stats(self._folder)
            for name in sorted(stats, key=lambda name: stats[name].mtime_ns)[:-_MOST_PIECES]:
                self._files.remove(self._folder / name)

    def clear(self) -> None:
        """Delete the group's pieces, and temporary files that a crash left of them."""
        with suppress(OSError):
            self._files.check_folder(self._folder)
            for name in self._files.disk.names(self._folder):
                if name.removeprefix(".").startswith(f"{self._group}."):
                    self._files.remove(self._folder / name)

    def _path(self, request: str) -> Path:
        digest = hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()[:_DIGEST_DIGITS]
        return self._folder / f"{self._group}.{digest}.md"
