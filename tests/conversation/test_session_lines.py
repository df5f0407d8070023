"""A session as one long-term line: what is summed up, what it is called, and how often; then what overflows its history."""

import json
from datetime import UTC

import pytest

from recalld import Memory
from recalld.supervisor.conversation.session_lines import extract_line
from recalld.supervisor.conversation.sessions import session_digest
from recalld.supervisor.protocol.marks import is_shared
from recalld.supervisor.protocol.task_material import only_says_back
from recalld.supervisor.storage.errors import BadFile, NoSummary
from tests.conversation.talk import Scripted, fenced
from tests.world import GOOD_SUMMARY, WITH_MODEL, WITHOUT_MODEL, World, message, talk

SESSION = "部署"
LINE = "备份放在 /srv/backup；超时改成 30 秒；用户对花生过敏"


@pytest.fixture
def memory(world: World) -> Memory:
    return Memory(world.ws, clock=world.clock)


def said(count: int, session: str = SESSION, when: str = "2026-01-30T09:00", **more: object) -> list[dict[str, object]]:
    of_session = {"session": session} if session else {}
    return [{**one, "text": f"{one['text']}；{LINE}", **of_session, **more} for one in talk(when, count, prefix=session)]


def lines(world: World) -> list[str]:
    path = world.root / "memory.md"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


# ── a session ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mark", ["#共享", "##Shared #sha#sharedred"])
def test_lines_about_a_talk_never_carry_the_mark_for_groups(world: World, memory: Memory, mark: str) -> None:
    world.write([{**one, "text": f"{mark} 对青霉素过敏，{one['text']}"} for one in said(130)])
    by_model = memory.summarize(SESSION, llm=Scripted(lambda _: f"{mark} 用户对青霉素过敏 {mark}"))
    by_overflow = memory.summarize_overflow(SESSION, llm=Scripted(lambda _: f"青霉素 {mark}"))
    world.reopen(WITHOUT_MODEL)
    memory = Memory(world.ws, clock=world.clock)
    as_extract = memory.summarize(SESSION, again=True)
    for line in (by_model, by_overflow, as_extract):
        assert line is not None
        assert "青霉素" in line.text
        assert not is_shared(line.text)
    assert memory.read(recent=9, chat="group").lines == ()


@pytest.mark.feature("000.34")
def test_summarize_writes_the_session_as_one_line_with_its_name(world: World, memory: Memory) -> None:
    world.put("memory.md", "".join(f"- 第 {n} 行\n" for n in range(42)))
    world.write([*said(6), *said(2, "别的")])
    model = Scripted(lambda _: LINE)

    written = memory.summarize(SESSION, llm=model)

    assert written is not None
    assert (written.line, written.total, written.text) == (43, 43, f"2026-01-31|{SESSION}|{LINE}")
    assert lines(world)[-1] == written.text
    (prompt,) = model.prompts
    assert [f"（第 {n} 条）" in prompt for n in range(7)] == [True] * 6 + [False]


def test_summarize_again_takes_only_what_is_new_unless_told(world: World, memory: Memory) -> None:
    world.write(said(4))
    model = Scripted(lambda prompt: f"{LINE}；共{'零一二三四五六'[prompt.count('条）')]}条")
    first = memory.summarize(SESSION, llm=model)
    assert memory.summarize(SESSION, llm=model) is None
    assert len(model.prompts) == 1

    world.add(*said(2, when="2026-01-30T20:00"))
    second = memory.summarize(SESSION, llm=model)
    anew = memory.summarize(SESSION, llm=model, again=True)

    assert [one.text.rpartition("；")[2] for one in (first, second, anew) if one] == ["共四条", "共二条", "共六条"]
    assert len(lines(world)) == 3


@pytest.mark.parametrize("session", ["../../etc|passwd", "一\n二", "长" * 500])
def test_summarize_takes_any_name_as_text_and_never_as_a_path(world: World, memory: Memory, session: str) -> None:
    world.write(said(4, session))
    written = memory.summarize(session, llm=Scripted(lambda _: LINE))
    assert written
    assert written.text == f"2026-01-31|{' '.join(session.replace('|', ' ').split())}|{LINE}"
    files = sorted(path.name for path in world.paths.sessions.iterdir())
    assert files == [f"session-{session_digest(session)}.json", f"session-{session_digest(session)}.lock"]


def test_summarize_refuses_a_damaged_marker_rather_than_sum_up_twice(world: World, memory: Memory) -> None:
    world.write(said(4))
    memory.summarize(SESSION, llm=Scripted(lambda _: LINE))
    path = world.paths.session(session_digest(SESSION))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(BadFile):
        memory.summarize(SESSION, llm=Scripted(lambda _: LINE))


@pytest.mark.parametrize(
    ("spoken", "line"),
    [
        ([("user", "改到周五。"), ("user", "报价 860。")], "用户：改到周五；报价 860"),
        ([("assistant", "几点见？"), ("user", "八点。"), ("user", "报价 860。")], "助手：几点见？ → 用户：八点；报价 860"),
        ([("user", "The gateway moved to Friday."), ("user", "thanks!")], "user: The gateway moved to Friday."),
        ([("user", "你好呀")], ""),
    ],
)
def test_extract_line_has_the_words_alone(spoken: list[tuple[str, str]], line: str) -> None:
    messages = [
        {"role": role, "content": text, "createdAt": f"2026-06-20T09:0{n}:00.000Z"} for n, (role, text) in enumerate(spoken)
    ]
    assert extract_line(messages, UTC, 2_000) == line


# ── overflow ─────────────────────────────────────────────────────────────────


class Numbered(Scripted):
    """A model that answers differently each time."""

    def __init__(self) -> None:
        super().__init__(lambda _: f"{LINE}；第 {len(self.prompts)} 次")


def marker(world: World) -> str:
    found = json.loads(world.paths.session(session_digest(SESSION)).read_bytes())
    return str(found["markers"]["overflow"]["id"])


@pytest.mark.feature("000.40", "000.41", "000.42", "000.45", "000.47")
def test_overflow_of_120_messages_sums_up_the_first_20(world: World, memory: Memory) -> None:
    messages = said(120)
    world.write(messages[:100])
    model = Numbered()
    assert memory.summarize_overflow(SESSION, llm=model) is None

    world.write(messages)
    written = memory.summarize_overflow(SESSION, llm=model)

    assert written
    assert written.text == f"2026-01-31|auto-overflow|{LINE}；第 1 次"
    assert model.temperatures == [0.3]
    (conversation,) = fenced(model.prompts[0])
    assert [f"（第 {n} 条）" in conversation for n in (0, 19, 20)] == [True, True, False]
    assert marker(world) == messages[19]["id"]

    assert memory.summarize_overflow(SESSION, llm=model) is None
    world.add(*said(4, when="2026-01-30T20:00"))
    assert memory.summarize_overflow(SESSION, llm=model)
    assert [f"（第 {n} 条）" in fenced(model.prompts[1])[0] for n in (19, 20, 23, 24)] == [False, True, True, False]
    assert len(lines(world)) == 2


@pytest.mark.feature("000.43")
def test_overflow_sums_up_user_and_assistant_alone(world: World, memory: Memory) -> None:
    messages = said(110)
    for one in messages[2:6]:
        one["role"] = "tool"
    world.write(messages)
    model = Numbered()
    memory.summarize_overflow(SESSION, llm=model)
    assert [f"（第 {n} 条）" in model.prompts[0] for n in (1, 2, 5, 6, 9)] == [True, False, False, True, True]
    assert marker(world) == messages[9]["id"]


@pytest.mark.feature("000.44")
def test_overflow_of_fewer_than_three_waits_for_the_third(world: World, memory: Memory) -> None:
    world.write(said(102))
    model = Numbered()
    assert memory.summarize_overflow(SESSION, llm=model) is None
    assert model.prompts == []
    world.write(said(103))
    assert memory.summarize_overflow(SESSION, llm=model)
    assert "（第 0 条）" in model.prompts[0]


@pytest.mark.feature("000.46")
def test_history_with_summary_is_the_last_hundred(world: World, memory: Memory) -> None:
    world.write(said(120))
    history = memory.get_history_with_summary(SESSION)
    assert len(history) == 100
    assert ("（第 20 条）" in history[0]["content"], history[0]["role"]) == (True, "user")


def test_overflow_waits_after_a_failure_and_loses_nothing(world: World, memory: Memory) -> None:
    world.write(said(120))
    broken = Scripted(lambda _: RuntimeError("模型不在"))
    for _ in range(3):
        assert memory.summarize_overflow(SESSION, llm=broken) is None
    assert len(broken.prompts) == 1
    assert [event["attempts"] for event in world.events.of("conversation_failed")] == [1]
    world.forward(minutes=11)
    assert memory.summarize_overflow(SESSION, llm=Numbered())
    assert len(lines(world)) == 1


@pytest.mark.parametrize("reason", ["paused", "spent"])
def test_overflow_does_not_count_a_model_that_was_not_asked(world: World, memory: Memory, reason: str) -> None:
    world.write(said(120))
    assert memory.summarize_overflow(SESSION, llm=Scripted(lambda _: NoSummary("它没有被问", reason))) is None
    assert memory.summarize_overflow(SESSION, llm=Numbered())
    assert world.events.of("conversation_failed") == []


def test_overflow_leaves_a_session_to_the_process_that_has_it(world: World, memory: Memory) -> None:
    world.write(said(120))
    found: list[object] = []

    def meanwhile(_: str) -> str:
        other = Memory(world.another().ws, clock=world.clock)
        found.append(other.summarize_overflow(SESSION, llm=Numbered()))
        return LINE

    assert memory.summarize_overflow(SESSION, llm=Scripted(meanwhile))
    assert (found, len(lines(world))) == ([None], 1)


def test_turn_goes_on_where_overflow_can_not_and_an_event_says_why(world: World) -> None:
    world.reopen(f'{WITHOUT_MODEL}[turns]\noverflow = "memory"\n')
    world.write(said(103))
    path = world.paths.session(session_digest(SESSION))
    world.put(str(path.relative_to(world.root)), b"{")
    turn = Memory(world.ws, clock=world.clock).inject("备份在哪里？", session=SESSION)
    assert turn.receipt.chat == "group"  # whose session it is can't be read
    (event,) = world.events.of("degraded")
    assert path.name in event["why"]


def test_turn_of_context_sums_up_all_that_its_history_no_longer_shows(world: World) -> None:
    world.reopen(f'{WITHOUT_MODEL}[turns]\noverflow = "memory"\n[context]\nmax_messages = 6\n')
    memory = Memory(world.ws, clock=world.clock)
    for n in range(20):
        world.add(
            message(f"m{n}", f"2026-01-30T09:{n:02}", f"第 {n} 箱放在 {n} 号架", ("user", "assistant")[n % 2], session=SESSION)
        )
        shown = {one.id for one in memory.context("箱子在哪？", session=SESSION).history}
        told = world.ws.session_talk.read(SESSION, world.clock(), world.ws.session_files.read(SESSION).markers.get("overflow"))
        waiting = {block.id for block in told.fresh(told.blocks)}
        assert len(waiting - shown) < world.ws.config.conversation.overflow_min
    assert 2 <= len(lines(world)) <= 7


GROWS = WITHOUT_MODEL.replace("least = 0", "least = 0\nchar_threshold = 500") + '[turns]\noverflow = "memory"\n'


@pytest.mark.feature("000.53")
def test_turn_sums_up_a_session_past_20_messages_but_for_the_last_10(world: World) -> None:
    world.reopen(f'{WITHOUT_MODEL}[turns]\noverflow = "memory"\n')
    memory = Memory(world.ws, clock=world.clock)
    messages = said(44)
    for count, last, written in ((20, 0, 0), (21, 9, 1), (30, 9, 1), (31, 19, 2), (44, 33, 3)):
        world.write(messages[:count])
        memory.inject("备份在哪里？", session=SESSION)
        assert len(lines(world)) == written
        assert not written or marker(world) == messages[last]["id"]
    assert all(line.startswith(f"2026-01-31|{SESSION}|") for line in lines(world))


@pytest.mark.feature("000.53")
def test_turn_sums_up_a_session_past_its_characters(world: World) -> None:
    world.reopen(GROWS)
    memory = Memory(world.ws, clock=world.clock)
    messages = [{**one, "text": f"{one['text']}{'备份放在书房的柜子里，钥匙在信箱。' * 3}"} for one in said(12)]
    world.write(messages[:10])
    memory.inject("备份在哪里？", session=SESSION)
    assert lines(world) == []  # the last ten stay, however long
    world.write(messages)
    memory.inject("备份在哪里？", session=SESSION)
    assert marker(world) == messages[1]["id"]


# ── what was said back ───────────────────────────────────────────────────────


GIVEN = (
    "## Memory\n[memory.md#L3] 发布会定在12月15日，星海厅 | 对花生过敏，虾也不能吃\n"
    "[memory.md#L4] backups go to the Synology in the attic\n发布会在哪天？"
)


@pytest.mark.parametrize(
    ("answer", "is_said_back"),
    [
        ("发布会定在12月15日。你对花生过敏，虾也不能吃。", True),
        ("Your backups go to the Synology in the attic.", True),
        ("发布会定在12月16日。", False),
        ("发布会不在12月15日。", False),
        ("发布会定在12月15日。门票我发到群里了。", False),
        ("好的。", False),
    ],
)
def test_only_says_back(answer, is_said_back):
    assert only_says_back(answer, GIVEN) is is_said_back


def test_forty_turns_in_which_the_assistant_repeats_memory_teach_nothing(world: World) -> None:
    world.reopen(f"{WITH_MODEL}[recall]\ntimeout_ms = 60000\n")
    world.put("memory.md", "2026-01-10|web-chat|发布会定在12月15日，星海厅\n")
    for n in range(40):
        world.save_receipt(world.inject("发布会定在哪天？"))
        at = world.clock().isoformat()
        world.add(
            message(f"q{n}", at, f"发布会定在哪天？第{n}次问"),
            message(f"a{n}", at, "你的发布会定在12月15日，在星海厅。", "assistant"),
        )
        world.forward(minutes=3)
    asked: list[object] = []
    world.ws.session_lines.summarize("", lambda messages: f"{asked.append(messages) or ''}", world.clock())
    world.model.script = lambda *_: GOOD_SUMMARY
    world.forward(days=40).settle()
    assert asked
    assert world.model.requests
    assert "星海厅" not in f"{asked} {world.model.requests}"
    assert lines(world) == ["2026-01-10|web-chat|发布会定在12月15日，星海厅"]
    assert sum("星海厅" in text for text in world.archived_texts()) == 40
