"""The chat in the terminal."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "begins": "Session {session}. /help shows the commands, Ctrl-C ends an answer, Ctrl-D ends the chat.",
    "no_model": "No model is set (`llm.base_url`, `llm.model`): you get what memory holds.",
    "help": "/why               what memory put before the model in the last turn, and why\n"
    "/remember WORDS    adds a line to the long-term memory\n"
    "/forget WORDS      takes back what has these words, everywhere; or the line of this number\n"
    "/search WORDS      finds memories\n"
    "/session [NAME]    shows the session, or goes on in another one\n"
    "/quit              ends the chat, as Ctrl-D does\n"
    "Alt-Enter begins a new line; the arrow keys bring back earlier ones.",
    "no_command": "there is none of this name; there are {names}",
    "needs_words": "give words after it",
    "no_line": "the long-term memory has no line {number}",
    "forget_sure": "Forget this for good? [y/N]",
    "forget_elsewhere": "Nothing was forgotten, since nobody can be asked here; `recalld forget --{by} {value} --yes` does it.",
    "slashed": "`{line}` is sent as words: give commands by themselves, one a line.",
    "no_json": "a command of the chat has none; use `recalld search`, `why`, `write` or `forget`",
    "session": "Session {session}.",
    "much": "These are {count} characters. Send them? [y/N]",
    "empty": "there are no words in it; give some",
    "no_input": "standard input is empty: send the message on it, give it with --message, or call `recalld chat` at a terminal",
    "too_long": "it has more than {most} MB; give less",
    "not_utf8": "it is not UTF-8; convert it first, with `iconv` for example",
}
