"""What stands in the files against what was said: none more often, none with other circumstances, none in another order."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta

from tests.checker.given import Acked, Given
from tests.checker.reading import Seen, text_of, time_of

#: Stored times have milliseconds.
_EXACT = timedelta(milliseconds=1)
_WHOLE = timedelta(seconds=1)
#: Other programs' spellings of a role.
_ROLES = {"agent": "assistant", "teller": "assistant", "human": "user", "用户": "user", "ai": "assistant", "助手": "assistant"}


def spoken(seen: Seen, acked: Sequence[Acked], given: Given) -> list[str]:
    """Return where the files say something else than was said."""
    wrong = [*_ids_once(seen), *_counted(seen, given)]
    if given.offered is not None:
        wrong += [*_texts_once(seen, acked, given), *_as_said(seen, acked, given), *_invented(seen, given, given.offered)]
    return wrong + (_out_of_order(seen, acked, given) if given.ordered or given.by_writer else [])


def _texts_once(seen: Seen, acked: Sequence[Acked], given: Given) -> Iterator[str]:
    """Yield the words that stand in more dated files than they were said: whatever ids they were given on the way."""
    said = Counter(text for _, text in {(one.id, one.text) for one in acked if one.id})
    said += Counter(one.text for one in acked if not one.id)
    places = {(words.id, words.text, path.rpartition("/")[2]) for words, path in seen.texts()}
    found = Counter(text for _, text, name in places if name not in given.touched_names)
    for text, count in found.items():
        if count > said[text] > 0:
            yield f"DOUBLE: {text[:40]!r} was said {said[text]} times, and is written {count} times"


def _counted(seen: Seen, given: Given) -> Iterator[str]:
    """Yield the words that are written more often than they were said, or at last more rarely than they were met."""
    places = {(words.id, words.text, path.rpartition("/")[2]) for words, path in seen.texts() if words.text in given.counts}
    found = Counter(text for _, text, _ in places)
    for text, (met, said) in given.counts.items():
        if found[text] > said:
            yield f"DOUBLE: {text[:40]!r} was said {said} times, and is written {found[text]} times"
        if given.all_written and found[text] < met:
            yield f"LOST: {text[:40]!r} was met {met} times, and is written {found[text]} times"


def _ids_once(seen: Seen) -> Iterator[str]:
    """Yield the messages that stand twice in history.json; one that was said in other words may stand there in both."""
    for (identity, _), count in Counter((str(one["id"]), text_of(one)) for one in seen.history if one.get("id")).items():
        if count > 1:
            yield f"DOUBLE: history.json holds an id {'twice' if count == 2 else f'{count} times'}: {identity}"


def _as_said(seen: Seen, acked: Sequence[Acked], given: Given) -> Iterator[str]:
    """Yield the messages that have another time or role than their writer gave them; an impossible time is not kept."""
    said: defaultdict[tuple[str, str], list[Acked]] = defaultdict(list)
    for one in acked:
        if one.id:
            said[one.id, one.text].append(one)
    for identity, text, created_at, role, where in _all(seen):
        ones = said.get((identity, text), ())
        roles = {_ROLES.get(one.role, one.role) for one in ones if one.role}
        if roles and all(one.role for one in ones) and _ROLES.get(role, role) not in roles:
            yield f"{identity} was said by {' or '.join(sorted(roles))}, and {where} has {role}"
        times = [given.instant(one.created_at) for one in ones]
        known = [time for time in times if time]
        at = given.instant(created_at)
        near = _WHOLE if where == "history.json" else _EXACT  # another program may write that one in whole seconds
        if known and len(known) == len(times) and (at is None or all(abs(time - at) > near for time in known)):
            yield f"{identity} is of {ones[0].created_at}, and {where} has {created_at}"


def _all(seen: Seen) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield id, text, time, role and place of each message that keeps the time it came with."""
    for words, path in seen.texts():
        if not words.judged:
            yield words.id, words.text, words.created_at, words.role, path
    for one in seen.history:
        if "createdAtFound" not in one:
            yield str(one.get("id", "")), text_of(one), time_of(one), str(one.get("role", "")), "history.json"


def _invented(seen: Seen, given: Given, offered: Collection[str]) -> Iterator[str]:
    """Yield what nobody has ever said."""
    for identity, text, _, _, where in _all(seen):
        if text not in offered and where.rpartition("/")[2] not in given.touched_names:
            yield f"INVENTED: {identity} {text[:40]!r} in {where}"


def _out_of_order(seen: Seen, acked: Sequence[Acked], given: Given) -> list[str]:
    """Messages stand in history.json and in each dated file in the order they came, all or those of each writer."""
    place = {one.id: n for n, one in reversed(list(enumerate(acked)))}  # of words said anew, the first time counts
    rows = [("history.json", [str(one["id"]) for one in seen.history if one.get("id") in place])]
    rows += [(path, [one.id for one in file.words if one.id in place]) for path, file in seen.dated.items()]
    wrong = []
    for path, ids in rows:
        writers: defaultdict[str, list[str]] = defaultdict(list)
        for identity in ids:
            writers["" if given.ordered else identity.rpartition("-")[0]].append(identity)
        pairs = (pair for of_one in writers.values() for pair in itertools.pairwise(of_one))
        wrong += [f"{b} stands behind {a} in {path}" for a, b in pairs if place[a] > place[b]]
    return wrong[:1]


def strings(value: object) -> Iterator[str]:
    """Every text that a JSON value holds, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
