"""Messages, files and summaries as values, for the tests of the pure rules."""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from recalld.supervisor.archive.coverage import MemoryFile
from recalld.supervisor.protocol.message import Entry, History, InvalidEntry, Message, read_message
from recalld.supervisor.protocol.paths import Period
from recalld.supervisor.protocol.summary_file import Summary
from recalld.supervisor.storage.clock import to_wire
from tests.world import parsed

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOON = datetime(2026, 1, 31, 4, tzinfo=UTC)  # 12:00 in Shanghai
FLAGS: tuple[object, ...] = (False, "pending", True)


def entry(raw: object) -> Entry:
    return read_message(raw, SHANGHAI)


def parsed_message(
    identity: str,
    text: str = "记住：花生过敏",
    when: datetime | None = NOON,
    archived: object = False,
    role: str = "user",
    **more: Any,
) -> Message:
    raw: dict[str, Any] = {"id": identity, "role": role, "text": text}
    if when:
        raw["createdAt"] = to_wire(when)
    return parsed({**raw, "archived": archived, **more})


def ids(history: History) -> list[str]:
    return [one.id for one in history if isinstance(one, Message)]


ODD = InvalidEntry("一句没有角色的话", "it is not an object")


def file(name: str, digest: str = "d", *, original: bool = False) -> MemoryFile:
    return MemoryFile(
        name=name,
        digest=f"{digest:0>16}",
        day=date.fromisoformat(name[:10]),
        count=2,
        size=600,
        ours=True,
        original=original,
        created=NOON,
    )


def standing(
    label: str, files: Iterable[MemoryFile], *, extract: bool = False, edited: bool = False, text: str = "## 摘要"
) -> dict[Period, Summary]:
    fields = {"sources": tuple(one.source for one in files), "zone": "UTC", "created": "", "provider": "", "kept": "x" * edited}
    return {Period(label): Summary(period=label, text=text, extract=extract, digest=f"of-{label}", **fields)}


MOMENTS = st.datetimes(datetime(2025, 10, 1), datetime(2026, 3, 1), timezones=st.just(UTC))  # noqa: DTZ001
MESSAGES = st.builds(
    parsed_message,
    st.integers(0, 12).map("m{}".format),
    st.sampled_from(["好的", "花生过敏", "deploy 到 staging", ""]),
    MOMENTS,
    st.sampled_from(FLAGS),
    st.sampled_from(["user", "assistant", "tool"]),
)
HISTORIES = st.lists(MESSAGES | st.just(ODD), max_size=30).map(tuple)
