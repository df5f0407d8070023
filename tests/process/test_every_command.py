"""Each command once: it ends well, and answers `--json` with the keys that it has for good."""

import json
import re
from typing import Final

import pytest

from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, HIDDEN
from recalld.supervisor.interfaces.cli.parser import Group

HIT: Final = ["path", "startLine", "endLine", "snippet", "id", "score"]
FSCK: Final = [
    "seen",
    "inFiles",
    "inHistory",
    "inJournal",
    "setAside",
    "removed",
    "removedIds",
    "lost",
    "damage",
    "datedFiles",
    "editedFiles",
    "summaries",
    "coveredFiles",
]
#: Every command with the keys that its answer has for good, in their order; later ones may stand behind and between them.
ANSWERS: Final = {
    "init": ("init", ["workspace", "new", "timezone"]),
    "append": ("append --role user --text 早上好", ["id"]),
    "status": (
        "status",
        ["workspace", "now", "timezone", "supervisor", "history", "unwritten", "datedFiles", "provider", "queue", "today"],
    ),
    "status --plan": (
        "status --plan",
        ["at", "today", "due", "nextRun", "unwritten", "dated", "providerPausedUntil", "providerPausedBecause", "summaries"],
    ),
    "fsck": ("fsck", FSCK),
    "doctor": ("doctor", ["good", "odd", "bad", "checks"]),
    "restore": ("restore", ["restored"]),
    "backup create": ("backup create 一.tar", ["backup", "createdAt", "madeBy", "files", "bytes", "leftOut", "lockedMs"]),
    "backup nightly": (
        "backup nightly . --keep 1",
        ["backup", "createdAt", "madeBy", "files", "bytes", "deleted"],
    ),
    "backup verify": ("backup verify 一.tar", ["backup", "createdAt", "madeBy", "files", "bytes", "fsck"]),
    "backup restore": (
        "backup restore 一.tar --into 新的",
        ["workspace", "backup", "createdAt", "madeBy", "files", "bytes"],
    ),
    "inject": ("inject --query 花生过敏", ["turn", "text", "tokens", "hits", "unsearched"]),
    "context": ("context --query 花生过敏", ["role", "content"]),
    "search": ("search 花生过敏", HIT),
    "get": ("get memory/长长的笔记.md --lines 1", ["path", "start", "end", "total", "text"]),
    "write": ("write 用户对花生过敏", ["path", "line", "total", "digest", "new", "act"]),
    "summarize": ("summarize --session=", ["session", "line", "new"]),
    "read": ("read", ["path", "total", "lines"]),
    "read --stats": ("read --stats", ["total", "sources", "date_range"]),
    "invalidate": ("invalidate 1@e0d2dbb4", ["place", "text", "until"]),
    "delete": ("delete 1@e0d2dbb4", ["path", "deleted", "total"]),
    "prune": ("prune --dry-run", ["files", "bytes", "uncovered", "dryRun"]),
    "undo": ("undo {last_act}", ["id", "kind", "what", "done"]),
    "forget": (
        "forget --match 花生过敏",
        ["messages", "lines", "files", "places", "outside", "digest", "left", "done", "waits"],
    ),
    "why": (
        "why",
        ["id", "at", "question", "terms", "dates", "how", "files", "ms", "candidates", "memory", "history", "messages"],
    ),
    "index status": ("index status", ["files", "units", "bytes", "differing"]),
    "index rebuild": ("index rebuild", ["read", "moved", "gone", "rebuilt", "shared", "unread", "files", "units", "bytes"]),
    "summary redo": ("summary redo 2026-01-20", ["group", "queued"]),
    "import": (
        "import . --dry-run",
        [
            *("messages", "added", "left", "conversations", "days", "first", "last", "undated", "unread"),
            *("calls", "kinds", "notes", "copied", "different", "folder", "people", "me", "leftOut", "tooLarge"),
            *("daysOfCalls", "unreadFile"),
        ],
    ),
    "run --once": ("run --once", ["archived", "files"]),
    "run": ("run --until-settled --no-worker", ["seen", "archived", "summaries", "trimmed", "waitingForRetry", "unfinished"]),
    "model test": ("model test", ["model", "seconds", "error"]),
    "worker": ("worker --idle 0.2", ["group", "status"]),
    "connect": ("connect codex --dry-run", ["workspace", "written", "clients", "refused"]),
    "connect --remove": ("connect codex --remove", ["workspace", "written", "clients", "refused"]),
    "service install": ("service install --dry-run", ["units", "commands"]),
}
#: What prints a script for a shell, serves a client or a hook, or needs a supervisor with a port (tests/http/test_command.py).
WITHOUT_JSON: Final = {"pool key", "mcp", "open"}
#: What needs a Redis, and is asked for in tests/pool.
OF_REDIS: Final = {"pool status"}
#: What needs systemd, and is asked for in script/test-systemd.
OF_SYSTEMD: Final = {"service restart", "service uninstall", "service status"}
AWAY: Final = {
    "RECALLD_LLM_BASE_URL": "http://127.0.0.1:9/v1",
    "RECALLD_LLM_MODEL": "qwen-test",
    "RECALLD_SUMMARIZE_LEAST": "0",
}
#: What has to be done before a command has something to work on.
BEFORE: Final = {
    "backup verify": "backup create 一.tar",
    "backup restore": "backup create 一.tar",
    "delete": "write 用户对花生过敏",
    "invalidate": "write 用户对花生过敏",
    "undo": "write 用户对花生过敏",
    "why": "inject --query 花生过敏",
}


def leaves(group: Group, before: str = "") -> set[str]:
    return {
        leaf
        for name, one in group.commands.items()
        if name not in HIDDEN
        for leaf in (leaves(one, f"{before}{name} ") if isinstance(one, Group) else {before + name})
    }


def test_cli_has_exactly_the_commands_of_the_table_of_json_answers():
    assert leaves(COMMAND_LINE) - WITHOUT_JSON == {name for name in ANSWERS if "--" not in name} | OF_SYSTEMD | OF_REDIS


@pytest.mark.parametrize("name", ANSWERS)
def test_command_answers_json_in_one_line_with_the_promised_keys(talked, name):
    words, keys = ANSWERS[name]
    if name in BEFORE:
        assert talked(*BEFORE[name].split()).code == 0
    if "{last_act}" in words:
        words = words.format(last_act=re.findall(r"[a-z]-[0-9a-f]{8}", (talked.root / "CHANGES.md").read_text())[-1])
    done = talked(*words.split(), "--json", **(AWAY if name == "model test" else {}))
    assert done.code in {0, 69}, done
    assert done.out.count("\n") == 1, done
    answer = json.loads(done.out)
    first = answer[0] if isinstance(answer, list) else answer
    assert [key for key in first if key in keys] == keys
