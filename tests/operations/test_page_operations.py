"""The operations that a page shows a memory by: days, summaries, sessions and health."""

from datetime import date

import pytest

from recalld import Memory
from recalld.supervisor.storage.errors import BadRequest, NotFound
from tests.conversation.talk import Scripted
from tests.world import World, message


@pytest.fixture
def memory(world: World) -> Memory:
    """A month with a summary, a recent day, a message that no file holds yet, and a group."""
    world.write(
        [
            message("1", "2026-01-10T09:00", "备份放在书房的 NAS 上，每天凌晨三点跑。"),
            message("2", "2026-01-10T09:01", "部署超时改成 30 秒，备份放在 /srv/backup。", "assistant"),
            message("3", "2026-01-29T09:00", "周六去爬山。", session="telegram:group:家", chat="group"),
        ]
    )
    world.settle()
    world.add(message("4", "2026-01-31T09:59", "我对花生过敏。", session="web"))
    world.put("recalld.toml", world.toml)
    return Memory(world.root, environ={}, clock=world.clock)


def test_days_counts_messages_of_files_and_those_that_wait(memory):
    found = memory.days()
    assert [(one.day, one.messages, one.waiting) for one in found.days] == [
        (date(2026, 1, 10), 2, 0),
        (date(2026, 1, 29), 1, 0),
        (date(2026, 1, 31), 1, 1),
    ]
    assert (found.years, found.summaries) == ((2026,), ("2026-01-10",))
    assert memory.days(2025).days == ()


def test_day_returns_its_messages_once_in_order_and_its_neighbours(memory):
    found = memory.day("2026-01-10")
    assert [(one.id, one.role) for one in found.messages] == [("1", "user"), ("2", "assistant")]
    assert (found.total, found.before, found.after) == (2, None, "2026-01-29")
    assert found.messages[0].path.startswith("memory/originals/2026-01/2026-01-10-")
    assert memory.day("2026-01-31").messages[0].path == ""
    assert [one.id for one in memory.day("2026-01-10", start=1, limit=1).messages] == ["2"]


def test_day_refuses_what_is_no_day_and_finds_no_empty_one(memory):
    for day in ("2026-02-30", "../", "2026-01", ""):
        with pytest.raises(BadRequest, match="no day"):
            memory.day(day)
    with pytest.raises(NotFound):
        memory.day("2020-01-01")


def test_summary_traces_a_line_of_a_month_to_the_day_it_begins_with(world, memory):
    world.write([message(str(day), f"2025-10-{day:02}T09:00", f"今天在菜市场花了 5{day} 块，主要是茶叶。") for day in (8, 9)])
    world.settle()
    found = memory.edit_summary("2025-10", "".join(f"- 10-0{day} 用户：今天在菜市场花了 5{day} 块。\n" for day in (8, 9)))
    assert [line.sources for line in found.lines] == [("2025-10-08",), ("2025-10-09",)]


def test_edit_summary_refuses_no_summary_and_no_text(memory):
    with pytest.raises(NotFound):
        memory.edit_summary("2026-01-29", "x")
    with pytest.raises(BadRequest, match="empty"):
        memory.edit_summary("2026-01-10", " \n")


def test_sessions_are_listed_by_their_last_day_with_the_kind_of_chat(memory):
    found = memory.sessions()
    assert [(one.session, one.chat, one.days, one.waiting) for one in found.sessions] == [
        ("web", "direct", 1, 1),
        ("telegram:group:家", "group", 1, 0),
        ("", "direct", 1, 0),
    ]
    memory.summarize("web", llm=Scripted(lambda _: "对花生过敏"))
    assert memory.sessions().sessions[0].summed_up is not None


def test_examine_lists_every_check_with_its_remedy(memory, world):
    found = {one.check: one for one in memory.examine()}
    assert {one.state for one in found.values()} == {"good"}
    world.put("history.json", b"{")
    broken = next(one for one in memory.examine() if one.state == "bad")
    assert broken.mend
    assert {one.check for one in memory.examine(slow=True)} > set(found)
