"""The tables of the seen journal: what mappings of Python's would answer, in a quarter of their memory."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.archive.seen_tables import Fingerprints, Ids, Written

IDS = st.sampled_from(["", "1", "2", "标识", "\ud800", "m-00000000000000ff", "a" * 300])
DIGESTS = st.integers(0, 40).map(lambda n: f"{n * 0x0123456789ABCDEF % (1 << 64):016x}")
FILES = st.sampled_from(["", "2026-01-30-nginx.md", "2026-01-31-花生.md"])


@given(st.lists(st.tuples(st.sampled_from(["put", "move", "lose", "learn"]), IDS, DIGESTS, FILES), max_size=120), st.booleans())
def test_tables_answer_as_mappings_would(acts, keeps_answers):
    ids = Ids()
    written, fingerprints = Written(ids), Fingerprints(ids)
    written.keep_answers(kept=keeps_answers)
    known: dict[str, None] = {}
    files: dict[tuple[str, str], str] = {}
    words: dict[str, str] = {}
    by_fingerprint: dict[str, dict[str, None]] = {}
    for act, identity, digest, file in acts:
        assert written.get((identity, digest)) == files.get((identity, digest))
        if act == "lose":
            written.lose((identity, digest))
            files.pop((identity, digest), None)
            continue
        known[identity] = None
        owner = ids.add(identity)
        if act == "learn":
            fingerprints.add(digest, owner)
            by_fingerprint.setdefault(digest, {})[identity] = None
        else:
            written.put(owner, digest, file, moved=act == "move")
            files[identity, digest] = file if act == "move" else files.get((identity, digest), file)
            words[identity] = digest
    assert (list(ids), len(ids)) == (list(known), len(known))
    assert (dict(written), len(written)) == (files, len(files))
    assert {one: tuple(found) for one, found in fingerprints.items()} == {one: tuple(f) for one, f in by_fingerprint.items()}
    assert {one: written.words(one) for one in ids if written.words(one)} == words
    for identity in known:
        assert {*written.files_of([identity])} == {file for key, file in files.items() if key[0] == identity}
        assert sorted(fingerprints.by_id()(ids.row(identity))) == sorted(d for d, f in by_fingerprint.items() if identity in f)
    assert {key: file for file, key in written.keys_in(["", "2026-01-31-花生.md", "x"])} == {
        key: file for key, file in files.items() if file != "2026-01-30-nginx.md"
    }


def test_tables_have_no_text_that_is_no_digest():
    ids = Ids()
    written, fingerprints = Written(ids), Fingerprints(ids)
    ids.add("1")
    for digest in ("", "7", "-000000000000001", "x" * 16):
        assert written.get(("1", digest)) is None
        assert fingerprints.get(digest, ()) == ()


def test_tables_can_be_read_at_each_line_of_a_change():
    ids = Ids()
    written, fingerprints = Written(ids), Fingerprints(ids)
    owners = [ids.add("1"), ids.add("2")]
    written.put(owners[0], "0" * 16, "a.md")
    fingerprints.add("f" * 16, owners[0])
    fingerprints.add("f" * 16, owners[1])
    found = fingerprints["f" * 16]
    answers = []

    def read(_frame, _event, _argument):
        answers.append((written.files_of(["1", "2"]), [*written.keys_in(["a.md", "b.md"])], written.rows_by_file(), [*written]))
        return read

    before = sys.gettrace()
    sys.settrace(read)
    try:
        written.put(owners[1], "1" * 16, "b.md")
    finally:
        sys.settrace(before)
    assert len(answers) > 10
    assert {len(keys) for _, keys, _, _ in answers} == {1, 2}
    fingerprints.add("f" * 16, ids.add("3"))
    assert [*found] == ["1", "2"]
