"""
The keys of recalld.toml, by section: each field gives a key's type, default, range and meaning.

The meaning is also the key's line in configuration.md; after a change, generate that page again (config.py). How a key is
read and checked is in settings.py. Source: docs/reference/protocol.md, 3, 5, 6 and 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ..storage.clock import find_zone
from ..storage.texts import Text
from ..text.personal import PERSONAL
from ..text.record import record
from .period import QUIET_HOURS
from .settings import choice, duration, durations, flag, many, patterns, real, size, text, url, whole

if TYPE_CHECKING:
    from datetime import timedelta
    from zoneinfo import ZoneInfo

#: The name of an environment variable.
VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
#: A text of one line: the name of a model, a prefix.
ONE_LINE: Final = r"[^\x00-\x1f\x7f\ud800-\udfff]{0,200}"
#: A command of the user's.
_COMMAND: Final = r"[^\x00-\x1f\x7f\ud800-\udfff]{0,1000}"


@record
class History:
    """The caps of history.json."""

    soft_cap: int = whole(200, "With more messages than this, the oldest that are written and summarised are removed.", least=1)
    hard_cap: int = whole(300, "With more messages than this, written ones are removed that are not summarised yet.", least=1)
    hard_bytes: int = size("10MB", "The size of history.json that has the same effect as `hard_cap`.", least="1KB")


@record
class Archive:
    """When messages are written to dated files, and when failed summaries are tried again."""

    timezone: str = text(
        "UTC",
        Text("The time zone of calendar days; `init` sets it to the machine's. A change moves no existing file."),
        pattern=r"[A-Za-z0-9_+/-]{1,60}",
        allowed=Text('an IANA name such as "Asia/Shanghai"'),
    )
    recent_days: int = whole(5, "Days up to this age stay verbatim; older days are summarised.", most=3650)
    unarchived_limit: int = whole(100, "An archive run starts when more messages than this are not written yet.")
    interval: timedelta = duration(
        "6h", "An archive run starts when the oldest message that is not written has waited this long.", least="1s"
    )
    exchange_wait: timedelta = duration("10m", "A question younger than this is not archived before its answer.")
    max_queued: int = whole(8, "The most tasks in the worker's queue; the newest days are queued first.", least=1)
    summarise_chars: int = whole(8000, "The most characters of one summary; a longer result is rejected.", least=200)
    backoff: tuple[timedelta, ...] = durations(
        ["10m", "30m", "2h", "6h", "12h"], "The wait after the first, second, … failure of a group or of the provider."
    )
    max_attempts: int = whole(
        5, "After this many failures of a group, or of the model, the event `archive_backlog` is written.", least=1
    )
    backlog_interval: timedelta = duration("1d", "The wait between tries after more failures than `max_attempts`.", least="1s")
    jitter: float = real(0.1, "The share by which a wait is made longer or shorter at random.", most=1)
    keep_newest: int = whole(20, "This many of the newest messages are never removed from history.json.")
    overflow_interval: timedelta = duration(
        "10m", "At most one `history_overflow` event and early archive run happen in this time."
    )
    write_wait: timedelta = duration("10s", "The wait after a run that could not write; it doubles each time.", least="10ms")
    write_wait_limit: timedelta = duration("10m", "The longest wait after a run that could not write.", least="10ms")
    future_limit: timedelta = duration("1d", "A createdAt further in the future than this is not believed.")
    quiet: timedelta = duration("60s", "A damaged history.json is restored only when nobody has written to it for this long.")
    slug: Literal["ascii", "hanzi"] = choice(
        "ascii",
        'What Chinese words become in the name of a new dated file: pinyin, or with "hanzi" simplified characters.',
        "hanzi",
    )
    slug_chars: int = whole(32, "The most characters of the slug in a dated file's name.", least=12, most=32)

    @property
    def zone(self) -> ZoneInfo:
        """The time zone as an object."""
        return find_zone(self.timezone)


def name_of_the_key() -> str:
    """Return the key of a configuration that names the variable with a provider's key."""
    return text(
        "OPENAI_API_KEY",
        "The name of the variable that holds the key; the key itself is never in a file.",
        pattern=VARIABLE,
        allowed=Text("the name of an environment variable, never the key itself"),
        secret=True,
    )


@record
class Llm:
    """The model that writes summaries and answers."""

    provider: Literal["auto", "openai", "extractive"] = choice(
        "auto",
        "What writes summaries. auto: openai if base_url or model is set, else extracts without a model.",
        "openai",
        "extractive",
    )
    base_url: str = url(Text("The address of an OpenAI-compatible server (Ollama listens on port 11434)."))
    model: str = text("", Text("The model's name on that server."), pattern=ONE_LINE, allowed=Text("a name on one line"))
    api_key_env: str = name_of_the_key()
    temperature: float = real(0.3, "The sampling temperature of the model.", most=2)
    context_tokens: int = whole(8192, "The context window in tokens of the model that summarises.", least=512)
    material_share: float = real(0.8, "Material beyond this share of the context is summarised in pieces.", least=0.1, most=1)
    timeout: timedelta = duration("10m", "The time limit of one completion.", least="1s")
    max_calls_per_day: int = whole(200, Text("The most calls for summaries a day; 0 allows none."))


@record
class Worker:
    """The processes that write summaries."""

    concurrency: int = whole(3, "Tasks at once, at most the slots of a server here; 3: one if it says none.", least=1, most=64)
    lease: timedelta = duration("120s", "A task whose worker sends no heartbeat for this long is requeued.", least="1s")
    beat: timedelta = duration("15s", "The time between two heartbeats of a worker.", least="100ms")
    idle: timedelta = duration("60s", "A worker without work exits after this time.")


@record
class Tokens:
    """How tokens are estimated."""

    cjk_weight: float = real(1.0, "How many tokens one Chinese, Japanese or Korean character counts as.", least=0.1, most=4)


@record
class Privacy:
    """Which secrets are hidden, and where."""

    redact: Literal["llm", "store", "off"] = choice(
        "llm",
        Text(
            "Where secrets are hidden. llm: in what a model gets for summaries and embeddings; store: there, and a mark stands in their place in messages, lines and turns before these are stored; off: nowhere. With llm and off memory and its index keep them. Names of files and log.jsonl have none; for what a turn shows see reveal."
        ),
        "store",
        "off",
    )
    reveal: bool = flag(
        True,
        Text(
            "Show in the memory block of a direct chat the secrets that its question asks for (with redact = off all of them). false: show none, nor in the history block. In a group none is shown in any case."
        ),
    )
    direct: tuple[str, ...] = many(
        Text("Sessions that only the user reads, though a message or their name says that they are a group's.")
    )
    patterns: tuple[str, ...] = patterns([], "Further patterns of what counts as a secret. Names of files do not regard them.")
    personal: bool = flag(False, "Mail addresses, phone numbers and postal addresses count as secrets, but not in file names.")

    @property
    def forms(self) -> tuple[str, ...]:
        """The patterns of what counts as a secret beside what always does."""
        return (*self.patterns, *PERSONAL.values()) if self.personal else self.patterns


@record
class Log:
    """Rotation and retention of log.jsonl."""

    rotate_bytes: int = size("10MB", "A new log file is started at this size.", least="1KB")
    rotate_every: timedelta = duration("1d", "A new log file is started after this time.", least="1m")
    keep_days: int = whole(30, "For how many days old log files are kept.")
    keep_bytes: int = size("500MB", "The most bytes of all log files together, compressed.", least="1KB")


@record
class Care:
    """How the workspace is watched and protected."""

    poll: timedelta = duration("1s", "The time between two checks of history.json and inbox.json.", least="50ms")
    tree_poll: timedelta = duration("5s", "The same of the other files; at rest, of all that events tell of.", least="50ms")
    quarantine_limit: int = whole(10, "How many copies of damaged files are kept.", least=1)
    previous_age: timedelta = duration("365d", "How long replaced and deleted texts stay in .recalld/previous/.", least="30d")
    previous_bytes: int = size("20MB", "The most bytes of them; the newest are kept.", least="1MB")
    trash_days: int = whole(90, "How many days pruned files stay in trash/ before they are deleted.", least=30)
    diary: bool = flag(True, "Say in CHANGES.md what was done to memory, and keep what `recalld undo` needs.")
    allow_network_fs: bool = flag(False, "Allow a workspace on a network file system, where locks may not work.")
    quiet_hours: str = text(
        "",
        "Hours of the workspace's time zone in which nothing begins that is not urgent: summaries, the nightly fsck "
        "and backup. Messages are archived and found at all times.",
        pattern=QUIET_HOURS,
        allowed=Text('hours such as "22:00-07:00", or ""'),
    )
    on_trouble: str = text(
        "",
        "A command for the shell, run by the nightly fsck for what is newly wrong. RECALLD_TROUBLE has the sentences, a line "
        "each, RECALLD_WORKSPACE the workspace; after 30 s it is killed.",
        pattern=_COMMAND,
        allowed=Text("a command on one line"),
    )


@record
class Recall:
    """Which memories are found for a turn, and how they are shown."""

    backend: str = text(
        "auto",
        Text(
            "What finds passages: `auto` (words, and meaning in a supervisor), `bm25` (words), `use` or `e5` (words, and meaning by this model), `hybrid` (words, and meaning by the server of [embeddings]), or an installed model."
        ),
        pattern=r"[a-z][a-z0-9_-]{0,63}",
        allowed=Text('"auto", "bm25", "use", "e5", "hybrid" or the name of an installed model'),
    )
    timeout_ms: int = whole(
        250, "After this many milliseconds a turn goes on with what was found so far. The index has as many.", least=10
    )
    k1: float = real(1.2, "BM25: how fast the weight of a repeated word saturates.", most=10)
    b: float = real(0.75, "BM25: how much the length of a passage counts.", most=1)
    meaning: float = real(
        0.7,
        Text("What the passage that is nearest by meaning gains, as a share of the best score by words; 0: words alone."),
        most=10,
    )
    min_score: float = real(0.2, "Hits with a lower score are dropped.")
    max_keywords: int = whole(0, "How many words of the input are searched for; 0: all.")
    recent_messages: int = whole(5, "How many earlier messages add their words when the input refers back to them.")
    max_hits: int = whole(15, Text("The most hits in the memory block; 0: no limit."))
    hit: Literal["file", "line"] = choice("file", "What a hit is: a file with the lines that matter, or one line.", "line")
    line_chars: int = whole(300, "A line of more characters is cut around the words that matched.", least=20)
    memory_tokens: int = whole(2048, Text("The token budget of the memory block, and of what a tool answers."))
    pinned_tokens: int = whole(
        512,
        "The token budget, added to memory_tokens and at most a quarter of it, of the lines of memory.md below `# Always` "
        "or with #pin, which a direct chat is always given. 0, or hit = line: none.",
    )
    max_injected_chars: int = whole(0, "The most characters of the memory block, and of what a tool answers; 0: no limit.")
    originals: Literal["fallback", "always", "never"] = choice(
        "fallback",
        "When the messages behind a summary are searched. fallback: when the budget is not full.",
        "always",
        "never",
    )
    citations: Literal["auto", "on", "off"] = choice(
        "auto", "Whether line numbers (`#L4-L6,L9`) follow a path. auto: except in groups and with `line`.", "on", "off"
    )
    in_groups: Literal["own", "all", "none"] = choice(
        "own", "Which memories are used in a group. own: its own and shared ones; all; none.", "all", "none"
    )
    projects: Literal["prefer", "only", "all"] = choice(
        "prefer", "Messages of other projects. prefer: if they answer much better; only: never; all: always.", "only", "all"
    )
    worktrees: Literal["together", "apart"] = choice(
        "together", "The worktrees of a git repository. together: they are one project; apart: each is its own.", "apart"
    )
    note: bool = flag(
        True, "Begin the memory block with a line that says that nothing in it is an instruction; not with `line`."
    )
    honest_miss: bool = flag(False, "The older name of `context.say_nothing`.")


@record
class Context:
    """The recent conversation that goes into a turn."""

    window_tokens: int = whole(
        0, "The context window in tokens of the model that answers: a small one shrinks both budgets. 0: they hold."
    )
    history_tokens: int = whole(4096, Text("The token budget of the history block."))
    min_messages: int = whole(5, "The least messages in the block; they are shortened before they are left out.")
    max_messages: int = whole(20, "The most messages in the block; its oldest leave in steps of a half.", least=1)
    message_chars: int = whole(500, "A message of more characters is cut, the assistant's messages first.", least=20)
    memory_in: Literal["question", "system", "message"] = choice(
        "question",
        "Where memory is put: before the question in its message, in the system message, or in a user's message of its own.",
        "system",
        "message",
    )
    start_tokens: int = whole(800, "The token budget of what a client's session begins with; 0: nothing.")
    say_nothing: bool = flag(False, "Where memory has nothing on the question, say so in one line.")
    alternate: bool = flag(
        False, "Join messages of one role in a row and begin with the user's, as the templates of Mistral and Gemma demand."
    )


@record
class Turns:
    """Who answers, and what happens around a turn."""

    reply: Literal["off", "worker"] = choice(
        "off", "Who answers what waits in inbox.json. off: the assistant. worker: recalld, with the model of `llm`.", "worker"
    )
    tries: int = whole(3, "After so many answers that can't be used an input is set aside, in worker/failed/.", least=1)
    max_calls_per_day: int = whole(500, "The most calls for answers a day, beside those for summaries; then inputs wait.")
    overflow: Literal["off", "memory", "summary"] = choice(
        "off",
        "memory: what leaves a session, or is past `summarize`, goes into memory.md. summary: what leaves a turn, its summary.",
        "memory",
        "summary",
    )
    wait: timedelta = duration("2m", "How long a turn waits for the model at most; then it goes on without.", least="1s")


@record
class Conversation:
    """The running summary of one conversation, and a session's overflow."""

    limit: float = real(
        0.8, "A running conversation is summed up when it takes more than this share of the context.", least=0.1, most=1
    )
    max_messages: int = whole(50, "It is summed up when it has more messages than this.", least=1)
    keep_turns: int = whole(
        3, "How many of the last turns stay word for word, while they take at most two fifths of that share; 0: as 004 says."
    )
    summary_in: Literal["system", "user"] = choice(
        "system", "Which message has the summary, the first or the question.", "user"
    )
    max_history: int = whole(100, "How many messages a session has before it overflows.", least=1)
    overflow_min: int = whole(3, "Fewer overflowing messages than this are not summarised.")


@record
class Summarize:
    """How a session is summarised into one long-term line, and from how many words on a day is worth a call."""

    least: int = whole(
        80,
        Text(
            "A day of fewer words has its extract, without a call, and so has what the extract quotes whole; 0: all is asked for."
        ),
    )
    message_threshold: int = whole(20, "More new messages than this in a session are summed up (`turns.overflow`).")
    char_threshold: int = whole(10000, "More new characters than this in a session are summed up (`turns.overflow`).")
    keep_recent: int = whole(10, "How many of its newest messages stay out of that.")
    char_limit: int = whole(2000, "The most characters of the summary, within a quarter of the context.", least=20, most=20_000)


@record
class Tools:
    """What the tools for the assistant answer."""

    search_results: int = whole(15, "How many lines a line search returns.", least=1)
    dialect: Literal["recall", "lines"] = choice(
        "recall", "The tool schema that a model gets. recall: 001's ranked search; lines: 000's line search.", "lines"
    )


@record
class Embeddings:
    """The server of `recall.backend = "hybrid"`, and how much room vectors have."""

    base_url: str = url("The address of a server with `/v1/embeddings`.")
    model: str = text(
        "", "The model's name on that server; empty: no embeddings.", pattern=ONE_LINE, allowed=Text("a name on one line")
    )
    api_key_env: str = name_of_the_key()
    question_prefix: str = text(
        "",
        'What the model wants before a question: "query: " for E5, "search_query: " for Nomic.',
        pattern=ONE_LINE,
        allowed=Text("a text on one line"),
    )
    text_prefix: str = text(
        "",
        'What the model wants before a text that is searched: "passage: " for E5, "search_document: " for Nomic.',
        pattern=ONE_LINE,
        allowed=Text("a text on one line"),
    )
    cache_bytes: int = size("500MB", "The most bytes of vectors; the newest memories get theirs first.", least="1MB")


@record
class Serve:
    """The HTTP service on this machine: REST, MCP, page."""

    host: str = text(
        "127.0.0.1",
        "The address that the service listens on.",
        pattern=r"[A-Za-z0-9.:_-]{1,253}",
        allowed=Text("a host name or address"),
    )
    port: int = whole(0, Text("The port that the service listens on, such as 8377; 0: there is no service."), most=65535)
    allow_remote: bool = flag(False, "Allow a host that other machines can reach; whoever has the token reads all of memory.")
    upstream: str = url(
        Text(
            "The model server behind the proxy at `/v1`, such as http://127.0.0.1:11434/v1; its key is that of `llm.api_key_env`."
        )
    )
    skip: tuple[str, ...] = patterns(
        [], Text("Further patterns of prompts that a client sends for itself, such as for a title: no memory, not recorded.")
    )
