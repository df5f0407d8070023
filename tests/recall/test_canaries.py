"""Canaries: taken from each archive run, asked again a few at a time, reported when no longer found (docs/reference/protocol.md)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from recalld.supervisor.recall.canaries import KEPT, PER_CHECK, Canary, CanaryState, CanaryStore
from recalld.supervisor.storage.control import Control
from tests.world import GOOD_SUMMARY, WITHOUT_MODEL, at, message

TOLD = (
    ("2026-01-30", "我对榛子过敏，点外卖要备注不放榛子。"),
    ("2026-01-30", "Wolfsburg 的 quokka 合同改到 8443 号柜。"),
    ("2026-01-29", "rsync 备份脚本在凌晨失败，端口 22 被防火墙拦了。"),
    ("2026-01-28", "猫的三联疫苗约在宠物医院，九月十二号。"),
    ("2026-01-27", "Grafana 的仪表盘换到 prometheus 数据源。"),
)


def say(world, *, of=TOLD, prefix: str = "m") -> None:
    world.add(*(message(f"{prefix}{n}", f"{day}T09:0{n}", text) for n, (day, text) in enumerate(of)))


@pytest.fixture
def store(world):
    return CanaryStore(world.files, world.paths)


@pytest.fixture
def filled(world):
    say(world)
    world.settle()
    world.refresh()
    return world


def check(world, times: int = 1) -> int:
    return sum(world.probe() for _ in range(times))


def test_canaries_take_one_to_three_questions_from_each_archive_run(filled, store):
    check(filled)
    kept = store.read()
    assert len(kept.canaries) == 3
    for canary in kept.canaries:
        (said,) = [block.text for name, blocks in filled.dated_files().items() for block in blocks if block.id == canary.id]
        assert all(word in said for word in canary.words)
        assert (filled.root / "memory" / canary.file).exists()
    filled.clock.forward(hours=7)
    say(filled, of=[("2026-01-31", "新房租合同的押金是 5350 元，签约在虹桥。")], prefix="n")
    filled.settle()
    filled.refresh()
    check(filled)
    assert [canary.id for canary in store.read().canaries[3:]] == ["n0"]


def test_status_reports_how_many_canaries_were_asked_and_found(filled):
    assert filled.status()["canaries"] == {"kept": 0, "asked": 0, "found": 0, "rate": None}
    assert check(filled) == 3
    assert filled.status()["canaries"] == {"kept": 3, "asked": 3, "found": 3, "rate": 1.0}
    assert filled.events.of("recall_fell") == []


def test_canaries_are_asked_once_a_day(filled):
    assert [check(filled), check(filled)] == [3, 0]
    filled.clock.forward(hours=23)
    assert check(filled) == 0
    filled.clock.forward(hours=2)
    assert check(filled) == 3


def test_canaries_check_asks_at_most_its_limit(filled, store):
    check(filled)
    one = store.read().canaries[0]
    store.write(replace(store.read(), canaries=(replace(one, asked=None),) * 12))
    assert [check(filled) for _ in range(4)] == [PER_CHECK, PER_CHECK, 2, 0]


def test_canaries_check_told_to_stop_asks_none_but_keeps_new_ones(filled, store):
    filled.control = Control(lambda: True)
    assert check(filled) == 0
    assert len(store.read().canaries) == 3


def test_canaries_check_writes_nothing_when_none_is_due(filled):
    check(filled)
    before = filled.files.disk.stat(filled.paths.canaries)
    filled.clock.forward(minutes=5)
    check(filled)
    assert filled.files.disk.stat(filled.paths.canaries) == before


def test_canaries_are_found_in_originals_or_the_covering_summary(world, store):
    world.model.script = lambda *_: GOOD_SUMMARY
    say(world, of=[("2026-01-30", "部署在 /srv/backup 的回滚脚本 rollback.sh 超时 30 秒。")])
    world.settle()
    world.refresh()
    assert check(world) == 1
    world.clock.forward(days=20)
    world.settle()
    assert not (world.root / "memory" / store.read().canaries[0].file).exists()
    world.refresh()
    check(world)
    assert world.status()["canaries"]["rate"] == 1.0
    # even where the words behind summaries are not searched
    world.reopen(world.toml + '[recall]\noriginals = "never"\n')
    world.refresh()
    world.clock.forward(days=2)
    assert check(world) == 1
    assert world.status()["canaries"]["rate"] == 1.0


def test_canaries_are_all_found_when_extracts_stand_for_summaries(world):
    world.reopen(WITHOUT_MODEL)
    world.model.extract = True
    say(world)
    world.settle()
    world.clock.forward(days=5)
    world.settle()
    assert world.summaries() == ["2026-01-27", "2026-01-28", "2026-01-29", "2026-01-30"]
    world.refresh()
    assert check(world) == 3
    assert world.status()["canaries"]["found"] == 3


def test_canaries_are_dropped_when_their_message_is_deleted_or_changed(filled, store):
    check(filled)
    first, second, third = store.read().canaries
    file = filled.root / "memory" / first.file
    file.unlink()
    other = filled.root / "memory" / second.file
    other.write_text(other.read_text(encoding="utf-8").replace(second.words[0], "别的"), encoding="utf-8")
    filled.refresh()
    filled.clock.forward(hours=25)
    check(filled)
    assert [canary.id for canary in store.read().canaries] == [third.id]
    assert filled.events.of("recall_fell") == []


def test_canaries_check_reports_each_fall_of_the_rate_once(filled, store):
    check(filled)
    # a rule that drops everything: as good as a broken one
    filled.reopen(filled.toml + "[recall]\nmin_score = 9999\n")
    filled.refresh()
    filled.clock.forward(hours=25)
    check(filled)
    assert filled.events.of("recall_fell") == [{"found": 0, "asked": 3, "before": 1.0}]
    filled.clock.forward(hours=25)
    check(filled)
    assert len(filled.events.of("recall_fell")) == 1
    assert filled.status()["canaries"] == {"kept": 3, "asked": 3, "found": 0, "rate": 0.0}
    filled.reopen(filled.toml.partition("[recall]")[0])
    filled.refresh()
    filled.clock.forward(hours=25)
    check(filled)
    assert filled.status()["canaries"]["rate"] == 1.0
    filled.reopen(filled.toml + "[recall]\nmin_score = 9999\n")
    filled.refresh()
    filled.clock.forward(hours=25)
    check(filled)
    assert len(filled.events.of("recall_fell")) == 2


def test_canaries_events_contain_no_word_of_a_message(filled):
    check(filled)
    filled.reopen(filled.toml + "[recall]\nmin_score = 9999\n")
    filled.refresh()
    filled.clock.forward(hours=25)
    check(filled)
    log = json.dumps(filled.events.all, ensure_ascii=False)
    assert not any(word in log for canary in CanaryStore(filled.files, filled.paths).read().canaries for word in canary.words)


def test_canary_store_tolerates_damage_and_only_its_owner_may_read_it(filled, store):
    check(filled)
    assert filled.paths.canaries.stat().st_mode & 0o777 == 0o600
    whole = store.read()
    data = filled.paths.canaries.read_bytes()
    filled.paths.canaries.write_bytes(data + '{"file": "没写完'.encode())
    assert store.read() == whole
    for damage in (
        b"",
        b"\xff\xfe",
        b'{"recalld": 99}\n',
        b"[[[[\n",
        b'{"recalld": 1, "until": 7, "level": "x"}\n{"file": 1}\n7\n',
    ):
        filled.paths.canaries.write_bytes(damage)
        assert store.read() == CanaryState()
    filled.paths.canaries.unlink()
    check(filled)
    assert [one.id for one in store.read().canaries] == [one.id for one in whole.canaries]


def test_canary_store_drops_the_oldest_beyond_its_limit(store, world):
    world.files.make_folder(world.paths.state)
    many = tuple(Canary(file=f"2026-01-30-{n}.md", id=str(n), words=("甲", "乙")) for n in range(KEPT + 7))
    store.write(CanaryState(many, at("2026-01-30T10:00"), 0.5))
    kept = store.read()
    assert (kept.canaries, kept.until, kept.level) == (many[-KEPT:], at("2026-01-30T10:00"), 0.5)


@pytest.mark.parametrize(("kept", "first"), [(200, 1), (12, 5)])
def test_canaries_first_check_takes_one_from_each_run_that_it_can_keep(world, store, monkeypatch, kept, first):
    """Three may come from a run: of twelve that are kept, four runs, the newest."""
    monkeypatch.setattr("recalld.supervisor.recall.canaries.KEPT", kept)
    for day in range(1, 9):
        say(world, of=[(f"2026-01-2{day}", f"第 {day} 天的 rsync 备份编号 8{day}43 存在 nas{day} 上。")], prefix=f"d{day}-")
        world.clock.forward(minutes=1)
        world.settle()
    world.refresh()
    check(world, 3)
    assert [canary.id for canary in store.read().canaries] == [f"d{day}-0" for day in range(first, 9)]
    assert world.status()["canaries"] == {"kept": 9 - first, "asked": 9 - first, "found": 9 - first, "rate": 1.0}
