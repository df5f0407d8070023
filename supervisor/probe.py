"""
The background check of recall: new canaries from each archive run, and a few asked again, each at most once a day.

Gather what was archived and is kept, let policy/canary decide, write down how it went. A fall of the rate is an event; words
of messages never leave the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from supervisor.canaries import CanaryStore
from supervisor.policy.canary import A_RUN, KEPT, answered, choose, due, is_found, level, rate, sample, stands
from supervisor.recall import recall

if TYPE_CHECKING:
    from datetime import datetime

    from supervisor.canaries import Kept
    from supervisor.policy.canary import Canary
    from supervisor.policy.coverage import MemoryFile
    from supervisor.workspace import Workspace

#: Canaries that one check asks at most; messages of a file among which one is chosen.
A_CHECK: Final = 5
_LOOKED_AT: Final = 12


def probe(ws: Workspace, now: datetime) -> int:
    """
    Take canaries from the archive runs since the last check and ask a few that are due; returns how many were asked.

    The index is as the files are. It ends early where the workspace is told to stop.
    """
    # gather
    store = CanaryStore(ws.files, ws.layout)
    before = store.read()
    kept = _with_new(ws, before, now)
    # decide, one by one
    asked = 0
    for canary in due(kept.canaries, now, A_CHECK):
        if ws.should_stop():
            break
        answer = _answer(ws, canary, now)
        after_it = [answer if one is canary else one for one in kept.canaries]
        kept = replace(kept, canaries=tuple(one for one in after_it if one))
        asked += answer is not None
    # apply
    after = rate(kept.canaries)
    expected, has_fallen = level(kept.level, after)
    kept = replace(kept, level=expected)
    if kept != before:
        store.write(kept)
    if has_fallen:
        ws.events.emit("recall_fell", found=after.found, asked=after.asked, before=round(before.level, 4))
    return asked


def _with_new(ws: Workspace, kept: Kept, now: datetime) -> Kept:
    """Return what is kept with the canaries of the runs that came after; at first of the newest runs that it can hold."""
    runs: dict[datetime, list[MemoryFile]] = {}
    until = min(kept.until, now) if kept.until else None
    for file in ws.memory.dated():
        if file.ours and file.created and (until is None or until < file.created <= now):
            runs.setdefault(file.created, []).append(file)
    found = []
    for run in sorted(runs)[-(KEPT // A_RUN) :]:
        chosen = (_choose(ws, name) for name in sample([file.name for file in runs[run]]))
        found += [canary for canary in chosen if canary]
    newest = max(runs, default=kept.until)
    return replace(kept, canaries=(*kept.canaries, *found)[-KEPT:], until=newest)


def _choose(ws: Workspace, name: str) -> Canary | None:
    messages = sample([(block.id, block.text) for block in ws.memory.blocks(name)], _LOOKED_AT)
    return choose(name, messages, ws.index.frequency)


def _answer(ws: Workspace, canary: Canary, now: datetime) -> Canary | None:
    """Return the canary, asked; None where its message is no longer there as it was, so that it is asked no more."""
    if not stands(canary, ((block.id, block.text) for block in ws.memory.blocks(canary.file))):
        return None
    standing = ws.memory.summaries()
    named = [period for period, one in standing.items() if any(source.name == canary.file for source in one.sources)]
    covering = {ws.layout.relative(ws.layout.summary(period)) for period in named}
    return answered(canary, now, found=is_found(canary, recall(ws, canary.question, now).hits, covering))
