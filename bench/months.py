"""The stories of bench/questions/summaries put through the product: what its summaries keep, what they get wrong, what they cost."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench.facts import FOLDER, Day, Fact, Running, Said, Story, line_facts, month_facts, running, score, sessions, stories
from bench.measures import Ground, WindowMessage
from bench.pieces import bare, pieces
from bench.recorder import Answered, Recorder
from bench.served import ENVIRON, settle
from recalld.supervisor.archive.memory_folder import MemoryFolder
from recalld.supervisor.conversation.memory_manager import MemoryManager
from recalld.supervisor.interfaces.api import Memory
from recalld.supervisor.protocol.config import Config
from recalld.supervisor.protocol.paths import WorkspacePaths
from recalld.supervisor.protocol.queue import TaskQueue
from recalld.supervisor.storage.disk import RealDisk
from recalld.supervisor.storage.errors import NoSummary
from recalld.supervisor.storage.files import Files

#: Days after the end of a month at which its days are summarised, and after that of the next one, when the month is.
_LATER: Final = timedelta(days=8)
#: When the model is asked again for what it failed at.
_AGAIN: Final = (timedelta(0), timedelta(hours=1), timedelta(days=1))
#: Characters of a run that is copied.
_RUN: Final = 12
_TRANSCRIPT: Final = re.compile(r"^\W*(?:\d\d:\d\d\W+)?(?:user|assistant|用户|助手)\b|^\W*\d\d:\d\d\W", re.IGNORECASE)
_FIELD: Final = re.compile(r"^\s*[-*]?\s*\**[^：:，。,.\d]{1,16}\**\s*[：:]\s*\S")


@dataclass
class Written:
    """A summary of a *kind*: its text, "" where there is none, what became of the answers, and what it is measured by."""

    kind: str  # day, month, line, running
    story: str
    period: str
    writer: str  # extract, or the name of the model
    text: str
    fate: str  # accepted, or why not
    chars_in: int = 0
    facts: int = 0
    kept: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    invented: list[str] = field(default_factory=list)
    copied: float = 0.0
    form: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    calls: int = 0
    answers: list[str] = field(default_factory=list)


def measured(one: Written, said: Sequence[Said], facts: Sequence[Fact], story: Story | None, before: str = "") -> Written:
    """Return the summary with its figures; *before* is the text that it continues."""
    material = "\n".join(filter(None, [before, *(message.text for message in said)]))
    found = score(one.text, facts, story)
    times = [WindowMessage(message.at, message.text) for message in said]
    ground = Ground([*times, *([WindowMessage(said[0].at, before)] if before else [])])
    one.chars_in, one.facts = len(material), found.facts
    one.kept, one.wrong = [fact.sentence for fact in found.kept], [fact.sentence for fact in found.wrong]
    one.invented = [piece.text for piece in pieces(one.text) if not ground.holds(piece)]
    one.copied, one.form = copied(one.text, material), form_of(one.text) if one.writer != "extract" else ""
    return one


def copied(text: str, material: str) -> float:
    """Return the share of the text's characters that stand in the material in runs of twelve."""
    text, material = bare(text), bare(material)
    runs = (start for start in range(len(text) - _RUN + 1) if text[start : start + _RUN] in material)
    return len({at for start in runs for at in range(start, start + _RUN)}) / max(1, len(text))


def form_of(text: str) -> str:
    """Return "transcript" or "fields" where the text has the form of one, else ""."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if sum(bool(_TRANSCRIPT.search(line)) for line in lines) > max(1, len(lines) // 3):
        return "transcript"
    return "fields" if len(lines) > 2 and sum(bool(_FIELD.search(line)) for line in lines) * 2 > len(lines) else ""


def environment(model: str, url: str) -> dict[str, str]:
    """Return the variables with which recalld asks that model, or none where there is no model."""
    every_day = {**ENVIRON, "RECALLD_SUMMARIZE_LEAST": "0"}  # however short
    if not model:
        return every_day
    own = {"BASE_URL": url, "MODEL": model, "TIMEOUT": "55m"}
    return {**every_day, **{f"RECALLD_LLM_{key}": value for key, value in own.items()}, "RECALLD_WORKER_CONCURRENCY": "1"}


class Bench:
    """Has one writer, the model behind a *recorder* or the extract, write all that is asked of the stories."""

    def __init__(self, folder: Path, model: str = "", recorder: Recorder | None = None) -> None:
        self.folder, self.model, self.recorder = folder, model, recorder
        self.environ = environment(model, recorder.url if recorder else "")
        self.files = Files(RealDisk())

    @property
    def writer(self) -> str:
        return self.model or "extract"

    def days_and_month(self, story: Story) -> Iterator[Written]:
        """Yield the summaries of a story's days, then of its month, as they stand after the model was asked again."""
        root = self._root(story.name, _messages(story.days.values()))
        for ends in (1, 2):
            at = self._ended(story, ends)
            began = len(self._asked)
            for later in _AGAIN if self.model else _AGAIN[:1]:
                settle(root, (at + later).isoformat(), {**self.environ, "RECALLD_ARCHIVE_TIMEZONE": story.zone.key})
            answers = self._asked[began:]
            if ends == 1:
                for day in story.days.values():
                    own = [one for one in answers if _quotes(one.prompt, day)]
                    yield measured(self._standing(root, "day", story, day.date, own), day.said, day.facts, None)
            else:
                said = [message for day in story.days.values() for message in day.said]
                yield measured(self._standing(root, "month", story, story.month, answers), said, month_facts(story), story)

    def line(self, story: Story, day: Day) -> Written:
        """Return a session's line for one day."""
        root = self._root(f"{story.name}-{day.date}-line", _messages([day], session="s1"))
        began, text, fate = len(self._asked), "", "nothing"
        with _set({**self.environ, "RECALLD_ARCHIVE_TIMEZONE": story.zone.key}):
            try:
                if line := Memory(root).summarize("s1"):
                    text, fate = line.text.split("|", 2)[2], "accepted"
            except NoSummary as why:
                fate = why.reason
        one = self._costs(Written("line", story.name, day.date, self.writer, text, fate), self._asked[began:])
        return measured(one, day.said, line_facts(day), None)

    def running(self, one: Running) -> Written:
        """Return a running summary after one more day; the extract is none, so that only a model writes it."""
        assert self.recorder
        config = Config()  # the whole day is summed up, down to its last turn
        config = replace(config, conversation=replace(config.conversation, keep_turns=0))
        manager = MemoryManager(_Stream(self.recorder, self.model), config=config)
        manager.conversation_summary = one.before
        for message in one.day.said:
            manager.add({"role": message.role, "content": message.text})
        began = len(self._asked)
        try:
            fate = "accepted" if asyncio.run(manager.asummarize()) else "nothing"
        except NoSummary as why:
            fate = why.reason
        text = manager.conversation_summary if fate == "accepted" else ""
        made = Written("running", one.story.name, one.day.date, self.writer, text, fate)
        return measured(self._costs(made, self._asked[began:]), one.day.said, one.facts, one.story, one.before)

    @property
    def _asked(self) -> list[Answered]:
        return self.recorder.asked if self.recorder else []

    def _root(self, name: str, messages: list[dict[str, Any]]) -> Path:
        root = self.folder / self.writer / name
        root.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), (root / "history.json").open("x", encoding="utf-8") as file:
            json.dump(messages, file, ensure_ascii=False)
        return root

    def _ended(self, story: Story, months: int) -> datetime:
        """Return noon eight days after the end of the month, or so many months after it."""
        end = date.fromisoformat(f"{story.month}-01")
        for _ in range(months):
            end = (end + timedelta(days=31)).replace(day=1)
        return datetime(end.year, end.month, end.day, 12, tzinfo=story.zone) + _LATER

    def _standing(self, root: Path, kind: str, story: Story, label: str, answers: Sequence[Answered]) -> Written:
        """Return the standing summary of a period; an extract that stands in the place of a model's is not the model's."""
        paths = WorkspacePaths(root)
        store = MemoryFolder(self.files, paths)
        found = next((store.read_summary(period)[1] for period in store.summaries() if period.label == label), None)
        failure = TaskQueue(self.files, paths).failures().get(f"{kind}-{label}")
        if found and found.extract == (not self.model):
            text, fate = (found.text.partition("\n")[2] if found.extract else found.text), "accepted"
        else:
            text, fate = "", failure.reason if failure else ("not asked" if not answers else "refused")
        return self._costs(Written(kind, story.name, label, self.writer, text, fate), answers)

    def _costs(self, one: Written, answers: Iterable[Answered]) -> Written:
        for answer in answers:
            one.prompt_tokens += answer.prompt_tokens
            one.completion_tokens += answer.completion_tokens
            one.seconds += answer.seconds
            one.calls += 1
            one.answers.append(answer.text)
        return one


class _Stream:
    """A model for a running conversation: asks through the recorder, as `recalld.conversation` is given one."""

    def __init__(self, recorder: Recorder, model: str) -> None:
        self._recorder, self._model = recorder, model

    def chat_stream(self, *, messages: list[dict[str, Any]], temperature: float, **_: object) -> Iterator[str]:
        asked = {"model": self._model, "messages": messages, "temperature": temperature, "max_tokens": 800}
        yield self._recorder.complete(asked)


@contextmanager
def _set(environ: Mapping[str, str]) -> Iterator[None]:
    """Have this process read the RECALLD_* variables, which only a process of its own is given else."""
    before = dict(os.environ)
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _messages(days: Iterable[Day], session: str = "") -> list[dict[str, Any]]:
    return [
        {
            "id": f"{day.date}-{said.number:02}",
            "role": said.role,
            "text": said.text,
            "createdAt": (said.at + timedelta(milliseconds=said.number)).astimezone(UTC).isoformat(timespec="milliseconds"),
            **({"session": session} if session else {}),
        }
        for day in days
        for said in day.said
    ]


def _quotes(prompt: str, day: Day) -> bool:
    """Return whether a prompt has words of the day."""
    return any(said.text.splitlines()[0][:40] in prompt for said in day.said if len(said.text) >= 40)


def run(
    only: Sequence[str], kinds: Sequence[str], bench: Bench, found: list[Written], out: Path | None, folder: Path = FOLDER
) -> None:
    """Have the bench write what is asked for, and add it to *found* and to the file *out* as it comes."""
    known = stories(folder)

    def add(one: Written) -> None:
        found.append(one)
        if out:
            out.write_text("\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in found) + "\n", encoding="utf-8")

    named = [story for name, story in known.items() if not only or name in only]
    for story in named if {"day", "month"} & set(kinds) else ():
        for one in bench.days_and_month(story):
            add(one)
    for story, day in sessions(known) if "line" in kinds else ():
        if story in named:
            add(bench.line(story, day))
    for part in running(known) if "running" in kinds and bench.model else ():
        if part.story in named:
            add(bench.running(part))


def table(found: Sequence[Written]) -> Iterator[str]:
    """Yield the figures by kind and writer, then what was refused for what."""
    yield (
        f"{'kind':8} {'writer':16} {'asked':>5} {'acc.':>5} {'facts':>6} {'kept':>5} {'%':>5} {'beside':>6} {'wrong':>5} {'inv.':>5} {'false %':>7}"
        f" {'chars':>6} {'beside':>6} {'copied':>6} {'form':>4} {'calls':>5} {'tokens':>7} {'+':>6} {'s':>6}"
    )
    extracts = {(one.kind, one.story, one.period): one for one in found if one.writer == "extract"}
    for kind, writer in dict.fromkeys((one.kind, one.writer) for one in found):
        rows = [one for one in found if (one.kind, one.writer) == (kind, writer)]
        taken = [one for one in rows if one.fate == "accepted"]
        beside = [extracts[key] for one in taken if (key := (kind, one.story, one.period)) in extracts]
        kept, facts = sum(len(one.kept) for one in taken), sum(one.facts for one in taken)
        wrong, invented = (sum(len(getattr(one, name)) for one in taken) for name in ("wrong", "invented"))
        told = kept + wrong + invented
        yield (
            f"{kind:8} {writer[:16]:16} {len(rows):5} {len(taken):5} {facts:6} {kept:5} {100 * kept / max(1, facts):5.1f}"
            f" {sum(len(one.kept) for one in beside):6} {wrong:5} {invented:5} {100 * (wrong + invented) / max(1, told):7.1f}"
            f" {sum(len(one.text) for one in taken):6} {sum(len(one.text) for one in beside):6}"
            f" {sum(one.copied for one in taken) / max(1, len(taken)):6.2f} {sum(bool(one.form) for one in taken):4}"
            f" {sum(one.calls for one in rows):5} {sum(one.prompt_tokens for one in rows):7}"
            f" {sum(one.completion_tokens for one in rows):6} {sum(one.seconds for one in rows):6.0f}"
        )
    fates = Counter((one.kind, one.writer, one.fate) for one in found if one.fate != "accepted")
    for (kind, writer, fate), times in sorted(fates.items()):
        yield f"{kind} {writer}: {fate} {times}"


def read(file: Path) -> list[Written]:
    """Return what a run has written, with figures by the facts as they are now."""
    known = stories()
    parts = {(one.story.name, one.day.date): one for one in running(known)}
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        one, story = Written(**json.loads(line)), known[json.loads(line)["story"]]
        if one.kind == "month":
            measured(one, [said for day in story.days.values() for said in day.said], month_facts(story), story)
        elif one.kind == "running":
            part = parts[one.story, one.period]
            measured(one, part.day.said, part.facts, story, part.before)
        else:
            day = story.days[one.period]
            measured(one, day.said, day.facts if one.kind == "day" else line_facts(day), None)
        found.append(one)
    return found


def export(folder: Path) -> None:
    """Write the stories as workspaces, and the questions about them, as `bench.recall --data` reads them."""
    for name, story in stories().items():
        root = folder / "workspaces" / name
        root.mkdir(parents=True, exist_ok=True)
        (root / "history.json").write_text(json.dumps(_messages(story.days.values()), ensure_ascii=False), encoding="utf-8")
    shutil.copyfile(FOLDER / "questions.jsonl", folder / "summaries.questions.jsonl")


def by_facts(options: Any) -> None:
    """Write and measure as the options of bench/summaries.py say."""
    from bench.recorder import Recorder

    if options.export:
        export(options.export)
        return
    found = read(options.read) if options.read else []
    with tempfile.TemporaryDirectory(prefix="summaries-") as folder:
        keep = (options.keep or Path(folder)).resolve()
        if not options.read:
            run(options.only, options.kinds, Bench(keep), found, options.out, options.stories)
            if options.model:
                answers = options.answers or keep / "answers.jsonl"
                with Recorder(options.server, answers) as recorder:
                    run(options.only, options.kinds, Bench(keep, options.model, recorder), found, options.out, options.stories)
    print(*table(found), sep="\n")
