"""What `recalld demo` says."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "making": "Making up a year in a temporary folder: messages, days, summaries. This takes some seconds.",
    "ready": "The workspace is {root}; `recalld -w {root} search …` and every other command work with it. Ctrl-C ends the demo and removes it.",
    "no_port": "{value} is no port: give a number from 1 to 65535, or leave it out",
    "other_port": "leave `--port` out for one that is free, or name another",
}
