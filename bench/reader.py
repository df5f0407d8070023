"""
What a reader answers from the block that memory puts before it: questions with gold answers, judged by a rule, and by a model where one is given.

    python -m bench.reader --no-reader                               is the gold in the block, first, at how many tokens; a minute
    python -m bench.reader --server http://127.0.0.1:8431/v1 --out answers.jsonl --most 60
    python -m bench.reader --server URL --judge URL --out answers.jsonl        a second model judges; it sees neither memory nor name
    python -m bench.reader --server URL --memory none --out none.jsonl         no memory at all
    python -m bench.reader --server URL --set recall.memory_tokens=512 --form time --out time.jsonl
    python -m bench.reader --compare answers.jsonl time.jsonl                  paired differences with their interval
    python -m bench.reader --convert locomo locomo10.json --data DIR           then: --data DIR

Sets: `life` and our own tasks (bench/questions); any folder of the form of bench.recall whose questions have an `answer`; LoCoMo, BEAM and
LongMemEval-S from a file or a checkout of theirs (--convert), which is not kept here. The same seed asks the same questions in the same
order. A run that was ended goes on with what its --out lacks; with --known only blocks that have changed are asked about again. Questions are asked at their own time.

An answer is right by the rule of bench.judge. An error of the server, a refusal, a thought without an answer and nothing at all are counted
as such, and are not right. Intervals are 95 % of 10,000 samples of the questions, with replacement.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from bench.judge import facts_in, facts_of, is_yes, judge, request, without_thought
from bench.outcomes import NO_ANSWER, compared, table, table_of_blocks
from bench.recall import BLANK, HERE, WHOLE, environ_of, input_of, opened, passages, prepare, questions_of, share
from bench.sets import FORMS, convert
from recalld.supervisor.context.build import inject
from recalld.supervisor.protocol.message import Message, read_message
from recalld.supervisor.text.language import language_of
from recalld.supervisor.text.llm_input import estimate_tokens
from recalld.supervisor.workspace import Workspace

if TYPE_CHECKING:
    Question = dict[str, Any]
    Row = dict[str, Any]
    Source = Callable[[Question], str]

OWN: Final = {HERE / "questions/life": "", HERE / "questions/second": ""}
#: The kinds of questions that are reported; a category that is not here is a fact.
KINDS: Final = {
    "changed": ("changed", "knowledge-update", "knowledge_update", "contradiction_resolution"),
    "when": ("when", "2-temporal", "temporal", "temporal-reasoning", "temporal_reasoning", "event_ordering"),
    "several days": ("two-part", "1-multi-hop", "multi-hop", "multi-session", "multi_session_reasoning"),
    "never said": ("never-said", "never-detail", "5-adversarial", "adversarial", "abstention", "never spoken of"),
}
#: What the reader is told, in the language of the question; it is the same for every memory.
TOLD: Final = {
    "en": "You are the personal assistant of the user. Answer the user's question in one short sentence, from the memory that is quoted "
    "before it. Where two things in it differ, the later one is true. If it does not say, answer: I don't know.",
    "zh": "你是用户的个人助理。根据问题前面引用的记忆，用一句简短的话回答用户的问题。前后说法不同时，以较晚的为准。记忆里没有提到的，就回答：不知道。",
}
_ENTRY: Final = re.compile(r"^(?=\[)", re.MULTILINE)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def kind_of(question: Question) -> str:
    """Return the kind of a question; one that nothing answers was never said."""
    if not question["answer"]:
        return "never said"
    return next((kind for kind, categories in KINDS.items() if question["category"] in categories), "fact")


def chosen(questions: list[Question], seed: int, most: int) -> list[Question]:
    """Return at most that many of the questions with a gold answer, in an order that the seed alone decides; languages and sets in turn."""
    groups: dict[str, list[Question]] = defaultdict(list)
    for one in sorted(questions, key=lambda one: str(one["qid"])):
        if one.get("answer") or ("answer" in one and one["category"] in KINDS["never said"]):
            groups[one["dataset"]].append(one)
    pick = random.Random(seed)
    for group in groups.values():
        pick.shuffle(group)
    in_turn = [
        group[n] for n in range(max(map(len, groups.values()), default=0)) for group in groups.values() if n < len(group)
    ]
    return in_turn[: most or None]


# ── what is put before the reader ────────────────────────────────────────────


class Workspaces:
    """The workspaces of the questions, each made and opened when it is first asked."""

    def __init__(self, data: list[Path], questions: list[Question], root: Path, settings: list[str], zone: str | None) -> None:
        self._home = {path.parent.name: path for folder in data for path in sorted(folder.glob("workspaces/*/history.json"))}
        self._asked = {
            one["ws"]: max(other["asked_at"] for other in questions if other["ws"] == one["ws"]) for one in questions
        }
        self._root, self._settings, self._zone = root, environ_of(["recall.timeout_ms=60000", *settings]), zone
        self.open, self.messages = cache(self._open), cache(self._messages)

    def _open(self, name: str) -> Workspace:
        if not (self._root / name).is_dir():
            is_shanghai = self.messages(name)[0]["createdAt"].endswith("+08:00")
            zone = ZoneInfo(self._zone or ("Asia/Shanghai" if is_shanghai else "UTC"))
            prepare(self._home[name], self._root / name, "history", zone, self._asked[name])
        return opened(self._root / name, self._settings, self._asked[name])

    def _messages(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._home[name].read_text(encoding="utf-8"))
        return found


def recalled(spaces: Workspaces, form: str, *, hides_outdated: bool) -> Source:
    """Return what recalld puts before the reader; in that form, and without what a later message has made untrue, where that is asked for."""

    def block(question: Question) -> str:
        ws = spaces.open(question["ws"])
        now = datetime.fromisoformat(question["asked_at"])
        raw = [{"id": f"before-{n}", "role": "user", "text": text} for n, text in enumerate(question.get("before", ()))]
        before = [message for one in raw if isinstance(message := read_message(one, ws.zone), Message)]
        found = ws.searcher.search(question["question"], now, before)
        if hides_outdated:
            untrue = {
                BLANK.sub("", one["text"])
                for one in spaces.messages(question["ws"])
                if one["id"] in question.get("outdated", ())
            }
            hits = [hit for hit in found.hits if BLANK.sub("", hit.unit.text) not in untrue]
            found = replace(found, hits=type(found.hits)(hits))
        turn = inject(input_of(ws, question["question"], now), now, found, config=ws.config, events=ws.events)
        return by_time(turn.memory) if form == "time" else turn.memory

    return block


def by_time(block: str) -> str:
    """Return a block with its entries in the order of their days, the newest last."""
    head, *entries = _ENTRY.split(block)
    return head + "".join(sorted((f"{one.rstrip()}\n" for one in entries), key=_day_of))


def _day_of(entry: str) -> str:
    found = _DAY.findall(entry.partition("]")[0])
    return found[-1] if found else ""


# ── the reader ───────────────────────────────────────────────────────────────


class Reader:
    """A model behind an OpenAI-compatible URL, asked for one answer at temperature 0; what is in the file *known* is not asked again."""

    def __init__(self, url: str, model: str, most_tokens: int, timeout_s: float, known: Path | None) -> None:
        self._url, self._timeout_s, self._file = f"{url.rstrip('/')}/chat/completions", timeout_s, known
        self._body = {"model": model, "temperature": 0, "seed": 1, "max_tokens": most_tokens}
        self._known = {row.pop("key"): row for row in rows_of(known) if "key" in row} if known else {}

    def answer(self, messages: str) -> Row:
        """Return what the model says to *messages*, JSON, with what became of the request: "error", or the answer and how it ended."""
        body = json.dumps({**self._body, "messages": json.loads(messages)}).encode()
        key = hashlib.sha256(body).hexdigest()[:16]
        if key not in self._known:
            self._known[key] = self._sent(body)
            if self._file and "error" not in self._known[key]:
                write_row(self._file, {"key": key, **self._known[key]})
        return self._known[key]

    def _sent(self, body: bytes) -> Row:
        asked = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})  # noqa: S310 - the user's own URL
        began = time.monotonic()
        try:
            with urllib.request.urlopen(asked, timeout=self._timeout_s) as told:  # noqa: S310
                found = json.load(told)
            choice = found["choices"][0]
            said = choice["message"]
            row = {
                "answer": said.get("content") or "",
                "end": choice.get("finish_reason") or "",
                "usage": found.get("usage") or {},
            }
            row["thought"] = bool(said.get("reasoning_content")) or without_thought(row["answer"])[1]
            row["refusal"] = said.get("refusal") or ""
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            told = error.read().decode(errors="replace")[:200] if isinstance(error, urllib.error.HTTPError) else ""
            row = {"answer": "", "error": f"{type(error).__name__}: {error} {told}".strip()}
        return {**row, "seconds": round(time.monotonic() - began, 2)}


def messages_for(question: Question, memory: str) -> str:
    """Return the request as JSON: the same words for every memory, so that only what was remembered differs."""
    language = "zh" if language_of(question["question"]) == "zh" else "en"
    now = datetime.fromisoformat(question["asked_at"])
    said = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(question.get("before", ()))
    ]
    quoted = f"<memory>\n{memory.strip()}\n</memory>\n\n" if memory.strip() else ""
    asked = f"{quoted}({now:%Y-%m-%d %A %H:%M})\n\n{question['question']}"
    return json.dumps(
        [{"role": "system", "content": TOLD[language]}, *said, {"role": "user", "content": asked}], ensure_ascii=False
    )


def asked(question: Question, memory: str, reader: Reader, second: Reader | None) -> Row:
    """Return the row of a question: the answer, what the rule says of it, and what the judge model says, where there is one."""
    row = reader.answer(messages_for(question, memory))
    verdict = ruled(row, question["answer"])
    judged: Row = {}
    if second and verdict["outcome"] not in NO_ANSWER:
        words = [{"role": "user", "content": request(question["question"], question["answer"], row["answer"])}]
        judged["judge"] = is_yes(second.answer(json.dumps(words, ensure_ascii=False))["answer"])
    return {
        "qid": question["qid"],
        "set": question["dataset"],
        "kind": kind_of(question),
        "question": question["question"],
        "gold": question["answer"],
        "tokens": estimate_tokens(memory),
        **row,
        **verdict,
        **judged,
    }


def ruled(row: Row, gold: str) -> Row:
    """Return what the rule says of what a server did."""
    verdict = judge(row["answer"], gold)._asdict()
    if "error" in row or row.get("refusal"):
        verdict["outcome"] = "error" if "error" in row else "refused"
    return verdict


# ── the share by the rule alone ──────────────────────────────────────────────


def in_block(question: Question, memory: str, texts: dict[str, str]) -> Row:
    """Return how much of the gold is in a block: its facts, its messages whole; whether the first passage has it, and where its end is."""
    shown = passages(memory)
    whole = [max(share(texts[one], BLANK.sub("", memory)) for one in either) >= WHOLE for either in question["evidence"]]
    facts = len(facts_of(question["answer"]))
    ends = [
        end for line in re.finditer(r"\n|\Z", memory) if facts_in(memory[: (end := line.end())], question["answer"]) == facts
    ]
    return {
        "qid": question["qid"],
        "set": question["dataset"],
        "kind": kind_of(question),
        "tokens": estimate_tokens(memory),
        "gold": facts_in(memory, question["answer"]) / facts if facts else 0.0,
        "whole": statistics.mean(whole) if whole else 0.0,
        "first": float(bool(facts and shown) and facts_in(shown[0], question["answer"]) == facts),
        "after": estimate_tokens(memory[: ends[0]]) if facts and ends else None,
    }


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def answers_of(path: Path) -> list[Row]:
    """Return the answers of a run, judged by the rule as it is now."""
    return [{**row, **ruled(row, row["gold"])} for row in rows_of(path)]


def write_row(path: Path, row: Row) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, help="a folder of questions and workspaces; default: our own")
    options.add_argument(
        "--convert",
        nargs=2,
        metavar=("FORM", "SOURCE"),
        help="write SOURCE (locomo, beam, longmemeval) to --data as such a folder",
    )
    options.add_argument("--dataset", action="append", default=[])
    options.add_argument(
        "--zone", help="time zone of the workspaces; default: Asia/Shanghai where messages are written so, else UTC"
    )
    options.add_argument("--root", type=Path, help="keep the workspaces here, and use those that are there")
    options.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a setting of recalld")
    options.add_argument("--memory", choices=("recalld", "none"), default="recalld", help="what is put before the reader")
    options.add_argument("--form", choices=("best", "time"), default="best", help="the order of a block")
    options.add_argument("--without-outdated", action="store_true", help="leave out what a later message has made untrue")
    options.add_argument("--server", help="URL of the reader, as http://127.0.0.1:8431/v1")
    options.add_argument("--model", default="reader")
    options.add_argument("--judge", metavar="URL", help="of a model that judges")
    options.add_argument("--judge-model", default="judge")
    options.add_argument("--no-reader", action="store_true", help="only what is in the blocks")
    options.add_argument("--most", type=int, default=0, help="so many questions")
    options.add_argument("--seed", type=int, default=51)
    options.add_argument("--answer-tokens", type=int, default=80)
    options.add_argument("--timeout", type=float, default=600, metavar="S", help="of one answer")
    options.add_argument("--out", type=Path, help="the answers, a line each")
    options.add_argument("--known", type=Path, help="a file of answers by request: what is in it is not asked again")
    options.add_argument("--compare", nargs=2, type=Path, metavar="ANSWERS", help="two runs")
    return options


def main() -> None:
    found = parser().parse_args()
    if found.compare:
        print(compared(*(answers_of(path) for path in found.compare)))
        return
    if found.convert:
        form, source = found.convert
        if form not in FORMS or not found.data or not Path(source).exists():
            sys.exit(f"--convert takes one of {', '.join(FORMS)} and a path that exists, and --data the folder to write")
        try:
            print(f"{convert(form, Path(source), found.data)} questions")
        except (OSError, ValueError, LookupError, TypeError) as error:
            sys.exit(f"{source} is not of the form of {form}: {type(error).__name__}: {error}")
        return
    if not (found.server or found.no_reader):
        sys.exit("a reader is needed, --server URL, or --no-reader")
    data = [found.data] if found.data else list(OWN)
    questions = chosen([one for folder in data for one in questions_of(folder, found.dataset)], found.seed, found.most)
    if not questions:
        sys.exit("there are no questions with a gold answer")
    with tempfile.TemporaryDirectory(prefix="reader-") as folder:
        spaces = Workspaces(data, questions, found.root or Path(folder), found.set, found.zone)
        source = recalled(spaces, found.form, hides_outdated=found.without_outdated)
        block = source if found.memory == "recalld" else lambda _question: ""
        if found.no_reader:
            texts = {one["ws"]: {said["id"]: said["text"] for said in spaces.messages(one["ws"])} for one in questions}
            print(table_of_blocks([in_block(one, block(one), texts[one["ws"]]) for one in questions]))
            return
        reader = Reader(found.server, found.model, found.answer_tokens, found.timeout, found.known)
        second = Reader(found.judge, found.judge_model, 300, found.timeout, found.known) if found.judge else None
        rows = answers_of(found.out) if found.out else []
        done = {row["qid"] for row in rows}
        for question in (one for one in questions if one["qid"] not in done):
            rows.append(asked(question, block(question), reader, second))
            if found.out:
                write_row(found.out, rows[-1])
        wanted = {one["qid"] for one in questions}
        print(table([row for row in rows if row["qid"] in wanted]))


if __name__ == "__main__":
    main()
