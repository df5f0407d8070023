"""The command line as processes: exit codes, output and errors, in any locale, into any kind of output."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from recalld.supervisor.checks.units import BACKUP, SERVICE, Backups, Installation
from recalld.supervisor.interfaces.cli.output import as_json, as_line
from recalld.supervisor.text.printable import printable
from tests.process.command import Command, Ended, ended
from tests.process.conftest import NOW

pytestmark = pytest.mark.proof

C_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def is_one_sentence(text: str) -> bool:
    """Whether that is all that a person should see of an error."""
    return bool(re.fullmatch(r"recalld(?: worker)?: [^\n]+[.`]\n", text)) and "Traceback" not in text


# ── what is stored, on a terminal ────────────────────────────────────────────

#: It writes the clipboard, clears the screen with one character of C1, and turns what follows around.
STEERING = "\x1b]52;c;cm0gLXJmIH4=\x07 \x9b2J \u202egnp.exe \ud83d"


def test_events_print_nothing_that_steers_a_terminal():
    event = {"ts": "2026-01-31T08:00:00.000Z", "event": "degraded", "why": f"花生 {STEERING} \x7f"}
    assert printable(as_line(event)) == as_line(event)
    assert printable(as_json(event)) == as_json(event)
    assert json.loads(as_json(event)) == event


def test_commands_print_nothing_that_steers_a_terminal(recalld: Command):
    said = {"id": f"m1{STEERING}", "role": "user", "text": f"我对花生过敏 {STEERING}", "session": f"web{STEERING}"}
    assert recalld("append", "--jsonl", stdin=json.dumps(said)).code == 0
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    note = recalld.root / "memory" / "2026-01-30-\x1b[2J.md"
    note.write_bytes(f"- 花生酱 {STEERING}\n".encode("utf-8", "replace"))
    dated = next(recalld.root.glob("memory/2026-01-31-*.md"))
    for command in (
        ("inject", "--query", f"花生 {STEERING}".encode("utf-8", "replace").decode()),
        ("context", "--query", "花生", "--system", "\x1b[2J"),
        ("context", "--query", "花生", "--text", "--system", "\x1b[2J"),
        ("search", "花生"),
        ("get", f"memory/{note.name}"),
        ("get", f"memory/{dated.name}"),
        ("get", "memory/\x1b[2J.md"),
        ("why",),
        ("why", "--replay"),
        ("status",),
        ("plan",),
        ("fsck",),
    ):
        for more in ((), ("--json",)):
            done = recalld(*command, *more)
            assert (done.out + done.err).strip(), command
            assert printable(done.out + done.err) == done.out + done.err, command
            assert "Traceback" not in done.err, command
    assert json.loads(recalld("get", f"memory/{note.name}", "--json").out)["text"] in note.read_text("utf-8")


# ── what is told to people ───────────────────────────────────────────────────


def test_status_begins_with_what_is_wrong_and_exits_65(recalld: Command):
    assert recalld("append", "--role", "user", "--text", "明天备份").code == 0
    well = recalld("status")
    starts = f"`recalld -w '{recalld.root}' run` starts one."
    assert (well.code, well.out.splitlines()[0]) == (0, f"all is well; no supervisor runs, {starts}")
    (recalld.root / "history.json").write_bytes(b"[{")
    wrong = recalld("status")
    assert (wrong.code, wrong.err) == (65, "")
    assert wrong.out.startswith(
        f"history.json can't be read: it is not JSON at line 1, column 3; `recalld -w '{recalld.root}' restore` puts"
    )
    assert json.loads(recalld("status", "--json").out)["trouble"]
    assert recalld("restore").code == 0
    assert recalld("status").out == well.out


@pytest.mark.parametrize(("language", "said"), [("en", "could not be read"), ("zh", "读不出来")])
def test_restore_exits_65_until_a_person_ends_what_it_could_not_read(recalld: Command, language: str, said: str):
    recalld("init")
    recalld.environ["RECALLD_LANGUAGE"] = language
    told = [
        {"id": f"木{n}", "role": "user", "text": f"第 {n} 块木板", "createdAt": f"2026-01-28T09:0{n}:00Z"} for n in range(4)
    ]
    broken = json.dumps(told, ensure_ascii=False).replace('第 2 块木板"', "第 2 块木板")
    (recalld.root / "history.json").write_text(broken, encoding="utf-8")
    done = recalld("restore")
    assert (done.code, said in done.err) == (65, True)
    (name,) = re.findall(r"--give-up (history\.json\.[0-9a-f]{12})", done.err)
    kept = recalld.root / ".recalld" / "quarantine" / name
    assert recalld("restore", "--give-up", name, "--from", str(kept)).code == 65
    assert name in recalld("status").out
    mended = recalld.root.parent / "mended.json"
    mended.write_text(json.dumps(told), encoding="utf-8")
    assert recalld("restore", "--give-up", name, "--from", str(mended)).code == 0
    assert name not in recalld("status").out
    assert recalld("restore", "--give-up", name).code == 64
    assert {one["id"] for one in json.loads((recalld.root / "history.json").read_bytes())} == {"木0", "木1", "木2", "木3"}


@pytest.mark.parametrize(("language", "said"), [("en", "nothing was restored"), ("zh", "什么都没有恢复")])
def test_restore_exits_65_and_names_what_helps_where_it_restores_nothing(recalld: Command, language: str, said: str):
    recalld("init")
    recalld.environ["RECALLD_LANGUAGE"] = language
    history = recalld.root / "history.json"
    told = '[{"id": "木1", "role": "user", "text": "第一块木板已经锯好了", "createdAt": "2026-01-28T09:00:00Z"}]'.encode("gbk")
    history.write_bytes(told)
    done = recalld("restore")
    (command,) = re.findall(r"`(iconv [^`]+)`", done.err)
    assert (done.code, said in done.err, history.read_bytes()) == (65, True, told)
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert recalld("restore").code == 0
    assert recalld("search", "木板").code == 0


def test_sentences_name_commands_as_they_must_be_typed(recalld: Command, tmp_path: Path):
    def first(*words: str, **environ: str) -> str:
        return ended(recalld.start(*words, **environ)).out.splitlines()[0]

    home = {"HOME": str(tmp_path)}
    mine, quoted = tmp_path / "我的 记忆", "~/'我的 记忆'"
    assert ended(recalld.start("init", "-w", str(mine))).code == 0
    for words in (("-w", str(mine), "status"), ("status", "--workspace", str(mine))):
        assert first(*words, **home) == f"all is well; no supervisor runs, `recalld -w {quoted} run` starts one."
    assert first("-w", str(mine), "status").endswith(f", `recalld -w '{mine}' run` starts one.")
    assert first("status", RECALLD_WORKSPACE=str(mine)) == "all is well; no supervisor runs, `recalld run` starts one."
    assert first("-w", str(mine), "status", **home, RECALLD_LANGUAGE="zh").endswith(f"用 `recalld -w {quoted} run` 启动。")
    (mine / "history.json").write_bytes(b"[{")
    archive = ended(recalld.start("-w", str(mine), "archive", **home))
    assert (archive.code, f"; `recalld -w {quoted} restore` puts it together again; it was not" in archive.err) == (65, True)
    nowhere = ended(recalld.start("-w", str(tmp_path / "nowhere"), "status"))
    assert nowhere.err.endswith(f"make it with `recalld init -w {tmp_path}/nowhere`.\n")


def test_commands_speak_the_language_of_the_locale_beside_a_chinese_memory(talked: Command):
    for locale, well, usage, end in (("C.UTF-8", "all is well", "Usage:", "."), ("zh_CN.UTF-8", "一切正常；", "用法：", "。")):
        auto = {"LC_ALL": locale, "RECALLD_LANGUAGE": "auto"}
        assert talked("status", **auto).out.startswith(well)
        assert talked("search", "--help", **auto).out.strip().startswith(usage)
        for wrong in (["serach"], ["search", "peanuts", "--limit", "0"]):
            assert talked(*wrong, **auto).err.endswith(f"{end}\n")


@pytest.mark.parametrize("words", [["serach"], ["search", "虾", "--limit", "0"], ["--now", "foo", "status"], ["status"]])
def test_commands_are_refused_in_the_language_of_a_wrong_configuration(recalld: Command, words: list[str]):
    wrong = 'language = "{}"\n[recall]\nmax_hit = 3\n'
    for language in ("zh", "en"):
        (recalld.root / "recalld.toml").write_text(wrong.format(language))
        said = recalld(*words, LC_ALL="C.UTF-8", RECALLD_LANGUAGE="").err
        assert bool(re.search("[\u4e00-\u9fff].*。$", said)) == (language == "zh"), said


def test_cli_names_a_workspace_that_is_a_file(recalld: Command, tmp_path: Path):
    (tmp_path / "notes.md").write_text("笔记")
    told = recalld("-w", str(tmp_path / "notes.md"), "status")
    assert told.err == f"recalld: --workspace: {tmp_path}/notes.md is a file, not a folder.\n"
    assert told.code == 64


def test_status_and_plan_tell_local_times_and_their_json_utc(talked: Command):
    talked("append", "--role", "user", "--text", "虾也不行。", "--at", "2026-01-31T09:15:30+08:00")
    told = {command: talked(command).out for command in ("status", "plan")}
    assert re.search(r"^oldest not filed +2026-01-31 09:15 Asia/Shanghai$", told["status"], re.MULTILINE)
    assert re.search(r"^now +2026-01-31 10:00 Asia/Shanghai$", told["status"], re.MULTILINE)
    for command, text in told.items():
        assert re.search(r"^next run +2026-01-31 16:00 Asia/Shanghai$", text, re.MULTILINE)
        assert not re.search(r"\dT\d\d:", text)
        assert json.loads(talked(command, "--json").out)["nextRun"] == "2026-01-31T08:00:00.000Z"


def test_search_cites_each_passage_as_get_takes_it(talked: Command):
    (one,) = [line.split()[1] for line in talked("search", "备份 上传").out.splitlines() if "上传失败" in line]
    assert re.fullmatch(r"memory/2026-01-29-\S+\.md#L\d+", one)
    assert talked("get", one).out == "备份脚本上传失败，the port is 8443\n"
    assert talked("append", "--role", "user", "--text", "先试试\n上传到新的备份盘").code == 0
    (new,) = [line.split()[1] for line in talked("search", "备份盘").out.splitlines() if "备份盘" in line]
    assert re.fullmatch(r"history\.json#\w+", new)
    assert talked("get", new).out == "先试试\n上传到新的备份盘\n"


def test_search_names_a_long_term_line_as_delete_takes_it(talked: Command):
    assert talked("write", "备份盘放在书房的抽屉里").code == 0
    hits = json.loads(talked("search", "备份盘 书房", "--json").out)
    (ref,) = [hit["ref"] for hit in hits if "ref" in hit]
    assert all(("ref" in hit) == (hit["path"] == "memory.md") for hit in hits)
    assert talked("delete", ref).code == 0
    assert "抽屉" not in talked("search", "备份盘 书房").out


# ── exit codes ───────────────────────────────────────────────────────────────

WRONG = [
    [],
    ["nothing-of-the-kind"],
    ["summary"],
    ["summary", "redo"],
    ["summary", "redo", "昨天"],
    ["summary", "redo", "2026-10"],
    ["get"],
    ["get", "memory/没有.md"],
    ["get", "../history.json"],
    ["search", "花生", "--limit", "0"],
    ["search", "花生", "--limit", "两个"],
    ["inject", "--query"],
    ["inject", "--question", "花生"],
    ["inject", "--query", "花生", "--chat", "朋友"],
    ["append", "--role", "user"],
    ["append", "--role", "user", "--text", ""],
    ["append", "--role", "user", "--text", "好", "--chat", "朋友"],
    ["append", "--role", "user", "--text", "好", "--at", "昨天"],
    ["plan", "--now", "明天"],
    ["worker", "--idle", "一会儿"],
    ["why"],
]


def test_cli_exits_64_with_one_sentence_for_a_wrong_argument(recalld):
    started = [recalld.start("-w", str(recalld.root), *words) for words in WRONG]
    found = {" ".join(words): ended(process) for words, process in zip(WRONG, started, strict=True)}

    assert {words: done.code for words, done in found.items()} == dict.fromkeys(found, 64)
    assert {words: done.out for words, done in found.items()} == dict.fromkeys(found, "")
    assert [done.err for done in found.values() if not is_one_sentence(done.err)] == []


def test_append_refuses_an_empty_text_but_not_a_picture_alone(recalld):
    for words, stdin in ((["--text="], ""), (["--text", " \n"], ""), (["--text", "-"], "\n")):
        done = recalld("append", "--role", "user", *words, stdin=stdin)
        assert (done.code, done.out) == (64, "")
        assert done.err == "recalld: --text: it is empty, and nothing was added; give the words of the message.\n"
    assert json.loads((recalld.root / "history.json").read_text(encoding="utf-8")) == []
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert recalld("append", "--jsonl", stdin=json.dumps({"role": "user", "content": [picture]})).code == 0
    assert recalld("append", "--jsonl", stdin=json.dumps({"role": "user", "text": "", "attachments": ["a.png"]})).code == 0


@pytest.mark.parametrize("command", ["append --role user --text 好", "inject --query 好", "context --query 好"])
def test_commands_name_the_option_of_a_wrong_chat(recalld, command):
    done = recalld(*command.split(), "--chat", "群", RECALLD_LANGUAGE="zh")
    assert (done.code, done.err) == (64, "recalld: --chat：'群' 不是 direct、group 或 channel。\n")


@pytest.mark.parametrize("role", ["usr", "boss", "老板"])
def test_append_refuses_a_role_that_there_is_not_but_in_lines(recalld, role):
    done = recalld("append", "--role", role, "--text", "猫叫年糕", RECALLD_LANGUAGE="zh")
    assert (done.code, done.out) == (64, "")
    assert done.err == f"recalld: --role：没有 '{role}' 这个角色；请用 user、assistant、system 或 tool。\n"
    assert recalld("append", "--role", "用户", "--text", "猫叫年糕").code == 0
    done = recalld("append", "--jsonl", stdin=json.dumps({"id": "m1", "role": role, "text": "猫叫年糕"}))
    assert (done.code, done.out, done.err) == (0, "m1\n", "")


def test_append_tells_of_a_time_that_is_not_believed(recalld):
    for at, why in (
        ("昨天", "is no time; write it like"),
        ("11/10/2025", "may be 2025-10-11 or 2025-11-10; write"),
        ("2099-01-01", "is too far ahead, see archive.future_limit"),
    ):
        done = recalld("append", "--role", "user", "--text", "猫叫年糕", "--at", at)
        assert (done.code, done.out) == (64, "")
        assert done.err.startswith(f"recalld: --at: '{at}' {why}")
    line = json.dumps({"id": "m1", "role": "user", "text": "猫叫年糕", "createdAt": "nope"})
    done = recalld("append", "--jsonl", stdin=line)
    assert (done.code, done.out) == (0, "m1\n")
    assert done.err.startswith("recalld: line 1 was added with the present time: 'nope' is no time; ")
    assert '"time_odd"' in (recalld.root / "log.jsonl").read_text(encoding="utf-8")


def test_append_jsonl_adds_what_it_can_and_exits_65_after_a_bad_line(recalld):
    good = {"role": "user", "text": "猫叫年糕", "id": "m1"}
    lines = [json.dumps(good), "猫", json.dumps({"role": "user"}), json.dumps({**good, "id": "m2"})]
    done = recalld("append", "--jsonl", stdin="\n".join(lines))
    assert (done.code, done.out.split()) == (65, ["m1", "m2"])
    assert done.err.splitlines() == [
        "recalld: line 2 was left out: it is not JSON at column 1.",
        "recalld: line 3 was left out: it has no text.",
    ]
    assert recalld("append", "--jsonl", stdin=json.dumps(good)).code == 0
    assert [raw["id"] for raw in json.loads((recalld.root / "history.json").read_bytes())] == ["m1", "m2"]


def test_cli_exits_64_and_suggests_init_for_a_missing_workspace(recalld, tmp_path):
    done = ended(recalld.start("-w", str(tmp_path / "没有"), "status"))

    assert done.code == 64
    assert is_one_sentence(done.err)
    assert "recalld init" in done.err


def test_fsck_exits_65_when_a_dated_file_is_lost(talked):
    for path in (talked.root / "memory").glob("2026-01-29-*.md"):
        path.unlink()
    for path in (talked.root / "history.json", talked.root / "history.json.bak"):
        path.write_text("[]")

    done = talked("fsck", "--json")

    assert done.code == 65
    assert json.loads(done.out)["lost"] != []


@pytest.mark.parametrize(
    ("language", "begins"),
    [
        (
            "en",
            "recalld: no summary was written: the server can't be reached: 没有 at http://127.0.0.1:9; the model is not asked",
        ),
        ("zh", "recalld: 没有写出摘要：连不上服务器：http://127.0.0.1:9 上的 没有；"),
    ],
    ids=["en", "zh"],
)
def test_run_exits_69_and_says_that_the_model_is_unreachable(talked, language, begins):
    model = {"RECALLD_LLM_BASE_URL": "http://127.0.0.1:9/v1", "RECALLD_LLM_MODEL": "没有", "RECALLD_SUMMARIZE_LEAST": "0"}
    done = talked("run", "--until-settled", **model, RECALLD_LANGUAGE=language)

    assert (done.code, done.err.count("\n")) == (69, 1)
    assert done.err.startswith(begins)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("path", ["memory/长长的笔记.md", "memory/short.md"])
def test_get_exits_74_when_the_output_is_a_full_disk(talked, path):
    with Path("/dev/full").open("w") as full:
        done = ended(talked.start("-w", str(talked.root), "get", path, stdout=full.fileno()))

    assert done.code == 74
    assert is_one_sentence(done.err)


@pytest.mark.parametrize("command", [["plan"], ["plan", "--at", "9999-12-31"], ["run", "--until-settled"], ["status"]])
def test_commands_refuse_a_clock_at_the_end_of_the_calendar(talked, command):
    done = talked(*command, "--now", "9999-12-31")
    assert (done.code, done.out) == (64, "")
    assert is_one_sentence(done.err)


def test_run_exits_75_when_a_supervisor_is_already_running(talked):
    with talked.supervised() as first:
        done = talked("run")

        assert done.code == 75
        assert is_one_sentence(done.err)
        assert first.poll() is None
    assert first.returncode == 0


@pytest.mark.parametrize("command", [["append", "--role", "user", "--text", "我对花生过敏。"], ["worker", "--idle", "0"]])
def test_command_exits_77_when_the_folder_is_not_writable(recalld, command):
    as_somebody: list[str] = []
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may write everywhere, and there is no setpriv to take that away")
        as_somebody = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    locked = [recalld.root, recalld.root / ".recalld"]
    for path in locked:
        path.chmod(0o500)
    try:
        done = ended(recalld.start("-w", str(recalld.root), *command, before=as_somebody))
    finally:
        for path in locked:
            path.chmod(0o700)

    assert done.code == 77
    assert is_one_sentence(done.err)


@pytest.mark.parametrize(
    "change", [{"RECALLD_RECALL_MAX_HITS": "很多"}, {"RECALLD_RECALL_MAXHITS": "3"}, {"RECALLD_LANGUAGE": "latin"}]
)
def test_cli_exits_78_for_a_wrong_configuration(recalld, change):
    done = recalld("search", "花生", **change)

    assert done.code == 78
    assert is_one_sentence(done.err)


def test_run_exits_78_for_a_workspace_of_a_newer_version(talked):
    path = next((talked.root / "memory").glob("2026-01-20-*.md"))
    path.write_text(path.read_text(encoding="utf-8").replace("recalld: 1", "recalld: 99"), encoding="utf-8")

    done = talked("run", "--until-settled", "--no-worker")

    assert done.code == 78
    assert is_one_sentence(done.err)


# ── --json ───────────────────────────────────────────────────────────────────


def test_init_lists_links_without_following_them(recalld):
    notes = recalld.root / "memory" / "笔记"
    notes.mkdir()
    (notes / "再来.md").write_text("一", encoding="utf-8")
    for name in ("回去", "再回去"):  # each level would have both again: the walk would be practically endless
        (notes / name).symlink_to(recalld.root)
    done = recalld("init")
    assert done.code == 0
    assert (done.out.count("再来.md"), done.out.count("回去")) == (1, 2)


def test_index_commands_report_contents_and_differences(recalld):
    assert recalld("init").code == 0
    note = recalld.root / "memory" / "想法.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("- 买一台电钢琴\n- 学骑马\n", encoding="utf-8")
    (recalld.root / "memory.md").write_text("2026-01-20|聊天|用户对榛子过敏\n", encoding="utf-8")
    assert "as they are now: 2; the next question takes them in" in recalld("index", "status").out
    made = json.loads(recalld("index", "rebuild", "--json").out)
    assert {key: made[key] for key in ("read", "files", "units", "rebuilt")} == {
        "read": 2,
        "files": 2,
        "units": 3,
        "rebuilt": True,
    }
    found = json.loads(recalld("index", "status", "--json").out)
    assert found == {"files": 2, "units": 3, "bytes": made["bytes"], "differing": 0}
    assert found["bytes"] > 1000
    os.utime(note, ns=(0, 0))
    assert "up to date" in recalld("index", "status").out
    note.write_text("- 买一台古筝\n", encoding="utf-8")
    assert "as they are now: 1; the next" in recalld("index", "status").out
    said = recalld("index", "rebuild").out
    assert [line.split() for line in said.splitlines()][:2] == [["files", "2"], ["units", "2"]]
    assert not (recalld.root / "log.jsonl").exists()


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", r"the index is being made and has \d+ % of memory"), ("zh", r"索引还在建立，目前有 \d+% 的记忆")],
)
def test_questions_say_how_far_the_index_is_until_it_is_whole(recalld, language, told):
    assert recalld("init").code == 0
    (recalld.root / "memory/小说.md").write_text("".join(f"- 第 {n} 章讲电钢琴\n" for n in range(5000)), encoding="utf-8")
    asked_in = {"RECALLD_RECALL_TIMEOUT_MS": "10", "RECALLD_LANGUAGE": language}
    for words in (["search", "电钢琴"], ["inject", "--query", "电钢琴"], ["context", "--query", "电钢琴"]):
        asked = recalld(*words, **asked_in)
        assert (asked.code, asked.err.count("\n")) == (0, 1)
        assert re.search(told, asked.err)
    assert re.search(told, json.loads(recalld("inject", "--query", "电钢琴", "--json", **asked_in).out)["unsearched"])
    assert recalld("run", "--until-settled", "--no-worker").code == 0
    assert recalld("search", "4999").err == ""
    assert json.loads(recalld("index", "status", "--json").out)["units"] == 5000


def test_why_json_has_its_time_in_wire_format(talked):
    talked("inject", "--query", "花生过敏")

    at = json.loads(talked("why", "--json").out)["at"]

    assert re.fullmatch(r"2026-01-31T02:00:00\.000Z", at)


# ── arguments, clock, output ─────────────────────────────────────────────────


def test_cli_accepts_options_before_and_after_the_command(talked):
    here = str(talked.root)
    ways = [
        ["-w", here, "search", "花生过敏"],
        ["search", "花生过敏", "-w", here],
        ["search", f"-w{here}", "花生过敏"],
        ["search", f"--workspace={talked.root.name}", "--", "花生过敏"],
        ["-w", "elsewhere", "search", "花生过敏", "--workspace", here],
    ]
    alone = [ended(talked.start(*words)) for words in ways]
    by_variable = ended(talked.start("search", "花生过敏", RECALLD_WORKSPACE=here))
    with talked.supervised():
        served = [ended(talked.start(*words)) for words in ways]

    assert alone[0].out
    assert {*alone, *served, by_variable} == {Ended(0, alone[0].out, "")}


def test_cli_never_asks_the_supervisor_of_another_workspace(talked, tmp_path):
    other = Command(tmp_path / "另一个", RECALLD_NOW=NOW)
    other("init")
    with talked.supervised():
        ways = [
            [f"-w{other.root}", "search", "花生过敏"],
            ["-w", str(talked.root), "search", "花生过敏", "-w", str(other.root)],
        ]
        found = [ended(talked.start(*words)) for words in ways]

    assert [(one.code, one.out, "empty" in one.err) for one in found] == [(0, "", True)] * 2


def test_cli_takes_the_time_from_option_now_before_recalld_now(recalld):
    def planned(*words: str, **environ: str) -> datetime:
        return datetime.fromisoformat(json.loads(recalld("plan", "--json", *words, **environ).out)["at"])

    assert planned() == datetime.fromisoformat(NOW)
    assert planned(RECALLD_NOW="2027-02-03T04:05:06Z") == datetime.fromisoformat("2027-02-03T04:05:06Z")
    assert planned("--now", "2028-01-01T00:00:00Z") == datetime.fromisoformat("2028-01-01T00:00:00Z")


def test_cli_exits_0_when_the_reader_of_the_pipe_is_gone(talked):
    def unread(*words: str, **environ: str) -> Ended:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return ended(talked.start("-w", str(talked.root), *words, stdout=writer, **environ))
        finally:
            os.close(writer)

    ways = [["get", "memory/长长的笔记.md"], ["status"], ["search", "花生过敏"]]
    alone = [unread(*words) for words in ways]
    unbuffered = [unread(*ways[0], PYTHONUNBUFFERED="1")]
    with talked.supervised():
        served = [unread(*words) for words in ways]

    assert alone + unbuffered + served == [Ended(0, "", "")] * 7


def test_cli_exits_0_when_the_output_is_closed(talked):
    def closed(*words: str) -> Ended:
        shell = ["sh", "-c", 'exec "$@" >&-', "sh"]
        return ended(talked.start("-w", str(talked.root), *words, before=shell))

    alone = closed("search", "花生过敏")
    with talked.supervised():
        served = closed("search", "花生过敏")

    assert [alone, served] == [Ended(0, "", "")] * 2


def test_cli_reads_and_prints_chinese_in_a_c_locale(talked):
    alone = [talked("search", "花生过敏", **C_LOCALE), talked("get", "memory/长长的笔记.md", "--lines", "1", **C_LOCALE)]
    with talked.supervised():
        served = [talked("search", "花生过敏", **C_LOCALE), talked("get", "memory/长长的笔记.md", "--lines", "1", **C_LOCALE)]

    assert "我对花生过敏" in alone[0].out
    assert alone[1] == Ended(0, "我喜欢 tuna。\n", "")
    assert served == alone


def test_append_stores_chinese_exactly_in_a_c_locale(recalld):
    recalld("append", "--role", "user", "--text", "我对花生过敏。", **C_LOCALE)
    recalld("append", "--role", "user", "--text", "-", stdin="备份失败。", **C_LOCALE)

    texts = [message["text"] for message in json.loads((recalld.root / "history.json").read_bytes())]
    assert texts == ["我对花生过敏。", "备份失败。"]


def test_search_prints_a_lone_surrogate_as_its_escape(recalld):
    said = {"role": "user", "text": "我的猫叫小白 \ud83d，爱吃 tuna", "createdAt": "2026-01-30T10:00:00+08:00"}
    recalld("append", "--jsonl", stdin=json.dumps(said))
    recalld("run", "--until-settled", "--no-worker")

    text = recalld("search", "小白")
    hits = recalld("search", "小白", "--json")

    assert (text.code, hits.code) == (0, 0)
    assert "\\ud83d" in text.out
    assert "小白" in json.loads(hits.out)[0]["snippet"]


def test_cli_prints_the_version_without_a_workspace(tmp_path):
    done = ended(Command(tmp_path / "没有").start("--version"))

    assert done.code == 0
    assert re.fullmatch(r"recalld \d+\.\d+\.\d+\S*\n", done.out)


def test_cli_prints_help_as_plain_text(tmp_path):
    words: list[list[str]] = [[], ["search"], ["summary", "redo"]]
    command = Command(tmp_path / "没有", COLUMNS="200")
    started = [command.start(*one, "--help") for one in words]
    found = [ended(process) for process in started]

    assert [done.code for done in found] == [0] * len(found)
    assert [one for one, done in zip(words, found, strict=True) if "--workspace" not in done.out or "\x1b" in done.out] == []


@pytest.mark.parametrize("kilobytes", [200_000, 400_000])
def test_inject_answers_where_memory_is_limited(recalld, kilobytes):
    """The index's library would end the process; memory is searched without it, and that is told once."""
    (recalld.root / "memory/家.md").write_text("我对花生过敏，点外卖要备注。\n", encoding="utf-8")
    limited = ("bash", "-c", f'ulimit -v {kilobytes} && exec "$@"', "bash")
    for _ in range(2):
        done = ended(recalld.start("inject", "-w", str(recalld.root), "--query", "花生过敏", before=limited))
        assert (done.code, done.err) == (0, "")
        assert "点外卖要备注" in done.out
    told = [json.loads(line) for line in (recalld.root / "log.jsonl").read_text().splitlines()]
    assert [(one["event"], one["why"].partition(" for ")[0]) for one in told] == [
        ("degraded", "ulimit -v: it leaves too little memory")
    ]
    done = ended(recalld.start("index", "rebuild", "-w", str(recalld.root), before=limited))
    assert (done.code, done.err.count("\n")) == (78, 1)
    assert "ulimit -v: it leaves too little memory for" in done.err


# ── the service ──────────────────────────────────────────────────────────────


@pytest.mark.skipif(os.path.isdir("/run/systemd/system"), reason="systemd runs here")
@pytest.mark.parametrize("words", ["install --no-linger", "uninstall", "status", "install --system root"])
def test_service_without_systemd_is_one_sentence_and_changes_nothing(recalld, words, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    done = recalld("service", *words.split(), HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert done.code == 69
    assert is_one_sentence(done.err)
    assert done.out == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_service_install_refuses_a_name_that_no_unit_can_hold(tmp_path):
    made = Command.made(tmp_path / "两\n行", RECALLD_NOW=NOW)
    done = made("service", "install", "--dry-run")
    assert (done.code, is_one_sentence(done.err)) == (64, True)


def test_service_install_dry_run_shows_everything_and_changes_nothing(recalld, tmp_path):
    before, elsewhere = sorted(tmp_path.rglob("*")), Path("/nowhere/记忆 1")
    done = recalld("service", "install", "--dry-run", "--system", "root", "-w", str(elsewhere))
    assert done.code == 0
    assert f'ReadWritePaths=-"{elsewhere}"' in done.out
    assert done.out.splitlines()[-1] == "systemctl --no-pager restart recalld@root.service recalld-fsck@root.timer"
    assert (sorted(tmp_path.rglob("*")), elsewhere.parent.exists()) == (before, False)


@pytest.mark.parametrize(
    "words", ["--system root -w /tmp/memory", "--system root -w /srv/m --backup-to /tmp", "--backup-to /srv/b --no-backup"]
)
def test_service_install_refuses_what_could_not_run(recalld, words):
    done = recalld("service", "install", "--dry-run", *words.split())
    assert (done.code, done.out, is_one_sentence(done.err)) == (64, "", True)


def test_service_install_dry_run_shows_what_stays_of_before(recalld, tmp_path):
    folder = tmp_path / "config" / "systemd" / "user"
    folder.mkdir(parents=True)
    before = Installation(recalld.root, key=tmp_path / "key", backups=Backups(tmp_path / "备份", 14)).units()
    for name, data in before.items():
        (folder / name).write_bytes(data)
    done = recalld("service", "install", "--dry-run", "--json", XDG_CONFIG_HOME=str(tmp_path / "config"))
    units = json.loads(done.out)["units"]
    assert set(units) == {str(folder / name) for name in before}
    assert f"LoadCredential=recalld-api-key:{tmp_path / 'key'}" in units[str(folder / SERVICE)]
    assert "--keep 14" in units[str(folder / BACKUP)]


def test_service_install_dry_run_goes_by_a_link_that_force_replaces(recalld, tmp_path):
    folder = tmp_path / "config" / "systemd" / "user"
    folder.mkdir(parents=True)
    (folder / SERVICE).symlink_to("/dev/null")  # `systemctl mask`
    done = recalld("service", "install", "--force", "--dry-run", XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert (done.code, done.err) == (0, "")


def test_check_of_a_service_that_is_down_waits_for_no_quiet_hours(recalld):
    config = recalld.root / "recalld.toml"
    config.write_text(f'{config.read_text("utf-8")}\n[care]\nquiet_hours = "00:00-23:59"\n', "utf-8")
    down = {"MONITOR_UNIT": "recalld.service", "MONITOR_SERVICE_RESULT": "watchdog"}
    done = recalld("fsck", "--report", RECALLD_NOW="", **down)
    assert done.code == 65
    assert "recalld.service does not run: it hung" in done.err


def test_run_tells_the_journal_the_priority_of_each_event(recalld, tmp_path):
    with (tmp_path / "journal").open("w") as journal:
        found = os.fstat(journal.fileno())
        with recalld.supervised(stdout=journal, stderr=journal, JOURNAL_STREAM=f"{found.st_dev}:{found.st_ino}"):
            recalld("append", "--role", "user", "--text", "我对花生过敏")
        wrong = recalld.start(
            "-w",
            str(recalld.root),
            "run",
            stdout=journal,
            stderr=journal,
            RECALLD_RECALL_K1="x",
            JOURNAL_STREAM=f"{found.st_dev}:{found.st_ino}",
        )
        assert ended(wrong).code == 78
    lines = (tmp_path / "journal").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "<6>started"
    assert {line[:3] for line in lines[:-1]} == {"<6>"}
    assert lines[-1].startswith("<3>recalld: RECALLD_RECALL_K1")
    assert "花生" not in "".join(lines)


def test_fsck_report_keeps_what_it_found_for_status(talked):
    done = talked("fsck", "--report")
    assert (done.code, done.err, done.out) == (0, "", "every message is accounted for (3), and nothing is wrong.\n")
    assert json.loads(talked("status", "--json").out)["lastFsck"]["lost"] == 0
    next(talked.root.glob("memory/2026-01-29-*.md")).rename(talked.root / "gone")
    (talked.root / "history.json").write_text("[]", encoding="utf-8")
    done = talked("fsck", "--report", RECALLD_CARE_ON_TROUBLE='echo "$RECALLD_TROUBLE" > told')
    assert (done.code, done.out, is_one_sentence(done.err)) == (65, "", True)
    assert (talked.root.parent / "told").read_text(encoding="utf-8") == done.err.removeprefix("recalld: ")
    assert talked("status").code == 65
    (talked.root / "gone").rename(talked.root / "memory" / "2026-01-29-backup.md")
    assert talked("fsck", "--report").code == 0
    assert "all is well" in talked("status").out
