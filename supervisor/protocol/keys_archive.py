"""
The settings of keeping: history, archive, the model and its workers, privacy, log, care (protocol.md 3, 5, 6, 8).

Each key stands with its default, its range and its meaning, which is also its line in docs/configuration.md.
"""

# ruff: noqa: RUF009 - every default is made by a kind, and immutable
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from supervisor.protocol.clock import find_zone
from supervisor.protocol.kinds import choice, duration, durations, flag, patterns, real, size, text, url, whole

if TYPE_CHECKING:
    from datetime import timedelta
    from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class History:
    """The caps of history.json."""

    soft_cap: int = whole(200, "Messages; above it the oldest that are written and summarised leave.", least=1)
    hard_cap: int = whole(300, "Messages; above it written ones leave that still wait for a summary.", least=1)
    hard_bytes: int = size("10MB", "Serialized size of history.json that counts like the hard cap.", least="1KB")


@dataclass(frozen=True, slots=True)
class Archive:
    """When messages are written to dated files, and how failed summaries are tried again."""

    timezone: str = text(
        "UTC",
        "The zone whose calendar days count; `init` sets it to the machine's. Changing it moves no old file.",
        pattern=r"[A-Za-z0-9_+/-]{1,60}",
        allowed='an IANA name such as "Asia/Shanghai"',
    )
    recent_days: int = whole(5, "Days up to this age stay verbatim; older ones are summarised.", most=3650)
    unarchived_limit: int = whole(100, "A run starts when more messages than this are un-written.")
    interval: timedelta = duration("6h", "A run starts when the oldest un-written message has waited so long.", least="1s")
    exchange_wait: timedelta = duration("10m", "A question younger than this waits for its answer.")
    max_queued: int = whole(8, "Tasks in the worker's queue, newest days first.", least=1)
    summarise_chars: int = whole(8000, "Characters of one summary; a longer result does not count.", least=200)
    backoff: tuple[timedelta, ...] = durations(
        ["10m", "30m", "2h", "6h", "12h"], "Waits after the first, second, … failure of a group or of the provider."
    )
    max_attempts: int = whole(5, "The failure, counted from 1, that raises `archive_backlog`.", least=1)
    backlog_interval: timedelta = duration("1d", "Wait between tries after more failures than `max_attempts`.", least="1s")
    jitter: float = real(0.1, "Share by which a wait is made longer or shorter at random.", most=1)
    keep_newest: int = whole(20, "The newest messages never leave history.json.")
    overflow_interval: timedelta = duration("10m", "At most one `history_overflow` and early run in this time.")
    write_wait: timedelta = duration("10s", "Wait after a run that could not write; doubles each time.", least="10ms")
    write_wait_limit: timedelta = duration("10m", "The longest such wait.", least="10ms")
    future_limit: timedelta = duration("1d", "A createdAt further ahead than this is impossible.")
    quiet: timedelta = duration("60s", "A damaged file is restored only after nobody wrote to it for so long.")
    slug_chars: int = whole(32, "Characters of a dated file's slug.", least=12, most=32)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone itself."""
        return find_zone(self.timezone)


@dataclass(frozen=True, slots=True)
class Llm:
    """The model that writes summaries and answers."""

    provider: Literal["auto", "openai", "extractive"] = choice(
        "auto", "auto: openai where base_url or model is set, else extracts without a model.", "openai", "extractive"
    )
    base_url: str = url("The OpenAI-compatible server that completes (Ollama's listens on port 11434).")
    model: str = text(
        "", "The model's name at that server.", pattern=r"[^\x00-\x1f\x7f\ud800-\udfff]{0,200}", allowed="a name on one line"
    )
    api_key_env: str = text(
        "OPENAI_API_KEY",
        "The variable that holds the key; the key itself never stands in a file.",
        pattern=r"[A-Za-z_][A-Za-z0-9_]{0,99}",
        allowed="the name of an environment variable, never the key itself",
        secret=True,
    )
    temperature: float = real(0.3, "How freely it writes.", most=2)
    context_tokens: int = whole(8192, "The model's context.", least=512)
    material_share: float = real(0.8, "Material beyond this share of the context goes piece by piece.", least=0.1, most=1)
    timeout: timedelta = duration("10m", "For one completion.", least="1s")
    max_calls_per_day: int = whole(200, "Calls for summaries a day; 0: none.")


@dataclass(frozen=True, slots=True)
class Worker:
    """The processes that do the slow work."""

    concurrency: int = whole(3, "Tasks at once.", least=1, most=64)
    lease: timedelta = duration("120s", "A task whose worker is silent so long is put back.", least="1s")
    beat: timedelta = duration("15s", "How often a worker shows that it lives.", least="100ms")
    idle: timedelta = duration("60s", "A worker without work leaves after this.")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The estimate of tokens."""

    cjk_weight: float = real(1.0, "Tokens a Chinese, Japanese or Korean character counts.", least=0.1, most=4)


@dataclass(frozen=True, slots=True)
class Privacy:
    """What is made unreadable, and where."""

    redact: Literal["llm", "store", "off"] = choice(
        "llm", "What hides secrets: llm, only what goes to a model; store, what is stored too; off, nothing.", "store", "off"
    )
    patterns: tuple[str, ...] = patterns([], "More of what counts as a secret.")


@dataclass(frozen=True, slots=True)
class Log:
    """log.jsonl: rotation and retention."""

    rotate_bytes: int = size("10MB", "A new file is begun at this size.", least="1KB")
    rotate_every: timedelta = duration("1d", "And after this time.", least="1m")
    keep_days: int = whole(30, "Days that old logs are kept.")
    keep_bytes: int = size("500MB", "All logs together, compressed.", least="1KB")


@dataclass(frozen=True, slots=True)
class Care:
    """How the workspace is watched and kept whole."""

    poll: timedelta = duration("1s", "How often history.json and inbox.json are looked at.", least="50ms")
    tree_poll: timedelta = duration("5s", "How often the other files are.", least="50ms")
    quarantine_limit: int = whole(10, "Copies of damaged files that are kept.", least=1)
    allow_network_fs: bool = flag(False, "Work on a network file system, where locks may not hold.")
