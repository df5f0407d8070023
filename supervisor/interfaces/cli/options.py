"""The options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from .parser import Option

# whether the folder can be read is not looked at here: it is told when the folder is opened, with exit code 77
Folder = Annotated[Path | None, Option("-w", "--workspace", meaning="the workspace (RECALLD_WORKSPACE)")]
Now = Annotated[str | None, Option("--now", meaning="the clock, ISO 8601 (RECALLD_NOW)")]
Session = Annotated[str, Option("--session", meaning="the key of the conversation in which it was asked")]
Kind = Annotated[str, Option("--chat", meaning="its kind: direct, group or channel; else that in the session's key")]
Json = Annotated[bool, Option("--json", meaning="machine-readable output")]
