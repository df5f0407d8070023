"""What stands as the summary of a day or a month while its model is waited for, and where no model is asked."""

import pytest

from recalld.supervisor.archive.coverage import prunable
from recalld.worker.providers import Extractive, choose
from tests.world import WITH_MODEL, WITHOUT_MODEL, World, message, message_on, unreachable

REFUSED = "{}"  # says nothing


def head(world: World, label: str) -> set[str]:
    """The lines of the summary's last head."""
    return set(world.summary(label).rpartition("recalld: 1")[2].partition("\n---\n")[0].splitlines())


def settle_daily(world: World, days: int) -> None:
    for _ in range(days):
        world.settle()
        world.clock.forward(days=1)


def without_model(world: World) -> None:
    world.reopen(WITHOUT_MODEL)
    world.model = Extractive()  # type: ignore[assignment]


# ── while the model is waited for ────────────────────────────────────────────


def test_extract_that_waits_gives_way_to_an_answer_for_fewer_files(world):
    """The answer was under way when the late file came; the next one is about both."""
    world.write([message_on("2026-01-10")])
    world.round("all")
    world.work()
    world.add(message_on("2026-01-10", "pnpm"))
    world.settle()
    assert len(world.model.requests) == 2
    assert "waits: true" not in world.summary("2026-01-10")
    assert world.flags() == [True, True]


def test_extract_that_waits_is_taken_for_good_without_a_model(world):
    world.model.script = unreachable
    world.write([message_on("2026-01-10")])
    world.settle()
    without_model(world)
    world.clock.forward(minutes=10)
    world.settle()
    assert "waits: true" not in world.summary("2026-01-10")
    assert world.flags() == [True]


# ── after two refusals ───────────────────────────────────────────────────────


def test_extract_stands_after_two_refusals_and_no_third_answer_is_asked(world):
    world.model.script = lambda *_: REFUSED
    world.write([message_on("2026-01-10")])
    settle_daily(world, 3)
    assert len(world.model.requests) == 2
    assert [line for line in head(world, "2026-01-10") if line.startswith("refused: qwen-test ")]
    assert world.flags() == [True]
    assert world.ws.failures() == {}
    assert world.status()["extractsRefused"] == 1
    assert [told["reason"] for told in world.events.of("summary_failed")] == ["empty", "empty"]


def test_month_is_made_from_the_files_of_a_day_that_was_refused_twice(world):
    world.reopen(WITH_MODEL + "context_tokens = 512\n")
    world.model.script = lambda task, _: REFUSED if task.group == "day-2025-11-20" else "## nginx\n\n说了几句 nginx。"
    texts = [f"关于 nginx 的第 {n} 句，配置都在 /etc/nginx/conf.d 下面，改完要 reload。" for n in range(9)]
    world.write([message(f"{day}-{n}", f"2025-11-{day}T09:{n:02}", text) for day in (20, 21) for n, text in enumerate(texts)])
    settle_daily(world, 4)
    month = next(task for task, _ in world.model.requests if task.group == "month-2025-11")
    assert month.material == (world.names()[0], "summary/2025-11-21.md")
    assert [task.group for task, _ in world.model.requests].count("day-2025-11-20") == 2


def late_file_refused(world: World) -> None:
    """A model's summary stands, a late file comes, and the model is refused from then on, for twelve days."""
    world.write([message_on("2026-01-10")])
    world.settle()
    world.model.requests.clear()
    world.model.script = lambda *_: REFUSED
    world.add(message_on("2026-01-10", "pnpm", "房租从 3,200 涨到 3,400。The rent rises to 3,400."))
    settle_daily(world, 12)


def test_extract_of_a_late_file_stands_below_the_models_text(world):
    late_file_refused(world)
    assert [(task.apart, bool(task.previous)) for task, _ in world.model.requests] == [(False, True), (True, True)]
    text = world.summary("2026-01-10")
    assert text.index("关于 nginx 的话") < text.index("3,400")
    assert "model: qwen-test" in head(world, "2026-01-10")
    assert [line for line in head(world, "2026-01-10") if line.startswith("refused: qwen-test ")]
    assert "extract: true" not in head(world, "2026-01-10")
    assert (world.flags(), world.ws.failures()) == ([True, True], {})
    assert prunable(world.ws.memory.dated(), world.ws.memory.summaries()) == ()  # of the late file there is only an extract


def test_later_file_is_asked_for_below_an_extract_of_a_late_one(world):
    late_file_refused(world)
    world.model.script = lambda task, _: f"{task.previous}\n\n护照 2027 年 5 月到期。"
    world.add(message_on("2026-01-10", "passport", "护照 2027 年 5 月到期。"))
    world.settle()
    assert len(world.model.requests) == 3
    assert "3,400" in world.summary("2026-01-10")
    assert not [line for line in head(world, "2026-01-10") if line.startswith("refused")]


def test_extract_of_a_late_file_keeps_what_a_person_wrote(world):
    world.write([message_on("2026-01-10")])
    world.settle()
    path = world.paths.summaries / "2026-01-10.md"
    path.write_text(path.read_text().replace("的话", "的话（我改的）"))
    world.model.script = lambda *_: REFUSED
    world.add(message_on("2026-01-10", "pnpm"))
    settle_daily(world, 4)
    assert len(world.model.requests) == 3
    assert world.summary("2026-01-10").count("（我改的）") == 1
    assert "关于 pnpm 的话" in world.summary("2026-01-10")


# ── where no model is asked ──────────────────────────────────────────────────

LONG = "备份改到凌晨四点，脚本在 /srv/backup，王芳周五前续签证书，端口 8443。" * 6
LONG_SUMMARY = "备份改到凌晨四点，脚本在 /srv/backup；王芳周五前续签证书，端口 8443。"
LITTLE = WITH_MODEL.replace("least = 0", "least = 80")


def test_no_model_is_asked_for_a_day_of_few_words(world):
    world.reopen(LITTLE)
    world.model.script = lambda *_: LONG_SUMMARY
    world.write([message_on("2026-01-10"), message_on("2026-01-11", "long", f"{LONG} Is that all of it?")])
    world.settle()
    assert [task.period for task, _ in world.model.requests] == ["2026-01-11"]
    assert not (world.paths.summaries / "2026-01-10.md").exists()
    assert world.flags() == [True, True]
    world.settle()
    assert len(world.model.requests) == 1


# ── a short day ──────────────────────────────────────────────────────────────


def test_file_of_a_short_day_stands_in_place_of_an_extract_until_its_month(world):
    without_model(world)
    world.reopen(WITHOUT_MODEL.replace("least = 0", "least = 80"))
    world.write([message(f"{n}", f"2026-01-10T09:{n:02}", f"车位号是 B2-{n}。") for n in range(12)])
    world.settle()
    assert world.flags() == [True] * 12
    assert (world.summaries(), world.status()["oldestUnsummarised"]) == ([], None)
    assert world.plan()["summaries"] == []
    world.clock.forward(days=60)
    world.settle()
    assert "B2-11" in world.summary("2026-01")
    assert [name for name in world.dated_files() if not name.startswith("memory/originals/2026-01/2026-01-10-")] == []


@pytest.mark.parametrize(("text", "is_long"), [("车位号是 B2-117。", False), ("The lot is B2-117. " * 200, True)])
def test_day_that_is_no_longer_short_has_an_extract(world, text, is_long):
    without_model(world)
    world.reopen(WITHOUT_MODEL.replace("least = 0", "least = 80"))
    world.write([message_on("2026-01-10")])
    world.settle()
    world.add(message_on("2026-01-10", "late", text))
    world.settle()
    assert (world.paths.summaries / "2026-01-10.md").exists() == is_long
    assert world.flags() == [True, True]


@pytest.mark.parametrize("toml", [WITHOUT_MODEL, WITH_MODEL])
@pytest.mark.parametrize(("redact", "is_hidden"), [("llm", True), ("off", False)])
def test_extract_quotes_no_secret_unless_none_is_to_be_hidden(world, toml, redact, is_hidden):
    world.reopen(f'{toml}[privacy]\nredact = "{redact}"\n')
    world.model.script = unreachable
    if toml == WITHOUT_MODEL:
        world.model = choose(world.ws.config, {})
    world.write(
        [message_on(day, text="客厅的 wifi 密码是 hunter2-demo，月租 450 元。") for day in ("2026-01-10", "2025-11-10")]
    )
    world.settle()
    for label in ("2026-01-10", "2025-11"):
        assert "450" in world.summary(label)
        assert ("hunter2-demo" in world.summary(label)) is not is_hidden
    assert all("hunter2-demo" in block.text for blocks in world.dated_files().values() for block in blocks)


@pytest.mark.parametrize(
    "said",
    [
        ("Hi!", "Hello! How can I help you today?", "Thanks a lot!", "You're welcome! Let me know if you need more."),
        ("你好呀！", "你好！有什么可以帮你的吗？", "太感谢了", "不客气，随时找我。"),
    ],
    ids=["en", "zh"],
)
def test_no_model_is_asked_for_a_day_of_greetings(world, said):
    world.reopen(LITTLE)
    roles = ("user", "assistant")
    world.write([message(f"1-{n}", f"2026-01-10T09:{n:02}", said[n % 4], role=roles[n % 2]) for n in range(40)])
    world.settle()
    assert world.model.requests == []
    assert "empty: true" in head(world, "2026-01-10")
    assert not any(one in world.summary("2026-01-10").partition("\n---\n")[2].partition("<!--")[0] for one in said)


def test_no_model_is_asked_for_a_month_that_its_extract_quotes_whole(world):
    world.reopen(LITTLE)
    world.write([message_on("2025-11-10", text="车位号是 B2-117，月租 450 元，每月 5 号之前交。")])
    world.settle()
    assert world.model.requests == []
    assert "enough: true" in head(world, "2025-11")
    assert world.flags() == [True]
