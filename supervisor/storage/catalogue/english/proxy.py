"""What the proxy in front of a model server says to a client."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "none": "there is no model server behind this proxy: set `upstream` below `[serve]` in recalld.toml.",
    "session": "this is no name of a session: give at most {most} characters, on one line.",
    "away": "the model server at {where} can't be reached ({kind}); start it, or set `upstream` below `[serve]` in recalld.toml.",
    "silent": "the model server at {where} does not take the connection; start it, or set `upstream` below `[serve]` in recalld.toml.",
    "dropped": "the model server at {where} has closed the connection without an answer; it may not take this request, or it was started again: ask again, and look into its log.",
    "slow": "the model server at {where} has not answered within {seconds} s; try again, or raise `llm.timeout` in recalld.toml.",
}
