"""A task from the queue to its result, with a model: prompts, quoting, splitting, pieces, usage."""

import hashlib
import os
import re
from datetime import timedelta
from importlib import resources

import pytest

from recalld.supervisor.protocol.llm import CallLog
from recalld.worker import desk
from recalld.worker.desk import Pieces
from recalld.worker.providers import NoCall
from tests.llm.server import TEXT, Act
from tests.llm.shop import ZONE, ServedWorld, long_day

TALK = ("把 nginx 的配置备份一下，放在 /srv/backup。", "好的，备份好了，端口改成 8443。", "周五前续签证书。")
#: A context in which a day of 60 such messages is four pieces.
SMALL = "context_tokens = 1600"


@pytest.fixture
def shop(tmp_path, server):
    return ServedWorld(tmp_path / "工作区", server)


def numbered(number, _prompt):
    """A model that counts its answers."""
    return Act(text=f"## 第 {number} 次\n\n已读到这里，端口 8443，备份在 /srv/backup。")


def material_of(prompt):
    """The text between the last two fences."""
    return re.findall(r"^(`{3,})\n(.*?)\n\1$", prompt, re.DOTALL | re.MULTILINE)[-1][1]


# ── prompts ──────────────────────────────────────────────────────────────────


@pytest.mark.feature("003.13")
def test_worker_summarizes_a_day_with_the_prompt_of_its_language(shop):
    source = shop.day("2026-01-15", TALK)
    task = shop.submit_task("day-2026-01-15", source)

    result = shop.do()

    assert (result.status, result.text, result.reason, result.extract) == ("done", TEXT, None, False)
    assert (result.id, result.group, result.sources) == (task.id, task.group, (source,))
    assert (result.provider, result.model) == ("openai", "qwen-test")
    (prompt,) = shop.server.seen.prompts
    assert result.usage == {"calls": 1, "promptTokens": len(prompt), "completionTokens": len(TEXT)}
    wording = resources.files("recalld.prompts").joinpath("daily-summary.zh.md").read_bytes()
    assert result.prompt == hashlib.sha256(wording).hexdigest()[:12]
    assert prompt.startswith("2026-01-15\n\n（围栏里是引用的材料")
    assert material_of(prompt) == (
        "09:00 user: 把 nginx 的配置备份一下，放在 /srv/backup。\n"
        "09:01 assistant: 好的，备份好了，端口改成 8443。\n"
        "09:02 user: 周五前续签证书。"
    )


def test_prompts_are_turns_that_never_change_before_the_material(shop):
    for day in ("2026-01-15", "2026-01-16"):
        shop.submit_task(f"day-{day}", shop.day(day, TALK))
        shop.do()

    first, second = (body["messages"] for body in shop.server.seen.bodies)
    assert [turn["role"] for turn in first] == ["system", "user", "assistant", "user"]
    assert first[:-1] == second[:-1]  # a server keeps what it has read of them
    assert not any("{" in turn["content"] for turn in first)
    assert "无需记录" not in str(first)


def test_worker_asks_for_a_day_by_exchange_after_a_failure(shop):
    long = "把 nginx 的配置备份一下，放在 /srv/backup，再看看证书还有几天到期，到期之前提醒我续签，顺便把端口改成 8443。" * 3
    english = "Please renew the certificate before Friday and tell me the new port, and write both into the notes. " * 3
    shop.submit_task(
        "day-2026-01-15", shop.day("2026-01-15", (long, "好的", english, "Done."), minutes=11), attempt=1, apart=True
    )
    shop.server.script = numbered

    result = shop.do()

    assert [line for line in result.text.splitlines() if line.startswith("#")] == ["## 第 1 次", "## 第 2 次"]
    systems = [body["messages"][0]["content"] for body in shop.server.seen.bodies]
    assert ["你为一个陪伴" in systems[0], "You keep the memory" in systems[1]] == [True, True]
    assert "09:00 user" in shop.server.seen.prompts[0]
    assert "nginx" not in shop.server.seen.prompts[1]


@pytest.mark.parametrize("previous", ["房租 3,200。", "The rent is 3,200."], ids=["zh", "en"])
def test_worker_puts_what_is_new_below_the_text_that_it_continues(shop, previous):
    shop.submit_task("day-2026-01-15", shop.day("2026-01-15", TALK), attempt=1, apart=True, previous=previous)

    assert shop.do().text == f"{previous}\n\n{TEXT}"
    assert previous not in shop.server.seen.prompts[0]


def test_worker_joins_a_month_of_its_days_by_code_after_a_failure(shop):
    daily = shop.daily("2025-12-03", "备份改到凌晨 4:15，放在 /srv/backup。")
    other = shop.daily("2025-12-09", "用户对青霉素过敏，约了 12 月 20 日体检。")
    source = shop.day("2025-12-03", TALK[:1])
    shop.submit_task("month-2025-12", source, material=(daily, other), attempt=1, apart=True)

    result = shop.do()

    assert (result.joined, result.extract, shop.server.seen.calls) == (True, False, 0)
    assert result.text == "- 备份改到凌晨 4:15，放在 /srv/backup。\n- 用户对青霉素过敏，约了 12 月 20 日体检。"


def test_worker_asks_for_no_more_days_of_a_month_than_three_are_refused(shop):
    shop.submit_task("month-2025-12", *(shop.day(f"2025-12-{n:02}", TALK) for n in range(1, 21)), attempt=1, apart=True)
    shop.server.play(Act(text="抱歉，我无法协助处理该请求。"), Act(text="I'm sorry, I can't help with that."))
    result = shop.do()
    assert (result.status, result.reason, shop.server.seen.calls) == ("failed", "refused", 3)


@pytest.mark.parametrize(("configured", "at_once"), [("", 1), ("concurrency = 2", 2), ("concurrency = 1", 1)])
def test_worker_asks_a_server_here_for_one_answer_unless_configured(shop, configured, at_once):
    shop.reopen(shop._toml("", f"{configured}\n"))
    assert shop.worker()._at_once() == at_once


@pytest.mark.feature("003.13")
def test_prompts_ask_for_a_month_by_theme_from_summaries_and_dated_files(shop):
    daily = shop.daily("2025-12-03", "## 部署\n\n改到凌晨 4:15。")
    source = shop.day("2025-12-04", TALK[:1])
    shop.submit_task("month-2025-12", source, material=(daily, source.name))
    shop.do()

    (prompt,) = shop.server.seen.prompts
    assert "按主题写，不按日期写" in shop.server.seen.bodies[0]["messages"][0]["content"]
    assert material_of(prompt) == (
        "2025-12-03 summary: ## 部署\n    \n    改到凌晨 4:15。\n2025-12-04 09:00 user: 把 nginx 的配置备份一下，放在 /srv/backup。"
    )


def test_worker_makes_no_call_for_small_talk_alone(shop):
    shop.submit_task("day-2026-01-15", shop.day("2026-01-15", ("好的", "谢谢！")))
    result = shop.do()

    assert (result.status, result.text, result.usage["calls"], shop.server.seen.calls) == ("done", "无需记录", 0, 0)


def test_prompts_prefer_the_users_own_file_and_record_its_digest(shop):
    (shop.root / "prompts").mkdir()
    own = "{date} 说了什么？只写三行。\n{messages}\n"
    (shop.root / "prompts" / "daily-summary.zh.md").write_text(own, encoding="utf-8")
    shop.submit_task("day-2026-01-15", shop.day("2026-01-15", TALK))

    assert shop.do().prompt == hashlib.sha256(own.encode()).hexdigest()[:12]
    assert shop.server.seen.prompts[0].startswith("2026-01-15 说了什么？只写三行。\n（围栏里是引用的材料")


def test_worker_hides_secrets_from_the_model_unless_redaction_is_off(tmp_path, server):
    said = ("密码是 Hunter2demo，工号 QX-2291。", "Hunter2demo 我试过，能用。")
    hiding = ServedWorld(tmp_path / "a", server, more="[privacy]\npatterns = ['QX-\\d+']")
    telling = ServedWorld(tmp_path / "b", server, more='[privacy]\nredact = "off"')
    for shop in (hiding, telling):
        shop.submit_task("day-2026-01-15", shop.day("2026-01-15", said), previous="旧密码是 Hunter1demo")
        shop.do()

    hidden, told = server.seen.prompts
    assert not re.search(r"Hunter\d|QX-2291", hidden)
    assert "工号 [已隐去]" in hidden
    assert "Hunter2demo" in told
    assert "Hunter1demo" in told


# ── what may be read ─────────────────────────────────────────────────────────


def test_worker_refuses_an_extract_as_material_and_a_changed_source(shop):
    daily = shop.daily("2025-12-03", "> 摘录：没有用模型", extract=True)
    shop.submit_task("month-2025-12", shop.day("2025-12-03", TALK), material=(daily,))
    source = shop.day("2026-01-15", TALK)
    shop.submit_task("day-2026-01-15", source)
    path = shop.paths.dated(source.name)
    path.write_bytes(path.read_bytes().replace(b"8443", b"9443"))

    assert [(result.status, result.reason) for result in (shop.do(), shop.do())] == [("failed", "lost")] * 2
    assert shop.server.seen.calls == 0


# ── splitting ────────────────────────────────────────────────────────────────


def test_writing_keeps_the_existing_summary_when_the_model_omits_it(shop):
    shop.server.play(Act(text="## 新\n\n证书。"))
    shop.submit_task("day-2026-01-15", shop.day("2026-01-15", TALK), previous=TEXT)

    assert shop.do().text == f"{TEXT}\n\n## 新\n\n证书。"


# ── pieces and the bill ──────────────────────────────────────────────────────


def test_worker_keeps_the_daily_call_cap_and_resumes_the_task_next_day(tmp_path, server):
    shop = ServedWorld(tmp_path / "w", server, f"{SMALL}\nmax_calls_per_day = 3")
    shop.submit_task("day-2026-01-15", shop.day("2026-01-15", long_day(60)))
    for _ in range(3):
        with pytest.raises(NoCall, match="the day's calls are used up"):
            shop.worker().run_once()
        assert shop.task_queue.active_groups() == {"day-2026-01-15": "queue"}
    assert server.seen.calls == 3

    shop.clock.now += timedelta(days=1)
    assert (shop.do().status, server.seen.calls) == ("done", 4)


def test_worker_lets_a_redo_exceed_the_cap_by_at_most_another_cap(tmp_path, server):
    shop = ServedWorld(tmp_path / "w", server, f"{SMALL}\nmax_calls_per_day = 3")
    source = shop.day("2026-01-15", long_day(60))
    shop.submit_task("day-2026-01-15", source, redo=True)
    result = shop.do()
    assert (result.reason, result.usage["calls"]) == ("input", 3)
    assert CallLog(shop.files, shop.paths, ZONE).today(shop.clock()) == 3

    shop.submit_task("day-2026-01-15", source, attempt=1, redo=True)
    assert (shop.do().status, server.seen.calls) == ("done", 4)


def test_pieces_are_few_and_the_oldest_go_first(shop, monkeypatch):
    monkeypatch.setattr(desk, "_MOST_PIECES", 3)
    for n in range(5):
        pieces = Pieces(shop.files, shop.paths, f"day-2026-01-1{n}")
        pieces.keep("问", f"答 {n}")
        (path,) = shop.paths.pieces.glob(f"day-2026-01-1{n}.*")
        os.utime(path, (n, n))
    assert sorted(path.read_text(encoding="utf-8") for path in shop.paths.pieces.iterdir()) == ["答 2", "答 3", "答 4"]


def test_call_log_counts_requests_refused_for_a_parameter(shop, server):
    server.script = lambda _n, _prompt: Act(refuses=("temperature", "max_tokens"))
    shop.submit_task("day-2026-01-15", shop.day("2026-01-15", TALK))
    shop.do()
    assert CallLog(shop.files, shop.paths, ZONE).today(shop.clock()) == server.seen.calls > 1
