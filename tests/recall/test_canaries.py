"""Canaries: kept from each archive run, asked again a few at a time, told when they are found no more (docs/protocol.md, 7.5)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from supervisor.recall.canaries import A_CHECK, KEPT, Canary, CanaryStore, Kept, probe
from supervisor.recall.search import refresh
from supervisor.service.status import status
from tests.conftest import HONEST, WITHOUT_MODEL, at, message

TOLD = (
    ("2026-01-30", "我对榛子过敏，点外卖要备注不放榛子。"),
    ("2026-01-30", "Wolfsburg 的 quokka 合同改到 8443 号柜。"),
    ("2026-01-29", "rsync 备份脚本在凌晨失败，端口 22 被防火墙拦了。"),
    ("2026-01-28", "猫的三联疫苗约在宠物医院，九月十二号。"),
    ("2026-01-27", "Grafana 的仪表盘换到 prometheus 数据源。"),
)


def say(desk, *, of=TOLD, prefix: str = "m") -> None:
    desk.say(*(message(f"{prefix}{n}", f"{day}T09:0{n}", text) for n, (day, text) in enumerate(of)))


@pytest.fixture
def store(desk):
    return CanaryStore(desk.files, desk.layout)


@pytest.fixture
def told(desk):
    say(desk)
    desk.settle()
    refresh(desk.ws)
    return desk


def check(desk, times: int = 1) -> int:
    return sum(probe(desk.ws, desk.clock()) for _ in range(times))


def test_each_run_leaves_one_to_three_questions_about_what_is_really_there(told, store):
    check(told)
    kept = store.read()
    assert len(kept.canaries) == 3
    for canary in kept.canaries:
        (said,) = [block.text for name, blocks in told.dated().items() for block in blocks if block.id == canary.id]
        assert all(word in said for word in canary.words)
        assert (told.root / "memory" / canary.file).exists()
    told.clock.forward(hours=7)
    say(told, of=[("2026-01-31", "新房租合同的押金是 5350 元，签约在虹桥。")], prefix="n")
    told.settle()
    refresh(told.ws)
    check(told)
    assert [canary.id for canary in store.read().canaries[3:]] == ["n0"]


def test_they_are_asked_and_found_and_status_says_of_how_many(told):
    assert status(told.ws, told.clock())["canaries"] == {"kept": 0, "asked": 0, "found": 0, "rate": None}
    assert check(told) == 3
    assert status(told.ws, told.clock())["canaries"] == {"kept": 3, "asked": 3, "found": 3, "rate": 1.0}
    assert told.told.of("recall_fell") == []


def test_each_is_asked_once_a_day(told):
    assert [check(told), check(told)] == [3, 0]
    told.clock.forward(hours=23)
    assert check(told) == 0
    told.clock.forward(hours=2)
    assert check(told) == 3


def test_a_few_are_asked_at_a_time(told, store):
    check(told)
    one = store.read().canaries[0]
    store.write(replace(store.read(), canaries=(replace(one, asked=None),) * 12))
    assert [check(told) for _ in range(4)] == [A_CHECK, A_CHECK, 2, 0]


def test_told_to_stop_it_asks_no_more_and_keeps_what_it_has(told, store):
    told.ws.should_stop = lambda: True
    assert check(told) == 0
    assert len(store.read().canaries) == 3


def test_a_check_with_nothing_due_writes_nothing(told):
    check(told)
    before = told.files.disk.stat(told.layout.canaries)
    told.clock.forward(minutes=5)
    check(told)
    assert told.files.disk.stat(told.layout.canaries) == before


def test_what_went_to_the_originals_or_into_a_summary_is_found_still(desk, store):
    desk.scribe.script = lambda *_: HONEST
    say(desk, of=[("2026-01-30", "部署在 /srv/backup 的回滚脚本 rollback.sh 超时 30 秒。")])
    desk.settle()
    refresh(desk.ws)
    assert check(desk) == 1
    desk.clock.forward(days=20)
    desk.settle()
    assert not (desk.root / "memory" / store.read().canaries[0].file).exists()
    refresh(desk.ws)
    check(desk)
    assert status(desk.ws, desk.clock())["canaries"]["rate"] == 1.0
    # even where the words behind summaries are not searched
    desk.reopen(desk.toml + '[recall]\noriginals = "never"\n')
    refresh(desk.ws)
    desk.clock.forward(days=2)
    assert check(desk) == 1
    assert status(desk.ws, desk.clock())["canaries"]["rate"] == 1.0


def test_extracts_hide_nothing(desk):
    desk.reopen(WITHOUT_MODEL)
    say(desk)
    desk.settle()
    refresh(desk.ws)
    check(desk)
    assert status(desk.ws, desk.clock())["canaries"]["found"] == 3


def test_a_deleted_block_a_rewritten_one_and_a_deleted_file_take_their_canaries_with_them(told, store):
    check(told)
    first, second, third = store.read().canaries
    file = told.root / "memory" / first.file
    file.unlink()
    other = told.root / "memory" / second.file
    other.write_text(other.read_text(encoding="utf-8").replace(second.words[0], "别的"), encoding="utf-8")
    refresh(told.ws)
    told.clock.forward(hours=25)
    check(told)
    assert [canary.id for canary in store.read().canaries] == [third.id]
    assert told.told.of("recall_fell") == []


def test_what_is_there_and_is_not_found_any_more_is_an_event_once(told, store):
    check(told)
    # a rule that drops everything: as good as a broken one
    told.reopen(told.toml + "[recall]\nmin_score = 9999\n")
    refresh(told.ws)
    told.clock.forward(hours=25)
    check(told)
    assert told.told.of("recall_fell") == [{"found": 0, "asked": 3, "before": 1.0}]
    told.clock.forward(hours=25)
    check(told)
    assert len(told.told.of("recall_fell")) == 1
    assert status(told.ws, told.clock())["canaries"] == {"kept": 3, "asked": 3, "found": 0, "rate": 0.0}
    told.reopen(told.toml.partition("[recall]")[0])
    refresh(told.ws)
    told.clock.forward(hours=25)
    check(told)
    assert status(told.ws, told.clock())["canaries"]["rate"] == 1.0
    told.reopen(told.toml + "[recall]\nmin_score = 9999\n")
    refresh(told.ws)
    told.clock.forward(hours=25)
    check(told)
    assert len(told.told.of("recall_fell")) == 2


def test_no_word_of_a_message_is_in_an_event(told):
    check(told)
    told.reopen(told.toml + "[recall]\nmin_score = 9999\n")
    refresh(told.ws)
    told.clock.forward(hours=25)
    check(told)
    log = json.dumps(told.told.all, ensure_ascii=False)
    assert not any(word in log for canary in CanaryStore(told.files, told.layout).read().canaries for word in canary.words)


def test_the_file_can_be_deleted_or_damaged_and_only_its_owner_may_read_it(told, store):
    check(told)
    assert told.layout.canaries.stat().st_mode & 0o777 == 0o600
    whole = store.read()
    data = told.layout.canaries.read_bytes()
    told.layout.canaries.write_bytes(data + '{"file": "没写完'.encode())
    assert store.read() == whole
    for damage in (
        b"",
        b"\xff\xfe",
        b'{"recalld": 99}\n',
        b"[[[[\n",
        b'{"recalld": 1, "until": 7, "level": "x"}\n{"file": 1}\n7\n',
    ):
        told.layout.canaries.write_bytes(damage)
        assert store.read() == Kept()
    told.layout.canaries.unlink()
    check(told)
    assert [one.id for one in store.read().canaries] == [one.id for one in whole.canaries]


def test_the_oldest_leave_where_there_are_too_many(store, desk):
    desk.files.make_folder(desk.layout.state)
    many = tuple(Canary(file=f"2026-01-30-{n}.md", id=str(n), words=("甲", "乙")) for n in range(KEPT + 7))
    store.write(Kept(many, at("2026-01-30T10:00"), 0.5))
    kept = store.read()
    assert (kept.canaries, kept.until, kept.level) == (many[-KEPT:], at("2026-01-30T10:00"), 0.5)


def test_a_workspace_of_years_gives_the_canaries_of_its_newest_runs(desk, store):
    for day in range(1, 9):
        say(desk, of=[(f"2026-01-2{day}", f"第 {day} 天的 rsync 备份编号 8{day}43 存在 nas{day} 上。")], prefix=f"d{day}-")
        desk.clock.forward(minutes=1)
        desk.settle()
    refresh(desk.ws)
    check(desk, 3)
    assert [canary.id for canary in store.read().canaries] == [f"d{day}-0" for day in range(1, 9)]
    assert status(desk.ws, desk.clock())["canaries"] == {"kept": 8, "asked": 8, "found": 8, "rate": 1.0}
