"""Whose words the entries of a log are: the owner's, another person's, or the client's own; and what is told of the rest."""

from __future__ import annotations

import pytest

from recalld.supervisor.importing.coding_logs import typed
from tests.importing.made import _json, _lines
from tests.importing.test_kinds import read


def said(tmp_path):
    """What was said in the source: role, then speaker and text; and what was left out."""
    _, lines, left = read(tmp_path)
    return [" ".join(word for word in line.split(" ")[2:] if word != "group") for line in lines], left


# ── Telegram ─────────────────────────────────────────────────────────────────


def telegram(tmp_path, **message):
    messages = [{"id": 1, "type": "message", "date_unixtime": "1780308000", "text": "", **message}]
    _json(tmp_path / "result.json", {"name": "Ines", "type": "personal_chat", "id": 7, "messages": messages})
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
    ],
)
def test_telegram_gives_words_to_their_author(tmp_path, message, expected):
    assert telegram(tmp_path, **message) == [expected]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"poll": {"question": "哪天排练？", "answers": [{"text": "周一", "voters": 2}]}}, "[poll: 哪天排练？, 周一]"),
        ({"location_information": {"latitude": 47.07, "longitude": 15.43}}, "[location: 47.07, 15.43]"),
        ({"contact_information": {"first_name": "Huber", "phone_number": "+43 1"}}, "[contact: Huber, +43 1]"),
        ({"invoice_information": {"title": "Choir trip", "currency": "EUR"}}, "[invoice: Choir trip, EUR]"),
    ],
)
def test_telegram_leaves_a_line_of_what_is_no_text(tmp_path, message, expected):
    assert telegram(tmp_path, **{"from": "Ines", **message}) == [f"user Ines: {expected}"]


# ── Claude Code ──────────────────────────────────────────────────────────────


def claude_code(tmp_path, *records):
    """What is read of records whose parents are the ones before, where they name no other."""
    first = {"sessionId": "s", "timestamp": "2026-05-05T08:00:00.000Z", "type": "user"}
    rows = [{**first, "uuid": f"u{n}", "parentUuid": f"u{n - 1}", **record} for n, record in enumerate(records)]
    _lines(tmp_path / "s.jsonl", *rows)
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
        answer("No response requested.", model="<synthetic>"),
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
    _lines(
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


def test_turns_that_were_rolled_back_are_not_said(tmp_path):
    _lines(
        tmp_path / "rollout-1.jsonl",
        *(shown(1, "user", "Plan it."), shown(2, "user", "病历号 99120，发错窗口了。"), shown(3, "agent", "That is 99120.")),
        codex_row(4, "event_msg", type="thread_rolled_back", num_turns=1),
        shown(5, "user", "Two beds."),
    )
    assert said(tmp_path)[0] == ["user Plan it.", "user Two beds."]


def test_session_of_a_subagent_is_not_said(tmp_path):
    meta = codex_row(1, "session_meta", id="s", source={"subagent": "review"})
    _lines(tmp_path / "rollout-1.jsonl", meta, shown(2, "user", "Review the diff."), shown(3, "agent", "It is fine."))
    lines, left = said(tmp_path)
    assert (lines, left.left_out) == ([], {"subagent": 2})


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
    _lines(tmp_path / "a.jsonl", {"role": "user", "content": "x", **more}, {"role": "", "content": "nobody's"})
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
    _json(tmp_path / "conversations.json", {"uuid": "c", "chat_messages": [human, reply]})  # as browser exporters write one
    lines, left = said(tmp_path)
    assert [line for line in lines if line.strip() != "assistant"] == [
        "user The roofer quoted 8400 euros.\n保修到 2029 年。\n[plan.pdf]",
    ]
    assert left.left_out == {"extracted_content": 1, "tool_use": 1}


@pytest.mark.parametrize("wrap", [list, lambda messages: {"id": "talk", "messages": messages}])
def test_json_of_messages_is_read(tmp_path, wrap):
    messages = [{"role": "user", "content": "锅炉三月保养。", "timestamp": "2026-01-11T09:00:00Z"}]
    _json(tmp_path / "talk.json", wrap(messages))
    assert said(tmp_path)[0] == ["user 锅炉三月保养。"]


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-05 20:15:03 阿宁\n周六爬山，七点集合。\n\n2026-01-05 20:16:10 我\n好，我带水。\n带两瓶。\n",
        "阿宁(2026/1/5 20:15:03):\n周六爬山，七点集合。\n\n我(2026/1/5 20:16:10):\n好，我带水。\n带两瓶。\n",
        "阿宁 2026年1月5日 20:15:03\n周六爬山，七点集合。\n\n我 2026年1月5日 20:16:10\n好，我带水。\n带两瓶。\n",
    ],
)
def test_wechat_is_read_as_its_tools_write_it(tmp_path, text):
    (tmp_path / "阿宁.txt").write_text(text, encoding="utf-8")
    kind, lines, _ = read(tmp_path)
    assert kind == "wechat"
    assert [line.split(" ", 2)[2] for line in lines] == ["user 阿宁: 周六爬山，七点集合。", "user 我: 好，我带水。\n带两瓶。"]


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
