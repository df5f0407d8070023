"""
Showing memory to the backend while nobody waits, so that in a turn it has only the question left to look at.

The newest files come first. What is learnt stands in the backend's own cache, so that it is done once for each content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.backends.backend import Learner
from supervisor.index.documents import cut_file
from supervisor.protocol.errors import SupervisorError

if TYPE_CHECKING:
    from supervisor.workspace import Workspace


def learn(ws: Workspace) -> int:
    """
    Show the backend every file of memory that it has not seen, and return how many.

    Where it fails, `backend_failed` tells, and the rest is for the next time; ends early where the workspace is told to stop.
    """
    backend = ws.rescoring.backend()
    if not isinstance(backend, Learner):
        return 0
    known = backend.learnt()
    records = ws.index.records()
    wanted = {f"{record.kind} {record.digest}": path for path, record in records.items()}
    lacking = sorted(wanted.keys() - known, key=lambda content: -records[wanted[content]].mtime_ns)
    done, fault = 0, ""
    for content in lacking:
        if ws.should_stop():
            break
        ws.progress("vectors", done, len(lacking))
        path = wanted[content]
        try:
            cuts = cut_file(ws.files, ws.layout, path, records[path], ws.zone)
        except (OSError, SupervisorError):
            continue
        try:
            backend.learn(content, [cut.unit for cut in cuts])
        except (OSError, ValueError) as error:
            fault = str(error)
            break
        done += 1
    ws.events.edge("backend_failed", fault, over="backend_back", backend=ws.config.recall.backend, why=fault)
    return done
