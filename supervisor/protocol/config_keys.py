"""
The settings of keeping: history, archive, the model and its workers, privacy, log, care (protocol.md 3, 5, 6, 8).

Each key stands with its default, its range and its meaning, which is also its line in docs/configuration.md.

The settings of a turn: recall, context, conversation, the assistant's tools, the service (003, 检索与注入, 上下文注入预算).

Each key stands with its default, its range and its meaning, which is also its line in docs/configuration.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from supervisor.protocol.clock import find_zone
from supervisor.protocol.settings import choice, duration, durations, flag, patterns, real, size, text, url, whole

if TYPE_CHECKING:
    from datetime import timedelta
    from zoneinfo import ZoneInfo

# ruff: noqa: RUF009 - every default is made by a kind, and immutable


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


@dataclass(frozen=True, slots=True)
class Recall:
    """Which memories are found for a turn, and how they are shown."""

    backend: str = text(
        "bm25",
        "What scores: `hybrid` adds [embeddings]; other names are those of installed backends.",
        pattern=r"[a-z][a-z0-9_-]{0,63}",
        allowed='"bm25", "hybrid" or the name of an installed backend',
    )
    timeout_ms: int = whole(250, "Milliseconds after which a turn goes on with what was found so far.", least=10)
    k1: float = real(1.2, "BM25: how fast repeated words saturate.", most=10)
    b: float = real(0.75, "BM25: how much length counts.", most=1)
    min_score: float = real(0.2, "Hits below this score are dropped.")
    max_keywords: int = whole(0, "Words of the input that are searched for; 0: all.", seed="6")
    recent_messages: int = whole(5, "Messages before it that lend their words where the input refers back.")
    max_hits: int = whole(5, "Hits in the memory block; 0: no limit.")
    hit: Literal["file", "line"] = choice(
        "file", "What a hit is: a file with the lines that matter, or one line.", "line", seed="line"
    )
    line_chars: int = whole(300, "A longer line is cut around what matched.", least=20)
    memory_tokens: int = whole(2048, "Budget of the memory block.")
    max_injected_chars: int = whole(0, "Characters of the memory block (001); 0: no limit.")
    originals: Literal["fallback", "always", "never"] = choice(
        "fallback",
        "Whether the words behind a summary are searched: where the budget is not full, always, never.",
        "always",
        "never",
        seed="never",
    )
    citations: Literal["auto", "on", "off"] = choice("auto", "`#L4-L6` behind a path; auto: not in groups.", "on", "off")
    in_groups: Literal["own", "all", "none"] = choice(
        "own", "In a group: its own and shared memories, all, or none.", "all", "none"
    )
    honest_miss: bool = flag(False, "Say in one line that nothing was found.")


@dataclass(frozen=True, slots=True)
class Context:
    """The recent conversation that goes into a turn."""

    history_tokens: int = whole(4096, "Budget of the history block.")
    min_messages: int = whole(5, "Messages at least; they are cut shorter rather than left out.")
    max_messages: int = whole(20, "Messages at most.", least=1)
    message_chars: int = whole(500, "A longer message is cut, the assistant's first.", least=20)


@dataclass(frozen=True, slots=True)
class Turns:
    """Who answers, and what happens around a turn."""

    reply: Literal["off", "worker"] = choice("off", "off: the assistant answers; worker: recalld does.", "worker")
    overflow: Literal["off", "memory"] = choice(
        "off", "memory: what leaves a session is summarised into memory.md (000).", "memory"
    )
    greeting: bool = flag(False, "Greet after a long silence (000).")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The running summary of one conversation (004), and a session's overflow (000)."""

    limit: float = real(0.8, "Share of the context at which it is summarised.", least=0.1, most=1)
    max_messages: int = whole(50, "Messages at which it is summarised.", least=1)
    keep_turns: int = whole(3, "Last turns kept word for word; 0: 004 to the letter.")
    summary_in: Literal["system", "user"] = choice("system", "The message that carries the summary.", "user")
    max_history: int = whole(100, "Messages of a session before it overflows.", least=1)
    overflow_min: int = whole(3, "Fewer overflowing messages than this are left alone.")


@dataclass(frozen=True, slots=True)
class Summarize:
    """A session into one long-term line (000)."""

    message_threshold: int = whole(20, "More messages than this are worth a summary.")
    char_threshold: int = whole(10000, "So are more characters than this.")
    keep_recent: int = whole(10, "The newest messages that a summary leaves alone.")
    max_chars: int = whole(4000, "Characters of conversation handed to the model.", least=100)
    message_chars: int = whole(300, "A longer message is cut for it.", least=20)
    skip_chars: int = whole(8, "Chit-chat up to this length is left out.")
    char_limit: int = whole(2000, "Characters of the summary.", least=20)


@dataclass(frozen=True, slots=True)
class Tools:
    """What the assistant's own tools answer."""

    search_results: int = whole(15, "Lines that a line search shows.", least=1)
    dialect: Literal["recall", "lines"] = choice(
        "recall", "The schema shown to a model: 001's ranked search or 000's lines.", "lines"
    )


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Vectors beside the words, for `backend = "hybrid"`."""

    base_url: str = url("A server with `/v1/embeddings`.")
    model: str = text(
        "", "Its model; absent: no embeddings.", pattern=r"[^\x00-\x1f\x7f\ud800-\udfff]{0,200}", allowed="a name on one line"
    )
    api_key_env: str = text(
        "OPENAI_API_KEY",
        "The variable that holds the key; the key itself never stands in a file.",
        pattern=r"[A-Za-z_][A-Za-z0-9_]{0,99}",
        allowed="the name of an environment variable, never the key itself",
        secret=True,
    )
    cache_bytes: int = size("500MB", "What the vectors may take in the user's cache folder; the oldest leave.", least="1MB")


@dataclass(frozen=True, slots=True)
class Serve:
    """The service on this machine: REST, page, proxy."""

    host: str = text("127.0.0.1", "Where it listens.", pattern=r"[A-Za-z0-9.:_-]{1,253}", allowed="a host name or address")
    port: int = whole(8377, "0: any free one.", most=65535)
    upstream: str = url("The model server behind the proxy.")
