"""
The line in which a person writes: editing, earlier lines by the arrow keys, pastes of many lines; the home of prompt_toolkit.

Earlier lines are those of the session in history.json. No file of them is written: it would be a second copy of what was said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.shortcuts import CompleteStyle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PROMPT: Final = "› "


class Editor:
    """
    The line of a chat; *before* are earlier lines, oldest first, *commands* the words that the Tab key completes.

    A paste of more than *most* characters ends the line, so that the user is asked before it is sent.
    """

    def __init__(self, before: Iterable[str], commands: Sequence[str], most: int) -> None:
        keys = KeyBindings()
        history = InMemoryHistory()
        for line in before:
            history.append_string(line)

        @keys.add("escape", "enter")
        def _(event: Any) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add(Keys.BracketedPaste)
        def _(event: Any) -> None:
            pasted = event.data.replace("\r\n", "\n").replace("\r", "\n")
            if len(pasted) > most:  # to lay it out would take minutes
                event.app.exit(result=event.current_buffer.text + pasted)
            else:
                event.current_buffer.insert_text(pasted)

        self._session: PromptSession[str] = _silent(
            PromptSession(
                history=history,
                key_bindings=keys,
                completer=WordCompleter(list(commands), sentence=True),
                complete_while_typing=False,
                complete_style=CompleteStyle.READLINE_LIKE,
                enable_open_in_editor=False,
            )
        )

    def read(self) -> str:
        """Return the next line, with the line breaks of a paste. EOFError at the end, KeyboardInterrupt for Ctrl-C."""
        return self._session.prompt(_PROMPT)

    def confirm(self, question: str) -> bool:
        """Return whether the user answers the question with yes; Ctrl-C and Ctrl-D are no."""
        try:
            found = _silent(PromptSession[str]()).prompt(f"{question} ")
        except (EOFError, KeyboardInterrupt):
            return False
        return found.strip().casefold() in {"y", "yes", "是", "好", "对"}


def _silent(session: PromptSession[str]) -> PromptSession[str]:
    """Return the session, which says nothing of a terminal that does not tell where its cursor is: only menus need that."""
    session.app.renderer.cpr_not_supported_callback = None
    return session
