"""The operation that takes an act on memory back, by its id in CHANGES.md, as long as nothing was built on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..archive.diary import Act, sentence_of
from ..archive.memory_folder import DIGEST
from ..protocol.paths import Period
from ..storage.control import author, noting
from ..storage.errors import BadRequest
from ..storage.texts import Text
from ..text.comparing import Hunk, without
from ..workspace import Workspace
from .operation import Visible, operation

#: Kinds of acts that are never taken back; those of the supervisor alone, "archived" and "summary", are of 0.28 and older.
_LASTING: Final = ("archived", "summary", "forgotten", "hand", "undone")
_CHANGED: Final = Text("what it wrote was changed since, and would be lost")
_GONE: Final = Text("what was there before is no longer kept")


@dataclass(frozen=True, slots=True)
class Undone:
    """
    The act *id* of this *kind*, in a sentence (*what*); not *done* where it was taken back before.

    *taken* are the long-term lines that left with it, *back* those that stand again.
    """

    id: str
    kind: str
    what: str
    done: bool
    taken: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


@operation("undo", owner=True, within_s=60.0)
def undo(memory: Visible, id: str) -> Undone:  # noqa: A002 - its name in JSON
    """Take an act back; BadRequest, and nothing changes, if it is none, or if something was built on it."""
    ws, caller = memory.ws, memory.caller
    act = ws.diary.acts().get(id.strip())
    if act is None:
        no_act = Text(
            "CHANGES.md has no act {id!r}, or what it needs is no longer kept; the id is in the line of the act",
            id=id.strip()[:40],
        )
        raise BadRequest("id", no_act)
    if act.kind in _LASTING:
        raise BadRequest(
            act.id,
            Text(
                "such an act is not taken back; what can be is a line that was written, replaced, ended or deleted, an edit of a summary, and a prune"
            ),
        )
    if act.undone:
        return Undone(act.id, act.kind, sentence_of(act), done=False)
    try:
        with noting():  # what is done for it is no act of its own
            _take_back(ws, act)
    except (KeyError, TypeError, ValueError) as error:  # a line of acts.jsonl that somebody has changed
        raise BadRequest(act.id, _GONE) from error
    ws.diary.record_undone(act, caller.clock(), author(caller.interface, "undo"))
    changed = act.fields.get("hunks", ())
    back, taken = (tuple(line for hunk in changed for line in str(hunk[side]).splitlines()) for side in (1, 2))
    return Undone(act.id, act.kind, sentence_of(act), True, taken, back)


def _take_back(ws: Workspace, act: Act) -> None:
    if act.kind == "edited":
        _take_summary_back(ws, act)
    elif act.kind == "pruned":
        if not ws.trash.bring_back([str(name) for name in act.fields["files"]]):
            raise BadRequest(act.id, _GONE)
    elif "hunks" in act.fields:
        _take_lines_back(ws, act)
    else:
        from ..recall.ended import take_ended_back

        with ws.files.lock(ws.paths.history_lock):
            if not take_ended_back(ws.files, ws.paths, str(act.fields["of"]), str(act.fields["name"])):
                raise BadRequest(act.id, _CHANGED)


def _take_lines_back(ws: Workspace, act: Act) -> None:
    changed = [Hunk(int(start), str(old), str(new)) for start, old, new in act.fields["hunks"]]

    def rule(text: str) -> str:
        if (left := without(text, changed)) is None:
            raise BadRequest(act.id, _CHANGED)
        return left

    after = ws.long_term.change(rule)
    if not after.text and act.fields.get("made"):
        ws.files.remove(ws.paths.root / after.path)


def _take_summary_back(ws: Workspace, act: Act) -> None:
    period = Period(str(act.fields["period"]))
    place = ws.paths.summary(period)
    version = ws.files.read_stable(place)
    if version is None or version.digest[:DIGEST] != act.fields["digest"]:
        raise BadRequest(act.id, _CHANGED)
    label, summaries = period.label[: len("2026-01")], ws.memory.summaries()
    day, month = summaries.get(period), summaries.get(Period(label))
    if period.kind == "day" and day and month and not month.extract and {*month.sources} & {*day.sources}:
        made_from = Text(
            "the summary of {month} was made from it since; edit the day by hand, then run `recalld summary redo {month}`",
            month=label,
        )
        raise BadRequest(act.id, made_from)
    before = ws.files.read_shown(ws.paths.previous / str(act.fields["previous"]))
    if before is None:
        raise BadRequest(act.id, _GONE)
    ws.files.replace(place, before.data, version)
