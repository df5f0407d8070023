"""The judge: silent about a good workspace, and it sees each kind of fault that no mutant of tests/crash shows."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.checker.checker import Acked, Given, check
from tests.checker.formats import sha16

NOW = datetime(2026, 2, 1, 4, tzinfo=UTC)
SAID = (
    Acked("十二月", "服务器搬到了 10.0.0.7。", "2025-12-10T02:00:00.000Z"),
    Acked("一月", "周二交报告。", "2026-01-20T02:00:00.000Z"),
    Acked("昨天", "```\n部署 v2\n```", "2026-01-31T02:00:00.000Z"),
    Acked("今天", "还没写下的话。", "2026-02-01T02:00:00.000Z"),
)
DECEMBER, JANUARY, YESTERDAY = "2025-12-10-fu-wu-qi.md", "2026-01-20-bao-gao.md", "2026-01-31-v2.md"
OLD_DECEMBER, OLD_JANUARY = f"memory/originals/2025-12/{DECEMBER}", f"memory/originals/2026-01/{JANUARY}"
RECENT, SUMMARY, FAILED = f"memory/{YESTERDAY}", "memory/summary/2026-01-20.md", "worker/failed/day-2026-01-20.json"
TURN = "turns/20260128T000000000Z-0123456789ab.json"


def dated(*said: Acked, words: str | None = None) -> bytes:
    """A dated file as the product writes it, by hand."""
    blocks = []
    for one in said:
        text = words if words is not None else one.text if not one.text.startswith("```") else f"````\n{one.text}\n````"
        about = json.dumps({"id": one.id, "createdAt": one.created_at}, ensure_ascii=False)
        blocks.append(f"<!-- {about} -->\n**10:00 user**\n\n{text}\n")
    body = "\n" + "\n".join(blocks)
    head = {"recalld": 1, "kind": "dated", "period": said[0].created_at[:10], "zone": "Asia/Shanghai"}
    head |= {"created": "2026-02-01T02:00:00.000Z", "count": len(blocks), "digest": sha16(body.encode())}
    return ("---\n" + "".join(f"{key}: {value}\n" for key, value in head.items()) + "---\n" + body).encode()


def summary(period: str, **sources: bytes | str) -> bytes:
    """A summary that names these files, given as bytes or as a digest."""
    digests = {name: sha16(found) if isinstance(found, bytes) else found for name, found in sources.items()}
    listed = "".join(f"- {name} · 1 · {digest}\n" for name, digest in digests.items())
    body = f"\n## 摘要\n\n- 说过话\n\n<!-- recalld: made from -->\n{listed}"
    said = f"---\nrecalld: 1\nkind: day\nperiod: {period}\n"
    head = said + f"digest: {sha16(f'{said}---{chr(10)}{body}'.encode())}\n---\n"
    return (head + body).encode()


def message(one: Acked, archived: object) -> dict[str, Any]:
    return {"id": one.id, "role": "user", "text": one.text, "createdAt": one.created_at, "archived": archived}


def history(*entries: dict[str, Any]) -> bytes:
    return json.dumps(entries, ensure_ascii=False).encode()


def good() -> dict[str, bytes]:
    return {
        "history.json": history(message(SAID[1], True), message(SAID[2], True), message(SAID[3], False)),
        "history.json.bak": b"[]",
        "recalld.toml": b'[archive]\ntimezone = "Asia/Shanghai"\n',
        "memory.md": "2026-01-01|网聊|喜欢茶".encode(),
        RECENT: dated(SAID[2]),
        OLD_DECEMBER: dated(SAID[0]),
        OLD_JANUARY: dated(SAID[1]),
        "memory/summary/2025-12.md": summary("2025-12", **{DECEMBER: dated(SAID[0])}),
        SUMMARY: summary("2026-01-20", **{JANUARY: dated(SAID[1])}),
        "memory/2026-01-02-我的.md": "自己写的笔记".encode(),
    }


def judged(files: dict[str, bytes], **given: Any) -> list[str]:
    return check(files, SAID, Given(NOW, "Asia/Shanghai", **given))


def test_checker_accepts_a_good_workspace() -> None:
    assert judged(good()) == []


def test_checker_wants_no_summary_of_a_short_day() -> None:
    files = good()
    del files[SUMMARY]
    files[shown := f"memory/{JANUARY}"] = files.pop(OLD_JANUARY)
    unnamed = f"{shown} is old and no summary names it"
    assert unnamed in judged(files)
    assert judged(files, shows_short=True) == []
    files[shown] = dated(SAID[1]._replace(text="一月。" * 1_500))
    assert unnamed in judged(files, shows_short=True)
    files[shown] = dated(SAID[1])
    files["memory/2026-01-20-note.md"] = "笔记".encode() * 700
    assert unnamed in judged(files, shows_short=True)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({OLD_DECEMBER: None}, "LOST: 十二月"),
        ({OLD_DECEMBER: dated(SAID[0], words="服务器搬到了 10.0.0.8。")}, "LOST: 十二月"),
        ({RECENT: dated(SAID[2], SAID[2])}, "DOUBLE: 昨天"),
        ({f"memory/{DECEMBER}": dated(SAID[0])}, f"{DECEMBER} lies in 2 places"),
        (
            {"history.json": history(message(SAID[1], True), message(SAID[2], "true"), message(SAID[3], False))},
            "there is no such flag",
        ),
        ({"history.json": b"{}"}, "it is not an array"),
        ({"history.json": b'[{"a": NaN}]'}, "NaN"),
        ({"history.json": history(*(message(SAID[n], n != 3) for n in (2, 1, 3)))}, "一月 stands behind 昨天"),
        ({"history.json": history(*(message(SAID[n], n != 3) for n in (1, 1, 3)))}, "holds an id twice: 一月"),
        ({"history.json": None}, "history.json is gone"),
        ({"recalld.toml": b"[archive"}, "recalld.toml can't be read"),
        ({RECENT: dated(SAID[2]).replace(b"count: 1", b"count: 2")}, "its head counts 2"),
        ({RECENT: dated(SAID[2]).replace(b"v2", b"v3")}, "its body is not the one"),
        ({RECENT: None, "memory/2026-01-30-v2.md": dated(SAID[2])}, "its period is 2026-01-31"),
        ({RECENT: dated(SAID[2]._replace(created_at="2026-01-31T17:00:00.000Z"))}, "昨天 is of 2026-02-01"),
        ({"memory/summary/2026-01-19.md": summary("2026-01-19", **{"2026-01-19-wu.md": "0" * 16})}, "which is not there"),
        (
            {"memory/summary/2026-01-19.md": summary("2026-01-19", **{JANUARY: dated(SAID[1])})},
            f"2026-01-19 names {JANUARY}",
        ),
        ({SUMMARY: summary("2026-01-21", **{JANUARY: dated(SAID[1])})}, "its period is 2026-01-21"),
        ({SUMMARY: good()[SUMMARY] + b"x"}, "its text is not the one"),
        ({OLD_JANUARY: None, f"memory/{JANUARY}": dated(SAID[1])}, "is covered and lies in memory/"),
        ({OLD_JANUARY: None, f"memory/originals/2025-12/{JANUARY}": dated(SAID[1])}, "in another month"),
        (
            {"memory/summary/2025-12.md": None, "memory/summary/2025-12-10.md": good()["memory/summary/2025-12.md"]},
            f"{DECEMBER} is of a closed month",
        ),
        ({"worker/queue/day-2026-01-20-0123456789-0.json": b'{"sources": []}'}, "is still there"),
        ({"worker/results/day-2026-01-20-0123456789-0.json": b"[]"}, "it is no object"),
        ({FAILED: b'{"attempts": 1}'}, "can't be read: 'reason'"),
        ({"log.jsonl": b'{"ts": "2026-01-28T00:00:00.000Z"}\n'}, "it has the line"),
        ({TURN: b'{"id": "other"}'}, "it is the turn other"),
        ({TURN: b'{"id": "2026'}, "can't be read"),
        ({".recalld/quarantine/history.json.0123456789ab": b"["}, "its content is not the one it is named by"),
        ({".recalld/seen.jsonl": b'{"recalld": 1}\n'}, "the seen journal does not know"),
        ({"inbox.d/new/x.json": b"{}"}, "was not taken in"),
        ({"worker/failed/provider.json": b'{"nextAt": "2026-02-01T05:00:00.000Z"}'}, "provider.json still waits"),
        (
            {"log.jsonl": json.dumps({"ts": "", "event": SAID[0].text}, ensure_ascii=False).encode() + b"\n"},
            "the log holds the words of \u5341\u4e8c\u6708",
        ),
        (
            {
                FAILED: b'{"attempts": 2, "failedAt": "2026-01-31T00:00:00Z", "nextAt": "2026-01-31T00:10:00Z", "reason": "empty"}'
            },
            "day-2026-01-20 waits 0:10:00 after 2 failures",
        ),
        ({"history.json": history({**message(SAID[3], False), "archiveAttempts": 1})}, "tells of its failure by halves"),
        ({SUMMARY: good()[SUMMARY].partition(b"\n- 2026-01-20")[0]}, "can't be read"),
    ],
)
def test_checker_names_each_fault_that_no_mutant_shows(change: dict[str, bytes | None], fault: str) -> None:
    """A file is another, or none."""
    files = {path: data for path, data in (good() | change).items() if data is not None}
    assert any(fault in line for line in judged(files)), judged(files)


def test_checker_reports_lost_text_of_a_person() -> None:
    summary_path, mine = "memory/summary/2026-01-20.md", "memory/2026-01-02-我的.md"
    files = good()
    assert judged(files, kept={mine: files[mine], summary_path: files[summary_path][:20]}) == []
    assert judged(files, kept={mine: b"x"}) == [f"{mine} lost a person's words"]
    assert judged(files, kept={summary_path: b"x"}) == [f"{summary_path} lost a person's words"]
    assert judged(files, kept={f"memory/{JANUARY}": files[OLD_JANUARY]}) == []


def test_checker_reports_messages_out_of_order_in_a_dated_file() -> None:
    files = good()
    again = SAID[2]._replace(id="昨天再", text="还有一句。")
    files[RECENT] = dated(again, SAID[2])
    wrong = check(files, [*SAID, again], Given(NOW, "Asia/Shanghai"))
    assert wrong == [f"昨天 stands behind 昨天再 in memory/{YESTERDAY}"]


def test_checker_reports_a_duplicate_id_even_if_the_order_is_unknown() -> None:
    files = good() | {"history.json": history(*(message(SAID[n], n != 3) for n in (1, 2, 3, 3)))}
    assert judged(files, ordered=False) == ["DOUBLE: history.json holds an id twice: 今天"]


def test_checker_reports_an_invented_message_when_all_texts_are_known() -> None:
    path = "memory/2026-01-31-x.md"
    files = good() | {path: dated(SAID[2]._replace(id="假", text="没有人说过。"))}
    offered = {one.text for one in SAID}
    assert judged(files) == judged(files, offered={*offered, "没有人说过。"}) == []
    assert judged(files, offered=offered) == [f"INVENTED: 假 '没有人说过。' in {path}"]


def test_checker_compares_time_and_role_with_what_the_writer_gave() -> None:
    at, path = Given(NOW, "Asia/Shanghai", offered={one.text for one in SAID}), RECENT
    said = [one._replace(role="user") for one in SAID]
    assert check(good(), said, at) == []
    assert check(good(), [*said[:3], said[3]._replace(created_at="2026-02-01T10:00+08:00")], at) == []
    later = good() | {path: dated(SAID[2]._replace(created_at="2026-01-31T03:00:00.000Z"))}
    assert check(later, said, at) == [f"昨天 is of {SAID[2].created_at}, and {path} has 2026-01-31T03:00:00.000Z"]
    entries = json.loads(good()["history.json"])
    other = good() | {"history.json": history(*entries[:2], {**entries[2], "role": "agent"})}
    assert check(other, said, at) == ["今天 was said by user, and history.json has agent"]
    assert check(other, [*said[:3], said[3]._replace(role="assistant")], at) == []


def test_checker_finds_message_text_in_the_log_in_any_json_escaping() -> None:
    said = [*SAID[:3], SAID[3]._replace(text='他说“走吧”，"\n然后就走了。\u2028')]
    entry = history(message(SAID[1], True), message(SAID[2], True), message(said[3], False))
    log = json.dumps({"ts": "", "event": "seen", "what": [{"words": said[3].text}]}).encode() + b"\n"
    files = good() | {"history.json": entry}
    assert check(files, said, Given(NOW, "Asia/Shanghai")) == []
    assert check(files | {"log.jsonl": log}, said, Given(NOW, "Asia/Shanghai")) == ["the log holds the words of 今天"]


def test_checker_counts_messages_without_id_by_text_and_time() -> None:
    twice = [Acked("", "好的", "2026-02-01T02:00:00.000Z")] * 2
    entry = {"role": "user", "text": "好的", "createdAt": "2026-02-01T02:00:00.000Z"}
    at = Given(NOW, "Asia/Shanghai")
    both = history({"id": "m-1", **entry}, {"id": "m-1-2", **entry})
    assert check({"history.json": both}, twice, at) == []
    assert check({"history.json": history({"id": "m-1", **entry})}, twice, at) == ["LOST: 2026-02-01T02:00:00.000Z '好的'"]


def test_checker_counts_repeated_texts_whatever_their_ids() -> None:
    again = [Acked(f"m-{n}", "继续", f"2026-01-31T0{n}:00:00.000Z") for n in (1, 2)]
    files = {"history.json": b"[]", RECENT: dated(*again)}

    def counted(met: int, said: int, **given: bool) -> list[str]:
        return check(files, (), Given(NOW, "Asia/Shanghai", calm=False, counts={"继续": (met, said)}, **given))

    assert counted(2, 2, all_written=True) == []
    assert counted(0, 1) == ["DOUBLE: '继续' was said 1 times, and is written 2 times"]
    assert counted(3, 3, all_written=True) == ["LOST: '继续' was met 3 times, and is written 2 times"]
    assert counted(3, 3) == []
