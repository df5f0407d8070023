"""What can be recovered from damaged JSON."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.supervisor.storage import lenient_json
from recalld.supervisor.storage.lenient_json import recover

# ── behind a fault ───────────────────────────────────────────────────────────

TALK = [
    {"id": str(n), "role": "user", "content": [{"type": "text", "text": f'第 {n} 句："备份" {{"路径": "D:\\n"}}'}]}
    for n in range(30)
]
COMPACT = json.dumps(TALK, ensure_ascii=False).encode()


def spoilt(before: str, after: str) -> bytes:
    """What somebody has made of it."""
    assert before.encode() in COMPACT
    return COMPACT.replace(before.encode(), after.encode(), 1)


@pytest.mark.parametrize(
    "data",
    [
        spoilt('}, {"id": "11"', '}，{"id": "11"'),
        spoilt('}, {"id": "11"', '} {"id": "11"'),
        COMPACT[:-1],
        COMPACT[:-1] + b",]",
        spoilt("[{", "[,{"),
        spoilt("[{", "{"),
        spoilt('}, {"id": "11"', '}], [{"id": "11"'),
        b'{"history": ' + COMPACT,
        COMPACT.decode().encode("utf-16"),
        COMPACT.decode().encode("utf-16-le"),
        COMPACT.decode().encode("utf-16-be"),
    ],
    ids=["，", "no comma", "no end", "trailing comma", "first comma", "no begin", "two arrays", "object", "bom", "le", "be"],
)
def test_recover_reads_all_that_a_typing_error_or_an_encoding_hides(data):
    found = recover(data)
    assert found.elements == TALK
    assert found.unread in ([], ['{"history": ['])


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"[\0", b"\0["])
def test_recover_takes_a_spoilt_beginning_for_no_utf16(junk):
    assert recover(junk + COMPACT).elements == TALK


messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "text": st.text(max_size=20)},
    optional={
        "id": st.text(max_size=3),
        "parts": st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5)), max_size=2),
    },
)


@given(
    st.lists(messages, min_size=1, max_size=12), st.sampled_from([None, 0, 2]), st.booleans(), st.binary(max_size=12), st.data()
)
def test_recover_loses_no_message_outside_of_a_broken_range(talk, indent, is_ascii, junk, data):
    parts = [json.dumps(one, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass") for one in talk]
    written = b"[" + b",\n".join(parts) + b"]"
    start = data.draw(st.integers(0, len(written)))
    end = data.draw(st.integers(start, len(written)))
    found = recover(written[:start] + junk + written[end:])
    kept = "\n".join(found.unread)
    at, expected = 1, []
    for part in parts:
        if at + len(part) < start or at > end:
            expected.append(json.loads(part))
        at += len(part) + 2
    restored = iter(found.elements)
    for one in expected:
        assert one in restored or json.dumps(one, ensure_ascii=is_ascii, indent=indent) in kept


@pytest.mark.parametrize(
    "piece",
    ["[", '{"a":', '{"a":"', '{"a":[1,', '{"', '{"role":"u"},[', '{"role":"x","a":[{"role":"u"},', '{"a":{"b":1},', '"{\\"'],
)
def test_recover_gives_a_hopeless_text_up(piece, monkeypatch):
    tries = 0
    decode = lenient_json._DECODER.raw_decode

    def counted(text: str, at: int) -> object:
        nonlocal tries
        tries += 1
        return decode(text, at)

    monkeypatch.setattr(lenient_json, "_DECODER", SimpleNamespace(raw_decode=counted))
    data = piece.encode() * (20_000 // len(piece))
    assert len(recover(data).elements) <= tries <= 4_001
