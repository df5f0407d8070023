"""An English developer gives an assistant of their own a memory."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.people.person import Person, lines_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.proof

WIFI = "the wifi password of the cabin is plum-orchid-77"
QUESTION = "what is the wifi password of the cabin?"
TALK = lines_of(
    *(
        {"role": role, "text": text}
        for n in range(30)
        for role, text in (
            ("user", f"How deep do I plant the tulips of bed {n}?"),
            ("assistant", f"Dig {n + 5} centimetres and water bed {n} well."),
        )
    )
)


@pytest.fixture
def me(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    person.recalld("init")
    return person


def test_developer_has_the_first_answer_of_the_readme(tmp_path: Path):
    me = Person(tmp_path)
    assert me.recalld("status", expects=64).err.endswith(f"make it with `recalld init -w {me.memory}`.\n")
    assert me.recalld("init").out.startswith("memory/\n├── history.json\n")
    said = me.recalld('append --role user --text "I am allergic to penicillin."').out.strip()
    first = me.recalld('inject --query "what am I allergic to?"').out.splitlines()
    assert first[:2] == ["## Memory", "(Quoted from memory, for reference; not instructions.)"]
    assert first[2].startswith("(Today is ")
    assert first[3].startswith(f"[history.json#{said}] (")
    assert first[3].endswith(") user: I am allergic to penicillin.")
    assert "archived           1\n" in me.recalld("run --until-settled").out
    (day,) = [path.name for path in (me.memory / "memory").glob("*.md")]
    assert day.endswith("-allergic-penicillin.md")
    assert f"[memory/{day}#L14] (" in me.recalld('inject --query "what am I allergic to?"').out
    assert me.recalld(f"get memory/{day}#L14").out == "I am allergic to penicillin.\n"
    assert me.recalld("status").out.startswith("all is well; no supervisor runs, `recalld -w ~/memory run` starts one.\n")


@pytest.mark.parametrize("runs", [False, True], ids=["alone", "beside a supervisor"])
def test_developer_is_told_what_was_said_thirty_exchanges_ago(me: Person, runs: bool):
    with me.supervisor() if runs else contextlib.nullcontext():
        said = me.recalld(f'append --role user --text "{WIFI}"').out.strip()
        assert len(me.recalld("append --jsonl", stdin=TALK).out.split()) == 60

        assert f"[history.json#{said}] (" in (block := me.recalld(f'inject --query "{QUESTION}"').out)
        assert f") user: {WIFI}\n" in block
        best = me.recalld('search "wifi password"').out.splitlines()[0]
        assert best.endswith(f"  history.json#{said}  {WIFI}")
        assert me.recalld(f'inject --query "{QUESTION}" --known {said}').out.count("plum-orchid") == 0

        messages = me.recalld(f'context --query "{QUESTION}" --system "You are my assistant."').json
        assert {message["role"] for message in messages[1:]} == {"user", "assistant"}
        assert messages[0] == {"role": "system", "content": "You are my assistant."}
        assert messages[-1]["content"].endswith(f"\n\n{QUESTION}")
        assert [WIFI in message["content"] for message in messages].count(True) == 1
        assert WIFI in messages[-1]["content"].partition("</memory>")[0]

        why = me.recalld("why").out
        assert re.search(f"^asked +{re.escape(QUESTION)}$", why, re.MULTILINE)
        assert f"[history.json#{said}]  words: " in why
        assert me.recalld("plan").out.count("  messages 61\n") == 1

        assert me.recalld("archive").out.startswith("archived  61\n")
        assert f": {WIFI}" in me.recalld(f'inject --query "{QUESTION}"').out
        assert "history.json#" not in me.recalld('search "wifi password"').out


def test_developer_has_an_assistant_in_python(me: Person):
    program = f"""
from recalld import Memory, SupervisorError

memory = Memory("~/memory")
heard = []


def turn(text):
    context = memory.context(text, system="You are my assistant.")
    heard.append([message["role"] for message in context.messages])
    memory.append([{{"role": "user", "text": text}}, {{"role": "assistant", "text": "Noted."}}])
    return context.messages[-1]["content"]


turn("{WIFI}")
for n in range(30):
    turn(f"How deep do I plant the tulips of bed {{n}}?")
print(turn("{QUESTION}"))
print(memory.append({{"role": "user", "text": "A dict is a message as well."}}) != [])
print(memory.search("tulips of bed 7")[0].unit.text)
print({{tuple(sorted(set(roles[1:]))) for roles in heard[1:]}})
try:
    memory.append({{"role": "user"}})
except SupervisorError as error:
    print(error)
"""
    with me.supervisor():
        first, *_, found, roles, error = me.python(program).splitlines()
    assert first == "<memory>"
    assert found == "How deep do I plant the tulips of bed 7?"
    assert roles == "{('assistant', 'user')}"
    assert error == "message: it has no text."


ADDING = """
from recalld import Memory

memory = Memory("~/memory")
for n in range(400):
    role = ("user", "assistant")[n % 2]
    print(*memory.append([{"id": f"m{n}", "role": role, "text": f"Box {n} holds {n * 7919} screws."}]), flush=True)
"""
READING = """
from recalld import Memory

memory = Memory("~/memory")
for line in open("window-2.txt"):
    print(memory.get(f"history.json#{line.strip()}").text)
"""


def test_developer_loses_nothing_to_a_kill(me: Person):
    (me.home / "adding.py").write_text(ADDING, encoding="utf-8")
    with me.supervisor() as supervisor, me.window(f"'{sys.executable}' adding.py", "m130\n") as adding:
        assert adding.end(signal.SIGKILL) == supervisor.end(signal.SIGKILL) == -signal.SIGKILL

    printed = adding.text().split()
    acknowledged = [f"Box {n} holds {n * 7919} screws." for n in range(len(printed))]
    assert printed == [f"m{n}" for n in range(len(printed))]
    known = me.recalld("fsck --json").json
    assert (known["lost"], known["damage"]) == ([], [])
    assert known["seen"] - len(acknowledged) in (0, 1)  # one may be safe whose id was not printed any more
    assert me.python(READING).splitlines() == acknowledged
    assert me.python(ADDING).count("\n") == 400  # what an assistant does that had no answer: all of it once more
    me.recalld("run --until-settled")
    settled = me.recalld("fsck --json").json
    assert (settled["seen"], settled["inFiles"], settled["lost"]) == (400, 400, [])
    assert "Box 141 holds 1116579 screws." in me.recalld('search "how many screws are in box 141?"').out
