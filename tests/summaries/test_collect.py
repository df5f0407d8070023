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
from supervisor.summaries.llm_state import provider_state
from tests.conftest import HONEST, Desk, at, message, unreachable

if TYPE_CHECKING:
    from pathlib import Path

WAITS = (10, 30, 120, 360, 720, 1440, 1440)  # minutes; 003, then one try a day


def on(day: str, slug: str = "nginx", text: str = "") -> dict[str, object]:
    return message(f"{day}-{slug}", f"{day}T09:00", text or f"关于 {slug} 的话")


def failing(desk: Desk) -> None:
    desk.scribe.script = unreachable
    desk.write([on("2026-01-10")])
    desk.settle()


def the_task(desk: Desk) -> Task:
    (path,) = desk.ws.spool.queue.iterdir()
    return parse_task(path.read_bytes())


def deliver(desk: Desk, result: Result) -> Path:
    path = desk.ws.spool.results / f"{result.id}.json"
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


def test_a_summary_says_who_made_it_when_and_from_what(desk):
    desk.write([on("2026-01-10")])
    desk.settle()
    text = desk.summary("2026-01-10")
    for line in ("kind: day", "period: 2026-01-10", "zone: Asia/Shanghai", "count: 1", "provider: scribe", "model: qwen-test"):
        assert f"{line}\n" in text
    assert "- 2026-01-10-nginx.md · 1 · " in text


def test_a_result_is_deleted_last_and_taking_it_in_twice_is_harmless(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.work()
    (path,) = desk.ws.spool.finished()
    data = path.read_bytes()
    desk.round("all")
    assert not path.exists()
    before = desk.tree()
    path.write_bytes(data)  # a crash before the deletion was durable
    desk.settle()
    assert desk.tree() == before
    assert desk.told.of("dropped") == [{"group": "day-2026-01-10"}]


# ── failure ──────────────────────────────────────────────────────────────────


def test_the_waits_are_kept_to_the_second_and_the_fifth_failure_is_told_once(desk):
    """003, 失败与退避: 10 min, 30 min, 2 h, 6 h, 12 h; archive_backlog; then one try a day."""
    failing(desk)
    for attempts, minutes in enumerate(WAITS, 1):
        failure = desk.ws.failures()["day-2026-01-10"]
        assert (failure.attempts, failure.failed_at) == (attempts, desk.clock())
        assert failure.next_at - failure.failed_at == timedelta(minutes=minutes)
        asked = len(desk.scribe.asked)
        desk.clock.now = failure.next_at - timedelta(milliseconds=1)
        desk.settle()
        assert len(desk.scribe.asked) == asked
        desk.clock.now = failure.next_at
        desk.settle()
        assert len(desk.scribe.asked) == asked + 1
    assert desk.told.of("archive_backlog") == [{"group": "day-2026-01-10", "attempts": 5}]
    assert [told["attempts"] for told in desk.told.of("summary_failed")] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_failure_is_mirrored_in_the_messages_of_its_group_and_in_no_others(desk):
    desk.scribe.script = unreachable
    desk.write([on("2026-01-10"), on("2026-01-30")])
    desk.settle()
    old, young = desk.history()
    assert (old["archived"], old["archiveAttempts"], old["archiveFailedAt"], old["archiveNextAt"]) == (
        False,
        1,
        "2026-01-31T02:00:00.000Z",
        "2026-01-31T02:10:00.000Z",
    )
    assert (young["archived"], "archiveAttempts" in young) == (True, False)


def test_every_group_has_a_wait_of_its_own(desk):
    """A11."""
    desk.scribe.script = lambda task, blocks: unreachable(task, blocks) if task.period == "2026-01-10" else HONEST
    desk.write([on("2026-01-10"), on("2026-01-11")])
    desk.settle()
    assert list(desk.ws.failures()) == ["day-2026-01-10"]
    assert desk.flags() == [False, True]


def test_messages_that_were_long_true_stay_true_when_their_day_fails(desk):
    """4H, 2."""
    desk.write([on("2026-01-31")])
    desk.settle()
    assert desk.flags() == [True]
    desk.scribe.script = unreachable
    desk.clock.forward(days=7)
    desk.settle()
    assert "day-2026-01-31" in desk.ws.failures()
    assert desk.flags() == [True]


def test_success_takes_failure_and_marks_away(desk):
    """4H, 1."""
    failing(desk)
    desk.scribe.script = lambda _task, _blocks: HONEST
    desk.clock.forward(minutes=10)
    desk.settle()
    assert desk.ws.failures() == {}
    assert desk.flags() == [True]
    assert not [key for key in desk.history()[0] if key.startswith("archive") and key != "archived"]


def test_success_ends_the_wait_of_material_that_came_meanwhile(desk):
    failing(desk)
    desk.scribe.script = lambda _task, _blocks: HONEST
    desk.clock.forward(minutes=10)
    desk.round("all")
    desk.say(on("2026-01-10", "pnpm"))
    desk.round("all")
    desk.work()
    desk.round("all")
    assert desk.ws.failures() == {}
    assert desk.ws.spool.in_flight() == {"day-2026-01-10": "queue"}


def test_new_material_does_not_reset_the_wait(desk):
    failing(desk)
    desk.say(on("2026-01-10", "pnpm"))
    desk.settle()
    assert desk.ws.failures()["day-2026-01-10"].attempts == 1
    assert len(desk.scribe.asked) == 1
    desk.clock.forward(minutes=10)
    desk.settle()
    assert desk.ws.failures()["day-2026-01-10"].attempts == 2
    assert len(desk.scribe.asked[-1][0].sources) == 2


def test_a_day_that_a_clock_or_a_setting_makes_too_young_for_a_while_waits_on_as_it_did(desk):
    failing(desk)
    toml = desk.toml
    desk.reopen(toml.replace("[archive]", "[archive]\nrecent_days = 60"))
    desk.round("all")
    desk.reopen(toml)
    desk.round("all")
    assert desk.ws.failures()["day-2026-01-10"].attempts == 1
    assert not desk.ws.spool.in_flight()

    desk.reopen(toml.replace("[archive]", "[archive]\nrecent_days = 60"))
    desk.clock.forward(minutes=10)
    desk.round("all")
    assert desk.ws.failures() == {}  # the wait is over, and nothing is to be told


def test_a_restart_is_no_failure(desk):
    """B9: an interrupted restart counted as one."""
    desk.write([on("2026-01-10")])
    desk.round("all")
    assert desk.ws.spool.claim()
    for _ in range(5):
        desk.reopen()
    assert desk.ws.failures() == {}
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]


def test_a_clock_that_goes_back_does_not_stop_the_retries(desk):
    """A12, H36."""
    desk.clock.forward(days=365)
    failing(desk)
    desk.clock.forward(days=-360)
    desk.scribe.script = lambda _task, _blocks: HONEST
    desk.settle()
    assert desk.ws.failures() == {}


def test_a_wait_that_is_configured_longer_than_a_day_is_kept(desk):
    desk.reopen(desk.toml.replace("jitter = 0", 'jitter = 0\nbackoff = ["7d"]'))
    failing(desk)
    desk.clock.forward(days=6)
    desk.settle()
    assert len(desk.scribe.asked) == 1
    desk.clock.forward(days=1)
    desk.settle()
    assert len(desk.scribe.asked) == 2


def test_a_failure_counts_once_however_often_its_result_is_met(desk):
    desk.scribe.script = unreachable
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.work()
    (path,) = desk.ws.spool.finished()
    data = path.read_bytes()
    desk.round("all")
    for _ in range(3):
        path.write_bytes(data)
        desk.clock.forward(minutes=1)
        desk.round("all")
    assert desk.ws.failures()["day-2026-01-10"].attempts == 1
    assert desk.ws.failures()["day-2026-01-10"].failed_at == at("2026-01-31T10:00")


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
def test_a_text_that_may_not_stand_is_a_failure_and_the_words_stay_where_they_are(desk, text):
    """A14, B4."""
    desk.write([on("2026-01-10")])
    desk.round("all")
    deliver(desk, done(the_task(desk), text))
    desk.round("all")
    assert desk.summaries() == []
    assert desk.ws.failures()["day-2026-01-10"].attempts == 1
    assert desk.filed() == [("2026-01-10-nginx", "关于 nginx 的话")]
    assert desk.flags() == [False]


def test_nothing_to_record_counts_only_where_there_is_nothing_but_chitchat(desk):
    """H23: `无需记录` as a valid outcome, and as a way to lose a day."""
    desk.scribe.script = lambda _task, _blocks: "无需记录。"
    desk.write([on("2026-01-10", text="好的"), on("2026-01-11", "x", "我对花生过敏")])
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]
    assert "empty: true\n" in desk.summary("2026-01-10")
    assert list(desk.ws.failures()) == ["day-2026-01-11"]
    assert desk.flags() == [True, False]


def test_nothing_to_record_does_not_count_of_a_day_whose_only_words_are_a_person_s_note(desk):
    desk.scribe.script = lambda _task, _blocks: "无需记录。"
    (desk.layout.memory / "2026-01-10-想法.md").write_text("换成 caddy 试试，端口 8443。")
    desk.settle()
    assert desk.summaries() == []
    assert list(desk.ws.failures()) == ["day-2026-01-10"]


def test_a_summary_may_be_in_the_language_of_a_person_s_note_beside_other_words(desk):
    desk.scribe.script = lambda _task, _blocks: "## 证书\n\n周五前续签证书，端口改成 8443，备份放在 /srv/backup。"
    desk.write([on("2026-01-10", text="Please renew the certificate before Friday, and move the backup to /srv/backup.")])
    (desk.layout.memory / "2026-01-10-想法.md").write_text(
        "换成 caddy 试试，端口改成 8443；王芳说周五前要把证书续签好，别忘了备份。\n" * 4
    )
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]


def test_a_month_may_be_told_in_the_language_in_which_a_person_edited_one_of_its_days(desk):
    english = "## Certificates\n\nThe certificate was renewed, and the backup moved to /srv/backup."
    desk.scribe.script = lambda _task, _blocks: english
    desk.write([on("2026-01-10", text="Please renew the certificate before Friday, and move the backup to /srv/backup.")])
    desk.settle()
    day = desk.layout.summaries / "2026-01-10.md"
    day.write_text(
        day.read_text().replace(english, "## 证书\n\n王芳续签了证书，端口改成 8443；备份放在 /srv/backup，周四开会再说。")
    )
    desk.scribe.script = lambda _task, _blocks: "## 一月\n\n王芳续签了证书，端口改成 8443，备份放在 /srv/backup。"
    desk.clock.forward(days=60)
    desk.settle()
    assert desk.ws.failures() == {}
    assert "王芳续签了证书" in desk.summary("2026-01")


def test_a_result_that_is_none_is_set_aside_and_asked_for_anew(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    task = the_task(desk)
    (desk.ws.spool.results / f"{task.id}.json").write_text("[半个结果")
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]
    assert [path.read_text() for path in desk.layout.quarantine.iterdir()] == ["[半个结果"]
    (told,) = desk.told.of("file_quarantined")
    assert (told["file"], "copy" in told) == (f"worker/results/{task.id}.json", False)


def test_a_result_that_is_none_goes_also_while_quarantine_is_full_and_it_is_told_that_no_copy_is_kept(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    task = the_task(desk)
    for n in range(desk.ws.config.care.quarantine_limit):
        desk.ws.quarantine.keep("result", f"[第 {n} 个坏结果".encode())
    (desk.ws.spool.results / f"{task.id}.json").write_text("[半个结果")
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]
    assert [told["copy"] for told in desk.told.of("file_quarantined")] == [False]


def test_a_task_that_a_person_broke_is_set_aside_and_asked_for_anew(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    (path,) = desk.ws.spool.queue.iterdir()
    path.write_text("{}")
    desk.settle()
    assert desk.summaries() == ["2026-01-10"]


def test_a_summary_that_quotes_half_a_character_stands_or_fails_but_comes_to_an_end(desk):
    desk.write([message("1", "2026-01-10T09:00", "半个\ud83d字")])
    desk.settle()
    assert desk.filed() == [("1", "半个\ud83d字")]
    assert desk.summaries() == ["2026-01-10"] or desk.ws.failures()


# ── narrower, wider ──────────────────────────────────────────────────────────


def test_a_suspended_worker_s_narrower_text_is_dropped(desk):
    """4H, 8."""
    desk.write([on("2026-01-10")])
    desk.round("all")
    old = the_task(desk)
    desk.work()
    desk.say(on("2026-01-10", "pnpm"))
    desk.settle()
    before = desk.summary("2026-01-10")
    deliver(desk, done(old, "## 部署\n\n很久以前的摘要。"))
    desk.settle()
    assert desk.summary("2026-01-10") == before
    assert {"group": "day-2026-01-10"} in desk.told.of("dropped")


def test_a_result_that_names_no_more_than_stands_is_dropped(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    task = the_task(desk)
    desk.settle()
    before = desk.summary("2026-01-10")
    deliver(desk, done(task, "## 部署\n\n又一次的摘要。"))
    desk.settle()
    assert desk.summary("2026-01-10") == before


def test_a_result_that_claims_sources_its_task_did_not_have_hides_nothing(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    task = the_task(desk)
    more = (*task.sources, Source("2026-01-10-secret.md", "0" * 16, 1))
    deliver(desk, replace(done(task, HONEST), sources=more))
    desk.round("all")
    assert "secret" not in "".join(desk.summary(label) for label in desk.summaries())
    desk.scribe.script = lambda _task, _blocks: HONEST
    desk.clock.forward(minutes=10)
    desk.settle()
    assert desk.flags() == [True]


def test_material_that_a_person_deletes_meanwhile_is_no_failure_of_the_group(desk):
    desk.write([on("2026-01-10"), on("2026-01-10", "pnpm")])
    desk.round("all")
    desk.say(on("2026-01-10", "docker"))
    desk.round("all")
    gone = next(path for path in (desk.root / "memory").glob("2026-01-10-*.md") if "nginx" in path.name)
    gone.unlink()
    desk.settle()
    assert desk.ws.failures() == {}
    assert "2026-01-10-docker" in desk.summary("2026-01-10")


def test_material_that_was_changed_meanwhile_is_read_anew(desk):
    desk.write([on("2026-01-10")])
    desk.round("all")
    path = desk.layout.memory / "2026-01-10-nginx.md"
    path.write_text(path.read_text().replace("关于 nginx", "关于 caddy"))
    desk.settle()
    assert desk.ws.failures() == {}
    assert "caddy" in desk.summary("2026-01-10")


# ── a person's summaries ─────────────────────────────────────────────────────


def test_a_summary_that_a_person_edited_stays_an_exact_prefix(desk):
    """H32."""
    desk.write([on("2026-01-10")])
    desk.settle()
    path = desk.root / "memory" / "summary" / "2026-01-10.md"
    path.write_text(edited := path.read_text().replace("## 2026-01-10", "## 我自己改的标题"))
    desk.settle()
    assert path.read_text() == edited
    for n, slug in enumerate(("pnpm", "docker"), 2):
        desk.say(on("2026-01-10", slug))
        desk.settle()
        assert path.read_text().startswith(edited)
        assert path.read_text().count("\nkind: day\n") == 2
        assert len(desk.ws.memory.summaries()) == 1
        assert len(next(iter(desk.ws.memory.summaries().values())).sources) == n


def test_a_summary_that_a_person_wrote_gets_machine_text_below(desk):
    mine = "# 一月十日\n\n这一天我自己写。".encode("gb18030")
    (desk.root / "memory" / "summary" / "2026-01-10.md").write_bytes(mine)
    desk.write([on("2026-01-10")])
    desk.settle()
    found = (desk.root / "memory" / "summary" / "2026-01-10.md").read_bytes()
    assert found.startswith(mine + b"\n<!-- recalld: below this line")
    assert "关于 nginx".encode() in found
    assert desk.flags() == [True]


def test_a_summary_that_a_person_saves_in_the_very_moment_is_not_written_over(desk, monkeypatch):
    desk.write([on("2026-01-10")])
    desk.round("all")
    desk.work()
    store = type(desk.ws.memory)
    read = store.read_summary
    path = desk.root / "memory" / "summary" / "2026-01-10.md"

    def read_then_save(self, period):  # type: ignore[no-untyped-def]
        found = read(self, period)
        if not path.exists():
            path.write_text("我刚保存的")
        return found

    monkeypatch.setattr(store, "read_summary", read_then_save)
    desk.round("all")
    assert path.read_text() == "我刚保存的"
    desk.settle()
    assert path.read_text().startswith("我刚保存的\n<!-- recalld:")


def test_a_deleted_summary_is_made_anew(desk):
    desk.write([on("2026-01-10")])
    desk.settle()
    path = desk.root / "memory" / "summary" / "2026-01-10.md"
    before = path.read_bytes()
    path.unlink()
    desk.settle()
    assert path.read_bytes() == before
    assert desk.flags() == [True]


def two_tasks(desk: Desk) -> list[Task]:
    desk.write([on("2026-01-10"), on("2026-01-11", "docker")])
    desk.round("all")
    return [parse_task(path.read_bytes()) for path in sorted(desk.ws.spool.queue.iterdir())]


@pytest.mark.parametrize(
    "odd", ["\ud800", "m\u0090x", "m\ufffe", "m\x07", "m\x7f", "m\u2028x", "x\n---\nrecalld: 9\n", "很长的名字" * 1000, " \t"]
)
def test_whatever_a_result_calls_its_model_the_head_of_its_summary_can_be_written_and_read(desk, odd):
    first, second = two_tasks(desk)
    for task in (first, second):
        data = json.loads(render_result(done(task, HONEST)))
        names = {"model": odd, "prompt": odd, "provider": odd} if task is first else {}
        (desk.ws.spool.results / f"{task.id}.json").write_text(json.dumps({**data, **names}))
    assert desk.round().errors == {}
    desk.settle()
    assert desk.summaries() == ["2026-01-10", "2026-01-11"]
    text = desk.summary("2026-01-10")
    assert text.startswith("---\nrecalld: 1\nkind: day\n")
    assert text.count("\n---\n") == 1
    assert len(text) < 2_000
    assert desk.scribe.asked == []


def test_a_result_that_meets_a_bug_leaves_the_others_to_be_taken_in(desk, monkeypatch):
    first, second = two_tasks(desk)
    for task in (first, second):
        deliver(desk, done(task, HONEST))
    write = supervisor.summaries.collect._write

    def broken(ws, result, *rest, **named):
        if result.group == first.group:
            raise ValueError("哪里写错了")
        write(ws, result, *rest, **named)

    monkeypatch.setattr(supervisor.summaries.collect, "_write", broken)
    assert list(desk.round().errors) == ["harvest"]
    assert desk.summaries() == ["2026-01-11"]


@pytest.mark.parametrize("attempt", [7, 999_999, 10**400])
def test_a_result_whose_attempt_is_not_the_one_in_its_name_is_set_aside_and_counts_as_nothing(desk, attempt):
    desk.write([on("2026-01-10")])
    desk.round("all")
    task = the_task(desk)
    data = json.loads(render_result(done(task, HONEST)))
    (desk.ws.spool.results / f"{task.id}.json").write_text(json.dumps({**data, "attempt": attempt}))
    assert desk.round().errors == {}
    assert desk.ws.failures() == {}
    assert len(desk.told.of("file_quarantined")) == 1


def test_an_answer_to_a_call_that_was_under_way_at_a_fault_ends_no_pause_in_whatever_order_they_come(desk):
    first, second = two_tasks(desk)
    desk.clock.forward(minutes=1)
    desk.clock.now += timedelta(microseconds=77)
    began = to_wire(desk.clock() - timedelta(seconds=30))
    failed = replace(done(first, ""), status="failed", reason="provider", error="429", retry_after_s=36_000)
    deliver(desk, failed)
    deliver(desk, replace(done(second, HONEST), started_at=began))
    desk.round()
    assert desk.summaries() == ["2026-01-11"]
    assert provider_state(desk.ws).attempts == 1
    deliver(desk, replace(done(second, HONEST), started_at=""))
    desk.round()
    assert provider_state(desk.ws).next_at is not None


@pytest.mark.parametrize("odd", [{"name": "\ud800"}, {"name": "../x.md"}, {"count": -1}, {"count": 10**10}, {"digest": "哼"}])
def test_a_result_whose_sources_no_summary_could_name_is_set_aside(desk, odd):
    desk.write([on("2026-01-10")])
    desk.round("all")
    task = the_task(desk)
    data = json.loads(render_result(done(task, HONEST)))
    data["sources"].append({"name": "2026-01-10-x.md", "digest": "0123456789abcdef", "count": 1, **odd})
    (desk.ws.spool.results / f"{task.id}.json").write_text(json.dumps(data))
    desk.settle()
    assert len(desk.told.of("file_quarantined")) == 1
    assert desk.summaries() == ["2026-01-10"]
