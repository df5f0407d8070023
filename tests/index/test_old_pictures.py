"""A day is found whatever its size: photos that older programs left in a dated file are not read by the index."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING

from recalld.supervisor.protocol.dated_file import parse_dated, without_base64

if TYPE_CHECKING:
    from tests.world import World


def old_day(world: World, size: int) -> bytes:
    """A dated file of the first format whose comments hold the base64 of a photo of *size* bytes."""
    data = base64.b64encode(random.Random(7).randbytes(size)).decode()
    head = "---\nrecalld: 1\nkind: dated\nperiod: 2026-01-20\nzone: Asia/Shanghai\ncreated: 2026-01-21T00:00:00.000Z\ncount: 2\n---\n"
    photo = f'{{"type": "image_url", "image_url": {{"url": "data:image/png;base64,{data}"}}}}'
    comment = f'{{"id": "%s", "createdAt": "2026-01-20T01:0%s:00.000Z", "words": "content", "fields": {{"quirk": "\\u003e", "content": [{photo}]}}}}'
    blocks = [
        f"\n<!-- {comment % (n, n)} -->\n**09:0{n} user**\n\n{words}\n"
        for n, words in ((1, "小屋的钥匙在这里"), (2, "天花板漏水"))
    ]
    found = (head + "".join(blocks)).encode()
    world.put("memory/2026-01-20-zhaopian.md", found)
    return found


def test_without_base64_leaves_lines_and_messages_as_they_are(world):
    whole = old_day(world, 1_200_000)
    small = without_base64(whole)
    assert len(small) < 2_000
    assert small.count(b"\n") == whole.count(b"\n")
    before, after = (parse_dated(data, world.root) for data in (whole, small))
    assert before
    assert after
    assert [(one.id, one.text, one.created_at, one.fields["quirk"]) for one in after.blocks] == [
        (one.id, one.text, one.created_at, one.fields["quirk"]) for one in before.blocks
    ]
    assert without_base64(whole[:900_000]) == whole[:900_000]
