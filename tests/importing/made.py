"""
Logs and exports as the programs write them, small, in English and in Chinese: each a function that writes one below a folder.

The forms come from public sources: Claude Code's and Codex's logs as described by their users and by openai/codex (rollout.rs),
ChatGPT's and Claude's exports as their parsers read them, Telegram's "Export chat history" in machine-readable JSON, WhatsApp's
"Export chat".
"""

import errno
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from recalld.supervisor.protocol.connections import State, read_state
from recalld.supervisor.storage.disk import open_outside
from tests.world import WITHOUT_MODEL, World, at


def _json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def _lines(path: Path, *values: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values), encoding="utf-8")
    return path


def _node(key: str, parent: str | None, role: str, text: object, time: float | None, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]} if isinstance(text, str) else text
    message = {"id": key, "author": {"role": role}, "create_time": time, "content": content, "recipient": "all", **more}
    return {"id": key, "parent": parent, "children": [], "message": message}


def chatgpt_conversation() -> dict[str, Any]:
    """A conversation with an edited question (q1 is gone from the branch shown), a tool, a picture, and a hidden prompt."""
    picture = {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "这是她的新家。"]}
    nodes = [
        {"id": "root", "parent": None, "children": [], "message": None},
        _node("sys", "root", "system", "You are a helpful assistant.", None),
        _node("q1", "sys", "user", "Where does Mira live?", 1767600000.5),
        _node("a1", "q1", "assistant", "I don't know.", 1767600005.0),
        _node("q2", "sys", "user", "Mira moved to Porto on 3 January.", 1767600060.25),
        _node("c2", "q2", "assistant", {"content_type": "code", "text": "search('Porto')"}, 1767600061.0, recipient="browser"),
        _node("t2", "c2", "tool", {"content_type": "execution_output", "text": "42 results"}, 1767600062.0),
        _node("th", "t2", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}, 1767600062.5),
        _node("a2", "th", "assistant", "Noted: Porto, since 3 January.", 1767600063.0),
        _node("q3", "a2", "user", picture, 1767600120.0),
    ]
    mapping: dict[str, dict[str, Any]] = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"]:
            mapping[node["parent"]]["children"].append(node["id"])
    return {"id": "c-1", "conversation_id": "c-1", "title": "Mira", "mapping": mapping, "current_node": "q3"}


def chatgpt(folder: Path) -> Path:
    """A ZIP archive with two numbered files."""
    nodes = {
        "n1": _node("n1", None, "user", "房租从一月起是 4200 元。", 1767700000.0),
        "n2": _node("n2", "n1", "assistant", "好的，记住了。", 1767700003.0),
    }
    second = {"conversation_id": "c-2", "title": "房租", "create_time": 1767700000, "current_node": "n2", "mapping": nodes}
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations-000.json", json.dumps([chatgpt_conversation()]))
        archive.writestr("conversations-001.json", json.dumps([second]))
        archive.writestr("user.json", "{}")
        archive.writestr("../../evil.txt", "out of the folder")
    return path


def claude(folder: Path) -> Path:
    question = {"type": "text", "text": "My dentist is on Friday at nine."}
    letter = {"file_name": "letter.pdf", "extracted_content": "Dear patient"}
    answer = [
        {"type": "thinking", "thinking": "a date"},
        {"type": "tool_use", "id": "tu1", "name": "calendar", "input": {"query": "Friday"}},
        {"type": "tool_result", "content": "free"},
        {"type": "text", "text": "Friday, nine o'clock."},
    ]
    human = {"uuid": "u1", "sender": "human", "created_at": "2026-01-05T08:00:00.000000Z", "text": question["text"]}
    reply = {"uuid": "u2", "sender": "assistant", "created_at": "2026-01-05T08:00:04.000000Z", "text": "", "content": answer}
    messages = [{**human, "content": [question], "attachments": [letter]}, reply]
    outer = folder / "data-batch-0000.zip"
    inner = folder / "conversations.json"
    _json(inner, [{"uuid": "cv", "name": "Dentist", "chat_messages": messages}, {"uuid": "cw", "chat_messages": "broken"}])
    with zipfile.ZipFile(outer, "w") as archive:
        archive.write(inner, "conversations.json")
    inner.unlink()
    return folder


def telegram(folder: Path) -> Path:
    """All chats, one with a person and one of a group, behind many contacts."""
    contacts = [{"user_id": n, "first_name": "阿宁", "phone_number": "1"} for n in range(900)]
    link = ["The code is at ", {"type": "link", "text": "https://example.org"}]
    direct = [
        {"id": 1, "type": "message", "date": "2026-01-05T09:00:00", "from": "Mira", "text": "Hi"},
        {"id": 2, "type": "message", "date": "…", "date_unixtime": "1767574860", "from": "Jonas", "text": link},
        {"id": 3, "type": "service", "date_unixtime": "1767574861", "action": "phone_call"},
        {"id": 4, "type": "message", "date_unixtime": "1767574920", "from": "Mira", "text": "", "photo": "photos/1.jpg"},
    ]
    group = [{"id": 1, "type": "message", "date_unixtime": "1767575000", "from": "阿宁", "text": "周六爬山，七点集合。"}]
    chats = [
        {"name": "Mira", "type": "personal_chat", "id": 77, "messages": direct},
        {"name": "爬山", "type": "private_group", "id": 88, "messages": group},
    ]
    return _json(folder / "result.json", {"about": "…", "contacts": {"list": contacts}, "chats": {"list": chats}})


def whatsapp(folder: Path) -> Path:
    lines = [
        "[05.01.26, 14:03:12] Mira: \u200eMessages and calls are end-to-end encrypted.",
        "[05.01.26, 14:03:12] Mira: Can you bring the ladder?",
        "On Saturday, please.",
        "[05.01.26, 14:04:00] Jonas: \u200eimage omitted",
        "[13.01.26, 08:00:00] Jonas: 好的，周六带梯子。",
        "[13.01.26, 08:00:00] Jonas: 好的，周六带梯子。",
    ]
    path = folder / "WhatsApp Chat - Mira" / "_chat.txt"
    path.parent.mkdir()
    path.write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
    return path


def claude_code(folder: Path) -> Path:
    def line(kind: str, content: object, time: str, uuid: str, **more: Any) -> dict[str, Any]:
        message = {"role": kind, "content": content, **({"id": more.pop("of")} if "of" in more else {})}
        where = {"uuid": uuid, "sessionId": "s-1", "cwd": "/home/lea/shop", "timestamp": f"2026-01-05T{time}Z"}
        return {"type": kind, **where, "message": message, **more}

    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "pytest -q\nls"}}
    _lines(
        folder / "projects/-home-lea-shop/s-1.jsonl",
        {"type": "file-history-snapshot", "messageId": "x"},
        line("user", "<command-name>/clear</command-name>", "09:00:00.000", "u0"),
        line("user", "Why does the checkout test fail? <private>key 123</private>", "09:00:01.000", "u1"),
        line("assistant", [{"type": "thinking", "thinking": "look"}], "09:00:03.000", "x1", of="msg1"),
        line("assistant", [{"type": "text", "text": "I look at the test."}], "09:00:04.000", "x2", of="msg1"),
        line("assistant", [call], "09:00:05.000", "x3", of="msg1"),
        line("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1 failed"}], "09:00:09.000", "u2"),
        line("user", "Search the web", "09:00:10.000", "u3", isSidechain=True),
        line("assistant", [{"type": "text", "text": "税率写成了 0.19，应该是 0.07。"}], "09:00:12.000", "x4", of="msg2"),
    )
    with (folder / "projects/-home-lea-shop/s-1.jsonl").open("a") as file:
        file.write('{"type": "user", "uuid": "cut o')
    return folder / "projects"


def codex(folder: Path) -> Path:
    def line(kind: str, second: int, **payload: Any) -> dict[str, Any]:
        return {"timestamp": f"2026-01-06T09:00:{second:02d}.000Z", "type": kind, "payload": payload}

    def text(kind: str, words: str) -> list[dict[str, str]]:
        return [{"type": kind, "text": words}]

    place = "sessions/2026/01/06/rollout-2026-01-06T09-00-00-aa.jsonl"
    _lines(
        folder / place,
        line("session_meta", 0, id="sess-1", cwd="/home/lea/api", originator="codex_cli"),
        line("response_item", 1, type="message", role="user", content=text("input_text", "<environment_context>…")),
        line("response_item", 1, type="message", role="user", content=text("input_text", "Rename the table to orders")),
        line("event_msg", 1, type="user_message", message="Rename the table to orders"),
        line("response_item", 2, type="function_call", name="shell", call_id="k1", arguments='{"command": ["sed", "-i"]}'),
        line("response_item", 3, type="function_call_output", call_id="k1", output="ok"),
        line("response_item", 4, type="message", role="assistant", content=text("output_text", "改好了：orders。")),
        line("event_msg", 4, type="agent_message", message="改好了：orders。"),
    )
    return folder / "sessions"


def json_lines(folder: Path) -> Path:
    return _lines(
        folder / "talk.jsonl",
        {"role": "user", "content": "The boiler is serviced in March", "timestamp": "2026-01-11T09:00:00Z", "session": "home"},
        {"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "锅炉三月保养。"}]},
        {"role": "user", "content": "It is a Vaillant", "timestamp": 4070908800, "session": "home"},
        ["no message"],
        {"role": "user", "timestamp": "2026-01-11T09:05:00Z"},
    )


def workspace(folder: Path) -> Path:
    history = [
        {"id": "w1", "role": "user", "text": "Oma's birthday is on 9 May", "createdAt": "2026-01-12T09:00:00Z"},
        {"role": 1},
    ]
    _json(folder / "history.json", history)
    head = "---\nrecalld: 1\nkind: dated\nperiod: 2026-01-02\nzone: UTC\ncreated: 2026-01-03T00:00:00.000Z\ncount: 1\ndigest: 0\n---\n"
    block = '\n<!-- {"id": "w0", "createdAt": "2026-01-02T09:00:00.000Z"} -->\n**09:00 user**\n\n外婆住在青岛。\n'
    (folder / "memory").mkdir()
    (folder / "memory/2026-01-02-qingdao.md").write_text(head + block, encoding="utf-8")
    return folder


def refuse(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let no file of this name be read: for root every file can be."""

    def opened(path: Path) -> int:
        if path.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return open_outside(path)

    monkeypatch.setattr("recalld.supervisor.importing.source.open_outside", opened)


def state_of(world: World, name: str) -> State:
    """How far a source is read."""
    return read_state(world.ws.files, world.ws.paths.source(name))


def other(folder: Path, *messages: dict[str, Any]) -> World:
    """Another workspace with these messages, filed."""
    found = World(folder, at("2026-01-31T10:00"), WITHOUT_MODEL)
    found.write([*messages])
    found.intake()
    found.archive(everything=True)
    return found
