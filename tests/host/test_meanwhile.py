"""What another program adds during a round."""

from __future__ import annotations

from tests.world import message


def test_intake_neither_loses_nor_reinserts_a_message_appended_meanwhile(world):
    other = world.another(world.events)
    saw = world.ws.journal.record_seen

    def add_and_see(messages):
        other.append(message("b", "2026-01-31T09:30", "预算 5350 元，押一付三。"))
        saw(messages)

    world.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    world.ws.journal.record_seen = add_and_see
    world.round("none")

    assert world.events.of("put_back") == []
    assert not world.ws.journal.reinserted
    assert [one["id"] for one in world.history()] == ["a", "b"]


def test_archive_defers_a_message_that_lost_its_time_since_intake(world):
    world.write([message("a", "2026-01-31T09:00", "我对花生过敏。")])
    world.intake()
    world.write([{"id": "a", "role": "user", "text": "我对花生过敏。"}])
    assert world.archive(everything=True) == 0
    world.settle()
    assert world.archived() == [("a", "我对花生过敏。")]
