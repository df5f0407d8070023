"""Taking in what the worker made: judged, written beside the originals, and only then forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import supervisor.summaries.collect
from supervisor.protocol.clock import to_wire
from supervisor.protocol.summary_file import Source
from supervisor.protocol.task import Result, Task, parse_task, render_result
from tests.world import GOOD_SUMMARY, World, at, message, message_on, unreachable

if TYPE_CHECKING:
    from pathlib import Path

WAITS = (10, 30, 120, 360, 720, 1440, 1440)  # minutes; 003, then one try a day


def failing(world: World) -> None:
    world.model.script = unreachable
    world.write([message_on("2026-01-10")])
    world.settle()


def the_task(world: World) -> Task:
    (path,) = world.ws.spool.queue.iterdir()
    return parse_task(path.read_bytes())


def deliver(world: World, result: Result) -> Path:
    path = world.ws.spool.results / f"{result.id}.json"
    path.write_bytes(render_result(result))
    return path


def done(task: Task, text: str) -> Result:
    return Result(
        id=task.id,
        status="done",
        text=text,
        provider="scribe",
        group=task.group,
        sources=task.sources,
        previous_digest=task.previous_digest,
        attempt=task.attempt,
    )


# ── success ──────────────────────────────────────────────────────────────────


def test_a_summary_says_who_made_it_when_and_from_what(world):
    world.write([message_on("2026-01-10")])
    world.settle()
    text = world.summary("2026-01-10")
    for line in ("kind: day", "period: 2026-01-10", "zone: Asia/Shanghai", "count: 1", "provider: scribe", "model: qwen-test"):
        assert f"{line}\n" in text
    assert "- 2026-01-10-nginx.md · 1 · " in text


def test_a_result_is_deleted_last_and_taking_it_in_twice_is_harmless(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.work()
    (path,) = world.ws.spool.finished()
    data = path.read_bytes()
    world.round("all")
    assert not path.exists()
    before = world.tree()
    path.write_bytes(data)  # a crash before the deletion was durable
    world.settle()
    assert world.tree() == before
    assert world.events.of("dropped") == [{"group": "day-2026-01-10"}]


# ── failure ──────────────────────────────────────────────────────────────────


def test_the_waits_are_kept_to_the_second_and_the_fifth_failure_is_told_once(world):
    """003, 失败与退避: 10 min, 30 min, 2 h, 6 h, 12 h; archive_backlog; then one try a day."""
    failing(world)
    for attempts, minutes in enumerate(WAITS, 1):
        failure = world.ws.failures()["day-2026-01-10"]
        assert (failure.attempts, failure.failed_at) == (attempts, world.clock())
        assert failure.next_at - failure.failed_at == timedelta(minutes=minutes)
        asked = len(world.model.requests)
        world.clock.now = failure.next_at - timedelta(milliseconds=1)
        world.settle()
        assert len(world.model.requests) == asked
        world.clock.now = failure.next_at
        world.settle()
        assert len(world.model.requests) == asked + 1
    assert world.events.of("archive_backlog") == [{"group": "day-2026-01-10", "attempts": 5}]
    assert [told["attempts"] for told in world.events.of("summary_failed")] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_failure_is_mirrored_in_the_messages_of_its_group_and_in_no_others(world):
    world.model.script = unreachable
    world.write([message_on("2026-01-10"), message_on("2026-01-30")])
    world.settle()
    old, young = world.history()
    assert (old["archived"], old["archiveAttempts"], old["archiveFailedAt"], old["archiveNextAt"]) == (
        False,
        1,
        "2026-01-31T02:00:00.000Z",
        "2026-01-31T02:10:00.000Z",
    )
    assert (young["archived"], "archiveAttempts" in young) == (True, False)


def test_every_group_has_a_wait_of_its_own(world):
    """A11."""
    world.model.script = lambda task, blocks: unreachable(task, blocks) if task.period == "2026-01-10" else GOOD_SUMMARY
    world.write([message_on("2026-01-10"), message_on("2026-01-11")])
    world.settle()
    assert list(world.ws.failures()) == ["day-2026-01-10"]
    assert world.flags() == [False, True]


def test_messages_that_were_long_true_stay_true_when_their_day_fails(world):
    """4H, 2."""
    world.write([message_on("2026-01-31")])
    world.settle()
    assert world.flags() == [True]
    world.model.script = unreachable
    world.clock.forward(days=7)
    world.settle()
    assert "day-2026-01-31" in world.ws.failures()
    assert world.flags() == [True]


def test_success_takes_failure_and_marks_away(world):
    """4H, 1."""
    failing(world)
    world.model.script = lambda _task, _blocks: GOOD_SUMMARY
    world.clock.forward(minutes=10)
    world.settle()
    assert world.ws.failures() == {}
    assert world.flags() == [True]
    assert not [key for key in world.history()[0] if key.startswith("archive") and key != "archived"]


def test_success_ends_the_wait_of_material_that_came_meanwhile(world):
    failing(world)
    world.model.script = lambda _task, _blocks: GOOD_SUMMARY
    world.clock.forward(minutes=10)
    world.round("all")
    world.add(message_on("2026-01-10", "pnpm"))
    world.round("all")
    world.work()
    world.round("all")
    assert world.ws.failures() == {}
    assert world.ws.spool.in_flight() == {"day-2026-01-10": "queue"}


def test_new_material_does_not_reset_the_wait(world):
    failing(world)
    world.add(message_on("2026-01-10", "pnpm"))
    world.settle()
    assert world.ws.failures()["day-2026-01-10"].attempts == 1
    assert len(world.model.requests) == 1
    world.clock.forward(minutes=10)
    world.settle()
    assert world.ws.failures()["day-2026-01-10"].attempts == 2
    assert len(world.model.requests[-1][0].sources) == 2


def test_a_day_that_a_clock_or_a_setting_makes_too_young_for_a_while_waits_on_as_it_did(world):
    failing(world)
    toml = world.toml
    world.reopen(toml.replace("[archive]", "[archive]\nrecent_days = 60"))
    world.round("all")
    world.reopen(toml)
    world.round("all")
    assert world.ws.failures()["day-2026-01-10"].attempts == 1
    assert not world.ws.spool.in_flight()

    world.reopen(toml.replace("[archive]", "[archive]\nrecent_days = 60"))
    world.clock.forward(minutes=10)
    world.round("all")
    assert world.ws.failures() == {}  # the wait is over, and nothing is to be told


def test_a_restart_is_no_failure(world):
    """B9: an interrupted restart counted as one."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    assert world.ws.spool.claim()
    for _ in range(5):
        world.reopen()
    assert world.ws.failures() == {}
    world.settle()
    assert world.summaries() == ["2026-01-10"]


def test_a_clock_that_goes_back_does_not_stop_the_retries(world):
    """A12, H36."""
    world.clock.forward(days=365)
    failing(world)
    world.clock.forward(days=-360)
    world.model.script = lambda _task, _blocks: GOOD_SUMMARY
    world.settle()
    assert world.ws.failures() == {}


def test_a_wait_that_is_configured_longer_than_a_day_is_kept(world):
    world.reopen(world.toml.replace("jitter = 0", 'jitter = 0\nbackoff = ["7d"]'))
    failing(world)
    world.clock.forward(days=6)
    world.settle()
    assert len(world.model.requests) == 1
    world.clock.forward(days=1)
    world.settle()
    assert len(world.model.requests) == 2


def test_a_failure_counts_once_however_often_its_result_is_met(world):
    world.model.script = unreachable
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.work()
    (path,) = world.ws.spool.finished()
    data = path.read_bytes()
    world.round("all")
    for _ in range(3):
        path.write_bytes(data)
        world.clock.forward(minutes=1)
        world.round("all")
    assert world.ws.failures()["day-2026-01-10"].attempts == 1
    assert world.ws.failures()["day-2026-01-10"].failed_at == at("2026-01-31T10:00")


# ── what may not stand ───────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "。。。",
        "花" * 8_001,
        "---\nrecalld: 1\nkind: day\n---\n篡改",
        "好\0的",
        "<!-- recalld: made from -->\n- x.md · 1 · 0000000000000000",
    ],
)
def test_a_text_that_may_not_stand_is_a_failure_and_the_words_stay_where_they_are(world, text):
    """A14, B4."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    deliver(world, done(the_task(world), text))
    world.round("all")
    assert world.summaries() == []
    assert world.ws.failures()["day-2026-01-10"].attempts == 1
    assert world.archived() == [("2026-01-10-nginx", "关于 nginx 的话")]
    assert world.flags() == [False]


def test_nothing_to_record_counts_only_where_there_is_nothing_but_chitchat(world):
    """H23: `无需记录` as a valid outcome, and as a way to lose a day."""
    world.model.script = lambda _task, _blocks: "无需记录。"
    world.write([message_on("2026-01-10", text="好的"), message_on("2026-01-11", "x", "我对花生过敏")])
    world.settle()
    assert world.summaries() == ["2026-01-10"]
    assert "empty: true\n" in world.summary("2026-01-10")
    assert list(world.ws.failures()) == ["day-2026-01-11"]
    assert world.flags() == [True, False]


def test_nothing_to_record_does_not_count_of_a_day_whose_only_words_are_a_person_s_note(world):
    world.model.script = lambda _task, _blocks: "无需记录。"
    world.note("2026-01-10-想法.md", "换成 caddy 试试，端口 8443。")
    world.settle()
    assert world.summaries() == []
    assert list(world.ws.failures()) == ["day-2026-01-10"]


def test_a_summary_may_be_in_the_language_of_a_person_s_note_beside_other_words(world):
    world.model.script = lambda _task, _blocks: "## 证书\n\n周五前续签证书，端口改成 8443，备份放在 /srv/backup。"
    world.write(
        [message_on("2026-01-10", text="Please renew the certificate before Friday, and move the backup to /srv/backup.")]
    )
    (world.layout.memory / "2026-01-10-想法.md").write_text(
        "换成 caddy 试试，端口改成 8443；王芳说周五前要把证书续签好，别忘了备份。\n" * 4
    )
    world.settle()
    assert world.summaries() == ["2026-01-10"]


def test_a_month_may_be_told_in_the_language_in_which_a_person_edited_one_of_its_days(world):
    english = "## Certificates\n\nThe certificate was renewed, and the backup moved to /srv/backup."
    world.model.script = lambda _task, _blocks: english
    world.write(
        [message_on("2026-01-10", text="Please renew the certificate before Friday, and move the backup to /srv/backup.")]
    )
    world.settle()
    day = world.layout.summaries / "2026-01-10.md"
    day.write_text(
        day.read_text().replace(english, "## 证书\n\n王芳续签了证书，端口改成 8443；备份放在 /srv/backup，周四开会再说。")
    )
    world.model.script = lambda _task, _blocks: "## 一月\n\n王芳续签了证书，端口改成 8443，备份放在 /srv/backup。"
    world.clock.forward(days=60)
    world.settle()
    assert world.ws.failures() == {}
    assert "王芳续签了证书" in world.summary("2026-01")


def test_a_result_that_is_none_is_set_aside_and_asked_for_anew(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    task = the_task(world)
    (world.ws.spool.results / f"{task.id}.json").write_text("[半个结果")
    world.settle()
    assert world.summaries() == ["2026-01-10"]
    assert [path.read_text() for path in world.layout.quarantine.iterdir()] == ["[半个结果"]
    (told,) = world.events.of("file_quarantined")
    assert (told["file"], "copy" in told) == (f"worker/results/{task.id}.json", False)


def test_a_result_that_is_none_goes_also_while_quarantine_is_full_and_it_is_told_that_no_copy_is_kept(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    task = the_task(world)
    for n in range(world.ws.config.care.quarantine_limit):
        world.ws.quarantine.keep("result", f"[第 {n} 个坏结果".encode())
    (world.ws.spool.results / f"{task.id}.json").write_text("[半个结果")
    world.settle()
    assert world.summaries() == ["2026-01-10"]
    assert [told["copy"] for told in world.events.of("file_quarantined")] == [False]


def test_a_task_that_a_person_broke_is_set_aside_and_asked_for_anew(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    (path,) = world.ws.spool.queue.iterdir()
    path.write_text("{}")
    world.settle()
    assert world.summaries() == ["2026-01-10"]


def test_a_summary_that_quotes_half_a_character_stands_or_fails_but_comes_to_an_end(world):
    world.write([message("1", "2026-01-10T09:00", "半个\ud83d字")])
    world.settle()
    assert world.archived() == [("1", "半个\ud83d字")]
    assert world.summaries() == ["2026-01-10"] or world.ws.failures()


# ── narrower, wider ──────────────────────────────────────────────────────────


def test_a_suspended_worker_s_narrower_text_is_dropped(world):
    """4H, 8."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    old = the_task(world)
    world.work()
    world.add(message_on("2026-01-10", "pnpm"))
    world.settle()
    before = world.summary("2026-01-10")
    deliver(world, done(old, "## 部署\n\n很久以前的摘要。"))
    world.settle()
    assert world.summary("2026-01-10") == before
    assert {"group": "day-2026-01-10"} in world.events.of("dropped")


def test_a_result_that_names_no_more_than_stands_is_dropped(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    task = the_task(world)
    world.settle()
    before = world.summary("2026-01-10")
    deliver(world, done(task, "## 部署\n\n又一次的摘要。"))
    world.settle()
    assert world.summary("2026-01-10") == before


def test_a_result_that_claims_sources_its_task_did_not_have_hides_nothing(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    task = the_task(world)
    more = (*task.sources, Source("2026-01-10-secret.md", "0" * 16, 1))
    deliver(world, replace(done(task, GOOD_SUMMARY), sources=more))
    world.round("all")
    assert "secret" not in "".join(world.summary(label) for label in world.summaries())
    world.model.script = lambda _task, _blocks: GOOD_SUMMARY
    world.clock.forward(minutes=10)
    world.settle()
    assert world.flags() == [True]


def test_material_that_a_person_deletes_meanwhile_is_no_failure_of_the_group(world):
    world.write([message_on("2026-01-10"), message_on("2026-01-10", "pnpm")])
    world.round("all")
    world.add(message_on("2026-01-10", "docker"))
    world.round("all")
    gone = next(path for path in (world.root / "memory").glob("2026-01-10-*.md") if "nginx" in path.name)
    gone.unlink()
    world.settle()
    assert world.ws.failures() == {}
    assert "2026-01-10-docker" in world.summary("2026-01-10")


def test_material_that_was_changed_meanwhile_is_read_anew(world):
    world.write([message_on("2026-01-10")])
    world.round("all")
    path = world.layout.memory / "2026-01-10-nginx.md"
    path.write_text(path.read_text().replace("关于 nginx", "关于 caddy"))
    world.settle()
    assert world.ws.failures() == {}
    assert "caddy" in world.summary("2026-01-10")


# ── a person's summaries ─────────────────────────────────────────────────────


def test_a_summary_that_a_person_edited_stays_an_exact_prefix(world):
    """H32."""
    world.write([message_on("2026-01-10")])
    world.settle()
    path = world.root / "memory" / "summary" / "2026-01-10.md"
    path.write_text(edited := path.read_text().replace("## 2026-01-10", "## 我自己改的标题"))
    world.settle()
    assert path.read_text() == edited
    for n, slug in enumerate(("pnpm", "docker"), 2):
        world.add(message_on("2026-01-10", slug))
        world.settle()
        assert path.read_text().startswith(edited)
        assert path.read_text().count("\nkind: day\n") == 2
        assert len(world.ws.memory.summaries()) == 1
        assert len(next(iter(world.ws.memory.summaries().values())).sources) == n


def test_a_summary_that_a_person_wrote_gets_machine_text_below(world):
    mine = "# 一月十日\n\n这一天我自己写。".encode("gb18030")
    (world.root / "memory" / "summary" / "2026-01-10.md").write_bytes(mine)
    world.write([message_on("2026-01-10")])
    world.settle()
    found = (world.root / "memory" / "summary" / "2026-01-10.md").read_bytes()
    assert found.startswith(mine + b"\n<!-- recalld: below this line")
    assert "关于 nginx".encode() in found
    assert world.flags() == [True]


def test_a_summary_that_a_person_saves_in_the_very_moment_is_not_written_over(world, monkeypatch):
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.work()
    store = type(world.ws.memory)
    read = store.read_summary
    path = world.root / "memory" / "summary" / "2026-01-10.md"

    def read_then_save(self, period):  # type: ignore[no-untyped-def]
        found = read(self, period)
        if not path.exists():
            path.write_text("我刚保存的")
        return found

    monkeypatch.setattr(store, "read_summary", read_then_save)
    world.round("all")
    assert path.read_text() == "我刚保存的"
    world.settle()
    assert path.read_text().startswith("我刚保存的\n<!-- recalld:")


def test_a_deleted_summary_is_made_anew(world):
    world.write([message_on("2026-01-10")])
    world.settle()
    path = world.root / "memory" / "summary" / "2026-01-10.md"
    before = path.read_bytes()
    path.unlink()
    world.settle()
    assert path.read_bytes() == before
    assert world.flags() == [True]


def two_tasks(world: World) -> list[Task]:
    world.write([message_on("2026-01-10"), message_on("2026-01-11", "docker")])
    world.round("all")
    return [parse_task(path.read_bytes()) for path in sorted(world.ws.spool.queue.iterdir())]


@pytest.mark.parametrize(
    "odd", ["\ud800", "m\u0090x", "m\ufffe", "m\x07", "m\x7f", "m\u2028x", "x\n---\nrecalld: 9\n", "很长的名字" * 1000, " \t"]
)
def test_whatever_a_result_calls_its_model_the_head_of_its_summary_can_be_written_and_read(world, odd):
    first, second = two_tasks(world)
    for task in (first, second):
        data = json.loads(render_result(done(task, GOOD_SUMMARY)))
        names = {"model": odd, "prompt": odd, "provider": odd} if task is first else {}
        (world.ws.spool.results / f"{task.id}.json").write_text(json.dumps({**data, **names}))
    assert world.round().errors == {}
    world.settle()
    assert world.summaries() == ["2026-01-10", "2026-01-11"]
    text = world.summary("2026-01-10")
    assert text.startswith("---\nrecalld: 1\nkind: day\n")
    assert text.count("\n---\n") == 1
    assert len(text) < 2_000
    assert world.model.requests == []


def test_a_result_that_meets_a_bug_leaves_the_others_to_be_taken_in(world, monkeypatch):
    first, second = two_tasks(world)
    for task in (first, second):
        deliver(world, done(task, GOOD_SUMMARY))
    write = supervisor.summaries.collect._write

    def broken(ws, result, *rest, **named):
        if result.group == first.group:
            raise ValueError("哪里写错了")
        write(ws, result, *rest, **named)

    monkeypatch.setattr(supervisor.summaries.collect, "_write", broken)
    assert list(world.round().errors) == ["harvest"]
    assert world.summaries() == ["2026-01-11"]


@pytest.mark.parametrize("attempt", [7, 999_999, 10**400])
def test_a_result_whose_attempt_is_not_the_one_in_its_name_is_set_aside_and_counts_as_nothing(world, attempt):
    world.write([message_on("2026-01-10")])
    world.round("all")
    task = the_task(world)
    data = json.loads(render_result(done(task, GOOD_SUMMARY)))
    (world.ws.spool.results / f"{task.id}.json").write_text(json.dumps({**data, "attempt": attempt}))
    assert world.round().errors == {}
    assert world.ws.failures() == {}
    assert len(world.events.of("file_quarantined")) == 1


def test_an_answer_to_a_call_that_was_under_way_at_a_fault_ends_no_pause_in_whatever_order_they_come(world):
    first, second = two_tasks(world)
    world.clock.forward(minutes=1)
    world.clock.now += timedelta(microseconds=77)
    began = to_wire(world.clock() - timedelta(seconds=30))
    failed = replace(done(first, ""), status="failed", reason="provider", error="429", retry_after_s=36_000)
    deliver(world, failed)
    deliver(world, replace(done(second, GOOD_SUMMARY), started_at=began))
    world.round()
    assert world.summaries() == ["2026-01-11"]
    assert world.provider_state().attempts == 1
    deliver(world, replace(done(second, GOOD_SUMMARY), started_at=""))
    world.round()
    assert world.provider_state().next_at is not None


@pytest.mark.parametrize("odd", [{"name": "\ud800"}, {"name": "../x.md"}, {"count": -1}, {"count": 10**10}, {"digest": "哼"}])
def test_a_result_whose_sources_no_summary_could_name_is_set_aside(world, odd):
    world.write([message_on("2026-01-10")])
    world.round("all")
    task = the_task(world)
    data = json.loads(render_result(done(task, GOOD_SUMMARY)))
    data["sources"].append({"name": "2026-01-10-x.md", "digest": "0123456789abcdef", "count": 1, **odd})
    (world.ws.spool.results / f"{task.id}.json").write_text(json.dumps(data))
    world.settle()
    assert len(world.events.of("file_quarantined")) == 1
    assert world.summaries() == ["2026-01-10"]
