"""Times that can't be read: what `status` and `doctor` say of them, and what a person can do about it."""

from __future__ import annotations

import json

import pytest

from recalld.supervisor.checks.fsck import accept_times
from recalld.supervisor.checks.table import examine
from recalld.supervisor.storage.clock import to_wire
from recalld.supervisor.storage.texts import render
from tests.world import WITHOUT_MODEL, World, talk


def said(when: object, identity: str = "x1", text: str = "我对花生过敏。", **more: object) -> dict[str, object]:
    return {"id": identity, "role": "user", "text": text, "createdAt": when, **more}


@pytest.fixture
def filed(world: World) -> World:
    """Two messages with a time that may be two days, filed under the day they came."""
    world.reopen(WITHOUT_MODEL)
    world.write([*talk("2026-01-31T09:00", 2), said("11/10/2025"), said("12/10/2025", "x2", "我也对虾过敏。")])
    world.settle()
    return world


def told(world: World, language: str = "en") -> list[str]:
    return [render(one, language) for one in world.verdict()[0][1:]]


def test_doctor_calls_times_that_cannot_be_read_odd_and_names_the_command(filed):
    (found,) = [one for one in examine(filed.look(), None) if "times" in one.why]
    assert (found.check, found.state, found.mend) == ("files", "odd", "recalld fsck --accept-times")
    assert filed.verdict()[1]
    assert filed.fsck().is_well


def test_status_is_silent_of_times_that_a_person_has_accepted(filed):
    assert accept_times(filed.ws) == 2
    assert told(filed) == []
    assert accept_times(filed.reopen().ws) == 0
    filed.ws.journal.compact()
    assert told(filed.reopen()) == []
    filed.add(said("11/12/2025", "x3", "那天又疼了。"))
    filed.settle()
    assert told(filed)[0].startswith("the times of messages can't be read (1)")


@pytest.mark.parametrize("raw", [{}, {"createdAt": None}, {"createdAt": "2026年1月30日 9:00"}, {"createdAt": 1769734800}])
def test_status_is_silent_where_no_time_was_given_or_it_could_be_read(world, raw):
    world.reopen(WITHOUT_MODEL)
    world.write([{"id": "x1", "role": "user", "text": "我对花生过敏。", **raw}])
    world.intake()
    assert told(world) == []
    world.settle()
    assert told(world) == []


def test_session_has_a_message_once_at_the_time_that_a_person_put_right(filed):
    (name,) = filed.names()
    path = filed.ws.memory.path_of(name)
    text = path.read_text(encoding="utf-8")
    comment = next(line for line in text.splitlines() if '"11/10/2025"' in line)
    fields = json.loads(comment[comment.index("{") : comment.rindex("}") + 1])
    right = {
        **{key: value for key, value in fields.items() if key != "createdAtFound"},
        "createdAt": "2025-10-11T02:00:00.000Z",
    }
    path.write_text(
        text.replace(json.dumps(fields, ensure_ascii=False), json.dumps(right, ensure_ascii=False)), encoding="utf-8"
    )
    filed.refresh()
    talk = [block for block in filed.ws.session_talk.messages("", filed.clock()) if block.words == "我对花生过敏。"]
    assert [to_wire(block.created_at) for block in talk] == ["2025-10-11T02:00:00.000Z"]
