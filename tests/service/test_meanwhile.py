"""What another program adds while the supervisor is in the middle of a look."""

from __future__ import annotations

from tests.world import message


def test_a_message_that_is_added_during_a_look_is_lost_to_nobody_and_is_not_put_back(world):
    other = world.another(world.events)
    saw = world.ws.seen.saw

    def add_and_see(messages):
        other.append(message("b", "2026-01-31T09:30", "预算 5350 元，押一付三。"))
        saw(messages)

    world.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    world.ws.seen.saw = add_and_see
    world.round("none")

    assert world.events.of("put_back") == []
    assert not world.ws.seen.back
    assert [one["id"] for one in world.history()] == ["a", "b"]


def test_a_message_that_loses_its_time_between_two_steps_of_a_round_waits_for_the_next(world):
    world.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    world.intake()
    world.write([{"id": "a", "role": "user", "text": "我对花生过敏。"}])
    assert world.archive(everything=True) == 0
    world.settle()
    assert world.archived() == [("a", "我对花生过敏。")]
