"""What commands say to people, in Chinese."""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recalld.supervisor.checks import doctor, installed, machine, systemd, troubles
from recalld.supervisor.interfaces.chinese import in_chinese
from recalld.supervisor.interfaces.cli.app import run_command
from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import commands
from recalld.supervisor.interfaces.cli.output import _HOW, _label, as_text
from recalld.supervisor.protocol import message
from recalld.supervisor.protocol.config import Config, load
from recalld.supervisor.protocol.message import InvalidEntry, read_message
from recalld.supervisor.protocol.settings import keys
from recalld.supervisor.storage import errors
from recalld.supervisor.storage.clock import why_no_instant, why_not_said_at
from recalld.worker.providers import http_errors

ROOT = Path(__file__).parents[2]
#: The errors whose parts a person may read; those of readers are told in events, which stay English.
PEOPLES = {"BadBackup", "BadConfig", "BadFile", "BadRequest", "NoPermission", "NoService", "NoSummary", "ServiceForbidden"}
HAN = re.compile("[\u4e00-\u9fff]")
BLANK_IN_CHINESE = re.compile("[\u3001-\u9fff\uff01-\uff5e] [\u3001-\u9fff\uff01-\uff5e]")


def templates(node: ast.AST) -> list[str]:
    """The sentences that an expression may be, with a field for each value in them."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(v.value if isinstance(v, ast.Constant) else f"‹{n}›" for n, v in enumerate(values))]
        case ast.IfExp(body=body, orelse=orelse):
            return [*templates(body), *templates(orelse)]
    return []


def said_by_errors() -> list[str]:
    """Every clause that the code gives to an error which a person reads."""
    found = []
    for path in sorted([*ROOT.glob("supervisor/**/*.py"), *ROOT.glob("worker/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PEOPLES:
                said = node.args[0 if node.func.id == "NoSummary" else 1 :]  # which names no file or key
                found += [text for argument in said for text in templates(argument) if " " in text]
    return sorted(set(found))


@pytest.mark.parametrize("why", said_by_errors())
def test_in_chinese_knows_every_clause_of_an_error(why):
    said = str(errors.BadRequest("--to", why.replace("‹", "«").replace("›", "»")))
    chinese = in_chinese(said)
    assert HAN.search(chinese.partition("：")[2]), chinese
    assert not re.search(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}", re.sub("`[^`]+`", "", chinese)), chinese


@pytest.mark.parametrize("allowed", sorted({key.kind.allowed for key in keys(Config()).values() if " " in key.kind.allowed}))
def test_in_chinese_knows_what_each_key_allows(allowed):
    chinese = in_chinese(f"recall.k1: 'x' is not allowed, give {allowed}.")
    assert chinese.startswith("recall.k1：不能是 'x'，请给")
    assert not re.search("[a-z]{2,} [a-z]", chinese)
    assert not BLANK_IN_CHINESE.search(chinese)


#: Files as a hurried person leaves them.
NO_TOML = {
    'language = "zh"\n[llm]\nmodel = "a"\n[llm]\n': "第 4 行又写了一遍 [llm]；请把两处的键都写到前一个下面。",
    '[llm]\nmodel = "a"\nmodel = "b"\n': "第 3 行又写了一遍 model；请只留一个。",
    "language = “zh”\n": "第 1 行第 12 列不是合法的 TOML（值写错了，文字要放在英文引号里）；请改正。",
    "language = zh\n": "第 1 行第 12 列不是合法的 TOML（值写错了，文字要放在英文引号里）；请改正。",
    'language = "zh\n': "第 1 行第 15 列不是合法的 TOML（不能有字符 '\\n'，可能是引号没有成对）；请改正。",
    'language "zh"\n': "第 1 行第 10 列不是合法的 TOML（键后面要有等号）；请改正。",
    'language = "zh" 中文\n': "第 1 行第 17 列不是合法的 TOML（值后面有多余的内容）；请改正。",
    "[llm\n": "第 1 行第 5 列不是合法的 TOML（节名后面缺 ]）；请改正。",
    "【llm】\n": "第 1 行第 1 列不是合法的 TOML（这一行既不是键，也不是节）；请改正。",
    '[archive]\nbackoff = ["10m"': "末尾不是合法的 TOML（列表缺 ]）；请改正。",
    '[llm]\nmodel = "C:\\模型"\n': "第 2 行第 14 列不是合法的 TOML（反斜杠要写两个，或改用单引号）；请改正。",
}


@pytest.mark.parametrize(("toml", "said"), NO_TOML.items())
def test_in_chinese_says_why_a_file_is_no_toml(toml, said):
    with pytest.raises(errors.BadConfig) as refused:
        load(toml.encode(), {})
    assert in_chinese(str(refused.value)) == f"recalld.toml：{said}"


def wrong_arguments() -> list[list[str]]:
    """What the parser refuses: of each command a wrong option, an argument too many or too few, and wrong values of options."""
    found = [["serach"], ["ap"], ["--nope"], ["-w"], ["--version=3", "status"], ["summary", "re"]]
    pending = [([], commands())]
    while pending:
        words, command = pending.pop()
        if below := getattr(command, "commands", None):
            pending += [([*words, name], inner) for name, inner in below.items()]
            continue
        needed = ["x" for one in command.params if one.param_type_name == "argument" and one.required]
        takes_any = any(one.nargs == -1 for one in command.params)
        found += [
            *([] if takes_any else [[*words, *needed, "x2", "x3"]]),
            [*words, "--jsno"],
            [*words, "--t"],
            *([words] if needed else []),
        ]
        for option in (one for one in command.params if one.param_type_name == "option"):
            name, values = option.opts[-1], []
            if option.is_flag:
                values = [[f"{name}=3"]]
            elif option.type.name != "text":
                least, most = getattr(option.type, "min", None), getattr(option.type, "max", None)
                limits = [str(limit) for limit in (least and least - 1, most and most + 1) if limit is not None]
                values = [[name, value] for value in (["abc", *limits] if "int" in option.type.name else [])]
            found += [[*words, *needed, *value] for value in [*values, *([] if option.is_flag else [[name]])]]
    return found


@pytest.mark.parametrize("argv", wrong_arguments(), ids=" ".join)
def test_in_chinese_knows_what_the_parser_says_of_wrong_arguments(argv, capsys, monkeypatch):
    monkeypatch.setenv("RECALLD_LANGUAGE", "zh")
    assert run_command(commands(), Call(argv)) == errors.BadRequest.exit_code
    said = capsys.readouterr().err
    assert re.fullmatch("recalld: .+[。？]用法见 `recalld --help`。\n", said)
    assert HAN.search(said.partition("用法见")[0])
    assert not re.search(r"[A-Za-z]{2,} [a-z]{2,}|吗。|[。？]。", said.replace("recalld --help", "")), said
    assert not BLANK_IN_CHINESE.search(said)
    monkeypatch.setenv("RECALLD_LANGUAGE", "en")
    run_command(commands(), Call(argv))
    assert re.fullmatch(r"recalld: [A-Z][^\n]*[^.?][.?] See `recalld --help`\.\n", capsys.readouterr().err)


@pytest.mark.parametrize("kind", message._KINDS.values())
def test_in_chinese_knows_what_a_file_holds_in_place_of_an_array(kind):
    said = in_chinese(str(errors.BadFile("history.json", f"it holds {kind}, not an array")))
    assert not re.search("[a-z] [a-z]", said.partition("：")[2])
    assert not BLANK_IN_CHINESE.search(said)


@pytest.mark.parametrize("zone", ["CST", "UTC+8", "Asia/Beijing"])
def test_in_chinese_names_each_time_zone_that_may_be_meant(zone):
    with pytest.raises(errors.BadConfig) as refused:
        load(f'[archive]\ntimezone = "{zone}"'.encode(), {})
    assert " or " in str(refused.value) or zone != "CST"
    assert " or " not in in_chinese(str(refused.value))


@pytest.mark.parametrize("how", _HOW.values())
def test_in_chinese_knows_how_a_search_ended(how):
    assert HAN.search(in_chinese(f"({how}, 0 files, 1.0 ms)").partition("，")[0])


@pytest.mark.parametrize("raw", [7, {}, {"role": "user"}, {"role": "user", "text": "好", "id": [1]}])
def test_in_chinese_knows_why_a_line_is_no_message(raw):
    entry = read_message(raw, UTC)
    assert isinstance(entry, InvalidEntry)
    chinese = in_chinese(f"line 3 was left out: {entry.why}.")
    assert chinese.startswith("第 3 行没有存入：它")
    assert not re.search(r"[a-z]{3,} [a-z]", chinese)


@pytest.mark.parametrize("time", ["昨天", "1999-01-01", "2099-01-01"])
def test_in_chinese_knows_why_a_time_is_not_believed(time):
    why = why_not_said_at(time, UTC, datetime(2026, 1, 28, tzinfo=UTC))
    chinese = in_chinese(f"line 3 was added with the present time: {why}.")
    assert chinese.startswith(f"第 3 行已存入，时间记作现在：'{time}' ")
    assert not re.search(r"[a-z]{3,} [a-z]", chinese)


def said_by_status() -> list[str]:
    """Every first line of `status`, and why a model was not asked or a summary failed."""
    found = [*troubles.REASONS.values(), *(row.error.why for row in http_errors.TABLE)]
    found += [error.why for error in vars(http_errors).values() if isinstance(error, http_errors.ServerError)]
    for node in ast.walk(ast.parse(Path(troubles.__file__).read_text(encoding="utf-8"))):
        said = [node.value] if isinstance(node, ast.Yield) else node.elts if isinstance(node, ast.List) else []
        found += [text for one in said if one for text in templates(one)]
    return sorted(text for text in set(found) if " " in text)


@pytest.mark.parametrize("said", said_by_status())
def test_in_chinese_knows_every_line_of_trouble(said):
    said = re.sub("‹[0-9]›", "«»", said)  # a field that stands twice has the same text twice
    is_clause = not said.endswith(".")
    chinese = in_chinese(f"no answer came: {said}." if is_clause else said)
    assert HAN.search(chinese.rpartition("：")[2] if is_clause else chinese), said


def said_by_doctor() -> list[str]:
    """Every sentence of `doctor`: what is odd, what is bad, what is good."""
    found = [f"{good}." for _, good, *_ in (*doctor._CHECKS, doctor.SUPERVISOR)]
    for module in (doctor, installed, machine):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"bad", "odd", "found_to_be"}:
                found += templates(node.args[0])
            if isinstance(node, ast.Return) and node.value:
                found += [text for text in templates(node.value) if text.endswith(".")]
    return sorted(text for text in found if " " in text)


@pytest.mark.parametrize("said", said_by_doctor())
def test_in_chinese_knows_every_finding_of_doctor(said):
    said = re.sub("‹[0-9]+›", "7", said)  # a name that stands twice is the same one
    chinese = in_chinese(said)
    assert HAN.search(chinese), said
    assert not re.search(r"[a-z]{3,} [a-z]{2,} [a-z]{2,}", re.sub("`.+?`", "", chinese)), chinese
    assert not BLANK_IN_CHINESE.search(chinese)


@pytest.mark.parametrize("name", ["good", "odd", "bad", doctor.SUPERVISOR[0], *(name for name, _, _ in doctor._CHECKS)])
def test_in_chinese_knows_every_check_of_doctor(name):
    assert HAN.search(in_chinese(name))


@pytest.mark.parametrize("why", [*systemd._RESULTS.values(), "it was stopped", "it ended with exit code 78"])
def test_in_chinese_knows_why_the_service_is_down(why):
    for said in (
        f"recalld.service does not run: {why}; `recalld service logs` shows what it said.",
        str(errors.NoService(why, "nothing was installed")),
    ):
        assert not re.search("[a-z]{2,} [a-z]{2,}", re.sub("`[^`]+`", "", in_chinese(said)))


@pytest.mark.parametrize(
    "said",
    [
        "recalld.service runs now, and whenever the machine starts; `recalld service status` says how it is.",
        "the service is gone; the memory is still in /home/我/记忆.",
        "the nightly check found something; `recalld status` says what.",
        "let it go on while you are not logged in?",
        "every message is accounted for (12), and nothing is wrong.",
        "the command of care.on_trouble failed: it was killed after 30 s; correct it in recalld.toml.",
    ],
)
def test_in_chinese_knows_what_the_service_commands_say(said):
    assert not re.search("[a-z]{2,} [a-z]{2,}", re.sub("`[^`]+`", "", in_chinese(said)))


def counted() -> list[str]:
    """The name of every row that a command prints for people: the keys of what it counts."""
    names: set[str] = set()
    for path in (
        *ROOT.glob("supervisor/host/*.py"),
        *ROOT.glob("supervisor/checks/*.py"),
        *ROOT.glob("supervisor/interfaces/cli/*.py"),
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant | None) for key in node.keys):
                keys = [key.value for key in node.keys if key and re.fullmatch("[a-z][a-zA-Z]+", str(key.value))]
                names |= set(keys) if path.name in COUNTING else set()
            if isinstance(node, ast.ClassDef) and node.name in {"Ledger", "Repairs", "ServiceState"}:
                names |= {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}
    return sorted({name.replace("_", " ") if "_" in name else _label(name) for name in names})


#: Modules whose tables are printed as rows; and what in them is JSON alone, or the name of an option.
COUNTING = {"status.py", "fsck.py", "service.py", "admin.py", "backup.py"}
JSON_ALONE = {"new", "id", "queued", "locked ms", "checks", "mend", "down"}


@pytest.mark.parametrize("name", [name for name in counted() if name not in JSON_ALONE])
def test_in_chinese_knows_every_row_of_what_commands_count(name):
    assert in_chinese(name) != name


@pytest.mark.parametrize("value", ["running", "not running", "extractive", "openai", "count", "interval", "overflow", "none"])
def test_in_chinese_knows_the_values_of_status_and_plan(value):
    assert HAN.search(in_chinese(value))


def damage() -> list[str]:
    """Every sentence of fsck about a file or a message."""
    found: list[str] = []
    for node in ast.walk(ast.parse((ROOT / "supervisor/checks/fsck.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("damage.append"):
            found += templates(node.args[0])
    return found


@pytest.mark.parametrize("sentence", damage())
def test_in_chinese_knows_every_sentence_of_fsck(sentence):
    said = re.sub("‹[0-9]+›", "7", sentence)  # a number that stands twice is the same one
    assert HAN.search(in_chinese(said))


def reasons() -> list[str]:
    """Every reason for which a hit is shown or left out, as receipts have it."""
    found: set[str] = set()
    for name in ("context/memory_block.py", "context/request.py"):
        tree = ast.parse((ROOT / "supervisor" / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in {"add", "_distinct", "_reject_reason"}:
                found |= {c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    left_out = {f"left out: {reason}" for reason in found if re.fullmatch("[a-z ]+", reason) and reason != "file"}
    return sorted({"words: ‹n›", "window", "meaning", "day ‹n›", "role ‹n›", *left_out})


@pytest.mark.parametrize("reason", reasons())
def test_in_chinese_knows_every_reason_of_a_receipt(reason):
    assert HAN.search(in_chinese(reason))


def test_as_text_aligns_rows_by_the_columns_of_a_terminal():
    found = {"unwritten": 3, "oldestUnwritten": None, "history": {"odd": 0}, "summaries": []}
    assert as_text(found, in_chinese).splitlines() == [
        "未归档            3",
        "最早的未归档消息  -",
        "对话",
        "  看不懂的  0",
        "摘要              无",
    ]


def test_as_text_names_what_a_row_has_beside_its_first_word():
    waits = {
        "group": "day-2026-01-20",
        "files": 1,
        "inFlight": True,
        "waitsUntil": "2026-01-31 10:10 Asia/Shanghai",
        "calls": None,
    }
    assert as_text({"summaries": [waits]}).splitlines() == [
        "summaries",
        "  day-2026-01-20  files 1  in flight  waits until 2026-01-31 10:10 Asia/Shanghai",
    ]


def test_in_chinese_fills_fields_and_translates_what_stands_in_them():
    assert in_chinese("archive.zone: it is empty.") == "archive.zone：它是空的。"
    refused = errors.BadRequest("--at", why_no_instant("昨天", None))  # type: ignore[arg-type]
    assert in_chinese(str(refused)) == "--at：'昨天' 不是时间；请写成 2026-01-28T09:02:00+08:00 这样。"


def test_in_chinese_leaves_what_it_does_not_know():
    assert in_chinese("the deploy is on Friday.") == "the deploy is on Friday."
