"""What a redaction of 0.28 or older left: finished, its words stay away and its messages stay; half done, nothing of it is done."""

import json

from tests.world import World, message, parsed

OLD = message("m-key-0000001", "2026-01-10T09:00", "路由器在书房，密码 hunter2-demo。")
MARKED = message("m-key-0000001", "2026-01-10T09:00", "路由器在书房，密码 [已隐去]。")


def redacted(world: World, finished: str) -> None:
    """Write down an act as `recalld redact` did: one of forgetting that has the language of its marks."""
    world.ws.journal.tombstones.begin([parsed(OLD)], [], [], world.clock(), bytes(32))
    head, act = (world.read(".recalld/forgotten.jsonl") or b"").splitlines()
    of_redact = json.dumps({**json.loads(act), "finished": finished, "marks": "zh"}).encode()
    world.put(".recalld/forgotten.jsonl", b"\n".join([head, of_redact, b""]))


def test_words_of_a_redaction_stay_away_and_its_message_stays(world: World) -> None:
    world.write([MARKED])
    world.settle()
    redacted(world, "2026-01-31T02:00:00.000Z")
    world.save_receipt(world.inject("路由器在哪里？"))
    world.write([OLD])
    world.settle()
    assert [text.strip() for text in world.archived_texts()] == [MARKED["text"]]
    assert world.history() == []
    assert [*(world.root / "turns").iterdir()], "what was shown of it is no words of the secret"
    assert world.verdict()[1]


def test_redaction_that_was_not_finished_leaves_every_word(world: World) -> None:
    world.write([OLD])
    world.settle()
    redacted(world, "")
    world.reopen().settle()
    assert [text.strip() for text in world.archived_texts()] == [OLD["text"]]
    assert world.verdict()[1]
