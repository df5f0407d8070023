"""Each kind of log and export: what is recognised, which messages it has, when and where; and whose words they are."""

import json
import zipfile
from collections import defaultdict
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from recalld.supervisor.importing.coding_logs import typed
from recalld.supervisor.importing.kinds import kinds_of
from recalld.supervisor.importing.source import Source
from recalld.supervisor.importing.talk import Reading
from recalld.supervisor.protocol.message import text_of
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
            "2026-01-05T06:04:00.000Z whatsapp:Mira user Jonas: [image omitted]",
            "2026-01-13T00:00:00.000Z whatsapp:Mira user Jonas: 好的，周六带梯子。",
            "2026-01-13T00:00:00.000Z whatsapp:Mira user Jonas: 好的，周六带梯子。",
        ],
        {},
    ),
    "claude-code": (
        made.claude_code,
        [
            "2026-01-05T09:00:01.000Z s-1 user Why does the checkout test fail?",
            "2026-01-05T09:00:03.000Z s-1 assistant I look at the test.",
            "2026-01-05T09:00:12.000Z s-1 assistant 税率写成了 0.19，应该是 0.07。",
        ],
        {"line": 1},
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
            "- home user It is a Vaillant",
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
    for raw in chain.from_iterable(kind.messages(log, name) for name in names):
        said = defaultdict(str, raw)
        speaker = f"{said['name']}: " if said["name"] else ""
        time = to_wire(raw["createdAt"]) if raw["createdAt"] else "-"
        words = (time, said["session"], said["chat"], said["role"], f"{speaker}{text_of(raw)}")
        lines.append(" ".join(filter(None, words)))
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
        ("\u200eimage omitted", ["[image omitted]"]),
        ("<Media omitted>", ["[Media omitted]"]),
        ("‹省略多媒体文件›", ["[省略多媒体文件]"]),
        ("此消息已删除。", ["[此消息已删除。]"]),
        ("视频已忽略", ["[视频已忽略]"]),
        ("\u200e<attached: 00000012-PHOTO-2026-01-05.jpg>", ["[00000012-PHOTO-2026-01-05.jpg]"]),
        ("\u200eThis message was deleted.", ["[This message was deleted.]"]),
        ("\u200e语音通话，3 分钟", []),
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
    assert left.left_out == {"whatsapp": 3 - len(kept)}


def test_note_of_whatsapp_is_no_other_message(tmp_path):
    """The ids are those under which 0.42.0 added what it took for words."""
    entries = [
        "03/02/2026, 14:03 - Mira: This message was deleted",
        "13/02/2026, 14:03 - Mira: at nine <This message was edited>",
        "13/02/2026, 14:04 - Mira: <Media omitted>",
    ]
    (tmp_path / "WhatsApp Chat with Mira.txt").write_text("\n".join(entries), encoding="utf-8")
    source = Source(tmp_path)
    ((kind, names),) = kinds_of(source).items()
    log = Reading(source=source, zone=ZONE, latest=at("2026-12-31T00:00"))
    ids = [said["id"].removeprefix("whatsapp:") for said in kind.messages(log, names[0])]
    assert ids == ["bc05d390cdb9781c", "65c9a2ba9bb454f6", "b27eb394035ba07b"]


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
    source = Source(path)
    assert [*kinds_of(source).values()] == [["好.json"]]
    assert [*source.left_out] == ["坏.json"]


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


def test_file_is_known_though_it_has_a_type_or_begins_with_no_message(tmp_path: Path) -> None:
    made._json(tmp_path / "对话.json", {"id": "c1", "type": "chat", "messages": [SAID]})
    made._json(tmp_path / "result.json", {"id": 7, "type": "personal_chat", "messages": [{"id": 1, "type": "message"}]})
    made._json(tmp_path / "空.json", [None, SAID])
    made._lines(tmp_path / "a.jsonl", {"meta": "导出", "version": 1}, SAID)
    made._lines(tmp_path / "b.jsonl", None, SAID)
    assert members(tmp_path) == {"telegram": ["result.json"], "jsonl": ["b.jsonl", "对话.json", "空.json", "a.jsonl"]}


# ── whose words: the owner's, another person's, or the client's own ─────────────


def said(tmp_path):
    """What was said in the source: role, then speaker and text; and what was left out."""
    _, lines, left = read(tmp_path)
    return [" ".join(word for word in line.split(" ")[2:] if word != "group") for line in lines], left


# ── Telegram ─────────────────────────────────────────────────────────────────


def telegram(tmp_path, **message):
    messages = [{"id": 1, "type": "message", "date_unixtime": "1780308000", "text": "", **message}]
    made._json(tmp_path / "result.json", {"name": "Ines", "type": "personal_chat", "id": 7, "messages": messages})
    return said(tmp_path)[0]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"from": None, "text": "账号已注销的人说的话"}, "user someone: 账号已注销的人说的话"),
        ({"from": "Ravi", "forwarded_from": "Dr. Huber", "text": "Take two a day."}, "user Dr. Huber: Take two a day."),
        ({"from": "Ravi", "forwarded_from": None, "text": "I live in Graz."}, "user someone: I live in Graz."),
        ({"from": "Ravi", "saved_from": "物业", "text": "周四停水。"}, "user 物业: 周四停水。"),
        ({"from": "Ravi", "text": {"type": "bold", "text": "周四停水。"}}, "user Ravi: 周四停水。"),
        ({"from": "Ravi", "forwarded_from_id": "user7", "text": "I take two a day."}, "user someone: I take two a day."),
        (
            {"poll": {"question": "哪天排练？", "answers": [{"text": "周一", "voters": 2}]}},
            "user Ines: [poll: 哪天排练？, 周一]",
        ),
        ({"location_information": {"latitude": 47.07, "longitude": 15.43}}, "user Ines: [location: 47.07, 15.43]"),
        ({"contact_information": {"first_name": "Huber", "phone_number": "+43 1"}}, "user Ines: [contact: Huber, +43 1]"),
        ({"invoice_information": {"title": "Choir trip", "currency": "EUR"}}, "user Ines: [invoice: Choir trip, EUR]"),
    ],
)
def test_telegram_gives_words_to_their_author_and_names_what_is_no_text(tmp_path, message, expected):
    assert telegram(tmp_path, **{"from": "Ines", **message}) == [expected]


# ── Claude Code ──────────────────────────────────────────────────────────────


def claude_code(tmp_path, *records):
    """What is read of records whose parents are the ones before, where they name no other."""
    first = {"sessionId": "s", "timestamp": "2026-05-05T08:00:00.000Z", "type": "user"}
    rows = [{**first, "uuid": f"u{n}", "parentUuid": f"u{n - 1}", **record} for n, record in enumerate(records)]
    made._lines(tmp_path / "s.jsonl", *rows)
    return said(tmp_path)


def prompt(text, **more):
    return {"message": {"role": "user", "content": text}, **more}


def answer(text, **more):
    return {"type": "assistant", "message": {"id": text, "content": [{"type": "text", "text": text}], **more}}


@pytest.mark.parametrize(
    "record",
    [
        prompt("继续执行队列里的任务。", origin={"kind": "task-notification"}),
        prompt("Heartbeat: read HEARTBEAT.md.", origin={"kind": "cron"}),
        prompt("# Skill: write tests", isMeta=True),
        prompt("The talk so far.", isVisibleInTranscriptOnly=True),
        answer("API Error: 529", model="<synthetic>"),
    ],
)
def test_what_a_client_marks_as_its_own_is_not_said(tmp_path, record):
    lines, left = claude_code(tmp_path, prompt("Plan the garden."), record)
    assert lines == ["user Plan the garden."]
    assert left.left_out.total() == 1


def test_calls_of_tools_are_counted_beside_what_is_said(tmp_path):
    said = answer("I'll look.")
    said["message"]["content"] += [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {}} for n in range(2)]
    lines, left = claude_code(tmp_path, prompt("Plan the garden."), said)
    assert lines == ["user Plan the garden.", "assistant I'll look."]
    assert left.left_out == {"tool_use": 2}


def test_what_is_typed_while_the_client_works_is_said(tmp_path):
    queued = {"type": "queued_command", "prompt": "供应商代码是 KESTREL-9。", "commandMode": "prompt"}
    note = {"type": "queued_command", "prompt": "<task-notification/>", "commandMode": "task-notification"}
    lines, left = claude_code(
        tmp_path,
        prompt("Build it."),
        *({"type": "attachment", "attachment": attached} for attached in (queued, note, {**queued, "isMeta": True})),
    )
    assert lines == ["user Build it.", "user 供应商代码是 KESTREL-9。"]
    assert left.left_out == {"attachment": 2}


def test_what_is_answered_in_a_form_of_the_client_is_said(tmp_path):
    form = {"questions": [{"question": "Which port?"}], "answers": {"Which port?": "8443，别用 8080", "Why?": ""}}
    result = {"content": [{"type": "tool_result", "content": "The user has answered."}]}
    lines, _ = claude_code(tmp_path, prompt("Set it up."), {"message": result, "toolUseResult": form})
    assert lines == ["user Set it up.", "assistant Which port?", "user 8443，别用 8080"]


def test_what_was_taken_back_is_not_said(tmp_path):
    talk = [
        prompt("Plan the garden."),
        answer("Which beds?"),
        prompt("病历号 99120，发错窗口了。"),
        answer("That looks like 99120."),
        prompt("Two beds of beans.", parentUuid="u1"),
        answer("Two beds, fine."),
    ]
    lines, _ = claude_code(tmp_path, *talk)
    assert lines == ["user Plan the garden.", "assistant Which beds?", "user Two beds of beans.", "assistant Two beds, fine."]


def test_record_without_an_id_takes_no_words_back(tmp_path):
    back, idless = prompt("发错窗口了。"), {"type": "progress", "uuid": "", "parentUuid": "u1"}
    rest = [prompt("Two beds.", parentUuid="u0"), prompt("还有番茄。", parentUuid=None)]
    lines, _ = claude_code(tmp_path, prompt("Plan it."), back, idless, *rest)
    assert lines == ["user Plan it.", "user Two beds.", "user 还有番茄。"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<ide_selection>lines 3 to 9</ide_selection>\n解释这一段。", "解释这一段。"),
        ("Fix it.\n<system-reminder>be brief</system-reminder>", "Fix it."),
        ("<teammate-message id='2'>done</teammate-message>", ""),
        ("<b>bold</b> stays, and so does a < b", "<b>bold</b> stays, and so does a < b"),
        ("<open-tag> without an end", "<open-tag> without an end"),
        (
            "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n<command-args>花园</command-args>",
            "/plan 花园",
        ),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", ""),
        ("# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nRename it.\n", "Rename it."),
        ("# Files mentioned by the user:\n\n## a.png: /a.png\n\n## My request for Codex:\n改名。\n", "改名。"),
    ],
)
def test_typed_is_what_stands_outside_a_clients_elements(text, expected):
    assert typed(text) == expected


# ── Codex ────────────────────────────────────────────────────────────────────


def codex_row(n, kind, **payload):
    return {"timestamp": f"2026-08-20T10:00:{n:02d}.000Z", "type": kind, "payload": payload}


def shown(n, kind, text):
    return codex_row(n, "event_msg", type=f"{kind}_message", message=text)


def got(n, role, text):
    return codex_row(n, "response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])


def test_session_that_goes_on_without_events_is_read_to_its_end(tmp_path):
    made._lines(
        tmp_path / "rollout-1.jsonl",
        got(1, "user", "What the client tells its model first."),
        got(2, "user", "好"),
        shown(3, "user", "好"),
        shown(4, "agent", "Postgres it is."),
        got(5, "assistant", "Postgres it is."),
        got(6, "user", "好"),
        got(7, "assistant", "Closing day nine."),
        codex_row(8, "event_msg", type="item_completed", item={}),
    )
    lines, left = said(tmp_path)
    assert lines == ["user 好", "assistant Postgres it is.", "user 好", "assistant Closing day nine."]
    assert left.left_out == {"item_completed": 1}


def test_turns_that_were_rolled_back_and_those_of_a_subagent_are_not_said(tmp_path):
    made._lines(
        tmp_path / "rollout-1.jsonl",
        *(shown(1, "user", "Plan it."), shown(2, "user", "病历号 99120，发错窗口了。"), shown(3, "agent", "That is 99120.")),
        codex_row(4, "event_msg", type="thread_rolled_back", num_turns=1),
        shown(5, "user", "Two beds."),
    )
    meta = codex_row(1, "session_meta", id="s", source={"subagent": "review"})
    made._lines(tmp_path / "rollout-2.jsonl", meta, shown(2, "user", "Review the diff."), shown(3, "agent", "It is fine."))
    lines, left = said(tmp_path)
    assert (lines, left.left_out["subagent"]) == (["user Plan it.", "user Two beds."], 2)


# ── exports ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"name": None}, "user x"),
        ({"author": {"username": "Bob"}}, "user Bob: x"),
        ({"author": "阿宁"}, "user 阿宁: x"),
        ({"author": None}, "user someone: x"),
        ({"author": {"role": "user"}}, "user x"),
    ],
)
def test_json_line_of_an_author_is_not_the_owners(tmp_path, more, expected):
    made._lines(tmp_path / "a.jsonl", {"role": "user", "content": "x", "time": 1767600000, **more}, {"role": ""})
    lines, left = said(tmp_path)
    assert (lines, left.unread) == ([expected], {"message": 1})


def test_claude_keeps_what_was_pasted_and_no_placeholder(tmp_path):
    pasted = [
        {"file_name": "", "extracted_content": "The roofer quoted 8400 euros."},
        {"file_name": "paste.txt", "extracted_content": "保修到 2029 年。"},
        {"file_name": "plan.pdf", "extracted_content": "…"},
    ]
    call = [{"type": "tool_use", "id": "t", "name": "artifacts", "input": {"title": "Plan"}}]
    human = {"uuid": "1", "sender": "human", "text": "", "attachments": pasted, "created_at": "2026-04-01T08:00:00Z"}
    reply = {"uuid": "2", "sender": "assistant", "text": "not supported here", "content": call, "created_at": None}
    made._json(tmp_path / "conversations.json", {"uuid": "c", "chat_messages": [human, reply]})  # as browser exporters do
    lines, left = said(tmp_path)
    assert [line for line in lines if line.strip() != "assistant"] == [
        "user The roofer quoted 8400 euros.\n保修到 2029 年。\n[plan.pdf]",
    ]
    assert left.left_out == {"extracted_content": 1, "tool_use": 1}


@pytest.mark.parametrize("wrap", [list, lambda messages: {"id": "talk", "messages": messages}])
def test_json_of_messages_is_read(tmp_path, wrap):
    messages = [{"role": "user", "content": "锅炉三月保养。", "timestamp": "2026-01-11T09:00:00Z"}]
    made._json(tmp_path / "talk.json", wrap(messages))
    assert said(tmp_path)[0] == ["user 锅炉三月保养。"]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-05 20:15:03 阿宁\n周六爬山，七点集合。\n\n2026-01-05 20:16:10 我\n好，我带水。\n带两瓶。\n",
        "阿宁(2026/1/5 20:15:03):\n周六爬山，七点集合。\n\n我(2026/1/5 20:16:10):\n好，我带水。\n带两瓶。\n",
        "阿宁 2026年1月5日 20:15:03\n周六爬山，七点集合。\n\n我 2026年1月5日 20:16:10\n好，我带水。\n带两瓶。\n",
        (  # as LC044/WeChatMsg writes what was taken back, and as others do
            '2026-01-05 20:15:03 阿宁\n周六爬山，七点集合。\n\n2026-01-05 20:15:40 "阿宁" 撤回了一条消息\n\n'
            "2026-01-05 20:16:10 我\n好，我带水。\n带两瓶。\n\n2026-01-05 20:16:20 我\n你撤回了一条消息\n"
        ),
    ],
)
def test_wechat_is_read_as_its_tools_write_it(tmp_path, text):
    (tmp_path / "阿宁.txt").write_text(text, encoding="utf-8")
    kind, lines, _ = read(tmp_path)
    assert kind == "wechat"
    assert [line.split(" ", 2)[2] for line in lines[:2]] == [
        "user 阿宁: 周六爬山，七点集合。",
        "user 我: 好，我带水。\n带两瓶。",
    ]
    assert [line.split(" ", 2)[2] for line in lines[2:]] == ["user 我: [你撤回了一条消息]"] * ("撤回" in text)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("20/6/2026, 8:28\u202fp.\u00a0m. - Michelle: la llave", "2026-06-20T12:28:00"),
        ("2026. 6. 20. 오후 8:28, Michelle : 열쇠", "2026-06-20T12:28:00"),
        ("2026/6/20 清晨6:28 - Michelle: 鑰匙", "2026-06-19T22:28:00"),
        ("20.6.2026 klo 20.28 - Michelle: avain", "2026-06-20T12:28:00"),
        ("٢٠\u200f/٦\u200f/٢٠٢٦، ٨:٢٨ م - Michelle: المفتاح", "2026-06-20T12:28:00"),
        ("20/6/26, 8:28\u202fμ.μ. - Michelle: το κλειδί", "2026-06-20T12:28:00"),
        ("20.06.2026 ÖS 8:28 - Michelle: anahtar", "2026-06-20T12:28:00"),
        ("20/06/2026, 8:28 CH - Michelle: chìa khóa", "2026-06-20T12:28:00"),
        ("20.06.2026, 12:28 odp. - Michelle: klíč", "2026-06-20T04:28:00"),
        ("20/6/2569 20:28 น. - Michelle: กุญแจ", "2026-06-20T12:28:00"),
        ("2026-06-20 20 h 28 - Michelle: la clé", "2026-06-20T12:28:00"),
        ("20.06.26 г., 20:28 ч. - Michelle: ключът", "2026-06-20T12:28:00"),
    ],
)
def test_whatsapp_is_read_in_the_language_of_the_phone(tmp_path, line, at):
    (tmp_path / "WhatsApp Chat with Michelle.txt").write_text(f"{line}\n", encoding="utf-8")
    kind, lines, left = read(tmp_path)
    assert (kind, left.unread) == ("whatsapp", {})
    assert lines[0].startswith(at)
    assert "user Michelle: " in lines[0]


@pytest.mark.parametrize("name", ['"Walk: Sunday"', "“散步: 周日”", "«Прогулка: вс»"])
def test_whatsapp_names_a_group_and_nobody_has_said_it(tmp_path, name):
    text = f'20/06/2026, 20:28 - Ana changed the group name to {name}\n20/06/2026, 20:29 - Ana "Annie" B: hi\n'
    (tmp_path / "WhatsApp Chat with Walk.txt").write_text(text, encoding="utf-8")
    assert said(tmp_path)[0] == ['user Ana "Annie" B: hi']
