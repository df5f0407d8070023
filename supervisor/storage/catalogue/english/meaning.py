"""What the keys of the configuration mean, as `recalld init` writes it."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "file": "The configuration of this workspace. Every key, its default and its meaning: docs/reference/configuration.md.",
    "variables": "A key can also be set by a variable, which wins: RECALLD_RECALL_MAX_HITS=0.",
    "timezone": "The time zone of calendar days; `init` sets it to the machine's. A change moves no existing file.",
    "base_url": "The address of an OpenAI-compatible server (Ollama listens on port 11434).",
    "model": "The model's name on that server.",
    "least": "A day of fewer words has its extract, without a call, and so has what the extract quotes whole; 0: all is asked for.",
    "max_calls_per_day": "The most calls for summaries a day; 0 allows none.",
    "backend": "What finds passages: `auto` (words, and meaning in a supervisor), `bm25` (words), `use` or `e5` (words, and meaning by this model), `hybrid` (words, and meaning by the server of [embeddings]), or an installed model.",
    "meaning": "What the passage that is nearest by meaning gains, as a share of the best score by words; 0: words alone.",
    "max_hits": "The most hits in the memory block; 0: no limit.",
    "memory_tokens": "The token budget of the memory block, and of what a tool answers.",
    "history_tokens": "The token budget of the history block.",
    "redact": "Where secrets are hidden. llm: in what a model gets for summaries and embeddings; store: there, and a mark stands in their place in messages, lines and turns before these are stored; off: nowhere. With llm and off memory and its index keep them. Names of files and log.jsonl have none; for what a turn shows see reveal.",
    "port": "The port that the service listens on, such as 8377; 0: there is no service.",
    "upstream": "The model server behind the proxy at `/v1`, such as http://127.0.0.1:11434/v1; its key is that of `llm.api_key_env`.",
    "direct": "Sessions that only the user reads, though a message or their name says that they are a group's.",
    "reveal": "Show in the memory block of a direct chat the secrets that its question asks for (with redact = off all of "
    "them). false: show none, nor in the history block. In a group none is shown in any case.",
    "skip": "Further patterns of prompts that a client sends for itself, such as for a title: no memory, not recorded.",
    "pool_url": "The Redis or Valkey of a pool of workers, which then do every task, such as rediss://redis.example:6379/0; a password belongs in the variable RECALLD_POOL_URL. Empty: workers are started here.",
}
