"""
Every place of a workspace: which files there are, what they hold, how a forgetting reaches it, and what a backup leaves out.

One table for all that has to go through a workspace as a whole. A file that recalld makes and the table lacks is a bug:
tests/storage/test_paths_written.py makes a workspace that uses everything, and looks for one.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias

from ..text.lazy_re import lazy_re

#: How a forgetting reaches a place:
#: `messages`: the messages are taken out of the file; `lines`: its lines are; `file`: a file that holds the words is deleted;
#: `remade`: what was made from the words is deleted, and made again from what is left; `names`: it names files, whose names may
#: have a word in them: these lines, and older logs, go; `person`: a person's own, which is named and never changed; `none`: it
#: holds no words.
Way: TypeAlias = Literal["messages", "lines", "file", "remade", "names", "person", "none"]
_DAY: Final = r"\d{4}-\d{2}-\d{2}"
#: What the next supervisor deletes: questions in words of messages, which recalld 0.26 and before kept, and
#: tables of later versions, until 0.40.
LEFT: Final = (".recalld/canaries.jsonl", ".recalld/files.json", ".recalld/found.json", ".recalld/long-term.json")
#: The name of a file that is being written.
_TEMPORARY: Final = r"\.[^/]+\.[0-9a-z]+-[0-9]+\.tmp"


@dataclass(frozen=True)
class Place:
    """
    One place: a *pattern* of paths from the root of the workspace, the code *what* of its name for people, and its *way*.

    *in_backup* is False for what only running programs need, or what can be made again.
    """

    what: str
    pattern: str
    way: Way
    in_backup: bool = True

    @cached_property
    def paths(self) -> re.Pattern[str]:
        """The pattern of its paths, compiled."""
        return re.compile(self.pattern, re.DOTALL)


#: A path belongs to the first place whose pattern it matches.
PLACES: Final = (
    Place("temporary", rf"(?:.*/)?{_TEMPORARY}", "file", in_backup=False),
    # the conversation, and its copies
    Place("history", r"history\.json", "messages"),
    Place("backup_version", r"history\.json\.bak", "messages"),
    Place("journal", r"\.recalld/seen\.jsonl", "messages"),
    Place("inbox", r"inbox\.json", "messages"),
    Place("drop_box", r"inbox\.d/new/.+", "messages"),
    Place("quarantine", r"\.recalld/quarantine/.+", "file"),
    Place("replaced", r"\.recalld/replaced/.+", "file"),
    # what is filed, and what is made from it
    Place("dated", rf"memory/(?:originals/\d{{4}}-\d{{2}}/)?{_DAY}(?:-[^/]+)?\.md", "messages"),
    Place("summaries", r"memory/summary/[^/]+", "remade"),
    Place("trash", r"trash/.+", "messages"),
    Place("attachments", r"attachments/.+", "file"),
    Place("previous", r"\.recalld/previous/.+", "file"),
    # what a person and the assistant write
    Place("long_term", r"memory\.md|MEMORY\.md|memory/MEMORY\.md", "lines"),
    Place("notes", r"memory/.+", "person"),
    Place("ended", r"\.recalld/ended\.jsonl", "lines"),
    Place("diary", r"CHANGES\.md", "none"),
    Place("acts", r"\.recalld/acts\.jsonl", "lines"),
    # turns and sessions
    Place("turns", r"turns/.+", "file"),
    Place("sessions", r"\.recalld/sessions/session-[0-9a-f]{16}\.json", "remade"),
    Place("chats", r"\.recalld/sessions/chat-[0-9a-f]{16}\.jsonl", "messages"),
    # the worker
    Place("tasks", r"worker/(?:(?:queue|running|results)/.+|failed/reply-[0-9a-f]{16}\.json)", "remade"),
    Place("failures", r"worker/failed/.+", "none"),
    Place("pieces", r"\.recalld/pieces/.+", "remade"),
    Place("calls", r"\.recalld/calls\.jsonl", "none"),
    # the index, and other tables that are made again
    Place("index", r"\.recalld/index(?:/.+)?", "remade", in_backup=False),
    Place("vectors", r"\.recalld/vectors(?:/.+)?", "remade", in_backup=False),
    Place("table", r"\.recalld/(?:files|long-term|found)\.json|\.recalld/canaries\.jsonl", "remade", in_backup=False),
    # what is reported
    Place("log", r"log(?:-[^/]+)?\.jsonl(?:\.gz)?", "names"),
    Place("nightly", r"\.recalld/fsck\.json", "names"),
    Place("nightly", r"\.recalld/backup\.json", "names", in_backup=False),
    Place("unread", r"\.recalld/(?:unread\.json|import-unread\.txt)", "none"),
    # what holds no words
    Place("forgotten", r"\.recalld/(?:forgotten\.jsonl|sources/.+)", "none"),
    Place("connections", r"\.recalld/connections\.json", "none"),
    Place("locks", r"(?:(?:history|inbox)\.json|memory\.md|\.recalld/(?:sessions/)?[^/]+)\.lock", "none", in_backup=False),
    Place("requests", r"\.recalld/(?:archive\.now|socket|socket\.path|token|open\.html|language)", "none", in_backup=False),
    # what is a person's
    Place("prompts", r"prompts/.+", "person"),
    Place("configuration", r"recalld\.toml", "person"),
)
#: Folders in which recalld alone makes files: what is in them and in no place is one that the table lacks.
OURS: Final = lazy_re(r"(?:\.recalld|worker|turns|attachments|trash|inbox\.d)/.*", re.DOTALL)
#: Any other file: a person's, or another program's.
OTHERS: Final = Place("others", r".*", "person")


@lru_cache(maxsize=4_096)
def place_of(path: str) -> Place | None:
    """
    Return the place of a file, by its path from the root of the workspace; None for one that recalld should not have made.

    >>> place_of("memory/2026-01-15-deploy.md").what
    'dated'
    """
    fitting = next((place for place in PLACES if place.paths.fullmatch(path)), None)
    return fitting or (None if OURS.fullmatch(path) else OTHERS)
