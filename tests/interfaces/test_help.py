"""What the parser of the command line says, in both languages: help, and what is wrong with the words of a command."""

from __future__ import annotations

import re

import pytest

from recalld.supervisor.interfaces.cli.call import Call
from recalld.supervisor.interfaces.cli.main import COMMAND_LINE, run_command
from recalld.supervisor.interfaces.cli.parser import Command
from recalld.supervisor.interfaces.output import columns
from recalld.supervisor.storage.errors import BadRequest

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
