"""Nothing private can be asked out of a group: with and without a private memory beside, every answer is the same, byte for byte."""

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recalld import Memory, SupervisorError, register_all_tools
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import run_command
from recalld.supervisor.interfaces.locate import folder_id
from recalld.supervisor.interfaces.serve import Answers
from recalld.supervisor.interfaces.socket_server import Request
from recalld.supervisor.operations.codec import from_json
from recalld.supervisor.operations.operation import NAMES, Caller, find, perform
from recalld.supervisor.protocol.marks import without_marks
from tests.archive.test_attachments import FILE, photo
from tests.world import World, at, message

FAMILY, WORK = "telegram:group:家", "slack:channel:C0123456789"
NOW = "2026-01-31T02:00:00.000Z"
OURS = {"session": FAMILY, "chat": "group"}
SAID = [
    message("g1", "2026-01-10T09:05", "周六去爬山，小周带木炭。", **OURS),
    message("g2", "2026-01-10T09:06", "The cabin's door code is 7719, the bicycle is in the shed.", **OURS),
    message("g3", "2026-01-29T08:00", f"这个文件给大家看：{FILE}", **OURS),
    message("g4", "2026-01-29T08:01", "爬山改到周日。", **OURS),
    message("s1", "2026-01-10T10:00", "钥匙在信箱里。", shared=True),
]
LINES = "2026-01-20|web-chat|钥匙在信箱里 #shared\n买了两把备用钥匙 #共享\n"
NOTE = "周三倒垃圾 #shared\n"
#: The same memory beside what is nobody's business: on the same days, in the same files, and in others.
PRIVATE = [
    message("p0", "2026-01-05T09:00", "离婚的事问律师。 My lawyer is Penelope Quist."),
    message("p1", "2026-01-10T09:04", "我对青霉素过敏，改吃 methotrexate。"),
    message("p2", "2026-01-10T09:05", "护照在保险柜里，爬山的事别提。", session="web-1"),
    message("p3", "2026-01-10T09:07", "The cabin is mortgaged, the shed too.", session=WORK, chat="channel"),
    *(message(f"p{n}", f"2026-01-29T08:{n}", f"木炭 cabin bicycle 钥匙 第 {n} 回 sertraline") for n in range(10, 60)),
    photo("q1", "2026-01-29T09:00"),
]
PRIVATE_LINES = "# 药\n对青霉素过敏\n{}- 护照号码是 E123\n2026-01-22|张医生|sertraline 50 mg\n"
PRIVATE_FILES = {
    "memory/divorce.md": "律师 Penelope Quist #x\n",
    "memory/summary/2026-01-05.md": "## 离婚 #shared\n\n- 律师 Penelope Quist #shared\n",
    "memory/MEMORY.txt": "x",
    "divorce.md": "x",
}
#: Words of both memories, their typos and neighbours; what no one has said; days; parts of words.
QUERIES = (
    *("青霉素", "methotrexate", "repair methotrexate", "methotrexat", "sertralin cabin", "Penelope", "律师", "离婚", "护照"),
    *("cabin", "cabbin code", "bike", "the bike in the shed", "mortgage", "门 code 7719", "爬山", "木炭 谁带", "钥匙在哪"),
    *("2026-01-10", "2026-01-05", "1月29日", "what did we say first?", "我说过什么", "vaillant", "猫", "E123", "771", "", "?"),
)
PATHS = (
    *("memory.md", "MEMORY.md", "memory.md#L1", "memory.md#L2-L3", "memory.md#L5", "memory/垃圾.md", "memory/divorce.md"),
    *("memory/summary/2026-01-05.md", "memory/2026-01-05-离婚.md", "memory/2026-01-10-….md", "divorce.md", "recalld.toml"),
    *("history.json#g1", "history.json#p1", "history.json#s1", "history.json#nobody", FILE, "attachments/" + "0" * 32 + ".png"),
    *("../x.md", "/etc/passwd", "memory", "memory/MEMORY.txt", ".recalld/log.jsonl", "memory/summary", "memory/originals/x.md"),
)


class Row(NamedTuple):
    """One operation with its request as JSON, and the same as a command, if there is one."""

    name: str
    request: dict[str, Any]
    argv: tuple[str, ...] = ()


ROWS = [
    *(Row("search", {"query": query}, ("search", query, "--json")) for query in QUERIES),
    *(Row("search", {"query": query, "limit": 1}, ("search", query)) for query in QUERIES[:4]),
    *(Row("inject", {"question": query}, ("inject", "--query", query, "--json")) for query in QUERIES),
    *(Row("context", {"question": query}, ("context", "--query", query)) for query in QUERIES[:9]),
    *(Row("get", {"path": path}, ("get", path, "--json")) for path in PATHS),
    *(Row("get", {"path": path, "start": 2, "lines": 1}, ("get", path, "--from", "2", "--lines", "1")) for path in PATHS),
    Row("inject", {}, ("inject",)),
    Row("context", {}, ("context",)),
    Row("read", {}, ("read",)),
    *(Row("read", {"start": n}, ("read", str(n), "--json")) for n in range(-1, 6)),
    Row("stats", {}, ("read", "--stats")),
    *(Row("delete", {"lines": [ref]}, ("delete", ref)) for ref in ("1@00000000", "4", "3@1f3a9c0d", "x")),
    *(Row(name, {}) for name in NAMES),
    Row("summarize", {"session": ""}),
    Row("forget", {"by": "match", "value": "护照", "yes": True}),
    Row("redo", {"period": "2026-01-10"}),
    Row("write", {"content": "买面包"}, ("write", "买面包", "--json")),
    Row("write", {"content": "对青霉素过敏"}, ("write", "对青霉素过敏")),
    Row("write", {"content": "买了两把备用钥匙"}, ("write", "买了两把备用钥匙", "--json")),
    Row("read", {}, ("read",)),
]
#: The operation answers, whoever asks: what comes in by the socket or as a command is every kind of row, and a fourth of the many.
MANY = {"search", "inject", "context", "get"}
SOME = [row for n, row in enumerate(ROWS) if n % 4 == 1 or row.name not in MANY or not row.request]
TOOLS = [
    *(("memory_search", {"query": query, "maxResults": 50}) for query in QUERIES),
    *(("memory_search", {"keywords": query}) for query in QUERIES),
    *(("memory_get", {"path": path}) for path in PATHS),
    ("memory_read", {"recent_count": 99}),
    ("memory_read", {"start_line": 2, "end_line": 4}),
    ("memory_delete", {"lines": ["3@00000000"]}),
    ("memory_write", {"content": "护照在保险柜里"}),
    ("memory_write", {"content": "钥匙在信箱里 #shared"}),
    ("memory_read", {}),
]


def built(root: Path, *, is_private: bool, is_filed: bool, in_groups: str = "own") -> World:
    world = World(root, at("2026-01-31T10:00"))
    world.put("recalld.toml", f'{world.toml}[recall]\ntimeout_ms = 60000\nin_groups = "{in_groups}"\n')
    world.reopen((world.root / "recalld.toml").read_text(encoding="utf-8"))
    said = sorted([*SAID, *(PRIVATE if is_private else [])], key=lambda one: str(one["createdAt"]))
    world.write(said)
    if is_filed:
        world.settle()
    world.put("memory.md", PRIVATE_LINES.format(LINES) if is_private else LINES)
    world.put("memory/垃圾.md", f"工资是两万\n{NOTE}律师的电话\n" if is_private else NOTE)
    for name, text in (PRIVATE_FILES if is_private else {}).items():
        world.put(name, text)
    if is_private:
        world.ask({"id": "q1", "role": "user", "text": "青霉素？"})
    return world


# ── the interfaces ───────────────────────────────────────────────────────────


def by_python(world: World) -> Iterator[str]:
    for row in ROWS:
        try:
            caller = Caller(**OURS, clock=world.clock)
            found = perform(find(row.name), world.ws, from_json(find(row.name), row.request), caller)
            yield repr(asdict(found) if is_dataclass(found) else found)
        except SupervisorError as error:
            yield str(error)


def by_socket(world: World) -> Iterator[str]:
    answers = Answers(lambda: world.ws)
    for row in SOME:
        request = Request(row.name, row.request, {**OURS, "language": "zh", "now": NOW}, folder_id(str(world.root)))
        yield json.dumps(answers.answer(request), ensure_ascii=False)


def by_command(world: World) -> Iterator[str]:
    who = ("--session", FAMILY, "--chat", "group")
    for row in SOME:
        if row.argv:
            told = io.StringIO()
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                code = run_command(Call(["-w", str(world.root), "--now", NOW, *row.argv, *who]))
            yield f"{code} {told.getvalue()}"


def by_tools(world: World) -> Iterator[str]:
    for language in ("en", "zh"):
        tools = register_all_tools(Memory(world.ws, clock=world.clock), **OURS, allow_delete=True, language=language)
        for name, arguments in TOOLS:
            reply = tools.call(name, arguments)
            yield f"{reply.is_error} {reply.text} {json.dumps(reply.data, ensure_ascii=False)}"


INTERFACES: dict[str, Callable[[World], Iterator[str]]] = {
    "python": by_python,
    "socket": by_socket,
    "command": by_command,
    "tools": by_tools,
}


@pytest.mark.parametrize("is_filed", [True, False], ids=["filed", "unfiled"])
@pytest.mark.parametrize("in_groups", ["own", "none"])
def test_group_is_answered_the_same_beside_a_private_memory(tmp_path, is_filed, in_groups):
    worlds = [
        built(tmp_path / f"{flag}" / "w", is_private=flag, is_filed=is_filed, in_groups=in_groups) for flag in (False, True)
    ]
    # each door with a group that is shown nothing: tests/interfaces/test_who_listens.py
    interfaces = INTERFACES if in_groups == "own" else {"python": by_python}
    for interface, asked in interfaces.items():  # each asks memories of its own: some of what is asked writes
        without, beside = ([*asked(world.copied(world.root.with_name(interface)))] for world in worlds)
        assert [one for one in (*without, *beside) if str(tmp_path) in one] == []  # no absolute path
        assert [(interface, *pair) for pair in zip(without, beside, strict=True) if pair[0] != pair[1]] == []


# ── whatever was said, and wherever ──────────────────────────────────────────

#: Few words, so that talks share them, and a secret that is in what the owner says to the assistant alone.
WORD = st.sampled_from(["爬山", "木炭", "cabin", "bicycle", "key", "bicycel", "钥匙", "#shared", "#共享", "周六", FILE])
WORDS = st.lists(WORD, max_size=4).map(" ".join)
WHERE = st.sampled_from([{}, {"session": "web-1"}, {**OURS, "chat": "direct"}, {"session": WORK}, {"chat": "group"}])
PRIVATELY = "青霉素Xylophonist"
TALK = st.lists(st.tuples(WORDS, st.integers(10, 29)), max_size=6)
PRIVATE_TALK = st.lists(st.tuples(WORDS, WHERE, st.integers(10, 29)), min_size=1, max_size=8)
#: Lines of memory.md, each with whether it is private; a blank one ends a paragraph.
LINES_OF = st.lists(st.tuples(st.sampled_from(["- ", "", "2026-01-20|#shared|", "# ", "\n"]), WORDS, st.booleans()), max_size=8)


def told(memory: Memory, words: str) -> str:
    """All that a group is told, by searches, blocks, tools and lines."""
    tools = register_all_tools(memory, **OURS, language="zh")
    found = [repr(asdict(memory.find(query, 50, **OURS))) for query in (words, f"{PRIVATELY} {words}", "2026-01-15")]
    found += [memory.inject(words, **OURS).memory, json.dumps(memory.context(words, **OURS).messages, ensure_ascii=False)]
    found += [repr(memory.read(1, 99, **OURS)), repr(memory.stats(**OURS))]
    found += [tools.call("memory_search", {"query": words}).text, tools.call("memory_search", {"keywords": words}).text]
    for path in ("memory.md", FILE, *(f"history.json#{one}{n}" for one in "gp" for n in range(8))):
        with contextlib.suppress(SupervisorError):
            found.append(memory.get(path, **OURS).text)
    return "\n".join(found)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(said=TALK, private=PRIVATE_TALK, lines=LINES_OF, asked=WORDS, is_filed=st.booleans())
def test_group_is_told_no_byte_of_a_private_message_and_the_same_without(
    tmp_path_factory, said, private, lines, asked, is_filed
):
    ours = [message(f"g{n}", f"2026-01-{day}T09:00", f"群 {words}", **OURS) for n, (words, day) in enumerate(said)]
    theirs = [
        message(f"p{n}", f"2026-01-{day}T09:01", f"{PRIVATELY} {words}", **where)
        for n, (words, where, day) in enumerate(private)
    ]
    marked = ("#shared", "#共享")
    answers = []
    for others in ([], theirs):
        world = World(tmp_path_factory.mktemp("w"), at("2026-01-31T10:00"))
        world.reopen(f"{world.toml}[recall]\ntimeout_ms = 60000\n")
        world.write(sorted([*ours, *others], key=lambda one: str(one["createdAt"])))
        if is_filed:
            world.settle()
        kept = [
            (mark, words) for mark, words, is_private in lines if any(one in words.split() for one in marked) and not is_private
        ]
        every = [
            (mark, f"{PRIVATELY} {without_marks(words)}" if is_private else words)
            for mark, words, is_private in lines
            if is_private or (mark, words) in kept
        ]
        world.put("memory.md", "".join(f"{mark}{words}\n" for mark, words in (every if others else kept)))
        answers.append(told(Memory(world.ws, clock=world.clock), asked))
    without, beside = answers
    assert beside == without
