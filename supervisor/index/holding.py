"""A view that holds in memory what has changed since its commit, for a process that can't write the index, or not now."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from supervisor.index.commit import differing
from supervisor.index.fresh import Fresh, Held, hold
from supervisor.protocol.errors import SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from supervisor.deadline import Deadline
    from supervisor.index.catalogue import Record
    from supervisor.index.documents import Document
    from supervisor.index.view import View

#: Changed groups that are held at most, the newest.
_MOST: Final = 50


def holding(
    view: View,
    files: Mapping[str, Record],
    made: Callable[[str, Mapping[str, Record]], Iterator[Document]],
    deadline: Deadline,
) -> tuple[View, int]:
    """
    Return the view over the *files* as they now are, and how many changed groups it lacks.

    Groups are *made* of their files, the newest first, until the *deadline*; one that can't be read is lacking.
    """
    after = replace(view.catalogue, files=files)
    plan, members = after.planned(), after.members()
    changed, gone = differing(after.groups, plan)
    changed.sort(key=lambda name: -max(record.mtime_ns for record in members[name].values()))
    held = {name: Held() for name in gone}
    for name in changed[:_MOST]:
        known = view.fresh.groups.get(name)
        if known and known.keys == plan[name]:
            held[name] = known
        elif not deadline.is_over:
            with contextlib.suppress(OSError, SupervisorError):
                held[name] = hold(plan[name], made(name, members[name]))
    is_ahead = view.is_ahead or files != view.catalogue.files
    return replace(view, catalogue=after, fresh=Fresh(held), is_ahead=is_ahead), sum(name not in held for name in changed)
