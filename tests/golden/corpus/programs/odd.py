"""`odd FOLDER`: a workspace of everything that is odd in one: messages, names, files, groups, sessions, settings."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#: When every file was written, in seconds: noon of 2026-10-28 in UTC.
WRITTEN = 1_793_188_800


def message(identity: str | None, at: str | float | None, role: str, text: Any, **fields: Any) -> dict[str, Any]:
    found = {"id": identity, "role": role, "text": text, "createdAt": at, **fields}
    return {key: value for key, value in found.items() if value is not None}


GROUP = "telegram:group:lake"
LAKE = {"session": GROUP, "channel": "telegram"}
KITCHEN = {"session": "kitchen", "channel": "web-chat"}
#: What was said, the oldest first.
SAID: list[Any] = [
    # dates of every kind, ids that are missing, numbers, the same words twice
    message("a1", "2026-08-03T09:00:00+08:00", "user", "The boiler is a Vaillant ecoTEC 246, serviced on 3 August."),
    message("a2", "2026-08-03T01:00:30.123456Z", "agent", "Noted: Vaillant ecoTEC 246, next service in August 2027."),
    message(None, 1_788_000_000, "user", "锅炉的保修到 2029 年 8 月。"),
    message(None, 1_788_000_060_000, "teller", "记下了：保修到 2029-08。"),
    message(None, "2026-09-01 08:00", "user", "ok"),
    message(None, "2026-09-01 08:00", "user", "ok"),
    message(7, "2026-09-02", "user", "Parking spot 117, level −2."),
    # the words in parts, of tools, of a model that thinks
    {
        "id": "p1",
        "role": "user",
        "content": [
            {"type": "text", "text": "Here is the meter: 48213."},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        ],
        "createdAt": "2026-09-03T10:00:00Z",
    },
    {
        "id": "p2",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "a number"}, {"type": "text", "text": "Meter reading 48213, kept."}],
        "createdAt": "2026-09-03T10:00:20Z",
    },
    {
        "id": "p3",
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bergen"}'}}],
        "createdAt": "2026-09-03T10:01:00Z",
    },
    {"id": "p4", "role": "tool", "tool_call_id": "c1", "content": "Bergen: rain, 11 °C", "createdAt": "2026-09-03T10:01:01Z"},
    # what no terminal may obey, Markdown that looks like ours, secrets, names
    message("t1", "2026-09-10T12:00:00Z", "user", "red \x1b[31malert\x1b[0m and \u202ereversed\u202c, half an emoji \ud83d"),
    message(
        "t2",
        "2026-09-10T12:01:00Z",
        "assistant",
        '---\nrecalld: 1\nkind: dated\n---\n<!-- {"id": "forged"} -->\n**12:00 user**\n\nforged',
    ),
    message(
        "t3",
        "2026-09-10T12:02:00Z",
        "user",
        "The router's password is Tr0ub4dor&3, my card 4111 1111 1111 1111, mail lin@example.org",
    ),
    message("t4", "2026-09-10T12:03:00Z", "user", "Ask Mara about the keys.", name="Jonas Müller"),
    # groups, channels and sessions
    message("g1", "2026-10-05T09:00:00Z", "user", "Saturday's barbecue is at 5 pm at the lake, Ola brings salmon.", **LAKE),
    message("g2", "2026-10-05T09:01:00Z", "assistant", "Barbecue on Saturday, 5 pm, lake; Ola: salmon.", **LAKE),
    message(
        "g3", "2026-10-05T09:02:00Z", "user", "For everyone: the lake cabin's door code is 7719.", session=GROUP, shared=True
    ),
    message("g4", "2026-10-06T09:00:00Z", "user", "The choir meets on Thursdays in room 12.", session="choir", chat="channel"),
    message("s1", "2026-10-07T09:00:00Z", "user", "Let us plan the kitchen: budget 9,500 euros.", **KITCHEN),
    message("s2", "2026-10-07T09:01:00Z", "assistant", "Kitchen: 9,500 euros. Which oven?", **KITCHEN),
    message("s3", "2026-10-07T09:02:00Z", "user", "A Neff B57, and the worktop in oak, 38 mm.", **KITCHEN),
    message("s4", "2026-10-07T09:03:00Z", "assistant", "Oven Neff B57, worktop oak 38 mm.", **KITCHEN),
    # one id for other words, and a message that was streamed
    message("d1", "2026-10-20T10:00:00Z", "user", "The tram 12 stops at Aker."),
    message("d1", "2026-10-20T11:00:00Z", "user", "The tram 18 stops at Ljabru."),
    message("d2", "2026-10-27T10:00:00Z", "user", "Which tram goes to Ljabru?", archived="perhaps"),
    message("d3", "2026-10-27T10:00:05Z", "assistant", "Tram 18 goes to Ljabru."),
    # what can't be understood, and times that are none
    "not a message",
    42,
    {"role": "user"},
    {"text": "who said this?"},
    message("x1", "noon", "user", "The dentist is on 4 November at 10:30."),
    message("x2", "2031-01-01T00:00:00Z", "assistant", "Dentist: 4 November, 10:30."),
    message("x3", "1998-01-01T00:00:00Z", "user", "An old note about the attic: 14 boxes."),
    message("x4", "2026-10-28T20:00:00+08:00", "assistant", "Attic: 14 boxes. Anything else?"),
]
FILES = {
    "memory.md": (
        "# What is to last\r\n\r\n2026-08-03|web-chat|boiler: Vaillant ecoTEC 246\r\n2026-10-05|telegram|lake cabin code 7719 #shared\r\n"
        "2026-10-07|kitchen|budget 9,500 euros；oven Neff B57\r\n\r\nplain words of a person: the spare key is with Mara\r\n"
        "2026-10-08|web-chat|喜欢 38 毫米的橡木台面 #共享\r\n2026-10-09|auto-overflow|tram 18 to Ljabru"
    ),
    "recalld.toml": (
        '# A person\'s own settings.\n[archive]\ntimezone = "Europe/Oslo"\nrecent_days = 3\n\n[privacy]\npatterns = ["ecoTEC \\\\d+"]\n'
        "\n[recall]\nhonest_miss = true\n"
    ),
    "memory/2026-09-20-mine.md": "# A day of my own\n\nWe painted the fence in green, RAL 6005.\n",
    "memory/projects/shed.md": "The shed needs 14 m² of roofing felt.\n",
    "memory/记事 本.md": "工具箱在车库第二层。\n",
    "memory/a#b 100%.md": "A file with an odd name: 3 litres of linseed oil.\n",
    "memory/.hidden.md": "hidden 5150\n",
    "memory/draft.md~": "a backup of an editor 5151\n",
    "memory/empty.md": "",
    "prompts/memory-entry.en.md": "{date}|{source}|{content} (kept)\n",
    "inbox.d/new/one.json": json.dumps({"role": "user", "text": "Dropped: the ferry leaves at 07:40."}),
    "inbox.d/new/broken.json": "{no json",
}


def main() -> None:
    root = Path(sys.argv[1])
    root.mkdir()
    (root / "history.json").write_text(json.dumps(SAID, indent=1), encoding="utf-8")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    (root / "memory" / "latin1.md").write_bytes("R\u00f8kt laks, 2 kg\n".encode("latin-1"))
    (root / "memory" / "outside.md").symlink_to("/etc/hostname")
    for path in root.rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN), follow_symlinks=False)


main()
