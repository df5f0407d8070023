"""Each kind of log and export: what is recognised, and which messages it has, with their roles, times and conversations."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from recalld.supervisor.importing.kinds import kinds_of
from recalld.supervisor.importing.source import NotImported, Source
from recalld.supervisor.importing.talk import Reading
from recalld.supervisor.storage.clock import to_wire
from tests.importing import made
from tests.world import ZONE, at

#: Of each kind: role, seconds (UTC), text; the conversation; and the entries that could not be read.
EXPECTED: dict[str, tuple[Callable[[Path], Path], list[str], dict[str, int]]] = {
    "chatgpt": (
        made.chatgpt,
        [
            "2026-01-05T08:01:00.250Z c-1 user Mira moved to Porto on 3 January.",
            "2026-01-05T08:01:03.000Z c-1 assistant Noted: Porto, since 3 January.",
            "2026-01-05T08:02:00.000Z c-1 user [image]\n这是她的新家。",
            "2026-01-06T11:46:40.000Z c-2 user 房租从一月起是 4200 元。",
            "2026-01-06T11:46:43.000Z c-2 assistant 好的，记住了。",
        ],
        {},
    ),
    "claude": (
        made.claude,
        [
            "2026-01-05T08:00:00.000Z cv user My dentist is on Friday at nine.\n[letter.pdf]",
            "2026-01-05T08:00:04.000Z cv assistant Friday, nine o'clock.",
        ],
        {"conversation": 1},
    ),
    "telegram": (
        made.telegram,
        [
            "2026-01-05T01:00:00.000Z telegram:77 user Mira: Hi",
            "2026-01-05T01:01:00.000Z telegram:77 user Jonas: The code is at https://example.org",
            "2026-01-05T01:02:00.000Z telegram:77 user Mira: [photo]",
            "2026-01-05T01:03:20.000Z telegram:88 group user 阿宁: 周六爬山，七点集合。",
        ],
        {},
    ),
    "whatsapp": (
        made.whatsapp,
        [
            "2026-01-05T06:03:12.000Z whatsapp:Mira user Mira: Can you bring the ladder?\nOn Saturday, please.",
            "2026-01-05T06:04:00.000Z whatsapp:Mira user Jonas: [image]",
            "2026-01-13T00:00:00.000Z whatsapp:Mira user Jonas: 好的，周六带梯子。",
            "2026-01-13T00:00:00.000Z whatsapp:Mira user Jonas: 好的，周六带梯子。",
        ],
        {},
    ),
    "claude-code": (
        made.claude_code,
        [
            "2026-01-05T09:00:01.000Z s-1 user Why does the checkout test fail? <private>key 123</private>",
            "2026-01-05T09:00:03.000Z s-1 assistant I look at the test.",
            "2026-01-05T09:00:12.000Z s-1 assistant 税率写成了 0.19，应该是 0.07。",
        ],
        {},
    ),
    "codex": (
        made.codex,
        [
            "2026-01-06T09:00:01.000Z sess-1 user Rename the table to orders",
            "2026-01-06T09:00:04.000Z sess-1 assistant 改好了：orders。",
        ],
        {},
    ),
    "jsonl": (
        made.json_lines,
        [
            "2026-01-11T09:00:00.000Z home user The boiler is serviced in March",
            "- talk-2 user 锅炉三月保养。",
            "2099-01-01T00:00:00.000Z home user It is a Vaillant",
        ],
        {"message": 2},
    ),
    "recalld": (
        made.workspace,
        ["2026-01-02T09:00:00.000Z user 外婆住在青岛。", "2026-01-12T09:00:00.000Z user Oma's birthday is on 9 May"],
        {"message": 1},
    ),
}


def read(path: Path) -> tuple[str, list[str], Reading]:
    """The kind of the source, a line for each message, and what could not be read."""
    source = Source(path)
    ((kind, names),) = kinds_of(source).items()
    lines, log = [], Reading(source=source, zone=ZONE, latest=at("2026-12-31T00:00"))
    for said in chain.from_iterable(kind.read(log, name) for name in names):
        place = " ".join(filter(None, (said.session, said.chat)))
        speaker = f"{said.name}: " if said.name else ""
        lines.append(" ".join(filter(None, (to_wire(said.at) if said.at else "-", place, said.role, f"{speaker}{said.text}"))))
    source.close()
    return kind.name, lines, log


@pytest.mark.parametrize("name", EXPECTED)
def test_reader_knows_its_kind_and_yields_what_was_said(name, tmp_path):
    make, expected, unread = EXPECTED[name]
    kind, lines, log = read(make(tmp_path))
    assert (kind, lines, dict(log.unread)) == (name, expected, unread)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("28/01/2026, 14:03 - Mira: one", "29/01/2026, 2:03 pm - Mira: two", "2026-01-28T06:03:00.000Z"),
        ("1/28/26, 2:03\u202fPM - Mira: one", "1/29/26, 2:03\u202fPM - Mira: two", "2026-01-28T06:03:00.000Z"),
        ("2026/1/2 下午2:03 - 米拉: 一", "2026/1/3 上午2:03 - 米拉: 二", "2026-01-02T06:03:00.000Z"),
        ("03/02/2026, 14:03 - Mira: one", "01/03/2026, 14:03 - Mira: two", "2026-02-03T06:03:00.000Z"),
    ],
)
def test_whatsapp_finds_the_order_of_day_and_month(tmp_path, first, second, expected):
    (tmp_path / "WhatsApp Chat with Mira.txt").write_text(f"{first}\n{second}\n", encoding="utf-8")
    _, lines, _ = read(tmp_path)
    assert lines[0].split()[0] == expected


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("\u200eimage omitted", ["[image]"]),
        ("<Media omitted>", ["[image]"]),
        ("‹省略多媒体文件›", ["[image]"]),
        ("\u200e<attached: 00000012-PHOTO-2026-01-05.jpg>", ["[00000012-PHOTO-2026-01-05.jpg]"]),
        ("\u200eThis message was deleted.", ["[This message was deleted.]"]),
        ("\u200e语音通话，3 分钟", ["[语音通话，3 分钟]"]),
        ("<3", ["<3"]),
        ("This message was deleted", ["[This message was deleted]"]),
        ("Du hast diese Nachricht gelöscht.", ["[Du hast diese Nachricht gelöscht.]"]),
        ("这条消息已被删除。", ["[这条消息已被删除。]"]),
        ("null", ["[null]"]),
        ("Null", ["Null"]),
        ("This message was deleted, she says", ["This message was deleted, she says"]),
        ("at nine <This message was edited>", ["at nine"]),
        ("um neun\num zehn \u200e<Diese Nachricht wurde bearbeitet.>", ["um neun\num zehn"]),
        ("九点见\u200e<消息已编辑>", ["九点见"]),
        ("a caption \u200e<attached: 12.jpg>", ["a caption <attached: 12.jpg>"]),
        ("it said <This message was edited>, odd", ["it said <This message was edited>, odd"]),
    ],
)
def test_whatsapp_names_pictures_and_brackets_its_own_sentences(tmp_path, written, kept):
    entries = [
        "Mira: \u200eNachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.",
        "Jonas: ok",
        "登山: \u200e米拉 created this group",
        f"Mira: {written}",
        "Mira: ja",
    ]
    text = "".join(f"[28.01.26, 14:03:1{n}] {entry}\n" for n, entry in enumerate(entries))
    (tmp_path / "_chat.txt").write_text(text, encoding="utf-8")
    _, lines, left = read(tmp_path)
    assert [line.partition("user ")[2] for line in lines] == ["Jonas: ok", *(f"Mira: {words}" for words in kept), "Mira: ja"]
    assert left.left_out == {"whatsapp": 2}


def test_note_of_whatsapp_is_no_other_message(tmp_path):
    """The ids are those under which 0.42.0 added what it took for words."""
    entries = [
        "03/02/2026, 14:03 - Mira: This message was deleted",
        "13/02/2026, 14:03 - Mira: at nine <This message was edited>",
    ]
    (tmp_path / "WhatsApp Chat with Mira.txt").write_text("\n".join(entries), encoding="utf-8")
    source = Source(tmp_path)
    ((kind, names),) = kinds_of(source).items()
    log = Reading(source=source, zone=ZONE, latest=at("2026-12-31T00:00"))
    assert [said.id for said in kind.read(log, names[0])] == ["whatsapp:bc05d390cdb9781c", "whatsapp:65c9a2ba9bb454f6"]


def test_folder_of_many_exports_has_each_file_read_as_its_own_kind(tmp_path: Path) -> None:
    for number, (make, _, _) in enumerate(EXPECTED.values()):
        if make is not made.workspace:
            (tmp_path / str(number)).mkdir()
            make(tmp_path / str(number))
    assert {kind.name for kind in kinds_of(Source(tmp_path))} == {*EXPECTED} - {"recalld"}


#: A message in Chinese, as any program writes it.
SAID = {"role": "user", "content": "锅炉三月保养。", "timestamp": "2026-01-05T09:00:00Z"}


def members(path: Path) -> dict[str, list[str]]:
    return {kind.name: names for kind, names in kinds_of(Source(path)).items()}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9])
def test_damaged_member_of_an_archive_keeps_no_other_away(tmp_path: Path, method: int) -> None:
    path = tmp_path / "导出.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("坏.json", b"#" * 64, zipfile.ZIP_STORED)
        archive.writestr("好.json", json.dumps([SAID]))
    data = bytearray(path.read_bytes()).replace(b"#" * 64, b"\x01\x02\x00\x00" + b"\xfe" * 60)
    name = "坏.json".encode()
    local, central = data.index(name) - 30, data.index(name, data.index(name) + 1) - 46
    data[local + 8 : local + 10] = data[central + 10 : central + 12] = method.to_bytes(2, "little")
    path.write_bytes(data)
    assert members(path) == {"jsonl": ["好.json"]}
    with pytest.raises(NotImported):
        Source(path).read("坏.json")


@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_json_in_another_encoding_is_not_known_and_refused(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "好.json").write_text(json.dumps([SAID]), encoding="utf-8")
    (tmp_path / "编码.json").write_text(json.dumps([SAID] * 50, ensure_ascii=False), encoding=encoding)
    assert members(tmp_path) == {"jsonl": ["好.json"]}
    with pytest.raises(NotImported, match="iconv"):
        list(Source(tmp_path).objects("编码.json"))


def test_folder_beside_a_workspace_is_read_and_the_state_of_it_is_not(tmp_path: Path) -> None:
    made._json(tmp_path / "记忆/history.json", [{**SAID, "text": "好"}])
    made._json(tmp_path / "记忆/turns/a.json", [SAID])
    for name in ("记忆/log.jsonl", "记忆/.recalld/seen.jsonl"):
        made._lines(tmp_path / name, {"event": "filed"})
    made._json(tmp_path / "聊天.json", [SAID])
    made._lines(tmp_path / "行.jsonl", SAID)
    made._lines(tmp_path / "新.jsonl", {"type": "user", "sessionId": "s"})
    assert members(tmp_path) == {
        "claude-code": ["新.jsonl"],
        "jsonl": ["聊天.json", "行.jsonl"],
        "recalld": ["记忆/history.json"],
    }


def test_typed_conversation_with_roles_is_not_of_telegram(tmp_path: Path) -> None:
    made._json(tmp_path / "对话.json", {"id": "c1", "type": "chat", "messages": [SAID]})
    made._json(tmp_path / "result.json", {"id": 7, "type": "personal_chat", "messages": [{"id": 1, "type": "message"}]})
    assert members(tmp_path) == {"telegram": ["result.json"], "jsonl": ["对话.json"]}


def test_file_is_known_though_it_begins_with_no_message(tmp_path: Path) -> None:
    made._json(tmp_path / "空.json", [None, SAID])
    made._lines(tmp_path / "a.jsonl", {"meta": "导出", "version": 1}, SAID)
    made._lines(tmp_path / "b.jsonl", None, SAID)
    assert members(tmp_path) == {"jsonl": ["b.jsonl", "空.json", "a.jsonl"]}
