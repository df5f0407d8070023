"""What must hold once all due work is done: nothing is left over, and every memory is in its place."""

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime

from tests.checker.formats import sha16, split_head
from tests.checker.given import Given
from tests.checker.reading import DATED, PROVIDER, Seen


def calm(files: Mapping[str, bytes], seen: Seen, given: Given) -> list[str]:
    """Return what is wrong with a workspace that has come to rest."""
    return [*_left_over(files, seen, given), *_out_of_place(files, seen, given)]


def _left_over(files: Mapping[str, bytes], seen: Seen, given: Given) -> Iterator[str]:
    for path, data in files.items():
        if path.endswith(".tmp") and path not in given.kept:
            yield f"{path} was left behind"
        if path.startswith("worker/") and path != PROVIDER and path not in given.kept:
            yield f"{path} is still there"
        if path.startswith("inbox.d/new/") and path.endswith(".json") and _is_json(data):
            yield f"{path} was not taken in"
    provider = json.loads(files.get(PROVIDER, b"{}"))
    since, until = (datetime.fromisoformat(provider[key]) if provider.get(key) else None for key in ("failedAt", "nextAt"))
    if until and until > given.now and not (since and since > given.now):  # what failed in days to come is no wait
        yield f"{PROVIDER} still waits"
    if seen.journal is not None:
        for path in seen.dated:
            if path.rpartition("/")[2] not in seen.journal:
                yield f"the seen journal does not know {path}"


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _out_of_place(files: Mapping[str, bytes], seen: Seen, given: Given) -> Iterator[str]:
    standing = {(name, digest) for summary in seen.summaries.values() for name, digest in summary.sources.items()}
    last_month = _month_before(given.today)
    for name, paths in seen.places.items():
        if len(paths) > 1:
            if name in given.touched_names and len({files[path] for path in paths}) > 1:
                continue  # a crash had shown it twice, and a person wrote into one of them: fsck tells, and nobody else decides
            yield f"{name} lies in {len(paths)} places"
        path = paths[0]
        match = DATED.fullmatch(path)
        assert match
        day = match[3]
        covered = (name, sha16(seen.data[name])) in standing
        old = (given.today - type(given.today).fromisoformat(day)).days > given.recent_days
        headed = bool(split_head(seen.data[name].decode("utf-8", "replace"))[0])
        if not headed and (match[1] or name in (seen.journal or ())):
            continue  # a person destroyed a file of ours: it can be told from a note, and nothing can be made of it
        if old and not covered and not (given.shows_short and name[:7] >= last_month and _is_short(day, seen)):
            yield f"{path} is old and no summary names it"
        if old and covered and headed and match[1] is None:
            yield f"{path} is covered and lies in memory/"
        if match[1] is not None and match[1] != name[:7]:
            yield f"{path} lies in originals/, in another month"
        if old and name[:7] < last_month and name not in _named_by(seen, name[:7]):
            yield f"{name} is of a closed month, and {name[:7]}.md does not name it"


def _is_short(day: str, seen: Seen) -> bool:
    """Whether the day has few short messages, so that its files stand in the place of an extract; a note counts as one."""
    of_day = [(name, paths[0]) for name, paths in seen.places.items() if name.startswith(day)]
    messages = sum(len(seen.dated[path].words) if path in seen.dated else 1 for _, path in of_day)
    return messages <= 12 and sum(len(seen.data[name]) for name, _ in of_day) <= 4_000


def _named_by(seen: Seen, period: str) -> Collection[str]:
    return seen.summaries[period].sources if period in seen.summaries else ()


def _month_before(today: date) -> str:
    year, month = (today.year, today.month - 1) if today.month > 1 else (today.year - 1, 12)
    return f"{year:04d}-{month:02d}"
