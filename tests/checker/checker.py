"""
What must hold of a workspace, whatever happened to it: the judge of every trial. It shares no code with the product.

It is given the files, what was acknowledged to writers, the time, and what people did on purpose; it answers with sentences,
none when all is well. Source: docs/reference/protocol.md, 3 to 6.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.checker.calm import calm
from tests.checker.formats import read_lines, sha16
from tests.checker.given import Acked, Given
from tests.checker.reading import DATED, Seen, read, read_folder, text_of, time_of
from tests.checker.spoken import spoken, strings

__all__ = ["Acked", "Given", "check", "check_folder"]

#: The waits after a failure (docs/reference/protocol.md, 3), and the share by which chance makes them longer or shorter.
_WAITS = tuple(timedelta(minutes=minutes) for minutes in (10, 30, 120, 360, 720, 1440))
_JITTER = 0.11
_PICTURE = re.compile(rb"attachments/[0-9a-f]{32}\.[a-z0-9]{1,5}")
#: A text of so many characters that stands in the log was not put there by chance.
_TELLING = 12
_TITLES = ("# What was done to memory", "# 记忆里发生过什么")
_LINE = re.compile(r"- \d{4}-\d\d-\d\d \d\d:\d\d · ([aefhdprstuw]-[0-9a-f]{8}) · (\S.*[^\s{}])")
#: What `undo` needs of an act, by its kind.
_NEEDED = {
    **dict.fromkeys(("written", "replaced", "deleted", "text"), "hunks"),
    **dict.fromkeys(("summary", "edited"), "digest"),
    "pruned": "files",
}
_HEAD_LINES = 4


def check(
    files: Mapping[str, bytes], acked: Sequence[Acked], given: Given, modes: Mapping[str, int] | None = None
) -> list[str]:
    """Return what is wrong with the workspace whose *files* are these, by their path from its root."""
    wrong: list[str] = []
    seen = read(files, given, wrong)
    wrong += _kept(seen, acked, given)
    wrong += _once(seen)
    wrong += _flags(seen, given)
    wrong += _sources(seen, given)
    wrong += _theirs(files, given)
    wrong += _pictures(files, given)
    wrong += _schedule(seen)
    wrong += spoken(seen, acked, given)
    wrong += _diary(files, calm=given.calm)
    if given.calm:
        wrong += calm(files, seen, given)
    log = "\n".join(strings(read_lines(files.get("log.jsonl", b""))))
    wrong += [f"the log holds the words of {one.id}" for one in acked if len(one.text) >= _TELLING and one.text in log]
    for path, mode in (modes or {}).items():
        if mode & 0o077:
            wrong.append(f"{path} has mode {mode:04o}")
    return wrong


def check_folder(root: Path, acked: Sequence[Acked], given: Given) -> list[str]:
    """Return what is wrong with the workspace in a real folder, and what leads out of it."""
    files, modes, outside = read_folder(root)
    return [*outside, *check(files, acked, given, modes)]


def _pictures(files: Mapping[str, bytes], given: Given) -> list[str]:
    """What a dated file or the journal names in attachments/ is there, whole."""
    wrong = []
    for path, data in files.items():
        if not path.startswith("memory/") and path != ".recalld/seen.jsonl":
            continue
        for name in sorted({*_PICTURE.findall(data)} if path not in given.touched_paths else ()):
            found = files.get(name.decode())
            if found is None or not _PICTURE.fullmatch(name) or hashlib.sha256(found).hexdigest()[:32].encode() not in name:
                wrong.append(f"LOST: {path} names {name.decode()}, which is {'gone' if found is None else 'not whole'}")
    return wrong


def _kept(seen: Seen, acked: Sequence[Acked], given: Given) -> list[str]:
    """Every acknowledged message stands word for word in history.json or in a dated file."""
    in_history = {(str(one.get("id", "")), text_of(one)) for one in seen.history}
    nameless = Counter((text_of(one), given.moment(time_of(one))) for one in seen.history)
    for words, _ in seen.texts():
        if (words.id, words.text) not in in_history:
            nameless[words.text, given.moment(words.created_at)] += 1
    wrong = []
    for one, count in Counter(acked).items():
        if one.id in given.deleted_ids:
            continue
        if one.id and (one.id, one.text) not in in_history and (one.id, one.text) not in seen.words:
            wrong.append(f"LOST: {one.id} {one.text[:40]!r}")
        if not one.id and nameless[one.text, given.moment(one.created_at)] < count:
            wrong.append(f"LOST: {one.created_at} {one.text[:40]!r}")
    return wrong


def _once(seen: Seen) -> list[str]:
    """No message is written twice; a dated file lies in one place, but for a move that a crash cut in half."""
    wrong = []
    for (identity, _), paths in seen.words.items():
        names = {path.rpartition("/")[2] for path in paths}
        if len(names) > 1 or len(set(paths)) < len(paths):
            wrong.append(f"DOUBLE: {identity} is in {' and '.join(paths)}")
    return wrong


def _flags(seen: Seen, given: Given) -> list[str]:
    """`true` means that the words are in a dated file; what a task is made from is no longer `false`."""
    return [
        f"{one.get('id')} has the flag {one.get('archived', False)!r}, but {why}"
        for one in seen.history
        for why in _contradictions(one, seen, given)
    ]


def _contradictions(one: Mapping[str, Any], seen: Seen, given: Given) -> Iterator[str]:
    flag = one.get("archived", False)
    own = {path.rpartition("/")[2] for path in seen.words.get((str(one.get("id", "")), text_of(one)), ())}
    files = own | seen.nameless.get((text_of(one), time_of(one)), set())
    renumbered = text_of(one) in given.counts and text_of(one) in seen.filed  # its program gave it another id on the way
    if flag not in (True, False, "pending"):
        yield "there is no such flag"
    revised = not given.calm and str(one.get("id", "")) in seen.ids  # the words before these are written
    if flag is True and not files and not revised and not renumbered and str(one.get("id", "")) not in given.deleted_ids:
        yield "its words are in no dated file"
    if flag is False and own & seen.in_flight:  # the same words met without an id are another message until it is adopted
        yield "a task with its words is in flight"
    if given.calm and flag == "pending":
        yield "nothing is in flight"
    if given.calm and flag is not True and files:
        yield "its words are written"
    if given.all_written and flag is not True:
        yield "every message was to be archived"


def _sources(seen: Seen, given: Given) -> list[str]:
    """Every summary names files that are there, with the bytes that they have, each once and of its own period."""
    wrong = []
    named: Counter[tuple[str, int]] = Counter()
    gone = given.touched_names
    for period, summary in seen.summaries.items():
        for name, digest in summary.sources.items():
            named[name, len(period)] += 1
            if not name.startswith(period):
                wrong.append(f"summary {period} names {name}")
            if name in gone:
                continue
            if name not in seen.data:
                wrong.append(f"summary {period} names {name}, which is not there")
            elif sha16(seen.data[name]) != digest:
                wrong.append(f"summary {period} names {name} with another digest")
    names = {name for name, _ in named} | gone
    taken = tuple(_summaries_taken(seen, given))
    for name, paths in seen.places.items():
        is_original = any(match[1] for path in paths if (match := DATED.fullmatch(path)))
        if is_original and name not in names and not name.startswith(taken):
            wrong.append(f"{name} lies in originals/, and no summary names it")
    return wrong + [f"{name} is named by {count} summaries of one kind" for (name, _), count in named.items() if count > 1]


def _summaries_taken(seen: Seen, given: Given) -> Iterator[str]:
    """Yield the periods whose summary a person deleted or emptied of its sources, and that has not been made anew."""
    for name in given.touched_names:
        period = name.removesuffix(".md")
        if period not in seen.summaries or not seen.summaries[period].sources:
            yield period


def _theirs(files: Mapping[str, bytes], given: Given) -> list[str]:
    """A person's bytes stand as they were; below them in a summary there may be newer machine text."""
    wrong = []
    for path, data in given.kept.items():
        name = path.rpartition("/")[2]
        places = [path, f"memory/originals/{name[:7]}/{name}"]
        found = next((files[place] for place in places if place in files), b"")
        is_kept = found.startswith(data) if path.startswith("memory/summary/") else found == data
        wrong += [] if is_kept else [f"{path} lost a person's words"]
    return wrong


def _schedule(seen: Seen) -> list[str]:
    """What failed is tried again after the wait that its attempts ask for, and its messages say the same."""
    wrong = []
    for group, failure in seen.failures.items():
        attempts = failure["attempts"]
        wait = datetime.fromisoformat(failure["nextAt"]) - datetime.fromisoformat(failure["failedAt"])
        due = _WAITS[min(attempts, len(_WAITS)) - 1]
        if attempts < 1 or not (1 - _JITTER) * due <= wait <= (1 + _JITTER) * due:
            wrong.append(f"{group} waits {wait} after {attempts} failures")
    for one in seen.history:
        told = {key for key in ("archiveAttempts", "archiveFailedAt", "archiveNextAt") if key in one}
        if told and (len(told) < 3 or one.get("archived") is True):
            wrong.append(f"{one.get('id')} tells of its failure by halves: {', '.join(sorted(told))}")
    return wrong


# ── the diary ────────────────────────────────────────────────────────────────


def _diary(files: Mapping[str, bytes], *, calm: bool) -> list[str]:
    """What is wrong with CHANGES.md and `.recalld/acts.jsonl`: each act is there once, each line whole, unless *calm* but for the last."""
    acts = [one for one in read_lines(files.get(".recalld/acts.jsonl", b"")) if "id" in one]
    data = files.get("CHANGES.md", b"")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.rpartition(b"\n")[0].decode() + "\n\N{REPLACEMENT CHARACTER}"
    if not text:
        return []
    if not text.startswith(_TITLES):
        return ["CHANGES.md does not begin with its title"]
    *lines, last = text.split("\n")[_HEAD_LINES:]
    wrong = [f"CHANGES.md has a line that is not whole: {line!r}" for line in lines if not _LINE.fullmatch(line)]
    wrong += [f"CHANGES.md ends within a line: {last!r}"] if last and calm else []
    told = [match[1] for line in lines if (match := _LINE.fullmatch(line))]
    wrong += _told_once("CHANGES.md", told) + _told_once("acts.jsonl", [str(one["id"]) for one in acts])
    wrong += [f"acts.jsonl lacks {needed} of {one['id']}" for one in acts if (needed := _lacks(one))]
    return wrong + (_untold(told, [str(one["id"]) for one in acts]) if calm else [])


def _told_once(name: str, ids: Sequence[str]) -> list[str]:
    return [f"{name} has {one} {count} times" for one, count in Counter(ids).items() if count > 1]


def _lacks(act: Mapping[str, Any]) -> str:
    needed = _NEEDED.get(str(act.get("kind")), "")
    return needed if needed not in ("", *act) else ""


def _untold(told: Sequence[str], acts: Sequence[str]) -> list[str]:
    """Every act behind one that is told is told."""
    first = next((n for n, one in enumerate(acts) if one in told), len(acts))
    return [f"CHANGES.md does not tell of {one}" for one in acts[first:] if one not in told]
