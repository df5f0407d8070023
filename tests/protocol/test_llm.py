"""Calls to the model, each recorded before it is made; the prompts by the names of CountBot, and those of a workspace."""

import re
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld import Memory, prompts
from recalld.supervisor.protocol.llm import CallLog, load_template
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.files import Files
from tests.crash.model_disk import ModelDisk
from tests.world import FaultyDisk

NOON = datetime(2026, 1, 31, 4, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.fixture
def calls(tmp_path: Path) -> CallLog:
    return CallLog(Files(RealDisk()), WorkspacePaths(tmp_path / "工作区"), SHANGHAI)


def test_call_log_counts_across_processes_and_skips_a_truncated_line(calls, tmp_path):
    calls.begin(NOON, 5)
    path = tmp_path / "工作区" / ".recalld" / "calls.jsonl"
    path.write_bytes(path.read_bytes() + '{"at": "坏'.encode())
    again = CallLog(Files(RealDisk()), WorkspacePaths(tmp_path / "工作区"), SHANGHAI)
    assert again.begin(NOON, 5)
    assert again.today(NOON) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def test_call_log_raises_when_a_call_cannot_be_recorded(tmp_path):
    with pytest.raises(OSError, match="No space"):
        CallLog(Files(FaultyDisk("write").break_down()), WorkspacePaths(tmp_path), SHANGHAI).begin(NOON, 5)


def test_call_log_drops_old_days_when_it_grows_long(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("recalld.supervisor.protocol.llm._MANY", 10)
    for day in range(12):
        calls.begin(NOON + timedelta(days=day), 5)
    assert len((tmp_path / "工作区" / ".recalld" / "calls.jsonl").read_bytes().splitlines()) < 10
    assert calls.today(NOON + timedelta(days=11)) == 1


@given(st.lists(st.integers(0, 60), max_size=30), st.sampled_from(["Asia/Shanghai", "America/New_York", "Pacific/Apia"]))
def test_call_log_never_exceeds_the_daily_limit_in_any_time_zone(hours, zone):
    disk = ModelDisk()
    calls = CallLog(Files(disk), WorkspacePaths(disk.root), ZoneInfo(zone))
    begun = [at for hour in hours if calls.begin(at := NOON + timedelta(hours=hour), 3)]
    days = [at.astimezone(ZoneInfo(zone)).date() for at in begun]
    assert all(days.count(day) <= 3 for day in days)
    assert all(calls.today(at) == days.count(at.astimezone(ZoneInfo(zone)).date()) for at in begun)


# ── prompts ──────────────────────────────────────────────────────────────────────

#: The placeholders of each prompt, as programs of CountBot fill them.
NAMES = {
    "CONVERSATION_TO_MEMORY_PROMPT": "messages",
    "RECURSIVE_SUMMARY_PROMPT": "previous_summary past_messages char_limit",
    "OVERFLOW_SUMMARY_PROMPT": "messages",
    "MEMORY_ENTRY_TEMPLATE": "date source content",
    "HEARTBEAT_GREETING_PROMPT": "ai_name time_desc user_name idle_hours user_context personality_desc memory_context",
}


@pytest.mark.feature("000.39")
@pytest.mark.parametrize("name", NAMES)
def test_prompts_have_the_names_and_placeholders_of_countbot(name):
    prompt = getattr(prompts, name)
    assert set(re.findall(r"{(\w+)}", prompt)) == set(NAMES[name].split())
    filled = prompt.format(**{one: f"«{one}»" for one in NAMES[name].split()})
    assert all(f"«{one}»" in filled for one in NAMES[name].split())


def test_prompts_of_countbot_are_these_five():
    assert set(prompts.__all__) == {*NAMES, "workspace_prompt"}
    assert prompts.MEMORY_ENTRY_TEMPLATE == "{date}|{source}|{content}"
    with pytest.raises(AttributeError):
        _ = prompts.ANOTHER_PROMPT


@pytest.mark.parametrize("asked", [("../recalld",), ("heartbeat-greeting", "../zh")])
def test_workspace_prompt_refuses_what_is_no_prompt(world, asked):
    with pytest.raises(BadRequest):
        prompts.workspace_prompt(Memory(world.ws, clock=world.clock), *asked)


@pytest.mark.parametrize("save", [lambda data: data.replace(b"\n", b"\r\n"), lambda data: b"\xef\xbb\xbf" + data])
def test_prompt_of_a_workspace_asks_the_same_however_an_editor_saves_it(world, save):
    own = (resources.files("recalld.prompts") / "daily-summary.zh.md").read_bytes() + "\n语气要像老朋友。\n".encode()
    asked = []
    for data in (own, save(own)):
        world.put("prompts/daily-summary.zh.md", data)
        template = load_template("daily-summary", "zh", world.files, world.paths)
        asked.append(template.fill(date="2026-01-10", messages="材料"))
    assert "老朋友" in asked[0]
    assert asked[0] == asked[1]
