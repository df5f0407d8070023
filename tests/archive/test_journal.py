"""The seen journal: which messages were met, where their text is, and which of them another program has lost."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.journal import SeenJournal
from recalld.supervisor.protocol.dated_file import block_of
from recalld.supervisor.protocol.message import with_timestamp
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import NewerFormat
from recalld.supervisor.storage.files import Files
from tests.world import ZONE, at, message, parsed

NAME = "2026-01-30-nginx.md"


ONE, TWO = parsed(message("1", "2026-01-30T09:00", "花生过敏")), parsed(message("2", "2026-01-30T09:01", "记住了"))
UNTIMED = with_timestamp(parsed({"id": "m-1", "role": "user", "text": "早"}), at("2026-01-31T10:00"))


@pytest.fixture
def paths(tmp_path: Path) -> WorkspacePaths:
    (tmp_path / ".recalld").mkdir()
    return WorkspacePaths(tmp_path)


def open_journal(paths: WorkspacePaths) -> SeenJournal:
    journal = SeenJournal(Files(RealDisk()), paths, ZONE)
    journal.refresh()
    return journal


def answers(journal: SeenJournal) -> dict[str, Any]:
    known = journal.known
    return {
        "written": dict(journal.written),
        "unwritten": {key: dict(one.raw) for key, one in journal.unwritten.items()},
        "by base": {base: sorted(ids) for base, ids in known.by_fingerprint.items() if ids},
        "here": set(known.in_history),
        "times": dict(known.times),
        "ids": set(known.ids),
        "back": set(journal.reinserted),
        "names": set(journal.names),
        "has words": {one for one in known.ids if journal.has_written(one)},
    }


def test_journal_stores_the_text_of_unwritten_messages_only(paths):
    journal = open_journal(paths)
    journal.record_written(NAME, [block_of(ONE)])
    journal.record_seen([TWO])
    text = paths.seen.read_text()
    assert "记住了" in text
    assert "花生" not in text


@pytest.mark.parametrize(
    "line",
    [
        *(b"{}", b"[]", b"7", b"\xff", b'{"seen": 7}', b'{"seen": {"role": "user"}}', b'{"written": [["1"]], "file": "x"}'),
        *(
            b'{"written": 7}',
            b'{"here": 7}',
            b'{"back": [7]}',
            b'{"dropped": null}',
            b'{"renumbered": [[{}]]}',
            b'{"recalld": "x"}',
            b'{"unknown": 1}',
        ),
        *(b"[" * 10_000, b'{"left": {}}', b'{"written": [["1", "2"]]}'),
    ],
)
def test_journal_ignores_an_invalid_line(paths, line):
    journal = open_journal(paths)
    journal.record_seen([ONE])
    with paths.seen.open("ab") as file:
        file.write(line + b"\n")
    journal.record_seen([TWO])
    assert list(open_journal(paths).unwritten) == [ONE.key, TWO.key]


def test_journal_refuses_a_newer_format(paths):
    paths.seen.write_text('{"recalld": 2}\n')
    with pytest.raises(NewerFormat):
        open_journal(paths)


# ── keeping it small ─────────────────────────────────────────────────────────


def acts() -> st.SearchStrategy[list[tuple[str, list[int]]]]:
    verbs = st.sampled_from(["saw", "wrote", "adopted", "looked", "note_reinserted"])
    return st.lists(st.tuples(verbs, st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True)), max_size=12)


POOL = [
    ONE,
    TWO,
    UNTIMED,
    parsed(message("1", "2026-01-30T09:00", "改了")),
    parsed(message("4", "2026-01-30T09:00", "花生过敏", "agent")),
]
POOL.append(with_timestamp(parsed({"id": "m-2", "role": "user", "text": "早", "createdAt": "昨天"}), at("2026-01-31T11:00")))


@given(acts())
def test_journal_gives_the_same_answers_after_compaction(tmp_path_factory, story):
    paths = WorkspacePaths(tmp_path_factory.mktemp("journal"))
    (paths.root / ".recalld").mkdir()
    journal = open_journal(paths)
    for n, (verb, numbers) in enumerate(story):
        chosen = [POOL[number] for number in numbers]
        match verb:
            case "saw":
                journal.record_seen(chosen)
            case "wrote":
                journal.record_written(f"2026-01-30-x-{n}.md", [block_of(one) for one in chosen])
            case "adopted":
                journal.record_adopted(f"2026-01-30-note-{n}.md", chosen)
            case "looked":
                journal.record_history(chosen)
            case _:
                journal.record("back", [one.key for one in chosen if one.key in journal.unwritten])
    before = answers(journal)
    journal.compact()
    assert answers(journal) == before
    assert answers(open_journal(paths)) == before


def test_journal_is_read_anew_where_it_is_replaced_meanwhile(paths):
    open_journal(paths).record_seen([ONE])
    other = open_journal(paths)
    other.record_written(NAME, [block_of(ONE)])

    class Replacing(RealDisk):
        done = False

        def read(self, path: Path, offset: int = 0, most: int = -1) -> bytes:
            data = super().read(path, offset, most)
            if not self.done:
                self.done = True
                other.record_seen([TWO])
                other.compact()
            return data

    journal = SeenJournal(Files(Replacing()), paths, ZONE)
    journal.refresh()
    assert answers(journal) == answers(open_journal(paths))
