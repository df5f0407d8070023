"""A scene: commands with their answers, as a file of en/ has them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

#: Programs that answer each line of their input; they print it first, behind this mark.
CONVERSATIONS = ("api", "mcp")
ECHO = ">>> "
#: What a line of an answer begins with: standard output, standard error, the exit code.
_ANSWER = ("|", "!", "[")


@dataclass(frozen=True)
class Block:
    """
    A command, its standard input, and its answer; comments and blank lines before it are in *before*.

    Each line of a conversation is a block of its own, without a command.
    """

    before: list[str]
    command: str
    stdin: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)

    @property
    def program(self) -> str:
        """The program that the command starts, behind its variables."""
        return next(word for word in self.command.split() if "=" not in word)

    @property
    def is_conversation(self) -> bool:
        return self.program in CONVERSATIONS

    def with_answer(self, answer: list[str]) -> Block:
        return replace(self, answer=answer)

    @property
    def asked(self) -> list[str]:
        return [*([f"$ {self.command}"] if self.command else []), *(f"> {line}".rstrip() for line in self.stdin)]


def parsed(text: str) -> list[Block]:
    """Return the blocks of a scene."""
    blocks: list[Block] = []
    before: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            blocks.append(Block(before, line[2:]))
            before = []
        elif line.startswith(">") and not before:
            blocks[-1].stdin.append(line[2:])
        elif line.startswith(_ANSWER) and not before:
            blocks[-1].answer.append(line)
        else:
            before.append(line)
    return blocks


def rendered(blocks: list[Block]) -> str:
    """Return the text of a scene, of which `parsed` returns the blocks."""
    return "".join(f"{line}\n" for one in blocks for line in [*one.before, *one.asked, *one.answer])


def differing(base: list[Block], other: list[Block]) -> str:
    """Return the blocks of *other* whose answer is not that of *base*."""
    return _told(base, other, lambda _, there: there or ["[0]"])


def differences(base: list[Block], other: list[Block]) -> str:
    """Return the commands whose answer in *other* is not that of *base*, and the lines in which it differs."""

    def lines(here: list[str], there: list[str]) -> list[str]:
        told = list(difflib.unified_diff(here, there, n=0, lineterm=""))[2:]
        return [line for line in told if not line.startswith("@@")]

    return _told(base, other, lines)


def _told(base: list[Block], other: list[Block], lines: Callable[[list[str], list[str]], list[str]]) -> str:
    told: list[str] = []
    command: list[str] = []  # that of a conversation, before the first of its lines that is told
    for here, there in zip(base, other, strict=True):
        if there.command:
            command = []
        if here.answer != there.answer:
            told += [*([""] if told and (there.command or command) else []), *command, *there.asked]
            told += lines(here.answer, there.answer)
            command = []
        elif there.command and there.is_conversation:
            command = there.asked
    return "".join(f"{line}\n" for line in told)
