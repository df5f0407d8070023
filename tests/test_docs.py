"""What the documents promise exists, and what exists is in the documents, in both languages; their examples are parsed."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import pytest
import yaml

from recalld.supervisor import events
from recalld.supervisor.archive.journal import SeenJournal
from recalld.supervisor.checks.check import Look
from recalld.supervisor.checks.fsck import fsck
from recalld.supervisor.checks.table import status
from recalld.supervisor.events import EVENTS
from recalld.supervisor.host.round import intake
from recalld.supervisor.interfaces.cli import main
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE
from recalld.supervisor.interfaces.cli.parser import Command, Group
from recalld.supervisor.interfaces.output import wire
from recalld.supervisor.operations.operation import Caller, perform
from recalld.supervisor.operations.upkeep import plan
from recalld.supervisor.protocol.config import RETIRED, Config, make_workspace
from recalld.supervisor.protocol.dated_file import body_digest, parse_dated, read_head, render_dated
from recalld.supervisor.protocol.message import Message, parse_history, render_history
from recalld.supervisor.protocol.settings import dotted, keys
from recalld.supervisor.protocol.summary_file import parse_summary, render_summary
from recalld.supervisor.protocol.task import REASONS, AskedTask, asked_id, parse_result, parse_task, render_result, render_task
from recalld.supervisor.storage import errors
from recalld.supervisor.storage.clock import find_zone, fixed_clock
from recalld.supervisor.summaries.llm_state import provider_state
from recalld.supervisor.workspace import open_workspace
from tests import pages

ROOT = Path(__file__).parent.parent
PAGES = sorted(path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")) if path.name != "configuration.md")
#: Every page of the repository that has links.
LINKED = sorted({*PAGES, *ROOT.glob("docs/**/*.md"), *ROOT.glob("workspace/*.md"), *ROOT.glob("bench/**/*.md")})
#: Where pages are cited: `docs/reference/protocol.md, 3.13`.
CITING = sorted(
    path
    for folder in ("supervisor", "worker", "recalld", "prompts", "bench", "script", "tests", "docs", ".")
    for path in ((ROOT / folder).rglob("*") if folder != "." else ROOT.glob("*"))
    if path.is_file() and (path.suffix in {".py", ".md", ".toml", ".sh"} or path.parent.name == "script")
)
SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 1, 28, 5, tzinfo=UTC)
PROTOCOL = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


def example(name: str) -> bytes:
    """The block of docs/reference/protocol.md that is marked so."""
    found = re.findall(rf"<!-- example: {re.escape(name)}(?: \S+)? -->\n```\w+\n(.*?)^```$", PROTOCOL, re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"docs/reference/protocol.md has {len(found)} examples called {name}"
    return found[0].encode()


def first_column(heading: str) -> set[str]:
    """The names in the first column of the table under that header row."""
    table = PROTOCOL.partition(f"| {heading} |")[2].partition("\n\n")[0]
    return {name for row in table.split("\n")[2:] for name in re.findall(r"`(\w+)`", row.split(" | ")[0])}


@pytest.fixture
def ws(tmp_path):
    make_workspace(tmp_path, {"RECALLD_ARCHIVE_TIMEZONE": "Asia/Shanghai"})
    opened = open_workspace(tmp_path, {}, fixed_clock(NOW))
    opened.prepare()
    return opened


# ── commands ─────────────────────────────────────────────────────────────────


def _leaves(group: Group, before: str = "") -> dict[str, Command]:
    """The commands by their full names: "run", "summary redo"."""
    found = {}
    for name, command in group.commands.items():
        found |= {f"{before}{name}": command} if isinstance(command, Command) else _leaves(command, f"{before}{name} ")
    return found


def _options(command: Command | Group) -> set[str]:
    return {option for parameter in command.params for option in parameter.names}


COMMANDS = _leaves(COMMAND_LINE)
#: The commands of which one that the list does not show is another name.
ALIASES = {"memory status": "status", "memory index": "index rebuild", "memory search": "search", "memory prune": "prune"}


def test_cli_docs_have_one_heading_per_command():
    assert set(re.findall(r"^### `recalld ([\w ]+)`$", CLI, re.MULTILINE)) == set(COMMANDS) - set(ALIASES)


@pytest.mark.parametrize("name", COMMANDS)
def test_cli_docs_describe_every_option(name):
    of_all = CLI.partition("## Commands")[0]
    own = CLI.partition(f"### `recalld {ALIASES.get(name, name)}`\n")[2].partition("\n### ")[0]
    options = {option for parameter in COMMANDS[name].params for option in parameter.names if option.startswith("--")}
    assert {option for option in options if option not in own and option not in of_all} == set()


def shown_commands(text: str) -> set[str]:
    """The command lines of recalld that the page shows, in blocks and in sentences."""
    blocks = "\n".join(re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    return {*re.findall(r"`(recalld [^`\n]+)`", text), *re.findall(r"^(?:\$ |sudo )?(recalld .+)$", blocks, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_docs_show_only_existing_commands_and_options(page):
    if page.name == "CHANGELOG.md" or page.parent.name == "decisions":
        return  # they tell of what was
    of_all = _options(COMMAND_LINE) | {"--help"}
    wrong = []
    for line in shown_commands(page.read_text(encoding="utf-8")):
        plain = re.sub(r"(?<= )-w \S+ |(?<= )--now \S+ |\"[^\"]*\"|'[^']*'", "", line)
        words = re.split(r" (?:[|>;&]|2>)|;", plain)[0].split()[1:]
        name = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS), "")
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        if words and words[0] not in of_all and (not name or options - _options(COMMANDS[name]) - of_all):
            wrong.append(line)
    assert wrong == []


def test_cli_docs_describe_every_key_of_status_plan_and_fsck(ws):
    ws.files.create(ws.paths.drop_box / "a.json", example("drop"))
    intake(ws, NOW)
    found, planned = status(Look(ws, NOW)), perform(plan, ws, {}, Caller(clock=lambda: NOW))
    printed = {*found, *found["history"], *found["queue"], *found["today"], *planned, *planned["dated"][0]}
    assert {key for key in (*printed, *wire(asdict(fsck(ws)))) if f"`{key}`" not in CLI} == set()


# ── the protocol ─────────────────────────────────────────────────────────────


def test_protocol_docs_describe_exactly_the_existing_events():
    assert first_column("event | fields") == set(EVENTS)


@pytest.mark.parametrize("name", pages.PAGES)
def test_generated_page_is_the_one_that_its_table_makes(name):
    assert pages.PAGES[name]() == (ROOT / f"docs/reference/{name}.md").read_text(encoding="utf-8")


def test_events_page_has_every_event_the_gravest_first():
    assert re.findall(r"^\| `(\w+)` \|", pages.events(), re.MULTILINE) == sorted(EVENTS, key=events.priority)


def test_exit_code_docs_describe_exactly_the_existing_exit_codes():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SupervisorError)]
    raised = {kind.exit_code for kind in kinds if kind is not errors.SupervisorError}
    by_the_command_line = {0, 69, 130}  # done; no summary came of it; interrupted
    table = CLI.partition("## Exit codes")[2].partition("\n## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == raised | by_the_command_line


def test_protocol_docs_describe_exactly_the_entries_of_the_journal():
    verbs = set(re.findall(r'case "(\w+)"', (ROOT / "supervisor/archive/journal_state.py").read_text(encoding="utf-8")))
    assert verbs
    assert set(re.findall(r'^\| `\{"(\w+)"', PROTOCOL, re.MULTILINE)) == verbs


def test_protocol_docs_describe_every_field_of_task_and_result():
    described = first_column("of a task | is")
    assert set(json.loads(render_task(parse_task(example("task"))))) <= described
    described |= first_column("of such a task | is") | first_column("of a result | is")
    asked = parse_task(example("asked task"))
    assert set(json.loads(render_task(asked))) <= described
    assert isinstance(asked, AskedTask)
    assert asked_id(asked.group, asked.kind, asked.prompt, asked.attempt) == asked.id
    done = parse_result(example("result"))
    assert {*json.loads(render_result(done)), "reason"} <= described
    assert {reason for reason in REASONS if f"`{reason}`" not in PROTOCOL} == set()


def test_docs_name_only_existing_config_keys():
    known = {dotted(place) for place in keys(Config())}
    sections = {key.partition(".")[0] for key in known if "." in key}
    for page in PAGES:
        named = re.findall(r"`([a-z]+\.[a-z_]+)`", page.read_text(encoding="utf-8"))
        keyed = {key for key in named if key.partition(".")[0] in sections}
        files = {key for key in keyed if key.endswith((".json", ".jsonl", ".py", ".toml"))}
        left = set(map(dotted, RETIRED)) if page.name == "CHANGELOG.md" else set()
        assert keyed - files - known - left == set(), page


# ── examples, read back ──────────────────────────────────────────────────────


def test_history_example_equals_what_render_history_writes():
    history = parse_history(example("history"), SHANGHAI)
    assert all(isinstance(message, Message) for message in history)
    assert render_history(history) == example("history")


def test_dated_file_example_equals_what_render_dated_writes():
    data = example("dated")
    file = parse_dated(data, Path("x.md"))
    head, body = read_head(data.decode(), Path("x.md"))
    assert head["digest"] == body_digest(body)
    day = datetime.fromisoformat(head["period"]).date()
    assert render_dated(day, head["zone"], find_zone(head["zone"]), file.created, file.blocks) == data
    assert [block.key for block in file.blocks] == [message.key for message in parse_history(example("history"), SHANGHAI)]


def test_summary_example_equals_what_render_summary_writes():
    summary = parse_summary(example("summary"), "2026-01-15", Path("x.md"))
    assert "我加的" in summary.kept
    assert [source.name for source in summary.sources] == ["2026-01-15-key.md", "2026-01-15-rollback-sh-srv-deploy.md"]
    assert render_summary(summary) == example("summary")


def test_journal_example_marks_the_dated_file_example_as_written(ws):
    ws.files.create(ws.paths.seen, example("journal"))
    journal = SeenJournal(ws.files, ws.paths, SHANGHAI)
    journal.refresh()
    blocks = parse_dated(example("dated"), Path("x.md")).blocks
    assert {journal.file_of(block.key) for block in blocks} == {"2026-01-15-rollback-sh-srv-deploy.md"}
    assert journal.unwritten == {}


def test_task_and_result_examples_are_read_completely():
    task, result = example("task"), example("result")
    assert _lacking(task, render_task(parse_task(task))) == {}
    assert _lacking(result, render_result(parse_result(result))) == {}
    assert parse_result(result).id == parse_task(task).id


def _lacking(shown: bytes, written: bytes) -> dict[str, object]:
    """The fields of the one that the other has not, or has otherwise; a later release may write more."""
    found = json.loads(written)
    return {key: value for key, value in json.loads(shown).items() if found.get(key, ...) != value}


def test_failure_example_is_read_as_two_attempts(ws):
    ws.files.create(ws.task_queue.failed / "day-2026-01-15.json", example("failure"))
    assert ws.failures()["day-2026-01-15"].attempts == 2


def test_provider_example_is_read_as_a_failing_provider(ws):
    ws.files.create(ws.task_queue.failed / "provider.json", example("provider"))
    state = provider_state(ws.task_queue)
    assert (state.attempts, state.reason, state.calls) == (1, "connection refused", 3)
    assert state.is_failing
    assert state.next_at == datetime(2026, 1, 28, 4, 50, tzinfo=UTC)


def test_drop_box_example_is_taken_into_history(ws):
    ws.files.create(ws.paths.drop_box / "late.json", example("drop"))
    assert intake(ws, NOW) == 1
    (message,) = ws.history.read()
    assert message.text == "周五的部署取消，等签名的 key"
    assert message.created_at == datetime(2026, 1, 15, 14, 10, tzinfo=UTC)
    assert os.listdir(ws.paths.drop_box) == []


def test_log_example_contains_only_existing_events():
    assert {json.loads(line)["event"] for line in example("log").splitlines()} <= set(EVENTS)


# ── pages among themselves ───────────────────────────────────────────────────


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_docs_link_only_to_existing_pages_and_headings(page):
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text(encoding="utf-8"))):
        target, _, anchor = link.partition("#")
        if target.startswith("https://"):
            continue
        there = page.parent / target if target else page
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            wrong.append(link)
    assert wrong == []


SECTIONS = set(re.findall(r"^(?:## |\*\*)(\d+(?:\.\d+)?)\b", PROTOCOL, re.MULTILINE))
RULES = set(
    re.findall(r"^(\d+)\. ", (ROOT / "docs/architecture.md").read_text("utf-8").partition("## Principles")[2], re.MULTILINE)
)
DECISIONS = {path.name[:4] for path in (ROOT / "docs/decisions").glob("*.md")}


def absent(path: Path) -> list[str]:
    """The pages, sections of the protocol, rules and decisions that the file cites, and there are not."""
    text = path.read_text(encoding="utf-8")
    wrong = [name for name in re.findall(r"\bdocs/[\w./-]+\.(?:md|svg)", text) if not (ROOT / name).exists()]
    lists = re.findall(r"\bprotocol\.md,? ([1-9]\d*(?:\.\d+)?\b(?:(?:, | and | to )[1-9]\d*(?:\.\d+)?\b)*)", text)
    if path.name == "protocol.md":
        lists += re.findall(r"\((\d+\.\d+(?:, \d+\.\d+)*)\)", text)
    wrong += {number for cited in lists for number in re.findall(r"\d+(?:\.\d+)?", cited)} - SECTIONS
    wrong += [f"rule {n}" for n in re.findall(r"\barchitecture\.md, rule (\d+)", text) if n not in RULES]
    wrong += [n for n in re.findall(r"\bdecisions?/? ?(\d{4})\b", text) if n not in DECISIONS]
    return wrong + re.findall(r"\b(?:durability|recall|benchmarks|cli|api)\.md,? [HIS]?\d[\d.]*", text)  # these have no numbers


def test_sources_cite_only_what_is_there():
    assert {"3", "3.13", "8.2"} <= SECTIONS
    assert {path.relative_to(ROOT).as_posix(): wrong for path in CITING if (wrong := absent(path))} == {}


def _without_code(text: str) -> str:
    """The page without its fenced and indented blocks."""
    return re.sub(r"^```.*?^```$|^    .*$", "", text, flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of the page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_decision_docs_are_few_numbered_without_gaps_and_short():
    pages = sorted(path for path in (ROOT / "docs/decisions").glob("*.md") if path.name != "README.md")
    assert len(pages) <= 35
    assert [path.name[:4] for path in pages] == [f"{n:04}" for n in range(96, 96 + len(pages))]  # those before were joined
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {path.name[:4]} ")
        assert re.findall(r"^\*\*(\w+)\.\*\* ", text, re.MULTILINE) == ["Context", "Decision", "Consequence"]
        assert len(text.split()) < 300


def test_architecture_docs_name_exactly_the_existing_packages():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)
    assert sorted(named) == sorted(path.parent.name for path in (ROOT / "supervisor").glob("*/__init__.py"))
    modules = {path.name for path in (ROOT / "supervisor").glob("*.py") if path.name != "__init__.py"}
    assert [name for name in modules if f"`{name}`" not in text] == []


def test_architecture_picture_is_the_one_that_the_imports_make():
    printed = subprocess.run([ROOT / "script/imports", "--print"], check=True, capture_output=True, text=True).stdout
    assert printed == (ROOT / "docs/architecture.svg").read_text(encoding="utf-8"), "make it again: script/imports"


def test_pre_commit_runs_exactly_the_tools_of_the_lint_script():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    lint = re.findall(r'^"\$bin/(\S+)" (.*?)\.?(?: *\|\|)', (ROOT / "script/lint").read_text(encoding="utf-8"), re.MULTILINE)
    assert [hook["entry"] for hook in hooks] == [f".venv/bin/{tool} {words}".strip() for tool, words in lint]


def test_docs_name_only_existing_modules():
    folders = ("supervisor", "worker", "prompts", "recalld", "tests", "bench")
    there = [f"/{path.relative_to(ROOT).as_posix()}" for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for page in PAGES:
        if page.name == "CHANGELOG.md" or page.parent.name == "decisions":
            continue  # they tell of what was
        named = set(re.findall(r"`([\w/]+\.py)", page.read_text(encoding="utf-8")))
        assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == [], page


def test_docs_name_only_existing_tests():
    source = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    defined = set(re.findall(r"def (test_\w+)\(", "\n".join(source.values())))
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    files, names = set(re.findall(r"`(tests/\S+\.py)", text)), set(re.findall(r"`(test_\w+)`", text))
    assert files
    assert names
    assert files <= set(source)
    assert names <= defined


def test_durability_docs_name_only_existing_mutants_and_workloads():
    durability = (ROOT / "docs/explanation/durability.md").read_text(encoding="utf-8")
    hazards = durability.partition("## Hazards")[2].partition("\n## ")[0]
    crash = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/crash").glob("*.py"))
    lists = re.findall(r"mutants?: ([^·|]+)", hazards)
    assert lists
    assert [name for names in lists for name in names.strip().split(", ") if f'"{name}"' not in crash] == []
    said = " ".join(re.findall(r"crash: ([^·|]+)", hazards))
    workloads = set(re.findall(r"\b[A-Z][A-Za-z]+\b", said))
    assert workloads
    assert {name for name in workloads if f"class {name}(" not in crash} == set()


# ── the items of features.md and their tests ─────────────────────────────────


ITEMS: Final = {"000": 53, "001": 13, "002": 8, "003": 33, "004": 13}
NUMBERS: Final = [f"{page}.{item}" for page, items in ITEMS.items() for item in range(1, items + 1)]
ROWS: Final = re.findall(r"^\| (\d{3}\.\d+) \|.*\| (.*) \|$", (ROOT / "docs/features.md").read_text(), re.MULTILINE)


def test_features_page_has_every_item_once_in_order():
    assert [number for number, _ in ROWS] == NUMBERS


def test_features_are_each_carried_by_a_test():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    marks = re.findall(r"^@pytest\.mark\.feature\(([^)]+)\)$", tests, re.MULTILINE)
    assert {number for mark in marks for number in re.findall(r"\d{3}\.\d+", mark)} == set(NUMBERS)


def test_features_page_names_files_that_are_there():
    places = {place for _, where in ROWS for place in re.findall(r"`([^`]+)`", where)}
    homes = (ROOT, ROOT / "supervisor")
    assert places
    assert not [place for place in places if not any((home / place).exists() for home in homes)]


# ── the two READMEs, whose examples test_examples.py runs ────────────────────


ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
BOTH = pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])


def commands(text: str) -> list[str]:
    """The commands that the page shows, their words left out."""
    lines = re.findall(r"^(?:\$ )?((?:recalld -w|script/).*)$", text, re.MULTILINE)
    return [re.sub(r'"[^"]*"|\s*#.*', "", line).strip() for line in lines]


def links(text: str) -> list[str]:
    """The pages that the page links to, in their order; a page and its Chinese version are one, with other headings."""
    return [link.replace(".zh-CN", "").partition("#")[0] for link in re.findall(r"\]\((?!README)([^)]+)\)", text)]


def test_readmes_show_the_same_commands_sections_and_links():
    assert commands(ENGLISH) == commands(CHINESE) != []
    shape = re.compile(r"^(#+|    [├└│]|\* |```\w*|    )", re.MULTILINE)
    assert shape.findall(ENGLISH) == shape.findall(CHINESE)
    assert links(ENGLISH) == links(CHINESE) != []


def test_chinese_pages_link_to_the_chinese_version_where_there_is_one():
    for page in (ROOT / "README.zh-CN.md", *ROOT.glob("docs/**/*.zh-CN.md")):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+\.md)\)", text):
            chinese = link.removesuffix(".md") + ".zh-CN.md"
            own = page.name.replace(".zh-CN", "")
            assert link.endswith((".zh-CN.md", own)) or not (page.parent / chinese).exists(), (page, link)


@BOTH
def test_readme_names_only_existing_commands_and_scripts(text):
    lines = "\n".join([*commands(text), *re.findall(r"`([^`\n]+)`", text)])
    named = set(re.findall(r"\brecalld (?:-w \S+ )?([a-z]+)\b", lines))
    assert named
    assert named <= set(main.COMMAND_LINE.commands)
    scripts = set(re.findall(r"\b(script/\w+)", text))
    assert scripts
    assert all(os.access(ROOT / script, os.X_OK) for script in scripts)


def test_protocol_tree_shows_everything_in_a_workspace(tmp_path):
    from recalld.supervisor.protocol.config import make_workspace
    from recalld.supervisor.workspace import open_workspace

    make_workspace(tmp_path, {})
    open_workspace(tmp_path, {}, None).prepare()
    page = (ROOT / "docs/reference/protocol.md").read_text(encoding="utf-8")
    tree = page.partition("    workspace/\n")[2].partition("\n\n")[0]
    named = [name.rstrip("/").partition("/")[0] for name in re.findall(r"^    [├└]── (\S+)", tree, re.MULTILINE)]
    assert set(os.listdir(tmp_path)) - set(named) == set()


@pytest.mark.proof
@pytest.mark.skipif(sys.prefix != str(ROOT / ".venv"), reason="the demo would install what it needs")
def test_demo_fits_two_screens_in_the_language_of_the_terminal():
    shown = {}
    for locale in ("en_GB.UTF-8", "zh_CN.UTF-8"):
        environ = os.environ | {"LC_ALL": locale}
        demo = subprocess.run([ROOT / "script/demo"], env=environ, capture_output=True, text=True, check=True)
        shown[locale[:2]] = demo.stdout
        assert len(demo.stdout.splitlines()) <= 60
        assert len(re.findall(r"^\[memory/\S+#L[\dL,-]+\]", demo.stdout, re.MULTILINE)) == 3, "each question is answered"
    headings = {language: re.findall("^── (.*) ──$", text, re.MULTILINE) for language, text in shown.items()}
    assert len(headings["en"]) == len(headings["zh"]) == 5
    assert all(heading.isascii() for heading in headings["en"])
    assert not any(re.search("[a-z]{4,} [a-z]", heading) for heading in headings["zh"])
