"""What the words of a command line mean, and which are refused (docs/reference/cli.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from recalld.supervisor.interfaces.cli.main import COMMAND_LINE
from recalld.supervisor.interfaces.cli.parser import Command, UsageFault


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


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["append", "--role"], "Option --role needs a value"),
        (["append", "--rolle", "user"], "No such option --rolle; the nearest is --role"),
        (["append", "-x"], "No such option -x"),
        (["append", "--jsonl=yes"], "Option --jsonl takes no value"),
        (["append", "榛子", "花生"], "Unexpected words: 榛子 花生"),
        (["search"], "Missing argument query"),
        (["search", "榛子", "--limit", "0"], "Invalid value for --limit: 0 is less than 1"),
        (["search", "榛子", "--limit", "三"], "Invalid value for --limit: '三' is not an integer"),
        (["worker", "--idle", "long"], "Invalid value for --idle: 'long' is not a number"),
        (["summarize"], "Missing option --session"),
        (["search", "榛子", "--chat", "party"], "Invalid value for --chat: 'party' is not direct, group or channel"),
        (["delete"], "Missing argument lines"),
    ],
)
def test_words_that_are_wrong_are_refused_in_a_sentence(words: Sequence[str], fault):
    with pytest.raises(UsageFault) as refused:
        read(*words)
    assert (refused.value.fault, refused.value.command) == (fault, f"recalld {words[0]}")
