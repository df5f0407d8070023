"""Lines that are no longer true: how they end, what is refused, and that they are shown only where the past is asked for."""

import json

import pytest

from recalld import Memory
from recalld.supervisor.interfaces.tools.memory_tools import MemoryTools
from recalld.supervisor.storage.errors import BadRequest, NotFound, OwnersAlone, StaleLine
from tests.world import World, at, message

OLD = "2026-02-14|web-chat|住在杭州西湖区"
ENVIRON = {"RECALLD_RECALL_TIMEOUT_MS": "60000", "RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai"}
HALL = "发布会定在十二月一日，场地是星海厅"
NOW = at("2026-11-23T07:30")


@pytest.fixture
def memory(world: World) -> Memory:
    world.put("memory.md", f"# 生活\n\n{OLD}\n2026-02-15|web-chat|对花生过敏 #pin\n- 车停在 B2\n")
    return Memory(world.root, environ=ENVIRON, clock=lambda: NOW)


def ref(memory: Memory, words: str = "") -> str:
    return next(one.ref for one in memory.read(1, 99).lines if words in one.text)


def lines(memory: Memory) -> list[str]:
    return [one.text for one in memory.read(1, 99).lines]


def found(memory: Memory, question: str) -> list[str]:
    return [hit.unit.text for hit in memory.find(question).hits]


def test_write_with_replaces_strikes_the_line_and_keeps_its_form(memory):
    made = memory.write("搬到苏州，住在园区", replaces=ref(memory, "杭州"))
    assert lines(memory) == [
        "# 生活",
        "2026-02-14|web-chat|~~住在杭州西湖区~~（至 2026-11-23）",
        "2026-02-15|web-chat|对花生过敏 #pin",
        "- 车停在 B2",
        "2026-11-23|web-chat|搬到苏州，住在园区",
    ]
    assert made.replaced == ref(memory, "杭州")


def test_replaced_line_is_shown_for_the_past_alone_with_what_stands(memory):
    memory.write("搬到苏州，住在园区", replaces=ref(memory, "杭州"))
    for question in ("我现在住在哪里", "我住在哪个区"):
        assert found(memory, question) == ["搬到苏州，住在园区"]
    assert set(found(memory, "我以前住在杭州哪里")) == {
        "~~住在杭州西湖区~~（至 2026-11-23）",
        "搬到苏州，住在园区",
    }


def test_write_with_replaces_refuses_and_writes_nothing(memory, world):
    before = (world.root / "memory.md").read_bytes()
    seen = ref(memory, "杭州")
    for replaces, error in [
        ("3@00000000", StaleLine),
        ("99@00000000", StaleLine),
        ("3", StaleLine),
        ("first", BadRequest),
        (ref(memory, "# 生活"), BadRequest),
    ]:
        with pytest.raises(error):
            memory.write("住在南京", replaces=replaces)
    with pytest.raises(BadRequest, match="says this already"):
        memory.write("住在杭州西湖区", replaces=seen)
    assert (world.root / "memory.md").read_bytes() == before


def test_ring_of_replacements_is_refused(memory):
    first = ref(memory, "杭州")
    memory.write("住在苏州园区", replaces=first)
    with pytest.raises(StaleLine, match="至 2026"):
        memory.write("住在苏州园区", replaces=first)  # as it was seen before it was struck
    with pytest.raises(BadRequest, match="ended already"):
        memory.write("住在苏州园区", replaces=ref(memory, "杭州"))
    with pytest.raises(BadRequest, match="says this already"):
        memory.write("住在苏州园区", replaces=ref(memory, "苏州"))
    memory.write("住在杭州西湖区", replaces=ref(memory, "苏州"))  # things may go back to what they were
    assert found(memory, "我现在住在哪里") == ["住在杭州西湖区"]


# ── invalidate ───────────────────────────────────────────────────────────────


def test_invalidate_ends_a_line_with_the_reason(memory):
    done = memory.invalidate(ref(memory, "B2"), "车卖了")
    assert (done.text, done.place) == ("- ~~车停在 B2~~（至 2026-11-23：车卖了）", ref(memory, "B2"))
    assert found(memory, "我的车停在哪") == []  # nothing stands in its place
    assert found(memory, "以前车停在哪") == ["~~车停在 B2~~（至 2026-11-23：车卖了）"]


def test_invalidate_ends_a_message_and_leaves_its_file_alone(world):
    world.write([message("m1", "2026-01-10T09:00", HALL), message("m2", "2026-01-20T09:00", "发布会改到十二月十五日")])
    world.archive(everything=True)
    memory = Memory(world.root, environ=ENVIRON, clock=lambda: NOW)
    files = {path: path.read_bytes() for path in (world.root / "memory").rglob("*.md")}
    memory.invalidate("m1", "场地取消了")
    assert {path: path.read_bytes() for path in (world.root / "memory").rglob("*.md")} == files
    with pytest.raises(BadRequest, match=r"history\.json#m1: .* no longer true since 2026-11-23"):
        memory.invalidate("m1")
    assert found(memory, "发布会定在哪天") == ["发布会改到十二月十五日"]
    assert f"~~{HALL}~~（至 2026-11-23：场地取消了）" in found(memory, "发布会原来定在哪天")
    (line,) = (world.root / ".recalld/ended.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"message": "m1", "until": "2026-11-23", "reason": "场地取消了"}


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("", BadRequest),
        ("nosuch", NotFound),
        ("1@00000000", StaleLine),
        ("memory/2026-01-10-x.md#L4", BadRequest),
        ("memory/summary/2026-01-15.md#L9", NotFound),
    ],
)
def test_invalidate_refuses_what_names_nothing(memory, world, target, error):
    with pytest.raises(error):
        memory.invalidate(target)
    assert not (world.root / ".recalld/ended.jsonl").exists()


def test_invalidate_is_the_owners_alone(memory):
    from recalld.supervisor.operations import long_term
    from recalld.supervisor.operations.operation import Caller, perform

    request = {"target": "m1"}
    with pytest.raises(OwnersAlone):
        perform(long_term.invalidate, memory.workspace, request, Caller(chat="group", session="g"))


def test_hits_are_the_same_where_ended_jsonl_is_damaged(memory, world):
    (world.root / ".recalld").mkdir(exist_ok=True)
    (world.root / ".recalld/ended.jsonl").write_bytes(
        b'{"message": 3}\n\xff\n[]\n{"line": "x", "until": "soon"}\n' + b"[" * 9999
    )
    assert found(memory, "住在哪个区") == ["住在杭州西湖区"]


# ── what a person strikes ────────────────────────────────────────────────────


def test_struck_words_stand_behind_what_is_true_and_never_alone(memory, world):
    world.put("memory.md", "- ~~发布会在十二月一日~~\n- 发布会在十二月十五日，星海厅\n")
    assert found(memory, "发布会在哪天") == ["发布会在十二月十五日，星海厅", "~~发布会在十二月一日~~"]
    world.put("memory.md", "- ~~发布会在十二月一日~~\n")
    assert found(memory, "发布会在哪天") == []


# ── a line of several items ──────────────────────────────────────────────────

TWO = "2026-02-14|web-chat|老婆小雨不吃羊肉；我开始学游泳，周二周四"
ENGLISH = "2026-02-14|web-chat|Anna eats no lamb. I started swimming, Tuesdays and Thursdays. The car is at Dr. Weber's"


def memory_with(world: World, text: str) -> Memory:
    world.put("memory.md", text)
    return Memory(world.root, environ={**ENVIRON, "RECALLD_LANGUAGE": "zh"}, clock=lambda: NOW)


@pytest.mark.parametrize(
    ("line", "content", "struck", "others"),
    [
        (TWO, "游泳改到周三周五", "~~我开始学游泳，周二周四~~（至 2026-11-23）", "老婆小雨不吃羊肉"),
        (TWO, "小雨开始吃羊肉了", "~~老婆小雨不吃羊肉~~（至 2026-11-23）", "我开始学游泳，周二周四"),
        (TWO, "老婆小雨不吃羊肉；改学打网球", "~~老婆小雨不吃羊肉；我开始学游泳，周二周四~~（至 2026-11-23）", ""),
        (
            ENGLISH,
            "I swim on Fridays now",
            "~~I started swimming, Tuesdays and Thursdays.~~ (until 2026-11-23)",
            "Anna eats no lamb. The car is at Dr. Weber's",
        ),
        (ENGLISH, "The car is back", "~~The car is at Dr. Weber's~~ (until 2026-11-23)", ENGLISH[20:].partition(" The car")[0]),
    ],
)
def test_write_ends_the_item_that_it_is_about_alone(world, line, content, struck, others):
    memory = memory_with(world, f"{line}\n- 车停在 B2\n")
    made = memory.write(content, replaces=ref(memory))
    now = {one.ref: one.text for one in memory.read(1, 99).lines}
    before = line[:20]
    assert now[made.replaced] == before + struck
    assert now.get(made.others, before) == before + others
    assert lines(memory) == [
        *filter(None, [now.get(made.others)]),
        now[made.replaced],
        "- 车停在 B2",
        f"2026-11-23|web-chat|{content}",
    ]


def test_item_names_the_one_that_ends(world):
    memory = memory_with(world, f"{TWO}\n")
    for item in (0, 3, -1):
        with pytest.raises(BadRequest, match=r"^item: .*\(1\) 老婆小雨不吃羊肉 \(2\) 我开始学游泳，周二周四"):
            memory.write("改学打网球", replaces=ref(memory), item=item)
    with pytest.raises(BadRequest, match=r"^item: "):
        memory.write("改学打网球", item=2)
    memory.write("改学打网球", replaces=ref(memory), item=2)
    assert [one[20:] for one in lines(memory)[:2]] == ["老婆小雨不吃羊肉", "~~我开始学游泳，周二周四~~（至 2026-11-23）"]


def test_group_is_told_the_numbers_of_its_own_lines(world):
    group = {"session": "telegram:group:家", "chat": "group"}
    memory = memory_with(world, f"{TWO}\n2026-02-16|web-chat|钥匙在信箱里；周五聚餐 #shared\n")
    made = memory.write("钥匙在门卫那里", replaces=memory.read(1, 9, **group).lines[0].ref, **group)
    assert (made.others[:2], made.replaced[:2]) == ("1@", "2@")
    shown = [one.text[20:] for one in memory.read(1, 9, **group).lines]
    assert shown == ["周五聚餐 #shared", "~~钥匙在信箱里 #shared~~（至 2026-11-23）"]
    assert lines(memory)[0] == TWO


def test_tool_takes_an_item_and_says_what_goes_on(world):
    tools = MemoryTools(memory_with(world, f"{TWO}\n"))
    with pytest.raises(BadRequest, match=r"\(1\) 老婆"):
        tools.memory_write("改学打网球", replaces=ref(tools.memory))
    said = tools.memory_write("改学打网球", replaces=ref(tools.memory), item=2)
    assert (said.others[:2], said.replaced[:2]) == ("1@", "2@")
    assert f"what else it said still holds, and goes on as line {said.others}." in said.plain
