"""
The model, as supervisor and worker know it: its address and key, the daily cap of calls (`CallLog`), and its prompts.

Every call is recorded in `.recalld/calls.jsonl` before it is made, and a call that can't be recorded is not made. So the cap
holds although processes are killed, results are lost and disks are full. Deleting the file starts the day's count again.

The templates of prompts are `daily-summary.zh.md`, … in the package `prompts`, or in the workspace's `prompts/`, which wins.
Placeholders are replaced literally and in one pass, so that braces in a conversation break nothing, and no text of the material
counts as a placeholder. A template may consist of turns, each below a line `<!-- system -->`, `<!-- user -->` or
`<!-- assistant -->`: what never changes, a worked example, and the material last. Source: docs/reference/protocol.md, 1 and 6.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast, get_args
from urllib.parse import urlsplit

from ..storage.clock import from_wire, local, local_day, to_wire
from ..storage.disk import read_outside
from ..storage.errors import BadConfig, BadRequest
from ..storage.files import Files
from ..storage.lenient_json import parse_json, render_json
from ..storage.texts import Text
from ..text.language import Language
from ..text.lazy_re import lazy_re
from .config_keys import Llm, Privacy
from .paths import WorkspacePaths

#: The key where none is configured: local servers need none, but the client library needs a value.
NO_KEY: Final = "none"
#: The name of the key in systemd's folder of credentials.
CREDENTIAL: Final = "recalld-api-key"
#: Material beyond this share of the context is summarised in pieces.
MATERIAL_SHARE: Final = 0.8
#: With more lines than _MANY, calls older than _KEPT are dropped: that is enough for today in any time zone.
_MANY: Final = 4_096
_KEPT: Final = timedelta(days=3)
#: What a call is counted for: each has a cap of its own.
Account: TypeAlias = Literal["summaries", "replies"]
#: The placeholders that a template must have. {date} and {month} are both the period, {daily_summaries} is {messages} too.
PLACEHOLDERS: Final = {
    name: tuple(places.split())
    for name, places in {
        "daily-summary": "date messages",
        "monthly-summary": "month daily_summaries",
        "merge-summary": "previous messages",
        "running-summary": "current_summary new_dialogue_content",
        "conversation-to-memory": "messages",
        "recursive-summary": "previous_summary past_messages char_limit",
        "overflow-summary": "messages",
        "reply": "",
        "lookup": "results calls_left",
        "memory-entry": "date source content",
        "heartbeat-greeting": "ai_name time_desc user_name idle_hours user_context personality_desc memory_context",
    }.items()
}
#: The sentence before a template without {char_limit} that limits the summary; the template stays as it is.
LENGTH_ASKED: Final = {"zh": "（新的摘要一共不超过 {} 个字。）", "en": "(The new summary has at most {} characters.)"}
#: The templates of the summaries of days and months.
_OF_SUMMARIES: Final = ("daily-summary", "monthly-summary", "merge-summary")
_PLACEHOLDER: Final = lazy_re("{(" + "|".join(sorted({name for names in PLACEHOLDERS.values() for name in names})) + ")}")
_VERSION_DIGITS: Final = 12
#: The line before a turn of a conversation; a template without one is a single turn of the user.
_TURN: Final = lazy_re(r"^<!-- (system|user|assistant) -->[ \t]*\n", re.MULTILINE)


# ── the server and its key ───────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Which model is asked, where, and with which key: marks of 4 hex digits, enough to see a change, too few to find a key."""

    server: str
    key: str


def model_of(llm: Llm) -> str:
    """Return the name of the configured model; BadConfig where none is named."""
    if not llm.model:
        raise BadConfig("llm.model", Text('no model is named; give the name that the server knows, such as "qwen3:8b"'))
    return llm.model


def writes_extracts(llm: Llm) -> bool:
    """Return whether no model is configured, so that every summary is an extract (docs/architecture.md, rule 9)."""
    return llm.provider == "extractive" or (llm.provider == "auto" and not (llm.base_url or llm.model))


def endpoint_of(llm: Llm, environ: Mapping[str, str]) -> Endpoint:
    """Return the marks of the configured model and of its key, which *environ* or systemd has."""
    return Endpoint(_mark(llm.provider, llm.base_url, llm.model), _mark(_stored_key(llm.api_key_env, environ)))


def find_key(name: str, environ: Mapping[str, str], option: str = "llm.api_key_env") -> str:
    """
    Return the key from the variable *name*, else from systemd's credential of that name or CREDENTIAL; else NO_KEY.

    BadConfig, which names the configuration key *option*, where the value can't be a key.
    """
    key = _stored_key(name, environ)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadConfig(option, Text("the key found there has characters that no key has; check what was pasted"))
    return key or NO_KEY


def _stored_key(name: str, environ: Mapping[str, str]) -> str:
    key = environ.get(name, "").strip()
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    for path in (Path(folder) / name, Path(folder) / CREDENTIAL) if folder and not key else ():
        with contextlib.suppress(OSError, UnicodeDecodeError):
            key = key or read_outside(path).decode().strip()
    return key


def _mark(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:4]


def without_credentials(url: str) -> str:
    """Return the address without path, user and password, for events and errors."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def is_local(url: str) -> bool:
    """Return whether the address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


# ── calls ────────────────────────────────────────────────────────────────────


class CallLog:
    """Records and counts the calls of one workspace; days are local days of *zone*."""

    def __init__(self, files: Files, paths: WorkspacePaths, zone: tzinfo) -> None:
        self._files = files
        self._path = paths.state / "calls.jsonl"
        self._lock = paths.state / "calls.lock"
        self._zone = zone

    def today(self, now: datetime, account: Account = "summaries") -> int:
        """Return how many calls of the *account* began on the local day of *now*."""
        return self._count(self._calls(), now, account)

    def begin(self, now: datetime, most: int | None, account: Account = "summaries", count: int = 1) -> bool:
        """
        Record, durably, that *count* calls begin; returns False and records nothing where the day's *most* would be passed.

        Busy or OSError when it can't be recorded.
        """
        with self.locked():
            calls = self._calls()
            if most is not None and self._count(calls, now, account) + count > most:
                return False
            if len(calls) >= _MANY:
                recent = [_line(at, whose) for at, whose in calls if abs(now - at) < _KEPT]
                self._files.replace(self._path, b"".join(recent), self._files.read_stable(self._path))
            self._files.append(self._path, _line(now, account) * count)
        return True

    def give_back(self, at: datetime, count: int, account: Account) -> None:
        """Take *count* calls that were recorded at this time out again, as far as they are there: they were not made."""
        with self.locked():
            before = self._files.read_stable(self._path)
            lines = before.data.splitlines(keepends=True) if before else []
            for _ in range(min(count, lines.count(_line(at, account)))):
                lines.remove(_line(at, account))
            if before:
                self._files.replace(self._path, b"".join(lines), before)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock under which the calls, and the state of the provider, are read and changed."""
        self._files.make_folder(self._path.parent)
        with self._files.lock(self._lock):
            yield

    def _count(self, calls: Iterable[tuple[datetime, Account]], now: datetime, account: Account) -> int:
        return sum(whose == account and at.date() == local_day(now, self._zone) for at, whose in calls)

    def _calls(self) -> list[tuple[datetime, Account]]:
        """Return the local time of each call, and its account; lines that can't be parsed are skipped."""
        if self._files.disk.stat(self._path) is None:
            return []
        calls: list[tuple[datetime, Account]] = []
        for line in self._files.disk.read(self._path).splitlines():
            try:
                raw = parse_json(line)
                account: Account = "replies" if raw.get("for") == "replies" else "summaries"
                calls.append((local(from_wire(raw["at"]), self._zone), account))
            except (ValueError, TypeError, LookupError, AttributeError):
                continue
        return calls


def _line(at: datetime, account: Account) -> bytes:
    return render_json({"at": to_wire(at), **({"for": account} if account == "replies" else {})}) + b"\n"


# ── prompts ──────────────────────────────────────────────────────────────────


class Turn(NamedTuple):
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


#: What a model is asked: the turns of a conversation, the last of which is the user's; or that one alone.
Prompt: TypeAlias = "str | tuple[Turn, ...]"


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The template of one file; *name* is the file's, without a folder."""

    name: str
    text: str

    def fill(self, **values: str) -> str:
        """
        Return the prompt as one message, without a worked example, with these values in the places of their names.

        A placeholder without a value stays.
        """
        *before, last = self._unfilled()
        system = [turn.content for turn in before if turn.role == "system"]
        return _filled("\n\n".join([*system, last.content]), values)

    def turns(self, **values: str) -> tuple[Turn, ...]:
        """Return the prompt as turns, with these values in the last one: those before never change, and a server keeps them."""
        *before, last = self._unfilled()
        return (*before, Turn(last.role, _filled(last.content, values)))

    def _unfilled(self) -> list[Turn]:
        _, *rest = _TURN.split(self.text)
        turns = zip(rest[::2], rest[1::2], strict=True)
        return [Turn(cast("Any", role), text.strip()) for role, text in turns] or [Turn("user", self.text)]


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def turns_of(prompt: Prompt) -> tuple[Turn, ...]:
    """Return the turns of the prompt."""
    return (Turn("user", prompt),) if isinstance(prompt, str) else prompt


def text_of(prompt: Prompt) -> str:
    """Return all that the prompt says."""
    return "\n\n".join(turn.content for turn in turns_of(prompt))


@cache
def shipped_template(name: str, language: Language) -> PromptTemplate:
    """Return the template that recalld ships."""
    from importlib import resources  # lazy: long-term lines are read without a template

    file = f"{name}.{language}.md"
    return read_template(name, file, resources.files("recalld.prompts").joinpath(file).read_bytes())


def load_template(name: str, language: Language, files: Files, paths: WorkspacePaths) -> PromptTemplate:
    """Return the workspace's template, else the shipped one; BadConfig when it lacks a placeholder."""
    if name not in PLACEHOLDERS:
        raise BadRequest(
            "name", Text("there is no prompt {name!r}; give one of {names}", name=name, names=", ".join(PLACEHOLDERS))
        )
    if language not in get_args(Language):
        raise BadRequest("language", Text("{language!r} is no language of the prompts; give zh or en", language=language))
    file = f"{name}.{language}.md"
    version = files.read_stable(paths.root / "prompts" / file)
    return read_template(name, file, version.data) if version else shipped_template(name, language)


def without_secrets(text: str, language: Language, privacy: Privacy) -> str:
    """Return the text as a model may read it."""
    from ..text.redact import HIDDEN, redacted  # lazy: a template is filled in without it

    return text if privacy.redact == "off" else redacted(text, HIDDEN[language], privacy.forms)


def version_of(used: Iterable[PromptTemplate]) -> str:
    """Return the version of the templates: the first 12 digits of `cat FILES | sha256sum`, with the files ordered by name."""
    texts = [text for _, text in sorted({(template.name, template.text) for template in used})]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:_VERSION_DIGITS] if texts else ""


def version_of_summaries(files: Files, paths: WorkspacePaths) -> str:
    """Return the version of all prompts for days and months, "" where one is wrong, which a worker reports."""
    try:
        return version_of(
            load_template(name, language, files, paths) for name in _OF_SUMMARIES for language in get_args(Language)
        )
    except BadConfig:
        return ""


def read_template(name: str, file: str, data: bytes) -> PromptTemplate:
    """Return the template *name* that a file holds; BadConfig when it lacks a placeholder."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise BadConfig(
            f"prompts/{file}", Text("it is not UTF-8; save it as UTF-8, or delete it for the wording that recalld ships")
        ) from None
    present = {match[1] for match in _PLACEHOLDER.finditer(text)}
    for needed in PLACEHOLDERS[name]:
        if needed not in present:
            raise BadConfig(
                f"prompts/{file}",
                Text("it lacks {{{name}}}; add it, or delete the file for the wording that recalld ships", name=needed),
            )
    return PromptTemplate(file, text)
