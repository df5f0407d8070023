"""The hooks of clients: what Claude Code, Codex and others run before a question, after an answer and when a session begins."""

from typing import Final

#: The most bytes of an event; an answer has some thousand.
MAX_EVENT: Final = 16 << 20
