"""What words of a command line mean, which are refused, and what commands say to people in both languages (docs/reference/cli.md)."""

import re
from functools import partial
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, run_command
from recalld.supervisor.interfaces.cli.parser import Command
from recalld.supervisor.interfaces.output import _REASONS, as_text, because, by_name, columns
from recalld.supervisor.storage.errors import BadRequest
from recalld.supervisor.storage.texts import Text, render
from tests.world import message


def read(*words: str) -> dict[str, object]:
    """What the command gets that the words name, without what is the default."""
    command = COMMAND_LINE.commands[words[0]]
    assert isinstance(command, Command)
    defaults = {param.name: param.default for param in command.params}
    values = command.read(words[1:], f"recalld {words[0]}")
    return {name: value for name, value in values.items() if value != defaults[name]}


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["append", "--role", "user", "--text", "榛子"], {"role": "user", "text": "榛子"}),
        (["append", "--text", "--role", "--role", "user"], {"role": "user", "text": "--role"}),
        (["append", "--text", "--help"], {"text": "--help"}),
        (["append", "--role", "user", "--role=tool"], {"role": "tool"}),
        (["append", "--text=", "--jsonl"], {"text": "", "jsonl": True}),
        (["inject", "--known", "1", "--known=2"], {"known": ["1", "2"]}),
        (["search", "榛子", "-wW"], {"query": "榛子", "workspace": Path("W")}),
        (["search", "--limit", "007", "--", "-榛子"], {"query": "-榛子", "limit": 7}),
        (["search", "-"], {"query": "-"}),
        (["read", "-1"], {"line": -1}),
        (["read", "--start", "-3"], {"start": -3}),
        (["delete", "1@a", "2@b"], {"lines": ["1@a", "2@b"]}),
        (["worker", "--idle", "0.5"], {"idle": 0.5}),
    ],
)
def test_command_gets_what_its_words_say(words, given):
    assert read(*words) == given


# ── help and refusals ────────────────────────────────────────────────────────

HAN = re.compile("[\u4e00-\u9fff]")
BLANK_IN_CHINESE = re.compile("[\u3001-\u9fff\uff01-\uff5e] [\u3001-\u9fff\uff01-\uff5e]")


def leaves() -> list[tuple[list[str], Command]]:
    """Every command that is not a group, with its words."""
    found: list[tuple[list[str], Command]] = []
    for name, command in COMMAND_LINE.commands.items():
        if isinstance(command, Command):
            found.append(([name], command))
        else:
            found += [([name, below], inner) for below, inner in command.commands.items() if isinstance(inner, Command)]
    return found


def wrong_arguments() -> list[list[str]]:
    """What is refused: of each command a wrong option, an argument too many or too few, and wrong values of options."""
    found = [["serach"], ["ap"], ["--nope"], ["-w"], ["--version=3", "status"], ["summary", "re"]]
    for words, command in leaves():
        arguments = [param for param in command.params if param.is_argument]
        needed = ["7" for param in arguments if param.is_required]
        takes_any = any(param.takes_many for param in arguments)
        found += [
            *([] if takes_any else [[*words, *needed, "x2", "x3"]]),
            [*words, "--jsno"],
            [*words, "--t"],
            *([words] if needed else []),
        ]
        for option in (param for param in command.params if not param.is_argument):
            name = option.names[-1]
            values = [[f"{name}=3"]] if option.is_flag else [[name]]
            values += [[name, "abc"]] if option.kind in (int, float) else []
            values += [] if option.least is None else [[name, str(option.least - 1)]]
            values += [[name, "sideways"]] if option.choices else []
            found += [[*words, *needed, *value] for value in values]
    return found


@pytest.mark.parametrize("argv", wrong_arguments(), ids=" ".join)
def test_commands_say_in_chinese_what_is_wrong_with_their_words(argv, capsys, monkeypatch):
    monkeypatch.setenv("RECALLD_LANGUAGE", "zh")
    assert run_command(Call(argv)) == BadRequest.exit_code
    said = capsys.readouterr().err
    assert re.fullmatch("recalld: .+。用法见 `recalld( [a-z]+)* --help`。\n", said)
    assert HAN.search(said.partition("用法见")[0])
    assert not re.search(r"[A-Za-z]{2,} [a-z]{2,}|。。", re.sub("`recalld[^`]*`", "", said)), said
    assert not BLANK_IN_CHINESE.search(said)
    monkeypatch.setenv("RECALLD_LANGUAGE", "en")
    run_command(Call(argv))
    assert re.fullmatch(r"recalld: [A-Z][^\n]*[^.?][.] See `recalld( [a-z]+)* --help`\.\n", capsys.readouterr().err)


@pytest.mark.parametrize("words", [[], *(words for words, _ in leaves())], ids=" ".join)
def test_help_is_in_chinese_as_a_whole(words, capsys, monkeypatch):
    monkeypatch.setenv("RECALLD_LANGUAGE", "zh")
    assert run_command(Call([*words, "--help"])) == 0
    page = capsys.readouterr().out
    assert page.startswith("用法：recalld")
    assert not re.search(
        r"(?<![<`])\b[a-z]{3,} [a-z]{3,}", re.sub("`[^`]+`|chat\\s+completions|<[^>]*>|recalld .*选项", "", page)
    ), page
    assert max(map(columns, page.splitlines())) <= 80
    monkeypatch.setenv("RECALLD_LANGUAGE", "en")
    run_command(Call([*words, "--help"]))
    assert not HAN.search(capsys.readouterr().out.replace("；", ""))


# ── what is printed ──────────────────────────────────────────────────────────

chinese = partial(render, language="zh")


@pytest.mark.parametrize(
    "words",
    [
        *("status --all", "status --plan", "run --once", "fsck", "fsck --repair", "read --stats"),
        *("index status", "index rebuild", "prune --dry-run", "why"),
    ],
)
def test_every_row_that_a_command_prints_has_a_chinese_label(world, capsys, words):
    world.write([message("1", "2026-01-28T09:00")])
    command = ["-w", str(world.root), "--now", "2026-01-31T10:00:00+08:00"]
    run_command(Call([*command, "inject", "--query", "花生"]))
    capsys.readouterr()
    run_command(Call([*command, *words.split()], {"RECALLD_LANGUAGE": "zh"}))
    printed = capsys.readouterr().out
    assert HAN.search(printed)
    assert re.findall("^ *[a-z]+(?: [a-z]+)*  ", printed, re.MULTILINE) == []


def test_error_in_chinese_has_no_english_name_before_its_colon(world, capsys):
    for words in (
        "undo x",
        "get x",
        "delete x",
        "summary redo 2026",
        "import /none",
        "append",
        "backup create /a/b",
        "connect x",
    ):
        run_command(Call(["-w", str(world.root), *words.split()], {"RECALLD_LANGUAGE": "zh"}))
    assert [line for line in capsys.readouterr().err.splitlines() if re.match("recalld: [A-Za-z]+：", line)] == []


@pytest.mark.parametrize("reason", [*_REASONS, "words: 茶", "related: 茶", "day 2026-01-28", "role user"])
def test_every_reason_of_a_receipt_is_said_in_plain_words(reason):
    assert HAN.search(chinese(because(reason)))


def test_sentences_of_a_list_are_in_the_language_of_who_asked():
    why = Text("the worker ended without a result; `recalld worker` shows why")
    assert not re.search("[a-z]{3,} [a-z]{3,} [a-z]{3,}", as_text({"faults": [why], "damage": [{"why": why}]}, chinese))


def test_names_of_a_user_stay_as_they_are_in_rows():
    assert as_text(by_name({"odd": 1, "MyBot": {"notes": 2}}), chinese) == "odd    1\nMyBot\n  笔记  2"


def test_a_question_stays_as_it_was_asked(world, capsys):
    for words in ("inject --query user", "why"):
        run_command(Call(["-w", str(world.root), *words.split()], {"RECALLD_LANGUAGE": "zh"}))
    assert re.search("^提问 +user$", capsys.readouterr().out, re.MULTILINE)
