"""What the tools answer: three endings, exact lines, one cut, and nothing of another talk."""

import inspect
import os

import pytest

from recalld import Memory, MemoryStore, register_all_tools
from recalld.supervisor.host.round import archive_now
from recalld.supervisor.interfaces.tools.answers import TRUNCATED, MemorySearchResult, Room, SearchAnswer, clamped, cut
from recalld.supervisor.text.llm_input import estimate_tokens
from tests.tools.memory import GROUP, LONG_TERM, remembered


@pytest.fixture
def memory(world):
    remembered(world)
    return Memory(world.root, environ={"RECALLD_RECALL_TIMEOUT_MS": "60000"}, clock=world.clock)


def tools_of(memory, **options):
    return register_all_tools(memory, **{"language": "en", **options})


def configured(world, text):
    world.put("recalld.toml", f"{world.toml}\n{text}")
    return Memory(world.root, environ={"RECALLD_RECALL_TIMEOUT_MS": "60000"}, clock=world.clock)


# ── searching ────────────────────────────────────────────────────────────────


@pytest.mark.feature("001.1", "001.12")
def test_memory_search_returns_path_lines_snippet_and_score(memory):
    [first, *_] = tools_of(memory).call("memory_search", {"query": "花生过敏"}).data["results"]
    assert {key: first[key] for key in ("path", "startLine", "endLine", "snippet", "day")} == {
        "path": "memory.md",
        "startLine": 3,
        "endLine": 3,
        "snippet": "用户对花生过敏；点外卖要备注",
        "day": "2026-01-04",
    }
    assert first["score"] > 0
    answer = tools_of(memory).tools.memory_search("花生过敏")
    assert isinstance(answer, SearchAnswer)
    assert isinstance(answer.results[0], MemorySearchResult)


@pytest.mark.feature("001.13")
def test_functions_take_the_names_of_openclaw_and_those_of_python(memory, world):
    world.put("memory/list.md", "\n\n".join(f"茶叶第 {n} 种" for n in range(30)))
    search, get = (tools_of(memory).functions()[name] for name in ("memory_search", "memory_get"))
    assert len(search(query="茶叶", maxResults=2).results) == len(search("茶叶", max_results=2).results) == 2
    assert (
        get(path="memory/list.md", **{"from": 3}, lines=1).text == get("memory/list.md", start=3, lines=1).text == "茶叶第 1 种"
    )
    assert [*inspect.signature(search).parameters][:3] == ["query", "max_results", "min_score"]


@pytest.mark.feature("001.13")
def test_memory_search_has_scores_between_0_and_1(memory, world):
    world.put("memory/list.md", "\n\n".join(["茶叶 乌龙 普洱 龙井 " * 4, "茶叶", "peanut butter " * 9, "peanut"]))
    for query in ("茶叶 乌龙 普洱 龙井", "peanut butter", "花生过敏"):
        scores = [one["score"] for one in tools_of(memory).call("memory_search", {"query": query}).data["results"]]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)
        least = {"query": query, "minScore": scores[0]}
        assert {one["score"] for one in tools_of(memory).call("memory_search", least).data["results"]} == {scores[0]}


def test_memory_search_without_hits_says_why_and_leaves_the_index_alone(memory, world):
    tools = tools_of(memory)
    tools.call("memory_search", {"query": "花生"})
    index = world.root / ".recalld/index"
    before = {path.name: path.stat().st_mtime_ns for path in index.iterdir()}
    answer = tools.call("memory_search", {"query": "zyxwvut"})
    assert answer.data == {"results": [], "files": 4, "note": "nothing in memory about zyxwvut."}
    assert {path.name: path.stat().st_mtime_ns for path in index.iterdir()} == before


def test_memory_search_shows_the_newest_of_what_every_line_has(world):
    world.put("memory.md", "".join(f"2026-01-30|web-chat|{name}住在上海\n" for name in "甲乙丙丁戊己庚辛壬癸子丑"))
    memory = Memory(world.root, clock=world.clock)
    found = tools_of(memory).call("memory_search", {"query": "住"}).data["results"]
    assert found[0]["startLine"] == 12


def test_memory_search_finds_an_everyday_word_that_few_lines_have(world):
    world.put("memory.md", "2026-01-30|web-chat|~~住在杭州~~ (until 2026-01-30)\n2026-01-30|web-chat|住在上海\n")
    found = tools_of(Memory(world.root, clock=world.clock)).call("memory_search", {"query": "住"}).data["results"]
    assert [(one["path"], one["startLine"]) for one in found] == [("memory.md", 2)]


def test_memory_search_says_in_its_note_that_the_search_failed(memory, world, monkeypatch):
    monkeypatch.setattr(type(memory.workspace.index), "search", lambda *_, **__: 1 / 0)
    answer = tools_of(memory).call("memory_search", {"query": "花生"})
    assert not answer.is_error
    assert {*answer.data} == {"results", "note"}
    assert answer.data["results"] == []
    assert answer.data["note"].startswith("not all of memory could be searched: ")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda place: os.truncate(place, 20_000_001), "larger than 20,000,000 bytes"),
        (lambda place: (place.unlink(), place.mkdir()), "a link, a folder or another thing that is not a regular file"),
    ],
    ids=["large", "folder"],
)
def test_memory_search_says_in_its_note_that_a_file_was_not_searched(memory, world, spoil, why):
    spoil(world.root / "memory.md")
    tools = tools_of(memory)
    told = f"not all of memory could be searched: memory.md is not searched: it is {why}."
    assert tools.call("memory_search", {"query": "zyxwvut"}).data == {"results": [], "note": told}
    found = tools.call("memory_search", {"query": "8443"}).data
    assert found["results"]
    assert found["note"] == told
    assert memory.find("8443").unsearched in told
    assert "memory.md" not in memory.find("8443", chat="group").unsearched


def test_memory_search_is_an_error_where_the_workspace_is_gone(memory, world):
    tools = tools_of(memory)
    os.rename(world.root, world.root.with_name("elsewhere"))
    for arguments in ({"query": "花生"}, {"keywords": "花生"}):
        assert tools.call("memory_search", arguments).is_error
    assert not world.root.exists()


@pytest.mark.feature("001.9")
@pytest.mark.parametrize(("mode", "direct", "group"), [("auto", True, False), ("on", True, True), ("off", False, False)])
def test_memory_search_cites_as_the_configuration_says(world, mode, direct, group):
    memory = configured(remembered(world), f'[recall]\ncitations = "{mode}"\n')
    for options, shown in (({}, direct), ({"session": GROUP}, group)):
        for arguments in ({"query": "周五烧烤"}, {"keywords": "烧烤"}):
            found = tools_of(memory, **options).call("memory_search", arguments).data["results"]
            assert found
            assert {one.get("citation", "").startswith("Source: ") for one in found} == {shown}


# ── exact lines ──────────────────────────────────────────────────────────────


@pytest.mark.feature("001.2")
def test_memory_get_returns_lines_40_to_59_for_from_40_and_20_lines(memory, world):
    world.put("memory/long.md", "".join(f"line {n}\n" for n in range(1, 101)))
    answer = tools_of(memory).call("memory_get", {"path": "memory/long.md", "from": 40, "lines": 20}).data
    assert answer["text"].split("\n") == [f"line {n}" for n in range(40, 60)]
    assert (answer["startLine"], answer["endLine"], answer["total"]) == (40, 59, 100)


def test_memory_get_takes_memory_md_of_openclaw_for_the_long_term_file(memory, world):
    tools = tools_of(memory)
    assert tools.call("memory_get", {"path": "MEMORY.md#L3"}).data["path"] == "memory.md"
    (world.root / "memory.md").rename(world.root / "MEMORY.md")
    assert tools.call("memory_get", {"path": "memory.md", "from": 3, "lines": 1}).data == {
        "path": "MEMORY.md",
        "text": "2026-01-04|web-chat|用户对花生过敏；点外卖要备注",
        "startLine": 3,
        "endLine": 3,
        "total": 8,
    }


def test_memory_get_cut_ends_with_the_line_it_shows(world):
    memory = configured(remembered(world), "[recall]\nmax_injected_chars = 60\n")
    answer = tools_of(memory).call("memory_get", {"path": "memory.md#L3-L5"}).data
    assert answer["text"].endswith(TRUNCATED)
    assert (answer["startLine"], answer["endLine"]) == (3, 4)
    assert len(answer["text"]) <= 60


# ── changing ─────────────────────────────────────────────────────────────────


@pytest.mark.feature("000.25")
def test_memory_write_says_that_a_line_is_there_already(memory):
    tools, known = tools_of(memory, language="zh"), "记忆里已有，在第 9 行（共 8 条）"
    tools.call("memory_write", {"content": "用户搬到了上海"})
    again = tools.call("memory_write", {"content": "用户搬到了上海"})
    assert (again.text, again.data["line"], again.data["new"]) == (known, 9, False)
    marked = tools.call("memory_write", {"content": "用户搬到了上海 #shared"})
    assert marked.text.splitlines()[0] == known, "the mark that it took away changes nothing"


def test_memory_write_that_replaces_by_a_line_that_is_there_says_both(memory):
    tools = tools_of(memory, language="zh")
    old, new = (tools.call("memory_write", {"content": one}).data for one in ("用户住在泉州", "用户搬到了上海"))
    again = tools.call("memory_write", {"content": "用户搬到了上海", "replaces": old["ref"]})
    assert again.text.startswith(f"记忆里已有，在第 {new['line']} 行")
    assert again.data["replaced"].startswith(f"{old['line']}@")


@pytest.mark.parametrize(("in_groups", "total"), [("own", {"total": 1}), ("none", {"total": 0})])
def test_memory_write_says_that_a_group_will_not_be_shown_the_line(world, in_groups, total):
    memory = configured(remembered(world), f'[recall]\nin_groups = "{in_groups}"\n')
    answer = tools_of(memory, session=GROUP).call("memory_write", {"content": "周日去爬山"})
    told = answer.data.pop("note")
    assert told == "what is written here is not shown in this conversation."
    assert answer.text == f"written to memory\n\n{told}"
    assert answer.data == {"path": "memory.md", "new": True, **total}
    alone = tools_of(memory).call("memory_write", {"content": "周日去爬山"})
    assert (alone.text, alone.data["new"]) == ("in memory already, line 9 (entries: 8)", False)


def test_a_group_that_sees_all_is_told_as_many_lines_as_there_are(world):
    remembered(world)
    world.put("memory.md", LONG_TERM.replace("\n", "\n\n"))
    memory = configured(world, '[recall]\nin_groups = "all"\n')
    total = memory.read(session=GROUP).total
    tools = register_all_tools(memory, session=GROUP, allow_delete=True)
    new = tools.call("memory_write", {"content": "周日去爬山"}).data
    assert (new["total"], memory.read(session=GROUP, recent=1).lines[0].ref) == (total + 1, new["ref"])
    assert tools.call("memory_delete", {"lines": [new["ref"]]}).data["total"] == total


def test_memory_write_takes_the_mark_for_groups_off_and_says_so(memory):
    note = "已去掉标记：带 `#共享` 的行群里看得到，带 `#置顶` 的行每次对话都给出，都只能由主人加上。"
    answer = tools_of(memory, language="zh").call("memory_write", {"content": "周日去爬山 #shared"})
    assert (answer.data["note"], note in answer.text) == (note, True)
    assert memory.read(recent=1).lines[0].text.endswith("|周日去爬山")
    in_group = tools_of(memory, session=GROUP).call("memory_write", {"content": "#共享 周一去游泳"})
    assert in_group.data["note"] == "what is written here is not shown in this conversation."
    assert "line" not in in_group.data
    assert tools_of(memory).call("memory_write", {"content": " #shared"}).is_error


def test_memory_delete_takes_the_ref_of_every_answer(memory):
    tools = tools_of(memory, allow_delete=True)
    refs = [
        tools.call("memory_search", {"query": "花生过敏"}).data["results"][0]["ref"],
        tools.call("memory_search", {"keywords": "FastAPI"}).data["results"][0]["ref"],
        tools.call("memory_read", {"start_line": 4}).data["lines"][0]["ref"],
        tools.call("memory_write", {"content": "一"}).data["ref"],
    ]
    answer = tools.call("memory_delete", {"lines": refs})
    assert answer.data == {"path": "memory.md", "deleted": 4, "total": 4}


def test_memory_forget_takes_a_message_or_a_line_by_its_digest_alone(memory):
    memory.append({"role": "user", "text": "保险箱的密码是 4471-kestrel。"})
    memory.workspace.prepare()
    archive_now(memory.workspace, memory.clock())
    tools = tools_of(memory, allow_delete=True)
    ref = tools.call("memory_search", {"query": "保险箱的密码"}).data["results"][0]["ref"]
    for wrong in (ref.partition("@")[0], f"{ref}0", "4471", ""):
        assert "ref: " in tools.call("memory_forget", {"ref": wrong}).text
    assert tools.call("memory_forget", {"ref": ref}).data == {"messages": 1, "lines": 0, "done": True}
    assert tools.call("memory_forget", {"ref": ref}).text == "nothing to forget."
    line = tools.call("memory_search", {"keywords": "FastAPI"}).data["results"][0]["ref"]
    assert tools.call("memory_forget", {"ref": line}).data["lines"] == 1
    found = [path for path in memory.workspace.paths.root.rglob("*") if path.is_file() and b"kestrel" in path.read_bytes()]
    assert found == []


# ── budgets ──────────────────────────────────────────────────────────────────


def result(snippet, start=1, **more):
    end = start + snippet.count("\n")
    return MemorySearchResult(path="memory.md", start_line=start, end_line=end, snippet=snippet, score=1.0, **more)


@pytest.mark.feature("001.10")
def test_clamped_keeps_whole_snippets_then_cuts_one_then_stops():
    given = [result("甲" * 10), result("乙\n丙\n丁" * 10, 5), result("戊")]
    kept = clamped(given, Room(10 + 3 + len(TRUNCATED), 10_000))
    assert [one.snippet for one in kept] == ["甲" * 10, f"乙\n丙{TRUNCATED}"]
    assert (kept[1].start_line, kept[1].end_line) == (5, 6)
    assert clamped(given, Room(None, 10_000)) == tuple(given)


@pytest.mark.parametrize("text", ["花生过敏" * 50, "👨‍👩‍👧‍👦" * 30, "e\u0301" * 80, "line\n" * 60, "word " * 60])
def test_cut_ends_between_two_characters_inside_both_budgets(text):
    for tokens in range(8, 80, 7):
        short = cut(text, Room(70, tokens))
        assert len(short) <= 70
        assert estimate_tokens(short) <= tokens
        bare = short.removesuffix(TRUNCATED)
        assert text.startswith(bare)
        assert short == "" or short.endswith(TRUNCATED)
        assert not bare.endswith(("\u200d", "e")) or text[len(bare)] != "\u0301"


def test_memory_answers_stay_within_the_budget_whatever_is_stored(world):
    remembered(world)
    world.put("memory.md", "".join(f"2026-01-02|web-chat|花生第 {n} 次：{'长' * 3000}\n" for n in range(20)))
    memory = configured(world, "[recall]\nmemory_tokens = 500\n")
    tools = tools_of(memory)
    for name, arguments in [
        ("memory_search", {"query": "花生"}),
        ("memory_search", {"keywords": "花生"}),
        ("memory_read", {"recent_count": 20}),
        ("memory_get", {"path": "memory.md"}),
    ]:
        answer = tools.call(name, arguments)
        assert TRUNCATED in answer.text
        assert estimate_tokens(answer.text) < 700, name
        texts = [one.get("text") or one.get("snippet") for one in answer.data.get("lines") or answer.data.get("results") or []]
        assert estimate_tokens("\n".join(texts)) < 700, name


def test_memory_answers_keep_the_newest_lines_where_not_all_fit(world):
    remembered(world)
    world.put("memory.md", "".join(f"2026-01-02|web-chat|花生第 {n} 次：{'长' * 150}\n" for n in range(1, 21)))
    tools = tools_of(configured(world, "[recall]\nmemory_tokens = 500\n"))
    read, found = tools.call("memory_read"), tools.call("memory_search", {"keywords": "花生"})
    assert [one["line"] for one in read.data["lines"]] == [19, 20]
    assert [one["startLine"] for one in found.data["results"]] == [19, 20]
    assert found.text.endswith("20 matches, only 2 of them are shown")
    assert [one["line"] for one in tools.call("memory_read", {"start_line": 1, "end_line": 20}).data["lines"]] == [1, 2, 3]


# ── where there is a store ───────────────────────────────────────────────────


@pytest.mark.feature("000.28")
def test_register_all_tools_registers_them_only_with_a_store(memory, world):
    nothing = register_all_tools()
    assert (nothing.names, nothing.openai(), nothing.guidance()) == ((), [], "")
    assert nothing.call("memory_write", {"content": "一"}).is_error
    four = ("memory_search", "memory_get", "memory_read", "memory_write")
    for store in (memory, MemoryStore(world.root), MemoryStore(memory), world.root, str(world.root)):
        assert register_all_tools(store).names == four
    assert register_all_tools(memory, read_only=True, allow_delete=True).names == four[:3]
    assert register_all_tools(memory, allow_delete=True).names == (*four, "memory_delete", "memory_forget")
    assert register_all_tools(memory, chat="group", allow_delete=True).names == (*four, "memory_delete")


@pytest.mark.feature("000.27")
def test_memory_read_returns_the_ten_most_recent_lines_or_a_range(memory, world):
    world.put("memory.md", "".join(f"2026-01-02|web-chat|第 {n} 条\n" for n in range(1, 43)))
    tools = tools_of(memory)
    assert tools.call("memory_read").text.splitlines()[2:] == [f"[{n}] 2026-01-02|web-chat|第 {n} 条" for n in range(33, 43)]
    assert [one["line"] for one in tools.call("memory_read", {"start_line": 40, "end_line": 45}).data["lines"]] == [40, 41, 42]


# ── in which language ────────────────────────────────────────────────────────


def test_tools_answer_in_the_language_of_their_instructions(memory):
    calls = [
        ("memory_search", {"keywords": "海鲜 龙虾"}, "no entry contains 海鲜 or 龙虾", "未找到包含 海鲜 或 龙虾 的记忆"),
        ("memory_search", {"query": "zyxwvut"}, "nothing in memory about zyxwvut.", "没找到与“zyxwvut”有关的内容。"),
        ("memory_read", {"recent_count": "三"}, "it must be a whole number, not str", "应为整数，给的却是 str"),
        ("memory_get", {"path": "memory"}, "is no memory file", "不是记忆文件"),
        ("memory_write", {"content": ""}, "it is empty", "内容是空的"),
        ("memory_delete", {"lines": ["9@00000000"]}, "there is none", "没有这一行"),
        ("memory_lose", {}, "there is no such tool", "没有这个工具"),
    ]
    for name, arguments, english, chinese in calls:
        for language, said in (("en", english), ("zh", chinese)):
            assert said in tools_of(memory, allow_delete=True, language=language).call(name, arguments).text
