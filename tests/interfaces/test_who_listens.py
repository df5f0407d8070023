"""Who listens, in every door: no word of one talk in another, whoever asks, by search, exact lines, command or injection."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from recalld import Memory
from recalld.supervisor.storage.errors import NotFound, StaleLine, SupervisorError
from tests.world import World, at, message

FAMILY, WORK, NEWS = "telegram:group:一家人", "telegram:group:同事", "telegram:channel:公告"
#: A word of each talk that no other has, with where it was said. All of them speak of 花生.
PRIVATE = {
    "抽屉": {},
    "阁楼": {"session": "web-1"},
    "车库": {"session": FAMILY, "chat": "direct"},
}
GROUPS = {
    "厨房": {"session": FAMILY},
    "会议室": {"session": WORK},
    "公告栏": {"session": NEWS},
    "走廊": {"chat": "group"},
}
SHARED = {"门口": {"shared": True}}
#: Words of memory.md, of a note, and of an older day that a summary covers.
PRIVATE_LINES, SHARED_LINES = {"保险柜", "日记", "旧账", "Zanzibar", "Istanbul"}, {"信箱", "冰箱"}
EVERYTHING = {*PRIVATE, *GROUPS, *SHARED, *PRIVATE_LINES, *SHARED_LINES}
FOR_GROUPS = {*SHARED, *SHARED_LINES}


class Situation(NamedTuple):
    """Who listens, and the words that they may see."""

    session: str
    chat: str
    seen: set[str]
    in_groups: str = "own"


SITUATIONS = {
    "the user alone": Situation("", "", EVERYTHING),
    "the user in a session": Situation("web-1", "", EVERYTHING),
    "the user in another session": Situation("web-2", "direct", EVERYTHING),
    "the key of a group, whatever the question says": Situation(FAMILY, "direct", {"厨房", *FOR_GROUPS}),
    "a group by its key": Situation(FAMILY, "", {"厨房", *FOR_GROUPS}),
    "a group by its kind": Situation(FAMILY, "group", {"厨房", *FOR_GROUPS}),
    "another group": Situation(WORK, "", {"会议室", *FOR_GROUPS}),
    "a channel": Situation(NEWS, "", {"公告栏", *FOR_GROUPS}),
    "a group without a session": Situation("", "group", FOR_GROUPS),
    "a group of which memory knows nothing": Situation("slack:channel:C0123456789", "", FOR_GROUPS),
    "a group that gives the key of a private talk": Situation("web-1", "group", FOR_GROUPS),
    "a group that is shown nothing": Situation(FAMILY, "", set(), "none"),
    "a group that is shown everything": Situation(FAMILY, "", EVERYTHING, "all"),
}


def opened(tmp_path: Path, in_groups: str = "own", *, is_filed: bool = True) -> tuple[World, Memory]:
    """A workspace in which each talk has said something; *is_filed*: it is in dated files by now."""
    world = World(tmp_path / "工作区", at("2026-01-31T10:00"))
    talks = {**PRIVATE, **GROUPS, **SHARED}
    world.write(
        [
            message("old", "2026-01-05T09:00", "旧账：花生在 Zanzibar 买的。"),
            message("named", "2026-01-29T08:00", "Istanbul"),
            *(
                message(f"m-{n}", f"2026-01-29T09:0{n}", f"花生在{word}里。", **more)
                for n, (word, more) in enumerate(talks.items())
            ),
        ]
    )
    if is_filed:
        world.settle()
    world.put("memory.md", "# 花生\n\n- 花生在保险柜里\n- 花生在信箱里 #shared\n- 花生不在保险柜里\n")
    world.put("memory/日用.md", "日记：花生吃完了。\n\n冰箱里有花生。#共享\n")
    world.put("recalld.toml", f'{world.toml}[recall]\nin_groups = "{in_groups}"\noriginals = "always"\ntimeout_ms = 60000\n')
    return world, Memory(world.root, environ={}, clock=world.clock)


def files_of(world: World) -> list[str]:
    """Every file of memory, and every message by its id."""
    found = [path.relative_to(world.root).as_posix() for path in sorted(world.root.rglob("*.md"))]
    return [*found, "history.json#old", "history.json#named", *(f"history.json#m-{n}" for n in range(9))]


# ── the doors ────────────────────────────────────────────────────────────────


def searched(world: World, memory: Memory, who: Situation) -> Iterator[str]:
    """What a search gives, in all that it returns."""
    for query in ("花生在哪里", "2026-01-29", "抽屉里的花生", "没有这回事", *EVERYTHING):
        found = memory.find(query, 50, session=who.session, chat=who.chat)
        yield repr(replace(found, terms=(), subject=(), hits=tuple(replace(hit, because=()) for hit in found.hits)))


def read(world: World, memory: Memory, who: Situation) -> Iterator[str]:
    """What the exact lines give: whole files, single lines, and what is said where there is nothing."""
    for path in files_of(world):
        for start, lines in ((1, None), (1, 99), *((n, 1) for n in range(2, 20, 3))):
            try:
                yield memory.get(path, start, lines, session=who.session, chat=who.chat).text
            except SupervisorError as error:
                yield str(error).replace(path, "")
        with_lines = f"{path}#L1-L3,L5-L40"
        try:
            yield memory.get(with_lines, session=who.session, chat=who.chat).text
        except SupervisorError as error:
            yield str(error).replace(path, "")


def injected(world: World, memory: Memory, who: Situation) -> Iterator[str]:
    """What is put before the assistant; a message that says only what is asked adds nothing to the question."""
    for query in ("花生在哪里？", *(f"花生和 {word}" for word in EVERYTHING)):
        yield memory.inject(query, session=who.session, chat=who.chat).memory


#: Ways to ask, each with whether it is asked once all is in dated files.
DOORS = {
    "search": (searched, True),
    "search, not filed": (searched, False),
    "get": (read, True),
    "get, not filed": (read, False),
    "inject": (injected, True),
}


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[World, Memory]]:
    """The workspace with that setting of `recall.in_groups`, before or after its messages are filed; each is made once."""
    made: dict[tuple[str, bool], tuple[World, Memory]] = {}

    def workspace(in_groups: str, *, is_filed: bool = True) -> tuple[World, Memory]:
        key = in_groups, is_filed
        if key not in made:
            made[key] = opened(tmp_path_factory.mktemp(in_groups), in_groups, is_filed=is_filed)
        return made[key]

    return workspace


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_doors_give_each_audience_its_own_words_and_no_other(workspaces, situation, door):
    who, (given, is_filed) = SITUATIONS[situation], DOORS[door]
    words = "\n".join(given(*workspaces(who.in_groups, is_filed=is_filed), who)).casefold()
    assert {word for word in EVERYTHING if word.casefold() in words} == who.seen


# ── the long-term file ───────────────────────────────────────────────────────

ENTRIES = "# 花生\n2026-01-20|张医生|花生在保险柜里\n2026-01-21|web-chat|花生在信箱里 #shared\n2026-01-22|张医生|保险柜换了\n"


def test_read_numbers_the_lines_that_a_group_may_see_among_themselves(tmp_path):
    world, memory = opened(tmp_path, is_filed=False)
    world.put("memory.md", ENTRIES)
    found = memory.read(recent=9, session=FAMILY)
    assert (str(found), found.total) == ("[1] 2026-01-21|web-chat|花生在信箱里 #shared", 1)
    assert [one.digest for one in found.lines] == [one.digest for one in memory.read(3).lines]
    assert memory.stats(session=FAMILY) == {"total": 1, "sources": {"web-chat": 1}, "date_range": "2026-01-21 ~ 2026-01-21"}


def test_delete_takes_no_line_that_a_group_may_not_see_and_quotes_none(tmp_path):
    world, memory = opened(tmp_path, is_filed=False)
    path = world.put("memory.md", ENTRIES)
    (hidden,), (shared,) = memory.read(2).lines, memory.read(1, session=FAMILY).lines
    for wrong in (hidden.ref, "2@00000000", "9@00000000"):
        with pytest.raises(
            StaleLine, match=f"^{wrong} is not the name of the line that is there now: there is none; nothing was changed"
        ):
            memory.delete([shared.ref, wrong], session=FAMILY)
    assert path.read_text(encoding="utf-8") == ENTRIES
    with pytest.raises(StaleLine, match="it is 1@"):
        memory.delete("1@00000000", session=FAMILY)
    assert memory.delete(shared.ref, session=FAMILY).total == 0
    assert path.read_text(encoding="utf-8") == ENTRIES.replace("2026-01-21|web-chat|花生在信箱里 #shared\n", "")


def test_group_is_given_neither_a_score_nor_a_part_of_it(tmp_path):
    _, memory = opened(tmp_path, is_filed=False)
    group = {"session": FAMILY, "chat": "group"}
    hits = memory.find("花生在信箱里", **group).hits
    assert hits
    assert [(hit.score, hit.parts.total) for hit in hits] == [(None, 0.0)] * len(hits)
    candidates = memory.inject("花生在信箱里", **group).receipt.candidates
    assert candidates
    assert [(one.score, dict(one.parts)) for one in candidates] == [(0.0, {})] * len(candidates)


def test_summary_is_never_told_in_a_group_whatever_it_says(tmp_path):
    world, memory = opened(tmp_path, is_filed=False)
    world.put("memory/summary/2026-01-05.md", "## 花生 #shared\n\n- 花生在 Zanzibar 买的 #shared\n")
    for query in ("花生 Zanzibar", "2026-01-05"):
        assert "Zanzibar" not in repr(memory.find(query, chat="group").hits)
    with pytest.raises(NotFound):
        memory.get("memory/summary/2026-01-05.md", chat="group")


# ── exact lines ──────────────────────────────────────────────────────────────


def test_get_numbers_the_lines_that_a_group_may_see_among_themselves(workspaces):
    _, memory = workspaces("own")
    whole = memory.get("memory.md", session=FAMILY)
    assert (whole.text, whole.start, whole.end, whole.total) == ("- 花生在信箱里 #shared", 1, 1, 1)
    (hit,) = (hit for hit in memory.search("信箱", session=FAMILY) if hit.unit.path == "memory.md")
    assert hit.unit.citation == "memory.md#L1"
    assert memory.get(hit.unit.citation, session=FAMILY).text == memory.get("memory.md#L4").text


def test_get_names_no_dated_file_to_a_group(workspaces):
    world, memory = workspaces("own")
    (dated,) = (path for path in files_of(world) if "2026-01-29" in path)
    for path in (dated, f"memory/{dated.rpartition('/')[2]}"):
        with pytest.raises(NotFound):
            memory.get(path, session=FAMILY)  # its name has words of the whole day


def test_search_names_a_message_by_its_id_in_a_group(workspaces):
    _, memory = workspaces("own")
    (hit,) = (hit for hit in memory.search("花生", session=FAMILY) if "厨房" in hit.unit.text)
    assert hit.unit.citation == "history.json#m-3"
    assert memory.get(hit.unit.citation, session=FAMILY).text == hit.unit.text
    with pytest.raises(NotFound):
        memory.get(hit.unit.citation, session=WORK)


def test_write_in_a_group_knows_the_lines_that_it_may_see_alone(tmp_path):
    _, memory = opened(tmp_path)
    group = {"session": FAMILY}
    hidden, there = memory.write("- 花生在保险柜里", **group), memory.write("- 花生在信箱里 #shared", **group)
    assert (hidden.is_new, hidden.is_shown, hidden.line, hidden.total) == (True, False, 0, 1)
    assert (there.is_new, there.is_shown, there.line, there.total) == (False, True, 1, 1)
    assert memory.write("- 花生在保险柜里") == replace(hidden, is_new=False, is_shown=True, line=6, total=5)
