"""What another program adds while the supervisor is in the middle of a look."""

from __future__ import annotations

from supervisor.archive.append import append
from supervisor.archive.intake import intake
from supervisor.archive.run import archive
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


def test_a_message_that_loses_its_time_between_two_steps_of_a_round_waits_for_the_next(desk):
    desk.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    intake(desk.ws, desk.clock())
    desk.write([{"id": "a", "role": "user", "text": "我对花生过敏。"}])
    assert archive(desk.ws, desk.clock(), everything=True) == 0
    desk.settle()
    assert desk.filed() == [("a", "我对花生过敏。")]
