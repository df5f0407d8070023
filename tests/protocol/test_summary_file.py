"""A summary file: the text of a worker, its sources, and a person's bytes, which stay an exact prefix."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.protocol.summary_file import Source, Summary, parse_summary, render_summary
from recalld.supervisor.storage.errors import NewerFormat

HERE = Path("memory/summary/2026-01-15.md")
ONE, TWO = Source("2026-01-15-nginx.md", "9f8a3c0012345678", 12), Source("2026-01-15-pnpm.md", "00aa3c0012345678", 3)
SUMMARY = Summary(
    period="2026-01-15",
    zone="Asia/Shanghai",
    created="2026-01-21T02:00:00.000Z",
    text="## 部署\n\n超时改成 30 秒。",
    sources=(ONE,),
    provider="openai",
    model="qwen3:8b",
    prompt="3f2a",
)


def parse(data: bytes) -> Summary:
    return parse_summary(data, "2026-01-15", HERE)


def test_render_summary_header_has_at_most_12_lines_and_marks_an_extract():
    head = render_summary(replace(SUMMARY, extract=True, empty=True)).decode().split("---\n")[1].splitlines()
    assert len(head) <= 12
    assert {"extract: true", "empty: true"} <= set(head)


# ── a person's edits ─────────────────────────────────────────────────────────

EDITS = st.binary(max_size=60) | st.text(max_size=30).map(str.encode) | st.just(b"---\nrecalld: 1\n---\n")


@given(st.lists(st.tuples(EDITS, st.integers(0, 600)), min_size=1, max_size=4))
def test_render_summary_replaces_only_unedited_generated_text(edits):
    machine = data = render_summary(SUMMARY)
    for n, (edit, place) in enumerate(edits):
        data = data[:place] + edit + data[place:]
        try:
            before = parse(data)
        except NewerFormat:
            return
        newer = replace(SUMMARY, text=f"## 第 {n} 次", sources=before.sources)
        whole = render_summary(replace(newer, kept=before.kept))
        assert whole.startswith(data) or (data.endswith(machine) and whole.startswith(data.removesuffix(machine)))
        machine, data = render_summary(newer), whole


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
    .map(str.strip)
    .filter(lambda text: text and "<!-- recalld" not in text),
    st.sets(
        st.builds(
            Source,
            st.from_regex(r"2026-01-15-[a-z0-9-]{1,32}\.md", fullmatch=True),
            st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
            st.integers(0, 999),
        ),
        max_size=3,
    ),
)
def test_parse_summary_restores_any_text_and_sources(text, sources):
    by_name = {source.name: source for source in sources}
    written = replace(SUMMARY, text=text, sources=tuple(sorted(by_name.values())))
    found = parse(render_summary(written))
    # CRLF is read as a line break: an editor may have saved the file with it
    assert (found.text, found.sources, found.kept) == (text.replace("\r\n", "\n"), written.sources, "")
    assert [source.count for source in found.sources] == [source.count for source in written.sources]
