"""
A conversation as one line for the long-term memory, as in 000, and that line of a session, also of what overflows its history.

000 drops every short message that begins like a courtesy (对花生过敏), stops at its limit without saying so, and separates a
question from the "好的" that decides it. Names, thresholds and forms are its own.

A model answers differently each time. So its answer and the new place of the marker are written down before the line is. The
next process writes that line, if it is not there yet, and moves the marker: after a crash at any point each line is there once.
A lock of the session is held from reading to moving the marker, so that two processes neither pay twice nor write two lines.
Source: docs/reference/protocol.md, 11.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, tzinfo
from itertools import pairwise
from typing import Any, ClassVar, Final

from ..events import Events
from ..extracts.extract import Kind, extract
from ..longterm.lines import one_line
from ..longterm.long_term_file import LongTermFile, Written
from ..protocol.config import Config
from ..protocol.dated_file import Block
from ..protocol.llm import PromptTemplate, shipped_template, without_secrets
from ..protocol.marks import without_marks
from ..protocol.parts import said_as
from ..storage.clock import NEVER, Deadline, from_wire, local_day
from ..storage.errors import BadRequest, Busy, NoSummary
from ..storage.texts import Text
from ..summaries.model import CallLimits, Model
from ..text.language import SKIP_PREFIXES, Language, is_small_talk, language_of
from ..text.llm_input import Entry, Fold, estimate_tokens, quote
from ..text.snippet import snippet_span
from .asking import ChatStream, SummaryWriter, in_one_line, model_of
from .running import Said, answers_question, dialogue, read_said, whole_pairs
from .session_files import TURN_WAIT_S, SessionFiles, SessionTalk
from .sessions import OVERFLOW, Intent, Progress, SessionPart, is_spoken, overflowing, past_threshold, source_of

#: Why a model was not asked at all; what comes back by itself costs a session no attempt.
_NOT_ASKED: Final = frozenset({"paused", "spent"})
#: The most tokens of the conversation in one call; in Chinese the 4,000 characters of 000.
_PIECE_TOKENS: Final = 4_000
#: The part of the model's context that the line may take.
_LINE_PART: Final = 4
#: Of 000: characters of a message and of all that are shown, and what is more than enough to sum up.
_MESSAGE_CHARS: Final = 300
MAX_CHARS: Final = 4_000
MESSAGE_THRESHOLD: Final = 20
CHAR_THRESHOLD: Final = 10_000
KEEP_RECENT: Final = 10
_MORE: Final = {"zh": "（还有 {} 条没有列出）", "en": "({} more messages are not shown)"}


class MessageAnalyzer:
    """Decides which messages are summed up, and formats them; an element that is no message is passed over."""

    _SKIP_PREFIXES: ClassVar[tuple[str, ...]] = SKIP_PREFIXES

    def format_messages_for_summary(self, messages: Sequence[Mapping[str, Any]], max_chars: int = MAX_CHARS) -> str:
        """
        Return the messages as lines `ROLE: text`, oldest first, at most *max_chars* characters, without courtesies.

        A message of more than 300 characters is cut. Where not all fit, the last line says how many are missing;
        `ConversationSummarizer` leaves none out.

        >>> messages = [{"role": "user", "content": "对花生过敏"}, {"role": "assistant", "content": "好的"}]
        >>> MessageAnalyzer().format_messages_for_summary(messages)
        'USER: 对花生过敏'
        """
        lines = [_shortened(entry, _MESSAGE_CHARS) for entry in entries_of(messages)]
        whole = "\n".join(lines)
        if len(whole) <= max_chars:
            return whole
        more = _MORE[language_of(whole)]
        shown: list[str] = []
        room = max_chars - len(more.format(len(lines)))
        for line in lines:
            room -= len(line) + 1
            if room < 0:
                break
            shown.append(line)
        return "\n".join([*shown, more.format(len(lines) - len(shown))])[: max(0, max_chars)]

    def should_summarize(
        self,
        messages: Sequence[Mapping[str, Any]],
        message_threshold: int = MESSAGE_THRESHOLD,
        char_threshold: int = CHAR_THRESHOLD,
    ) -> bool:
        """Return whether there are more messages, or more characters in them, than these."""
        return len(messages) > message_threshold or sum(len(entry.text) for _, entry in _read_all(messages)) > char_threshold

    def split_messages(
        self, messages: Sequence[Mapping[str, Any]], keep_recent: int = KEEP_RECENT
    ) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
        """
        Return the messages to sum up and those to keep, the *keep_recent* newest.

        A call of a tool and its results stay together, and so do a question and the courtesy that answers it.
        """
        if keep_recent < 0:
            raise ValueError(f"keep_recent is {keep_recent}, and must be 0 or more")
        at = max(0, len(messages) - keep_recent)
        entries = _read_all(messages)
        may_divide = whole_pairs([entry for _, entry in entries]).may_divide
        inside = {place for (place, _), may in zip(entries, may_divide, strict=True) if not may}
        inside |= {place for (_, before), (place, entry) in pairwise(entries) if answers_question(entry, before)}
        while 0 < at < len(messages) and at in inside:
            at -= 1
        return list(messages[:at]), list(messages[at:])


class ConversationSummarizer:
    """
    Sums up conversations in one line of at most *char_limit* characters, and at most a quarter of the model's context.

    *provider* is any object with `chat_stream(messages=…, temperature=…)`, which gives an iterator of texts or of chunks, plain
    or asynchronous. *template* returns the prompts; context, temperature and time limit are those of `llm` in *config*;
    after the *deadline* no model is waited for. `should_summarize` and `get_messages_to_keep` are the analyzer's.
    """

    analyzer = MessageAnalyzer()
    should_summarize = analyzer.should_summarize
    get_messages_to_keep = analyzer.split_messages

    def __init__(
        self,
        provider: ChatStream | Model,
        char_limit: int = 2000,
        *,
        template: Callable[[str, Language], PromptTemplate] = shipped_template,
        config: Config | None = None,
        deadline: Deadline = NEVER,
    ) -> None:
        if char_limit < 1:
            raise ValueError(f"char_limit is {char_limit}, and must be 1 or more")
        self._model, self._char_limit, self._template = model_of(provider), char_limit, template
        self._deadline = deadline
        self._config = config or Config()

    async def summarize_conversation(self, messages: Sequence[Mapping[str, Any]], previous_summary: str = "") -> str:
        """
        Return the conversation in one line, several matters separated by `；`, together with the *previous_summary*.

        What is too long goes in pieces, oldest first, and nothing is left out. Where there is nothing to record it is the
        *previous_summary*, and a conversation of courtesies asks the model nothing. NoSummary if the model fails, or writes a
        text that can't be kept.
        """
        entries = entries_of(messages, self._config.archive.zone)
        language = language_of("\n".join(entry.text for entry in entries))
        config = self._config
        privacy = config.privacy.knowing(entry.text for entry in entries)
        entries = [replace(entry, text=without_secrets(entry.text, language, privacy)) for entry in entries]
        line_tokens = config.llm.context_tokens // _LINE_PART
        fold = Fold(entries, previous_summary, language)
        writer = self._writer("\n".join(entry.text for entry in entries), line_tokens)
        while fold.left:
            name, place, values = "conversation-to-memory", "messages", dict[str, str]()
            if fold.so_far:
                name, place = "recursive-summary", "past_messages"
                previous = without_secrets(fold.so_far, language, privacy)
                values = {"previous_summary": quote(previous, language), "char_limit": str(writer.max_chars)}
            await writer.add_piece(fold, name, values, place)
            fold.so_far = in_one_line(fold.so_far)
        return fold.so_far

    def _writer(self, text: str, line_tokens: int) -> SummaryWriter:
        """Return the writer for a line about *text*, of at most *line_tokens* with as many characters as that has."""
        llm = self._config.llm
        most = min(self._char_limit, max(1, line_tokens * len(text) // max(1, estimate_tokens(text))))
        return SummaryWriter(
            model=self._model,
            template=self._template,
            max_chars=most,
            size=lambda text: len(in_one_line(text)),
            most=most,
            limits=CallLimits(timeout=llm.timeout, deadline=self._deadline, temperature=llm.temperature),
            context_tokens=llm.context_tokens,
            answer_tokens=line_tokens,
            piece_tokens=_PIECE_TOKENS,
        )


def entries_of(messages: Sequence[Mapping[str, Any]], zone: tzinfo | None = None) -> list[Entry]:
    """Return what people, assistants and tools say as lines `ROLE: text`, without courtesies; with days in a *zone*."""
    entries = [entry for _, entry in _read_all(messages) if entry.role != "system"]
    days = [_day_of(entry, zone) if zone else None for entry in entries]
    return [replace(entry, head=entries[n].role.upper(), day=days[n]) for n, entry in dialogue(entries, "en")]


def _day_of(message: Said, zone: tzinfo) -> date | None:
    with suppress(ValueError, TypeError):
        return local_day(from_wire(message.raw["createdAt"]), zone) if message.raw.get("createdAt") else None
    return None


def _read_all(messages: Sequence[Mapping[str, Any]]) -> list[tuple[int, Said]]:
    entries = []
    for n, raw in enumerate(messages):
        with suppress(ValueError):
            entries.append((n, read_said(raw)))
    return entries


def _shortened(entry: Entry, chars: int) -> str:
    if len(entry.text) > chars:
        entry = replace(entry, text=f"{entry.text[: snippet_span(entry.text, chars)[1]]}...")
    return entry.shown("en")


# ── of a session ─────────────────────────────────────────────────────────────


def extract_line(messages: Sequence[Mapping[str, Any]], zone: tzinfo, longest: int) -> str:
    """
    Return what an extract quotes of messages {role, content, createdAt, name}, on one line; "" for courtesies.

    It has the room of a month's: no later extract is made of what leaves a conversation.
    """
    blocks = [
        Block("", message["role"], message["content"], from_wire(message["createdAt"]), {"name": str(message.get("name", ""))})
        for message in messages
    ]
    if not blocks:
        return ""
    first, last = (local_day(block.created_at, zone) for block in (blocks[0], blocks[-1]))
    kind: Kind = "day" if first == last else "month"
    return in_one_line(extract(blocks, period=last.isoformat(), zone=zone, kind=kind, longest=longest, quotes_alone=True))


def substantial(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return the messages without those in which a person only greets or thanks.

    None where there is no other of a person's: what an assistant says in such a talk is no fact.
    """
    kept = [message for message in messages if message["role"] != "user" or not is_small_talk(str(message["content"]))]
    return kept if len(kept) == len(messages) or any(message["role"] == "user" for message in kept) else []


class SessionLines:
    """
    Writes long-term lines about sessions.

    What is given to each method as *write* gets chat-completions messages without secrets, and returns the line, "" if there
    is nothing to record; it may raise NoSummary.
    """

    def __init__(self, files: SessionFiles, talk: SessionTalk, long_term: LongTermFile, config: Config, events: Events) -> None:
        self._files, self._talk, self._long_term, self._config, self._events = files, talk, long_term, config, events

    def summarize(
        self, session: str, write: Callable[[Sequence[dict[str, Any]]], str], now: datetime, *, again: bool = False
    ) -> Written | None:
        """
        Write what is new in the session since it was summed up last, with *again* all of it, as one line, and return that.

        None if nothing is new, or nothing of it worth a line. BadRequest if no message names the session, Busy if another
        process sums it up now.
        """
        if not self._talk.messages(session, now, newest=1):  # asked first: a session that is not there gets no lock file
            raise BadRequest("session", Text("no message names {session!r}; give it as the messages have it", session=session))
        with self._files.locked(session):
            progress = self._settled(session, now)
            part = self._talk.read(session, now, None if again else progress.markers.get("summary"))
            fresh = part.fresh(part.blocks)
            if not fresh:
                return None
            text = write(self._shown(fresh))
            return self._write(
                session, progress, Intent("summary", source_of(session, fresh), text, part.past(fresh)), len(fresh), now
            )

    def summarize_overflow(
        self,
        session: str,
        write: Callable[[Sequence[dict[str, Any]]], str],
        now: datetime,
        *,
        since: datetime | None = None,
        in_turn: bool = False,
    ) -> Written | None:
        """
        Write what newly left the last `conversation.max_history` messages of the session as one line, and return that.

        With *since*, the time of the oldest message that a turn shows, all before it has left. *in_turn* a session that has
        grown past `summarize.message_threshold` or `summarize.char_threshold` is summed up but for its newest. None if too
        little left, if it is not worth a line, or if another process does it now. A model that fails is asked again after a
        while, and nothing is raised: the turn goes on, and what left is in the next line.
        """
        try:
            with self._files.locked(session, TURN_WAIT_S):
                progress = self._settled(session, now)
                if not progress.failure.is_over(now):
                    return None
                part = self._talk.read(session, now, progress.markers.get("overflow"))
                left, source = self._left(session, part, since, in_turn=in_turn)
                if not left:
                    return None
                try:
                    text = write(self._shown([block for block in left if is_spoken(block)]))
                except NoSummary as error:
                    if error.reason not in _NOT_ASKED:
                        failure = progress.failure.again(now)
                        self._files.keep(session, replace(progress, failure=failure))
                        self._events.emit("conversation_failed", reason=error.reason, attempts=failure.attempts)
                    return None
                return self._write(session, progress, Intent("overflow", source, text, part.past(left)), len(left), now)
        except Busy:
            return None

    def history(self, session: str, now: datetime) -> list[dict[str, Any]]:
        """Return what people and the assistant said in the last `conversation.max_history` messages of the session."""
        most = self._config.conversation.max_history
        newest = self._talk.messages(session, now, newest=most)[-most:]
        messages = (said_as(block.role, block.words) for block in newest if is_spoken(block) and block.words.strip())
        return [{"role": role, "content": words} for role, words in messages]

    # ── steps ────────────────────────────────────────────────────────────────

    def _left(self, session: str, part: SessionPart, since: datetime | None, *, in_turn: bool) -> tuple[list[Block], str]:
        """Return the messages of the session that are to be summed up, as `summarize_overflow` says, and the line's source."""
        rule, line = self._config.conversation, self._config.summarize
        left = overflowing(part, rule.max_history, rule.overflow_min, since)
        grown = past_threshold(part, line.message_threshold, line.char_threshold, line.keep_recent) if in_turn else []
        return (grown, source_of(session, grown) or OVERFLOW) if len(grown) > len(left) else (left, OVERFLOW)

    def _write(self, session: str, progress: Progress, intent: Intent, messages: int, now: datetime) -> Written | None:
        """Write the line of so many *messages* and move the marker past them; the marker alone where the text is blank."""
        if not one_line(without_marks(intent.text)):
            self._files.keep(session, progress.past(intent.kind, intent.marker))
            return None
        self._files.keep(session, replace(progress, intent=intent))
        written = self._fulfil(session, progress, intent, now)
        self._events.emit("session_summarised", kind=intent.kind, messages=messages, line=written.line)
        return written

    def _settled(self, session: str, now: datetime) -> Progress:
        """Return the progress of the session, after the line that a process left unwritten when it was killed is written."""
        progress = self._files.read(session)
        if progress.intent:
            self._files.ensure_durable(session)  # else a crash may keep the line, and lose the record that it is written
            self._fulfil(session, progress, progress.intent, now)
            progress = self._files.read(session)
        return progress

    def _fulfil(self, session: str, progress: Progress, intent: Intent, now: datetime) -> Written:
        # once, since it recognises its words; without a mark, which only a person sets, whatever the conversation has
        written = self._long_term.append(intent.source, without_marks(intent.text), now)
        self._files.keep(session, progress.past(intent.kind, intent.marker))
        return written

    def _shown(self, blocks: Sequence[Block]) -> list[dict[str, Any]]:
        """Return the messages that are news as a model may read them, with names and times, and without secrets."""
        news = self._files.said_back.without(blocks)
        privacy, shown = self._config.privacy.knowing(block.shown for block in news), []
        for block in news:
            text = without_secrets(block.shown, language_of(block.shown), privacy)
            name = {"name": block.speaker} if block.speaker else {}
            shown.append({"role": block.role, "content": text, **name, "createdAt": block.created_at.isoformat()})
        return shown
