"""Which sessions are a group's, by what one of their messages says, and what a group is never shown."""

import pytest

from recalld.supervisor.host.round import run_round
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.operations.operation import Caller
from tests.world import World, message

SESSION = "周五聚会"
CODE = "家里的门禁码是 4471，备份硬盘在书房"
SAID = message("g1", "2026-01-28T09:00", "周五开会，带上硬盘", session=SESSION, chat="group")


def kind(world: World, session: str = SESSION, chat: str = "") -> str:
    return Caller(session=session, chat=chat, clock=world.clock).audience(world.ws).chat.kind


def shown(world: World) -> str:
    return Memory(world.ws, clock=world.clock).inject("备份硬盘在哪里？门禁码是多少？", session=SESSION).memory


@pytest.fixture
def private(world: World) -> World:
    world.write([message("p1", "2026-01-27T09:00", CODE, session="main")])
    return world


def test_session_is_direct_while_no_message_says_otherwise(private: World) -> None:
    assert kind(private) == "direct"
    assert "4471" in shown(private)


@pytest.mark.parametrize("chat", ["", "direct"])
def test_session_is_a_groups_by_one_message_that_waits(private: World, chat: str) -> None:
    private.add(SAID)
    assert kind(private, chat=chat) == "group"
    assert "书房" not in shown(private)


@pytest.mark.parametrize("gone", [".recalld/sessions/session-*", "memory/2026-*.md"], ids=["as 0.26.0 leaves it", "pruned"])
def test_session_is_a_groups_by_a_dated_file_or_by_its_own(private: World, gone: str) -> None:
    private.add(SAID)
    run_round(private.ws, private.clock(), everything=True)
    for path in private.root.glob(gone):
        path.unlink()
    private.reopen("")
    assert kind(private) == "group"


def test_session_stays_a_groups_when_its_message_is_forgotten(private: World) -> None:
    private.add(SAID)
    Memory(private.ws, clock=private.clock).forget("match", "周五开会", yes=True)
    private.reopen("")
    assert private.ws.groups._kinds(private.clock()) == {}
    assert kind(private) == "group"
    assert "书房" not in shown(private)


def test_session_whose_file_can_not_be_read_is_a_groups(private: World) -> None:
    private.ws.files.make_folder(private.paths.sessions, lasting=True)
    private.ws.groups.keep(private.clock())
    path = private.ws.session_files._place(SESSION)
    path.write_bytes(b"{")
    assert kind(private) == "group"


def test_session_of_privacy_direct_is_direct_all_the_same(private: World) -> None:
    private.add(SAID)
    private.reopen(f'[privacy]\ndirect = ["{SESSION}", "家人群"]\n')
    assert (kind(private), kind(private, "家人群")) == ("direct", "direct")
    assert kind(private, chat="group") == "group"


@pytest.mark.parametrize("in_groups", ["own", "all"])
def test_group_is_shown_no_line_with_the_label_of_a_secret(world: World, in_groups: str) -> None:
    """A label is enough in what was said elsewhere; in what the group has heard itself a value has to follow it."""
    world.reopen(f'[recall]\nin_groups = "{in_groups}"\n')
    heard = {"g2": "门禁码写在硬盘盒子里", "g3": "门禁码 4471，硬盘在抽屉"}
    own = [message(name, "2026-01-28T09:01", text, session=SESSION, chat="group") for name, text in heard.items()]
    world.write([SAID, *own, message("d1", "2026-01-28T09:02", "门禁码写在硬盘袋子里", shared=True)])
    memory = Memory(world.ws, clock=world.clock)
    texts = [shown(world), *(hit.unit.text for hit in memory.search("门禁码 硬盘", session=SESSION))]
    assert all(any(word in text for text in texts) for word in ("周五", "盒子"))
    assert not any(word in text for text in texts for word in ("抽屉", "袋子"))
    assert "盒子" in memory.get("history.json#g2", session=SESSION).text
