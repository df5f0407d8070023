"""
The table of the keys of recalld.toml, and of a pool's pool.toml: each field gives a key's type, default, range and meaning.

The meaning is also the key's line in configuration.md, a page that `python -m tests.pages` makes again. How a key is read and
checked is in settings.py. Every command makes these records, so they have no repr. Source: protocol.md, 3, 5, 6 and 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Final, Literal
from zoneinfo import ZoneInfo

from ..storage.clock import find_zone
from ..storage.texts import Text, msgid
from .connections import TakenSource, take
from .settings import choice, duration, flag, names, number, patterns, text

#: What texts may be: the pattern that they match as a whole, and that for people.
_LINE: Final = (r"[^\x00-\x1f\x7f\ud800-\udfff]{0,200}", msgid("a text on one line"))
_COMMAND: Final = (r"[^\x00-\x1f\x7f\ud800-\udfff]{0,1000}", msgid("a command on one line"))
_NAME: Final = (r"[a-z][a-z0-9_-]{0,31}", msgid("a short name of small letters, digits, - and _"))
_HOST: Final = (r"[A-Za-z0-9.:_-]{1,253}", msgid("a host name or address"))
_TIME: Final = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_HOURS: Final = (f"|{_TIME}-{_TIME}", msgid('hours such as "22:00-07:00", or ""'))
_ZONE: Final = (r"[A-Za-z0-9_+/-]{1,60}", msgid('an IANA name such as "Asia/Shanghai"'))
_URL: Final = (r"|https?://[^\s\x00-\x1f\x7f\ud800-\udfff]+", msgid('an address such as "http://127.0.0.1:8080", or ""'))
_REDIS: Final = (
    r"|rediss?://[^\s\x00-\x1f\x7f\ud800-\udfff]+",
    msgid('an address such as "rediss://redis.example:6379/0", or ""'),
)
_VARIABLE: Final = (r"[A-Za-z_][A-Za-z0-9_]{0,99}", msgid("the name of an environment variable, never the key itself"))
_BACKEND: Final = (r"[a-z][a-z0-9_-]{0,63}", msgid('"auto", "bm25", "use", "e5", "hybrid" or the name of an installed model'))


_KEY_ENV: Final = "The name of the variable that holds the key; the key itself is never in a file."


@dataclass(frozen=True, slots=True, repr=False)
class Provider:
    """A model and its server: that of `llm`, and those that a pool asks, the sections of [providers] in pool.toml."""

    base_url: str = text("", Text("The address of an OpenAI-compatible server (Ollama listens on port 11434)."), _URL)
    model: str = text("", Text("The model's name on that server."), _LINE)
    api_key_env: str = text("OPENAI_API_KEY", _KEY_ENV, _VARIABLE, secret=True)


@dataclass(frozen=True, slots=True, repr=False)
class History:
    """The caps of history.json."""

    soft_cap: int = number(200, "With more messages, the oldest that are written and summarised are removed.", least=1)
    hard_cap: int = number(300, "With more messages, written ones are removed that are not summarised yet.", least=1)


@dataclass(frozen=True, slots=True, repr=False)
class Archive:
    """When messages are written to dated files, and when failed summaries are tried again."""

    max_attempts: ClassVar[int] = 5  # after so many failures of a group, or of the model, `archive_backlog` is reported
    summarise_chars: ClassVar[int] = 8_000  # the most characters of one summary
    timezone: str = text(
        "UTC", Text("The time zone of calendar days; `init` sets it to the machine's. A change moves no existing file."), _ZONE
    )
    recent_days: int = number(5, "Days up to this age stay verbatim; older days are summarised.", most=3650)
    unarchived_limit: int = number(100, "An archive run starts when more messages than this are not written yet.")
    interval: timedelta = duration("6h", "A run starts when the oldest unwritten message has waited this long.", least="1s")
    exchange_wait: timedelta = duration("10m", "A question younger than this is not archived before its answer.")
    keep_newest: int = number(20, "This many of the newest messages are never removed from history.json.")
    future_limit: timedelta = duration("1d", "A createdAt further in the future than this is not believed.")
    slug: Literal["ascii", "hanzi"] = choice(
        "ascii hanzi", 'Chinese words in the name of a new dated file: pinyin, or with "hanzi" simplified characters.'
    )

    @property
    def zone(self) -> ZoneInfo:
        """The time zone as an object."""
        return find_zone(self.timezone)


@dataclass(frozen=True, slots=True, repr=False)
class Recall:
    """Which memories are found for a turn, and how they are shown."""

    recent_messages: ClassVar[int] = 5  # earlier messages that add their words when the input refers back to them
    backend: str = text(
        "auto",
        "What finds passages: `auto` (words, and meaning in a supervisor), `bm25` (words), `use` or `e5` (words, and meaning by this model), `hybrid` (words, and meaning by the server of [embeddings]), or an installed model.",
        _BACKEND,
    )
    timeout_ms: int = number(
        250,
        "After so many milliseconds a turn goes on with what is found; the index has as many, and the proxy waits a second more.",
        least=10,
    )
    meaning: float = number(
        0.7, "What the nearest passage by meaning gains, in shares of the best score; 0: words alone.", most=10
    )
    min_score: float = number(0.2, "Hits with a lower score, or a lower share of a best one below 1, are dropped.")
    max_keywords: int = number(0, "How many words of the input are searched for; 0: all.")
    max_hits: int = number(15, "The most hits in the memory block; 0: no limit.")
    hit: Literal["file", "line"] = choice("file line", "What a hit is: a file with the lines that matter, or one line.")
    line_chars: int = number(300, "A line of more characters is cut around the words that matched.", least=20)
    memory_tokens: int = number(2048, "The token budget of the memory block, and of what a tool answers.")
    pinned_tokens: int = number(
        512,
        "The token budget, added to memory_tokens and at most a quarter of it, of the lines of memory.md below `# Always` or with #pin, which a direct chat is always given. 0, or hit = line: none.",
    )
    max_injected_chars: int = number(0, "The most characters of the memory block, and of what a tool answers; 0: no limit.")
    originals: Literal["fallback", "always", "never"] = choice(
        "fallback always never", "Whether messages behind a summary are searched. fallback: if the budget is not full."
    )
    citations: Literal["auto", "on", "off"] = choice(
        "auto on off", "Whether line numbers (`#L4-L6,L9`) follow a path. auto: except in groups and with `line`."
    )
    in_groups: Literal["own", "all", "none"] = choice(
        "own all none", "Which memories are used in a group. own: its own and shared ones; all; none."
    )
    projects: Literal["prefer", "only", "all"] = choice(
        "prefer only all", "Messages of other projects. prefer: if they answer much better; only: never; all: always."
    )
    worktrees: Literal["together", "apart"] = choice(
        "together apart", "The worktrees of a git repository. together: they are one project; apart: each is its own."
    )


@dataclass(frozen=True, slots=True, repr=False)
class Context:
    """The recent conversation that goes into a turn."""

    window_tokens: int = number(
        0, "The context window in tokens of the model that answers: a small one shrinks both budgets. 0: they hold."
    )
    history_tokens: int = number(4096, "The token budget of the history block.")
    min_messages: int = number(5, "The least messages in the block; they are shortened before they are left out.")
    max_messages: int = number(20, "The most messages in the block; its oldest leave in steps of a half.", least=1)
    message_chars: int = number(500, "A message of more characters is cut, the assistant's messages first.", least=20)
    memory_in: Literal["question", "system", "message"] = choice(
        "question system message",
        "Where memory is put: before the question in its message, in the system message, or in a user's message of its own.",
    )
    start_tokens: int = number(800, "The token budget of what a client's session begins with; 0: nothing.")
    say_nothing: bool = flag(False, "Where memory has nothing on the question, say so in one line.")
    alternate: bool = flag(False, "Join messages of one role in a row and begin with the user's, as Mistral and Gemma demand.")


@dataclass(frozen=True, slots=True, repr=False)
class Llm(Provider):
    """The model that writes summaries and answers."""

    provider: Literal["auto", "openai", "extractive"] = choice(
        "auto openai extractive",
        "What writes summaries. auto: openai if base_url or model is set, else extracts without a model.",
    )
    temperature: float = number(0.3, "The sampling temperature of the model.", most=2)
    context_tokens: int = number(8192, "The context window in tokens of the model that summarises.", least=512)
    timeout: timedelta = duration("10m", "The time limit of one completion.", least="1s")
    max_calls_per_day: int = number(200, "The most calls for summaries a day; 0 allows none.")


@dataclass(frozen=True, slots=True, repr=False)
class Worker:
    """The processes that write summaries."""

    concurrency: int = number(3, "Tasks at once; with 3 a server on this machine gets one.", least=1, most=64)
    lease: timedelta = duration("120s", "A task whose worker sends no heartbeat for this long is requeued.", least="1s")

    @property
    def beat(self) -> timedelta:
        """The time between two heartbeats of a worker."""
        return self.lease / 8


@dataclass(frozen=True, slots=True, repr=False)
class Turns:
    """Who answers, and what happens around a turn."""

    reply: Literal["off", "worker"] = choice(
        "off worker", "Who answers what waits in inbox.json. off: the assistant. worker: recalld, with the model of `llm`."
    )
    tries: int = number(3, "After so many answers that can't be used an input is set aside, in worker/failed/.", least=1)
    max_calls_per_day: int = number(500, "The most calls for answers a day, beside those for summaries; then inputs wait.")
    overflow: Literal["off", "memory", "summary"] = choice(
        "off memory summary",
        "memory: what leaves a session, or is past `summarize`, goes into memory.md. summary: what leaves a turn, its summary.",
    )
    wait: timedelta = duration("2m", "How long a turn waits for the model at most; then it goes on without.", least="1s")


@dataclass(frozen=True, slots=True, repr=False)
class Conversation:
    """The running summary of one conversation, and a session's overflow."""

    overflow_min: ClassVar[int] = 3  # fewer overflowing messages are not summarised
    limit: float = number(0.8, "A talk is summed up when it takes more than this share of the context.", least=0.1, most=1)
    max_messages: int = number(50, "It is summed up when it has more messages than this.", least=1)
    keep_turns: int = number(
        3, "How many of the last turns stay word for word, while they take at most two fifths of that share; 0: none."
    )
    max_history: int = number(100, "How many messages a session has before it overflows.", least=1)


@dataclass(frozen=True, slots=True, repr=False)
class Summarize:
    """How a session is summarised into one long-term line, and from how many words on a day is worth a call."""

    least: int = number(
        80,
        "No model is asked for a day of fewer words. Without a model's summary a day of at most 12 short messages has none: "
        "its file is shown. 0: every day has a summary.",
    )
    message_threshold: int = number(20, "More new messages than this in a session are summed up (`turns.overflow`).")
    char_threshold: int = number(10000, "More new characters than this in a session are summed up (`turns.overflow`).")
    keep_recent: int = number(10, "How many of its newest messages stay out of that.")
    char_limit: int = number(2000, "The most characters of the line, within a quarter of the context.", least=20, most=20_000)


@dataclass(frozen=True, slots=True, repr=False)
class Tools:
    """What the tools for the assistant answer."""

    search_results: ClassVar[int] = 15  # lines that a line search returns
    dialect: Literal["recall", "lines"] = choice(
        "recall lines", "The tools that a model gets. recall: a ranked search; lines: a search for keywords, line by line."
    )


@dataclass(frozen=True, slots=True, repr=False)
class Embeddings:
    """The server of `recall.backend = "hybrid"`, and how much room vectors have."""

    cache_bytes: ClassVar[int] = 500_000_000  # the most bytes of vectors; the newest memories get theirs first
    base_url: str = text("", "The address of a server with `/v1/embeddings`.", _URL)
    model: str = text("", "The model's name on that server; empty: no embeddings.", _LINE)
    api_key_env: str = text("OPENAI_API_KEY", _KEY_ENV, _VARIABLE, secret=True)
    question_prefix: str = text(
        "", 'What the model wants before a question: "query: " for E5, "search_query: " for Nomic', _LINE
    )
    text_prefix: str = text(
        "", 'What the model wants before a text that is searched: "passage: " for E5, "search_document: " for Nomic.', _LINE
    )


@dataclass(frozen=True, slots=True, repr=False)
class Serve:
    """The HTTP service on this machine: REST, MCP, page."""

    host: str = text("127.0.0.1", "The address that the service listens on.", _HOST)
    port: int = number(0, "The port that the service listens on, such as 8377; 0: there is no service.", most=65535)
    allow_remote: bool = flag(False, "Allow a host that other machines can reach; whoever has the token reads all of memory.")
    upstream: str = text(
        "",
        "The model server behind the proxy at `/v1`, such as http://127.0.0.1:11434/v1; its key is that of `llm.api_key_env`.",
        _URL,
    )
    skip: tuple[str, ...] = patterns(
        "Further patterns of prompts that a client sends for itself, such as for a title: no memory, not recorded."
    )


@dataclass(frozen=True, slots=True, repr=False)
class Privacy:
    """Which secrets are hidden, and where."""

    redact: Literal["llm", "store", "off"] = choice(
        "llm store off",
        "Where secrets are hidden. llm: in extracts, and in what a model gets for summaries and embeddings; store: there, and a mark stands in their place in messages, lines and turns before these are stored; off: nowhere. With llm and off memory and its index keep them. Names of files and log.jsonl have none; for what a turn shows see reveal.",
    )
    reveal: bool = flag(
        True,
        "Show in the memory block of a direct chat the secrets that its question asks for (with redact = off all of them). false: show none, nor in the history block. In a group none is shown in any case.",
    )
    direct: tuple[str, ...] = names(
        "Sessions that the user alone reads, though a message or their name says they are a group's."
    )
    patterns: tuple[str, ...] = patterns("Further patterns of what counts as a secret. Names of files do not regard them.")
    personal: bool = flag(False, "Mail addresses and phone numbers count as secrets, but not in file names.")

    @property
    def forms(self) -> tuple[str, ...]:
        """The patterns of what counts as a secret beside what always does."""
        if not self.personal:
            return self.patterns
        from ..text.secret_forms import personal  # here: few configurations have it

        return (*self.patterns, *personal())

    def knowing(self, texts: Iterable[str]) -> Privacy:
        """Return these settings, by which a secret of one of the texts is one in the others, too."""
        from ..text.redact import find_secrets, said_again  # here: only what a model gets is looked through

        values = {text[secret.start : secret.end] for text in texts for secret in find_secrets(text, self.forms)}
        return replace(self, patterns=(*self.patterns, *said_again(values)))


@dataclass(frozen=True, slots=True, repr=False)
class Log:
    """Retention of log.jsonl."""

    rotate_bytes: ClassVar[int] = 10_000_000  # a new log file is started at this size, or after a day
    keep_bytes: ClassVar[int] = 500_000_000  # the most bytes of all log files together, compressed
    keep_days: int = number(30, "For how many days old log files are kept.")


@dataclass(frozen=True, slots=True, repr=False)
class Care:
    """How the workspace is watched and protected."""

    quarantine_limit: ClassVar[int] = 10  # how many copies of damaged files are kept
    previous_bytes: ClassVar[int] = 20_000_000  # the most bytes of replaced and deleted texts; the newest are kept
    poll: timedelta = duration("1s", "The time between two checks of history.json and inbox.json.", least="50ms")
    tree_poll: timedelta = duration("5s", "The same of the other files.", least="50ms")
    previous_age: timedelta = duration("365d", "How long replaced and deleted texts stay in .recalld/previous/.", least="30d")
    trash_days: int = number(90, "How many days pruned files stay in trash/ before they are deleted.", least=30)
    diary: bool = flag(True, "Say in CHANGES.md what was done to memory, and keep what `recalld undo` needs.")
    allow_network_fs: bool = flag(False, "Allow a workspace on a network file system, where locks may not work.")
    quiet_hours: str = text(
        "",
        "Hours of the workspace's time zone in which nothing begins that is not urgent: summaries, the nightly fsck and backup. Messages are archived and found at all times.",
        _HOURS,
    )
    on_trouble: str = text(
        "",
        "A command for the shell, run by the nightly fsck for what is newly wrong. RECALLD_TROUBLE has the sentences, a line each, RECALLD_WORKSPACE the workspace; after 30 s it is killed.",
        _COMMAND,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Sealed:
    """What the hosts and the workers of a pool have alike."""

    prefix: str = text(
        "recalld", "What the names of its keys in Redis begin with; workers and hosts of one pool have the same.", _NAME
    )
    key_env: str = text(
        "RECALLD_POOL_KEY",
        "The name of the variable with the key that seals what leaves this host, 32 bytes in base64; two with a comma between while it is changed.",
        _VARIABLE,
        secret=True,
    )


@dataclass(frozen=True, slots=True, repr=False)
class Pool(Sealed):
    """A pool of workers elsewhere that does the tasks (`recalld[pool]`)."""

    url: str = text(
        "",
        "The Redis or Valkey of a pool of workers, which then do every task, such as rediss://redis.example:6379/0; a password belongs in the variable RECALLD_POOL_URL. Empty: workers are started here.",
        _REDIS,
        secret=True,
    )
    profile: str = text("default", "Which model of the pool writes: the name of a section of the workers' pool.toml.", _NAME)


@dataclass(frozen=True, slots=True, repr=False)
class Sources:
    """What the supervisor takes in by itself, as `recalld import` does: logs of clients, folders, other workspaces."""

    take: tuple[TakenSource, ...] = take()
    sessions: tuple[str, ...] = names(
        "Which sessions are taken, as patterns such as `work-*`, where a source says nothing else (`session`); none: all."
    )
    patience: timedelta = duration("7d", "For how long a source may be away before anything is said of it.")


@dataclass(frozen=True, slots=True, repr=False)
class Crew(Sealed):
    """One worker process of a pool, [pool] of its pool.toml."""

    threads: int = number(16, "Tasks done at once by this process.", least=1, most=256)
    grace: timedelta = duration("25s", "For how long a worker that is stopped lets its calls end.")
