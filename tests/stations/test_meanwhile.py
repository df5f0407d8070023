"""What another program adds while the supervisor is in the middle of a look."""

from __future__ import annotations

from supervisor.append import append
from supervisor.protocol.disk import RealDisk
from supervisor.protocol.files import Files
from supervisor.workspace import Workspace
from tests.conftest import message


def test_a_message_that_is_added_during_a_look_is_lost_to_nobody_and_is_not_put_back(desk):
    other = Workspace(desk.root, desk.ws.config, Files(RealDisk()), desk.told)
    saw = desk.ws.seen.saw

    def add_and_see(messages):
        append(other, [message("b", "2026-01-31T09:30", "预算 5350 元，押一付三。")], desk.clock(), bytes(10))
        saw(messages)

    desk.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    desk.ws.seen.saw = add_and_see
    desk.round("none")

    assert desk.told.of("put_back") == []
    assert not desk.ws.seen.back
    assert [one["id"] for one in desk.history()] == ["a", "b"]
